/* mix_samples.c - each sample mixed with the next one of its batch: mixup and cutmix.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"

#define PI 3.14159265358979323846

/* Columns of the uniform numbers; cutmix has the last two. */
enum { RADIUS, ANGLE, CHANCE, MIXUP_NUMBERS, ROW = MIXUP_NUMBERS, COLUMN, CUTMIX_NUMBERS };

/* Numbers with the distribution Beta(alpha, alpha), f32[B,1], from two uniform numbers a sample: (1
 * + t / sqrt(2 alpha + t^2)) / 2, where t has Student's distribution with 2 alpha degrees of
 * freedom, t^2 = 2 alpha (u^(-1/alpha) - 1) cos(2 pi v)^2. Multiplied by u^(1/alpha), so that
 * nothing overflows. Source: Bailey 1994, "Polar generation of random variates with the
 * t-distribution"; Devroye 1996, "Random variate generation in one line of code". */
static fg_tensor symmetric_beta(fg_tensor u, double alpha)
{
    static const double least = 1e-30; /* so that 0 / 0 cannot occur */
    const fg_tensor power = fg_exp(fg_mul_scalar(fg_log(fgi_aug_columns(u, RADIUS, 1)), 1 / alpha));
    const fg_tensor rest = fg_add_scalar(fg_neg(power), 1);
    const fg_tensor cosine = fg_cos(fg_mul_scalar(fgi_aug_columns(u, ANGLE, 1), 2 * PI));
    const fg_tensor sum = fg_add(power, fg_mul(rest, fg_square(cosine)));
    const fg_tensor side = fg_sqrt(fg_div(rest, fg_add_scalar(sum, least)));
    const fg_tensor number = fg_add_scalar(fg_mul_scalar(fg_mul(cosine, side), 0.5), 0.5);
    return fg_minimum(fg_maximum(number, fgi_full_like(number, 0)), fgi_full_like(number, 1));
}

/* The fraction of each sample that is its own, f32[B,1]: 1 if it is not mixed. */
static fg_tensor drawn_weight(fg_tensor u, double alpha, double p)
{
    const fg_tensor weight = symmetric_beta(u, alpha);
    const fg_tensor chance = fgi_aug_columns(u, CHANCE, 1);
    return fg_where(fg_lt(chance, fgi_full_like(chance, p)), weight, fgi_full_like(weight, 1));
}

/* weight x + (1 - weight) next, with f32[B,1] weights for x T[B, ...]. */
static fg_tensor mixture(fg_tensor x, fg_tensor weight)
{
    const fg_type *type = fg_tensor_type(x);
    int64_t dim[FG_MAX_RANK] = {type->dim[0]};
    for (int i = 1; i < type->rank; i++)
        dim[i] = 1;
    const fg_tensor own = fg_cast(fg_reshape(weight, type->rank, dim), type->dtype);
    const fg_tensor rest = fg_add_scalar(fg_neg(own), 1);
    return fg_add(fg_mul(x, own), fg_mul(fg_batch_roll(x), rest));
}

/* The images, or poison after an error of the options or the target. */
static fg_tensor begin(const char *name, fg_tensor image, fg_tensor target, double alpha, double p,
                       fgi_reserved reserved)
{
    char text[96];
    fg_trace *trace = fg_tensor_trace(image);
    const fg_tensor x = fgi_aug_begin(name, image, reserved);
    if (fgi_is_poison(x) || fgi_is_poison(target) ||
        !fgi_aug_check(x, name, "alpha", alpha, 1e-3, 1e3) || !fgi_aug_check(x, name, "p", p, 0, 1))
        return fgi_poison(trace);
    const fg_type *type = fg_tensor_type(target);
    if (fg_dtype_is_float(type->dtype) && type->rank > 0 && type->dim[0] == fg_tensor_dim(x, 0))
        return x;
    return fgi_trace_fail(trace, fg_dtype_is_float(type->dtype) ? FG_ESHAPE : FG_EDTYPE,
                          "%s: the target is %s: expected floating-point numbers T[B, ...], such "
                          "as class probabilities (fg_one_hot)",
                          name, fg_type_format(type, text, sizeof text));
}

fg_tensor fg_aug_mixup(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                       const fg_aug_mixup_options *options)
{
    static const char name[] = "mixup";
    const fg_aug_mixup_options o = options != NULL ? *options : (fg_aug_mixup_options){0};
    const double alpha = fgi_or_default(o.alpha, 1), p = fgi_or_default(o.p, 1);
    const fg_tensor x =
        begin(name, image, *target, alpha, p, FGI_RESERVED(fg_aug_mixup_options, options));
    if (fgi_is_poison(x) || key == NULL)
        return x;
    const fg_tensor weight = drawn_weight(fgi_aug_uniform(key, name, MIXUP_NUMBERS), alpha, p);
    *target = mixture(*target, weight);
    return mixture(x, weight);
}

/* The first and the last edge of boxes with centers `center` and half sizes `half`, within 0 to
 * extent: f32[B,1]. */
static fg_tensor first_edge(fg_tensor center, fg_tensor half)
{
    return fg_maximum(fg_sub(center, half), fgi_full_like(center, 0));
}

static fg_tensor last_edge(fg_tensor center, fg_tensor half, int64_t extent)
{
    return fg_minimum(fg_add(center, half), fgi_full_like(center, (double)extent));
}

/* An interval of each sample along an axis: the pixels of it as bool with that axis of [B,H,W,1],
 * and *out_size. side: f32[B,1], half of it as a fraction of the extent. */
static fg_tensor interval(fg_tensor u, int column, fg_tensor side, int axis, int64_t extent,
                          fg_tensor *out_size)
{
    const fg_tensor place = fgi_aug_columns(u, column, 1);
    const fg_tensor center = fgi_aug_below(place, fgi_full_like(place, (double)extent));
    const fg_tensor half = fg_floor(fg_mul_scalar(side, (double)extent));
    const fg_tensor first = first_edge(center, half);
    *out_size = fg_sub(last_edge(center, half, extent), first);
    return fgi_aug_within(first, *out_size, axis, extent);
}

fg_tensor fg_aug_cutmix(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                        const fg_aug_cutmix_options *options)
{
    static const char name[] = "cutmix";
    const fg_aug_cutmix_options o = options != NULL ? *options : (fg_aug_cutmix_options){0};
    const double alpha = fgi_or_default(o.alpha, 1), p = fgi_or_default(o.p, 1);
    fg_tensor height, width;
    const fg_tensor x =
        begin(name, image, *target, alpha, p, FGI_RESERVED(fg_aug_cutmix_options, options));
    if (fgi_is_poison(x) || key == NULL)
        return x;
    const int64_t rows = fg_tensor_dim(x, 1), columns = fg_tensor_dim(x, 2);
    const fg_tensor u = fgi_aug_uniform(key, name, CUTMIX_NUMBERS);
    const fg_tensor rest = fg_add_scalar(fg_neg(drawn_weight(u, alpha, p)), 1);
    const fg_tensor side = fg_mul_scalar(fg_sqrt(rest), 0.5);
    const fg_tensor is_row = interval(u, ROW, side, 1, rows, &height);
    const fg_tensor is_column = interval(u, COLUMN, side, 2, columns, &width);
    const double pixel = 1 / ((double)rows * (double)columns);
    const fg_tensor part = fg_mul_scalar(fg_mul(height, width), -pixel);
    *target = mixture(*target, fg_add_scalar(part, 1));
    return fg_where(fg_and(is_row, is_column), fg_batch_roll(x), x);
}

/* ---- the rows -------------------------------------------------------------------------------- */

static fg_tensor mix_mixup(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                           const fg_option_values *values)
{
    return fg_aug_mixup(image, target, key,
                        &(fg_aug_mixup_options){.alpha = fg_option_number(values, "alpha"),
                                                .p = fg_option_number(values, "p")});
}

static fg_tensor mix_cutmix(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                            const fg_option_values *values)
{
    return fg_aug_cutmix(image, target, key,
                         &(fg_aug_cutmix_options){.alpha = fg_option_number(values, "alpha"),
                                                  .p = fg_option_number(values, "p")});
}

static const fg_option mix_options[] = {
    {.name = "alpha",
     .kind = FG_OPTION_FLOAT,
     .initial = "1",
     .range = "1e-3..1e3",
     .example = "0.2",
     .help = "The mixing fraction has the distribution Beta(alpha, alpha)."},
    FGI_AUG_NUMBER("p", "1", "1", "Probability."),
};

const fg_augmentation_entry fgi_mixup_row = {
    .entry =
        {.name = "mixup",
         .help = "mix each sample and its target with those of another sample of the batch (mixup)",
         .spellings = "MixUp",
         .options = mix_options,
         .option_count = sizeof mix_options / sizeof mix_options[0]},
    .mix = mix_mixup};

const fg_augmentation_entry fgi_cutmix_row = {
    .entry = {.name = "cutmix",
              .help = "replace a random box with that of another sample of the batch, and mix the "
                      "targets (CutMix)",
              .spellings = "CutMix",
              .options = mix_options,
              .option_count = sizeof mix_options / sizeof mix_options[0]},
    .mix = mix_cutmix};
