/* sweep.c - trains a configuration once for each combination of some settings, one run after the
 * other, and records their results and which of them is the best.
 *
 * Each run has a separate folder in that of the sweep, named after its settings, and is resumed
 * like any other run: so a sweep that is resumed continues the run that was interrupted, skips
 * those that are complete, and can be given more values. Runs share compiled programs through the
 * cache on disk. The lock of the folder is held during the sweep.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <fulgurite/recipe.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reserved.h"
#include "base/run_lock.h"
#include "input/json_file.h"
#include "recipe/folder/run_dir.h"
#include "recipe/run/run.h"
#include "recipe/sweep/sweep.h"
#include "report/run_view.h"
#include "train/state/metrics.h"

enum { RECORD_LIMIT = 64 << 20 };

typedef struct sweep {
    const fg_recipe_options *options;
    fg_recipe_command command;
    fgi_sweep_grid grid;
    bool is_resumed;
    char *folder;
    bool is_claimed; /* the folder was created for this sweep */
    int lock;        /* of the folder; -1: not held */
    char *earlier;   /* the text of sweep.json before this sweep; NULL: none */
    bool has_begun;  /* a run was set up */
    fg_error first;  /* the first failure of a run */
    json_t *record;
    const char *
        *overrides; /* those of the options, the settings of a run, its folder, and resume */
    fgi_buf texts[FGI_SWEEP_AXES + 2];
} sweep;

static const char *name_of(const sweep *s, size_t run)
{
    const json_t *entry = json_array_get(json_object_get(s->record, "runs"), run);
    return json_string_value(json_object_get(entry, "name"));
}

/* Writes "key=value" as the next override. */
static void put_override(sweep *s, size_t index, const char *key, const char *value)
{
    fgi_buf_clear(&s->texts[index]);
    fgi_buf_printf(&s->texts[index], "%s=%s", key, value);
    s->overrides[s->options->override_count + index] = s->texts[index].data;
}

/* Opens the recipe of a run; without a folder, only to check its configuration. */
static fg_status open_run(sweep *s, size_t run, const char *folder, fg_recipe **out, fg_error *err)
{
    fg_recipe_options options = *s->options;
    const size_t axes = s->grid.axis_count;
    for (size_t i = 0; i < axes; i++)
        put_override(s, i, s->grid.axes[i].key, fgi_sweep_grid_value(&s->grid, run, i));
    if (folder != NULL) {
        put_override(s, axes, "trainer.run_dir", folder);
        put_override(s, axes + 1, "trainer.resume", s->is_resumed ? "auto" : "null");
    }
    for (size_t i = 0; i <= axes + 1; i++)
        FGI_TRY(fgi_buf_status(&s->texts[i], err));
    options.overrides = s->overrides;
    options.override_count += axes + (folder != NULL ? 2 : 0);
    return fg_recipe_open(&options, &s->command, out, err);
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Whether earlier runs are continued. */
static fg_status read_resume(sweep *s, const fgi_config *c, fg_error *err)
{
    const char *which = c->run.resume;
    s->is_resumed = which != NULL;
    if (which == NULL || strcmp(which, "last") == 0 || strcmp(which, "auto") == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "--resume=%s: expected last or auto: with --sweep, each run continues from its "
                    "own last checkpoint",
                    which);
}

/* Checks the configurations of all runs, and reads from the first one what they have in common. */
static fg_status check_runs(sweep *s, fg_error *err)
{
    for (size_t run = 0; run < s->grid.run_count; run++) {
        fg_recipe *r = NULL;
        FGI_TRY(open_run(s, run, NULL, &r, err));
        fg_status status = FG_OK;
        if (run == 0) {
            status = read_resume(s, r->c, err);
            if (status == FG_OK)
                status = fgi_run_dir_sweep(r->c, r->config_path, s->is_resumed, &s->is_claimed,
                                           &s->folder, err);
        }
        fg_recipe_close(r);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* No other process may train in the folders. */
static fg_status check_folders(const sweep *s, fg_error *err)
{
    for (size_t run = 0; run < s->grid.run_count; run++) {
        char *folder = fgi_path_join(s->folder, name_of(s, run));
        const bool is_live = folder != NULL && fgi_run_dir_is_live(folder);
        fg_status status = folder != NULL ? FG_OK : fgi_no_memory(err);
        if (is_live)
            status = fgi_fail(err, FG_EINVAL,
                              "'%s' is in use by another process that trains: wait for it, or "
                              "sweep in another folder with trainer.run_dir",
                              folder);
        fgi_free(folder);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* Takes the folder, so that reports know whether the sweep still runs. An earlier sweep in it is
 * not replaced unless that is requested. */
static fg_status take_folder(sweep *s, fg_error *err)
{
    bool is_there = false;
    int unlockable; /* its runs say so */
    size_t size;
    FGI_TRY(fgi_folder_make(s->folder, err));
    FGI_TRY(fgi_lock_take(s->folder, &s->lock, &unlockable, err));
    FGI_TRY(fgi_sweep_look(s->folder, &is_there, err));
    if (!is_there)
        return FG_OK;
    if (!s->is_resumed && !s->command.fit.overwrite)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' contains an earlier sweep\n--resume continues it (you can add "
                        "values), --overwrite replaces it, and --trainer.run_dir=FOLDER puts the "
                        "new one elsewhere",
                        s->folder);
    char *path = fgi_path_join(s->folder, "sweep.json");
    const fg_status status = path != NULL
                                 ? fgi_file_read(path, RECORD_LIMIT, &s->earlier, &size, err)
                                 : fgi_no_memory(err);
    fgi_free(path);
    return status;
}

static fg_status prepare(sweep *s, const fg_sweep_options *options, fg_error *err)
{
    if (options->fit.fast_dev_run)
        return fgi_fail(err, FG_EINVAL,
                        "--fast-dev-run and --sweep exclude each other: a fast dev run has no "
                        "results to compare");
    s->command.fit = options->fit;
    FGI_TRY(fgi_sweep_grid_init(options->keys, options->key_count, &s->grid, err));
    s->overrides =
        fgi_calloc(s->options->override_count + FGI_SWEEP_AXES + 2, sizeof *s->overrides);
    if (s->overrides == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < s->options->override_count; i++)
        s->overrides[i] = s->options->overrides[i];
    FGI_TRY(check_runs(s, err));
    FGI_TRY(take_folder(s, err));
    s->record = fgi_sweep_record(&s->grid, s->options->config);
    if (s->record == NULL)
        return fgi_no_memory(err);
    if (s->is_resumed)
        FGI_TRY(fgi_sweep_record_add_earlier(s->record, s->folder, err));
    return check_folders(s, err);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void say(const sweep *s, const char *format, ...) FG_PRINTF(2, 3);

static void say(const sweep *s, const char *format, ...)
{
    fgi_buf line = {0};
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(&line, format, args);
    va_end(args);
    if (s->options->message != NULL && !line.failed)
        s->options->message(s->options->message_self, FG_LOG_INFO, line.data);
    fgi_buf_fini(&line);
}

/* Trains one run. A failure that other settings may not have is part of the record; mistakes in the
 * configuration or the data, and a signal, end the sweep. */
static fg_status train(sweep *s, size_t run, const char *folder, fg_error *err)
{
    fg_recipe *r = NULL;
    FGI_TRY(open_run(s, run, folder, &r, err));
    fgi_sweep_record_begin(s->record, run);
    fg_status status = fgi_sweep_record_write(s->record, "running", s->folder, err);
    if (status == FG_OK) {
        fg_error why = {0};
        const fg_status result = fg_recipe_run(r, &why);
        const bool is_value = r->has_result && s->has_begun; /* with others, a run has begun */
        const bool ends =
            result == FG_ESTOPPED || (result != FG_OK && !r->outcome.was_set_up && !is_value);
        s->has_begun |= r->outcome.was_set_up;
        status = fgi_sweep_record_end(s->record, run, r, folder, err);
        if (status == FG_OK && ends) {
            *err = why;
            status = result;
        } else if (result != FG_OK) {
            fgi_run_say(r, FG_LOG_WARNING, "%s failed, and the sweep continues: %s",
                        name_of(s, run), why.message);
            if (s->first.status == FG_OK)
                (void)fgi_fail(&s->first, result, "%s: %.400s", name_of(s, run), why.message);
        }
    }
    const bool is_begun = r->outcome.was_set_up;
    fg_recipe_close(r);
    if (!is_begun)
        fgi_run_dir_give_back(folder);
    return status;
}

static fg_status train_all(sweep *s, fg_error *err)
{
    for (size_t run = 0; run < s->grid.run_count; run++) {
        char *folder = fgi_path_join(s->folder, name_of(s, run));
        if (folder == NULL)
            return fgi_no_memory(err);
        say(s, "run %zu of %zu: %s", run + 1, s->grid.run_count, name_of(s, run));
        const fg_status status = train(s, run, folder, err);
        fgi_free(folder);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* Writes the page with the plots. */
static fg_status write_page(const sweep *s, fg_error *err)
{
    char *text = NULL, *path = fgi_path_join(s->folder, "sweep.html");
    fg_status status = path != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK)
        status = fg_report_run(s->folder, FG_REPORT_HTML, &text, err);
    if (status == FG_OK)
        status = fg_file_write(path, text, strlen(text), err);
    fg_free(text);
    fgi_free(path);
    return status;
}

/* Writes what the sweep has found. A failed run is the failure of the sweep, after the others. */
static fg_status finish(sweep *s, fg_status status, fg_error *err)
{
    fg_error local = {0};
    const bool has_failed = s->first.status != FG_OK;
    const char *state = status == FG_ESTOPPED           ? "stopped"
                        : status != FG_OK || has_failed ? "failed"
                                                        : "finished";
    fg_status written = fgi_sweep_record_write(s->record, state, s->folder, &local);
    if (written == FG_OK)
        written = write_page(s, &local);
    if (written == FG_OK)
        say(s, "the sweep's folder: %s\nto see its curves: %s/sweep.html", s->folder, s->folder);
    if (status == FG_ESTOPPED)
        say(s, "to continue: the same command with --resume%s%s",
            s->is_claimed ? " --trainer.run_dir=" : "", s->is_claimed ? s->folder : "");
    if (status != FG_OK)
        return status;
    if (written != FG_OK || has_failed)
        *err = written != FG_OK ? local : s->first;
    return err->status;
}

/* Leaves the folder as it was if not even the first run could be set up. */
static void give_back(const sweep *s)
{
    char *record = s->folder != NULL ? fgi_path_join(s->folder, "sweep.json") : NULL;
    if (record != NULL && s->record != NULL && s->earlier != NULL)
        (void)!fg_file_write(record, s->earlier, strlen(s->earlier), NULL);
    else if (record != NULL && s->record != NULL)
        (void)unlink(record);
    if (record != NULL && s->is_claimed)
        fgi_run_dir_give_back(s->folder);
    fgi_free(record);
}

static void free_sweep(sweep *s)
{
    for (size_t i = 0; i < FGI_SWEEP_AXES + 2; i++)
        fgi_buf_fini(&s->texts[i]);
    fgi_sweep_grid_fini(&s->grid);
    json_decref(s->record);
    fgi_free(s->earlier);
    fgi_free(s->overrides);
    fgi_free(s->folder);
}

fg_status fg_recipe_sweep(const fg_recipe_options *options, const fg_sweep_options *sweep_options,
                          char **out_folder, fg_error *err)
{
    fg_error unused;
    sweep s = {.options = options, .lock = -1};
    *out_folder = NULL;
    err = err != NULL ? err : &unused;
    *err = (fg_error){0};
    FGI_TRY_RESERVED(fg_recipe_options, options, err);
    FGI_TRY_RESERVED(fg_sweep_options, sweep_options, err);
    fg_status status = prepare(&s, sweep_options, err);
    if (status == FG_OK)
        status = train_all(&s, err);
    if (s.has_begun)
        status = finish(&s, status, err);
    else
        give_back(&s);
    if (s.lock >= 0)
        fgi_lock_release(s.folder, s.lock);
    if (s.has_begun) {
        *out_folder = s.folder;
        s.folder = NULL;
    }
    free_sweep(&s);
    return status;
}

/* ---- the record ------------------------------------------------------------------------------ */

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
