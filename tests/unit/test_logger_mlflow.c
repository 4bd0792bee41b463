/* test_logger_mlflow.c - the logger `mlflow` with a server that answers from a list. tests/loggers
 * has MLflow's own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "option/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "server.h"
#include "log/logger.h"

#define OPS (*fgi_mlflow_logger_row.ops)

#define ANSWER(status, body)                                                                       \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body
#define LINE(ask, status, body)                                                                    \
    {                                                                                              \
        ask, ANSWER(status, body), sizeof ANSWER(status, body) - 1                                 \
    }

static const server_line all_good[] = {
    LINE("GET /api/2.0/mlflow/experiments/get-by-name?experiment_name=a%20b ", "404 NOT FOUND",
         "{\"error_code\": \"RESOURCE_DOES_NOT_EXIST\", \"message\": \"none\"}"),
    LINE("\"name\":\"a b\"}", "200 OK", "{\"experiment_id\": \"7\"}"),
    LINE("\"experiment_id\":\"7\"", "200 OK", "{\"run\": {\"info\": {\"run_id\": \"r1\"}}}"),
    LINE("GET /api/2.0/mlflow/runs/get?run_id=r1 ", "200 OK",
         "{\"run\": {\"data\": {\"metrics\": [{\"key\": \"lr\", \"step\": 4}]}}}"),
    LINE("\"run_id\":\"r1\"", "200 OK", "{}"),
};

static void start(server *s, const server_line *lines, size_t count)
{
    *s = (server){.socket = -1};
    for (size_t i = 0; i < count; i++)
        s->lines[i] = lines[i];
    server_start(s);
}

/* With options as text. */
static fg_status make_with(const char *text, void **out, fg_error *err)
{
    const fg_logger_entry *row = &fgi_mlflow_logger_row;
    fg_option_values *values = NULL;
    *out = NULL;
    fg_status status = fg_option_values_create("mlflow", row->entry.options,
                                               row->entry.option_count, &values, err);
    if (status == FG_OK)
        status = fg_option_set_all(values, text, "run.yaml:1:1", err);
    if (status == FG_OK)
        status = fgi_row_begin(&row->entry, values, row->init, row->ops->destroy, out, err);
    fg_option_values_destroy(values);
    return status;
}

static fg_status make(const char *uri, void **out, fg_error *err)
{
    char text[128];
    (void)snprintf(text, sizeof text, "{uri: %s, experiment: \"a b\"}", uri);
    return make_with(text, out, err);
}

static fg_status make_for(const server *s, void **out, fg_error *err)
{
    char uri[64];
    (void)snprintf(uri, sizeof uri, "http://%s/", s->address);
    return make(uri, out, err);
}

static fg_log_start start_at(const char *folder, int64_t step)
{
    static const fg_log_setting settings[] = {{"optimizer.lr", "0.1"}};
    return (fg_log_start){.run_dir = folder,
                          .step = step,
                          .lines = -1,
                          .config = "a: 1\n",
                          .settings = settings,
                          .setting_count = 1,
                          .wall_time = 1000};
}

static fg_status log_loss(void *self, int64_t step, double loss, fg_error *err)
{
    const fg_metric metrics[] = {{"train_loss", loss}, {"none", (double)NAN}};
    const fg_log_line line = {.step = step,
                              .epoch = 1,
                              .lr = 0.5,
                              .metrics = metrics,
                              .metric_count = 2,
                              .wall_time = 1234.5};
    return OPS.log(self, &line, err);
}

/* What was sent last contains the text. */
static void assert_asked(const server *s, const char *text)
{
    if (strstr(s->asked, text) == NULL)
        fail_msg("no %s in: %s", text, s->asked);
}

/* The paths and bodies of all requests, with RUN for the folder, are these lines. */
static void assert_requests(const server *s, const char *folder, const char *expected)
{
    fgi_buf text = {0};
    for (const char *at = s->all; at < s->all + s->all_size; at += strlen(at) + 1) {
        const char *body = strstr(at, "\r\n\r\n");
        assert_non_null(body);
        fgi_buf_printf(&text, "%.*s %s\n", (int)(strstr(at, " HTTP/1.1\r\n") - at), at, body + 4);
    }
    char *path = strstr(text.data, folder);
    if (path != NULL) {
        memcpy(path, "RUN", 3);
        memmove(path + 3, path + strlen(folder), strlen(path + strlen(folder)) + 1);
    }
    assert_string_equal(text.data, expected);
    fgi_buf_fini(&text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char requests[] =
    "GET /api/2.0/mlflow/experiments/get-by-name?experiment_name=a%20b \n"
    "POST /api/2.0/mlflow/experiments/create {\"name\":\"a b\"}\n"
    "POST /api/2.0/mlflow/runs/create {\"experiment_id\":\"7\",\"run_name\":\"base\","
    "\"start_time\":1000000,\"tags\":[{\"key\":\"mlflow.source.name\",\"value\":\"fulgurite\"},"
    "{\"key\":\"mlflow.source.type\",\"value\":\"LOCAL\"},"
    "{\"key\":\"fulgurite.run_dir\",\"value\":\"RUN\"},{\"key\":\"mlflow.user\",\"value\":\"ann\"},"
    "{\"key\":\"mlflow.note.content\",\"value\":\"```yaml\\na: 1\\n\\n```\\n\"}]}\n"
    "POST /api/2.0/mlflow/runs/log-batch {\"run_id\":\"r1\",\"params\":[{\"key\":\"optimizer.lr\","
    "\"value\":\"0.1\"}]}\n"
    "POST /api/2.0/mlflow/runs/log-batch {\"run_id\":\"r1\",\"metrics\":[{\"key\":\"epoch\","
    "\"value\":1.0,\"step\":2,\"timestamp\":1234500},{\"key\":\"lr\",\"value\":0.5,\"step\":2,"
    "\"timestamp\":1234500},{\"key\":\"train_loss\",\"value\":\"Infinity\",\"step\":2,"
    "\"timestamp\":1234500}]}\n"
    "POST /api/2.0/mlflow/runs/update {\"run_id\":\"r1\",\"status\":\"FAILED\","
    "\"end_time\":2000000}\n";

static void a_run_is_created_and_ended(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    char *text = NULL;
    size_t size = 0;
    (void)state;
    start(&s, all_good, 5);
    assert_int_equal(setenv("MLFLOW_TRACKING_TOKEN", "secret", 1), 0);
    assert_int_equal(setenv("MLFLOW_RUN_NAME", "base", 1), 0);
    assert_int_equal(setenv("USER", "ann", 1), 0);
    fgt_ok(make_for(&s, &self, &err));
    assert_int_equal(unsetenv("MLFLOW_RUN_NAME"), 0);
    assert_int_equal(unsetenv("MLFLOW_TRACKING_TOKEN"), 0);
    const fg_log_start at = start_at(folder, 0);
    fgt_ok(OPS.open(self, &at, &lines, &err));
    assert_asked(&s, "Authorization: Bearer secret\r\n");
    fgt_ok(fgi_file_read(fgt_path(folder, "mlflow.json"), 1000, &text, &size, &err));
    assert_non_null(strstr(text, "\"run_id\": \"r1\""));
    assert_null(strstr(text, "secret"));
    fgi_free(text);
    fgt_ok(log_loss(self, 2, HUGE_VAL, &err));
    fgt_ok(OPS.finish(self, &(fg_log_end){.state = FG_LOG_FAILED, .wall_time = 2000}, &err));
    OPS.destroy(self);
    server_stop(&s);
    assert_requests(&s, folder, requests);
}

/* How often a text was sent, in all requests. */
static int count_sent(const server *s, const char *text)
{
    int count = 0;
    for (const char *at = s->all; at < s->all + s->all_size; at += strlen(at) + 1)
        for (const char *found = at; (found = strstr(found, text)) != NULL; found++)
            count++;
    return count;
}

/* Sets a variable of the environment, or removes it. */
static void set_variable(const char *name, const char *value)
{
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

typedef struct source {
    const char *options;                                   /* "@": the address of the server */
    const char *uri, *experiment, *name, *user, *password; /* of the environment */
    const char *asks[3];
} source;

static void set_variables(const source *from, const char *uri)
{
    set_variable("MLFLOW_TRACKING_URI", uri);
    set_variable("MLFLOW_EXPERIMENT_NAME", from->experiment);
    set_variable("MLFLOW_RUN_NAME", from->name);
    set_variable("MLFLOW_TRACKING_USERNAME", from->user);
    set_variable("MLFLOW_TRACKING_PASSWORD", from->password);
}

static const source sources[] = {
    /* the options have priority over the environment, whose variables may be empty */
    {"{uri: @, experiment: mine, run_name: r}",
     "http://127.0.0.1:1",
     "other",
     "s",
     NULL,
     NULL,
     {"GET /api/2.0/mlflow/experiments/get-by-name?experiment_name=mine HTTP", "\"run_name\":\"r\"",
      "\"experiment_id\":\"7\""}},
    {"",
     "@//",
     "a/b+c~1&d",
     "s",
     "ann",
     "pw",
     {"GET /api/2.0/mlflow/experiments/get-by-name?experiment_name=a%2Fb%2Bc~1%26d HTTP",
      "\"run_name\":\"s\"", "Authorization: Basic YW5uOnB3\r\n"}}, /* ann:pw in base64 */
    {"",
     "@",
     "",
     "",
     "ann",
     NULL,
     {"GET /api/2.0/mlflow/experiments/get-by-name?experiment_name=Default HTTP",
      "\"run_name\":\"my run\"", "Authorization: Basic YW5uOg==\r\n"}}, /* ann: */
};

static const server_line found[] = {
    LINE("GET ", "200 OK", "{\"experiment\": {\"experiment_id\": \"7\"}}"),
    LINE("\"experiment_id\":\"7\"", "200 OK", "{\"run\": {\"info\": {\"run_id\": \"r1\"}}}"),
    LINE("\"run_id\":\"r1\"", "200 OK", "{}")};

static void options_come_from_the_environment(void **state)
{
    char folder[300];
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/my run", fgt_temp_folder());
    assert_int_equal(mkdir(folder, 0777), 0);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        fg_error err = {0};
        server s;
        void *self = NULL;
        int64_t lines = -1;
        char options[200], uri[64];
        const char *at = strchr(sources[i].options, '@');
        start(&s, found, 3);
        (void)snprintf(options, sizeof options, "%.*s%s%s%s", (int)strcspn(sources[i].options, "@"),
                       sources[i].options, at != NULL ? "http://" : "", at != NULL ? s.address : "",
                       at != NULL ? at + 1 : "");
        (void)snprintf(uri, sizeof uri, "http://%s%s", s.address, sources[i].uri + 1);
        set_variables(&sources[i], sources[i].uri[0] == '@' ? uri : sources[i].uri);
        fgt_ok(make_with(options, &self, &err));
        const fg_log_start begin = start_at(folder, 0);
        fgt_ok(OPS.open(self, &begin, &lines, &err));
        for (int k = 0; k < 3; k++)
            if (count_sent(&s, sources[i].asks[k]) == 0)
                fail_msg("row %zu: no %s", i, sources[i].asks[k]);
        OPS.destroy(self);
        server_stop(&s);
    }
    set_variables(&(source){.uri = NULL}, NULL);
}

/* Times are milliseconds; without a name of the user there is no tag for it; a run of another
 * server is not continued. */
static void a_run_of_another_server_is_new(void **state)
{
    static const char other[] = "{\"uri\": \"http://127.0.0.1:1\", \"run_id\": \"r-9\"}";
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    (void)state;
    set_variable("USER", "");
    fgt_write(fgt_path(folder, "mlflow.json"), other, sizeof other - 1);
    start(&s, all_good, 5);
    fgt_ok(make_for(&s, &self, &err));
    fg_log_start at = start_at(folder, 4);
    at.wall_time = 1000.25;
    fgt_ok(OPS.open(self, &at, &lines, &err));
    fgt_ok(log_loss(self, 6, -HUGE_VAL, &err));
    OPS.destroy(self);
    server_stop(&s);
    assert_int_equal(count_sent(&s, "\"start_time\":1000250,"), 1);
    assert_int_equal(count_sent(&s, "mlflow.user"), 0);
    assert_int_equal(count_sent(&s, "r-9"), 0);
    assert_int_equal(count_sent(&s, "\"value\":\"-Infinity\",\"step\":6,\"timestamp\":1234500"), 1);
}

/* A run that begins, or that the server has lost, is a new one there, of which nothing was sent. */
static void a_lost_run_is_new(void **state)
{
    (void)state;
    for (int64_t step = 0; step <= 4; step += 4) {
        const char *folder = fgt_temp_folder();
        fg_error err = {0};
        server s;
        server_line lines_of[5];
        void *self = NULL;
        int64_t lines = -1;
        char old[160], *json = NULL;
        size_t size = 0;
        memcpy(lines_of, all_good, sizeof lines_of);
        lines_of[3] = (server_line)LINE("GET /api/2.0/mlflow/runs/get?run_id=r-9 ", "404 NOT FOUND",
                                        "{\"message\": \"none\"}");
        start(&s, lines_of, 5);
        (void)snprintf(old, sizeof old,
                       "{\"uri\": \"http://%s\", \"run_id\": \"r-9\", \"sent\": {\"lr\": 99}}",
                       s.address);
        fgt_write(fgt_path(folder, "mlflow.json"), old, strlen(old));
        fgt_ok(make_for(&s, &self, &err));
        const fg_log_start at = start_at(folder, step);
        fgt_ok(OPS.open(self, &at, &lines, &err));
        fgt_ok(log_loss(self, 6, 2, &err));
        assert_asked(&s, "{\"key\":\"lr\",\"value\":0.5,\"step\":6,");
        OPS.destroy(self);
        server_stop(&s);
        assert_int_equal(count_sent(&s, "r-9"), step > 0); /* it is looked for once */
        fgt_ok(fgi_file_read(fgt_path(folder, "mlflow.json"), 1000, &json, &size, &err));
        assert_non_null(strstr(json, "\"run_id\": \"r1\""));
        assert_null(strstr(json, "sent"));
        fgi_free(json);
    }
}

static const struct {
    server_line line;
    fg_status status; /* of `open` */
} answers[] = {
    {LINE("GET ", "400 X", "{}"), FG_EINVAL}, {LINE("GET ", "401 X", "{}"), FG_EINVAL},
    {LINE("GET ", "407 X", "{}"), FG_EINVAL}, {LINE("GET ", "408 X", "{}"), FG_OK},
    {LINE("GET ", "409 X", "{}"), FG_EINVAL}, {LINE("GET ", "428 X", "{}"), FG_EINVAL},
    {LINE("GET ", "429 X", "{}"), FG_OK},     {LINE("GET ", "430 X", "{}"), FG_EINVAL},
    {LINE("GET ", "499 X", "{}"), FG_EINVAL}, {LINE("GET ", "500 X", "{}"), FG_OK},
    {LINE("GET ", "503 X", "{}"), FG_OK},
};

static void say_nothing(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level, (void)line;
}

/* A server that is busy or has failed may answer later; one that refuses will not. */
static void some_answers_may_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fg_error err = {0};
        server s;
        void *self = NULL;
        int64_t lines = -1;
        start(&s, &answers[i].line, 1);
        const fg_log_start at = start_at(fgt_temp_folder(), 0);
        fgt_ok(make_for(&s, &self, &err));
        fg_log_set(say_nothing, NULL);
        const fg_status status = OPS.open(self, &at, &lines, &err);
        fg_log_set(NULL, NULL);
        if (status != answers[i].status)
            fail_msg("row %zu: %s", i, fg_status_name(status));
        OPS.destroy(self);
        server_stop(&s);
    }
}

/* With a name of 63 bytes, and one that is too long. */
static const char names_of_values[] =
    "{\"step\": 4, \"epoch\": 1, \"lr\": 0.5, \"train_loss\": 3, "
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": 1, "
    "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\": 1}\n";

/* Values that the server has are not sent again. */
static void a_run_is_continued(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    char text[128];
    (void)state;
    start(&s, all_good, 5);
    const int size =
        snprintf(text, sizeof text, "{\"uri\": \"http://%s\", \"run_id\": \"r1\"}", s.address);
    fgt_write(fgt_path(folder, "mlflow.json"), text, (size_t)size);
    fgt_write(fgt_path(folder, "metrics.jsonl"), names_of_values, sizeof names_of_values - 1);
    fgt_ok(make_for(&s, &self, &err));
    fg_log_start at = start_at(folder, 4);
    at.history = fgt_path(folder, "metrics.jsonl");
    fgt_ok(OPS.open(self, &at, &lines, &err));
    assert_asked(&s, "\"status\":\"RUNNING\"}"); /* without a time at which it ended */
    fgt_ok(log_loss(self, 6, 2, &err));
    assert_asked(&s, "\"metrics\":[{\"key\":\"epoch\",\"value\":1.0,\"step\":4,");
    assert_asked(&s, "{\"key\":\"train_loss\",\"value\":3.0,\"step\":4,");
    assert_asked(&s, "{\"key\":\"lr\",\"value\":0.5,\"step\":6,");
    assert_asked(&s, "{\"key\":\"aaaaaaaaaaa");
    assert_null(strstr(s.asked, "bbb"));
    assert_null(strstr(s.asked, "{\"key\":\"lr\",\"value\":0.5,\"step\":4,"));
    OPS.destroy(self);
    server_stop(&s);
}

/* ---- going back ------------------------------------------------------------------------------ */

/* The contents of mlflow.json, without the address, which is not always the same. */
static void assert_noted(const char *folder, const char *text)
{
    fg_error err = {0};
    char *json = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, "mlflow.json"), 1000, &json, &size, &err));
    if (strstr(json, text) == NULL)
        fail_msg("no %s in: %s", text, json);
    fgi_free(json);
}

/* The run with the answer to runs/get, on a server. */
static void start_with(server *s, const char *run)
{
    static char answer[1024];
    server_line lines[5];
    memcpy(lines, all_good, sizeof lines);
    const int size = snprintf(answer, sizeof answer, ANSWER("200 OK", "{\"run\": {%s}}"), run);
    assert_true(size > 0 && (size_t)size < sizeof answer);
    lines[3].answer = answer;
    lines[3].size = (size_t)size;
    start(s, lines, 5);
}

static const char history[] = "{\"step\": 4, \"epoch\": 1, \"lr\": 0.5, \"train_loss\": 3}\n"
                              "{\"step\": 6, \"epoch\": 1, \"lr\": 0.25, \"train_loss\": 2}\n"
                              "{\"step\": 8, \"epoch\": 1, \"lr\": 0.25, \"train_loss\": 1.5}\n";

/* The server has steps up to 10, of which those after 4 are not valid: a run that is killed while
 * it repeats them sends those that it has not sent. */
static void what_follows_a_rollback_is_sent(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    (void)state;
    start_with(&s, "\"data\": {\"metrics\": [{\"key\": \"lr\", \"step\": 10}, {\"key\": "
                   "\"epoch\", \"step\": 10}, {\"key\": \"train_loss\", \"step\": 10}]}");
    fgt_ok(make_for(&s, &self, &err));
    fg_log_start at = start_at(folder, 0);
    fgt_ok(OPS.open(self, &at, &lines, &err));
    for (int64_t step = 2; step <= 10; step += 4)
        fgt_ok(log_loss(self, step, 7, &err));
    fgt_ok(OPS.flush(self, &err));
    fgt_ok(log_loss(self, 12, 9, &err)); /* within a second: it waits */
    at.step = 4;
    fgt_ok(OPS.open(self, &at, &lines, &err));
    assert_noted(folder, "\"sent\": {\n    \"epoch\": 4,\n    \"lr\": 4,\n    \"train_loss\": 4\n");
    assert_noted(folder, "\"experiment_id\": \"7\"");
    fgt_ok(log_loss(self, 6, 2, &err));
    fgt_ok(OPS.flush(self, &err));
    assert_asked(&s, "\"metrics\":[{\"key\":\"epoch\",\"value\":1.0,\"step\":6,");
    assert_null(strstr(s.asked, "\"step\":12,"));
    assert_noted(folder, "\"train_loss\": 6\n");
    OPS.destroy(self); /* killed; the line of step 8 was not sent */
    fgt_write(fgt_path(folder, "metrics.jsonl"), history, sizeof history - 1);
    fgt_ok(make_for(&s, &self, &err));
    at.step = 8;
    at.history = fgt_path(folder, "metrics.jsonl");
    fgt_ok(OPS.open(self, &at, &lines, &err));
    fgt_ok(log_loss(self, 10, 1, &err));
    assert_asked(&s, "\"metrics\":[{\"key\":\"epoch\",\"value\":1.0,\"step\":8,");
    assert_asked(&s, "{\"key\":\"train_loss\",\"value\":1.0,\"step\":10,");
    assert_null(strstr(s.asked, "\"step\":6,"));
    assert_noted(folder, "\"experiment_id\": \"7\"");
    assert_noted(folder, "\"train_loss\": 10\n");
    OPS.destroy(self);
    server_stop(&s);
}

/* After a failure, such as divergence, a run can be resumed with other settings. */
static void what_follows_a_failure_is_sent(void **state)
{
    static const char *const states[] = {"FAILED", "KILLED"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *folder = fgt_temp_folder();
        fg_error err = {0};
        server s;
        void *self = NULL;
        int64_t lines = -1;
        char text[512];
        (void)snprintf(text, sizeof text,
                       "\"info\": {\"status\": \"%s\"}, \"data\": {\"metrics\": [{\"key\": "
                       "\"lr\", \"step\": 10}]}",
                       states[i]);
        start_with(&s, text);
        const int size =
            snprintf(text, sizeof text, "{\"uri\": \"http://%s\", \"run_id\": \"r1\"}", s.address);
        fgt_write(fgt_path(folder, "mlflow.json"), text, (size_t)size);
        fgt_ok(make_for(&s, &self, &err));
        const fg_log_start at = start_at(folder, 4);
        fgt_ok(OPS.open(self, &at, &lines, &err));
        fgt_ok(log_loss(self, 6, 2, &err));
        assert_asked(&s, "{\"key\":\"train_loss\",\"value\":2.0,\"step\":6,");
        assert_int_equal(strstr(s.asked, "{\"key\":\"lr\"") != NULL, i == 0);
        OPS.destroy(self);
        server_stop(&s);
    }
}

/* What the server refuses is dropped, with its message; without an answer, values wait. */
static void failures_are_reported(void **state)
{
    server_line lines_of[5];
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    memcpy(lines_of, all_good, sizeof lines_of);
    lines_of[3] = (server_line)LINE("\"metrics\":[", "400 BAD REQUEST",
                                    "{\"error_code\": \"X\", \"message\": \"no such thing\"}");
    start(&s, lines_of, 5);
    fgt_ok(make_for(&s, &self, &err));
    const fg_log_start at = start_at(folder, 0);
    fgt_ok(OPS.open(self, &at, &lines, &err));
    assert_int_equal(log_loss(self, 2, 1, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "runs/log-batch: HTTP status 400: no such thing"));
    fgt_ok(OPS.finish(self, &(fg_log_end){.wall_time = 2000}, &err)); /* nothing waits */
    fgt_ok(log_loss(self, 4, 1, &err)); /* within a second: it waits */
    server_stop(&s);
    assert_int_equal(OPS.flush(self, &err), FG_EIO);
    fgt_ok(OPS.flush(self, &err)); /* not again soon */
    fgt_ok(log_loss(self, 6, 1, &err));
    assert_int_equal(OPS.finish(self, &(fg_log_end){.wall_time = 2000}, &err), FG_EIO);
    OPS.destroy(self);
    assert_int_equal(make("sqlite:///x.db", &self, &err), FG_EINVAL);
    fgt_message_is(err.message,
                   "run.yaml:1:1: mlflow.uri: expected the address of an MLflow server, "
                   "http://HOST:PORT, got 'sqlite:///x.db' (uri or MLFLOW_TRACKING_URI); start a "
                   "server with: mlflow server --backend-store-uri FOLDER");
    assert_null(self);
}

static void note_lines(void *self, fg_log_level level, const char *line)
{
    fgi_buf_printf(self, "%d %s\n", (int)level, line);
}

/* Ends a run some of whose values are refused. */
static void assert_finish_says(void *self, const char *expected)
{
    fg_error err = {0};
    fgi_buf said = {0};
    fg_log_set(note_lines, &said);
    assert_int_equal(OPS.finish(self, &(fg_log_end){.wall_time = 2000}, &err), FG_EINVAL);
    fg_log_set(NULL, NULL);
    assert_string_equal(said.data, expected);
    fgi_buf_fini(&said);
}

/* Also if the last values are refused, the run has its state, and the loss is reported. */
static void a_run_ends_although_values_are_refused(void **state)
{
    server_line lines_of[5];
    fg_error err = {0};
    const fg_metric metrics[] = {{"val_loss", 1}, {"val_acc", 1}};
    server s;
    void *self = NULL;
    int64_t lines = -1;
    (void)state;
    memcpy(lines_of, all_good, sizeof lines_of);
    lines_of[3] = (server_line)LINE("\"metrics\":[", "400 BAD REQUEST",
                                    "{\"error_code\": \"X\", \"message\": \"no such thing\"}");
    start(&s, lines_of, 5);
    fgt_ok(make_for(&s, &self, &err));
    const fg_log_start at = start_at(fgt_path(fgt_temp_folder(), ""), 0); /* ends in a slash */
    fgt_ok(OPS.open(self, &at, &lines, &err));
    assert_int_equal(count_sent(&s, "\"run_name\":\"/"), 0); /* but the last folder's name */
    assert_int_equal(log_loss(self, 2, 1, &err), FG_EINVAL); /* 3 values */
    fgt_ok(log_loss(self, 4, 1, &err));                      /* within a second: they wait */
    assert_finish_says(self, "2 logger 'mlflow': 6 values were lost\n");
    fg_log_line line = {.step = 6, .is_validation = true, .metrics = metrics, .metric_count = 1};
    fgt_ok(OPS.log(self, &line, &err));
    assert_finish_says(self, "2 logger 'mlflow': 1 value was lost\n");
    line.metric_count = 2;
    fgt_ok(OPS.log(self, &line, &err));
    assert_finish_says(self, "2 logger 'mlflow': 2 values were lost\n");
    assert_asked(&s, "\"status\":\"FINISHED\",\"end_time\":2000000");
    fgt_ok(OPS.finish(self, &(fg_log_end){.state = FG_LOG_STOPPED, .wall_time = 3000}, &err));
    assert_asked(&s, "\"status\":\"KILLED\",\"end_time\":3000000");
    OPS.destroy(self);
    server_stop(&s);
}

/* ---- a server that does not answer when the fit begins --------------------------------------- */

typedef struct lines_seen {
    int count;
    char last[512];
} lines_seen;

static void note_line(void *self, fg_log_level level, const char *line)
{
    lines_seen *seen = self;
    (void)level;
    seen->count++;
    (void)snprintf(seen->last, sizeof seen->last, "%s", line);
}

/* Begins a log while its server does not run. */
static void *open_without(server *s, const fg_log_start *at)
{
    fg_error err = {0};
    void *self = NULL;
    int64_t lines = -1;
    lines_seen seen = {0};
    fgt_ok(make_for(s, &self, &err));
    server_stop(s);
    fg_log_set(note_line, &seen);
    fgt_ok(OPS.open(self, at, &lines, &err));
    fg_log_set(NULL, NULL);
    assert_int_equal(seen.count, 1);
    assert_non_null(
        strstr(seen.last, "; training continues, and values are kept until the server responds"));
    return self;
}

static void end_with(void *self, server *s)
{
    fg_error err = {0};
    lines_seen seen = {0};
    server_start(s);
    fg_log_set(note_line, &seen);
    fgt_ok(OPS.finish(self, &(fg_log_end){.state = FG_LOG_DONE, .wall_time = 2000}, &err));
    fg_log_set(NULL, NULL);
    assert_int_equal(seen.count, 1);
    assert_non_null(strstr(seen.last, " responds; the run is logged there"));
    OPS.destroy(self);
    server_stop(s);
}

/* The run is created, and has what was logged meanwhile; not what was logged before a rollback. */
static void a_server_can_answer_late(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    server s;
    int64_t lines = -1;
    (void)state;
    start(&s, all_good, 5);
    fg_log_start at = start_at(folder, 0);
    void *self = open_without(&s, &at);
    fgt_ok(log_loss(self, 2, 7, &err));
    fgt_ok(log_loss(self, 4, 8, &err));
    at.step = 2;
    fgt_ok(OPS.open(self, &at, &lines, &err));
    fgt_ok(log_loss(self, 4, 9, &err));
    server_start(&s);
    fgt_ok(OPS.finish(self, &(fg_log_end){.state = FG_LOG_DONE, .wall_time = 2000}, &err));
    assert_asked(&s, "\"status\":\"FINISHED\",\"end_time\":2000000");
    /* the value of the step that it has gone back to is valid, the one after it is not */
    assert_int_equal(count_sent(&s, "\"train_loss\",\"value\":7.0,\"step\":2,"), 1);
    assert_int_equal(count_sent(&s, "\"value\":8.0"), 0);
    assert_int_equal(count_sent(&s, "\"train_loss\",\"value\":9.0,\"step\":4,"), 1);
    assert_noted(folder, "\"train_loss\": 4\n");
    fgt_ok(log_loss(self, 6, 1, &err)); /* of another fit */
    fgt_ok(OPS.flush(self, &err));
    assert_asked(&s, "\"metrics\":[{\"key\":\"epoch\",\"value\":1.0,\"step\":6,");
    OPS.destroy(self);
    server_stop(&s);
}

/* The server has the losses up to step 6. It gets what it lacks of the history, and of the values
 * that were logged while it did not answer; so does a run that has gone back, from that step. */
static void a_run_is_continued_late(void **state)
{
    (void)state;
    for (int goes_back = 0; goes_back < 2; goes_back++) {
        const char *folder = fgt_temp_folder();
        fg_error err = {0};
        server s;
        char text[128];
        int64_t lines = -1;
        start_with(&s, "\"data\": {\"metrics\": [{\"key\": \"train_loss\", \"step\": 6}]}");
        s.lines[5] = s.lines[4];
        s.lines[4] = (server_line)LINE("\"metrics\":[", "503 BUSY", "{}"); /* the last request */
        const int size =
            snprintf(text, sizeof text, "{\"uri\": \"http://%s\", \"run_id\": \"r1\"}", s.address);
        fgt_write(fgt_path(folder, "mlflow.json"), text, (size_t)size);
        fgt_write(fgt_path(folder, "metrics.jsonl"), history, sizeof history - 1);
        fg_log_start at = start_at(folder, 4);
        at.history = fgt_path(folder, "metrics.jsonl");
        void *self = open_without(&s, &at);
        fgt_ok(log_loss(self, 6, 7, &err));
        if (goes_back)
            fgt_ok(OPS.open(self, &at, &lines, &err));
        fgt_ok(log_loss(self, goes_back ? 6 : 8, 9, &err));
        at.step = 6;
        if (goes_back) /* less far than before */
            fgt_ok(OPS.open(self, &at, &lines, &err));
        server_start(&s);
        lines_seen seen = {0};
        fg_log_set(note_line, &seen);
        assert_int_equal(OPS.finish(self, &(fg_log_end){.wall_time = 2000}, &err), FG_EIO);
        fg_log_set(NULL, NULL);
        (void)snprintf(text, sizeof text, "%d values could not be sent to http://%s",
                       goes_back ? 5 : 7, s.address);
        if (strstr(seen.last, text) == NULL)
            fail_msg("%s", seen.last);
        assert_asked(&s, "\"metrics\":[{\"key\":\"epoch\",\"value\":1.0,\"step\":4,");
        assert_asked(&s, goes_back ? "{\"key\":\"train_loss\",\"value\":9.0,\"step\":6,"
                                   : "{\"key\":\"train_loss\",\"value\":9.0,\"step\":8,");
        assert_asked(&s, "{\"key\":\"lr\",\"value\":0.5,\"step\":6,");
        assert_null(strstr(s.asked, "\"value\":7.0"));
        assert_null(strstr(s.asked, "\"train_loss\",\"value\":3.0"));
        OPS.destroy(self);
        server_stop(&s);
    }
}

/* The first hundred thousand values wait for the server; later ones are lost. */
static void values_that_wait_have_a_limit(void **state)
{
    fg_error err = {0};
    fgi_buf said = {0};
    server s;
    (void)state;
    start(&s, all_good, 5);
    const fg_log_start at = start_at(fgt_temp_folder(), 0);
    void *self = open_without(&s, &at);
    fg_log_set(note_lines, &said);
    for (int64_t step = 1; step <= 33334; step++)
        fgt_ok(log_loss(self, step, 1, &err));
    fgt_ok(OPS.finish(self, &(fg_log_end){.wall_time = 2000}, &err));
    fg_log_set(NULL, NULL);
    assert_non_null(strstr(said.data, "2 logger 'mlflow': 2 values were lost\n"));
    assert_non_null(strstr(said.data, "2 logger 'mlflow': 100000 values could not be sent to "));
    fgi_buf_fini(&said);
    OPS.destroy(self);
}

static char name[101][8], text[502]; /* of settings */
static char config[5000];
static fg_log_setting settings[101];

/* At most 1000 values and 100 settings are sent in one request, and 500 bytes of a setting. */
static void large_requests_are_divided(void **state)
{
    fg_error err = {0};
    server s;
    char params[600];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 101; i++) {
        (void)snprintf(name[i], sizeof name[i], "k%d", i);
        settings[i] = (fg_log_setting){name[i], text};
    }
    (void)snprintf(params, sizeof params, "\"params\":[{\"key\":\"k100\",\"value\":\"%.500s\"}]}",
                   text);
    start(&s, all_good, 3); /* other requests get no response */
    s.lines[3] = (server_line)LINE("\"params\":[{\"key\":\"k0\",", "200 OK", "{}");
    s.lines[4] = (server_line)LINE("", "200 OK", "{}");
    s.lines[4].ask = params;
    s.lines[5] = (server_line)LINE("\"epoch\",\"value\":1.0,\"step\":334,\"timestamp\":1234500}]}",
                                   "200 OK", "{}");
    s.lines[6] = (server_line)LINE("\"metrics\":[{\"key\":\"lr\",\"value\":0.5,\"step\":334,",
                                   "200 OK", "{}");
    s.lines[7] = (server_line)LINE("\"status\":\"FINISHED\"", "200 OK", "{}");
    fg_log_start at = start_at(fgt_temp_folder(), 0);
    at.settings = settings;
    at.setting_count = 101;
    memset(config, 'c', sizeof config - 1);
    at.config = config;
    void *self = open_without(&s, &at);
    for (int64_t step = 1; step <= 335; step++)
        fgt_ok(log_loss(self, step, 7, &err));
    end_with(self, &s);
    assert_int_equal(count_sent(&s, "{\"key\":\"k99\""), 1);
    assert_int_equal(count_sent(&s, "{\"key\":\"k100\""), 1);
    assert_int_equal(count_sent(&s, "ccc\\n```\\n\"}"), 1); /* the end of the description */
}

/* A server that creates the run and then fails is not asked to create another one. */
static void a_run_is_created_once(void **state)
{
    fg_error err = {0};
    server s;
    (void)state;
    start(&s, all_good, 5);
    s.lines[4] = (server_line)LINE("\"params\":[", "503 BUSY", "{}");
    const fg_log_start at = start_at(fgt_temp_folder(), 0);
    void *self = NULL;
    int64_t lines = -1;
    fgt_ok(make_for(&s, &self, &err));
    fgt_ok(OPS.open(self, &at, &lines, &err));
    server_stop(&s);
    s.lines[2] = (server_line)LINE("\"experiment_id\":\"7\"", "400 BAD REQUEST", "{}");
    s.lines[4] = all_good[4];
    end_with(self, &s);
    assert_asked(&s, "\"status\":\"FINISHED\"");
}

static const struct {
    server_line lines[3];
    fg_status status;
    const char *says; /* after the address, if that is in the message */
} refusals[] = {
    {{LINE("GET ", "401 UNAUTHORIZED", "{\"message\": \"who?\"}")},
     FG_EINVAL,
     "/experiments/get-by-name?experiment_name=a%20b: HTTP status 401: who?"},
    {{LINE("GET ", "200 OK", "<html>")},
     FG_EFORMAT,
     "/experiments/get-by-name?experiment_name=a%20b: the response is not JSON: is this an "
     "MLflow server?"},
    {{LINE("GET ", "200 OK", "{\"experiment\": {}}")},
     FG_EFORMAT,
     "the MLflow server's response has no experiment_id"},
    {{LINE("GET ", "200 OK", "{\"experiment\": {\"experiment_id\": \"7\"}}"),
      LINE("\"experiment_id\":\"7\"", "200 OK", "{\"run\": {}}")},
     FG_EFORMAT,
     "the MLflow server's response has no run_id"},
};

/* What does not pass is an error at once: this logger is not used. */
static void a_server_that_refuses_is_not_waited_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        fg_error err = {0};
        server s;
        void *self = NULL;
        int64_t lines = -1;
        start(&s, refusals[i].lines, 2);
        const fg_log_start at = start_at(fgt_temp_folder(), 0);
        fgt_ok(make_for(&s, &self, &err));
        assert_int_equal(OPS.open(self, &at, &lines, &err), refusals[i].status);
        const char *says = strstr(err.message, s.address);
        assert_string_equal(says != NULL ? says + strlen(s.address) : err.message,
                            refusals[i].says);
        OPS.destroy(self);
        server_stop(&s);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fg_status log_run(void *of, fg_error *err)
{
    const char *folder = fgt_temp_folder();
    void *self = NULL;
    int64_t lines = -1;
    const fg_log_start at = start_at(folder, 0);
    fg_status status = make_for(of, &self, err);
    if (status == FG_OK)
        status = OPS.open(self, &at, &lines, err);
    if (status == FG_OK)
        status = log_loss(self, 2, 1, err);
    if (status == FG_OK)
        status = OPS.open(self, &at, &lines, err);
    if (status == FG_OK)
        status = OPS.finish(self, &(fg_log_end){.wall_time = 2000}, err);
    if (self != NULL)
        OPS.destroy(self);
    return status;
}

static void no_failed_allocation_is_lost(void **state)
{
    server s;
    (void)state;
    start(&s, all_good, 5);
    fgt_fault_loop(log_run, &s);
    server_stop(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_is_created_and_ended),
    cmocka_unit_test(options_come_from_the_environment),
    cmocka_unit_test(a_run_of_another_server_is_new),
    cmocka_unit_test(a_lost_run_is_new),
    cmocka_unit_test(some_answers_may_change),
    cmocka_unit_test(a_run_is_continued),
    cmocka_unit_test(what_follows_a_rollback_is_sent),
    cmocka_unit_test(what_follows_a_failure_is_sent),
    cmocka_unit_test(failures_are_reported),
    cmocka_unit_test(a_run_ends_although_values_are_refused),
    cmocka_unit_test(a_server_can_answer_late),
    cmocka_unit_test(a_run_is_continued_late),
    cmocka_unit_test(values_that_wait_have_a_limit),
    cmocka_unit_test(large_requests_are_divided),
    cmocka_unit_test(a_run_is_created_once),
    cmocka_unit_test(a_server_that_refuses_is_not_waited_for),
    cmocka_unit_test(no_failed_allocation_is_lost),
};
FGT_MAIN(tests)
