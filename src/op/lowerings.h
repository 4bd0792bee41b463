/* lowerings.h - the rows of lowerings.c, each defined next to the operation it is for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_LOWERINGS_H
#define FGI_OP_LOWERINGS_H

#include "trace/lowering.h"

extern const fgi_lowering fgi_conv_depthwise_cpu, fgi_conv_dx_depthwise_cpu,
    fgi_conv_dk_depthwise_cpu, fgi_conv_dx_reverse_cpu, fgi_conv_dk_groups_cpu,
    fgi_conv_dk_chunks_cpu;
extern const fgi_lowering fgi_conv_tiles_cpu, fgi_conv_dx_tiles_cpu, fgi_conv_dk_tiles_cpu;
extern const fgi_lowering fgi_conv_winograd_cpu, fgi_conv_dx_winograd_cpu, fgi_conv_dk_winograd_cpu,
    fgi_conv_dnnl_cpu, fgi_conv_dx_dnnl_cpu, fgi_conv_dk_dnnl_cpu;
extern const fgi_lowering fgi_conv_matmul_cpu, fgi_conv_dx_matmul_cpu, fgi_conv_dk_matmul_cpu;
extern const fgi_lowering fgi_dot_wide_cpu, fgi_matmul_wide_cpu;
extern const fgi_lowering fgi_dot_kernel_cpu, fgi_matmul_kernel_cpu, fgi_add_matmul_cpu,
    fgi_relu_matmul_cpu;
extern const fgi_lowering fgi_nonfinite_small_cpu, fgi_adam_kernel_cpu;
extern const fgi_lowering fgi_gelu_cpu, fgi_gelu_tanh_cpu;
extern const fgi_lowering fgi_layer_norm_cpu, fgi_rms_norm_cpu;
extern const fgi_lowering fgi_attention_cpu, fgi_causal_attention_cpu;
extern const fgi_lowering fgi_max_pool_kernel_cpu, fgi_max_pool_dx_kernel_cpu, fgi_max_pool_dx_cpu;
extern const fgi_lowering fgi_sum_columns_cpu, fgi_sum_stages_cpu;
extern const fgi_lowering fgi_barrier_cpu;
extern const fgi_lowering fgi_statistics_kernel_cpu, fgi_normalize_cpu, fgi_normalize_relu_cpu;
extern const fgi_lowering fgi_mean_variance_cpu, fgi_nonfinite_cpu, fgi_nonfinite_tpu,
    fgi_operand_tpu;

#endif
