/* run_summary.c - the summary of a run, successful or not, as one JSON object. Unknown values are
 * null.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "recipe/run/run.h"
#include "input/json_file.h"

json_t *fgi_run_metrics_json(const fg_result *result)
{
    json_t *object = json_object();
    for (size_t i = 0; i < result->metric_count; i++)
        (void)json_object_set_new(object, result->metrics[i].name,
                                  fgi_json_real(result->metrics[i].value));
    return object;
}

/* Times, which a factor of NaN makes unknown. */
static json_t *idle_of(const fg_idle *idle, double unknown)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "input", fgi_json_real(idle->input_s * unknown), "upload",
        fgi_json_real(idle->upload_s * unknown), "compile",
        fgi_json_real(idle->compile_s * unknown), "read", fgi_json_real(idle->read_s * unknown),
        "checkpoint", fgi_json_real(idle->checkpoint_s * unknown), "other",
        fgi_json_real(idle->other_s * unknown));
}

static json_t *input_of(const fg_input_report *input, double unknown)
{
    const fg_loader_stages *t = &input->stages;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bound_by",
        fgi_json_string(input->bound_by), "delivered_samples_per_s",
        fgi_json_real(input->delivered_samples_per_s * unknown), "required_samples_per_s",
        fgi_json_real(input->required_samples_per_s * unknown), "waited",
        fgi_json_real(input->waited * unknown), "workers",
        fgi_json_count(isnan(unknown) ? -1 : input->workers), "read_s",
        fgi_json_real(t->read_s * unknown), "entropy_s", fgi_json_real(t->entropy_s * unknown),
        "decode_s", fgi_json_real(t->decode_s * unknown), "resize_s",
        fgi_json_real(t->resize_s * unknown), "copy_s", fgi_json_real(t->copy_s * unknown));
}

/* Peak memory of this process, as reported by the kernel. */
static int64_t peak_rss_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : -1;
}

static const char *status_word(const fg_error *error)
{
    if (error == NULL || error->status == FG_OK)
        return "done";
    return error->status == FG_ESTOPPED ? "stopped" : "failed";
}

/* Kind and number of the devices; null if the run failed before. */
static void put_devices(json_t *root, const fg_recipe *r)
{
    fg_error err;
    fg_device_info device;
    fg_client *client = r->trainer != NULL ? fg_trainer_client(r->trainer) : NULL;
    const bool is_known = client != NULL && fg_device_info_at(client, 0, &device, &err) == FG_OK;
    (void)json_object_set_new(root, "device",
                              is_known ? fgi_json_string(device.kind) : json_null());
    (void)json_object_set_new(root, "devices",
                              is_known ? fgi_json_count(fg_client_info_of(client)->device_count)
                                       : json_null());
}

/* Searches run steps, or only compile them, without what measures a fit. */
static bool is_search(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_FIND_LR || r->kind == FG_RECIPE_FIND_BATCH ||
           r->kind == FG_RECIPE_BENCH;
}

/* The settings of the fit; of a search for a learning rate, those that a fit would have. */
static bool find_settings(fg_recipe *r, fg_fit_settings *out)
{
    const fg_fit_settings *settings = r->trainer != NULL ? fg_trainer_settings(r->trainer) : NULL;
    fg_client *client = r->trainer != NULL ? fg_trainer_client(r->trainer) : NULL;
    *out = settings != NULL ? *settings : (fg_fit_settings){.device_count = 0};
    if (out->device_count > 0 || client == NULL || r->kind != FG_RECIPE_FIND_LR)
        return out->device_count > 0;
    fg_trainer_options options;
    if (fgi_run_trainer_options(r, NULL, &options, NULL) != FG_OK)
        return false;
    options.devices = (fg_trainer_devices){.client = client};
    const double lr = fgi_run_task_lr(&r->task);
    return fg_trainer_preview(&options, &r->fit_data, lr, out, NULL) == FG_OK;
}

/* How the devices shared the work; null if the fit did not start. */
static void put_settings(json_t *root, fg_recipe *r)
{
    fg_fit_settings settings;
    const bool is_known = find_settings(r, &settings);
    (void)json_object_set_new(root, "strategy",
                              is_known ? fgi_json_string(settings.strategy) : json_null());
    (void)json_object_set_new(root, "global_batch_size",
                              is_known ? fgi_json_count(settings.global_batch_size) : json_null());
    (void)json_object_set_new(root, "lr", is_known ? fgi_json_real(settings.lr) : json_null());
    (void)json_object_set_new(root, "lr_scaling",
                              is_known ? fgi_json_string(settings.lr_scaling) : json_null());
}

/* What was counted by the Trainer; during a search, by the client. */
static fg_client_stats counts_of(const fg_recipe *r, const fg_result *f)
{
    const fg_client *client = r->trainer != NULL ? fg_trainer_client(r->trainer) : NULL;
    if (is_search(r) && client != NULL)
        return fg_client_stats_of(client);
    return (fg_client_stats){.compiles = f->compiles,
                             .compile_cache_hits = f->compile_cache_hits,
                             .compile_s = r->has_result ? f->compile_s : (double)NAN,
                             .host_reads = f->host_reads};
}

static void put_times(json_t *root, const fg_recipe *r, const fg_result *f, double unknown)
{
    const fg_client_stats stats = counts_of(r, f);
    json_t *step =
        json_pack("{s:o, s:o}", "median", fgi_json_real(f->step_median_s * 1e3 * unknown), "p95",
                  fgi_json_real(f->step_p95_s * 1e3 * unknown));
    (void)json_object_set_new(root, "time_to_first_step_s",
                              fgi_json_real((r->setup_s + f->time_to_first_step_s) * unknown));
    (void)json_object_set_new(root, "step_ms", step);
    (void)json_object_set_new(root, "samples_per_s", fgi_json_real(f->samples_per_s * unknown));
    (void)json_object_set_new(root, "host_overhead_us_per_step",
                              fgi_json_real(f->host_overhead_s * 1e6 * unknown));
    (void)json_object_set_new(root, "plugin_us_per_step",
                              fgi_json_real(f->plugin_s * 1e6 * unknown));
    (void)json_object_set_new(root, "compiles", fgi_json_count(stats.compiles));
    (void)json_object_set_new(root, "compile_cache_hits", fgi_json_count(stats.compile_cache_hits));
    (void)json_object_set_new(root, "compile_s", fgi_json_real(stats.compile_s));
    (void)json_object_set_new(root, "host_reads", fgi_json_count(stats.host_reads));
    (void)json_object_set_new(root, "busy_s", fgi_json_real(f->idle.busy_s * unknown));
    (void)json_object_set_new(root, "idle_s", fgi_json_real(f->idle.idle_s * unknown));
    (void)json_object_set_new(root, "idle", idle_of(&f->idle, unknown));
    (void)json_object_set_new(root, "input", input_of(&f->input, unknown));
    (void)json_object_set_new(root, "peak_rss_bytes", fgi_json_count(peak_rss_bytes()));
}

static void put_result(json_t *root, const fg_recipe *r)
{
    static const fg_result nothing;
    const fg_result *f = r->has_result ? &r->outcome.train : &nothing;
    const bool is_known = r->has_result && !is_search(r);
    const double unknown = is_known ? 1 : (double)NAN; /* NaN for unknown times: null */
    (void)json_object_set_new(root, "epochs", fgi_json_count(is_search(r) ? -1 : f->epochs));
    (void)json_object_set_new(root, "steps", fgi_json_count(is_search(r) ? -1 : f->steps));
    (void)json_object_set_new(root, "metrics", fgi_run_metrics_json(f));
    put_times(root, r, f, unknown);
    (void)json_object_set_new(root, "nonfinite_steps",
                              fgi_json_count(is_known ? f->nonfinite_steps : -1));
    (void)json_object_set_new(root, "rollbacks", fgi_json_count(is_known ? f->rollbacks : -1));
    (void)json_object_set_new(root, "rollback_lr_factor",
                              fgi_json_real(f->rollback_lr_factor * unknown));
    (void)json_object_set_new(root, "lost_updates", fgi_json_real(f->lost_updates * unknown));
    (void)json_object_set_new(root, "loss_scale", fgi_json_real(f->loss_scale * unknown));
    (void)json_object_set_new(root, "device_peak_bytes",
                              fgi_json_count(is_known ? f->device_peak_bytes : -1));
    (void)json_object_set_new(root, "step_flops", fgi_json_real(f->step_flops * unknown));
    (void)json_object_set_new(root, "mxu_use", fgi_json_real(f->mxu_use * unknown));
    (void)json_object_set_new(root, "mxu_use_source", json_string("model"));
    (void)json_object_set_new(root, "checkpoint", fgi_json_string(f->checkpoint));
    (void)json_object_set_new(root, "stop_reason", fgi_json_string(f->stop_reason));
}

/* Samples without a prediction, or training samples that others have replaced. */
static void put_damaged(json_t *root, const fg_recipe *r)
{
    const bool is_predict = r->kind == FG_RECIPE_PREDICT;
    const fg_dataset *train = r->fit_data.train;
    const char *first = is_predict ? r->outcome.damaged_error : NULL;
    int64_t damaged = is_predict ? r->outcome.damaged : 0;
    if (!is_predict && train != NULL)
        damaged = fg_dataset_damaged(train, &first);
    (void)json_object_set_new(root, "damaged", fgi_json_count(r->has_result ? damaged : -1));
    (void)json_object_set_new(root, "damaged_error",
                              damaged > 0 ? fgi_json_string(first) : json_null());
}

/* Without the pictures, which are for the page of the report. */
static json_t *evaluation_of(const fg_recipe *r)
{
    json_t *copy = json_deep_copy(r->evaluation), *sample;
    size_t i;
    json_array_foreach(json_object_get(copy, "worst"), i, sample)(void)
        json_object_del(sample, "image");
    return copy != NULL ? copy : json_null();
}

bool fgi_run_put_summary(fg_recipe *r, fgi_buf *out)
{
    const fg_error *error = r->error.status != FG_OK ? &r->error : NULL;
    json_t *root =
        json_pack("{s:s, s:s, s:o}", "status", status_word(error), "command", r->command, "error",
                  error != NULL ? fgi_json_string(error->message) : json_null());
    put_devices(root, r);
    put_settings(root, r);
    const fg_client *client = r->trainer != NULL ? fg_trainer_client(r->trainer) : NULL;
    (void)json_object_set_new(root, "kernels",
                              client != NULL ? fgi_json_string(fg_client_info_of(client)->kernels)
                                             : json_null());
    (void)json_object_set_new(root, "precision", fgi_json_string(r->c->trainer.numerics.precision));
    put_result(root, r);
    put_damaged(root, r);
    (void)json_object_set_new(root, "evaluation", evaluation_of(r));
    (void)json_object_set_new(root, "suggestions", fgi_run_lr_suggestions(r));
    if (r->kind == FG_RECIPE_FIND_BATCH)
        (void)json_object_set_new(root, "batch", fgi_run_batch_json(r));
    (void)json_object_set_new(root, "run_dir", fgi_json_string(r->folder));
    const bool is_good = fgi_json_write(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9), out);
    json_decref(root);
    return is_good;
}
