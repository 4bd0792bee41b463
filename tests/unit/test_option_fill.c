/* test_option_fill.c - the struct of a row, filled from values and from a C struct.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "option/option.h"

typedef enum shape { ROUND, SQUARE } shape;

typedef struct all {
    int64_t count, seed;
    double rate, threshold, scale, max_time;
    bool flag, no_bias;
    const char *path, *mode;
    shape shape, form;
    fg_amount part;
    fg_ints sizes;
    fg_floats means;
    double betas[2];
    fg_strings names;
    struct {
        int64_t width;
    } nested;
    int own; /* no option */
} all;

static const fg_option options[] = {
    FG_OPTION(all, count, INT, "3", "0..10", "4", "Count."),
    FG_OPTION(all, seed, INT, "auto", "auto|0..", "4", "Seed."),
    FG_OPTION(all, rate, FLOAT, "0.5", "0..<1", "0.25", "Rate."),
    FG_OPTION(all, threshold, FLOAT, "auto", "auto", "1", "Threshold."),
    FG_OPTION(all, scale, FLOAT, "auto", "auto|0<..", "1", "Scale.", .automatic = "0.125"),
    FG_OPTION(all, flag, BOOL, "false", NULL, "true", "Flag."),
    FG_OPTION_NOT("bias", all, no_bias, "false", "Bias."),
    FG_OPTION(all, path, STRING, NULL, NULL, "a", "Path."),
    FG_OPTION(all, mode, CHOICE, "auto", "auto|min|max", "max", "Mode."),
    FG_OPTION_ENUM_AS("form", all, form, "round", "round|square", "square", "Form."),
    FG_OPTION_ENUM(all, shape, "round", "round|square", "square", "Shape.",
                   .spellings = "box=square"),
    FG_OPTION(all, part, AMOUNT, "1.0", NULL, "7", "Part."),
    FG_OPTION(all, sizes, INTS, "[8, 4]", "1..", "[2]", "Sizes."),
    FG_OPTION(all, means, FLOATS, "[]", NULL, "[1]", "Means."),
    FG_OPTION_PAIR(all, betas, FLOATS, "[0.9, 0.99]", "0..<1", "[0, 0]", "Betas."),
    FG_OPTION(all, names, STRINGS, "[a, \"b c\"]", NULL, "[x]", "Names."),
    FG_OPTION(all, max_time, DURATION, "auto", "auto", "5s", "Time."),
    FG_OPTION_AS("width", all, nested.width, INT, "1", "1..", "2", "Width."),
};
static const fg_entry entry = {.name = "all", .help = "all", FG_OPTIONS(options, all)};

static all *from_text(const char *text)
{
    fg_error err = {0};
    fg_option_values *values = NULL;
    void *self = NULL;
    fgt_ok(fg_option_values_create("all", options, entry.option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, text, NULL, &err));
    fgt_ok(fgi_row_create(&entry, values, &self, &err));
    fg_option_values_destroy(values); /* the struct has its own strings */
    return self;
}

static void check_defaults(const all *a)
{
    assert_int_equal(a->count, 3);
    assert_true(a->seed == FG_AUTO);
    assert_true(a->rate == 0.5);
    assert_true(isnan(a->threshold));
    assert_true(a->scale == 0.125);
    assert_false(a->flag);
    assert_false(a->no_bias);
    assert_null(a->path);
    assert_string_equal(a->mode, "auto");
    assert_int_equal(a->shape, ROUND);
    assert_int_equal(fg_amount_of(a->part, 12), 12);
    assert_int_equal(a->sizes.count, 2);
    assert_int_equal(a->sizes.at[1], 4);
    assert_int_equal(a->means.count, 0);
    assert_true(a->betas[1] == 0.99);
    assert_string_equal(a->names.at[1], "b c");
    assert_int_equal(a->nested.width, 1);
    assert_int_equal(a->own, 0);
}

static void what_is_not_given_has_its_default(void **state)
{
    fg_error err = {0};
    void *self = NULL;
    all *by_text = from_text("");
    check_defaults(by_text);
    fg_free(by_text);
    fgt_ok(fgi_row_of(&entry, NULL, &self, &err));
    check_defaults(self);
    fg_free(self);
    fgt_ok(fgi_row_of(&entry, &(all){.own = 7}, &self, &err));
    assert_int_equal(((all *)self)->own, 7); /* other members are copied */
    ((all *)self)->own = 0;
    check_defaults(self);
    fg_free(self);
}

static const char *const given =
    "{count: 0, seed: 5, rate: 0, threshold: -2, scale: 3, flag: true, "
    "bias: false, path: \"p q\", mode: max, shape: box, part: 0.25, "
    "sizes: [7], means: [0.1, -3], betas: [0, 0.5], names: [n], width: 9}";

static void check_given(const all *a)
{
    assert_int_equal(a->count, 0);
    assert_int_equal(a->seed, 5);
    assert_true(a->rate == 0 && !signbit(a->rate));
    assert_true(a->threshold == -2);
    assert_true(a->scale == 3);
    assert_true(a->flag);
    assert_true(a->no_bias);
    assert_string_equal(a->path, "p q");
    assert_string_equal(a->mode, "max");
    assert_int_equal(a->shape, SQUARE);
    assert_int_equal(fg_amount_of(a->part, 12), 3);
    assert_int_equal(a->sizes.count, 1);
    assert_int_equal(a->sizes.at[0], 7);
    assert_true(a->means.at[0] == 0.1);
    assert_true(a->means.at[1] == -3);
    assert_true(a->betas[0] == 0);
    assert_true(a->betas[1] == 0.5);
    assert_int_equal(a->names.count, 1);
    assert_string_equal(a->names.at[0], "n");
    assert_int_equal(a->nested.width, 9);
}

static void text_and_c_say_the_same(void **state)
{
    fg_error err = {0};
    void *self = NULL;
    const int64_t sizes[] = {7};
    const double means[] = {0.1, -3};
    const char *const names[] = {"n"};
    const all c = {.count = FG_NONE,
                   .seed = 5,
                   .rate = FG_ZERO,
                   .threshold = -2,
                   .scale = 3,
                   .flag = true,
                   .no_bias = true,
                   .path = "p q",
                   .mode = "max",
                   .shape = SQUARE,
                   .part = {.fraction = 0.25},
                   .sizes = {sizes, 1},
                   .means = {means, 2},
                   .betas = {FG_ZERO, 0.5},
                   .names = {names, 1},
                   .nested = {.width = 9}};
    all *by_text = from_text(given);
    check_given(by_text);
    fg_free(by_text);
    fgt_ok(fgi_row_of(&entry, &c, &self, &err));
    check_given(self);
    fg_free(self);
}

/* What text says can be passed on as a C struct. */
static void text_becomes_c(void **state)
{
    static const char *const texts[] = {"", "{part: 0, max_time: 1m30s}",
                                        "{count: 0, rate: 0, sizes: []}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fg_error err = {0};
        fg_option_values *values = NULL;
        void *c = NULL, *self = NULL;
        fgt_ok(fg_option_values_create("all", options, entry.option_count, &values, &err));
        fgt_ok(fg_option_set_all(values, texts[i], NULL, &err));
        fgt_ok(fgi_row_create_for_c(&entry, values, &c, &err));
        fgt_ok(fgi_row_of(&entry, c, &self, &err));
        all *a = self, *wanted = from_text(texts[i]);
        assert_int_equal(a->count, wanted->count);
        assert_true(a->rate == wanted->rate && !signbit(a->rate));
        assert_int_equal(a->part.count, wanted->part.count);
        assert_true(a->part.fraction == wanted->part.fraction);
        assert_int_equal(a->sizes.count, wanted->sizes.count);
        assert_true(a->seed == FG_AUTO && isnan(a->threshold));
        assert_true(i == 1 ? a->max_time == 90 : isnan(a->max_time));
        fg_free(wanted);
        fg_free(self);
        fg_free(c);
        fg_option_values_destroy(values);
    }
}

static const struct {
    all given;
    const char *message;
} wrong[] = {
    {{.count = 11}, "all.count: expected an integer from 0 to 10 (for example 4), got '11'"},
    {{.count = -1}, "all.count: expected an integer from 0 to 10 (for example 4), got '-1'"},
    {{.rate = 1}, "all.rate: expected a number from 0 to less than 1 (for example 0.25), got '1'"},
    {{.rate = (double)NAN},
     "all.rate: expected a number from 0 to less than 1 (for example 0.25), got 'nan'"},
    {{.scale = FG_ZERO},
     "all.scale: expected a number greater than 0, or auto (for example 1), got '0'"},
    {{.mode = "wide"}, "all.mode: expected one of auto|min|max, got 'wide'"},
    {{.shape = (shape)2}, "all.shape: expected one of round|square, got '2'"},
    {{.shape = (shape)-1}, "all.shape: expected one of round|square, got '-1'"},
    {{.part = {.fraction = 1.5}},
     "all.part: expected a fraction (0.0 to 1.0) or a count (for example 7), got '1.5'"},
    {{.betas = {0.5, 1}},
     "all.betas: expected a list of 2 numbers from 0 to less than 1 (for "
     "example [0, 0]), got '1'"},
};

static void numbers_of_c_are_checked(void **state)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fg_error err = {0};
        void *self = &err;
        assert_int_equal(fgi_row_of(&entry, &wrong[i].given, &self, &err), FG_EINVAL);
        assert_string_equal(err.message, wrong[i].message);
        assert_null(self);
    }
}

enum { MANY = 1000 };

/* No element is lost. */
static void long_lists(void **state)
{
    fg_error err = {0};
    void *self = NULL;
    int64_t sizes[MANY];
    char text[16 + 8 * MANY] = "{sizes: [1";
    for (int i = 0; i < MANY; i++) {
        sizes[i] = i + 1;
        if (i > 0)
            (void)snprintf(text + strlen(text), 8, ",%d", i + 1);
    }
    memcpy(text + strlen(text), "]}", 3);
    fgt_ok(fgi_row_of(&entry, &(all){.sizes = {sizes, MANY}}, &self, &err));
    assert_int_equal(((all *)self)->sizes.count, MANY);
    assert_int_equal(((all *)self)->sizes.at[MANY - 1], MANY);
    fg_free(self);
    all *by_text = from_text(text);
    assert_int_equal(by_text->sizes.count, MANY);
    assert_int_equal(by_text->sizes.at[MANY - 1], MANY);
    fg_free(by_text);
}

static void amounts(void **state)
{
    assert_int_equal(fg_amount_of((fg_amount){.fraction = 0.5}, 7), 3);
    assert_int_equal(fg_amount_of((fg_amount){.fraction = 0.01}, 7), 1);
    assert_int_equal(fg_amount_of((fg_amount){.fraction = 0.01}, 0), 0);
    assert_int_equal(fg_amount_of((fg_amount){.count = 5}, 7), 5);
    assert_int_equal(fg_amount_of((fg_amount){.count = 9}, 7), 7);
    assert_int_equal(fg_amount_of((fg_amount){0}, 7), 0);
}

static void members_are_within_the_struct(void **state)
{
    fg_error err = {0};
    fg_entry small = entry;
    fgt_ok(fgi_row_check(&entry, &err));
    small.size = FG_OFFSET(all, nested.width, int64_t) + sizeof(int64_t);
    fgt_ok(fgi_row_check(&small, &err));
    small.size--;
    assert_int_equal(fgi_row_check(&small, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "option 'width' of 'all' is not a member of its struct: expected a row of "
                        "FG_OPTION, and the struct's size in fg_entry.size");
}

static void memory_can_run_out(void **state)
{
    const all c = {.count = 5, .path = "p"};
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        fg_error err = {0};
        void *self = NULL;
        const long before = fgi_alloc_live();
        fgi_alloc_fail_after(n);
        const fg_status status = fgi_row_of(&entry, &c, &self, &err);
        fgi_alloc_fail_after(-1);
        is_done = status == FG_OK;
        assert_true(is_done || status == FG_ENOMEM);
        fg_free(self);
        assert_int_equal(fgi_alloc_live(), before);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_not_given_has_its_default),
    cmocka_unit_test(text_and_c_say_the_same),
    cmocka_unit_test(text_becomes_c),
    cmocka_unit_test(numbers_of_c_are_checked),
    cmocka_unit_test(long_lists),
    cmocka_unit_test(amounts),
    cmocka_unit_test(members_are_within_the_struct),
    cmocka_unit_test(memory_can_run_out),
};
FGT_MAIN(tests)
