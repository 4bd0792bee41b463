/* plan_input.c - the input rate that a planned step requires, and the loader's rate on this host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "recipe/run.h"
#include "train/watch/watch.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/number.h"
#include "base/print.h"
#include "input/json_file.h"
#include "data/dataset.h"
#include "base/text.h"

static const double measured_for_s = 1;

static void put(json_t *o, const char *key, double value)
{
    (void)json_object_set_new(o, key, fgi_json_real(value));
}

/* The number of parts into which hosts divide a batch for loading: the number of hosts, unless the
 * devices of several hosts use the same samples. */
static int parts_of(const fg_client_info *info)
{
    const int shards = info->mesh.batch_shards;
    return info->host_count < shards ? info->host_count : shards;
}

fg_status fgi_run_input_rate(const fgi_config *c, fg_dataset *samples, int64_t batch,
                             double seconds, fg_input_rate *out, fg_error *err)
{
    const bool is_auto = c->batches.workers == FG_AUTO;
    const int workers = is_auto ? 0 : (int)c->batches.workers;
    const fg_loader_options options = {.batch_size = batch,
                                       .shuffle = true,
                                       .synchronous = !is_auto && workers == 0,
                                       .workers = workers};
    return fg_input_rate_measure(samples, &options, seconds, out, err);
}

/* The loader's rate: measured, or as given, "SAMPLES_PER_S" or "SAMPLES_PER_S,STAGE,FRACTION". */
typedef struct loader_rate {
    double samples_per_s, spent; /* of the loader's time, in the slowest stage */
    char stage[16];              /* "": not known */
} loader_rate;

static bool parse_rate(const char *text, loader_rate *out)
{
    char *end;
    *out = (loader_rate){.samples_per_s = fgi_strtod(text, &end)};
    if (end == text || !(out->samples_per_s > 0) || !isfinite(out->samples_per_s))
        return false;
    if (*end == '\0')
        return true;
    const size_t size = *end == ',' ? strcspn(end + 1, ",") : 0;
    if (size == 0 || size >= sizeof(out->stage) || end[1 + size] != ',')
        return false;
    memcpy(out->stage, end + 1, size);
    const char *fraction = end + size + 2;
    out->spent = fgi_strtod(fraction, &end);
    return end != fraction && *end == '\0' && out->spent >= 0 && out->spent <= 1;
}

fg_status fgi_plan_input_check(const char *text, fg_error *err)
{
    loader_rate rate;
    if (text == NULL || parse_rate(text, &rate))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "--input-rate=%s: expected a number of samples per second above 0", text);
}

static fg_status find_rate(const fg_recipe *r, const fg_plan *plan, int parts, loader_rate *out,
                           fg_error *err)
{
    fg_input_rate rate;
    if (r->options->plan.input_rate != NULL && parse_rate(r->options->plan.input_rate, out))
        return FG_OK;
    const int64_t batch = (plan->global_batch_size + parts - 1) / parts;
    FGI_TRY(fgi_run_input_rate(r->c, r->data.train, batch, measured_for_s, &rate, err));
    *out = (loader_rate){.samples_per_s = rate.samples_per_s};
    const char *stage = fg_loader_slowest_stage(&rate.stages, &out->spent);
    (void)fgi_snprintf(out->stage, sizeof(out->stage), "%s", stage != NULL ? stage : "");
    return FG_OK;
}

void fgi_plan_put_verdict(json_t *o, const fg_recipe *r, double fraction, bool is_alone,
                          const char *stage, double spent)
{
    char words[240], advice[64], where[80] = "";
    const int processors = fgi_cpu_count();
    const char *host = is_alone ? "this host" : "a host like this one";
    (void)fgi_snprintf(advice, sizeof advice, "use %s",
                       is_alone ? "smaller samples, a larger host or several hosts"
                                : "smaller samples or larger hosts");
    const int64_t workers = r->fit_data.workers; /* FG_AUTO, or 0: as many as processors */
    if (workers != FG_AUTO && workers != 0 && workers < processors)
        (void)fgi_snprintf(advice, sizeof advice, "trainer.workers can be up to %d here",
                           processors);
    if (*stage != '\0')
        (void)fgi_snprintf(where, sizeof where, " and spends %.0f %% of the loader's time on %s",
                           100 * spent, fgi_input_words(stage));
    if (fraction > 100)
        (void)fgi_snprintf(words, sizeof words, "%s delivers more than 100 times the required rate",
                           host);
    else if (fraction >= 1)
        (void)fgi_snprintf(words, sizeof words, "%s delivers %.3g times the required rate", host,
                           fraction);
    else
        (void)fgi_snprintf(
            words, sizeof words,
            "%s delivers %.2g %% of the required rate%s, so the devices would wait: %s", host,
            fmin(100 * fraction, 99), where, advice);
    (void)json_object_set_new(o, "input_verdict", json_string(words));
}

static double bytes_per_sample(const fg_dataset *samples)
{
    double bytes = 0;
    for (int i = 0; i < samples->field_count; i++)
        bytes += (double)samples->row_bytes[i];
    return bytes;
}

void fgi_plan_put_input(json_t *o, const fg_recipe *r, const fg_plan *plan)
{
    fg_error err = {0};
    loader_rate rate;
    const fg_client_info *info = fg_client_info_of(fg_trainer_client(r->trainer));
    const int parts = parts_of(info);
    const double needed = (double)plan->global_batch_size / plan->step_s, host = needed / parts;
    const double bytes = bytes_per_sample(r->data.train);
    if (!isfinite(needed))
        return;
    put(o, "input_needed_samples_per_s", needed);
    put(o, "input_host_samples_per_s", host);
    if (find_rate(r, plan, parts, &rate, &err) != FG_OK) {
        put(o, "input_measured_samples_per_s", (double)NAN);
        (void)json_object_set_new(o, "input_verdict", json_string(err.message));
        return;
    }
    put(o, "input_needed_bytes_per_s", needed * bytes);
    put(o, "input_host_bytes_per_s", host * bytes);
    put(o, "input_measured_samples_per_s", rate.samples_per_s);
    put(o, "input_measured_bytes_per_s", rate.samples_per_s * bytes);
    put(o, "input_sample_bytes", bytes);
    if (*rate.stage != '\0') {
        (void)json_object_set_new(o, "input_stage", json_string(rate.stage));
        put(o, "input_stage_fraction", rate.spent);
    }
    put(o, "input_fraction", rate.samples_per_s / host);
    fgi_plan_put_verdict(o, r, rate.samples_per_s / host, info->host_count == 1, rate.stage,
                         rate.spent);
}
