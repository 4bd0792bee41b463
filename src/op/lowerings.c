/* lowerings.c - the list of all platform-specific lowerings (trace/lowering.h). The first
 * applicable row of an operation is used.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/lowerings.h"

const fgi_lowering *const fgi_lowerings[] = {
    /* convolutions: conv_kernels_cpu.c, conv_cpu.c */
    &fgi_conv_tiles_cpu,
    &fgi_conv_dx_tiles_cpu,
    &fgi_conv_dk_tiles_cpu,
    &fgi_conv_winograd_cpu,
    &fgi_conv_dx_winograd_cpu,
    &fgi_conv_dk_winograd_cpu,
    &fgi_conv_matmul_cpu,
    &fgi_conv_dx_matmul_cpu,
    &fgi_conv_dk_matmul_cpu,
    &fgi_conv_dnnl_cpu,
    &fgi_conv_dx_dnnl_cpu,
    &fgi_conv_dk_dnnl_cpu,
    &fgi_conv_depthwise_cpu,
    &fgi_conv_dx_depthwise_cpu,
    &fgi_conv_dk_depthwise_cpu,
    &fgi_conv_dx_reverse_cpu,
    &fgi_conv_dk_groups_cpu,
    &fgi_conv_dk_chunks_cpu,
    /* kernels */
    &fgi_dot_kernel_cpu, /* matmul_cpu.c */
    &fgi_matmul_kernel_cpu,
    &fgi_add_matmul_cpu,
    &fgi_relu_matmul_cpu,
    &fgi_gelu_cpu, /* gelu_cpu.c */
    &fgi_gelu_tanh_cpu,
    &fgi_layer_norm_cpu, /* norm_cpu.c */
    &fgi_rms_norm_cpu,
    &fgi_attention_cpu, /* attention_cpu.c */
    &fgi_causal_attention_cpu,
    &fgi_statistics_kernel_cpu, /* normalization_cpu.c */
    &fgi_normalize_cpu,
    &fgi_normalize_relu_cpu,
    &fgi_nonfinite_small_cpu, /* optimizer_cpu.c */
    &fgi_adam_kernel_cpu,
    /* contractions: dot_cpu.c */
    &fgi_dot_wide_cpu,
    &fgi_matmul_wide_cpu,
    &fgi_max_pool_kernel_cpu, /* pool_cpu.c */
    &fgi_max_pool_dx_kernel_cpu,
    &fgi_max_pool_dx_cpu,
    &fgi_sum_columns_cpu, /* reduce_cpu.c */
    &fgi_sum_stages_cpu,
    &fgi_barrier_cpu, /* remat_cpu.c */
    /* composite operations: mean_variance_cpu.c, nonfinite_cpu.c, composite_tpu.c */
    &fgi_mean_variance_cpu,
    &fgi_nonfinite_cpu,
    &fgi_nonfinite_tpu,
    &fgi_operand_tpu,
};
const size_t fgi_lowering_count = sizeof fgi_lowerings / sizeof fgi_lowerings[0];
