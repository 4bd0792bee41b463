/* mlflow.c - requests to an MLflow tracking server.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/mlflow.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "host/http.h"
#include "input/json_file.h"

enum {
    OK = 200,
    NOT_FOUND = 404,
    TIMED_OUT = 408,
    TOO_MANY = 429,
    SERVER_FAILED = 500, /* and above */
    PARAMS = 100,        /* parameters per request, by MLflow's limits */
    TEXT_MAX = 500,      /* bytes of a parameter's value */
    NOTE_MAX = 4000      /* bytes of the description */
};

/* The server's message, or the beginning of what it answered. */
static fg_status refuse(const fgi_mlflow_server *server, const char *path, int code,
                        const fgi_buf *answer, const json_t *json, fg_error *err)
{
    char shown[200] = "";
    const char *message = json_string_value(json_object_get(json, "message"));
    if (message == NULL && answer->size > 0)
        (void)fgi_text_escape((fgi_str){answer->data, answer->size}, shown, sizeof shown);
    const bool may_pass = code == TIMED_OUT || code == TOO_MANY || code >= SERVER_FAILED;
    const fg_status status = code == NOT_FOUND ? FG_ENOTFOUND : may_pass ? FG_EIO : FG_EINVAL;
    return fgi_fail(err, status, "%s/%s: HTTP status %d: %s", server->uri, path, code,
                    message != NULL ? message : shown);
}

static fg_status read_answer(const fgi_mlflow_server *server, const char *path, int code,
                             const fgi_buf *answer, json_t **out, fg_error *err)
{
    json_t *json = answer->size > 0 ? fgi_json_load(answer->data, answer->size, 0, NULL) : NULL;
    fg_status status = FG_OK;
    if (code != OK)
        status = refuse(server, path, code, answer, json, err);
    else if (json == NULL)
        status =
            fgi_fail(err, FG_EFORMAT, "%s/%s: the response is not JSON: is this an MLflow server?",
                     server->uri, path);
    if (status == FG_OK && out != NULL)
        *out = json_incref(json);
    json_decref(json);
    return status;
}

/* A GET without a body. */
static fg_status send(const fgi_mlflow_server *server, const char *path, const fgi_buf *body,
                      json_t **out, int *out_code, fg_error *err)
{
    fgi_buf url = {0}, header = {0}, answer = {0};
    *out_code = 0;
    fgi_buf_printf(&url, "%s/api/2.0/mlflow/%s", server->uri, path);
    if (server->token != NULL)
        fgi_buf_printf(&header, "Authorization: Bearer %s", server->token);
    fg_status status = fgi_buf_status(&url, err);
    if (status == FG_OK)
        status = fgi_buf_status(&header, err);
    const fgi_http_request request = {.url = url.data,
                                      .header = header.data,
                                      .body = body->data,
                                      .body_size = body->size,
                                      .timeout_ms = server->timeout_ms,
                                      .type = "application/json",
                                      .user = server->user,
                                      .use_proxy = true,
                                      .out_status = out_code};
    if (status == FG_OK)
        status = fgi_http_send(&request, &answer, err);
    if (status == FG_OK)
        status = read_answer(server, path, *out_code, &answer, out, err);
    fgi_buf_fini(&url);
    fgi_buf_fini(&header);
    fgi_buf_fini(&answer);
    return status;
}

fg_status fgi_mlflow_get(const fgi_mlflow_server *server, const char *path, json_t **out,
                         int *out_code, fg_error *err)
{
    *out = NULL;
    return send(server, path, &(fgi_buf){0}, out, out_code, err);
}

fg_status fgi_mlflow_post(const fgi_mlflow_server *server, const char *path, json_t *take_body,
                          json_t **out, int *out_code, fg_error *err)
{
    fgi_buf body = {0};
    fg_status status = FG_OK;
    *out_code = 0;
    if (out != NULL)
        *out = NULL;
    if (take_body == NULL || !fgi_json_write(take_body, JSON_COMPACT, &body))
        status = fgi_no_memory(err);
    if (status == FG_OK)
        status = send(server, path, &body, out, out_code, err);
    json_decref(take_body);
    fgi_buf_fini(&body);
    return status;
}

/* ---- experiments ----------------------------------------------------------------------------- */

static void put_escaped(fgi_buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (fgi_is_alnum(*text) || strchr("-_.~", *text) != NULL)
            fgi_buf_putc(out, *text);
        else
            fgi_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
}

static fg_status copy_id(json_t *id, const char *what, fgi_arena *arena, const char **out,
                         fg_error *err)
{
    const char *text = json_string_value(id);
    if (text == NULL)
        return fgi_fail(err, FG_EFORMAT, "the MLflow server's response has no %s", what);
    *out = fgi_arena_strdup(arena, text);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_mlflow_experiment(const fgi_mlflow_server *server, const char *name, fgi_arena *arena,
                                const char **out_id, fg_error *err)
{
    fgi_buf path = {0};
    json_t *answer = NULL;
    int code = 0;
    fgi_buf_puts(&path, "experiments/get-by-name?experiment_name=");
    put_escaped(&path, name);
    fg_status status = fgi_buf_status(&path, err);
    if (status == FG_OK)
        status = fgi_mlflow_get(server, path.data, &answer, &code, err);
    const json_t *from = json_object_get(answer, "experiment");
    if (code == NOT_FOUND) {
        status = fgi_mlflow_post(server, "experiments/create", json_pack("{s:s}", "name", name),
                                 &answer, &code, err);
        from = answer;
    }
    if (status == FG_OK)
        status =
            copy_id(json_object_get(from, "experiment_id"), "experiment_id", arena, out_id, err);
    json_decref(answer);
    fgi_buf_fini(&path);
    return status;
}

/* ---- a new run ------------------------------------------------------------------------------- */

static const char *base_name(fgi_arena *arena, const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return fgi_arena_printf(arena, "%.*s", (int)(end - begin), path + begin);
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

static fg_status copy_run_id(json_t *answer, fgi_arena *arena, const char **out, fg_error *err)
{
    const json_t *info = json_object_get(json_object_get(answer, "run"), "info");
    return copy_id(json_object_get(info, "run_id"), "run_id", arena, out, err);
}

fg_status fgi_mlflow_create_run(const fgi_mlflow_server *server, const char *experiment_id,
                                const char *name, const fg_log_start *start, fgi_arena *arena,
                                const char **out_id, fg_error *err)
{
    json_t *answer = NULL;
    int code = 0;
    const char *run_name = name != NULL ? name : base_name(arena, start->run_dir);
    if (run_name == NULL)
        return fgi_no_memory(err);
    fg_status status = fgi_mlflow_post(
        server, "runs/create",
        json_pack("{s:s, s:s, s:I, s:o}", "experiment_id", experiment_id, "run_name", run_name,
                  "start_time", (json_int_t)(start->wall_time * 1000), "tags", tags_of(start)),
        &answer, &code, err);
    if (status == FG_OK)
        status = copy_run_id(answer, arena, out_id, err);
    json_decref(answer);
    return status;
}

fg_status fgi_mlflow_send_settings(const fgi_mlflow_server *server, const char *run_id,
                                   const fg_log_start *start, fg_error *err)
{
    for (size_t first = 0; first < start->setting_count; first += PARAMS) {
        json_t *params = json_array();
        int code = 0;
        for (size_t i = first; i < start->setting_count && i < first + PARAMS; i++)
            (void)json_array_append_new(params, json_pack("{s:s, s:o}", "key",
                                                          start->settings[i].name, "value",
                                                          cut(start->settings[i].value, TEXT_MAX)));
        FGI_TRY(fgi_mlflow_post(server, "runs/log-batch",
                                json_pack("{s:s, s:o}", "run_id", run_id, "params", params), NULL,
                                &code, err));
    }
    return FG_OK;
}
