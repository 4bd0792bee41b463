/* test_random.c - random bits, uniform numbers and dropout, on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>
#include "base/rng.h"
#include "trace_values.h"

/* ---- randomness ------------------------------------------------------------------------------ */

/* The expected bits, computed on the host: block (index over [..., ceil(n/2)], call site), first
 * words, then second words. */
static void check_bits(const uint32_t *got, uint64_t seed, uint64_t step, uint32_t place,
                       uint32_t rows, uint32_t n)
{
    const fgi_key key = fgi_key_fold(fgi_key_from_seed(seed), step);
    const uint32_t half = (n + 1) / 2;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t block[2];
            fgi_threefry2x32(key, r * half + i % half, place, block);
            if (got[r * n + i] != block[i / half])
                fail_msg("place %u, row %u, element %u: %08x, the host has %08x", place, r, i,
                         got[r * n + i], block[i / half]);
        }
}

static void bits_are_the_hosts(void **client)
{
    fg_error err = {0};
    static uint32_t got[4][210];
    fg_array *out[4];
    fg_trace *trace = values_trace(*client);
    const int64_t before = values_programs(*client);
    for (uint64_t step = 0; step < 3; step++) {
        const uint64_t seed = step == 2 ? 0xDEADBEEF12345678U : 99;
        fg_trace_set_seed(trace, seed, step << 33);
        const fg_tensor bits[4] = {
            fg_random_bits(trace, FG_DIMS(2, 3, 35)), fg_random_bits(trace, FG_DIMS(8)),
            fg_random_bits(trace, FG_SCALAR), fg_random_bits(trace, FG_DIMS(5, 1))};
        fgt_ok(fg_run(trace, bits, 4, out, &err));
        static const size_t sizes[4] = {210, 8, 1, 5};
        for (int i = 0; i < 4; i++) {
            fgt_ok(fg_array_read(out[i], got[i], sizes[i] * 4, &err));
            fg_array_release(out[i]);
        }
        check_bits(got[0], seed, step << 33, 0, 6, 35);
        check_bits(got[1], seed, step << 33, 1, 1, 8);
        check_bits(got[2], seed, step << 33, 2, 1, 1);
        check_bits(got[3], seed, step << 33, 3, 5, 1);
    }
    assert_int_equal(values_programs(*client), before + 1); /* seed and step are inputs */
    fg_trace_destroy(trace);
}

/* A test vector of Salmon et al. on the device; then a key and a call site that use all bits. */
static void bits_are_the_known_answers(void **client)
{
    fg_error err = {0};
    uint32_t got[2];
    fg_trace *trace = values_trace(*client);
    trace->key[0].value.u32 = trace->key[1].value.u32 = 0;
    values_run(trace, fg_random_bits(trace, FG_DIMS(2)), got, sizeof got);
    assert_int_equal(got[0], 0x6b200159);
    assert_int_equal(got[1], 0x99ba4efe);
    trace->key[0].value.u32 = 0x13198a2e;
    trace->key[1].value.u32 = 0x03707344;
    trace->random_ids = 0x85a308d3;
    uint32_t block[2];
    fgi_threefry2x32((fgi_key){{0x13198a2e, 0x03707344}}, 0, 0x85a308d3, block);
    values_run(trace, fg_random_bits(trace, FG_DIMS(2)), got, sizeof got);
    assert_memory_equal(got, block, sizeof got);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static void uniform_numbers(void **client)
{
    enum { N = 20000 };
    float *got = malloc(N * sizeof *got);
    uint32_t *bits = malloc(N * sizeof *bits);
    fg_trace *trace = values_trace(*client);
    fg_trace_set_seed(trace, 3, 4);
    values_run(trace, fg_random_uniform(trace, FG_DIMS(N)), got, N * sizeof *got);
    values_run(trace, fg_random_bits(trace, FG_DIMS(N)), bits, N * sizeof *bits);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        assert_true(got[i] == (float)(bits[i] >> 8) * 0x1p-24F && got[i] < 1);
        sum += (double)got[i];
    }
    fgt_close("mean", sum / N, 0.5, 0.01, 0);
    free(got);
    free(bits);
    fg_trace_destroy(trace);
}

/* Moments of 20001 numbers, and one whose tail is known: 4.55 % are beyond 2. */
static void normal_numbers(void **client)
{
    enum { N = 20001 };
    float *got = malloc(N * sizeof *got);
    fg_trace *trace = values_trace(*client);
    fg_trace_set_seed(trace, 3, 4);
    values_run(trace, fg_random_normal(trace, FG_DIMS(N)), got, N * sizeof *got);
    double power[5] = {0}, tail = 0, product = 0;
    for (int i = 0; i < N; i++) {
        for (int p = 1; p < 5; p++)
            power[p] += pow((double)got[i], p) / N;
        tail += fabs((double)got[i]) > 2 ? 1.0 / N : 0;
        product += (double)got[i] * (double)got[(i + (N + 1) / 2) % N] / N;
    }
    fgt_close("mean", power[1], 0, 0.03, 0);
    fgt_close("variance", power[2], 1, 0.04, 0);
    fgt_close("skewness", power[3], 0, 0.1, 0);
    fgt_close("kurtosis", power[4], 3, 0.25, 0);
    fgt_close("tail", tail, 0.0455, 0.006, 0);
    fgt_close("correlation of pairs", product, 0, 0.03, 0);
    values_run(trace, fg_random_normal(trace, FG_SCALAR), got, sizeof *got);
    assert_true(isfinite(got[0]) && got[0] != 0);
    free(got);
    fg_trace_destroy(trace);
}

/* The frequencies are the softmax of the logits; what has none is never drawn. */
static void categorical_samples(void **client)
{
    enum { N = 20000 };
    static const float logits[4] = {0.5F, -1, 2, -INFINITY};
    int32_t *got = malloc(N * sizeof *got);
    fg_trace *trace = values_trace(*client);
    fg_trace_set_seed(trace, 5, 6);
    const fg_tensor one = fg_constant(trace, &(fg_type){FG_F32, 1, {4}}, logits);
    values_run(trace, fg_random_categorical(fg_broadcast_to(one, FG_DIMS(N, 4))), got,
               N * sizeof *got);
    double count[4] = {0}, sum = 0;
    for (int i = 0; i < N; i++) {
        assert_in_range(got[i], 0, 2);
        count[got[i]]++;
    }
    for (int k = 0; k < 3; k++)
        sum += exp((double)logits[k]);
    for (int k = 0; k < 3; k++)
        fgt_close("frequency", count[k] / N, exp((double)logits[k]) / sum, 0.012, 0);
    free(got);
    fg_trace_destroy(trace);
}

/* Each number occurs once; their positions are those of the sorted bits. */
static void permutations(void **client)
{
    enum { N = 1000 };
    int32_t got[N];
    uint32_t bits[N];
    fg_trace *trace = values_trace(*client);
    fg_trace_set_seed(trace, 7, 8);
    values_run(trace, fg_random_permutation(trace, N), got, sizeof got);
    values_run(trace, fg_random_bits(trace, FG_DIMS(N)), bits, sizeof bits);
    bool seen[N] = {false};
    for (int i = 0; i < N; i++) {
        assert_in_range(got[i], 0, N - 1);
        assert_false(seen[got[i]]);
        seen[got[i]] = true;
        assert_true(i == 0 || bits[got[i - 1]] <= bits[got[i]]);
    }
    fg_trace_destroy(trace);
}

static void dropout_drops_its_fraction_and_its_gradient(void **client)
{
    enum { N = 20000 };
    fg_error err = {0};
    float *y = malloc(N * sizeof *y), *d = malloc(N * sizeof *d), *z = malloc(N * sizeof *z);
    fg_array *out[3];
    fg_tensor gradient;
    fg_trace *trace = values_trace(*client);
    fg_trace_set_training(trace, true);
    const fg_scalar three = {.dtype = FG_F32, .value.f32 = 3};
    const fg_tensor x = fg_broadcast_to(fg_scalar_value(trace, &three), FG_DIMS(N));
    const fg_tensor dropped = fg_dropout(x, 0.25), again = fg_dropout(x, 0.25);
    fg_grad(fg_sum(dropped, 0, NULL), &x, 1, &gradient);
    fgt_ok(fg_run(trace, (const fg_tensor[]){dropped, gradient, again}, 3, out, &err));
    fgt_ok(fg_array_read(out[0], y, N * sizeof *y, &err));
    fgt_ok(fg_array_read(out[1], d, N * sizeof *d, &err));
    fgt_ok(fg_array_read(out[2], z, N * sizeof *z, &err));
    int kept = 0, differ = 0;
    for (int i = 0; i < N; i++) {
        assert_true(y[i] == 0 || y[i] == 4);
        fgt_close("gradient", (double)d[i], y[i] == 0 ? 0 : 4.0 / 3, 1e-6, 0);
        kept += y[i] != 0;
        differ += y[i] != z[i];
    }
    fgt_close("kept", (double)kept / N, 0.75, 0.01, 0);
    fgt_close("another place differs", (double)differ / N, 2 * 0.25 * 0.75, 0.02, 0);
    for (int i = 0; i < 3; i++)
        fg_array_release(out[i]);
    free(y);
    free(d);
    free(z);
    fg_trace_destroy(trace);
}

static void drop_path_drops_whole_samples(void **client)
{
    enum { N = 10000, K = 2 };
    static float y[N][K];
    fg_error err = {0};
    fg_array *out;
    fg_trace *trace = values_trace(*client);
    fg_trace_set_training(trace, true);
    const fg_tensor x = fg_full(trace, FG_F32, 3, FG_DIMS(N, K)), dropped = fg_drop_path(x, 0.25);
    fgt_ok(fg_run(trace, &dropped, 1, &out, &err));
    fgt_ok(fg_array_read(out, y, sizeof y, &err));
    int kept = 0;
    for (int i = 0; i < N; i++) {
        assert_true((y[i][0] == 0 || y[i][0] == 4) && y[i][1] == y[i][0]);
        kept += y[i][0] != 0;
    }
    fgt_close("kept", (double)kept / N, 0.75, 0.02, 0);
    fg_array_release(out);
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bits_are_the_hosts),
    cmocka_unit_test(bits_are_the_known_answers),
    cmocka_unit_test(uniform_numbers),
    cmocka_unit_test(normal_numbers),
    cmocka_unit_test(categorical_samples),
    cmocka_unit_test(permutations),
    cmocka_unit_test(dropout_drops_its_fraction_and_its_gradient),
    cmocka_unit_test(drop_path_drops_whole_samples),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
