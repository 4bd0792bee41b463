/* kernel_pool.c - max pooling and its gradient, each in one pass over the images. The backend
 * computes an element of a window at a time on all images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "kernel/parallel.h"

enum { MOST_THREADS = 64 };

typedef struct problem {
    char *x, *y, *dy, *dx;    /* dy, dx: NULL for the maxima */
    const int64_t *from, *to; /* dimensions of x and y */
    const fgi_kernel_pool_numbers *numbers;
    int64_t channels, vectors, size; /* size: of an element, bytes */
    bool is_half;
} problem;

/* The window of pixel (row, column) of y, within image i: [first, end) by axis. */
typedef struct window {
    int64_t first[2], end[2];
} window;

INLINED window window_at(const problem *p, int64_t row, int64_t column)
{
    const int64_t at[] = {row, column};
    window w;
    for (int k = 0; k < 2; k++) {
        const int64_t first = at[k] * p->numbers->stride - p->numbers->low[k];
        const int64_t end = first + p->numbers->size, size = p->from[k + 1];
        w.first[k] = first > 0 ? first : 0;
        w.end[k] = end < size ? end : size;
    }
    return w;
}

/* A pixel's vector of channels. Lanes after the last channel are those of the next pixels, up to
 * the end of the image. */
typedef struct place {
    char *at;
    int64_t left; /* numbers up to the end of the image */
} place;

INLINED place place_of(const problem *p, char *of, const int64_t *dim, int64_t i, int64_t row,
                       int64_t column, int64_t vector)
{
    const int64_t image = dim[1] * dim[2] * p->channels;
    const int64_t at = (row * dim[2] + column) * p->channels + vector * FGI_WIDE;
    return (place){of + (i * image + at) * p->size, image - at};
}

INLINED void load(const problem *p, fgi_wide *to, place from)
{
    fgi_load_few(to, from.at, from.left, p->is_half);
}

/* ---- maxima ---------------------------------------------------------------------------------- */

/* NaN if one of them is. What is stored after the last channel is overwritten later. */
INLINED void find_maximum(const problem *p, int64_t i, const window *w, int64_t vector, place y)
{
    fgi_wide most = (fgi_wide){0} - INFINITY, x;
    for (int64_t row = w->first[0]; row < w->end[0]; row++)
        for (int64_t column = w->first[1]; column < w->end[1]; column++) {
            load(p, &x, place_of(p, p->x, p->from, i, row, column, vector));
            const fgi_wide_bits bits = (fgi_wide_bits)x & 0x7FFFFFFF;
            const fgi_wide_bits wins =
                (fgi_wide_bits)(x > most) | (fgi_wide_bits)(bits > 0x7F800000);
            most = (fgi_wide)((wins & (fgi_wide_bits)x) | (~wins & (fgi_wide_bits)most));
        }
    fgi_store_few(y.at, &most, y.left, p->is_half);
}

INLINED void find_maxima(const problem *p, int64_t i)
{
    for (int64_t row = 0; row < p->to[1]; row++)
        for (int64_t column = 0; column < p->to[2]; column++) {
            const window w = window_at(p, row, column);
            for (int64_t v = 0; v < p->vectors; v++)
                find_maximum(p, i, &w, v, place_of(p, p->y, p->to, i, row, column, v));
        }
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* Adds dy to the first element of the window, in row-major order, that equals y. Pixels of one
 * vector and one window are not read, which would have to wait for what was stored to the pixel
 * before: the lanes after their channels are of pixels in the same row, which come later. */
INLINED void spread(const problem *p, int64_t i, const window *w, int64_t vector, const fgi_wide *y,
                    const fgi_wide *dy)
{
    fgi_wide_bits is_open; /* channels whose maximum was not found yet */
    fgi_wide x, sum;
    fgi_find_below(vector * FGI_WIDE, p->channels, &is_open);
    for (int64_t row = w->first[0]; row < w->end[0]; row++)
        for (int64_t column = w->first[1]; column < w->end[1]; column++) {
            const place to = place_of(p, p->dx, p->from, i, row, column, vector);
            const int64_t left = (p->from[2] - column) * p->channels - vector * FGI_WIDE;
            load(p, &x, place_of(p, p->x, p->from, i, row, column, vector));
            sum = (fgi_wide){0};
            if (p->vectors > 1 || p->numbers->stride < p->numbers->size)
                load(p, &sum, to);
            const fgi_wide_bits takes = is_open & (fgi_wide_bits)(x == *y);
            is_open &= ~takes;
            sum += (fgi_wide)(takes & (fgi_wide_bits)*dy);
            fgi_store_few(to.at, &sum, left, p->is_half);
        }
}

/* Rows of dx are set to 0 when the first window reaches them. */
INLINED void spread_all(const problem *p, int64_t i)
{
    const size_t row_size = (size_t)(p->from[2] * p->channels * p->size);
    int64_t cleared = 0;
    for (int64_t row = 0; row <= p->to[1]; row++) {
        const int64_t end = row < p->to[1] ? window_at(p, row, 0).end[0] : p->from[1];
        if (end > cleared)
            memset(place_of(p, p->dx, p->from, i, cleared, 0, 0).at, 0,
                   row_size * (size_t)(end - cleared));
        cleared = end > cleared ? end : cleared;
        for (int64_t column = 0; row < p->to[1] && column < p->to[2]; column++) {
            const window w = window_at(p, row, column);
            for (int64_t v = 0; v < p->vectors; v++) {
                fgi_wide y, dy;
                load(p, &y, place_of(p, p->y, p->to, i, row, column, v));
                load(p, &dy, place_of(p, p->dy, p->to, i, row, column, v));
                spread(p, i, &w, v, &y, &dy);
            }
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Image i. The copy of the problem is not changed by stores. */
INLINED void compute_image(const void *context, int64_t i)
{
    const problem p = *(const problem *)context;
    if (p.dx != NULL)
        spread_all(&p, i);
    else
        find_maxima(&p, i);
}

FGI_WORK(compute_image)

static void *run(fgi_ffi_call *call, problem p, const fgi_ffi_buffer *x, const fgi_ffi_buffer *y)
{
    p.x = x->data;
    p.y = y->data;
    p.from = x->dim;
    p.to = y->dim;
    p.numbers = (const fgi_kernel_pool_numbers *)fgi_ffi_numbers(call);
    p.channels = x->dim[3];
    p.vectors = (p.channels + FGI_WIDE - 1) / FGI_WIDE;
    p.is_half = x->dtype == FGI_FFI_BF16;
    p.size = p.is_half ? 2 : 4;
    fgi_parallel(call, fgi_parallel_threads(call, MOST_THREADS), x->dim[0], compute_image_work(),
                 &p);
    return NULL;
}

void *fgi_kernel_max_pool(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    return run(call, (problem){0}, call->in.buffer[0], call->out.buffer[0]);
}

void *fgi_kernel_max_pool_dx(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const problem p = {.dy = call->in.buffer[2]->data, .dx = call->out.buffer[0]->data};
    return run(call, p, call->in.buffer[0], call->in.buffer[1]);
}
