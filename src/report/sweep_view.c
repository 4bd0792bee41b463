/* sweep_view.c - reads a sweep, ranks its runs, and makes the cells of its table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/sweep_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/run_lock.h"
#include "base/text.h"
#include "input/json_file.h"
#include "report/run_doc.h"

enum { VERSION = 1, RECORD_LIMIT = 64 << 20, OTHER_METRICS = 4 };

/* ---- members --------------------------------------------------------------------------------- */

const json_t *fgi_sweep_run(const fgi_sweep_view *view, size_t run)
{
    return json_array_get(json_object_get(view->record, "runs"), run);
}

const char *fgi_sweep_name(const fgi_sweep_view *view, size_t run)
{
    return fgi_json_words(fgi_sweep_run(view, run), "name");
}

double fgi_sweep_best(const fgi_sweep_view *view, size_t run)
{
    return fgi_json_number(fgi_sweep_run(view, run), "best");
}

const char *fgi_sweep_monitor(const fgi_sweep_view *view)
{
    return fgi_json_words(view->record, "monitor");
}

static size_t count_state(const fgi_sweep_view *view, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++)
        count += strcmp(fgi_json_words(fgi_sweep_run(view, i), "state"), state) == 0;
    return count;
}

void fgi_sweep_words(fgi_buf *out, const fgi_sweep_view *view)
{
    const size_t failed = count_state(view, "failed");
    fgi_put_plain(out, fgi_json_words(view->record, "state"));
    fgi_buf_printf(out, ": %zu of %zu run%s", count_state(view, "finished"), view->count,
                   fgi_s(view->count));
    if (failed > 0)
        fgi_buf_printf(out, ", %zu failed", failed);
    if (view->ranked == 0)
        return;
    fgi_buf_puts(out, "; best ");
    fgi_put_plain(out, fgi_sweep_monitor(view));
    fgi_buf_printf(out, " %.6g with ", fgi_sweep_best(view, view->order[0]));
    fgi_put_plain(out, fgi_sweep_name(view, view->order[0]));
}

/* ---- reading --------------------------------------------------------------------------------- */

fg_status fgi_sweep_view_look(const char *folder, bool *out_is_sweep, fg_error *err)
{
    char *path = fgi_path_join(folder, "sweep.json");
    if (path == NULL)
        return fgi_no_memory(err);
    *out_is_sweep = fgi_file_exists(path);
    fgi_free(path);
    return FG_OK;
}

/* A run's name is that of a folder in the sweep's. */
static bool is_run(const json_t *run)
{
    const char *name = fgi_json_words(run, "name");
    return *name != '\0' && *name != '.' && strchr(name, '/') == NULL &&
           json_is_object(json_object_get(run, "settings"));
}

static fg_status check_record(const char *path, const json_t *record, fg_error *err)
{
    size_t i;
    const json_t *run;
    const json_t *version = json_object_get(record, "version");
    if (json_is_integer(version) && json_integer_value(version) != VERSION)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: version %" JSON_INTEGER_FORMAT ", but this program reads version %d: "
                        "use the version of fulgurite that wrote it",
                        path, json_integer_value(version), VERSION);
    if (!json_is_integer(version) || !json_is_array(json_object_get(record, "keys")) ||
        !json_is_array(json_object_get(record, "runs")))
        return fgi_fail(err, FG_EFORMAT, "%s: expected an object with 'version', 'keys' and 'runs'",
                        path);
    json_array_foreach(json_object_get(record, "runs"), i, run) if (!is_run(run)) return fgi_fail(
        err, FG_EFORMAT, "%s: run %zu: expected an object with 'name' and 'settings'", path, i);
    return FG_OK;
}

static fg_status read_record(const char *folder, json_t **out, fg_error *err)
{
    char *text = NULL, *path = fgi_path_join(folder, "sweep.json");
    size_t size = 0;
    fg_status status =
        path != NULL ? fgi_file_read(path, RECORD_LIMIT, &text, &size, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_json_parse(path, 0, text, size, out, err);
    if (status == FG_OK)
        status = check_record(path, *out, err);
    fgi_free(text);
    fgi_free(path);
    return status;
}

/* A run that has not started, or did not get to its first metrics, has no folder to read. */
static fg_status read_run(fgi_sweep_view *view, const char *folder, size_t run, fg_error *err)
{
    fg_error why = {0};
    char *path = fgi_path_join(folder, fgi_sweep_name(view, run));
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_run_view_open(path, &view->run[run], &why);
    fgi_free(path);
    if (status != FG_OK && status != FG_ENOTFOUND) {
        *err = why;
        return status;
    }
    return FG_OK;
}

/* A sweep that was killed could not write that it has ended. */
static void correct_state(const fgi_sweep_view *view, const char *folder)
{
    fgi_holder holder;
    size_t i;
    json_t *run;
    if (strcmp(fgi_json_words(view->record, "state"), "running") != 0)
        return;
    const fgi_lock_state lock = fgi_lock_look(folder, &holder);
    if (lock != FGI_LOCK_FREE && lock != FGI_LOCK_DEAD)
        return;
    (void)json_object_set_new(view->record, "state", json_string("killed"));
    json_array_foreach(json_object_get(view->record, "runs"), i,
                       run) if (strcmp(fgi_json_words(run, "state"), "running") == 0)(void)
        json_object_set_new(run, "state", json_string("killed"));
}

/* Sorts by insertion: there are at most 1000 runs. */
static void rank(fgi_sweep_view *view)
{
    const double sign = view->is_max ? -1 : 1;
    for (size_t i = 0; i < view->count; i++) {
        const double value = sign * fgi_sweep_best(view, i);
        size_t at = i;
        for (; at > 0 && isfinite(value); at--) {
            const double before = sign * fgi_sweep_best(view, view->order[at - 1]);
            if (isfinite(before) && before <= value)
                break;
            view->order[at] = view->order[at - 1];
        }
        view->order[at] = i;
        view->ranked += isfinite(value);
    }
}

fg_status fgi_sweep_view_open(const char *folder, fgi_sweep_view *out, fg_error *err)
{
    *out = (fgi_sweep_view){.count = 0};
    FGI_TRY(read_record(folder, &out->record, err));
    const size_t count = json_array_size(json_object_get(out->record, "runs"));
    out->run = fgi_calloc(count + 1, sizeof *out->run);
    out->order = fgi_calloc(count + 1, sizeof *out->order);
    if (out->run == NULL || out->order == NULL)
        return fgi_no_memory(err);
    out->count = count;
    out->is_max = strcmp(fgi_json_words(out->record, "mode"), "max") == 0;
    correct_state(out, folder);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(read_run(out, folder, i, err));
    rank(out);
    return FG_OK;
}

void fgi_sweep_view_close(fgi_sweep_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        fgi_run_view_close(&view->run[i]);
    fgi_free(view->run);
    fgi_free(view->order);
    json_decref(view->record);
    *view = (fgi_sweep_view){.count = 0};
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_column(fgi_sweep_table *t, const char *name, bool is_number)
{
    if (t->columns == sizeof t->names / sizeof *t->names)
        return;
    t->names[t->columns] = name;
    t->is_number[t->columns++] = is_number;
}

static bool has_column(const fgi_sweep_table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->names[i], name) == 0)
            return true;
    return false;
}

/* The metrics of validations besides the monitored one; of training if there are none. */
static void add_metrics(const fgi_sweep_view *view, fgi_sweep_table *t, const char *prefix)
{
    int added = 0;
    for (size_t i = 0; i < view->count; i++) {
        const char *name;
        const json_t *value;
        json_object_foreach(json_object_get(fgi_sweep_run(view, i), "metrics"), name, value)
        {
            (void)value;
            if (strncmp(name, prefix, strlen(prefix)) != 0 || has_column(t, name) ||
                added == OTHER_METRICS)
                continue;
            add_column(t, name, true);
            added++;
        }
    }
    if (added == 0 && *prefix == 'v')
        add_metrics(view, t, "train_");
}

void fgi_sweep_table_init(const fgi_sweep_view *view, fgi_sweep_table *out)
{
    size_t i;
    const json_t *key;
    *out = (fgi_sweep_table){.columns = 0};
    json_array_foreach(json_object_get(view->record, "keys"), i, key)
        add_column(out, json_is_string(key) ? json_string_value(key) : "", true);
    out->keys = out->columns;
    add_column(out, "state", false);
    add_column(out, "epochs", true);
    (void)fgi_snprintf(out->best_name, sizeof out->best_name, "best %s", fgi_sweep_monitor(view));
    add_column(out, out->best_name, true);
    add_metrics(view, out, "val_");
    add_column(out, "time", true);
}

void fgi_sweep_cell(const fgi_sweep_view *view, const fgi_sweep_table *table, size_t run,
                    size_t column, fgi_buf *out)
{
    char words[32];
    const json_t *entry = fgi_sweep_run(view, run);
    const char *name = table->names[column];
    double number = (double)NAN;
    fgi_buf_clear(out);
    if (column < table->keys)
        fgi_put_plain(out, fgi_json_words(json_object_get(entry, "settings"), name));
    else if (strcmp(name, "state") == 0)
        fgi_put_plain(out, fgi_json_words(entry, name));
    else if (strcmp(name, "time") == 0)
        fgi_buf_puts(out, fgi_duration_words(fgi_json_number(entry, "seconds"), words));
    else if (name == table->best_name)
        number = fgi_sweep_best(view, run);
    else if (strcmp(name, "epochs") == 0)
        number = fgi_json_number(entry, name);
    else
        number = fgi_json_number(json_object_get(entry, "metrics"), name);
    if (isfinite(number))
        fgi_buf_printf(out, strcmp(name, "epochs") == 0 ? "%.15g" : "%.6g", number);
    if (out->size == 0)
        fgi_buf_putc(out, '-');
}
