/* test_base_rng.c - Threefry compared with published values, distributions derived from it, and
 * permutations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include "base/rng.h"

/* The known answers that Salmon et al. ship with Random123 (kat_vectors, threefry2x32 20). */
static void threefry_known_answers(void **state)
{
    static const struct {
        fgi_key key;
        uint32_t counter[2], answer[2];
    } cases[] = {
        {{{0, 0}}, {0, 0}, {0x6b200159, 0x99ba4efe}},
        {{{0xffffffff, 0xffffffff}}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
        {{{0x13198a2e, 0x03707344}}, {0x243f6a88, 0x85a308d3}, {0xc4923a9c, 0x483df7a0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t out[2];
        fgi_threefry2x32(cases[i].key, cases[i].counter[0], cases[i].counter[1], out);
        assert_int_equal(out[0], cases[i].answer[0]);
        assert_int_equal(out[1], cases[i].answer[1]);
    }
}

static void keys_and_words_are_low_word_first(void **state)
{
    const fgi_key key = fgi_key_from_seed(UINT64_C(0x0370734413198a2e));
    assert_int_equal(key.word[0], 0x13198a2e);
    assert_int_equal(key.word[1], 0x03707344);
    const uint64_t counter = UINT64_C(0x85a308d3243f6a88);
    assert_true(fgi_rng_u64(key, counter) == UINT64_C(0x483df7a0c4923a9c));
    const fgi_key folded = fgi_key_fold(key, counter);
    assert_int_equal(folded.word[0], 0xc4923a9c);
    assert_int_equal(folded.word[1], 0x483df7a0);
    assert_true(fgi_rng_uniform(key, counter) == (float)(0xc4923a9c >> 8) / 16777216.0f);
    for (uint64_t i = 0; i < 64; i++)
        assert_true(fgi_rng_uniform(key, i) ==
                    (float)((uint32_t)fgi_rng_u64(key, i) >> 8) / 16777216.0f);
    const fgi_key a = fgi_key_fold_text(key, "dropout"), b = fgi_key_fold_text(key, "shuffle");
    assert_true(a.word[0] != b.word[0] && a.word[1] != b.word[1]);
}

static void uniform_and_normal_have_their_moments(void **state)
{
    enum { N = 100000 };
    const fgi_key key = fgi_key_from_seed(7);
    double sum = 0, sum_normal = 0, squares = 0, fourth = 0;
    for (uint64_t i = 0; i < N; i++) {
        const float u = fgi_rng_uniform(key, i), z = fgi_rng_normal(key, i);
        assert_true(u >= 0 && u < 1 && isfinite(z));
        sum += (double)u;
        sum_normal += (double)z;
        squares += (double)z * (double)z;
        fourth += pow((double)z, 4);
    }
    /* five standard errors of each */
    fgt_close("mean of uniform", sum / N, 0.5, 5 * sqrt(1.0 / 12 / N), 0);
    fgt_close("mean of normal", sum_normal / N, 0, 5 / sqrt(N), 0);
    fgt_close("variance of normal", squares / N, 1, 5 * sqrt(2.0 / N), 0);
    fgt_close("fourth moment of normal", fourth / N, 3, 5 * sqrt(96.0 / N), 0);
}

/* Both in ranges and alone: rounded correctly but for 2^-19 of a unit in the last place. */
static void normal_values_are_accurate(void **state)
{
    enum { N = 1 << 20 };
    static float range[N];
    const fgi_key key = fgi_key_from_seed(21);
    fgi_rng_normal_range(key, 0, N, range);
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t bits = fgi_rng_u64(key, i);
        const long double u = (long double)((bits & 0xffffffff) >> 8) + 1, v = bits >> 40;
        const long double exact = sqrtl(-2 * logl(u * 0x1p-24L)) *
                                  cosl(6.28318530717958647692528676655900577L * v * 0x1p-24L);
        const long double unit = (long double)ldexp(1, ilogbl(exact) - 23);
        assert_true(fabsl((long double)range[i] - exact) <= (0.5L + 0x1p-19L) * unit + 0x1p-60L);
        assert_true(range[i] == fgi_rng_normal(key, i));
    }
}

static void permutation_is_one(uint64_t seed, uint64_t n)
{
    static unsigned char seen[70000];
    memset(seen, 0, n);
    const fgi_key key = fgi_key_from_seed(seed);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t place = fgi_permute(key, n, i);
        assert_true(place < n);
        assert_int_equal(seen[place], 0);
        seen[place] = 1;
    }
}

static void permutation_is_a_bijection(void **state)
{
    for (uint64_t n = 1; n <= 300; n++)
        for (uint64_t seed = 0; seed < 3; seed++)
            permutation_is_one(seed, n);
    static const uint64_t sizes[] = {1797, 4095, 4096, 4097, 60000, 65536, 65537};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        permutation_is_one(11, sizes[i]);
}

static void permutation_of_huge_ranges_stays_inside(void **state)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 62) + 1,
                                     UINT64_C(1) << 62, (UINT64_C(1) << 32) + 1};
    const fgi_key key = fgi_key_from_seed(3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (uint64_t j = 0; j < 100; j++) {
            const uint64_t low = fgi_permute(key, sizes[i], j);
            const uint64_t high = fgi_permute(key, sizes[i], sizes[i] - 1 - j);
            assert_true(low < sizes[i] && high < sizes[i] && low != high);
        }
}

/* All six permutations of three elements are equally frequent over many keys. */
static void small_permutations_are_fair(void **state)
{
    enum { KEYS = 12000 };
    int count[27] = {0};
    for (uint64_t seed = 0; seed < KEYS; seed++) {
        uint64_t order = 0;
        for (uint64_t i = 0; i < 3; i++)
            order = order * 3 + fgi_permute(fgi_key_from_seed(seed), 3, i);
        count[order]++;
    }
    static const int orders[] = {5, 7, 11, 15, 19, 21}; /* 012 021 102 120 201 210 in base 3 */
    for (size_t i = 0; i < 6; i++)
        fgt_close("frequency of an order", count[orders[i]], KEYS / 6.0, 0, 0.15);
}

/* Standard scores of chi-squared sums over EPOCHS permutations of n elements, each with a different
 * key: positions, first pair, last pair; and of the number of odd permutations. Keys are derived as
 * in the sampler. */
typedef struct fairness {
    double position, first_pair, last_pair, parity;
} fairness;

enum { EPOCHS = 20000, LARGEST = 128 };

static double score(const double *count, size_t size, double cells, double degrees)
{
    const double expected = EPOCHS * cells;
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += count[i] < 0 ? 0 : (count[i] - expected) * (count[i] - expected) / expected;
    return degrees < 1 ? 0 : (sum - degrees) / sqrt(2 * degrees);
}

static bool is_odd(const uint64_t *order, size_t n)
{
    bool odd = false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            odd ^= order[i] > order[j];
    return odd;
}

static fairness measure(size_t n)
{
    static double place[LARGEST * LARGEST], first[LARGEST * LARGEST], last[LARGEST * LARGEST];
    double odd = 0;
    for (size_t i = 0; i < n * n; i++) {
        place[i] = 0;
        first[i] = last[i] = i / n == i % n ? -1 : 0; /* no element occurs twice: not a cell */
    }
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint64_t order[LARGEST];
        fgi_permute_range(fgi_key_fold(fgi_key_from_seed(77), epoch), n, 0, n, order);
        for (size_t i = 0; i < n; i++)
            place[i * n + order[i]]++;
        first[order[0] * n + order[1]]++;
        last[order[n - 2] * n + order[n - 1]]++;
        odd += is_odd(order, n);
    }
    const double things = (double)n, pairs = things * (things - 1);
    return (fairness){.position = score(place, n * n, 1 / things, (things - 1) * (things - 1)),
                      .first_pair = score(first, n * n, 1 / pairs, pairs - 1),
                      .last_pair = score(last, n * n, 1 / pairs, pairs - 1),
                      .parity = (odd - EPOCHS / 2.0) / sqrt(EPOCHS / 4.0)};
}

/* Every size on both sides of the limits of the algorithms; 4.5 deviations are one in 150,000. */
static void orders_pass_chi_squared_tests(void **state)
{
    static const size_t sizes[] = {2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                   15, 16, 17, 20, 24, 31, 32, 33, 48, 63, 64, 65, 100};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const fairness z = measure(sizes[i]);
        fgt_close("score of positions", z.position, 0, 4.5, 0);
        fgt_close("score of first pairs", z.first_pair, 0, 4.5, 0);
        fgt_close("score of last pairs", z.last_pair, 0, 4.5, 0);
        if (sizes[i] <= 64) /* the network's orders are mostly even */
            fgt_close("score of odd orders", z.parity, 0, 4.5, 0);
    }
}

static void permuting_a_range_is_permuting_each(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 5, 16, 17, 63, 64, 65, 1000, 1 << 20, UINT64_MAX};
    uint64_t out[200];
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t count = 0; count <= 200 && count <= sizes[s]; count += count < 20 ? 1 : 37) {
            const fgi_key key = fgi_key_from_seed(sizes[s] + count);
            const uint64_t first = (sizes[s] - count) / 3;
            memset(out, 0xee, sizeof(out));
            fgi_permute_range(key, sizes[s], first, count, out);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(out[i], fgi_permute(key, sizes[s], first + i));
            if (count < 200)
                assert_int_equal(out[count], UINT64_C(0xeeeeeeeeeeeeeeee));
        }
}

/* Also across the limit of 32 bits of a counter, and without writing past the end. */
static void drawing_a_range_is_drawing_each(void **state)
{
    static const uint64_t firsts[] = {0, 5, 0xfffffff7, UINT64_C(0x123456789a)};
    const fgi_key key = fgi_key_from_seed(9);
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++)
        for (size_t count = 0; count < 70; count += 3) {
            float uniform[70] = {0}, normal[70] = {0};
            fgi_rng_uniform_range(key, firsts[f], count, uniform);
            fgi_rng_normal_range(key, firsts[f], count, normal);
            for (size_t i = 0; i < count; i++) {
                assert_true(uniform[i] == fgi_rng_uniform(key, firsts[f] + i));
                assert_true(normal[i] == fgi_rng_normal(key, firsts[f] + i));
            }
            assert_true(uniform[count] == 0 && normal[count] == 0);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threefry_known_answers),
    cmocka_unit_test(keys_and_words_are_low_word_first),
    cmocka_unit_test(uniform_and_normal_have_their_moments),
    cmocka_unit_test(normal_values_are_accurate),
    cmocka_unit_test(permutation_is_a_bijection),
    cmocka_unit_test(permutation_of_huge_ranges_stays_inside),
    cmocka_unit_test(small_permutations_are_fair),
    cmocka_unit_test(orders_pass_chi_squared_tests),
    cmocka_unit_test(permuting_a_range_is_permuting_each),
    cmocka_unit_test(drawing_a_range_is_drawing_each),
};
FGT_MAIN(tests)
