/* constant.h - constants.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_CONSTANT_H
#define FULGURITE_OPS_CONSTANT_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor filled with one value: fg_full(trace, FG_F32, 0.5, FG_DIMS(2, 3)). value is rounded to a
 * floating dtype; an integer dtype or bool must represent it exactly. */
FG_API fg_tensor fg_full(fg_trace *trace, fg_dtype dtype, double value, int rank,
                         const int64_t *dim);
FG_API fg_tensor fg_zeros(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
FG_API fg_tensor fg_ones(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
/* A constant with data from host memory, row-major, embedded in the program. Use it for small
 * tables only (at most 64 KiB); for data that changes from step to step, use an input or a
 * variable. */
FG_API fg_tensor fg_constant(fg_trace *trace, const fg_type *type, const void *data);
/* The index of each element along `axis`, in any arithmetic dtype. */
FG_API fg_tensor fg_iota(fg_trace *trace, fg_dtype dtype, int axis, int rank, const int64_t *dim);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_full(...)     FG_HERE(fg_full(__VA_ARGS__))
#define fg_zeros(...)    FG_HERE(fg_zeros(__VA_ARGS__))
#define fg_ones(...)     FG_HERE(fg_ones(__VA_ARGS__))
#define fg_constant(...) FG_HERE(fg_constant(__VA_ARGS__))
#define fg_iota(...)     FG_HERE(fg_iota(__VA_ARGS__))
#endif
#endif
