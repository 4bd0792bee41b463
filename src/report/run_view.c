/* run_view.c - see run_view.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/run_view.h"

#include <math.h>
#include <string.h>

#include "base/run_lock.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "verdict/verdict.h"
#include "train/state/metrics.h"

enum { VERSION = 1, REPORT_LIMIT = 64 << 20, METRICS_LIMIT = 1 << 30, METRICS_MAX = 256 };

/* ---- metrics --------------------------------------------------------------------------------- */

static fgi_run_metric *find_metric(const fgi_run_view *view, const char *name)
{
    for (size_t i = 0; i < view->metric_count; i++)
        if (strcmp(view->metrics[i].name, name) == 0)
            return &view->metrics[i];
    return NULL;
}

const fgi_run_metric *fgi_run_view_metric(const fgi_run_view *view, const char *name)
{
    return find_metric(view, name);
}

int64_t fgi_run_metric_best(const fgi_run_metric *metric)
{
    int64_t best = -1;
    const int direction = fgi_is_of_training(metric->name) ? 0 : fgi_metric_direction(metric->name);
    for (size_t i = 0; i < metric->count && direction != 0; i++)
        if (isfinite(metric->y[i]) &&
            (best < 0 || direction * (metric->y[i] - metric->y[best]) > 0))
            best = (int64_t)i;
    return best;
}

static fgi_run_metric *add_metric(fgi_run_view *v, const char *name)
{
    fgi_run_metric *more = fgi_grow(v->metrics, v->metric_count, &v->metric_capacity, sizeof *more);
    if (more == NULL)
        return NULL;
    v->metrics = more;
    more += v->metric_count;
    *more = (fgi_run_metric){.name = fgi_strdup(name)};
    v->metric_count += more->name != NULL ? 1 : 0;
    return more->name != NULL ? more : NULL;
}

static bool add_value(fgi_run_metric *m, double step, double value)
{
    size_t capacity = m->capacity;
    double *x = fgi_grow(m->x, m->count, &capacity, sizeof *x);
    m->x = x != NULL ? x : m->x;
    double *y = x != NULL ? fgi_grow(m->y, m->count, &m->capacity, sizeof *y) : NULL;
    m->y = y != NULL ? y : m->y;
    if (y == NULL)
        return false;
    m->x[m->count] = step;
    m->y[m->count++] = value;
    return true;
}

static fg_status add_row(fgi_run_view *v, const json_t *row, fg_error *err)
{
    const char *name;
    json_t *value;
    const double step = fgi_json_number(row, "step");
    json_object_foreach((json_t *)row, name, value)
    {
        if (strcmp(name, "step") == 0 || strcmp(name, "epoch") == 0 ||
            strcmp(name, "wall_time") == 0 || (!json_is_number(value) && !json_is_null(value)))
            continue;
        fgi_run_metric *m = find_metric(v, name);
        if (m == NULL && v->metric_count == METRICS_MAX)
            continue;
        m = m != NULL ? m : add_metric(v, name);
        if (m == NULL || !add_value(m, step, fgi_json_number(row, name)))
            return fgi_no_memory(err);
    }
    v->rows++;
    v->last_step = step;
    v->last_epoch = fgi_json_number(row, "epoch");
    return FG_OK;
}

static fg_status add_rows(fgi_run_view *v, const char *path, const char *text, size_t size,
                          fg_error *err)
{
    for (size_t at = 0, end; at < size; at = end + 1) {
        const char *stop = memchr(text + at, '\n', size - at);
        if (stop == NULL) /* is being written */
            return FG_OK;
        end = (size_t)(stop - text);
        json_t *row = NULL;
        if (end == at)
            continue;
        fg_status status = fgi_json_parse(path, at, text + at, end - at, &row, err);
        if (status == FG_OK && !isfinite(fgi_json_number(row, "step")))
            status =
                fgi_fail(err, FG_EFORMAT, "%s: byte %zu: expected an object with 'step'", path, at);
        if (status == FG_OK)
            status = add_row(v, row, err);
        json_decref(row);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

fg_status fgi_run_check_version(const char *path, const json_t *root, fg_error *err)
{
    const json_t *version = json_object_get(root, "version");
    if (!json_is_integer(version))
        return fgi_fail(err, FG_EFORMAT, "%s: expected an object with the integer 'version'", path);
    if (json_integer_value(version) != VERSION)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: version %" JSON_INTEGER_FORMAT ", but this program reads version %d: "
                        "use the version of fulgurite that wrote it",
                        path, json_integer_value(version), VERSION);
    return FG_OK;
}

/* Reads FOLDER/name; *out_text is NULL if there is no such file. */
static fg_status read_file(const char *folder, const char *name, size_t limit, char **out_path,
                           char **out_text, size_t *out_size, fg_error *err)
{
    *out_text = NULL;
    *out_size = 0;
    *out_path = fgi_path_join(folder, name);
    if (*out_path == NULL)
        return fgi_no_memory(err);
    if (!fgi_file_exists(*out_path))
        return FG_OK;
    return fgi_file_read(*out_path, limit, out_text, out_size, err);
}

fg_status fgi_run_json_read(const char *folder, const char *name,
                            fg_status (*check)(const char *path, const json_t *root, fg_error *err),
                            json_t **out, fg_error *err)
{
    char *path, *text;
    size_t size;
    *out = NULL;
    fg_status status = read_file(folder, name, REPORT_LIMIT, &path, &text, &size, err);
    if (status == FG_OK && text != NULL)
        status = fgi_json_parse(path, 0, text, size, out, err);
    if (status == FG_OK && *out != NULL && check != NULL)
        status = check(path, *out, err);
    if (status != FG_OK) {
        json_decref(*out);
        *out = NULL;
    }
    fgi_free(text);
    fgi_free(path);
    return status;
}

fg_status fgi_run_view_read_report(const char *folder, json_t **out, fg_error *err)
{
    return fgi_run_json_read(folder, "report.json", fgi_run_check_version, out, err);
}

/* If the folder has the summary of a plan for the run, its first machine becomes the member `plan`,
 * and the verdicts are computed with it. */
static fg_status add_plan(const char *folder, json_t *report, fg_error *err)
{
    json_t *root;
    FGI_TRY(fgi_run_json_read(folder, "plan.json", NULL, &root, err));
    json_t *plan = json_array_get(json_object_get(root, "topologies"), 0);
    const bool is_good = !json_is_object(plan) || report == NULL ||
                         (json_object_set(report, "plan", plan) == 0 &&
                          json_object_set_new(report, "verdicts", fgi_run_verdicts(report)) == 0);
    json_decref(root);
    return is_good ? FG_OK : fgi_no_memory(err);
}

static fg_status read_metrics(fgi_run_view *v, const char *folder, bool *out_is_there,
                              fg_error *err)
{
    char *path, *text;
    size_t size;
    fg_status status = read_file(folder, "metrics.jsonl", METRICS_LIMIT, &path, &text, &size, err);
    *out_is_there = status == FG_OK && text != NULL;
    if (*out_is_there)
        status = add_rows(v, path, text, size, err);
    fgi_free(text);
    fgi_free(path);
    return status;
}

/* A run that was killed could not write that it has ended. If it left its lock, a report that says
 * otherwise is that of an earlier fit. */
static void correct_state(json_t *report, const char *folder)
{
    fgi_holder holder;
    const fgi_lock_state lock = fgi_lock_look(folder, &holder);
    const bool is_running = strcmp(fgi_json_words(report, "state"), "running") == 0;
    if (lock == FGI_LOCK_DEAD || (lock == FGI_LOCK_FREE && is_running))
        (void)json_object_set_new(report, "state", json_string("killed"));
}

/* Reads report.json, and config.yaml. A report that is damaged is described in *out_why. */
static fg_status read_others(fgi_run_view *v, const char *folder, fg_error *out_why, fg_error *err)
{
    char *path;
    size_t size;
    fg_status status = fgi_run_view_read_report(folder, &v->report, out_why);
    if (status != FG_OK && status != FG_EFORMAT) {
        *err = *out_why;
        return status;
    }
    FGI_TRY(add_plan(folder, v->report, err));
    correct_state(v->report, folder);
    status = read_file(folder, "config.yaml", REPORT_LIMIT, &path, &v->config, &size, err);
    fgi_free(path);
    if (v->config != NULL)
        fgi_text_make_utf8(v->config);
    return status;
}

/* The log has training metrics by window; the report of a fit that has ended has the means that fit
 * printed. */
static void find_last(fgi_run_view *v)
{
    const json_t *metrics = json_object_get(v->report, "metrics");
    const char *state = fgi_json_words(v->report, "state");
    const double behind = v->last_step - fgi_json_number(v->report, "steps");
    const bool has_ended = strcmp(state, "running") != 0 && strcmp(state, "killed") != 0;
    const bool is_current = has_ended && fabs(behind) < 0.5;
    for (size_t i = 0; i < v->metric_count; i++) {
        fgi_run_metric *m = &v->metrics[i];
        const double mean = fgi_json_number(metrics, m->name);
        const bool is_of_training = fgi_is_of_training(m->name);
        m->is_window = is_of_training && !(is_current && isfinite(mean));
        m->last = m->count > 0 ? m->y[m->count - 1] : (double)NAN;
        if (is_of_training && !m->is_window)
            m->last = mean;
    }
}

fg_status fgi_run_view_open(const char *folder, fgi_run_view *out, fg_error *err)
{
    bool has_metrics;
    fg_error why = {0};
    *out = (fgi_run_view){
        .folder = fgi_strdup(folder), .last_step = (double)NAN, .last_epoch = (double)NAN};
    if (out->folder == NULL)
        return fgi_no_memory(err);
    fgi_text_make_utf8(out->folder);
    if (!fgi_file_exists(folder))
        return fgi_fail(err, FG_ENOTFOUND, "'%s' does not exist: expected the folder of a run",
                        folder);
    FGI_TRY(read_others(out, folder, &why, err));
    FGI_TRY(read_metrics(out, folder, &has_metrics, err));
    find_last(out);
    if (out->report == NULL && !has_metrics && why.status == FG_OK)
        return fgi_fail(err, FG_ENOTFOUND,
                        "'%s' is not the folder of a run: it contains neither report.json nor "
                        "metrics.jsonl",
                        folder);
    if (why.status == FG_OK)
        return FG_OK;
    if (out->rows == 0)
        return fgi_fail(err, why.status, "%s", why.message);
    out->damage = fgi_strdup(why.message);
    return out->damage != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_run_view_set_live(fgi_run_view *view, bool is_live)
{
    view->is_live = is_live;
    if (!is_live || strcmp(fgi_json_words(view->report, "state"), "running") == 0)
        return;
    json_decref(view->report);
    view->report = NULL;
}

void fgi_run_view_close(fgi_run_view *view)
{
    for (size_t i = 0; i < view->metric_count; i++) {
        fgi_free(view->metrics[i].name);
        fgi_free(view->metrics[i].x);
        fgi_free(view->metrics[i].y);
    }
    fgi_free(view->metrics);
    fgi_free(view->config);
    fgi_free(view->damage);
    fgi_free(view->folder);
    json_decref(view->report);
    *view = (fgi_run_view){0};
}

/* ---- config.yaml ----------------------------------------------------------------------------- */

/* Sections are in the first column, keys are indented by two spaces, and lines that are indented
 * further belong to the value before them. */

enum { KEY_SIZE = 256 };

/* "key" and "value" of "key: value"; false for other lines. */
static bool split(fgi_str line, fgi_str *out_key, fgi_str *out_value)
{
    const char *colon = memchr(line.data, ':', line.size);
    if (colon == NULL)
        return false;
    const size_t size = (size_t)(colon - line.data);
    *out_key = (fgi_str){line.data, size};
    *out_value = fgi_str_trim((fgi_str){colon + 1, line.size - size - 1});
    return true;
}

static void set(json_t *out, const char *key, fgi_str value)
{
    if (*key != '\0')
        (void)json_object_set_new(out, key, json_stringn(value.data, value.size));
}

static void extend(json_t *out, const char *key, fgi_str more)
{
    const char *had = json_string_value(json_object_get(out, key));
    fgi_buf joined = {0};
    if (had == NULL)
        return;
    fgi_buf_printf(&joined, "%s%s%.*s", had, *had != '\0' ? " " : "", (int)more.size, more.data);
    if (joined.data != NULL)
        (void)json_object_set_new(out, key, json_string(joined.data));
    fgi_buf_fini(&joined);
}

static void read_line(json_t *out, fgi_str line, char section[KEY_SIZE], char path[KEY_SIZE])
{
    fgi_str key, value;
    size_t indent = 0;
    while (indent < line.size && line.data[indent] == ' ')
        indent++;
    const fgi_str text = fgi_str_trim(line);
    if (text.size == 0 || text.data[0] == '#')
        return;
    if (indent > 2 || text.data[0] == '-' || !split(text, &key, &value)) {
        extend(out, path, text);
        return;
    }
    if (indent == 0) {
        (void)fgi_snprintf(section, KEY_SIZE, "%.*s", (int)key.size, key.data);
        (void)fgi_snprintf(path, KEY_SIZE, "%s", section);
        if (value.size > 0)
            set(out, path, value);
        return;
    }
    (void)fgi_snprintf(path, KEY_SIZE, "%.120s.%.*s", section,
                       (int)(key.size < 120 ? key.size : 120), key.data);
    set(out, path, value);
}

json_t *fgi_config_lines(const char *yaml)
{
    char section[KEY_SIZE] = "", path[KEY_SIZE] = "";
    json_t *out = json_object();
    while (out != NULL && *yaml != '\0') {
        const size_t size = strcspn(yaml, "\n");
        read_line(out, (fgi_str){yaml, size}, section, path);
        yaml += size + (yaml[size] == '\n');
    }
    return out;
}
