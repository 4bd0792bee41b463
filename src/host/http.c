/* http.c - HTTP requests with libcurl.
 *
 * Few programs ever send one, and libcurl loads about thirty other libraries into a process, so it
 * is loaded at the first request. Its header is needed to build, the library only to send requests.
 * gRPC's framing: github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define CURL_DISABLE_TYPECHECK
#include "host/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/library.h"
#include "base/text.h"

enum { ANSWER_BYTES = 1 << 20, FRAME_HEAD = 5, MOST_CONNECT_MS = 5000, MOST_REDIRECTS = 10 };

/* ---- the library ----------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                               \
    X(global_init, curl_global_init)                                                               \
    X(easy_init, curl_easy_init)                                                                   \
    X(easy_setopt, curl_easy_setopt)                                                               \
    X(easy_perform, curl_easy_perform)                                                             \
    X(easy_getinfo, curl_easy_getinfo)                                                             \
    X(easy_cleanup, curl_easy_cleanup)                                                             \
    X(easy_strerror, curl_easy_strerror)                                                           \
    X(slist_append, curl_slist_append)                                                             \
    X(slist_free_all, curl_slist_free_all)
FGI_LIBRARY(curl, FUNCTIONS, "libcurl.so.4", "libcurl-gnutls.so.4")

static bool is_ready;

static void prepare(void)
{
    is_ready = curl_is_loaded() && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* ---- a request ------------------------------------------------------------------------------- */

typedef struct exchange {
    const fgi_http_request *request;
    CURL *easy;
    fgi_buf frame, answer;
    char grpc_status[16], grpc_message[200];
} exchange;

static size_t take_body(char *data, size_t unit, size_t count, void *self)
{
    exchange *x = self;
    const size_t size = unit * count;
    long code = 0;
    if (x->request->take != NULL)
        (void)curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 200 || code == 206)
        return x->request->take(x->request->self, data, size) ? size : 0;
    if (size > ANSWER_BYTES - x->answer.size)
        return 0;
    fgi_buf_add(&x->answer, data, size);
    return x->answer.failed ? 0 : size;
}

/* The value of a header "name: value\r\n"; false if it is another one. */
static bool read_header(fgi_str header, const char *name, char *out, size_t room)
{
    const size_t size = strlen(name);
    if (header.size <= size || !fgi_begins_nocase(header.data, name))
        return false;
    const fgi_str value = fgi_str_trim((fgi_str){header.data + size, header.size - size});
    (void)snprintf(out, room, "%.*s", (int)value.size, value.data);
    return true;
}

/* Called for headers and for the trailers after the body. */
static size_t take_header(const char *data, size_t unit, size_t count, void *self)
{
    exchange *x = self;
    const fgi_str header = {data, unit * count};
    if (x->request->out_code != NULL)
        (void)read_header(header, "x-error-code:", x->request->out_code, FGI_HTTP_CODE);
    if (!read_header(header, "grpc-status:", x->grpc_status, sizeof x->grpc_status))
        (void)read_header(header, "grpc-message:", x->grpc_message, sizeof x->grpc_message);
    return header.size;
}

static struct curl_slist *headers_of(const fgi_http_request *request)
{
    struct curl_slist *list = NULL;
    if (request->header)
        list = curl.slist_append(list, request->header);
    if (request->type) {
        char line[128];
        (void)snprintf(line, sizeof line, "Content-Type: %s", request->type);
        list = curl.slist_append(list, line);
    }
    if (request->is_grpc) {
        list = curl.slist_append(list, "Content-Type: application/grpc");
        list = curl.slist_append(list, "TE: trailers");
    }
    return list;
}

/* A download may last as long as data arrive. */
static void set_limits(CURL *easy, const fgi_http_request *r)
{
    if (r->take == NULL) {
        curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
        return;
    }
    curl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)(r->timeout_ms / 1000));
    curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl.easy_setopt(easy, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTS);
    if (strncmp(r->url, "https:", 6) == 0)
        curl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    curl.easy_setopt(easy, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)r->first_byte);
}

static void set_options(CURL *easy, exchange *x, struct curl_slist *headers)
{
    const fgi_http_request *r = x->request;
    curl.easy_setopt(easy, CURLOPT_URL, r->url);
    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (!r->use_proxy)
        curl.easy_setopt(easy, CURLOPT_PROXY, "");
    if (r->user)
        curl.easy_setopt(easy, CURLOPT_USERPWD, r->user);
    set_limits(easy, r);
    curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(r->timeout_ms < MOST_CONNECT_MS ? r->timeout_ms : MOST_CONNECT_MS));
    curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl.easy_setopt(easy, CURLOPT_HEADERDATA, x);
    if (r->is_grpc)
        curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    if (r->body) {
        curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)x->frame.size);
        curl.easy_setopt(easy, CURLOPT_POSTFIELDS, x->frame.data);
    }
}

/* gRPC prepends a byte (compressed or not) and the length to each message. */
static void put_frame(const fgi_http_request *request, fgi_buf *out)
{
    const size_t size = request->body_size;
    const unsigned char head[FRAME_HEAD] = {0, (unsigned char)(size >> 24),
                                            (unsigned char)(size >> 16), (unsigned char)(size >> 8),
                                            (unsigned char)size};
    if (request->is_grpc)
        fgi_buf_add(out, head, sizeof head);
    fgi_buf_add(out, request->body, size);
}

static fg_status unpack(const exchange *x, fgi_buf *out, fg_error *err)
{
    const unsigned char *data = (const unsigned char *)x->answer.data;
    if (!x->request->is_grpc) {
        fgi_buf_add(out, x->answer.data, x->answer.size);
        return fgi_buf_status(out, err);
    }
    if (x->grpc_status[0] == '\0')
        return fgi_fail(err, FG_EFORMAT, "%s: the response is not gRPC", x->request->url);
    if (strcmp(x->grpc_status, "0") != 0)
        return fgi_fail(err, FG_EDEVICE, "%s: gRPC status %s: %s", x->request->url, x->grpc_status,
                        x->grpc_message);
    const size_t size =
        x->answer.size < FRAME_HEAD
            ? 0
            : (size_t)data[1] << 24 | (size_t)data[2] << 16 | (size_t)data[3] << 8 | data[4];
    if (x->answer.size < FRAME_HEAD || data[0] != 0 || size != x->answer.size - FRAME_HEAD)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: the frame of the response has a length of %zu bytes, but %zu bytes were received",
            x->request->url, size, x->answer.size);
    fgi_buf_add(out, x->answer.data + FRAME_HEAD, size);
    return fgi_buf_status(out, err);
}

static fg_status perform(CURL *easy, exchange *x, fgi_buf *out, fg_error *err)
{
    long code = 0;
    x->easy = easy;
    struct curl_slist *headers = headers_of(x->request);
    set_options(easy, x, headers);
    const CURLcode result = curl.easy_perform(easy);
    (void)curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl.slist_free_all(headers);
    if (x->answer.failed)
        return fgi_no_memory(err);
    if (result != CURLE_OK)
        return fgi_fail(err, FG_EIO, "%s: %s", x->request->url, curl.easy_strerror(result));
    if (x->request->out_status)
        *x->request->out_status = (int)code;
    else if (code != 200)
        return fgi_fail(err, FG_EIO, "%s: HTTP status %ld", x->request->url, code);
    return unpack(x, out, err);
}

fg_status fgi_http_send(const fgi_http_request *request, fgi_buf *out, fg_error *err)
{
    exchange x = {.request = request};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare);
    if (!is_ready)
        return fgi_fail(err, FG_ENOTFOUND,
                        "cannot load libcurl.so.4; install it with: apt-get install libcurl4");
    CURL *easy = curl.easy_init();
    if (!easy)
        return fgi_no_memory(err);
    if (request->body)
        put_frame(request, &x.frame);
    const fg_status status = x.frame.failed ? fgi_no_memory(err) : perform(easy, &x, out, err);
    curl.easy_cleanup(easy);
    fgi_buf_fini(&x.frame);
    fgi_buf_fini(&x.answer);
    return status;
}
