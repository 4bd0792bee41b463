/* callback_throughput.c - the callback throughput: adds rates to each log line: steps,
 * samples, tokens and FLOPs per second, in total and per device, and the FLOP utilization.
 *
 * Rates are averages over the last lines, excluding validation. FLOPs are counted from the
 * graph of the step. Nothing is read from a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/train.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"
#include "train/watch/call.h"
#include "train/save/saver.h"

/* What a log line is about. */
typedef struct line {
    int64_t steps;
    double samples, tokens, seconds; /* tokens: NaN, not known */
} line;

typedef struct throughput {
    int64_t window;           /* steps to average over */
    double tokens_per_sample; /* NaN: not given */
    double flops_per_sample;  /* NaN: counted from the graph */
    double peak_flops;        /* of a device, per second; NaN: that of the chip */
    int64_t last_step;        /* of the previous line, or of the start of the fit */
    size_t first, count;      /* in the ring of `window` lines */
    line *lines;
    const char *tokens_metric; /* "": none */
} throughput;

/* ---- the window ------------------------------------------------------------------------------ */

static line sum_of(const throughput *t)
{
    line sum = {0};
    for (size_t i = 0; i < t->count; i++) {
        const line *each = &t->lines[(t->first + i) % (size_t)t->window];
        sum.steps += each->steps;
        sum.samples += each->samples;
        sum.tokens += each->tokens;
        sum.seconds += each->seconds;
    }
    return sum;
}

/* Adds a line, and drops the oldest while the others have enough steps: each has at least one, so
 * that the ring never overflows. */
static void append(throughput *t, line next)
{
    const size_t size = (size_t)t->window;
    int64_t steps = sum_of(t).steps + next.steps;
    while (t->count > 0 && (t->count == size || steps - t->lines[t->first].steps >= t->window)) {
        steps -= t->lines[t->first].steps;
        t->first = (t->first + 1) % size;
        t->count--;
    }
    t->lines[(t->first + t->count++) % size] = next;
}

/* Tokens of a line: by the option, or from the metric that is their mean per sample. */
static double tokens_of(const throughput *t, const fg_progress *at)
{
    for (size_t i = 0; t->tokens_metric[0] != '\0' && i < at->metric_count; i++)
        if (strcmp(at->metrics[i].name, t->tokens_metric) == 0)
            return at->metrics[i].value * (double)at->samples;
    return t->tokens_per_sample * (double)at->samples;
}

/* ---- the values ------------------------------------------------------------------------------ */

/* A rate, and the same per device. */
static void add_rate(fg_log_values *values, const char *total, const char *each, double rate,
                     int devices)
{
    fg_log_values_add(values, total, rate);
    fg_log_values_add(values, each, rate / devices);
}

/* The fraction of the peak rate of all devices. */
static double utilization(const throughput *t, const fg_step_cost *cost, double flops_per_s,
                          int devices)
{
    if (!isnan(t->peak_flops))
        return flops_per_s / (t->peak_flops * devices);
    return flops_per_s * cost->seconds / cost->flops; /* NaN: the peak is not known */
}

static void add_rates(const throughput *t, const fg_progress *at, fg_log_values *values)
{
    const line sum = sum_of(t);
    const int devices = fg_trainer_settings(at->trainer)->device_count;
    const fg_step_cost cost = fg_trainer_step_cost(at->trainer);
    const double samples_per_s = sum.samples / sum.seconds;
    const double counted = cost.flops / (double)cost.samples;
    const double flops =
        samples_per_s * (isnan(t->flops_per_sample) ? counted : t->flops_per_sample);
    fg_log_values_add(values, "steps_per_s", (double)sum.steps / sum.seconds);
    add_rate(values, "samples_per_s", "samples_per_s_per_device", samples_per_s, devices);
    add_rate(values, "tokens_per_s", "tokens_per_s_per_device", sum.tokens / sum.seconds, devices);
    add_rate(values, "flops_per_s", "flops_per_s_per_device", flops, devices);
    fg_log_values_add(values, "mfu", utilization(t, &cost, flops, devices));
}

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    throughput *t = self;
    const line next = {.steps = at->step - t->last_step,
                       .samples = (double)at->samples,
                       .tokens = tokens_of(t, at),
                       .seconds = (double)at->samples / at->samples_per_s};
    t->last_step = at->step;
    if (at->samples <= 0 || !(at->samples_per_s > 0) || next.steps <= 0)
        return FG_OK;
    append(t, next);
    add_rates(t, at, values);
    return FG_OK;
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    throughput *t = self;
    t->last_step = at->step;
    t->first = t->count = 0;
    if (t->tokens_metric[0] != '\0')
        return fgi_metric_check(fgi_fit_facts_of(at->trainer).stages, "throughput: tokens_metric",
                                t->tokens_metric, FGI_TRAIN, err);
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static void destroy(void *self)
{
    throughput *t = self;
    fgi_free(t->lines);
    fgi_free(t);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    throughput *t = self;
    if (t->tokens_metric[0] != '\0' && !isnan(t->tokens_per_sample))
        return fg_option_fail(values, "tokens_per_sample", FG_EINVAL, err,
                              "tokens_metric counts the tokens already: set only one of them");
    t->lines = fgi_calloc((size_t)t->window, sizeof *t->lines);
    return t->lines != NULL ? FG_OK : fgi_no_memory(err);
}

static const fg_option options[] = {
    FG_OPTION(throughput, window, INT, "100", "1..100000", "1000",
              "Average over at least this many of the last steps, rounded up to whole log lines."),
    FG_OPTION(throughput, tokens_per_sample, FLOAT, "auto", "auto|0..1e15", "1024",
              "Tokens of each sample. auto: from tokens_metric, or not logged."),
    FG_OPTION(throughput, tokens_metric, STRING, "", NULL, "train_tokens",
              "A training metric that is the mean number of tokens per sample, for samples of "
              "different lengths."),
    FG_OPTION(
        throughput, flops_per_sample, FLOAT, "auto", "auto|0..", "6e9",
        "FLOPs of a training step per sample. auto: those of matmuls and convolutions, counted "
        "from the graph."),
    FG_OPTION(throughput, peak_flops, FLOAT, "auto", "auto|1..", "197e12",
              "Peak rate of a device in FLOP/s, for mfu. auto: the published rate of the chip; if "
              "that is not known, mfu is not logged."),
};

static const fg_callback_ops ops = {
    .name = "throughput", .fit_start = on_fit_start, .measure = on_measure, .destroy = destroy};

const fg_callback_entry fgi_throughput_row = {
    .entry = {.name = "throughput",
              .help = "log steps, samples, tokens and FLOPs per second, in total and per device, "
                      "and the model FLOP utilization (mfu, 0 to 1)",
              .spellings = "ThroughputMonitor",
              FG_OPTIONS(options, throughput)},
    .ops = &ops,
    .init = init};
