/* run_report_file.c - report.json of a run's folder: what `fulgurite report` shows in addition to
 * the metrics. Unknown values are null.
 *
 * It is written at the end of a fit, and at log lines, at most every few seconds, so that a run
 * that is killed has one too. Then another thread writes it, so that a slow disk does not delay
 * the steps; what cannot be written is tried again with the next text. The history has what
 * earlier fits of a resumed run have written about themselves.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
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
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "verdict/verdict.h"
#include "report/run_view.h"
#include "base/thread.h"

static json_t *known(double value) { return value > 0 ? fgi_json_real(value) : json_null(); }

static json_t *positive(int64_t value) { return value > 0 ? json_integer(value) : json_null(); }

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

/* ---- settings -------------------------------------------------------------------------------- */

static json_t *compile_of(const fg_result *f)
{
    return json_pack("{s:I, s:I, s:o}", "count", (json_int_t)f->compiles, "cache_hits",
                     (json_int_t)f->compile_cache_hits, "seconds", fgi_json_real(f->compile_s));
}

/* How the devices share the work; unknown if the fit has failed before. */
static json_t *sharing_of(const fg_fit_settings *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "strategy",
                     fgi_json_string(s->strategy), "batch_shards", positive(s->batch_shards),
                     "batch_size", positive(s->batch_size), "global_batch_size",
                     positive(s->global_batch_size), "accumulate_grad_batches",
                     positive(s->accumulate_grad_batches), "lr_scaling",
                     fgi_json_string(s->lr_scaling), "base_batch_size",
                     positive(s->base_batch_size), "lr_given", fgi_json_real(s->lr_given),
                     "lr_factor", fgi_json_real(s->lr_factor), "lr", fgi_json_real(s->lr));
}

static json_t *settings_of(const fg_recipe *r)
{
    const fg_result *f = &r->outcome.train;
    const fgi_config *c = r->c;
    const fg_format_entry *format = NULL;
    fg_error ignored;
    if (fgi_run_format_find(c, &format, &ignored) != FG_OK)
        return NULL;
    const int64_t epochs = c->trainer.checkpoints.ckpt_every_epochs;
    json_t *all = sharing_of(fg_trainer_settings(r->trainer));
    json_t *more = json_pack(
        "{s:o, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "monitor",
        fgi_json_string(fgi_run_monitor(r)), "batch_key",
        c->batches.global_batch_size == FG_AUTO ? "trainer.batch_size"
                                                : "trainer.global_batch_size",
        "precision", fgi_json_string(c->trainer.numerics.precision), "data_format",
        fgi_json_string(format->entry.name), "can_preload",
        fgi_run_format_offers(format, "preload"), "log_every",
        positive(c->trainer.output.log_every), "ckpt_every_steps",
        positive(c->trainer.checkpoints.ckpt_every_steps), "ckpt_every_epochs",
        positive(epochs == FG_AUTO ? 1 : epochs), "max_epochs", positive(fgi_run_max_epochs(c)),
        "max_steps", positive(c->trainer.limits.max_steps), "launch_s",
        fgi_json_real(f->host_overhead_s + f->plugin_s), "nonfinite_steps",
        json_integer((json_int_t)f->nonfinite_steps), "compile", compile_of(f));
    if (all == NULL || more == NULL || json_object_update(all, more) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(more);
    return all;
}

/* ---- the parts of a run that was resumed ----------------------------------------------------- */

enum { PARTS_MAX = 1000 };

static json_t *part_of(const json_t *report)
{
    static const char *const keys[] = {"started_at", "state", "seconds", "steps"};
    json_t *part = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(report, keys[i]);
        if (value != NULL)
            (void)json_object_set(part, keys[i], value);
    }
    return part;
}

/* Whether the fit continued a run of this folder. */
static bool is_resumed(const fg_recipe *r) { return r->origin.ckpt != NULL && !r->is_start; }

/* The report of the part before this fit, which soon overwrites it; NULL: there is none. */
static json_t *before_of(fg_recipe *r)
{
    fg_error unused;
    if (!r->has_read_report && is_resumed(r))
        (void)!fgi_run_view_read_report(r->folder, &r->report_before, &unused);
    r->has_read_report = true;
    return r->report_before;
}

/* A part that still is "running" although another one has followed it was killed. */
static void correct_state(json_t *part)
{
    if (strcmp(fgi_json_words(part, "state"), "running") == 0)
        (void)json_object_set_new(part, "state", json_string("killed"));
}

json_t *fgi_run_report_history(fg_recipe *r, const json_t *report)
{
    json_t *before = before_of(r);
    json_t *history = json_array();
    if (before != NULL) {
        json_t *parts = json_object_get(before, "history");
        if (!json_is_array(parts))
            (void)json_array_append_new(history, part_of(before));
        else if (json_array_size(parts) < PARTS_MAX)
            (void)json_array_extend(history, parts);
    }
    if (json_array_size(history) > 0)
        correct_state(json_array_get(history, json_array_size(history) - 1));
    (void)json_array_append_new(history, part_of(report));
    return history;
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
        {"task", json_sprintf("%s, %s", r->c->task, r->c->model.name)},
        {"step_time", step_time_of(&f->step_times)},
        {"windows", windows_of(f)},
        {"compiles", compiles_of(r)},
        {"host_reads", reads_of(r)},
        {"utilization", utilization_of(r, &device)},
        {"memory", json_pack("{s:o, s:o}", "peak_bytes", positive(f->device_peak_bytes),
                             "limit_bytes", positive(device.memory_limit_bytes))},
        {"host", host_of(fgi_run_seconds(r), &f->input)},
        {"loader", loader_of(&f->input)},
        {"metrics", fgi_run_metrics_json(f)},
        {"settings", settings_of(r)},
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

/* ---- during a fit ---------------------------------------------------------------------------- */

static const double EVERY_S = 5;

typedef struct live {
    fg_recipe *owner;
    fgi_buf text; /* that the thread writes */
    char *path;
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* the thread is about to end */
    double next_s;
} live;

static void *write_text(void *self)
{
    live *l = self;
    const fg_status status = fg_file_write(l->path, l->text.data, l->text.size, NULL);
    (void)status; /* the end of the fit reports it */
    atomic_store(&l->is_written, true);
    return NULL;
}

/* Ends the thread; waits for it only if asked to. Returns whether there is none. */
static bool settle(live *l, bool wait)
{
    if (l->has_thread && !wait && !atomic_load(&l->is_written))
        return false;
    if (l->has_thread)
        fgi_thread_join(l->thread);
    l->has_thread = false;
    fgi_buf_fini(&l->text);
    return true;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    live *l = self;
    fg_recipe *r = l->owner;
    (void)at, (void)err;
    if (fgi_run_seconds(r) < l->next_s || !settle(l, false))
        return FG_OK;
    l->next_s = fgi_run_seconds(r) + EVERY_S;
    fg_trainer_result_so_far(r->trainer, &r->outcome.train);
    if (fgi_run_report_text(r, "running", &l->text, NULL) != FG_OK)
        return FG_OK;
    atomic_store(&l->is_written, false);
    l->has_thread = fgi_thread_start(&l->thread, write_text, l, NULL) == FG_OK;
    return FG_OK;
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)at, (void)err;
    (void)settle(self, true);
    return FG_OK;
}

static void destroy(void *self)
{
    live *l = self;
    (void)settle(l, true);
    fgi_free(l->path);
    fgi_free(l);
}

fg_status fgi_run_report_live_add(fg_recipe *r, fg_error *err)
{
    static const fg_callback_ops ops = {.log = on_log, .fit_end = on_fit_end, .destroy = destroy};
    if (r->folder == NULL)
        return FG_OK;
    live *l = fgi_calloc(1, sizeof *l);
    if (l == NULL)
        return fgi_no_memory(err);
    l->owner = r;
    l->path = fgi_path_join(r->folder, "report.json");
    if (l->path != NULL)
        return fg_trainer_add_callback(r->trainer, &ops, l, err);
    fgi_free(l);
    return fgi_no_memory(err);
}
