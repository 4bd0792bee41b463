/* kernel_dnnl.c - convolutions and matmuls by oneDNN (dnnl.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/print.h"
#include "base/processor.h"
#include "kernel/dnnl.h"
#include "kernel/kernel.h"

const char *fgi_kernel_dnnl_version(void) { return fgi_dnnl_version(); }

fgi_kernel_halves fgi_kernel_half(void)
{
    if (HAS_AMX)
        return FGI_KERNEL_HALF_TILES;
    if (HAS_AVX512_BF16)
        return IS_AMD ? FGI_KERNEL_HALF_TWICE : FGI_KERNEL_HALF_SAME;
    return FGI_KERNEL_HALF_NONE;
}

static void *fail(const fgi_ffi_call *call, const char *what, int status)
{
    char message[96];
    (void)fgi_snprintf(message, sizeof message, "oneDNN %s can't compute this %s: status %d",
                       fgi_dnnl_version(), what, status);
    return fgi_ffi_fail(call, message);
}

static int64_t type_of(const fgi_ffi_buffer *buffer)
{
    return buffer->dtype == FGI_FFI_BF16 ? FGI_DNNL_BF16 : FGI_DNNL_F32;
}

/* Appends a dimension. */
static void add(fgi_dnnl_tensor *t, int64_t dim, int64_t stride)
{
    t->dim[t->rank] = dim;
    t->stride[t->rank++] = stride;
}

/* The product of the dimensions after `axis`: its stride. */
static int64_t stride_of(const fgi_ffi_buffer *b, int64_t axis)
{
    int64_t stride = 1;
    for (int64_t i = axis + 1; i < b->rank; i++)
        stride *= b->dim[i];
    return stride;
}

/* [N, sizes, C] as [N, C, sizes] */
static fgi_dnnl_tensor image_of(const fgi_ffi_buffer *b)
{
    fgi_dnnl_tensor t = {.type = type_of(b)};
    add(&t, b->dim[0], stride_of(b, 0));
    add(&t, b->dim[b->rank - 1], 1);
    for (int64_t i = 1; i < b->rank - 1; i++)
        add(&t, b->dim[i], stride_of(b, i));
    return t;
}

/* [sizes, C / groups, Co] as [groups, Co / groups, C / groups, sizes] */
static fgi_dnnl_tensor kernel_of(const fgi_ffi_buffer *b, int64_t groups)
{
    fgi_dnnl_tensor t = {.type = type_of(b)};
    const int64_t outputs = b->dim[b->rank - 1] / groups;
    if (groups > 1)
        add(&t, groups, outputs);
    add(&t, outputs, 1);
    add(&t, b->dim[b->rank - 2], stride_of(b, b->rank - 2));
    for (int64_t i = 0; i < b->rank - 2; i++)
        add(&t, b->dim[i], stride_of(b, i));
    return t;
}

static fgi_dnnl_problem problem_of(fgi_kernel_conv_kind kind, const fgi_ffi_buffer *x,
                                   const fgi_ffi_buffer *k, const fgi_ffi_buffer *y,
                                   const fgi_kernel_conv_numbers *numbers)
{
    static const fgi_dnnl_kind kinds[] = {FGI_DNNL_CONV, FGI_DNNL_CONV_DX, FGI_DNNL_CONV_DK};
    fgi_dnnl_problem p;
    memset(&p, 0, sizeof p);
    p.kind = kinds[kind];
    p.x = image_of(x);
    p.k = kernel_of(k, numbers->groups);
    p.y = image_of(y);
    p.window = x->rank - 2;
    for (int i = 0; i < p.window; i++) {
        p.stride[i] = numbers->stride[i];
        p.dilation[i] = numbers->dilation[i];
        p.low[i] = numbers->low[i];
        const int64_t seen =
            (p.y.dim[2 + i] - 1) * p.stride[i] + (k->dim[i] - 1) * p.dilation[i] + 1;
        const int64_t high = seen - p.low[i] - p.x.dim[2 + i];
        p.high[i] = high > 0 ? high : 0; /* pixels that no window sees are no negative padding */
    }
    return p;
}

bool fgi_kernel_conv_runs(fgi_kernel_conv_kind kind, const fgi_ffi_buffer *x,
                          const fgi_ffi_buffer *k, const fgi_ffi_buffer *y,
                          const fgi_kernel_conv_numbers *numbers)
{
    const fgi_dnnl_problem p = problem_of(kind, x, k, y, numbers);
    return fgi_dnnl_can(&p);
}

static void *convolve(fgi_ffi_call *call, fgi_kernel_conv_kind kind)
{
    int status;
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *a = call->in.buffer[0], *b = call->in.buffer[1];
    const fgi_ffi_buffer *out = call->out.buffer[0];
    const fgi_ffi_buffer *x = kind == FGI_KERNEL_CONV_OF_X ? out : a;
    const fgi_ffi_buffer *k = kind == FGI_KERNEL_CONV_OF_K ? out : b;
    const fgi_ffi_buffer *y = kind == FGI_KERNEL_CONV_OF_Y   ? out
                              : kind == FGI_KERNEL_CONV_OF_X ? a
                                                             : b;
    const fgi_dnnl_problem p = problem_of(kind, x, k, y, (const void *)fgi_ffi_numbers(call));
    return fgi_dnnl_run(&p, x->data, k->data, y->data, &status) ? NULL
                                                                : fail(call, "convolution", status);
}

void *fgi_kernel_conv(fgi_ffi_call *call) { return convolve(call, FGI_KERNEL_CONV_OF_Y); }
void *fgi_kernel_conv_dx(fgi_ffi_call *call) { return convolve(call, FGI_KERNEL_CONV_OF_X); }
void *fgi_kernel_conv_dk(fgi_ffi_call *call) { return convolve(call, FGI_KERNEL_CONV_OF_K); }

static fgi_dnnl_tensor matrix_of(const fgi_ffi_buffer *b, int64_t batch, int64_t rows,
                                 int64_t columns, bool is_transposed)
{
    fgi_dnnl_tensor t = {.type = type_of(b)};
    if (batch > 1)
        add(&t, batch, rows * columns);
    add(&t, rows, is_transposed ? 1 : columns);
    add(&t, columns, is_transposed ? rows : 1);
    return t;
}

void *fgi_kernel_matmul_dnnl(fgi_ffi_call *call)
{
    int status;
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *a = call->in.buffer[0], *b = call->in.buffer[1];
    const fgi_ffi_buffer *y = call->out.buffer[0];
    const fgi_kernel_matmul_numbers *n = (const void *)fgi_ffi_numbers(call);
    fgi_dnnl_problem p;
    memset(&p, 0, sizeof p);
    p.kind = FGI_DNNL_MATMUL;
    p.x = matrix_of(a, n->batch, n->rows, n->inner, n->a_is_transposed != 0);
    p.k = matrix_of(b, n->batch, n->inner, n->columns, n->b_is_transposed != 0);
    p.y = matrix_of(y, n->batch, n->rows, n->columns, false);
    return fgi_dnnl_run(&p, a->data, b->data, y->data, &status) ? NULL
                                                                : fail(call, "matmul", status);
}
