/* kernel_winograd.c - convolutions with a 3 x 3 kernel and a stride of 1, and their gradients, by
 * Winograd's algorithm (winograd.h), which needs a quarter of the multiplications: an image is cut
 * into tiles of 4 x 4 pixels; kernels and tiles are transformed to 36 points; at each point, a
 * matmul over the channels. Everything is computed in f32, also for bf16 tensors.
 *
 * Each number is computed by one thread in an order that does not depend on their count.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "kernel/multiply.h"
#include "kernel/parallel.h"
#include "kernel/winograd.h"

/* Tiles that a thread transforms at a time, which then are in its cache; tiles at a time of the
 * kernel's gradient, and a few in general; floats between the matrices of two points, which
 * otherwise would share few sets of the cache; threads whose memory is part of the call's. */
enum { BLOCK = 48, LONG_BLOCK = 256, GAP = 16, MOST_THREADS = 64, MOST_PANEL = 32 };

typedef struct image {
    char *data;
    int64_t height, width, channels, pixel; /* pixel: bytes of its channels */
    bool is_half;
} image;

/* One matrix per point, in panels of `row` columns, with up to LONG_BLOCK rows if there are
 * several: element (r, c) of point p is
 * data[p * point + (c / row * LONG_BLOCK + r) * row + c % row]. */
typedef struct matrices {
    float *data;
    int64_t point, row;
} matrices;

INLINED float *element(const matrices *m, int64_t r, int64_t c)
{
    return m->data + (c / m->row * LONG_BLOCK + r) * m->row + c % m->row;
}

/* Many tiles: the kernel's points, then blocks of tiles, by all channels. Few tiles: all of them,
 * then the rest panel by panel, so that a panel of the kernel's points is only in the cache. */
typedef enum step { KERNEL, TILES, SEEN, PANELS, IMAGES, MATMULS, DKERNEL, DPANELS } step;

/* y = convolution of x with k. For the gradient of x, x is that of y, and k is turned around. */
typedef struct problem {
    step step;
    image x, y;
    char *kernel; /* of the forward convolution, or its gradient */
    bool kernel_is_half, is_turned;
    int64_t low[2], across, per_image, tiles; /* tiles in a row, in an image, in all images */
    int64_t block, first;                     /* tiles at a time; the first one of the long block */
    int64_t panel, padded;                    /* columns of a panel; channels of y in panels */
    char *outside;                            /* the pixel around an image: zeros */
    float *points;                            /* [panel][point][channel of x][column] */
    matrices seen, dy;                        /* of the tiles of the long block */
    float *memory;                            /* of the threads: worker_size floats each */
    int64_t worker_size;
} problem;

static const int64_t none[2] = {0, 0};

INLINED int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINED int64_t up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

/* ---- one tile -------------------------------------------------------------------------------- */

/* The addresses of the size x size pixels of a tile that starts `low` before its results; `outside`
 * for those beyond the edges. */
INLINED void find_tile(const problem *p, const image *of, int64_t tile, int size,
                       const int64_t low[2], char *outside, char **pixel)
{
    const int64_t n = tile / p->per_image, at = tile % p->per_image;
    const int64_t row = at / p->across * FGI_MADE - low[0];
    const int64_t column = at % p->across * FGI_MADE - low[1];
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            const int64_t y = row + i, x = column + j;
            const bool is_inside = y >= 0 && y < of->height && x >= 0 && x < of->width;
            pixel[i * size + j] =
                is_inside ? of->data + ((n * of->height + y) * of->width + x) * of->pixel : outside;
        }
}

INLINED void load_pixels(char *const *pixel, int size, int64_t channel, bool is_half, fgi_wide *to)
{
    const int64_t at = channel * (is_half ? 2 : 4);
#pragma GCC unroll 6
    for (int i = 0; i < size; i++)
#pragma GCC unroll 6
        for (int j = 0; j < size; j++)
            fgi_load(&to[i * FGI_SEEN + j], pixel[i * size + j] + at, is_half);
}

INLINED void put_points(const fgi_wide *from, float *to, int64_t point)
{
    for (int i = 0; i < FGI_POINTS; i++)
        *(fgi_wide *)(void *)(to + i * point) = from[i];
}

INLINED void get_points(const float *from, int64_t point, fgi_wide *to)
{
    for (int i = 0; i < FGI_POINTS; i++)
        to[i] = *(const fgi_wide *)(const void *)(from + i * point);
}

/* Row r of the matrices: the tile's pixels of x. */
INLINED void see_tile(const problem *p, int64_t tile, int64_t r, const matrices *m, bool is_half)
{
    char *pixel[FGI_POINTS];
    fgi_wide in[FGI_POINTS], out[FGI_POINTS];
    find_tile(p, &p->x, tile, FGI_SEEN, p->low, p->outside, pixel);
    for (int64_t c = 0; c < p->x.channels; c += FGI_WIDE) {
        load_pixels(pixel, FGI_SEEN, c, is_half, in);
        fgi_transform(FGI_LINE_IMAGE, FGI_SEEN, FGI_SEEN, in, out);
        put_points(out, element(m, r, c), m->point);
    }
}

/* The gradient of a tile of y. */
INLINED void see_dy(const problem *p, int64_t tile, int64_t r, const matrices *m, bool is_half)
{
    char *pixel[FGI_POINTS];
    fgi_wide in[FGI_POINTS], out[FGI_POINTS];
    find_tile(p, &p->y, tile, FGI_MADE, none, p->outside, pixel);
    for (int64_t c = 0; c < p->y.channels; c += FGI_WIDE) {
        load_pixels(pixel, FGI_MADE, c, is_half, in);
        fgi_transform(FGI_LINE_DRESULT, FGI_MADE, FGI_SEEN, in, out);
        put_points(out, element(m, r, c), m->point);
    }
}

/* Channels of y. */
typedef struct range {
    int64_t first, end;
} range;

/* Row r of the sums: a tile of y. */
INLINED void make_tile(const problem *p, int64_t tile, range of, int64_t r, const matrices *m,
                       bool is_half)
{
    char *pixel[FGI_POINTS], beyond[FGI_WIDE * sizeof(float)];
    fgi_wide in[FGI_POINTS], out[FGI_POINTS];
    find_tile(p, &p->y, tile, FGI_MADE, none, NULL, pixel);
    for (int64_t c = of.first; c < of.end; c += FGI_WIDE) {
        get_points(m->data + r * m->row + c - of.first, m->point, in);
        fgi_transform(FGI_LINE_RESULT, FGI_SEEN, FGI_MADE, in, out);
        for (int i = 0; i < FGI_MADE * FGI_MADE; i++)
            fgi_store(pixel[i] != NULL ? pixel[i] + c * (is_half ? 2 : 4) : beyond,
                      &out[i / FGI_MADE * FGI_SEEN + i % FGI_MADE], is_half);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* A tap of the kernel, from channel c to channels from o. */
INLINED void load_tap(const problem *p, int tap, int64_t c, int64_t o, bool is_half, fgi_wide *to)
{
    const int64_t size = is_half ? 2 : 4;
    if (!p->is_turned) {
        fgi_load(to, p->kernel + ((tap * p->x.channels + c) * p->y.channels + o) * size, is_half);
        return;
    }
    const char *from = p->kernel + (((8 - tap) * p->y.channels + o) * p->x.channels + c) * size;
    union {
        float number;
        uint32_t bits;
    } each;
    for (int l = 0; l < FGI_WIDE; l++, from += p->x.channels * size) {
        each.number = is_half ? 0 : *(const float *)(const void *)from;
        if (is_half)
            each.bits = (uint32_t) * (const uint16_t *)(const void *)from << 16;
        (*to)[l] = each.number;
    }
}

/* Columns from o of a panel of points: [point][channel][column]. */
INLINED void see_kernel(const problem *p, int64_t o, float *to, bool is_half)
{
    for (int64_t c = 0; c < p->x.channels; c++) {
        fgi_wide in[FGI_POINTS] = {{0}}, out[FGI_POINTS];
        for (int tap = 0; tap < FGI_TAPS * FGI_TAPS && o < p->y.channels; tap++)
            load_tap(p, tap, c, o, is_half, &in[tap / FGI_TAPS * FGI_SEEN + tap % FGI_TAPS]);
        fgi_transform(FGI_LINE_KERNEL, FGI_TAPS, FGI_SEEN, in, out);
        put_points(out, to + c * p->panel, p->x.channels * p->panel);
    }
}

/* The kernel's gradient from channel c to channels from o. */
INLINED void make_kernel(const problem *p, int64_t c, int64_t o, const float *from, bool is_half)
{
    const int64_t channels = p->x.channels, size = is_half ? 2 : 4;
    fgi_wide in[FGI_POINTS], out[FGI_POINTS];
    get_points(from + c * p->panel, channels * p->panel, in);
    fgi_transform(FGI_LINE_DKERNEL, FGI_SEEN, FGI_TAPS, in, out);
    for (int tap = 0; tap < FGI_TAPS * FGI_TAPS; tap++)
        fgi_store(p->kernel + ((tap * channels + c) * p->y.channels + o) * size,
                  &out[tap / FGI_TAPS * FGI_SEEN + tap % FGI_TAPS], is_half);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The constants of the variants of a step: rows and width of a block (multiply.h). */
#define VARIANT int rows, int wide

INLINED void see_tile_any(const problem *p, int64_t tile, int64_t r, const matrices *m)
{
    p->x.is_half ? see_tile(p, tile, r, m, true) : see_tile(p, tile, r, m, false);
}

INLINED void make_tile_any(const problem *p, int64_t tile, range of, int64_t r, const matrices *m)
{
    p->y.is_half ? make_tile(p, tile, of, r, m, true) : make_tile(p, tile, of, r, m, false);
}

INLINED void see_columns(const problem *p, int64_t o, float *panel)
{
    float *to = panel + o % p->panel;
    p->kernel_is_half ? see_kernel(p, o, to, true) : see_kernel(p, o, to, false);
}

INLINED float *panel_of(const problem *p, int64_t o)
{
    return p->points + o / p->panel * FGI_POINTS * p->x.channels * p->panel;
}

/* y: columns of the matmul of x, a tile in a row, with a panel of the kernel's points. */
INLINED void multiply_panel(const problem *p, int64_t count, const matrices *x, const float *panel,
                            const matrices *y, VARIANT)
{
    for (int at = 0; at < FGI_POINTS; at++) {
        const fgi_block_matmul matmul = {.rows = count,
                                         .inner = p->x.channels,
                                         .a = {x->data + at * x->point, x->row, 1},
                                         .b = panel + at * p->x.channels * p->panel,
                                         .b_row = p->panel,
                                         .y = y->data + at * y->point,
                                         .y_row = y->row};
        fgi_multiply_panel(&matmul, rows, wide);
    }
}

/* A block of tiles of y. */
INLINED void make_tiles(const problem *p, int64_t i, int worker, VARIANT)
{
    const int64_t first = i * p->block, count = least(p->block, p->tiles - first);
    const matrices x = {p->memory + worker * p->worker_size, p->block * p->x.channels + GAP,
                        p->x.channels};
    const matrices y = {x.data + FGI_POINTS * x.point, p->block * p->padded + GAP, p->padded};
    for (int64_t t = 0; t < count; t++)
        see_tile_any(p, first + t, t, &x);
    for (int64_t o = 0; o < p->padded; o += p->panel) {
        const matrices columns = {y.data + o, y.point, y.row};
        multiply_panel(p, count, &x, panel_of(p, o), &columns, rows, wide);
    }
    for (int64_t t = 0; t < count; t++)
        make_tile_any(p, first + t, (range){0, p->y.channels}, t, &y);
}

/* A panel of channels of y. */
INLINED void make_panel(const problem *p, int64_t i, int worker, VARIANT)
{
    const int64_t o = i * p->panel, end = least(o + p->panel, p->y.channels);
    float *panel = p->memory + worker * p->worker_size;
    const matrices y = {panel + FGI_POINTS * p->x.channels * p->panel, p->tiles * p->panel + GAP,
                        p->panel};
    for (int64_t column = o; column < o + p->panel; column += FGI_WIDE)
        see_columns(p, column, panel);
    multiply_panel(p, p->tiles, &p->seen, panel, &y, rows, wide);
    for (int64_t t = 0; t < p->tiles; t++)
        make_tile_any(p, t, (range){o, end}, t, &y);
}

/* A tile of the long block. */
INLINED void see_images(const problem *p, int64_t i)
{
    see_tile_any(p, p->first + i, i, &p->seen);
    p->y.is_half ? see_dy(p, p->first + i, i, &p->dy, true)
                 : see_dy(p, p->first + i, i, &p->dy, false);
}

/* Adds the matmul of the long block's tiles at one point to a panel, by 16 channels of x. */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
INLINED void add_matmuls(const problem *p, int at, int64_t o, float *panel, VARIANT)
{
    for (int64_t c = 0; c < p->x.channels; c += FGI_WIDE) {
        const fgi_block_matmul matmul = {
            .rows = FGI_WIDE,
            .inner = least(LONG_BLOCK, p->tiles - p->first),
            .a = {element(&p->seen, 0, c) + at * p->seen.point, 1, FGI_WIDE},
            .b = element(&p->dy, 0, o) + at * p->dy.point,
            .b_row = p->panel,
            .y = panel + (at * p->x.channels + c) * p->panel,
            .y_row = p->panel,
            .adds = p->first > 0};
        fgi_multiply_panel(&matmul, rows > FGI_WIDE / 2 ? FGI_WIDE / 2 : rows, wide);
    }
}

INLINED void make_dkernel(const problem *p, int64_t c, int64_t o, int64_t end, const float *panel)
{
    for (; o < end; o += FGI_WIDE) {
        const float *from = panel + o % p->panel;
        p->kernel_is_half ? make_kernel(p, c, o, from, true) : make_kernel(p, c, o, from, false);
    }
}

INLINED void make_dpanel(const problem *p, int64_t i, int worker, VARIANT)
{
    const int64_t o = i * p->panel, end = least(o + p->panel, p->y.channels);
    float *panel = p->memory + worker * p->worker_size;
    for (int at = 0; at < FGI_POINTS; at++)
        add_matmuls(p, at, o, panel, rows, wide);
    for (int64_t c = 0; c < p->x.channels; c++)
        make_dkernel(p, c, o, end, panel);
}

INLINED void run_step(void *context, int64_t i, int worker, VARIANT)
{
    const problem *p = context;
    const int64_t panels = p->padded / p->panel;
    switch (p->step) {
    case KERNEL: see_columns(p, i * FGI_WIDE, panel_of(p, i * FGI_WIDE)); break;
    case TILES: make_tiles(p, i, worker, rows, wide); break;
    case SEEN: see_tile_any(p, i, i, &p->seen); break;
    case PANELS: make_panel(p, i, worker, rows, wide); break;
    case IMAGES: see_images(p, i); break;
    case MATMULS:
        add_matmuls(p, (int)(i / panels), i % panels * p->panel, panel_of(p, i % panels * p->panel),
                    rows, wide);
        break;
    case DKERNEL:
        for (int64_t o = 0; o < p->y.channels; o += p->panel)
            make_dkernel(p, i, o, least(o + p->panel, p->y.channels), panel_of(p, o));
        break;
    case DPANELS: make_dpanel(p, i, worker, rows, wide); break;
    }
}

WITH_AVX512 static void run_step_avx512(void *context, int64_t i, int worker)
{
    run_step(context, i, worker, FGI_MOST_ROWS, 2);
}

WITH_AVX2 static void run_step_avx2(void *context, int64_t i, int worker)
{
    run_step(context, i, worker, FGI_MOST_ROWS / 2, 1);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void run(const fgi_ffi_call *call, problem *p, step what, int threads, int64_t count)
{
    p->step = what;
    fgi_parallel(call, threads, count, HAS_AVX512 ? run_step_avx512 : run_step_avx2, p);
}

/* Floats. */
typedef struct sizes {
    int64_t points, seen, dy, worker;
} sizes;

/* For tensors of `from` and `to` channels. */
static sizes sizes_of(int64_t tiles, int64_t from, int64_t to, bool is_dk)
{
    const int64_t padded = up(to, MOST_PANEL), panel = FGI_POINTS * from * MOST_PANEL;
    const bool has_few = tiles <= LONG_BLOCK;
    sizes s = {.points = has_few ? 0 : FGI_POINTS * from * padded};
    s.seen = is_dk || has_few ? FGI_POINTS * (LONG_BLOCK * from + GAP) : 0;
    s.dy = is_dk ? FGI_POINTS * (LONG_BLOCK * padded + GAP) : 0;
    if (is_dk)
        s.worker = has_few ? panel : 0;
    else
        s.worker = has_few ? panel + FGI_POINTS * (tiles * MOST_PANEL + GAP)
                           : FGI_POINTS * (BLOCK * (from + padded) + 2 * GAP);
    return s;
}

static int64_t outside_size(int64_t from, int64_t to)
{
    return up(from > to ? from : to, FGI_WIDE);
}

static int64_t tiles_of(const int64_t *y)
{
    return y[0] * (up(y[1], FGI_MADE) / FGI_MADE) * (up(y[2], FGI_MADE) / FGI_MADE);
}

int64_t fgi_kernel_winograd_memory(const int64_t *y, int64_t from, int threads, bool is_dk)
{
    const sizes s = sizes_of(tiles_of(y), from, y[3], is_dk);
    return outside_size(from, y[3]) + s.points + s.seen + s.dy +
           least(threads, MOST_THREADS) * s.worker;
}

static image image_of(const fgi_ffi_buffer *buffer)
{
    const bool is_half = buffer->dtype == FGI_FFI_BF16;
    return (image){buffer->data,
                   buffer->dim[1],
                   buffer->dim[2],
                   buffer->dim[3],
                   buffer->dim[3] * (is_half ? 2 : 4),
                   is_half};
}

/* The problem of a call with its memory. Leaves the threads that there is memory for. */
static problem problem_of(const fgi_ffi_call *call, const fgi_ffi_buffer *const of[3],
                          bool is_turned, bool is_dk, int *threads)
{
    const fgi_ffi_buffer *x = of[0], *kernel = of[1], *y = of[2];
    const int64_t *low = fgi_ffi_numbers(call) + 1, from = x->dim[3], to = y->dim[3];
    problem p = {.x = image_of(x),
                 .y = image_of(y),
                 .kernel = kernel->data,
                 .kernel_is_half = kernel->dtype == FGI_FFI_BF16,
                 .is_turned = is_turned,
                 .panel = HAS_AVX512 ? MOST_PANEL : FGI_WIDE,
                 .tiles = tiles_of(y->dim)};
    for (int i = 0; i < 2; i++)
        p.low[i] = is_turned ? FGI_TAPS - 1 - low[i] : low[i];
    p.across = up(p.y.width, FGI_MADE) / FGI_MADE;
    p.per_image = p.across * (up(p.y.height, FGI_MADE) / FGI_MADE);
    p.padded = up(to, p.panel);
    const sizes s = sizes_of(p.tiles, from, to, is_dk);
    float *memory = call->out.buffer[1]->data;
    for (int64_t i = 0; i < outside_size(from, to); i++)
        memory[i] = 0;
    p.outside = (char *)memory;
    p.points = memory + outside_size(from, to);
    p.seen = (matrices){p.points + s.points, LONG_BLOCK * from + GAP, is_dk ? FGI_WIDE : from};
    p.dy = (matrices){p.seen.data + s.seen, LONG_BLOCK * p.padded + GAP, p.panel};
    p.memory = p.dy.data + s.dy;
    p.worker_size = s.worker;
    const int64_t room = fgi_ffi_count(call->out.buffer[1]) - (p.memory - memory);
    *threads = fgi_parallel_threads(
        call, (int)(s.worker > 0 ? least(room / s.worker, MOST_THREADS) : MOST_THREADS));
    return p;
}

/* Whether there is nothing to compute, but this answer. */
static bool is_answered(const fgi_ffi_call *call, void **answer)
{
    *answer = NULL;
    if (fgi_ffi_is_question(call))
        return true;
    if (!fgi_kernel_winograd_runs())
        *answer = fgi_ffi_fail(call, "the program was compiled for a processor with AVX2, which "
                                     "this one does not have: compile it again");
    return *answer != NULL;
}

static void *convolve(fgi_ffi_call *call, bool is_turned)
{
    int threads = 1;
    void *answer;
    if (is_answered(call, &answer))
        return answer;
    const fgi_ffi_buffer *const of[] = {call->in.buffer[0], call->in.buffer[1],
                                        call->out.buffer[0]};
    problem p = problem_of(call, of, is_turned, false, &threads);
    if (p.tiles <= LONG_BLOCK) {
        run(call, &p, SEEN, threads, p.tiles);
        run(call, &p, PANELS, threads, p.padded / p.panel);
        return NULL;
    }
    const int64_t blocks = up(up(p.tiles, BLOCK) / BLOCK, threads);
    p.block = up(p.tiles, blocks) / blocks;
    run(call, &p, KERNEL, threads, p.padded / FGI_WIDE);
    run(call, &p, TILES, threads, up(p.tiles, p.block) / p.block);
    return NULL;
}

void *fgi_kernel_winograd(fgi_ffi_call *call) { return convolve(call, false); }
void *fgi_kernel_winograd_dx(fgi_ffi_call *call) { return convolve(call, true); }

void *fgi_kernel_winograd_dk(fgi_ffi_call *call)
{
    int threads = 1;
    void *answer;
    if (is_answered(call, &answer))
        return answer;
    const fgi_ffi_buffer *const of[] = {call->in.buffer[0], call->out.buffer[0],
                                        call->in.buffer[1]};
    problem p = problem_of(call, of, false, true, &threads);
    const int64_t panels = p.padded / p.panel;
    const bool has_few = p.tiles <= LONG_BLOCK;
    for (; p.first < p.tiles; p.first += LONG_BLOCK) {
        run(call, &p, IMAGES, threads, least(LONG_BLOCK, p.tiles - p.first));
        if (!has_few)
            run(call, &p, MATMULS, threads, FGI_POINTS * panels);
    }
    p.first = 0;
    run(call, &p, has_few ? DPANELS : DKERNEL, threads, has_few ? panels : p.x.channels);
    return NULL;
}

bool fgi_kernel_winograd_runs(void) { return HAS_AVX2; }
