/* test_base_number.c - elements of host arrays as doubles: round trip of every 16-bit float,
 * rounding at the boundaries, ranges of integers; sizes and texts of types.
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

/* ---- types ----------------------------------------------------------------------------------- */

static void counts_and_bytes_of_types(void **state)
{
    static const struct {
        fg_type type;
        int64_t count;
        size_t bytes;
    } rows[] = {
        {{.dtype = FG_F64}, 1, 8},
        {{FG_BF16, 2, {3, 5}}, 15, 30},
        {{FG_F32, 2, {3, -1}}, 0, 0},
        {{FG_F32, 2, {-2, -3}}, 0, 0}, /* not 6 */
        {{FG_F32, 3, {INT64_C(1) << 62, 4, 0}}, 0, 0},
        {{FG_U8, 1, {INT64_MAX - 1}}, INT64_MAX - 1, (size_t)INT64_MAX - 1},
        {{FG_U8, 2, {INT64_C(1) << 62, 4}}, INT64_MAX, SIZE_MAX},
        {{FG_F64, 1, {INT64_C(1) << 60}}, INT64_C(1) << 60, (size_t)1 << 63},
        {{FG_F64, 1, {INT64_C(1) << 61}}, INT64_C(1) << 61, SIZE_MAX}, /* 2^64 bytes */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_type_count(&rows[i].type), rows[i].count);
        assert_true(fg_type_bytes(&rows[i].type) == rows[i].bytes);
    }
}

static void types_are_equal_in_every_part(void **state)
{
    const fg_type type = {FG_F32, 2, {3, 4}}, copy = type;
    const fg_type others[] = {{FG_S32, 2, {3, 4}},    {FG_F32, 1, {3}},    {FG_F32, 2, {3, 5}},
                              {FG_F32, 3, {3, 4, 1}}, {FG_F32, 2, {4, 3}}, {.dtype = FG_F32}};
    (void)state;
    assert_true(fg_type_equal(&type, &copy));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(fg_type_equal(&type, &others[i]));
        assert_false(fg_type_equal(&others[i], &type));
    }
}

/* Each prefix of the text fits in as many bytes and one more; nothing else is written. */
static void types_as_text(void **state)
{
    static const char whole[] = "bf16[10,200,3]";
    const fg_type type = {FG_BF16, 3, {10, 200, 3}};
    (void)state;
    for (size_t size = 0; size <= sizeof whole + 1; size++) {
        char out[32], kept[32];
        const size_t used = size < sizeof whole ? size : sizeof whole;
        memset(kept, '#', sizeof kept);
        memset(out, '#', sizeof out);
        assert_ptr_equal(fg_type_format(&type, out, size), out);
        if (used > 0) {
            memcpy(kept, whole, used);
            kept[used - 1] = '\0';
        }
        assert_memory_equal(out, kept, sizeof out);
    }
}

static void unknown_dtypes_have_no_size(void **state)
{
    static const fg_dtype none[] = {FG_DTYPE_NONE, (fg_dtype)(FG_F64 + 1), (fg_dtype)-1};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_string_equal(fg_dtype_name(none[i]), "none");
        assert_int_equal(fg_dtype_size(none[i]), 0);
        assert_false(fg_dtype_is_float(none[i]));
    }
    assert_string_equal(fg_dtype_name(FG_F64), "f64");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(counts_and_bytes_of_types),
    cmocka_unit_test(types_are_equal_in_every_part),
    cmocka_unit_test(types_as_text),
    cmocka_unit_test(unknown_dtypes_have_no_size),
    cmocka_unit_test(every_short_float_comes_back),
    cmocka_unit_test(bf16_is_the_upper_half_of_f32),
    cmocka_unit_test(halves_go_to_even),
    cmocka_unit_test(borders_of_the_formats),
    cmocka_unit_test(integers_hold_what_fits),
};
FGT_MAIN(tests)
