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

/* Keeps an error unless the target can be mixed. */
static bool is_mixable(const char *name, fg_tensor x, fg_tensor target)
{
    char text[96];
    const fg_type *type = fg_tensor_type(target);
    const bool is_float = fg_dtype_is_float(type->dtype);
    if (fgi_is_poison(target))
        return false;
    if (is_float && type->rank > 0 && type->dim[0] == fg_tensor_dim(x, 0))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(x), is_float ? FG_ESHAPE : FG_EDTYPE,
                         "%s: the target is %s: expected floating-point numbers T[B, ...], such "
                         "as class probabilities (fg_one_hot)",
                         name, fg_type_format(type, text, sizeof text));
    return false;
}

static fg_tensor mixup(fg_tensor x, fg_tensor *target, const fg_sample_key *key, const void *own)
{
    const fg_aug_mixup_options *o = own;
    if (!is_mixable("mixup", x, *target))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    const fg_tensor u = fg_random_sample_uniform(key, "mixup", MIXUP_NUMBERS);
    const fg_tensor weight = drawn_weight(u, o->alpha, o->p);
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

static fg_tensor cutmix(fg_tensor x, fg_tensor *target, const fg_sample_key *key, const void *own)
{
    const fg_aug_cutmix_options *o = own;
    fg_tensor height, width;
    if (!is_mixable("cutmix", x, *target))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    const int64_t rows = fg_tensor_dim(x, 1), columns = fg_tensor_dim(x, 2);
    const fg_tensor u = fg_random_sample_uniform(key, "cutmix", CUTMIX_NUMBERS);
    const fg_tensor rest = fg_add_scalar(fg_neg(drawn_weight(u, o->alpha, o->p)), 1);
    const fg_tensor side = fg_mul_scalar(fg_sqrt(rest), 0.5);
    const fg_tensor is_row = interval(u, ROW, side, 1, rows, &height);
    const fg_tensor is_column = interval(u, COLUMN, side, 2, columns, &width);
    const double pixel = 1 / ((double)rows * (double)columns);
    const fg_tensor part = fg_mul_scalar(fg_mul(height, width), -pixel);
    *target = mixture(*target, fg_add_scalar(part, 1));
    return fg_where(fg_and(is_row, is_column), fg_batch_roll(x), x);
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define MIX_OPTIONS(type)                                                                          \
    FG_OPTION(type, alpha, FLOAT, "1", "1e-3..1e3", "0.2",                                         \
              "The mixing fraction has the distribution Beta(alpha, alpha)."),                     \
        FG_OPTION(type, p, FLOAT, "1", "0..1", "0.25", "Probability.")

static const fg_option mixup_options[] = {MIX_OPTIONS(fg_aug_mixup_options)};
static const fg_option cutmix_options[] = {MIX_OPTIONS(fg_aug_cutmix_options)};

FGI_AUG_MIX_ROW(mixup, "MixUp",
                "mix each sample and its target with those of another sample of the batch (mixup)",
                .mix = mixup)
FGI_AUG_MIX_ROW(
    cutmix, "CutMix",
    "replace a random box with that of another sample of the batch, and mix the targets (CutMix)",
    .mix = cutmix)
