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

#include "recipe/run.h"
#include "input/json_file.h"

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *count(int64_t value) { return value >= 0 ? json_integer(value) : json_null(); }

static json_t *metrics_of(const fg_result *result)
{
    json_t *object = json_object();
    for (size_t i = 0; i < result->metric_count; i++)
        (void)json_object_set_new(object, result->metrics[i].name,
                                  number(result->metrics[i].value));
    return object;
}

static json_t *idle_of(const fg_idle *idle)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "input", number(idle->input_s), "upload",
                     number(idle->upload_s), "compile", number(idle->compile_s), "read",
                     number(idle->read_s), "checkpoint", number(idle->checkpoint_s), "other",
                     number(idle->other_s));
}

static json_t *input_of(const fg_input_report *input, double unknown)
{
    const fg_loader_stages *t = &input->stages;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bound_by",
                     fgi_json_string(input->bound_by), "delivered_samples_per_s",
                     number(input->delivered_samples_per_s * unknown), "required_samples_per_s",
                     number(input->required_samples_per_s * unknown), "waited",
                     number(input->waited * unknown), "workers", count(input->workers), "read_s",
                     number(t->read_s), "entropy_s", number(t->entropy_s), "decode_s",
                     number(t->decode_s), "resize_s", number(t->resize_s), "copy_s",
                     number(t->copy_s));
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
    const bool is_known = client != NULL && fg_device_get_info(client, 0, &device, &err) == FG_OK;
    (void)json_object_set_new(root, "device",
                              is_known ? fgi_json_string(device.kind) : json_null());
    (void)json_object_set_new(
        root, "devices", is_known ? count(fg_client_get_info(client)->device_count) : json_null());
}

/* How the devices shared the work; null if the fit did not start. */
static void put_settings(json_t *root, const fg_recipe *r)
{
    const fg_fit_settings *settings = r->trainer != NULL ? fg_trainer_settings(r->trainer) : NULL;
    const bool is_known = settings != NULL && settings->device_count > 0;
    (void)json_object_set_new(root, "strategy",
                              is_known ? fgi_json_string(settings->strategy) : json_null());
    (void)json_object_set_new(root, "global_batch_size",
                              is_known ? count(settings->global_batch_size) : json_null());
    (void)json_object_set_new(root, "lr", is_known ? number(settings->lr) : json_null());
    (void)json_object_set_new(root, "lr_scaling",
                              is_known ? fgi_json_string(settings->lr_scaling) : json_null());
}

static void put_result(json_t *root, const fg_recipe *r)
{
    static const fg_result nothing;
    const fg_result *f = r->has_result ? &r->outcome.train : &nothing;
    const double unknown = r->has_result ? 1 : (double)NAN; /* NaN for unknown times: null */
    json_t *step = json_pack("{s:o, s:o}", "median", number(f->step_median_s * 1e3 * unknown),
                             "p95", number(f->step_p95_s * 1e3 * unknown));
    (void)json_object_set_new(root, "epochs", count(f->epochs));
    (void)json_object_set_new(root, "steps", count(f->steps));
    (void)json_object_set_new(root, "metrics", metrics_of(f));
    (void)json_object_set_new(root, "time_to_first_step_s",
                              number((r->setup_s + f->time_to_first_step_s) * unknown));
    (void)json_object_set_new(root, "step_ms", step);
    (void)json_object_set_new(root, "samples_per_s", number(f->samples_per_s * unknown));
    (void)json_object_set_new(root, "host_overhead_us_per_step",
                              number(f->host_overhead_s * 1e6 * unknown));
    (void)json_object_set_new(root, "plugin_us_per_step", number(f->plugin_s * 1e6 * unknown));
    (void)json_object_set_new(root, "compiles", count(f->compiles));
    (void)json_object_set_new(root, "compile_cache_hits", count(f->compile_cache_hits));
    (void)json_object_set_new(root, "compile_s", number(f->compile_s * unknown));
    (void)json_object_set_new(root, "host_reads", count(f->host_reads));
    (void)json_object_set_new(root, "busy_s", number(f->idle.busy_s * unknown));
    (void)json_object_set_new(root, "idle_s", number(f->idle.idle_s * unknown));
    (void)json_object_set_new(root, "idle", idle_of(&f->idle));
    (void)json_object_set_new(root, "input", input_of(&f->input, unknown));
    (void)json_object_set_new(root, "peak_rss_bytes", count(peak_rss_bytes()));
    (void)json_object_set_new(root, "nonfinite_steps",
                              r->has_result ? count(f->nonfinite_steps) : json_null());
    (void)json_object_set_new(root, "rollbacks", r->has_result ? count(f->rollbacks) : json_null());
    (void)json_object_set_new(root, "rollback_lr_factor", number(f->rollback_lr_factor * unknown));
    (void)json_object_set_new(root, "lost_updates", number(f->lost_updates * unknown));
    (void)json_object_set_new(root, "loss_scale", number(f->loss_scale * unknown));
    (void)json_object_set_new(root, "device_peak_bytes",
                              r->has_result ? count(f->device_peak_bytes) : json_null());
    (void)json_object_set_new(root, "step_flops", number(f->step_flops * unknown));
    (void)json_object_set_new(root, "mxu_use", number(f->mxu_use * unknown));
    (void)json_object_set_new(root, "mxu_use_source", json_string("model"));
    (void)json_object_set_new(root, "checkpoint", fgi_json_string(f->checkpoint));
    (void)json_object_set_new(root, "stop_reason", fgi_json_string(f->stop_reason));
}

bool fgi_run_put_summary(const fg_recipe *r, fgi_buf *out)
{
    const fg_error *error = r->error.status != FG_OK ? &r->error : NULL;
    json_t *root =
        json_pack("{s:s, s:s, s:o}", "status", status_word(error), "command", r->command, "error",
                  error != NULL ? fgi_json_string(error->message) : json_null());
    put_devices(root, r);
    put_settings(root, r);
    (void)json_object_set_new(root, "precision",
                              fgi_json_string(fgi_config_text(r->c, "trainer.precision")));
    put_result(root, r);
    (void)json_object_set_new(root, "suggestions", fgi_run_lr_suggestions(r));
    if (r->options->kind == FG_RECIPE_FIND_BATCH)
        (void)json_object_set_new(root, "batch", fgi_run_batch_json(r));
    (void)json_object_set_new(root, "run_dir", fgi_json_string(r->folder));
    const bool is_good = fgi_json_write(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9), out);
    json_decref(root);
    return is_good;
}
