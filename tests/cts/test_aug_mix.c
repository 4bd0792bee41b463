/* test_aug_mix.c - mixup and cutmix where they are easily wrong: images of one row, column or
 * pixel, batches of one sample, padding rows, extreme alphas, 16-bit floats; compared with plain C.
 * Also that each option of each augmentation has an effect.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/aug.h>
#include <math.h>

#include "aug/augmentations.h"
#include "aug_host.h"
#include "base/alloc.h"
#include "option/option.h"
#include "trace_values.h"

enum { MOST = 7, SIDE = 9, MOST_VALUES = MOST * SIDE * SIDE };
static const fgi_key run_key = {{0x1234abcd, 0x98765432}};
static const uint32_t samples[MOST] = {7, 0, 4000000000U, 3, 12, 8, 1};

typedef struct one_case {
    int batch, valid, h, w;
    bool is_box;
    double alpha;
    fg_dtype dtype;
} one_case;

static const one_case cases[] = {
    {3, 3, 1, 9, true, 1, FG_F32},    {3, 3, 9, 1, true, 1, FG_F32},
    {3, 3, 1, 1, true, 1, FG_F32},    {3, 3, 1, 9, false, 1, FG_F32},
    {1, 1, 5, 4, true, 1, FG_F32},    {1, 1, 5, 4, false, 1, FG_F32},
    {2, 2, 5, 4, false, 0.4, FG_F32}, {7, 7, 5, 9, false, 1e-3, FG_F32},
    {7, 7, 5, 9, true, 1e-3, FG_F32}, {7, 7, 5, 9, false, 1e3, FG_F32},
    {7, 7, 5, 9, true, 1e3, FG_F32},  {7, 7, 5, 9, false, 0.2, FG_BF16},
    {7, 7, 5, 9, true, 0.2, FG_BF16},
};
/* The last batch of an epoch: padding rows follow the valid ones. */
static const one_case padded[] = {
    {5, 3, 3, 4, true, 1, FG_F32},
    {5, 3, 3, 4, false, 1, FG_F32},
};
enum { CASES = sizeof cases / sizeof cases[0], PADDED = sizeof padded / sizeof padded[0] };

static int count_of(const one_case *c) { return c->batch * c->h * c->w; }

/* Eighths from 0 to 1, which bf16 has; large numbers in padding rows. */
static void fill(const one_case *c, float out[MOST_VALUES])
{
    for (int i = 0; i < count_of(c); i++)
        out[i] = i < c->valid * c->h * c->w
                     ? (float)(fgi_rng_u64((fgi_key){{5, 6}}, (uint64_t)i) & 7) / 8
                     : 1e4F;
}

static fg_sample_key key_of(fg_trace *trace, int batch)
{
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type many = {.dtype = FG_U32, .rank = 1, .dim = {batch}};
    return (fg_sample_key){.key = fg_constant(trace, &two, run_key.word),
                           .sample = fg_constant(trace, &many, samples)};
}

/* The mixed images, followed by the targets, which were the numbers of the rows: f32[values]. */
static fg_tensor mixed(const one_case *c, fg_tensor x)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_sample_key key = key_of(trace, c->batch);
    fg_tensor target = fg_batch_axis(fg_iota(trace, FG_F32, 0, FG_DIMS(c->batch, 1)), 0);
    x = fg_cast(fg_batch_axis(x, 0), c->dtype);
    x = c->is_box ? fg_aug_cutmix(x, &target, &key, &(fg_aug_cutmix_options){.alpha = c->alpha})
                  : fg_aug_mixup(x, &target, &key, &(fg_aug_mixup_options){.alpha = c->alpha});
    return fg_concat((const fg_tensor[]){fg_cast(fg_flatten(x, 1), FG_F32), target}, 2, 1);
}

static fg_tensor constant(fg_trace *trace, const one_case *c, const float *values)
{
    const fg_type type = {.dtype = FG_F32, .rank = 4, .dim = {c->batch, c->h, c->w, 1}};
    return fg_constant(trace, &type, values);
}

static aug_image row_of(const one_case *c, const float *values, int row)
{
    const int size = c->h * c->w;
    const aug_image image = aug_host_image(c->h, c->w, 1);
    for (int i = 0; i < size; i++)
        image.at[i] = values[row * size + i];
    return image;
}

/* Each valid row with the next one, and the last of them with the first. */
static void compare(const one_case *c, const float *values, const float *got)
{
    const int size = c->h * c->w;
    const double bound = c->dtype == FG_F32 ? 2e-5 : 0.01;
    for (int row = 0; row < c->valid; row++, got += size + 1) {
        const aug_draw draw = {run_key, samples[row], 0};
        const int next = (row + 1) % c->valid;
        double weight;
        const aug_image x = row_of(c, values, row), y = row_of(c, values, next);
        const aug_image expected = aug_host_mix(x, y, &draw, c->is_box, c->alpha, 1, &weight);
        for (int i = 0; i < size; i++)
            fgt_close("pixel", (double)got[i], (double)expected.at[i], bound, 0);
        fgt_close("target", (double)got[size], weight * row + (1 - weight) * next, 2e-5 * MOST, 0);
        aug_host_free(x);
        aug_host_free(y);
        aug_host_free(expected);
    }
}

/* All in one program. */
static void small_images_and_extreme_alphas(void **client)
{
    static float values[CASES][MOST_VALUES], got[MOST_VALUES + MOST];
    fg_error err = {0};
    fg_tensor out[CASES];
    fg_array *arrays[CASES];
    fg_trace *trace = values_trace(*client);
    for (int i = 0; i < CASES; i++) {
        fill(&cases[i], values[i]);
        out[i] = mixed(&cases[i], constant(trace, &cases[i], values[i]));
    }
    fgt_ok(fg_run(trace, out, CASES, arrays, &err));
    for (int i = 0; i < CASES; i++) {
        fgt_ok(fg_array_read(arrays[i], got, fg_type_bytes(fg_array_type(arrays[i])), &err));
        compare(&cases[i], values[i], got);
        fg_array_release(arrays[i]);
    }
    fg_trace_destroy(trace);
}

/* Valid rows neither contain padding rows, nor does their gradient reach them. */
static void padding_rows_are_not_mixed_in(void **client)
{
    static const float mask[] = {1, 1, 1, 0, 0};
    static float values[MOST_VALUES], got[MOST_VALUES + MOST], slopes[MOST_VALUES];
    for (int i = 0; i < PADDED; i++) {
        const one_case *c = &padded[i];
        fg_error err = {0};
        fg_array *arrays[2];
        fg_tensor out[2];
        fg_trace *trace = values_trace(*client);
        fill(c, values);
        fg_trace_set_mask(trace, fg_constant(trace, &(fg_type){FG_F32, 1, {c->batch}}, mask));
        const fg_tensor x = constant(trace, c, values);
        out[0] = mixed(c, x);
        fg_grad(fg_sum(fg_square(out[0]), 0, NULL), &x, 1, &out[1]);
        fgt_ok(fg_run(trace, out, 2, arrays, &err));
        fgt_ok(
            fg_array_read(arrays[0], got, sizeof(float) * (size_t)(count_of(c) + c->batch), &err));
        fgt_ok(fg_array_read(arrays[1], slopes, sizeof(float) * (size_t)count_of(c), &err));
        compare(c, values, got);
        for (int k = 0; k < count_of(c); k++) {
            assert_true(isfinite(slopes[k]));
            assert_true(k < c->valid * c->h * c->w || slopes[k] == 0);
        }
        fg_array_release(arrays[0]);
        fg_array_release(arrays[1]);
        fg_trace_destroy(trace);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

/* The largest of a range is not below the default of the smallest. */
static const char *example_of(const fg_option *option)
{
    const size_t n = strlen(option->name);
    const bool is_most = n > 4 && strcmp(option->name + n - 4, "_max") == 0;
    if (!is_most || strcmp(option->example, "0.25") != 0)
        return option->example;
    return strcmp(option->range, "0..1") != 0 ? "1.5" : "0.9";
}

static fg_option_values *examples_of(const fg_entry *entry, size_t without)
{
    fg_error err = {0};
    fg_option_values *values = NULL;
    fgt_ok(fg_option_values_create(NULL, entry->options, entry->option_count, &values, &err));
    for (size_t i = 0; i < entry->option_count; i++)
        if (i != without)
            fgt_ok(fg_option_set(values, entry->options[i].name, example_of(&entry->options[i]),
                                 NULL, &err));
    return values;
}

/* The program of an augmentation with all options as in their examples, except one. */
static char *program_without(fg_client *client, const fg_augmentation_entry *row, size_t without)
{
    static const uint32_t word[2] = {1, 2};
    fg_error err = {0};
    char *text = NULL;
    void *own;
    fg_trace *trace = values_trace(client);
    const fg_type two = {FG_U32, 1, {2}};
    const fg_tensor x = fg_iota(trace, FG_F32, 2, FG_DIMS(2, 300, 320, 3));
    const fg_sample_key key = {.key = fg_constant(trace, &two, word),
                               .sample = fg_constant(trace, &two, word)};
    fg_tensor target = fg_zeros(trace, FG_F32, FG_DIMS(2, 3)), y[2];
    fg_option_values *values = examples_of(&row->entry, without);
    fgt_ok(fgi_row_create(&row->entry, values, &own, &err));
    y[0] = row->mix != NULL ? row->mix(x, &target, &key, own) : row->apply(x, &key, own);
    fgi_free(own);
    y[1] = target;
    if (fg_trace_error(trace, &err) != FG_OK)
        fail_msg("%s: %s", row->entry.name, err.message);
    fgt_ok(fg_trace_text(trace, y, 2, &text, &err));
    fg_option_values_destroy(values);
    fg_trace_destroy(trace);
    return text;
}

static void every_option_has_an_effect(void **state)
{
    for (size_t k = 0; k < fgi_augmentation_row_count; k++) {
        const fg_augmentation_entry *row = (const fg_augmentation_entry *)fgi_augmentation_rows[k];
        char *all = program_without(*state, row, SIZE_MAX);
        for (size_t i = 0; i < row->entry.option_count; i++) {
            const char *option = row->entry.options[i].name;
            char *one = program_without(*state, row, i);
            const bool is_unused = strcmp(row->entry.name, "random_crop") == 0 &&
                                   strcmp(option, "fill") == 0; /* of mirrored padding */
            if ((strcmp(all, one) == 0) != is_unused)
                fail_msg("%s, %s", row->entry.name, option);
            fg_free(one);
        }
        fg_free(all);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(small_images_and_extreme_alphas),
    cmocka_unit_test(padding_rows_are_not_mixed_in),
    cmocka_unit_test(every_option_has_an_effect),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
