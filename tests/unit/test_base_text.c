/* test_base_text.c - parsing numbers, similar names, hashes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"

static void integers_are_whole_or_refused(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"-12", -12},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t value = 99;
        assert_true(fgi_parse_i64(fgi_str_of(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    static const char *const bad[] = {"",    "-",   "+",     "--1",
                                      "1 ",  " 1",  "1.0",   "0x1",
                                      "1e3", "a",   "12-",   "9223372036854775808",
                                      "\n",  "+-1", "1_000", "-9223372036854775809"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t value = 99;
        assert_false(fgi_parse_i64(fgi_str_of(bad[i]), &value));
        assert_int_equal(value, 99);
    }
    int64_t value;
    assert_true(fgi_parse_i64((fgi_str){"123", 2}, &value)); /* the length rules, not the NUL */
    assert_int_equal(value, 12);
    assert_false(fgi_parse_i64((fgi_str){"1\0", 2}, &value));
    assert_false(fgi_parse_i64((fgi_str){NULL, 0}, &value));
}

static void reals_agree_with_strtod(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "1",
                                       "1.",
                                       ".5",
                                       "+2.5e-3",
                                       "1E5",
                                       "123456789012345",
                                       "0.1",
                                       "5e-4",
                                       "1e22",
                                       "1e23",
                                       "1e308",
                                       "4.9e-324",
                                       "1e-400",
                                       "179769313486231570e291",
                                       "3.14159265358979323846",
                                       "0.000000000000000000000000000001234",
                                       "100000000000000000000000",
                                       "inf",
                                       "-inf",
                                       "Infinity",
                                       "9007199254740993",
                                       "0.1e-22",
                                       "1e+2",
                                       "00000000000000000000001.5"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double value = 99;
        assert_true(fgi_parse_f64(fgi_str_of(good[i]), &value));
        assert_true(value == strtod(good[i], NULL));
        assert_int_equal(signbit(value), signbit(strtod(good[i], NULL)));
    }
}

static void reals_with_anything_else_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      ".",
                                      "-",
                                      "+-1",
                                      "1e",
                                      "1e+",
                                      "e5",
                                      "1.2.3",
                                      " 1",
                                      "1 ",
                                      "0x10",
                                      "1e5x",
                                      "1e999",
                                      "-1e999",
                                      "1,5",
                                      "in",
                                      "infi",
                                      "nan(1)",
                                      "1e99999999999999999999",
                                      "--1",
                                      "1d5"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = 99;
        assert_false(fgi_parse_f64(fgi_str_of(bad[i]), &value));
        assert_true(value == 99);
    }
    double value;
    assert_true(fgi_parse_f64(fgi_str_of("NaN"), &value));
    assert_true(isnan(value));
    assert_true(fgi_parse_f64((fgi_str){"1.5junk", 3}, &value));
    assert_true(value == 1.5);
    char many[600];
    memset(many, '1', sizeof(many) - 1);
    assert_false(fgi_parse_f64((fgi_str){many, sizeof(many) - 1}, &value));
    assert_false(fgi_parse_f64((fgi_str){many, 400}, &value)); /* over the largest f64 */
    many[1] = '.';
    assert_true(fgi_parse_f64((fgi_str){many, 511}, &value));
    assert_true(value == 1.1111111111111112);
}

/* Random numbers in several notations are parsed exactly as libc does. */
static void reals_round_as_libc_does(void **state)
{
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t bits = fgi_rng_u64(fgi_key_from_seed(1), i);
        const double mantissa = (double)(int64_t)bits * 0x1p-63;
        const double wanted = ldexp(mantissa, (int)(bits % 200) - 100);
        char text[400];
        const int digits = (int)(bits >> 8 & 15) + (i % 2 == 0);
        if (i % 3 == 0)
            snprintf(text, sizeof(text), "%.*g", digits + 1, wanted);
        else if (i % 3 == 1)
            snprintf(text, sizeof(text), "%.*e", digits, wanted);
        else
            snprintf(text, sizeof(text), "%.*f", digits, wanted);
        double value;
        assert_true(fgi_parse_f64(fgi_str_of(text), &value));
        assert_true(value == strtod(text, NULL));
    }
}

static void the_locale_does_not_matter(void **state)
{
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    bool is_set = false;
    for (size_t i = 0; i < 4 && !is_set; i++)
        is_set = setlocale(LC_NUMERIC, commas[i]) != NULL;
    double value = 0;
    const bool ok = fgi_parse_f64(fgi_str_of("1.2345678901234567890"), &value);
    setlocale(LC_NUMERIC, "C");
    assert_true(ok);
    assert_true(value == 1.2345678901234567890);
}

static void text_is_trimmed_and_compared(void **state)
{
    assert_true(fgi_str_equal(fgi_str_trim(fgi_str_of(" \t a b\r\n")), "a b"));
    assert_true(fgi_str_equal(fgi_str_trim(fgi_str_of(" \n ")), ""));
    assert_true(fgi_str_equal((fgi_str){NULL, 0}, ""));
    assert_false(fgi_str_equal(fgi_str_of("ab"), "abc"));
    assert_false(fgi_str_equal(fgi_str_of("abc"), "ab"));
    assert_false(fgi_str_equal(fgi_str_of("abc"), "abd"));
}

static void nulls_are_those_of_yaml(void **state)
{
    static const char *const words[] = {"null", "Null", "NULL", "~"}, *const others[] = {
                                                                          "nULL", "", "~~", "none",
                                                                          "nul"};
    for (size_t i = 0; i < 4; i++)
        assert_true(fgi_is_null_word(fgi_str_of(words[i])));
    for (size_t i = 0; i < 5; i++)
        assert_false(fgi_is_null_word(fgi_str_of(others[i])));
}

static void edits_are_counted(void **state)
{
    assert_int_equal(fgi_edit_distance("", ""), 0);
    assert_int_equal(fgi_edit_distance("", "abc"), 3);
    assert_int_equal(fgi_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(fgi_edit_distance("momentum", "momentmu"), 1);
    assert_int_equal(fgi_edit_distance("ca", "abc"), 3); /* a swapped pair is not edited again */
    assert_int_equal(fgi_edit_distance("flaw", "lawn"), 2);
    char a[400], b[400];
    memset(a, 'a', sizeof(a));
    memset(b, 'a', sizeof(b));
    a[255] = b[255] = '\0';
    b[100] = 'b';
    assert_int_equal(fgi_edit_distance(a, b), 1);
    a[255] = 'a';
    a[399] = '\0';
    assert_int_equal(fgi_edit_distance(a, a), 0);
    assert_int_equal(fgi_edit_distance(a, b), 399);
}

static void the_nearest_name_is_found(void **state)
{
    static const char *const keys[] = {"learning_rate", "lr", "momentum", "max_epochs", "seed"};
    assert_string_equal(fgi_nearest("momentun", keys, 5), "momentum");
    assert_string_equal(fgi_nearest("max_epoch", keys, 5), "max_epochs");
    assert_string_equal(fgi_nearest("lerning_rtae", keys, 5), "learning_rate");
    assert_string_equal(fgi_nearest("sed", keys, 5), "seed");
    assert_string_equal(fgi_nearest("l", keys, 5) == NULL ? "none" : "some", "none");
    assert_null(fgi_nearest("batch_size", keys, 5));
    assert_null(fgi_nearest("xy", keys, 5)); /* all of it would have to change */
    assert_null(fgi_nearest("seed", keys, 0));
    char known[96];
    assert_string_equal(fgi_suggest("sed", keys, 5, known, sizeof known), ": did you mean 'seed'?");
    assert_string_equal(fgi_suggest("xy", keys, 2, known, sizeof known),
                        ": expected one of learning_rate|lr");
    assert_string_equal(fgi_suggest("xy", keys, 5, known, 20), ""); /* they do not fit */
    assert_string_equal(fgi_suggest("xy", keys, 0, known, sizeof known), "");
}

static void hashes_match_published_answers(void **state)
{
    /* XXH3 of no bytes, from the sanity checks in xxHash's tests. */
    char text[33];
    fgi_hash_format(fgi_hash_bytes("", 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    assert_true(fgi_checksum64("", 0) == UINT64_C(0x2d06800538d394c2));
}

static void chaining_hashes_seed_then_data(void **state)
{
    unsigned char data[1000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 31);
    const fgi_hash seed = fgi_hash_bytes("seed", 4);
    for (size_t size = 0; size + 16 <= sizeof(data); size += 3) {
        unsigned char joined[sizeof(data)];
        memcpy(joined, &seed, 16);
        memcpy(joined + 16, data, size);
        assert_true(
            fgi_hash_equal(fgi_hash_more(seed, data, size), fgi_hash_bytes(joined, size + 16)));
    }
    const fgi_hash other = {.lo = seed.lo, .hi = seed.hi ^ 1};
    assert_false(fgi_hash_equal(fgi_hash_more(seed, data, 8), fgi_hash_more(other, data, 8)));
    assert_false(fgi_hash_equal(seed, other));
    assert_true(fgi_checksum64(data, 8) != fgi_checksum64(data, 9));
}

/* Also where 'I' is not the capital of 'i': under_locale runs this in Turkish. */
static void letters_are_those_of_ascii(void **state)
{
    static const char *const infinite[] = {"inf", "INF", "Infinity", "INFINITY"};
    double value;
    for (size_t i = 0; i < sizeof(infinite) / sizeof(infinite[0]); i++)
        assert_true(fgi_parse_f64(fgi_str_of(infinite[i]), &value) && isinf(value));
    assert_int_equal(fgi_lower('I'), 'i');
    assert_int_equal(fgi_lower('\xc4'), '\xc4');
    assert_true(fgi_begins_nocase("VISA L4", "visa") && !fgi_begins_nocase("vis", "visa"));
    assert_true(fgi_contains_nocase("A/Test", "test") && !fgi_contains_nocase("tes", "test"));
    assert_true(fgi_ends_with("val_acc", "acc") && fgi_ends_with("acc", "acc"));
    assert_true(!fgi_ends_with("cc", "acc") && !fgi_ends_with("acc_top5", "acc"));
    assert_true(fgi_is_alnum('I') && fgi_is_alnum('9') && !fgi_is_alnum('\xe4'));
}

static void names_are_escaped_for_messages(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *text, *shown;
    } cases[] = {
        {64, "", ""},
        {64, "a b/\xc3\xa9.jpg", "a b/\xc3\xa9.jpg"},
        {64, "a\nb\\c\t\x7f", "a\\nb\\\\c\\x09\\x7f"},
        {64, "\xff\xc3(", "\\xff\\xc3("},
        {64, "\xc3\xc3\xa9", "\\xc3\xc3\xa9"},
        {64, "\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
        {16, "123456789012", "123456789012"},
        {16, "1234567890123", "123456789012..."},
        {16, "12345678901\n", "12345678901..."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char shown[64];
        const size_t length = fgi_text_escape(fgi_str_of(cases[i].text), shown, cases[i].size);
        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(length, strlen(shown));
    }
}

static void columns_are_those_of_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns, all, bytes, used; /* of the whole text; of what fits in `columns` */
    } cases[] = {
        {"", 3, 0, 0, 0},
        {"area", 3, 4, 3, 3},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         4, 5, 6, 4},
        {"e\xcc\x81t\xc3\xa9", 2, 3, 4, 2},       /* a combining accent */
        {"\xe4\xbe\xa1\xe6\xa0\xbc", 3, 4, 3, 2}, /* wide */
        {"\xf0\x9f\x98\x80!", 2, 3, 4, 2},        /* an emoji */
        {"\xff\xc3", 1, 2, 1, 1},                 /* invalid */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t used;
        assert_int_equal(fgi_text_columns(cases[i].text), cases[i].all);
        assert_int_equal(fgi_text_fit(cases[i].text, cases[i].columns, &used), cases[i].bytes);
        assert_int_equal(used, cases[i].used);
    }
}

static const struct {
    const char *first, *last, *before, *after; /* those have the usual width */
    size_t columns;
} blocks[] = {
    {"\xcc\x80", "\xcd\xaf", "\xcb\xbf", "\xcd\xb0", 0},
    {"\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\x8a", "\xe2\x80\x90", 0},
    {"\xef\xb8\x80", "\xef\xb8\x8f", "\xef\xb7\xbf", "\xef\xb8\x90", 0},
    {"\xe1\x84\x80", "\xe1\x85\x9f", "\xe1\x83\xbf", "\xe1\x85\xa0", 2},
    {"\xe2\xba\x80", "\xea\x93\x8f", "\xe2\xb9\xbf", "\xea\x93\x90", 2},
    {"\xea\xb0\x80", "\xed\x9e\xa3", "\xea\xaf\xbf", "\xed\x9e\xa4", 2},
    {"\xef\xa4\x80", "\xef\xab\xbf", "\xef\xa3\xbf", "\xef\xac\x80", 2},
    {"\xef\xb8\xb0", "\xef\xb9\xaf", "\xef\xb8\xaf", "\xef\xb9\xb0", 2},
    {"\xef\xbc\x81", "\xef\xbd\xa0", "\xef\xbc\x80", "\xef\xbd\xa1", 2},
    {"\xef\xbf\xa0", "\xef\xbf\xa6", "\xef\xbf\x9f", "\xef\xbf\xa7", 2},
    {"\xf0\x9f\x8c\x80", "\xf0\x9f\x99\x8f", "\xf0\x9f\x8b\xbf", "\xf0\x9f\x99\x90", 2},
    {"\xf0\x9f\x9a\x80", "\xf0\x9f\x9b\xbf", "\xf0\x9f\x99\xbf", "\xf0\x9f\x9c\x80", 2},
    {"\xf0\x9f\xa4\x80", "\xf0\x9f\xa7\xbf", "\xf0\x9f\xa3\xbf", "\xf0\x9f\xa8\x80", 2},
    {"\xf0\xa0\x80\x80", "\xf0\xbf\xbf\xbd", "\xf0\x9f\xbf\xbf", "\xf0\xbf\xbf\xbe", 2},
};

/* The first and the last of each block of characters that do not take one column. */
static void blocks_of_characters_have_a_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        assert_int_equal(fgi_text_columns(blocks[i].first), blocks[i].columns);
        assert_int_equal(fgi_text_columns(blocks[i].last), blocks[i].columns);
        assert_int_equal(fgi_text_columns(blocks[i].before), 1);
        assert_int_equal(fgi_text_columns(blocks[i].after), 1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_of_characters_have_a_width),
    cmocka_unit_test(columns_are_those_of_a_terminal),
    cmocka_unit_test(names_are_escaped_for_messages),
    cmocka_unit_test(letters_are_those_of_ascii),
    cmocka_unit_test(integers_are_whole_or_refused),
    cmocka_unit_test(reals_agree_with_strtod),
    cmocka_unit_test(reals_with_anything_else_are_refused),
    cmocka_unit_test(reals_round_as_libc_does),
    cmocka_unit_test(the_locale_does_not_matter),
    cmocka_unit_test(text_is_trimmed_and_compared),
    cmocka_unit_test(nulls_are_those_of_yaml),
    cmocka_unit_test(edits_are_counted),
    cmocka_unit_test(the_nearest_name_is_found),
    cmocka_unit_test(hashes_match_published_answers),
    cmocka_unit_test(chaining_hashes_seed_then_data),
};
FGT_MAIN(tests)
