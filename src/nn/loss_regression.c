/* loss_regression.c - losses for regression besides the mean squared error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "nn/model.h"

static fg_tensor l1(fg_tensor prediction, fg_tensor target, const void *options)
{
    (void)options;
    return fg_l1(prediction, target);
}

const fg_loss_entry fgi_l1_row = {
    .entry = {.name = "l1", .help = "mean absolute error", .spellings = "mae|L1Loss"},
    .task = "regression",
    .apply = l1};

/* ---- Huber ----------------------------------------------------------------------------------- */

typedef struct huber {
    double delta, beta;
} huber;

static fg_tensor huber_apply(fg_tensor prediction, fg_tensor target, const void *options)
{
    return fg_huber(prediction, target, ((const huber *)options)->delta);
}

static fg_tensor smooth_l1(fg_tensor prediction, fg_tensor target, const void *options)
{
    const double beta = ((const huber *)options)->beta;
    return fg_mul_scalar(fg_huber(prediction, target, beta), 1 / beta);
}

#define UNIT "in standard deviations of the target unless data.normalize is false."

static const fg_option huber_options[] = {
    FG_OPTION(huber, delta, FLOAT, "1", "0<..", "0.5",
              "Distance from which on the loss is linear, " UNIT),
};

static const fg_option smooth_l1_options[] = {
    FG_OPTION(huber, beta, FLOAT, "1", "0<..", "0.5",
              "Distance from which on the loss is linear, " UNIT),
};

const fg_loss_entry fgi_huber_row = {
    .entry = {.name = "huber",
              .help = "squared error near the target, linear far from it",
              .spellings = "HuberLoss",
              FG_OPTIONS(huber_options, huber)},
    .task = "regression",
    .apply = huber_apply};

const fg_loss_entry fgi_smooth_l1_row = {
    .entry = {.name = "smooth_l1",
              .help = "the Huber loss divided by its distance beta",
              .spellings = "SmoothL1Loss",
              FG_OPTIONS(smooth_l1_options, huber)},
    .task = "regression",
    .apply = smooth_l1};

/* ---- quantiles ------------------------------------------------------------------------------- */

typedef struct quantile {
    fg_floats quantiles;
} quantile;

static fg_status check_quantiles(const void *options, int64_t outputs, fg_error *err)
{
    const size_t count = ((const quantile *)options)->quantiles.count;
    if (count == 0 || count > FG_MAX_QUANTILES)
        return fgi_fail(err, FG_EINVAL, "quantiles: expected 1 to %d numbers, got %zu",
                        FG_MAX_QUANTILES, count);
    if ((size_t)outputs != count)
        return fgi_fail(err, FG_EINVAL, "quantiles: expected a target with one value");
    return FG_OK;
}

static int64_t quantile_outputs(const void *options, int64_t values)
{
    return values * (int64_t)((const quantile *)options)->quantiles.count;
}

static fg_tensor quantile_apply(fg_tensor prediction, fg_tensor target, const void *options)
{
    const fg_floats *q = &((const quantile *)options)->quantiles;
    return fg_quantile_loss(prediction, target, q->at, (int)q->count);
}

/* The point is the quantile that is nearest to the median. */
static fg_tensor quantile_predict(fg_tensor output, bool is_point, const void *options)
{
    const fg_floats *q = &((const quantile *)options)->quantiles;
    int64_t best = 0;
    for (size_t i = 1; i < q->count; i++)
        if (fabs(q->at[i] - 0.5) < fabs(q->at[best] - 0.5))
            best = (int64_t)i;
    if (!is_point || fg_tensor_type(output)->rank < 2)
        return output;
    const int64_t rows = fg_tensor_dim(output, 0);
    return fg_reshape(
        fg_slice(output, (const int64_t[]){0, best}, (const int64_t[]){rows, best + 1}, NULL),
        FG_DIMS(-1));
}

static const fg_option quantile_options[] = {
    FG_OPTION(quantile, quantiles, FLOATS, "[0.1, 0.5, 0.9]", "0<..<1", "[0.05, 0.5, 0.95]",
              "Quantiles to predict, one model output each. Metrics use the one nearest to 0.5; "
              "`predict` writes all."),
};

const fg_loss_entry fgi_quantile_row = {
    .entry = {.name = "quantile",
              .help = "predicts quantiles of the target (pinball loss)",
              .spellings = "pinball|quantile_loss",
              FG_OPTIONS(quantile_options, quantile)},
    .task = "regression",
    .check = check_quantiles,
    .apply = quantile_apply,
    .outputs = quantile_outputs,
    .predict = quantile_predict};

/* ---- distributions --------------------------------------------------------------------------- */

static fg_tensor kl_div(fg_tensor prediction, fg_tensor target, const void *options)
{
    (void)options;
    return fg_kl_div(prediction, target);
}

static fg_tensor kl_predict(fg_tensor output, bool is_point, const void *options)
{
    (void)is_point;
    (void)options;
    return fg_softmax(output);
}

const fg_loss_entry fgi_kl_div_row = {
    .entry = {.name = "kl_div",
              .help = "Kullback-Leibler divergence from targets that are probabilities",
              .spellings = "kl|KLDivLoss"},
    .task = "regression",
    .apply = kl_div,
    .predict = kl_predict,
    .is_unscaled = true};
