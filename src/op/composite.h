/* composite.h - composite operations whose implementation depends on the platform.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_COMPOSITE_H
#define FGI_OP_COMPOSITE_H

#include "op/op.h"

/* Sums over all dimensions but the last, divided by n (mean_variance.c). */
fg_tensor fgi_mean_by_channel(fg_tensor x, fg_tensor n);

/* (x T[..., C], shift T[C], n T[]) -> mean, biased variance T[C] */
enum { FGI_BY_CHANNEL_X, FGI_BY_CHANNEL_SHIFT, FGI_BY_CHANNEL_N };
enum { FGI_BY_CHANNEL_MEAN, FGI_BY_CHANNEL_VAR };
extern const fgi_op fgi_mean_variance_op;
/* x T[...] -> f32[n] (nonfinite.c); x T[...] -> T[...], or bf16[...] (operand.c) */
extern const fgi_op fgi_nonfinite_op, fgi_operand_op;

#endif
