/* test_base_number.c - elements of host arrays as doubles: round trip of every 16-bit float,
 * rounding at the boundaries, ranges of integers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>

#include "base/number.h"

static uint16_t bits_of(fg_dtype dtype, double value)
{
    uint16_t bits[2] = {0x1234, 0};
    fgi_number_put(dtype, bits, 1, value);
    assert_int_equal(bits[0], 0x1234);
    return bits[1];
}

static double value_of(fg_dtype dtype, uint16_t bits) { return fgi_number_get(dtype, &bits, 0); }

static void every_short_float_comes_back(void **state)
{
    (void)state;
    static const fg_dtype dtypes[] = {FG_BF16, FG_F16};
    for (int d = 0; d < 2; d++)
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            const double value = value_of(dtypes[d], (uint16_t)bits);
            if (isnan(value))
                assert_true(isnan(value_of(dtypes[d], bits_of(dtypes[d], value))));
            else
                assert_int_equal(bits_of(dtypes[d], value), bits);
        }
}

/* The upper half of an f32 is a bf16: that is its definition. */
static void bf16_is_the_upper_half_of_f32(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7F80; bits += 7) {
        const uint32_t wide = bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        assert_true(value_of(FG_BF16, (uint16_t)bits) == (double)value);
    }
}

/* Ties round to the even neighbor, everything else to the nearest one. */
static void halves_go_to_even(void **state)
{
    (void)state;
    static const fg_dtype dtypes[] = {FG_BF16, FG_F16};
    for (int d = 0; d < 2; d++) {
        const unsigned end = dtypes[d] == FG_BF16 ? 0x7F7F : 0x7BFF;
        for (unsigned bits = 0; bits < end; bits++) {
            const double low = value_of(dtypes[d], (uint16_t)bits);
            const double high = value_of(dtypes[d], (uint16_t)(bits + 1));
            const double middle = low + (high - low) / 2;
            assert_int_equal(bits_of(dtypes[d], middle), bits + (bits & 1));
            assert_int_equal(bits_of(dtypes[d], middle + (high - low) / 1024), bits + 1);
            assert_int_equal(bits_of(dtypes[d], -(middle - (high - low) / 1024)), bits | 0x8000);
        }
    }
}

static void borders_of_the_formats(void **state)
{
    (void)state;
    assert_int_equal(bits_of(FG_F16, 65504), 0x7BFF);
    assert_int_equal(bits_of(FG_F16, 65519.99), 0x7BFF);
    assert_int_equal(bits_of(FG_F16, 65520), 0x7C00);
    assert_int_equal(bits_of(FG_F16, -1e300), 0xFC00);
    assert_int_equal(bits_of(FG_F16, 0x1p-24), 0x0001);
    assert_int_equal(bits_of(FG_F16, 0x1p-25), 0x0000);
    assert_int_equal(bits_of(FG_F16, 0x1.8p-25), 0x0001);
    assert_int_equal(bits_of(FG_F16, -0.0), 0x8000);
    assert_int_equal(bits_of(FG_BF16, 1), 0x3F80);
    assert_int_equal(bits_of(FG_BF16, 1e39), 0x7F80);
    assert_int_equal(bits_of(FG_BF16, (double)-INFINITY), 0xFF80);
    assert_int_equal(bits_of(FG_BF16, 5e-324), 0x0000);
    assert_int_equal(bits_of(FG_BF16, (double)NAN), 0x7FC0); /* quiet, as of f32 */
    assert_int_equal(bits_of(FG_F16, (double)NAN), 0x7E00);
}

static void integers_hold_what_fits(void **state)
{
    (void)state;
    static const struct {
        fg_dtype dtype;
        double least, greatest;
    } rows[] = {
        {FG_BOOL, 0, 1},
        {FG_U8, 0, 255},
        {FG_S8, -128, 127},
        {FG_U16, 0, 65535},
        {FG_S16, -32768, 32767},
        {FG_U32, 0, 4294967295.0},
        {FG_S32, -2147483648.0, 2147483647.0},
        {FG_U64, 0, 0x1.fffffffffffffp63},
        {FG_S64, -0x1p63, 0x1.fffffffffffffp62},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const double values[] = {rows[r].least, rows[r].greatest};
        for (int i = 0; i < 2; i++) {
            uint64_t room[2] = {0};
            assert_true(fgi_number_fits(rows[r].dtype, values[i]));
            fgi_number_put(rows[r].dtype, room, 1, values[i]);
            assert_true(fgi_number_get(rows[r].dtype, room, 1) == values[i]);
        }
        assert_false(fgi_number_fits(rows[r].dtype, nextafter(rows[r].least, -1e300)));
        assert_false(fgi_number_fits(rows[r].dtype, nextafter(rows[r].greatest, 1e300)));
        if (fg_dtype_size(rows[r].dtype) <= 4) { /* the next integers */
            assert_false(fgi_number_fits(rows[r].dtype, rows[r].least - 1));
            assert_false(fgi_number_fits(rows[r].dtype, rows[r].greatest + 1));
        }
        assert_false(fgi_number_fits(rows[r].dtype, (double)NAN));
        assert_false(fgi_number_fits(rows[r].dtype, 0.5));
    }
    assert_true(fgi_number_fits(FG_F32, 0.5));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_short_float_comes_back),
    cmocka_unit_test(bf16_is_the_upper_half_of_f32),
    cmocka_unit_test(halves_go_to_even),
    cmocka_unit_test(borders_of_the_formats),
    cmocka_unit_test(integers_hold_what_fits),
};
FGT_MAIN(tests)
