/* dot.h - matrix multiplication and einsum.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_DOT_H
#define FULGURITE_OPS_DOT_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Matrix multiplication over the last two dimensions; the leading dimensions must be equal and are
 * batch dimensions. T[..., m, k] x T[..., k, n] -> T[..., m, n] */
FG_API fg_tensor fg_matmul(fg_tensor a, fg_tensor b);

/* General contraction (StableHLO "dot_general"). The result has the batch dimensions, then the
 * remaining dimensions of a, then those of b. The arrays contain corresponding axes of a and b. */
typedef struct fg_dot_options {
    int batch_count;
    int a_batch[FG_MAX_RANK], b_batch[FG_MAX_RANK];
    int contract_count;
    int a_contract[FG_MAX_RANK], b_contract[FG_MAX_RANK];
    fg_dtype result; /* of the sums and the result; f32 also for bf16 and f16 [the operands'] */
    uint64_t reserved[2];
} fg_dot_options;
FG_API fg_tensor fg_dot(fg_tensor a, fg_tensor b, const fg_dot_options *options);

/* Sums of products in index notation, "bik,bkj->bij", of 1 to 8 operands: a letter for each
 * dimension, a term for each operand. Letters that the result does not have are summed. Without
 * "->", the result has the letters that occur once, in alphabetical order. Blanks are ignored.
 * Operands are multiplied from left to right, as matrices where possible. Not supported: "...", and
 * a letter that occurs twice in a term. Errors (FG_EINVAL) name the equation. Source: NumPy,
 * "einsum". */
FG_API fg_tensor fg_einsum(const char *equation, const fg_tensor *in, int count);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_matmul(...) FG_HERE(fg_matmul(__VA_ARGS__))
#define fg_dot(...)    FG_HERE(fg_dot(__VA_ARGS__))
#define fg_einsum(...) FG_HERE(fg_einsum(__VA_ARGS__))
#endif
#endif
