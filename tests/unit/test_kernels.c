/* test_kernels.c - the kernels (src/kernel), called as a compiled program calls them, compared with
 * sums in double precision. Every tensor is a separate allocation, so that sanitizers see accesses
 * beyond its end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernel/kernel.h"

enum { MOST_RANK = 2, MOST_IN = 4 * FGI_KERNEL_ADAM_MOST + 1, MOST_OUT = 3 * FGI_KERNEL_ADAM_MOST };

/* A call with its tensors. */
typedef struct call {
    fgi_ffi_call frame;
    fgi_ffi_buffer in[MOST_IN], out[MOST_OUT];
    const fgi_ffi_buffer *of[MOST_IN + MOST_OUT];
    int64_t dim[MOST_IN + MOST_OUT][MOST_RANK];
} call;

static void begin(call *c)
{
    memset(c, 0, sizeof *c);
    c->frame.in.buffer = c->of;
    c->frame.out.buffer = c->of + MOST_IN;
}

/* Adds a tensor of random numbers; columns -1: of rank 1. */
static float *add(call *c, bool is_result, int64_t rows, int64_t columns)
{
    fgi_ffi_buffers *side = is_result ? &c->frame.out : &c->frame.in;
    fgi_ffi_buffer *buffer = &(is_result ? c->out : c->in)[side->count];
    const int64_t at = (is_result ? MOST_IN : 0) + side->count++;
    c->of[at] = buffer;
    c->dim[at][0] = rows;
    c->dim[at][1] = columns;
    buffer->dim = c->dim[at];
    buffer->rank = columns < 0 ? 1 : 2;
    const int64_t count = fgi_ffi_count(buffer);
    buffer->data = malloc((size_t)count * sizeof(float));
    fgi_rng_normal_range((fgi_key){{(uint32_t)count, (uint32_t)at}}, 0, (size_t)count,
                         buffer->data);
    return buffer->data;
}

static void end(call *c)
{
    for (int64_t i = 0; i < c->frame.in.count; i++)
        free(c->in[i].data);
    for (int64_t i = 0; i < c->frame.out.count; i++)
        if (c->out[i].data != c->in[i].data)
            free(c->out[i].data);
}

/* ---- matmuls --------------------------------------------------------------------------------- */

typedef enum form { PLAIN, B_TRANSPOSED, A_TRANSPOSED } form;

static void check_matmul(form f, int64_t m, int64_t k, int64_t n)
{
    static void *(*const run[])(fgi_ffi_call *) = {fgi_kernel_matmul, fgi_kernel_matmul_bt,
                                                   fgi_kernel_matmul_at};
    call c;
    begin(&c);
    const float *a = add(&c, false, f == A_TRANSPOSED ? k : m, f == A_TRANSPOSED ? m : k);
    const float *b = add(&c, false, f == B_TRANSPOSED ? n : k, f == B_TRANSPOSED ? k : n);
    const float *y = add(&c, true, m, n);
    assert_null(run[f](&c.frame));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; l++) {
                const double x = (double)a[f == A_TRANSPOSED ? l * m + i : i * k + l] *
                                 (double)b[f == B_TRANSPOSED ? j * k + l : l * n + j];
                sum += x;
                size += fabs(x);
            }
            if (!(fabs((double)y[i * n + j] - sum) <= 1e-6 * size))
                fail_msg("%d: %dx%dx%d: [%d, %d] is %g, expected %g", (int)f, (int)m, (int)k,
                         (int)n, (int)i, (int)j, (double)y[i * n + j], sum);
        }
    end(&c);
}

static void matmuls_of_all_sizes(void **state)
{
    static const int64_t inner[] = {0, 1, 2, 7, 16, 33, FGI_KERNEL_INNER};
    (void)state;
    for (form f = PLAIN; f <= A_TRANSPOSED; f++)
        for (int64_t m = 1; m <= 19; m++)
            for (size_t k = 0; k < sizeof inner / sizeof inner[0]; k++)
                for (int64_t n = 1; n <= 35; n += n < 18 ? 1 : 8)
                    check_matmul(f, m, inner[k], n);
}

/* ---- non-finite elements --------------------------------------------------------------------- */

static bool has_bad(call *c)
{
    const float *marks = c->out[0].data;
    assert_null(fgi_kernel_nonfinite(&c->frame));
    assert_true(marks[0] == 0 || isnan(marks[0]));
    return isnan(marks[0]);
}

/* In a tensor between two others, at each place. */
static void every_element_is_seen(void **state)
{
    static const float bad[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
    (void)state;
    for (int64_t count = 0; count < 75; count++) {
        call c;
        begin(&c);
        (void)add(&c, false, 3, -1);
        float *x = add(&c, false, count, -1);
        (void)add(&c, false, 40, 2);
        (void)add(&c, true, 1, -1);
        assert_false(has_bad(&c));
        for (int64_t i = 0; i < count; i++) {
            const float kept = x[i];
            x[i] = bad[i % 3];
            assert_true(has_bad(&c));
            x[i] = kept;
        }
        end(&c);
    }
}

/* ---- Adam ------------------------------------------------------------------------------------ */

/* beta1 0.9, beta2 0.99, eps 0.01, with an L2 penalty or decoupled weight decay. */
static void check_one(const call *c, int n, int k, float before[3][64], double penalty, double keep)
{
    const float *now[3];
    for (int i = 0; i < 3; i++)
        now[i] = c->out[3 * k + i].data;
    const fgi_ffi_buffer *gradient = &c->in[3 * n + k];
    for (int64_t i = 0; i < fgi_ffi_count(gradient); i++) {
        const double p = (double)before[0][i];
        const double g = (double)((const float *)gradient->data)[i] + penalty * p;
        const double m = 0.9 * (double)before[1][i] + 0.1 * g;
        const double s = 0.99 * (double)before[2][i] + 0.01 * g * g;
        fgt_close("p", (double)now[0][i], keep * p - 0.5 * m / (3 * sqrt(s) + 0.01), 1e-5, 1e-5);
        fgt_close("m", (double)now[1][i], m, 1e-6, 1e-6);
        fgt_close("s", (double)now[2][i], s, 1e-6, 1e-6);
    }
}

/* n parameters with `count` elements and more. */
static void check_adam(int n, int64_t count, bool in_place, double penalty, double keep)
{
    const float numbers[FGI_KERNEL_ADAM_NUMBERS] = {[FGI_KERNEL_ADAM_PENALTY] = (float)penalty,
                                                    [FGI_KERNEL_ADAM_KEEP] = (float)keep,
                                                    [FGI_KERNEL_ADAM_REST] = 0.1F,
                                                    [FGI_KERNEL_ADAM_BETA2] = 0.99F,
                                                    [FGI_KERNEL_ADAM_REST2] = 0.01F,
                                                    [FGI_KERNEL_ADAM_WIDEN] = 3,
                                                    [FGI_KERNEL_ADAM_EPS] = 0.01F,
                                                    [FGI_KERNEL_ADAM_RATE] = 0.5F};
    static float before[MOST_OUT / 3][3][64];
    call c;
    begin(&c);
    for (int i = 0; i < 3 * n; i++) {
        float *values = add(&c, false, count + i / 3, -1);
        (void)add(&c, true, count + i / 3, -1);
        for (int64_t k = 0; k < count + i / 3; k++)
            before[i / 3][i % 3][k] = values[k] = i % 3 == 2 ? fabsf(values[k]) : values[k];
        if (in_place) {
            free(c.out[i].data);
            c.out[i].data = values;
        }
    }
    for (int i = 0; i < n; i++)
        (void)add(&c, false, count + i, -1);
    memcpy(add(&c, false, FGI_KERNEL_ADAM_NUMBERS, -1), numbers, sizeof numbers);
    assert_null(fgi_kernel_adam(&c.frame));
    for (int i = 0; i < n; i++)
        check_one(&c, n, i, before[i], penalty, keep);
    end(&c);
}

static void adam_moves_every_element(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 40; count++) {
        check_adam(1, count, true, 0, 1);
        check_adam(FGI_KERNEL_ADAM_MOST, count, false, 0.1, 1);
        check_adam(2, count, true, 0, 0.9);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmuls_of_all_sizes),
        cmocka_unit_test(every_element_is_seen),
        cmocka_unit_test(adam_moves_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
