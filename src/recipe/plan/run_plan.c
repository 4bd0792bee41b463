/* run_plan.c - the plan for one machine, in the process that compiles for it: the step, the
 * largest batch, the input rate that the step requires, and the rate of this host's loader. The
 * result is a JSON object, also after a failure.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/plan.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "recipe/plan/run_plan.h"
#include "recipe/run/run.h"
#include "base/error.h"
#include "base/print.h"
#include "input/json_file.h"
#include "train/watch/watch.h"
#include "base/resources.h"
#include "data/dataset.h"
#include "base/text.h"

enum { SWEEP_MAX = 32, LARGEST_BATCH = 1 << 24 };

static void put(json_t *object, const char *key, json_t *take_value)
{
    (void)json_object_set_new(object, key, take_value);
}

/* ---- results --------------------------------------------------------------------------------- */

static json_t *collectives(const fg_plan *plan)
{
    json_t *list = json_array();
    for (int k = 0; k < FG_COLLECTIVES; k++)
        if (plan->collectives[k] > 0)
            (void)json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "kind",
                                                        fg_collective_name((fg_collective)k),
                                                        "count", plan->collectives[k], "bytes",
                                                        (json_int_t)plan->collective_bytes[k]));
    return list;
}

static void put_memory(json_t *o, const fg_plan *p)
{
    put(o, "fits", json_boolean(p->fits));
    put(o, "hbm_needed_bytes", fgi_json_count(p->hbm_needed_bytes));
    put(o, "hbm_available_bytes", fgi_json_count(p->hbm_available_bytes));
    put(o, "parameter_bytes", fgi_json_count(p->parameter_bytes));
    put(o, "optimizer_bytes", fgi_json_count(p->optimizer_bytes));
    put(o, "batch_bytes", fgi_json_count(p->batch_bytes));
    put(o, "padding_bytes", fgi_json_count(p->padding_bytes));
    put(o, "activation_bytes", fgi_json_count(p->activation_bytes));
    put(o, "program_bytes", fgi_json_count(p->program_bytes));
    if (p->reason[0] != '\0')
        put(o, "reason", json_string(p->reason));
}

static void put_work(json_t *o, const fg_plan *p, int64_t samples)
{
    const double steps = samples > 0 && p->global_batch_size > 0
                             ? ceil((double)samples / (double)p->global_batch_size)
                             : (double)NAN;
    put(o, "flops", fgi_json_real(p->flops));
    put(o, "accessed_bytes", fgi_json_real(p->accessed_bytes));
    put(o, "matmuls", json_integer(p->matmuls));
    put(o, "matmuls_16bit", json_integer(p->matmuls_16bit));
    put(o, "collectives", collectives(p));
    put(o, "estimated_cycles", fgi_json_real(p->cycles));
    put(o, "estimated_step_s", fgi_json_real(p->step_s));
    put(o, "estimated_epoch_s", fgi_json_real(steps * p->step_s));
    put(o, "estimated_samples_per_s", fgi_json_real((double)p->global_batch_size / p->step_s));
    put(o, "estimate", json_string("compiler estimate, not measured"));
    put(o, "compile_s", fgi_json_real(p->compile_s));
    put(o, "serialized_bytes", fgi_json_count(p->serialized_bytes));
    if (p->analysis_json != NULL)
        put(o, "analysis", fgi_json_load(p->analysis_json, strlen(p->analysis_json), 0, NULL));
    put(o, "fingerprint", p->fingerprint[0] != '\0' ? json_string(p->fingerprint) : json_null());
}

/* ---- plan ------------------------------------------------------------------------------------ */

static void on_tried(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    const fg_recipe *r = self;
    const bool is_known = need_bytes >= 0;
    fgi_run_say(r, FG_LOG_INFO, "%s: batch_size %" PRId64 " %s%s%s%s", r->plan_options.topology,
                batch_size, fits ? "fits" : "is too large", is_known ? ": needs " : "",
                is_known ? fgi_bytes_words((double)need_bytes) : "", is_known ? " per device" : "");
}

static fg_status search(json_t *o, fg_recipe *r, fg_error *err)
{
    fg_batch_fit fit = {0};
    if (r->plan_options.no_search) {
        put(o, "max_batch", json_null());
        return FG_OK;
    }
    const fg_status status =
        fg_trainer_find_batch(r->trainer, &r->task.task, &r->fit_data,
                              &(fg_batch_find_options){.tried = on_tried, .self = r}, &fit, err);
    if (status != FG_OK)
        return status;
    put(o, "max_batch", json_integer(fit.batch_size));
    put(o, "max_global_batch", json_integer(fit.global_batch_size));
    put(o, "max_batch_bytes", fgi_json_count(fit.need_bytes));
    put(o, "max_batch_is_all_data", json_boolean(fit.all_fit));
    return FG_OK;
}

/* ---- several batches ------------------------------------------------------------------------- */

/* Compiles the step for each batch size: memory, and cycles per sample. */
static fg_status sweep(json_t *o, fg_recipe *r, fg_error *err)
{
    double cycles[SWEEP_MAX];
    fg_fit_data data = r->fit_data;
    json_t *list = json_array();
    const fg_ints sizes = r->plan_options.sweep;
    fg_status status = FG_OK;
    for (size_t i = 0; i < sizes.count && status == FG_OK; i++) {
        fg_plan plan;
        data.batch_size = sizes.at[i];
        data.global_batch_size = 0;
        status = fg_plan_step(r->trainer, &r->task.task, &data, &plan, err);
        cycles[i] = plan.cycles;
        json_t *one =
            json_pack("{s:I, s:b}", "batch_size", (json_int_t)sizes.at[i], "fits", (int)plan.fits);
        put(one, "hbm_needed_bytes", fgi_json_count(plan.hbm_needed_bytes));
        put(one, "cycles", fgi_json_real(plan.cycles));
        put(one, "cycles_per_sample", fgi_json_real(plan.cycles / (double)sizes.at[i]));
        put(one, "estimated_step_s", fgi_json_real(plan.step_s));
        (void)json_array_append_new(list, one);
        fg_plan_fini(&plan);
    }
    const int64_t from =
        status == FG_OK ? fg_plan_saturation_batch(sizes.at, cycles, sizes.count) : 0;
    put(o, "sweep", list);
    put(o, "saturation_batch", from > 0 ? json_integer(from) : json_null());
    return status;
}

static fg_status fill(json_t *o, fg_recipe *r, fg_error *err)
{
    fg_plan plan;
    fg_device_info device;
    const fg_client *client = fg_trainer_client(r->trainer);
    const fg_client_info *info = fg_client_info_of(client);
    const int64_t samples = fg_dataset_count(r->data.train);
    put(o, "platform", json_string(info->platform));
    put(o, "compiler", json_string(info->platform_version));
    put(o, "devices", json_integer(info->device_count));
    put(o, "hosts", json_integer(info->host_count));
    if (fg_device_info_at(client, 0, &device, NULL) == FG_OK)
        put(o, "device_kind", json_string(device.kind));
    put(o, "precision", json_string(r->c->trainer.numerics.precision));
    fg_status status = fg_plan_step(r->trainer, &r->task.task, &r->fit_data, &plan, err);
    if (status == FG_OK) {
        put(o, "batch_size", json_integer(plan.batch_size));
        put(o, "global_batch_size", json_integer(plan.global_batch_size));
        put_memory(o, &plan);
        put_work(o, &plan, samples);
        if (plan.fits && isfinite(plan.step_s))
            fgi_plan_put_input(o, r, &plan);
        status = search(o, r, err);
    }
    if (status == FG_OK && r->plan_options.sweep.count > 0)
        status = sweep(o, r, err);
    fg_plan_fini(&plan);
    return status;
}

fg_status fgi_run_plan(fg_recipe *r, fg_error *err)
{
    json_t *one = json_pack("{s:s}", "name", r->plan_options.topology);
    r->plan = json_pack("{s:[O]}", "topologies", one);
    if (one == NULL || r->plan == NULL) {
        json_decref(one);
        return fgi_no_memory(err);
    }
    const fg_status status = fill(one, r, err);
    if (status != FG_OK)
        put(one, "error", json_string(err->message));
    json_decref(one);
    return status;
}

json_t *fgi_plan_failed(const char *topology, const char *why, bool every_machine)
{
    return json_pack("{s:[{s:s, s:n, s:n, s:n, s:n, s:s}], s:b}", "topologies", "name", topology,
                     "fits", "hbm_needed_bytes", "hbm_available_bytes", "max_batch", "error", why,
                     "every_machine", (int)every_machine);
}

void fgi_run_plan_fail(fg_recipe *r)
{
    if (r->plan == NULL)
        r->plan = fgi_plan_failed(r->plan_options.topology, r->error.message, !r->is_data_ready);
}

fg_status fgi_run_plan_check(const fg_plan_options *options, fg_error *err)
{
    const fg_ints *sizes = &options->sweep;
    const fg_loader_rate *l = &options->loader;
    bool is_good = sizes->count <= SWEEP_MAX;
    if (options->topology == NULL)
        return fgi_fail(err, FG_EINVAL, "to plan, name a machine: set topology");
    for (size_t i = 0; is_good && i < sizes->count; i++)
        is_good = sizes->at[i] >= 1 && sizes->at[i] <= LARGEST_BATCH;
    if (!is_good)
        return fgi_fail(err, FG_EINVAL, "sweep: expected at most %d batch sizes from 1 to %d",
                        SWEEP_MAX, LARGEST_BATCH);
    if (signbit(l->samples_per_s) || !isfinite(l->samples_per_s) || !(l->stage_fraction >= 0) ||
        l->stage_fraction > 1 || (l->stage != NULL && *l->stage == '\0'))
        return fgi_fail(err, FG_EINVAL,
                        "loader: expected a number of samples per second above 0, the name of a "
                        "stage, and a fraction from 0 to 1");
    return FG_OK;
}

/* ---- the input rate -------------------------------------------------------------------------- */

static const double measured_for_s = 1;

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
    const int64_t workers = c->batches.workers;
    const fg_loader_options options = {.batch_size = batch,
                                       .shuffle = true,
                                       .workers = workers == FG_AUTO ? 0
                                                  : workers == 0     ? FG_NONE
                                                                     : workers};
    return fg_input_rate_measure(samples, &options, seconds, out, err);
}

/* Measures the loader, unless its rate is given. */
static fg_status find_rate(const fg_recipe *r, const fg_plan *plan, int parts,
                           fg_loader_rate *loader, fg_error *err)
{
    fg_input_rate rate;
    if (loader->samples_per_s > 0)
        return FG_OK;
    const int64_t batch = (plan->global_batch_size + parts - 1) / parts;
    FGI_TRY(fgi_run_input_rate(r->c, r->data.train, batch, measured_for_s, &rate, err));
    loader->samples_per_s = rate.samples_per_s;
    loader->stage = fg_loader_slowest_stage(&rate.stages, &loader->stage_fraction);
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
    if (stage != NULL)
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
    put(o, "input_verdict", json_string(words));
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
    fg_loader_rate loader = r->plan_options.loader;
    const fg_client_info *info = fg_client_info_of(fg_trainer_client(r->trainer));
    const int parts = parts_of(info);
    const double needed = (double)plan->global_batch_size / plan->step_s, host = needed / parts;
    const double bytes = bytes_per_sample(r->data.train);
    if (!isfinite(needed))
        return;
    put(o, "input_needed_samples_per_s", fgi_json_real(needed));
    put(o, "input_host_samples_per_s", fgi_json_real(host));
    if (find_rate(r, plan, parts, &loader, &err) != FG_OK) {
        put(o, "input_measured_samples_per_s", fgi_json_real((double)NAN));
        put(o, "input_verdict", json_string(err.message));
        return;
    }
    put(o, "input_needed_bytes_per_s", fgi_json_real(needed * bytes));
    put(o, "input_host_bytes_per_s", fgi_json_real(host * bytes));
    put(o, "input_measured_samples_per_s", fgi_json_real(loader.samples_per_s));
    put(o, "input_measured_bytes_per_s", fgi_json_real(loader.samples_per_s * bytes));
    put(o, "input_sample_bytes", fgi_json_real(bytes));
    if (loader.stage != NULL) {
        put(o, "input_stage", json_string(loader.stage));
        put(o, "input_stage_fraction", fgi_json_real(loader.stage_fraction));
    }
    put(o, "input_fraction", fgi_json_real(loader.samples_per_s / host));
    fgi_plan_put_verdict(o, r, loader.samples_per_s / host, info->host_count == 1, loader.stage,
                         loader.stage_fraction);
}
