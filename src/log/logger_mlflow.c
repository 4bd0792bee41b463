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
#include "input/json_file.h"
#include "log/log_file.h"
#include "log/logger.h"
#include "log/mlflow.h"

enum {
    BATCH = 1000, /* values per request, by MLflow's limits */
    MOST_WAITING = 100000,
    TIMEOUT_MS =
        30000 /* a server can take long for its first request, which creates its database */
};
#define SEND_EVERY_NS  INT64_C(1000000000)
#define RETRY_FIRST_NS INT64_C(2000000000)
#define RETRY_MOST_NS  INT64_C(60000000000)

typedef struct mlflow {
    const char *uri, *experiment, *run_name; /* options; run_name NULL: the run's folder */
    fgi_arena texts;
    fgi_mlflow_server server;
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
    m->server.token = choose(m, NULL, "MLFLOW_TRACKING_TOKEN", NULL);
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
    m->server.uri = uri;
    m->server.timeout_ms = TIMEOUT_MS;
    m->server.user = user != NULL ? fgi_arena_printf(&m->texts, "%s:%s", user, password) : NULL;
    return user == NULL || m->server.user != NULL ? FG_OK : fgi_no_memory(err);
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

/* ---- mlflow.json ----------------------------------------------------------------------------- */

static fg_status keep_id(const mlflow *m, fg_error *err)
{
    fgi_buf text = {0};
    json_t *root = json_pack("{s:s, s:s*, s:s}", "uri", m->server.uri, "experiment_id",
                             m->experiment_id, "run_id", m->run_id);
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

static fg_status set_run_id(mlflow *m, const char *id, fg_error *err)
{
    m->run_id = fgi_arena_strdup(&m->ids, id);
    return m->run_id != NULL ? FG_OK : fgi_no_memory(err);
}

/* Can be called again after a failure: the run is created once. */
static fg_status begin_run(mlflow *m, fg_error *err)
{
    if (m->run_id == NULL) {
        FGI_TRY(fgi_mlflow_experiment(&m->server, m->experiment, &m->ids, &m->experiment_id, err));
        FGI_TRY(fgi_mlflow_create_run(&m->server, m->experiment_id, m->run_name, &m->start, &m->ids,
                                      &m->run_id, err));
    }
    FGI_TRY(keep_id(m, err));
    return fgi_mlflow_send_settings(&m->server, m->run_id, &m->start, err);
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
    const char *id = json_string_value(json_object_get(root, "run_id"));
    fg_status status = FG_OK;
    if (uri != NULL && id != NULL && strcmp(uri, m->server.uri) == 0) {
        m->has_gone_back = json_is_object(sent);
        if (m->has_gone_back && json_object_update(m->sent, sent) != 0)
            status = fgi_no_memory(err);
        if (status == FG_OK)
            status = set_run_id(m, id, err);
        const char *experiment = json_string_value(json_object_get(root, "experiment_id"));
        m->experiment_id = experiment != NULL ? fgi_arena_strdup(&m->ids, experiment) : NULL;
    }
    json_decref(root);
    fgi_free(text);
    return status;
}

/* Notes the last step of each value that the server has. */
static void learn(mlflow *m, const json_t *answer)
{
    const json_t *run = json_object_get(answer, "run"), *one = NULL;
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
    int code = 0;
    json_t *body = json_pack("{s:s, s:s}", "run_id", m->run_id, "status", state);
    if (end_time > 0)
        (void)json_object_set_new(body, "end_time", json_integer((json_int_t)(end_time * 1000)));
    return fgi_mlflow_post(&m->server, "runs/update", body, NULL, &code, err);
}

/* Continues the run; *out_found is false if the server does not have it. What follows after a fit
 * that has failed can differ from what it logged after the checkpoint, since something was changed.
 */
static fg_status continue_run(mlflow *m, bool *out_found, fg_error *err)
{
    json_t *answer = NULL;
    int code = 0;
    const char *path = fgi_arena_printf(&m->ids, "runs/get?run_id=%s", m->run_id);
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_mlflow_get(&m->server, path, &answer, &code, err);
    *out_found = status == FG_OK;
    if (!m->has_gone_back)
        learn(m, answer);
    const json_t *info = json_object_get(json_object_get(answer, "run"), "info");
    const char *state = json_string_value(json_object_get(info, "status"));
    const bool has_failed = state != NULL && strcmp(state, "FAILED") == 0;
    json_decref(answer);
    if (status != FG_OK)
        return status == FG_ENOTFOUND && code == 404 ? FG_OK : status;
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

static fg_status add_history(mlflow *m, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (m->start.step == 0 || m->start.history == NULL || !fgi_file_exists(m->start.history))
        return FG_OK;
    FGI_TRY(fgi_file_read(m->start.history, FGI_LOG_FILE_LIMIT, &text, &size, err));
    (void)fgi_log_each_line(text, size, &m->start, add_missing, m, NULL);
    fgi_free(text);
    return FG_OK;
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
    json_t *logged = m->waiting, *missing = json_array();
    if (missing == NULL)
        return fgi_no_memory(err);
    m->waiting = missing;
    const fg_status status = add_history(m, err);
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
    int code = 0;
    json_t *some = json_array();
    *out_is_over = false;
    for (size_t i = 0; some != NULL && i < count; i++)
        (void)json_array_append(some, json_array_get(m->waiting, i));
    if (some == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_mlflow_post(
        &m->server, "runs/log-batch", json_pack("{s:s, s:O}", "run_id", m->run_id, "metrics", some),
        NULL, &code, err);
    const bool is_refused = code != 0 && (status == FG_EINVAL || status == FG_ENOTFOUND);
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
            fgi_log(FG_LOG_INFO, "logger 'mlflow': %s responds; the run is logged there",
                    m->server.uri);
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
                fgi_s(waiting), m->server.uri);
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
