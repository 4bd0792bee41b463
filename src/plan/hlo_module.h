/* hlo_module.h - the internals of an HLO module, for the files of this folder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_HLO_MODULE_H
#define FGI_PLAN_HLO_MODULE_H

#include "plan/hlo_counts.h"
#include "plan/hlo.pb-c.h"

typedef Fgi__Hlo__Shape fgi_hlo_shape;
typedef Fgi__Hlo__Instruction fgi_hlo_op;
typedef Fgi__Hlo__Computation fgi_hlo_computation;
typedef Fgi__Hlo__Module fgi_hlo_module;

struct fgi_hlo {
    Fgi__Hlo__ModuleWithConfig *whole;
    const Fgi__Hlo__Module *module;
    const fgi_hlo_computation *entry;
};

/* FG_DTYPE_NONE for tuples and dtypes that arrays do not support. */
fg_dtype fgi_hlo_dtype(const fgi_hlo_shape *shape);
/* Size according to the shape, without padding; for a tuple, of all elements. */
int64_t fgi_hlo_bytes(const fgi_hlo_shape *shape);

/* The instruction that computes an operand; NULL: there is none. */
const fgi_hlo_op *fgi_hlo_operand(const fgi_hlo_computation *in, const fgi_hlo_op *op,
                                  size_t index);

/* Arithmetic of a matmul by a kernel of src/kernel; 0: it is none. */
double fgi_hlo_kernel_flops(const fgi_hlo_op *op);
typedef enum fgi_hlo_matmul { FGI_HLO_NONE, FGI_HLO_DOT, FGI_HLO_CONV } fgi_hlo_matmul;
fgi_hlo_matmul fgi_hlo_matmul_kind(const fgi_hlo_op *op);
/* Whether it is a collective between devices, or the start of one. */
bool fgi_hlo_collective(const fgi_hlo_op *op, fg_collective *out);
/* The same, with each collective once, as the kind that it amounts to: libtpu writes one that
 * overlaps with matmuls into several fusions, and a reduce-scatter as a sum in a fusion that keeps
 * a part of it. *out_bytes is the size of the result on a device. */
bool fgi_hlo_collective_once(const fgi_hlo_computation *in, const fgi_hlo_op *op,
                             fg_collective *out, int64_t *out_bytes);

#endif
