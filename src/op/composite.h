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
/* The inputs of fgi_normalize_batch -> y (normalization.c) */
extern const fgi_op fgi_normalize_op;
/* Up to FGI_NONFINITE_MOST tensors -> f32[]; x T[...] -> f32[n] (nonfinite.c) */
enum { FGI_NONFINITE_MOST = FG_OPERATION_INPUTS };
extern const fgi_op fgi_nonfinite_op, fgi_nonfinite_sums_op;
/* x T[...] -> T[...], or bf16[...] (operand.c) */
extern const fgi_op fgi_operand_op;
/* x T[...] -> T[...] (elementwise.c) */
extern const fgi_op fgi_gelu_op, fgi_gelu_tanh_op;
/* x T[..., C], eps, a constant f32[], and up to two of weight and bias [C] -> x normalized over the
 * last axis, T[..., C] (layer_norm.c) */
enum { FGI_NORM_X, FGI_NORM_EPS, FGI_NORM_WEIGHT, FGI_NORM_BIAS, FGI_NORM_MOST };
extern const fgi_op fgi_layer_norm_op, fgi_rms_norm_op;
double fgi_norm_eps(fg_tensor eps);
/* q T[B, T, K, G, D], k and v T[B, S, K, D], scale f32[] -> softmax(scale q k') v like q, for each
 * of the K heads of keys and its G heads of queries, or an empty tensor if the platform has no
 * kernel for it (attention_cpu.c). Causal: query t sees keys up to t + S - T. If q, k and v are all
 * slices of T[B, T, C], in this order, that may be given too: derivatives are by it. */
enum {
    FGI_ATTENTION_Q,
    FGI_ATTENTION_K,
    FGI_ATTENTION_V,
    FGI_ATTENTION_SCALE,
    FGI_ATTENTION_PACKED
};
extern const fgi_op fgi_attention_op, fgi_causal_attention_op;
/* The tensors of a list of fgi_adam_operands -> those of fgi_adam_results (adam_update.c) */
enum { FGI_ADAM_IN = sizeof(fgi_adam_operands) / sizeof(fg_tensor) };
extern const fgi_op fgi_adam_op;

#endif
