/* logger_mlflow.c - the logger `mlflow`: a run on an MLflow tracking server.
 *
 * RUN/mlflow.json has the id of the run there, with which a resumed fit continues it. Values that
 * the server has are not sent again; those that it lacks are taken from metrics.jsonl. Values wait
 * for a second, so that a request has many, and longer while the server does not answer, also if it
 * has not answered since the fit began.
 *
 * MLflow cannot delete values, and reports the last step of each metric only. After a fit has gone
 * back to a checkpoint, that is a step of what is no longer valid. From then on, mlflow.json also
 * has the last step of each metric that was sent since.
 * Source: MLflow 3, "REST API" (api/2.0/mlflow).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "host/http.h"
#include "input/json_file.h"
#include "log/log_file.h"
#include "log/logger.h"

enum {
    BATCH = 1000,    /* values per request, by MLflow's limits */
    PARAMS = 100,    /* parameters per request, by the same */
    TEXT_MAX = 500,  /* bytes of a parameter's value */
    NOTE_MAX = 4000, /* bytes of the description */
    MOST_WAITING = 100000,
    TIMEOUT_MS =
        30000 /* a server can take long for its first request, which creates its database */
};
enum { OK = 200, NOT_FOUND = 404, TIMED_OUT = 408, TOO_MANY = 429, SERVER_FAILED = 500 };
#define SEND_EVERY_NS  INT64_C(1000000000)
#define RETRY_FIRST_NS INT64_C(2000000000)
#define RETRY_MOST_NS  INT64_C(60000000000)

typedef struct mlflow {
    const char *uri, *experiment, *run_name; /* options; run_name NULL: the run's folder */
    const char *header;                      /* "Authorization: Bearer ...", or NULL */
    const char *user;                        /* "name:password", or NULL */
    fgi_arena texts;                         /* of these */
    fgi_arena ids;
    const char *experiment_id, *run_id; /* NULL: none yet */
    json_t *waiting;                    /* array of values */
    json_t *known;    /* last step of each metric that the server had when the log was opened */
    json_t *sent;     /* and that it has now; without steps that are no longer valid */
    const char *path; /* of mlflow.json */
    bool has_gone_back, has_warned;
    int64_t next_send_ns, retry_ns, dropped;
    fg_log_start start; /* of the log, in start_texts */
    fgi_arena start_texts;
    bool has_begun;    /* `start` is set */
    bool is_new;       /* the server did not have the run before the fit */
    bool is_connected; /* the server has the run, and what it lacks is known */
    int64_t back_step; /* not connected: the fit has gone back to this step, else INT64_MAX */
} mlflow;

/* ---- options --------------------------------------------------------------------------------- */

/* The option, else the environment's variable, else `otherwise`; a copy. */
static const char *choose(mlflow *m, const char *option, const char *variable,
                          const char *otherwise)
{
    const char *text = option;
    if (text == NULL || text[0] == '\0')
        text = getenv(variable);
    if (text == NULL || text[0] == '\0')
        text = otherwise;
    return text != NULL ? fgi_arena_strdup(&m->texts, text) : NULL;
}

static void destroy(void *self)
{
    mlflow *m = self;
    json_decref(m->waiting);
    json_decref(m->known);
    json_decref(m->sent);
    fgi_arena_fini(&m->texts);
    fgi_arena_fini(&m->ids);
    fgi_arena_fini(&m->start_texts);
    fgi_free(m);
}

static fg_status set_server(mlflow *m, const fg_option_values *values, fg_error *err)
{
    char *uri = (char *)choose(m, m->uri, "MLFLOW_TRACKING_URI", "http://127.0.0.1:5000");
    const char *user = choose(m, NULL, "MLFLOW_TRACKING_USERNAME", NULL);
    const char *password = choose(m, NULL, "MLFLOW_TRACKING_PASSWORD", "");
    const char *token = choose(m, NULL, "MLFLOW_TRACKING_TOKEN", NULL);
    m->experiment = choose(m, m->experiment, "MLFLOW_EXPERIMENT_NAME", "Default");
    m->run_name = choose(m, m->run_name, "MLFLOW_RUN_NAME", NULL);
    if (uri == NULL || password == NULL || m->experiment == NULL)
        return fgi_no_memory(err);
    if (strncmp(uri, "http://", 7) != 0 && strncmp(uri, "https://", 8) != 0)
        return fg_option_fail(values, "uri", FG_EINVAL, err,
                              "expected the address of an MLflow server, http://HOST:PORT, got "
                              "'%s' (uri or MLFLOW_TRACKING_URI); start a server with: mlflow "
                              "server --backend-store-uri FOLDER",
                              uri);
    for (size_t size = strlen(uri); size > 0 && uri[size - 1] == '/';)
        uri[--size] = '\0';
    m->uri = uri;
    m->user = user != NULL ? fgi_arena_printf(&m->texts, "%s:%s", user, password) : NULL;
    m->header =
        token != NULL ? fgi_arena_printf(&m->texts, "Authorization: Bearer %s", token) : NULL;
    return (user == NULL) == (m->user == NULL) && (token == NULL) == (m->header == NULL)
               ? FG_OK
               : fgi_no_memory(err);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    mlflow *m = self;
    m->waiting = json_array();
    m->known = json_object();
    m->sent = json_object();
    m->back_step = INT64_MAX;
    if (m->waiting == NULL || m->known == NULL || m->sent == NULL)
        return fgi_no_memory(err);
    return set_server(m, values, err);
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef struct answer {
    int code;     /* the HTTP status; 0: there is no answer */
    json_t *json; /* NULL after a failure; json_decref it */
} answer;

/* The server's message, or the beginning of what it answered. */
static fg_status refuse(const mlflow *m, const char *path, int code, const fgi_buf *text,
                        const json_t *json, fg_error *err)
{
    char shown[200] = "";
    const char *message = json_string_value(json_object_get(json, "message"));
    if (message == NULL && text->size > 0)
        (void)fgi_text_escape((fgi_str){text->data, text->size}, shown, sizeof shown);
    const bool may_pass = code == TIMED_OUT || code == TOO_MANY || code >= SERVER_FAILED;
    const fg_status status = code == NOT_FOUND ? FG_ENOTFOUND : may_pass ? FG_EIO : FG_EINVAL;
    return fgi_fail(err, status, "%s/%s: HTTP status %d: %s", m->uri, path, code,
                    message != NULL ? message : shown);
}

static fg_status read_answer(const mlflow *m, const char *path, const fgi_buf *text, answer *out,
                             fg_error *err)
{
    json_t *json = text->size > 0 ? fgi_json_load(text->data, text->size, 0, NULL) : NULL;
    fg_status status = FG_OK;
    if (out->code != OK)
        status = refuse(m, path, out->code, text, json, err);
    else if (json == NULL)
        status =
            fgi_fail(err, FG_EFORMAT, "%s/%s: the response is not JSON: is this an MLflow server?",
                     m->uri, path);
    if (status == FG_OK)
        out->json = json_incref(json);
    json_decref(json);
    return status;
}

/* Sends a GET request, or with a body a POST request. Errors: FG_EIO if a later request may
 * succeed: no answer, or status 408, 429 or 500 and above; FG_ENOTFOUND for 404 and if libcurl is
 * missing; FG_EINVAL for statuses other than 200, with the server's message; FG_EFORMAT for an
 * answer that is not JSON; FG_ENOMEM. */
static fg_status request(const mlflow *m, const char *path, const fgi_buf *body, answer *out,
                         fg_error *err)
{
    fgi_buf url = {0}, text = {0};
    *out = (answer){0};
    fgi_buf_printf(&url, "%s/api/2.0/mlflow/%s", m->uri, path);
    fg_status status = fgi_buf_status(&url, err);
    const fgi_http_request sent = {.url = url.data,
                                   .header = m->header,
                                   .body = body->data,
                                   .body_size = body->size,
                                   .timeout_ms = TIMEOUT_MS,
                                   .type = "application/json",
                                   .user = m->user,
                                   .use_proxy = true,
                                   .out_status = &out->code};
    if (status == FG_OK)
        status = fgi_http_send(&sent, &text, err);
    if (status == FG_OK)
        status = read_answer(m, path, &text, out, err);
    fgi_buf_fini(&url);
    fgi_buf_fini(&text);
    return status;
}

static fg_status get(const mlflow *m, const char *path, answer *out, fg_error *err)
{
    return request(m, path, &(fgi_buf){0}, out, err);
}

/* The body is consumed; NULL: out of memory. */
static fg_status post(const mlflow *m, const char *path, json_t *take_body, answer *out,
                      fg_error *err)
{
    fgi_buf body = {0};
    *out = (answer){0};
    const bool is_written = take_body != NULL && fgi_json_write(take_body, JSON_COMPACT, &body);
    const fg_status status = is_written ? request(m, path, &body, out, err) : fgi_no_memory(err);
    json_decref(take_body);
    fgi_buf_fini(&body);
    return status;
}

/* The same of a request whose answer has nothing of interest. */
static fg_status tell(const mlflow *m, const char *path, json_t *take_body, fg_error *err)
{
    answer unused;
    const fg_status status = post(m, path, take_body, &unused, err);
    json_decref(unused.json);
    return status;
}

/* ---- a new run ------------------------------------------------------------------------------- */

static void put_escaped(fgi_buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (fgi_is_alnum(*text) || strchr("-_.~", *text) != NULL)
            fgi_buf_putc(out, *text);
        else
            fgi_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
}

static fg_status copy_id(mlflow *m, const json_t *from, const char *what, const char **out,
                         fg_error *err)
{
    const char *text = json_string_value(json_object_get(from, what));
    if (text == NULL)
        return fgi_fail(err, FG_EFORMAT, "the MLflow server's response has no %s", what);
    *out = fgi_arena_strdup(&m->ids, text);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

/* Finds the experiment, or creates it. */
static fg_status find_experiment(mlflow *m, fg_error *err)
{
    fgi_buf path = {0};
    answer got = {0};
    fgi_buf_puts(&path, "experiments/get-by-name?experiment_name=");
    put_escaped(&path, m->experiment);
    fg_status status = fgi_buf_status(&path, err);
    if (status == FG_OK)
        status = get(m, path.data, &got, err);
    const json_t *from = json_object_get(got.json, "experiment");
    if (got.code == NOT_FOUND) {
        status =
            post(m, "experiments/create", json_pack("{s:s}", "name", m->experiment), &got, err);
        from = got.json;
    }
    if (status == FG_OK)
        status = copy_id(m, from, "experiment_id", &m->experiment_id, err);
    json_decref(got.json);
    fgi_buf_fini(&path);
    return status;
}

/* The part of a text of at most `size` bytes that is UTF-8. */
static size_t cut_size(const char *text, size_t size)
{
    size_t at = 0;
    const size_t length = strlen(text);
    while (at < length) {
        const size_t next = fgi_utf8_length((const unsigned char *)text + at, length - at);
        if (next == 0 || at + next > size)
            break;
        at += next;
    }
    return at;
}

static json_t *cut(const char *text, size_t size)
{
    return json_stringn(text, cut_size(text, size));
}

static void add_tag(json_t *tags, const char *key, json_t *value)
{
    (void)json_array_append_new(tags, json_pack("{s:s, s:o}", "key", key, "value", value));
}

static json_t *tags_of(const fg_log_start *start)
{
    json_t *tags = json_array();
    const char *user = getenv("USER");
    add_tag(tags, "mlflow.source.name", json_string("fulgurite"));
    add_tag(tags, "mlflow.source.type", json_string("LOCAL"));
    add_tag(tags, "fulgurite.run_dir", cut(start->run_dir, NOTE_MAX));
    if (user != NULL && user[0] != '\0')
        add_tag(tags, "mlflow.user", cut(user, TEXT_MAX));
    if (start->config != NULL) {
        fgi_buf note = {0};
        fgi_buf_printf(&note, "```yaml\n%.*s\n```\n", (int)cut_size(start->config, NOTE_MAX),
                       start->config);
        if (!note.failed)
            add_tag(tags, "mlflow.note.content", cut(note.data, NOTE_MAX + 16));
        fgi_buf_fini(&note);
    }
    return tags;
}

static fg_status create_run(mlflow *m, fg_error *err)
{
    answer got;
    const fg_log_start *start = &m->start;
    const fgi_str folder = fgi_path_name(start->run_dir);
    const char *name = m->run_name != NULL
                           ? m->run_name
                           : fgi_arena_printf(&m->ids, "%.*s", (int)folder.size, folder.data);
    if (name == NULL)
        return fgi_no_memory(err);
    fg_status status =
        post(m, "runs/create",
             json_pack("{s:s, s:s, s:I, s:o}", "experiment_id", m->experiment_id, "run_name", name,
                       "start_time", (json_int_t)(start->wall_time * 1000), "tags", tags_of(start)),
             &got, err);
    const json_t *info = json_object_get(json_object_get(got.json, "run"), "info");
    if (status == FG_OK)
        status = copy_id(m, info, "run_id", &m->run_id, err);
    json_decref(got.json);
    return status;
}

/* Sends the settings as the parameters of the run, which may have some of them. */
static fg_status send_settings(const mlflow *m, fg_error *err)
{
    const fg_log_start *start = &m->start;
    for (size_t first = 0; first < start->setting_count; first += PARAMS) {
        json_t *params = json_array();
        for (size_t i = first; i < start->setting_count && i < first + PARAMS; i++)
            (void)json_array_append_new(params, json_pack("{s:s, s:o}", "key",
                                                          start->settings[i].name, "value",
                                                          cut(start->settings[i].value, TEXT_MAX)));
        FGI_TRY(tell(m, "runs/log-batch",
                     json_pack("{s:s, s:o}", "run_id", m->run_id, "params", params), err));
    }
    return FG_OK;
}

/* ---- mlflow.json ----------------------------------------------------------------------------- */

static fg_status keep_id(const mlflow *m, fg_error *err)
{
    fgi_buf text = {0};
    json_t *root = json_pack("{s:s, s:s*, s:s}", "uri", m->uri, "experiment_id", m->experiment_id,
                             "run_id", m->run_id);
    fg_status status = FG_OK;
    if (root == NULL || (m->has_gone_back && json_object_set(root, "sent", m->sent) != 0) ||
        !fgi_json_write(root, JSON_INDENT(2), &text))
        status = fgi_no_memory(err);
    fgi_buf_putc(&text, '\n');
    if (status == FG_OK)
        status = fgi_file_write_atomic(m->path, text.data, text.size, err);
    json_decref(root);
    fgi_buf_fini(&text);
    return status;
}

/* Values have been sent. If that is not noted, they are sent twice by a run that resumes. */
static void note_sent(mlflow *m, const json_t *values)
{
    const json_t *one = NULL;
    size_t i = 0;
    fg_error err = {0};
    json_array_foreach(values, i, one)(void) json_object_set(
        m->sent, json_string_value(json_object_get(one, "key")), json_object_get(one, "step"));
    if (!m->has_gone_back || keep_id(m, &err) == FG_OK || m->has_warned)
        return;
    fgi_log(FG_LOG_WARNING, "logger 'mlflow': %s", err.message);
    m->has_warned = true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* JSON has no infinity; MLflow reads these names. */
static json_t *number(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(value > 0 ? "Infinity" : "-Infinity");
}

static bool is_known(const mlflow *m, const char *name, int64_t step)
{
    const json_t *last = json_object_get(m->known, name);
    return last != NULL && json_integer_value(last) >= step;
}

static void add(mlflow *m, const char *name, double value, int64_t step, double wall_time)
{
    if (isnan(value) || is_known(m, name, step))
        return;
    if (json_array_size(m->waiting) >= MOST_WAITING) {
        m->dropped++;
        return;
    }
    json_t *one = json_pack("{s:s, s:o, s:I, s:I}", "key", name, "value", number(value), "step",
                            (json_int_t)step, "timestamp", (json_int_t)(wall_time * 1000));
    if (one == NULL || json_array_append_new(m->waiting, one) != 0)
        m->dropped++;
}

static void add_line(mlflow *m, const fg_log_line *line)
{
    if (!line->is_validation) {
        add(m, "epoch", (double)line->epoch, line->step, line->wall_time);
        add(m, "lr", line->lr, line->step, line->wall_time);
    }
    for (size_t i = 0; i < line->metric_count; i++)
        add(m, line->metrics[i].name, line->metrics[i].value, line->step, line->wall_time);
}

static int64_t step_of(const json_t *value)
{
    return json_integer_value(json_object_get(value, "step"));
}

/* Removes the values of later steps. */
static void drop_after(const mlflow *m, int64_t step)
{
    for (size_t i = json_array_size(m->waiting); i-- > 0;)
        if (step_of(json_array_get(m->waiting, i)) > step)
            (void)json_array_remove(m->waiting, i);
}

/* Removes the first elements. */
static void drop_first(json_t *array, size_t count)
{
    json_t *rest = json_array();
    for (size_t i = count; rest != NULL && i < json_array_size(array); i++)
        (void)json_array_append(rest, json_array_get(array, i));
    (void)json_array_clear(array);
    (void)json_array_extend(array, rest);
    json_decref(rest);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Can be called again after a failure: the run is created once. */
static fg_status begin_run(mlflow *m, fg_error *err)
{
    if (m->run_id == NULL) {
        FGI_TRY(find_experiment(m, err));
        FGI_TRY(create_run(m, err));
    }
    FGI_TRY(keep_id(m, err));
    return send_settings(m, err);
}

/* Reads the id of the run that the folder's earlier fits logged to, and what they sent; NULL: none
 * on this server. */
static fg_status find_id(mlflow *m, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (!fgi_file_exists(m->path))
        return FG_OK;
    FGI_TRY(fgi_file_read(m->path, 1 << 20, &text, &size, err));
    json_t *root = fgi_json_load(text, size, 0, NULL), *sent = json_object_get(root, "sent");
    const char *uri = json_string_value(json_object_get(root, "uri"));
    fg_status status = FG_OK;
    if (uri != NULL && json_is_string(json_object_get(root, "run_id")) &&
        strcmp(uri, m->uri) == 0) {
        m->has_gone_back = json_is_object(sent);
        if (m->has_gone_back && json_object_update(m->sent, sent) != 0)
            status = fgi_no_memory(err);
        if (status == FG_OK)
            status = copy_id(m, root, "run_id", &m->run_id, err);
        const char *experiment = json_string_value(json_object_get(root, "experiment_id"));
        m->experiment_id = experiment != NULL ? fgi_arena_strdup(&m->ids, experiment) : NULL;
    }
    json_decref(root);
    fgi_free(text);
    return status;
}

/* Notes the last step of each value that the server has. */
static void learn(mlflow *m, const json_t *json)
{
    const json_t *run = json_object_get(json, "run"), *one = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(json_object_get(run, "data"), "metrics"), i, one)
    {
        const char *key = json_string_value(json_object_get(one, "key"));
        const json_t *step = json_object_get(one, "step"); /* absent: 0 */
        if (key != NULL)
            (void)json_object_set_new(m->sent, key, json_integer(json_integer_value(step)));
    }
}

/* What was sent of steps after this one is not valid. */
static fg_status go_back(mlflow *m, int64_t step, fg_error *err)
{
    const char *key = NULL;
    json_t *last = NULL;
    json_object_foreach(m->sent, key,
                        last) if (json_integer_value(last) > step &&
                                  json_object_set_new(m->sent, key, json_integer(step)) !=
                                      0) return fgi_no_memory(err);
    m->has_gone_back = true;
    return keep_id(m, err);
}

static fg_status set_status(const mlflow *m, const char *state, double end_time, fg_error *err)
{
    json_t *body = json_pack("{s:s, s:s}", "run_id", m->run_id, "status", state);
    if (end_time > 0)
        (void)json_object_set_new(body, "end_time", json_integer((json_int_t)(end_time * 1000)));
    return tell(m, "runs/update", body, err);
}

/* Continues the run; *out_found is false if the server does not have it. What follows after a fit
 * that has failed can differ from what it logged after the checkpoint, since something was changed.
 */
static fg_status continue_run(mlflow *m, bool *out_found, fg_error *err)
{
    answer got;
    const char *path = fgi_arena_printf(&m->ids, "runs/get?run_id=%s", m->run_id);
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = get(m, path, &got, err);
    *out_found = status == FG_OK;
    if (!m->has_gone_back)
        learn(m, got.json);
    const json_t *info = json_object_get(json_object_get(got.json, "run"), "info");
    const char *state = json_string_value(json_object_get(info, "status"));
    const bool has_failed = state != NULL && strcmp(state, "FAILED") == 0;
    json_decref(got.json);
    if (status != FG_OK)
        return status == FG_ENOTFOUND && got.code == NOT_FOUND ? FG_OK : status;
    if (has_failed)
        FGI_TRY(go_back(m, m->start.step, err));
    return set_status(m, "RUNNING", 0, err);
}

static void add_missing(void *self, json_t *json)
{
    fg_metric metrics[FGI_LOG_VALUES];
    fg_log_line line = fgi_log_line_of(json, metrics);
    if (isnan(line.wall_time))
        line.wall_time = fgi_wall_time();
    add_line(self, &line);
}

/* Nothing is known of a run. */
static fg_status forget(mlflow *m, fg_error *err)
{
    m->run_id = NULL;
    m->has_gone_back = false;
    (void)json_object_clear(m->known);
    (void)json_object_clear(m->sent);
    m->path = fgi_arena_printf(&m->ids, "%s/mlflow.json", m->start.run_dir);
    return m->path != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status find_run(mlflow *m, fg_error *err)
{
    bool is_found = false;
    if (m->is_new)
        return begin_run(m, err);
    FGI_TRY(forget(m, err));
    if (m->start.step > 0)
        FGI_TRY(find_id(m, err));
    if (m->run_id != NULL)
        FGI_TRY(continue_run(m, &is_found, err));
    if (is_found)
        return FG_OK;
    FGI_TRY(forget(m, err));
    m->is_new = true;
    return begin_run(m, err);
}

/* Nothing that was sent is sent again. */
static fg_status skip_sent(const mlflow *m, fg_error *err)
{
    (void)json_object_clear(m->known);
    return json_object_update(m->known, m->sent) == 0 ? FG_OK : fgi_no_memory(err);
}

/* What the server lacks: from the history, and then of the values logged in the meantime. */
static fg_status add_all_missing(mlflow *m, fg_error *err)
{
    const json_t *one = NULL;
    size_t i = 0;
    int64_t lines;
    json_t *logged = m->waiting, *missing = json_array();
    if (missing == NULL)
        return fgi_no_memory(err);
    m->waiting = missing;
    const fg_status status = fgi_log_read_history(&m->start, add_missing, m, &lines, err);
    json_array_foreach(logged, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "key"));
        if (!is_known(m, name, step_of(one)))
            m->dropped += json_array_append(missing, json_array_get(logged, i)) != 0;
    }
    m->waiting = status == FG_OK ? missing : logged;
    json_decref(status == FG_OK ? logged : missing);
    return status;
}

static fg_status connect_run(mlflow *m, fg_error *err)
{
    FGI_TRY(find_run(m, err));
    if (m->back_step != INT64_MAX)
        FGI_TRY(go_back(m, m->back_step, err));
    FGI_TRY(skip_sent(m, err));
    FGI_TRY(add_all_missing(m, err));
    m->is_connected = true;
    return FG_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Sends the first values. *out_is_over: they need not be sent again. */
static fg_status send_some(mlflow *m, size_t count, bool *out_is_over, fg_error *err)
{
    answer got;
    json_t *some = json_array();
    *out_is_over = false;
    for (size_t i = 0; some != NULL && i < count; i++)
        (void)json_array_append(some, json_array_get(m->waiting, i));
    if (some == NULL)
        return fgi_no_memory(err);
    const fg_status status =
        post(m, "runs/log-batch", json_pack("{s:s, s:O}", "run_id", m->run_id, "metrics", some),
             &got, err);
    const bool is_refused = got.code != 0 && (status == FG_EINVAL || status == FG_ENOTFOUND);
    json_decref(got.json);
    *out_is_over = status == FG_OK || is_refused;
    if (*out_is_over) {
        drop_first(m->waiting, count);
        note_sent(m, some);
        m->dropped += status != FG_OK ? (int64_t)count : 0;
    }
    json_decref(some);
    return status;
}

/* Those that the server refuses are dropped; while it does not answer, they wait. */
static fg_status send_waiting(mlflow *m, fg_error *err)
{
    fg_status status = FG_OK;
    while (json_array_size(m->waiting) > 0) {
        const size_t size = json_array_size(m->waiting), count = size < BATCH ? size : BATCH;
        bool is_over = false;
        status = send_some(m, count, &is_over, err);
        if (!is_over)
            break;
    }
    return status;
}

static void plan_next(mlflow *m, fg_status status)
{
    m->retry_ns = status == FG_OK               ? 0
                  : m->retry_ns == 0            ? RETRY_FIRST_NS
                  : m->retry_ns < RETRY_MOST_NS ? 2 * m->retry_ns
                                                : RETRY_MOST_NS;
    m->next_send_ns = fgi_now_ns() + (m->retry_ns > 0 ? m->retry_ns : SEND_EVERY_NS);
}

/* Sends all values. That the server does not have the run yet is known: `open` has reported it. */
static fg_status send_all(mlflow *m, fg_error *err)
{
    fg_status status = FG_OK;
    if (!m->is_connected) {
        status = connect_run(m, err);
        plan_next(m, status);
        if (status == FG_OK)
            fgi_log(FG_LOG_INFO, "logger 'mlflow': %s responds; the run is logged there", m->uri);
    }
    if (!m->is_connected)
        return status == FG_EIO ? FG_OK : status;
    status = send_waiting(m, err);
    plan_next(m, status);
    return status;
}

static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
{
    mlflow *m = self;
    add_line(m, line);
    return fgi_now_ns() >= m->next_send_ns ? send_all(m, err) : FG_OK;
}

/* A checkpoint is about to be written: not while the server does not answer. */
static fg_status flush(void *self, fg_error *err)
{
    mlflow *m = self;
    return m->is_connected && m->retry_ns == 0 ? send_all(m, err) : FG_OK;
}

/* ---- the log --------------------------------------------------------------------------------- */

static fg_status begin(mlflow *m, const fg_log_start *start, fg_error *err)
{
    fgi_arena_reset(&m->start_texts);
    m->is_new = false;
    m->back_step = INT64_MAX;
    m->start = *start;
    if (!fgi_log_start_own(&m->start, &m->start_texts))
        return fgi_no_memory(err);
    m->has_begun = true;
    const fg_status status = connect_run(m, err);
    if (status != FG_OK)
        plan_next(m, status);
    if (status == FG_EIO)
        fgi_log(FG_LOG_WARNING,
                "logger 'mlflow': %s; training continues, and values are kept until the server "
                "responds",
                err->message);
    m->has_begun = status == FG_OK || status == FG_EIO;
    return m->has_begun ? FG_OK : status;
}

/* The fit has gone back: what follows is new. */
static fg_status begin_again(mlflow *m, int64_t step, fg_error *err)
{
    drop_after(m, step);
    if (m->is_connected) {
        FGI_TRY(go_back(m, step, err));
        return skip_sent(m, err);
    }
    m->back_step = step < m->back_step ? step : m->back_step;
    return FG_OK;
}

static fg_status open_log(void *self, const fg_log_start *start, int64_t *out_lines, fg_error *err)
{
    mlflow *m = self;
    *out_lines = -1; /* not known */
    return m->has_begun ? begin_again(m, start->step, err) : begin(m, start, err);
}

static fg_status finish(void *self, const fg_log_end *end, fg_error *err)
{
    static const char *const states[] = {"FINISHED", "KILLED", "FAILED"};
    mlflow *m = self;
    fg_error unused;
    const fg_status sent = send_all(m, err);
    const size_t waiting = json_array_size(m->waiting);
    if (m->dropped > 0)
        fgi_log(FG_LOG_WARNING, "logger 'mlflow': %lld value%s lost", (long long)m->dropped,
                m->dropped == 1 ? " was" : "s were");
    m->dropped = 0;
    if (waiting > 0)
        fgi_log(FG_LOG_WARNING, "logger 'mlflow': %zu value%s could not be sent to %s", waiting,
                fgi_s(waiting), m->uri);
    if (waiting > 0 || !m->is_connected)
        return sent;
    const fg_status ended =
        set_status(m, states[end->state], end->wall_time, sent == FG_OK ? err : &unused);
    return sent != FG_OK ? sent : ended;
}

static const fg_logger_ops ops = {.name = "mlflow",
                                  .has_thread = true,
                                  .open = open_log,
                                  .log = log_line,
                                  .flush = flush,
                                  .finish = finish,
                                  .destroy = destroy};

#define TEXT(member, sample, words) FG_OPTION(mlflow, member, STRING, "\"\"", NULL, sample, words)

static const fg_option options[] = {
    TEXT(uri, "http://127.0.0.1:5000",
         "Address of the tracking server. Empty: MLFLOW_TRACKING_URI of the environment, else "
         "http://127.0.0.1:5000."),
    TEXT(experiment, "digits",
         "Name of the experiment, which is created if it does not exist. Empty: "
         "MLFLOW_EXPERIMENT_NAME, else Default."),
    TEXT(run_name, "baseline",
         "Name of the run. Empty: MLFLOW_RUN_NAME, else the name of the run's folder."),
};

const fg_logger_entry fgi_mlflow_logger_row = {
    .entry = {.name = "mlflow",
              .help = "a run on an MLflow tracking server",
              FG_OPTIONS(options, mlflow)},
    .ops = &ops,
    .init = init};
