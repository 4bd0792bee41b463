/* test_run_serve.c - the page of a run over HTTP: what is answered while a fit writes to the run
 * and afterwards, to whom, and the errors of the server. Skipped without libmicrohttpd.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "other_run.h"

static const char *folder;
static atomic_int port; /* that the server listens on */
static atomic_bool is_over;
static sem_t is_ready;
static pthread_t thread;
static char answer[1 << 20];

/* ---- a server -------------------------------------------------------------------------------- */

static bool show(void *self, const char *text)
{
    const char *at = strstr(text, "127.0.0.1:");
    (void)self;
    if (at != NULL) {
        atomic_store(&port, (int)strtol(at + 10, NULL, 10));
        (void)sem_post(&is_ready);
    }
    return !atomic_load(&is_over);
}

static void *serve(void *self)
{
    fg_error err = {0};
    (void)self;
    if (serve_run(folder, NULL, show, NULL, &err) != FG_OK)
        (void)fprintf(stderr, "%s\n", err.message);
    return NULL;
}

static int begin(void **state)
{
    (void)state;
    folder = fgt_temp_folder();
    atomic_store(&is_over, false);
    assert_int_equal(sem_init(&is_ready, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    while (sem_wait(&is_ready) != 0)
        continue;
    return 0;
}

static int end(void **state)
{
    (void)state;
    atomic_store(&is_over, true);
    return pthread_join(thread, NULL) + sem_destroy(&is_ready);
}

/* Sends a request and reads the answer until the server closes the connection. */
static const char *ask(const char *request)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)atomic_load(&port)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t size = 0;
    ssize_t got;
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while ((got = recv(fd, answer + size, sizeof answer - 1 - size, 0)) > 0)
        size += (size_t)got;
    answer[size] = '\0';
    (void)close(fd);
    return answer;
}

/* A request to the server by this name; has_port: followed by its port. */
static const char *ask_as(const char *line, const char *host, bool has_port)
{
    char request[512], number[16] = "";
    if (has_port)
        (void)snprintf(number, sizeof number, "%d", atomic_load(&port));
    (void)snprintf(request, sizeof request,
                   "%s HTTP/1.1\r\nHost: %s%s\r\nConnection: close\r\n\r\n", line, host, number);
    return ask(request);
}

static const char *get(const char *path)
{
    char line[128];
    (void)snprintf(line, sizeof line, "GET %s", path);
    return ask_as(line, "127.0.0.1:", true);
}

static void has(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is missing in:\n%s", words, text);
}

static void put(const char *name, const char *text)
{
    fgt_write(fgt_path(folder, name), text, strlen(text));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char old_report[] = "{\"version\": 1, \"state\": \"stopped\", \"steps\": 98765}";

/* The lock as a running fit holds it. */
static void a_run_in_progress_is_loaded_again(void **state)
{
    (void)state;
    put("lock", "somebody");
    const int fd = open(fgt_path(folder, "lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    has(get("/"), "HTTP/1.1 503 ");
    has(answer, "\r\nRefresh: 2\r\n");
    has(answer, "the run has not written anything yet");
    put("report.json", old_report); /* of a fit that the current one continues */
    put("metrics.jsonl", "{\"step\": 10, \"epoch\": 0, \"train_loss\": 4.5}\n");
    has(get("/"), "HTTP/1.1 200 ");
    has(answer, "\r\nRefresh: 2\r\n");
    has(answer, "in progress: 1 row of metrics");
    has(answer, ">4.5<");
    assert_null(strstr(answer, "98765"));
    assert_null(strstr(answer, "98,765"));
    put("metrics.jsonl", "{\"step\": 10, \"epoch\": 0, \"train_loss\": 4.5}\n"
                         "{\"step\": 20, \"epoch\": 0, \"train_loss\": 3.25}\n");
    has(get("/"), ">3.25<");
    has(get("/report.json"), "\"report\": null");
    put("report.json", "{\"version\": 1, \"state\": \"running\", \"steps\": 78}");
    has(get("/"), ">78<");
    put("report.json", old_report);
    (void)close(fd);
    has(get("/"), "stopped");
    has(answer, ">98765<");
    assert_null(strstr(answer, "Refresh"));
    has(get("/report.json"), "\r\nContent-Type: application/json\r\n");
    has(answer, "\"steps\": 98765");
}

static void damage_is_shown(void **state)
{
    (void)state;
    put("report.json", "{");
    has(get("/"), "HTTP/1.1 500 ");
    has(answer, "report.json: byte");
}

/* Sites whose name is resolved to this machine get nothing, nor do other paths and methods. */
static void only_this_page_to_this_machine(void **state)
{
    static const char *const others[] = {"evil.example", "evil.example:80", "127.0.0.1", "",
                                         "localhost:1"};
    (void)state;
    put("report.json", old_report);
    has(get("/"), "HTTP/1.1 200 ");
    has(answer, "\r\nContent-Security-Policy: default-src 'none';");
    has(answer, "\r\nCache-Control: no-store\r\n");
    has(answer, "\r\nX-Content-Type-Options: nosniff\r\n");
    has(ask_as("GET /", "localhost:", true), "HTTP/1.1 200 ");
    has(ask_as("HEAD /", "127.0.0.1:", true), "HTTP/1.1 200 ");
    assert_null(strstr(answer, "<html"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        has(ask_as("GET /", others[i], i % 2 == 1), "HTTP/1.1 403 ");
        has(answer, "\r\n\r\nexpected the address that fulgurite has printed\n");
    }
    has(get("/config.yaml"), "HTTP/1.1 404 ");
    has(answer, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
    has(answer, "\r\n\r\nexpected / or /report.json\n");
    has(get("/../report.json"), "HTTP/1.1 404 ");
    has(ask_as("POST /", "127.0.0.1:", true), "HTTP/1.1 405 ");
    has(answer, "\r\n\r\nexpected GET\n");
    (void)ask("\r\n\xff\xff\r\n\r\n"); /* not HTTP */
    has(get("/"), "HTTP/1.1 200 ");
}

static bool never(void *self, const char *text)
{
    (void)self;
    (void)text;
    return false;
}

static void refuses(const char *in, const char *at, fg_status status, const char *message)
{
    fg_error err = {0};
    assert_int_equal(serve_run(in, at, never, NULL, &err), status);
    fgt_message_is(err.message, message);
}

static void mistakes_are_named(void **state)
{
    static const char *const ports[] = {"65536", "80x", "-1", " 80", "x"};
    char used[16], message[96];
    fg_error err = {0};
    (void)state;
    (void)snprintf(used, sizeof used, "%d", atomic_load(&port));
    (void)snprintf(message, sizeof message,
                   "cannot listen on port %s of 127.0.0.1: Address already in use", used);
    refuses(folder, used, FG_EIO, message);
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        (void)snprintf(message, sizeof message, "'%s': expected a port from 0 (any) to 65535",
                       ports[i]);
        refuses(folder, ports[i], FG_EINVAL, message);
    }
    refuses("/nowhere", NULL, FG_ENOTFOUND,
            "'/nowhere' does not exist: expected the folder of a run");
    fgt_ok(serve_run(folder, "0", never, NULL, &err));
    fgt_ok(serve_run(folder, "", never, NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_in_progress_is_loaded_again, begin, end),
        cmocka_unit_test_setup_teardown(damage_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(only_this_page_to_this_machine, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_are_named, begin, end),
    };
    if (dlopen("libmicrohttpd.so.12", RTLD_NOW) == NULL)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
