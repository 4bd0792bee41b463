/* serve_run.c - the page of a run on a port of this machine. Each request reads the run's files;
 * while a fit writes to them, a header asks the browser to load the page again.
 *
 * A thread of libmicrohttpd answers the requests, one at a time; it only reads its `server`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "other_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/library.h"
#include "base/print.h"
#include "recipe/folder/run_dir.h"
#include "report/reports.h"

static const char every_s[] = "2"; /* between two loads of the page of a run in progress */
static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/* Few programs serve pages, and libmicrohttpd brings GnuTLS into a process, so it is not linked. */
#define FUNCTIONS(X)                                                                               \
    X(start, MHD_start_daemon)                                                                     \
    X(stop, MHD_stop_daemon)                                                                       \
    X(lookup, MHD_lookup_connection_value)                                                         \
    X(response, MHD_create_response_from_buffer)                                                   \
    X(header, MHD_add_response_header)                                                             \
    X(queue, MHD_queue_response)                                                                   \
    X(destroy, MHD_destroy_response)
FGI_LIBRARY(http, FUNCTIONS, "libmicrohttpd.so.12")

typedef struct server {
    const char *folder;
    int port; /* in use */
} server;

/* An answer before it is sent. */
typedef struct answer {
    unsigned int status;
    const char *type;
    bool is_live;
    fgi_buf text;
} answer;

/* ---- answers --------------------------------------------------------------------------------- */

static void say(answer *a, unsigned int status, const char *text)
{
    a->status = status;
    a->type = "text/plain; charset=utf-8";
    fgi_buf_clear(&a->text);
    fgi_buf_puts(&a->text, text);
    fgi_buf_putc(&a->text, '\n');
}

/* report.json of a run in progress is that of an earlier fit, if there is one. */
static void put_run(const server *s, bool is_json, answer *a)
{
    fg_error err = {0};
    fgi_run_view view = {0};
    a->is_live = fgi_run_dir_is_live(s->folder);
    const fg_status status = fgi_run_view_open(s->folder, &view, &err);
    if (status != FG_OK) {
        say(a, a->is_live ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_INTERNAL_SERVER_ERROR,
            a->is_live ? "the run has not written anything yet" : err.message);
    } else {
        fgi_run_view_set_live(&view, a->is_live);
        a->status = MHD_HTTP_OK;
        a->type = is_json ? "application/json" : "text/html; charset=utf-8";
        fgi_run_report_put(&a->text, &view, is_json ? FG_REPORT_JSON : FG_REPORT_HTML);
    }
    fgi_run_view_close(&view);
}

/* Whether the request was meant for this server: pages of other sites may have their names resolved
 * to this machine, and would then read the answers. */
static bool is_own_name(const server *s, const char *host)
{
    char names[2][32];
    (void)fgi_snprintf(names[0], sizeof names[0], "127.0.0.1:%d", s->port);
    (void)fgi_snprintf(names[1], sizeof names[1], "localhost:%d", s->port);
    return host != NULL && (strcmp(host, names[0]) == 0 || strcmp(host, names[1]) == 0);
}

static void find_answer(const server *s, const char *url, const char *method, const char *host,
                        answer *a)
{
    if (!is_own_name(s, host))
        say(a, MHD_HTTP_FORBIDDEN, "expected the address that fulgurite has printed");
    else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        say(a, MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET");
    else if (strcmp(url, "/") == 0 || strcmp(url, "/report.json") == 0)
        put_run(s, url[1] != '\0', a);
    else
        say(a, MHD_HTTP_NOT_FOUND, "expected / or /report.json");
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, const answer *a)
{
    struct MHD_Response *response =
        http.response(a->text.size, a->text.data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    (void)http.header(response, "Content-Type", a->type);
    (void)http.header(response, "Content-Security-Policy", policy);
    (void)http.header(response, "X-Content-Type-Options", "nosniff");
    (void)http.header(response, "Cache-Control", "no-store");
    if (a->is_live)
        (void)http.header(response, "Refresh", every_s);
    const enum MHD_Result queued = http.queue(connection, a->status, response);
    http.destroy(response);
    return queued;
}

/* Called once for the headers of a request, and again for its body, which nothing reads. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    static char seen;
    const server *s = self;
    answer a = {0};
    (void)version;
    (void)data;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    find_answer(s, url, method, http.lookup(connection, MHD_HEADER_KIND, "Host"), &a);
    const enum MHD_Result sent = a.text.failed ? MHD_NO : send_answer(connection, &a);
    fgi_buf_fini(&a.text);
    return sent;
}

/* ---- the server ------------------------------------------------------------------------------ */

/* 0: any free port. */
static fg_status read_port(const char *text, uint16_t *out, fg_error *err)
{
    char *end;
    *out = 0;
    if (text == NULL || *text == '\0')
        return FG_OK;
    const long port = strtol(text, &end, 10);
    if (*end != '\0' || *text < '0' || *text > '9' || port > 65535)
        return fgi_fail(err, FG_EINVAL, "'%s': expected a port from 0 (any) to 65535", text);
    *out = (uint16_t)port;
    return FG_OK;
}

/* A socket that listens on the port of this machine only; -1 with errno. */
static int listen_at(uint16_t port, int *out_port)
{
    enum { WAITING = 16 };
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, WAITING) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
        *out_port = ntohs(address.sin_port);
        return fd;
    }
    const int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

static fg_status start(server *s, const char *port_text, struct MHD_Daemon **out, fg_error *err)
{
    enum { CONNECTIONS = 32, TIMEOUT_S = 10 };
    uint16_t port;
    FGI_TRY(read_port(port_text, &port, err));
    if (!http_is_loaded())
        return fgi_fail(err, FG_ENOTFOUND,
                        "serving a page requires libmicrohttpd (apt-get install libmicrohttpd12); "
                        "--html=FILE writes the page to a file");
    const int fd = listen_at(port, &s->port);
    if (fd < 0)
        return fgi_fail(err, FG_EIO, "cannot listen on port %d of 127.0.0.1: %s", port,
                        fgi_errno_text(errno));
    *out = http.start(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, s,
                      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                      (unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                      (unsigned int)TIMEOUT_S, MHD_OPTION_END);
    if (*out != NULL)
        return FG_OK;
    (void)close(fd);
    return fgi_fail(err, FG_EIO, "cannot start the server of libmicrohttpd");
}

static void serve(const server *s, show_fn *show, void *self)
{
    char line[96];
    (void)fgi_snprintf(line, sizeof line, "the report is at http://127.0.0.1:%d/ (Ctrl-C ends)\n",
                       s->port);
    for (const char *text = line; show(self, text); text = "")
        fgi_sleep(0.2);
}

fg_status serve_run(const char *folder, const char *port, show_fn *show, void *self, fg_error *err)
{
    server s = {.folder = folder};
    struct MHD_Daemon *daemon = NULL;
    FGI_TRY(fgi_run_dir_need(folder, err));
    FGI_TRY(start(&s, port, &daemon, err));
    serve(&s, show, self);
    http.stop(daemon);
    return FG_OK;
}
