/* kernel_pool.c - max pooling and its gradient, each in one pass over the images. The backend
 * computes an element of a window at a time on all images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/parallel.h"
#include "kernel/vector.h"

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

/* The address of a pixel's vector of channels. The last one may begin earlier than its place. */
INLINED char *address(const problem *p, char *of, const int64_t *dim, int64_t i, int64_t row,
                      int64_t column, int64_t vector)
{
    const int64_t last = p->channels - FGI_WIDE;
    const int64_t channel = vector * FGI_WIDE < last ? vector * FGI_WIDE : last;
    return of + (((i * dim[1] + row) * dim[2] + column) * p->channels + channel) * p->size;
}

/* ---- maxima ---------------------------------------------------------------------------------- */

/* NaN if one of them is. */
INLINED void find_maximum(const problem *p, int64_t i, const window *w, int64_t vector, char *y)
{
    fgi_wide most = (fgi_wide){0} - INFINITY, x;
    for (int64_t row = w->first[0]; row < w->end[0]; row++)
        for (int64_t column = w->first[1]; column < w->end[1]; column++) {
            fgi_load(&x, address(p, p->x, p->from, i, row, column, vector), p->is_half);
            const fgi_wide_bits bits = (fgi_wide_bits)x & 0x7FFFFFFF;
            const fgi_wide_bits wins =
                (fgi_wide_bits)(x > most) | (fgi_wide_bits)(bits > 0x7F800000);
            most = (fgi_wide)((wins & (fgi_wide_bits)x) | (~wins & (fgi_wide_bits)most));
        }
    fgi_store(y, &most, p->is_half);
}

INLINED void find_maxima(const problem *p, int64_t i)
{
    for (int64_t row = 0; row < p->to[1]; row++)
        for (int64_t column = 0; column < p->to[2]; column++) {
            const window w = window_at(p, row, column);
            for (int64_t v = 0; v < p->vectors; v++)
                find_maximum(p, i, &w, v, address(p, p->y, p->to, i, row, column, v));
        }
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* dy in the channels that no earlier vector has, else 0. */
INLINED void load_own(const problem *p, const char *dy, int64_t vector, fgi_wide *out)
{
    const uint32_t twice =
        (uint32_t)(vector == p->vectors - 1 ? p->vectors * FGI_WIDE - p->channels : 0);
    const fgi_wide_bits lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const fgi_wide_bits is_own = (fgi_wide_bits)(lane >= twice);
    fgi_load(out, dy, p->is_half);
    *out = (fgi_wide)(is_own & (fgi_wide_bits)*out);
}

/* Adds dy to the first element of the window, in row-major order, that equals y. */
INLINED void spread(const problem *p, int64_t i, const window *w, int64_t vector, const fgi_wide *y,
                    const fgi_wide *dy)
{
    fgi_wide_bits is_open = (fgi_wide_bits){0} - 1; /* channels whose maximum was not found yet */
    fgi_wide x, sum;
    for (int64_t row = w->first[0]; row < w->end[0]; row++)
        for (int64_t column = w->first[1]; column < w->end[1]; column++) {
            char *to = address(p, p->dx, p->from, i, row, column, vector);
            fgi_load(&x, address(p, p->x, p->from, i, row, column, vector), p->is_half);
            fgi_load(&sum, to, p->is_half);
            const fgi_wide_bits takes = is_open & (fgi_wide_bits)(x == *y);
            is_open &= ~takes;
            sum += (fgi_wide)(takes & (fgi_wide_bits)*dy);
            fgi_store(to, &sum, p->is_half);
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
            memset(address(p, p->dx, p->from, i, cleared, 0, 0), 0,
                   row_size * (size_t)(end - cleared));
        cleared = end > cleared ? end : cleared;
        for (int64_t column = 0; row < p->to[1] && column < p->to[2]; column++) {
            const window w = window_at(p, row, column);
            for (int64_t v = 0; v < p->vectors; v++) {
                fgi_wide y, dy;
                fgi_load(&y, address(p, p->y, p->to, i, row, column, v), p->is_half);
                load_own(p, address(p, p->dy, p->to, i, row, column, v), v, &dy);
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
