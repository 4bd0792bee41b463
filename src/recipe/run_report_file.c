/* run_report_file.c - report.json of a run's folder: what `fulgurite report` shows in addition to
 * the metrics. Written during a fit
 * (run_report_live.c) and at its end. Unknown values are null.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/chip.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/resources.h"
#include "base/print.h"
#include "input/json_file.h"
#include "recipe/run.h"
#include "verdict/verdict.h"

static json_t *known(double value) { return value > 0 ? fgi_json_real(value) : json_null(); }

static json_t *bytes(int64_t value) { return value > 0 ? json_integer(value) : json_null(); }

/* ---- parts ----------------------------------------------------------------------------------- */

/* By the exit status of `fit`: a run that a callback or a time limit ended has finished. */
static const char *state_of(fg_status status)
{
    if (status == FG_ESTOPPED)
        return "stopped";
    return status == FG_OK ? "finished" : "failed";
}

static json_t *device_of(const fg_recipe *r, fg_device_info *device)
{
    fg_error err;
    fg_client *client = fg_trainer_client(r->trainer);
    if (client == NULL || fg_device_info_at(client, 0, device, &err) != FG_OK)
        return json_null();
    const fg_client_info *info = fg_client_info_of(client);
    return json_pack("{s:o, s:o, s:o}", "kind", fgi_json_string(device->kind), "platform",
                     fgi_json_string(info->platform), "count", fgi_json_count(info->device_count));
}

static json_t *time_of(const fg_idle *idle)
{
    return json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o, s:o}}", "wall_s",
                     fgi_json_real(idle->busy_s + idle->idle_s), "busy_s",
                     fgi_json_real(idle->busy_s), "idle_s", fgi_json_real(idle->idle_s), "idle",
                     "input_s", fgi_json_real(idle->input_s), "upload_s",
                     fgi_json_real(idle->upload_s), "compile_s", fgi_json_real(idle->compile_s),
                     "read_s", fgi_json_real(idle->read_s), "checkpoint_s",
                     fgi_json_real(idle->checkpoint_s), "other_s", fgi_json_real(idle->other_s));
}

static json_t *step_time_of(const fg_step_times *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", fgi_json_count(t->count),
                     "mean_s", known(t->mean_s), "p5_s", known(t->p5_s), "p50_s", known(t->p50_s),
                     "p90_s", known(t->p90_s), "p95_s", known(t->p95_s), "p99_s", known(t->p99_s),
                     "max_s", known(t->max_s));
}

static json_t *window_of(const fg_time_window *w)
{
    const fg_idle *t = &w->time;
    const double length = t->busy_s + t->idle_s;
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "step",
                     fgi_json_count(w->step), "seconds", length, "busy_s", t->busy_s, "input_s",
                     t->input_s, "upload_s", t->upload_s, "compile_s", t->compile_s, "read_s",
                     t->read_s, "checkpoint_s", t->checkpoint_s, "other_s", t->other_s,
                     "samples_per_s", known((double)w->samples / length));
}

static json_t *windows_of(const fg_result *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->window_count; i++)
        if (json_array_append_new(list, window_of(&f->windows[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *cause_of(const fg_compile_event *e)
{
    if (e->what[0] == '\0')
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "what", fgi_json_string(e->what), "name",
                     fgi_json_string(e->name), "old", fgi_json_string(e->old_value), "new",
                     fgi_json_string(e->new_value), "at", fgi_json_string(e->at));
}

static json_t *compiles_of(const fg_recipe *r)
{
    const fg_client *client = fg_trainer_client(r->trainer);
    json_t *list = json_array();
    fg_compile_event *all = fgi_calloc(FG_MAX_COMPILE_EVENTS, sizeof *all);
    const size_t n =
        client != NULL && all != NULL ? fg_client_compiles(client, all, FG_MAX_COMPILE_EVENTS) : 0;
    bool is_good = all != NULL;
    for (size_t i = 0; is_good && i < n; i++)
        is_good =
            json_array_append_new(list, json_pack("{s:o, s:f, s:b, s:o, s:o}", "program",
                                                  fgi_json_string(all[i].program), "seconds",
                                                  all[i].seconds, "cached", (int)all[i].is_cached,
                                                  "step", fgi_json_count(all[i].step), "cause",
                                                  cause_of(&all[i]))) == 0;
    fgi_free(all);
    if (is_good)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *reads_of(const fg_recipe *r)
{
    fg_host_read read[FG_MAX_HOST_READS];
    const fg_client *client = fg_trainer_client(r->trainer);
    const size_t n = client != NULL ? fg_client_host_reads(client, read, FG_MAX_HOST_READS) : 0;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(
                list, json_pack("{s:o, s:o, s:o, s:f}", "at", fgi_json_string(read[i].at), "count",
                                fgi_json_count(read[i].count), "bytes",
                                fgi_json_count(read[i].bytes), "wait_s", read[i].wait_s)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Rates of the training steps, on all devices, compared with those of the chip: the roofline is the
 * largest rate that its arithmetic and its memory allow ("Roofline", Williams et al. 2009). */
static json_t *utilization_of(const fg_recipe *r, const fg_device_info *device)
{
    const fg_result *f = &r->outcome.train;
    const fg_step_cost cost = fg_trainer_step_cost(r->trainer);
    const fg_client *client = fg_trainer_client(r->trainer);
    const fg_chip *chip = fg_chip_find(device->kind);
    const double devices = client != NULL ? fg_client_info_of(client)->device_count : 1;
    const double steps_per_s = f->samples_per_s / (double)cost.samples;
    const double peak = cost.flops / cost.seconds, flops = cost.flops * steps_per_s;
    const double memory =
        chip != NULL && chip->memory_bandwidth > 0 ? chip->memory_bandwidth * devices : (double)NAN;
    const double intensity = cost.flops / cost.bytes;
    const double attainable =
        isnan(intensity * memory) ? (double)NAN : fmin(intensity * memory, peak);
    const double busy = f->idle.busy_s / (f->idle.busy_s + f->idle.idle_s);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "mxu",
                     fgi_json_real(f->mxu_use), "mxu_while_busy", fgi_json_real(f->mxu_use / busy),
                     "flops_per_second", fgi_json_real(flops), "peak_flops", fgi_json_real(peak),
                     "bytes_per_second", fgi_json_real(cost.bytes * steps_per_s), "peak_bytes",
                     fgi_json_real(memory), "intensity", fgi_json_real(intensity), "roofline",
                     fgi_json_real(flops / attainable), "sixteen_bit",
                     fgi_json_real(cost.flops_16bit / cost.flops), "emulated",
                     fgi_json_real(cost.flops_emulated / cost.flops), "kind", "model");
}

/* Threads by name; NULL if their times are unknown. */
static json_t *workers_of(const fg_input_report *input)
{
    json_t *workers = input->worker_cpu_s != NULL ? json_array() : NULL;
    for (int i = 0; workers != NULL && i < input->workers; i++) {
        char name[32];
        (void)fgi_snprintf(name, sizeof name, "loader %d", i);
        (void)json_array_append_new(workers, json_pack("{s:s, s:o}", "name", name, "cpu_s",
                                                       fgi_json_real(input->worker_cpu_s[i])));
    }
    return workers;
}

static json_t *host_of(double seconds, const fg_input_report *input)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return json_null();
    const double user = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
    const double system = (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
    const int cpus = fgi_cpu_count();
    return json_pack("{s:o, s:o, s:i, s:o, s:o*}", "cpu_s", fgi_json_real(user + system),
                     "cpu_fraction", fgi_json_real((user + system) / (seconds * cpus)), "cpus",
                     cpus, "peak_rss_bytes", fgi_json_count((int64_t)usage.ru_maxrss * 1024),
                     "workers", workers_of(input));
}

static json_t *loader_of(const fg_input_report *input)
{
    const fg_loader_stages *t = &input->stages;
    return json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o}}", "open_seconds",
        fgi_json_real(t->open_s), "opens", (json_int_t)t->opens, "workers",
        fgi_json_count(input->workers), "queue_mean", fgi_json_real(input->queue_mean),
        "queue_empty", fgi_json_real(input->queue_empty), "bound_by",
        fgi_json_string(input->bound_by), "delivered_samples_per_s",
        known(input->delivered_samples_per_s), "required_samples_per_s",
        known(input->required_samples_per_s), "stages", "read_s", fgi_json_real(t->read_s),
        "entropy_s", fgi_json_real(t->entropy_s), "decode_s", fgi_json_real(t->decode_s),
        "resize_s", fgi_json_real(t->resize_s), "copy_s", fgi_json_real(t->copy_s));
}

/* ---- the file -------------------------------------------------------------------------------- */

static json_t *report_of(fg_recipe *r, const char *state)
{
    char started[64] = "";
    struct tm utc;
    const time_t begin = time(NULL) - (time_t)fgi_run_seconds(r);
    const fg_result *f = &r->outcome.train;
    fg_device_info device = {.memory_limit_bytes = -1};
    if (gmtime_r(&begin, &utc) != NULL)
        (void)fgi_snprintf(started, sizeof(started), "%04d-%02d-%02dT%02d:%02d:%02dZ",
                           utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                           utc.tm_sec);
    json_t *of_device = device_of(r, &device);
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "version", 1, "state",
                  state, "command", r->command, "started_at", fgi_json_string(started), "seconds",
                  fgi_json_real(fgi_run_seconds(r)), "pid", (int)getpid(), "device", of_device,
                  "steps", fgi_json_count(f->steps), "epochs", fgi_json_count(f->epochs),
                  "samples_per_s", known(f->samples_per_s), "time", time_of(&f->idle));
    const struct {
        const char *key;
        json_t *value;
    } more[] = {
        {"step_time", step_time_of(&f->step_times)},
        {"windows", windows_of(f)},
        {"compiles", compiles_of(r)},
        {"host_reads", reads_of(r)},
        {"utilization", utilization_of(r, &device)},
        {"memory", json_pack("{s:o, s:o}", "peak_bytes", bytes(f->device_peak_bytes), "limit_bytes",
                             bytes(device.memory_limit_bytes))},
        {"host", host_of(fgi_run_seconds(r), &f->input)},
        {"loader", loader_of(&f->input)},
        {"metrics", fgi_run_metrics_json(f)},
        {"settings", fgi_run_report_settings(r)},
        {"evaluation", r->evaluation != NULL ? json_incref(r->evaluation) : json_null()},
        {"rollbacks", fgi_json_count(f->rollbacks)},
        {"rollback_lr_factor", known(f->rollback_lr_factor)},
    };
    bool is_good = root != NULL;
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        is_good &= json_object_set_new(root, more[i].key, more[i].value) == 0;
    if (is_good && json_object_set_new(root, "history", fgi_run_report_history(r, root)) == 0 &&
        json_object_set_new(root, "verdicts", fgi_run_verdicts(root)) == 0)
        return root;
    json_decref(root);
    return NULL;
}

fg_status fgi_run_report_text(fg_recipe *r, const char *state, fgi_buf *out, fg_error *err)
{
    json_t *root = report_of(r, state);
    const bool is_good =
        root != NULL && fgi_json_write(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
    json_decref(root);
    return is_good ? fgi_buf_status(out, err) : fgi_no_memory(err);
}

fg_status fgi_run_report_keep(fg_recipe *r, fg_status status, fg_error *err)
{
    fgi_buf out = {0};
    char *path = fgi_path_join(r->folder, "report.json");
    fg_status written =
        path != NULL ? fgi_run_report_text(r, state_of(status), &out, err) : fgi_no_memory(err);
    if (written == FG_OK)
        written = fg_file_write(path, out.data, out.size, err);
    fgi_free(path);
    fgi_buf_fini(&out);
    return written;
}
