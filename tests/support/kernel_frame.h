/* kernel_frame.h - calls of kernels (src/kernel) as a compiled program makes them. Every tensor is
 * a separate allocation, so that sanitizers see accesses beyond its end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_KERNEL_FRAME_H
#define FGT_KERNEL_FRAME_H

#include "fgt.h"

#include <stdlib.h>

#include "base/rng.h"
#include "kernel/kernel.h"

enum { MOST_RANK = 4, MOST_IN = 4 * FGI_KERNEL_ADAM_MOST + 1, MOST_OUT = 3 * FGI_KERNEL_ADAM_MOST };

/* A call with its tensors. */
typedef struct call {
    fgi_ffi_call frame;
    fgi_ffi_buffer in[MOST_IN], out[MOST_OUT];
    const fgi_ffi_buffer *of[MOST_IN + MOST_OUT];
    int64_t dim[MOST_IN + MOST_OUT][MOST_RANK];
} call;

static inline void begin(call *c)
{
    memset(c, 0, sizeof *c);
    c->frame.in.buffer = c->of;
    c->frame.out.buffer = c->of + MOST_IN;
}

/* Adds an f32 tensor of random numbers. */
static inline float *add_shape(call *c, bool is_result, int rank, const int64_t *dim)
{
    fgi_ffi_buffers *side = is_result ? &c->frame.out : &c->frame.in;
    fgi_ffi_buffer *buffer = &(is_result ? c->out : c->in)[side->count];
    const int64_t at = (is_result ? MOST_IN : 0) + side->count++;
    c->of[at] = buffer;
    memcpy(c->dim[at], dim, (size_t)rank * sizeof *dim);
    *buffer = (fgi_ffi_buffer){.dtype = FGI_FFI_F32, .dim = c->dim[at], .rank = rank};
    const int64_t count = fgi_ffi_count(buffer);
    buffer->data = malloc((size_t)count * sizeof(float));
    fgi_rng_normal_range((fgi_key){{(uint32_t)count, (uint32_t)at}}, 0, (size_t)count,
                         buffer->data);
    return buffer->data;
}

/* columns -1: of rank 1. */
static inline float *add(call *c, bool is_result, int64_t rows, int64_t columns)
{
    return add_shape(c, is_result, columns < 0 ? 1 : 2, (const int64_t[]){rows, columns});
}

static inline void end(call *c)
{
    for (int64_t i = 0; i < c->frame.in.count; i++)
        free(c->in[i].data);
    for (int64_t i = 0; i < c->frame.out.count; i++)
        if (c->out[i].data != c->in[i].data)
            free(c->out[i].data);
}

/* The tensor in bf16, truncated. */
static inline void halve(fgi_ffi_buffer *buffer)
{
    float *values = buffer->data;
    const int64_t count = fgi_ffi_count(buffer);
    uint16_t *halves = malloc((size_t)count * sizeof *halves + 1);
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    free(values);
    buffer->dtype = FGI_FFI_BF16;
    buffer->data = halves;
}

static inline double number(const fgi_ffi_buffer *buffer, int64_t i)
{
    uint32_t bits;
    float value;
    if (buffer->dtype == FGI_FFI_F32)
        return (double)((const float *)buffer->data)[i];
    bits = (uint32_t)((const uint16_t *)buffer->data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

#endif
