/* sweep_record.c - the record of a sweep, and which of its runs is the best.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/sweep_record.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "recipe/run.h"
#include "input/json_file.h"
#include "report/run_view.h"
#include "train/state/metrics.h"
#include "base/alloc.h"

enum { VERSION = 1 };

/* The settings of a run by key, as strings. */
static json_t *settings_of(const fgi_sweep_grid *grid, size_t run)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < grid->axis_count; i++)
        (void)json_object_set_new(settings, grid->axes[i].key,
                                  json_string(fgi_sweep_grid_value(grid, run, i)));
    return settings;
}

static json_t *run_of(const fgi_sweep_grid *grid, size_t run)
{
    fgi_buf name = {0};
    fgi_sweep_grid_name(grid, run, &name);
    json_t *entry = name.failed ? NULL
                                : json_pack("{s:s, s:s, s:o}", "name", name.data, "state",
                                            "pending", "settings", settings_of(grid, run));
    fgi_buf_fini(&name);
    return entry;
}

json_t *fgi_sweep_record(const fgi_sweep_grid *grid, const char *config_path)
{
    json_t *keys = json_array(), *runs = json_array();
    bool is_good = keys != NULL && runs != NULL;
    for (size_t i = 0; i < grid->axis_count && is_good; i++)
        is_good = json_array_append_new(keys, json_string(grid->axes[i].key)) == 0;
    for (size_t i = 0; i < grid->run_count && is_good; i++)
        is_good = json_array_append_new(runs, run_of(grid, i)) == 0;
    json_t *record = is_good
                         ? json_pack("{s:i, s:s, s:o, s:n, s:n, s:n, s:O, s:O}", "version", VERSION,
                                     "state", "running", "config", fgi_json_string(config_path),
                                     "monitor", "mode", "best", "keys", keys, "runs", runs)
                         : NULL;
    json_decref(keys);
    json_decref(runs);
    return record;
}

static json_t *entry_of(const json_t *record, size_t run)
{
    return json_array_get(json_object_get(record, "runs"), run);
}

/* Appends to a list what only the other one has. */
static bool add_missing_keys(json_t *keys, const json_t *earlier)
{
    size_t i, k;
    json_t *key, *own;
    bool is_good = true;
    json_array_foreach(earlier, i, key)
    {
        bool is_there = false;
        json_array_foreach(keys, k, own) is_there = is_there || json_equal(key, own);
        is_good = is_good && (is_there || json_array_append(keys, key) == 0);
    }
    return is_good;
}

/* Replaces the run with that name by the run of an earlier record, or appends it. It is no longer
 * running. */
static bool add_run(json_t *runs, json_t *earlier)
{
    size_t i;
    json_t *entry;
    if (strcmp(fgi_json_words(earlier, "state"), "running") == 0 &&
        json_object_set_new(earlier, "state", json_string("killed")) != 0)
        return false;
    json_array_foreach(runs, i, entry)
    {
        if (strcmp(fgi_json_words(entry, "name"), fgi_json_words(earlier, "name")) == 0)
            return json_array_set(runs, i, earlier) == 0;
    }
    return json_array_append(runs, earlier) == 0;
}

fg_status fgi_sweep_record_add_earlier(json_t *record, const char *folder, fg_error *err)
{
    static const char *const of_best[] = {"monitor", "mode", "best"};
    size_t i;
    json_t *entry, *runs = json_object_get(record, "runs");
    json_t *earlier;
    FGI_TRY(fgi_sweep_read(folder, &earlier, err));
    if (earlier == NULL)
        return FG_OK;
    bool is_good =
        add_missing_keys(json_object_get(record, "keys"), json_object_get(earlier, "keys"));
    for (i = 0; i < 3 && is_good; i++)
        (void)json_object_set(record, of_best[i], json_object_get(earlier, of_best[i]));
    json_array_foreach(json_object_get(earlier, "runs"), i, entry) is_good =
        is_good && add_run(runs, entry);
    json_decref(earlier);
    return is_good ? FG_OK : fgi_no_memory(err);
}

void fgi_sweep_record_begin(json_t *record, size_t run)
{
    (void)json_object_set_new(entry_of(record, run), "state", json_string("running"));
}

/* ---- results --------------------------------------------------------------------------------- */

/* The best value of a metric; false: it has none. */
static bool find_best(const fgi_run_metric *m, bool is_max, double *out_value, double *out_step)
{
    bool is_found = false;
    for (size_t i = 0; m != NULL && i < m->count; i++) {
        if (!isfinite(m->y[i]) ||
            (is_found && (is_max ? m->y[i] <= *out_value : m->y[i] >= *out_value)))
            continue;
        *out_value = m->y[i];
        *out_step = m->x[i];
        is_found = true;
    }
    return is_found;
}

static bool is_finite(const json_t *entry, const char *key)
{
    return isfinite(fgi_json_number(entry, key));
}

/* The best monitored value so far, from the metrics in the run's folder; those of the end if no
 * logger has written them there. */
static void put_best(json_t *entry, const fg_recipe *r, const char *folder)
{
    fgi_run_view view = {0};
    fg_error unused;
    double value = (double)NAN, step = (double)NAN;
    const char *monitor = fgi_run_monitor(r);
    const fg_result *train = &r->outcome.train;
    const bool is_read = fgi_run_view_open(folder, &view, &unused) == FG_OK;
    if (!is_read || fgi_is_of_training(monitor) || /* the log has it by window */
        !find_best(fgi_run_view_metric(&view, monitor), fgi_run_monitor_is_max(r), &value, &step))
        for (size_t i = 0; i < train->metric_count; i++)
            if (strcmp(train->metrics[i].name, monitor) == 0)
                value = train->metrics[i].value;
    fgi_run_view_close(&view);
    if (!isfinite(value) && is_finite(entry, "best"))
        return; /* of the part before a resume, or of all */
    (void)json_object_set_new(entry, "best", fgi_json_real(value));
    (void)json_object_set_new(entry, "best_step",
                              isfinite(step) ? json_integer((json_int_t)step) : json_null());
}

static const char *state_of(fg_status status)
{
    return status == FG_OK ? "finished" : status == FG_ESTOPPED ? "stopped" : "failed";
}

/* The run with the best value so far, "best" of the record. */
static void choose_best(json_t *record, bool is_max)
{
    size_t i;
    const json_t *entry, *best = NULL;
    json_array_foreach(json_object_get(record, "runs"), i, entry)
    {
        const double value = fgi_json_number(entry, "best"), before = fgi_json_number(best, "best");
        if (isfinite(value) && (best == NULL || (is_max ? value > before : value < before)))
            best = entry;
    }
    (void)json_object_set(record, "best",
                          best != NULL ? json_object_get(best, "name") : json_null());
}

/* Sets the results of a run. Those of one that was complete before remain, and the time of one that
 * was resumed is that of all parts. */
static bool put_results(json_t *entry, const fg_recipe *r)
{
    const fg_result *train = &r->outcome.train;
    const bool is_complete =
        r->outcome.status == FG_OK && train->nothing_to_do && is_finite(entry, "seconds");
    const double before = is_finite(entry, "seconds") ? fgi_json_number(entry, "seconds") : 0;
    json_t *more =
        is_complete
            ? json_object()
            : json_pack("{s:I, s:I, s:f, s:I, s:I, s:o}", "steps", (json_int_t)train->steps,
                        "epochs", (json_int_t)train->epochs, "seconds", before + fgi_run_seconds(r),
                        "compiles", (json_int_t)train->compiles, "compile_cache_hits",
                        (json_int_t)train->compile_cache_hits, "metrics",
                        fgi_run_metrics_json(train));
    const char *error = r->outcome.status != FG_OK ? r->error.message : NULL;
    const bool is_good =
        more != NULL && json_object_update(entry, more) == 0 &&
        json_object_set_new(entry, "state", json_string(state_of(r->outcome.status))) == 0 &&
        json_object_set_new(entry, "error", fgi_json_string(error)) == 0;
    json_decref(more);
    return is_good;
}

fg_status fgi_sweep_record_end(json_t *record, size_t run, const fg_recipe *r, const char *folder,
                               fg_error *err)
{
    json_t *entry = entry_of(record, run);
    if (!put_results(entry, r))
        return fgi_no_memory(err);
    if (!r->outcome.was_set_up)
        return FG_OK;
    put_best(entry, r, folder);
    (void)json_object_set_new(record, "monitor", json_string(fgi_run_monitor(r)));
    (void)json_object_set_new(record, "mode",
                              json_string(fgi_run_monitor_is_max(r) ? "max" : "min"));
    choose_best(record, fgi_run_monitor_is_max(r));
    return FG_OK;
}

fg_status fgi_sweep_record_write(json_t *record, const char *state, const char *folder,
                                 fg_error *err)
{
    fgi_buf text = {0};
    char *path = fgi_path_join(folder, "sweep.json");
    const bool is_good = path != NULL &&
                         json_object_set_new(record, "state", json_string(state)) == 0 &&
                         fgi_json_write(record, JSON_INDENT(2) | JSON_REAL_PRECISION(9), &text);
    fgi_buf_putc(&text, '\n');
    const fg_status status = is_good && !text.failed
                                 ? fg_file_write(path, text.data, text.size, err)
                                 : fgi_no_memory(err);
    fgi_buf_fini(&text);
    fgi_free(path);
    return status;
}
