/* kernels.c - the list of kernels, and their answer to XLA's first call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "base/print.h"

const fgi_kernel fgi_kernels[] = {
    {FGI_KERNEL_MATMUL, fgi_kernel_matmul},
    {FGI_KERNEL_MATMUL_DNNL, fgi_kernel_matmul_dnnl},
    {FGI_KERNEL_ATTENTION, fgi_kernel_attention},
    {FGI_KERNEL_ATTENTION_DX, fgi_kernel_attention_dx},
    {FGI_KERNEL_ATTENTION_PACKED, fgi_kernel_attention_packed},
    {FGI_KERNEL_ATTENTION_PACKED_DX, fgi_kernel_attention_packed_dx},
    {FGI_KERNEL_GELU, fgi_kernel_gelu},
    {FGI_KERNEL_GELU_TANH, fgi_kernel_gelu_tanh},
    {FGI_KERNEL_LAYER_NORM, fgi_kernel_layer_norm},
    {FGI_KERNEL_LAYER_NORM_DX, fgi_kernel_layer_norm_dx},
    {FGI_KERNEL_RMS_NORM, fgi_kernel_rms_norm},
    {FGI_KERNEL_RMS_NORM_DX, fgi_kernel_rms_norm_dx},
    {FGI_KERNEL_BATCH_STATISTICS, fgi_kernel_batch_statistics},
    {FGI_KERNEL_BATCH_NORM, fgi_kernel_batch_norm},
    {FGI_KERNEL_BATCH_NORM_RELU, fgi_kernel_batch_norm_relu},
    {FGI_KERNEL_BATCH_NORM_SUMS, fgi_kernel_batch_norm_sums},
    {FGI_KERNEL_BATCH_NORM_RELU_SUMS, fgi_kernel_batch_norm_relu_sums},
    {FGI_KERNEL_BATCH_NORM_DX, fgi_kernel_batch_norm_dx},
    {FGI_KERNEL_BATCH_NORM_RELU_DX, fgi_kernel_batch_norm_relu_dx},
    {FGI_KERNEL_MAX_POOL, fgi_kernel_max_pool},
    {FGI_KERNEL_MAX_POOL_DX, fgi_kernel_max_pool_dx},
    {FGI_KERNEL_COLUMN_SUMS, fgi_kernel_column_sums},
    {FGI_KERNEL_NONFINITE, fgi_kernel_nonfinite},
    {FGI_KERNEL_ADAM, fgi_kernel_adam},
    {FGI_KERNEL_CLOCK, fgi_kernel_clock},
    {FGI_KERNEL_TILES, fgi_kernel_tiles},
    {FGI_KERNEL_TILES_DX, fgi_kernel_tiles_dx},
    {FGI_KERNEL_TILES_DK, fgi_kernel_tiles_dk},
    {FGI_KERNEL_WINOGRAD, fgi_kernel_winograd},
    {FGI_KERNEL_CONV, fgi_kernel_conv},
    {FGI_KERNEL_CONV_DX, fgi_kernel_conv_dx},
    {FGI_KERNEL_CONV_DK, fgi_kernel_conv_dk},
    {FGI_KERNEL_WINOGRAD_DX, fgi_kernel_winograd_dx},
    {FGI_KERNEL_WINOGRAD_DK, fgi_kernel_winograd_dk},
};
const size_t fgi_kernel_count = sizeof fgi_kernels / sizeof fgi_kernels[0];

enum { METADATA = 1, MAJOR = 0, MINOR = 1 };

typedef struct metadata {
    size_t struct_size;
    struct {
        size_t struct_size;
        fgi_ffi_extension *extensions;
        int major, minor;
    } version;
    uint32_t traits;
} metadata;

typedef struct metadata_extension {
    fgi_ffi_extension base;
    metadata *metadata;
} metadata_extension;

bool fgi_ffi_is_question(const fgi_ffi_call *call)
{
    if (call->extensions == NULL || call->extensions->type != METADATA)
        return false;
    metadata *answer = ((const metadata_extension *)(const void *)call->extensions)->metadata;
    answer->version.major = MAJOR;
    answer->version.minor = MINOR;
    return true;
}

int64_t fgi_ffi_count(const fgi_ffi_buffer *buffer)
{
    int64_t count = 1;
    for (int64_t i = 0; i < buffer->rank; i++)
        count *= buffer->dim[i];
    return count;
}

const int64_t *fgi_ffi_numbers(const fgi_ffi_call *call)
{
    const int64_t last = call->attributes.count > 1 ? call->attributes.count - 1 : 0;
    return ((const fgi_ffi_array *)call->attributes.value[last])->data;
}

void *fgi_ffi_fail(const fgi_ffi_call *call, const char *message)
{
    enum { INTERNAL = 13 };
    char text[512] = "";
    if (call->attributes.count > 1) {
        const fgi_ffi_scalar *number = call->attributes.value[0];
        (void)fgi_snprintf(text, sizeof text, FGI_KERNEL_CALL_MARK "%s",
                           *(const uint64_t *)number->value, message);
        message = text;
    }
    fgi_ffi_error args = {.struct_size = sizeof args, .message = message, .code = INTERNAL};
    return call->api->error_create(&args);
}
