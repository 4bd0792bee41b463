/* http.h - one request to a server: the metadata server, libtpu's runtime metrics, MLflow, a hub of
 * models. It uses libcurl, which is loaded on first use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_HTTP_H
#define FGI_HOST_HTTP_H

#include "base/buf.h"

typedef struct fgi_http_request {
    const char *url;
    const char *header; /* "Name: value", or NULL */
    const void *body;   /* NULL: GET, else POST */
    size_t body_size;
    bool is_grpc; /* HTTP/2 with prior knowledge; body and response use gRPC framing, and the status
                     in the trailer is checked */
    int timeout_ms;   /* of all; a connection must be made within 5 s of these */
    const char *type; /* of the body, "application/json"; NULL: that of libcurl */
    const char *user; /* "name:password" for basic authentication, or NULL */
    bool use_proxy;   /* of the environment */
    int *out_status;  /* receives the HTTP status: then, one other than 200 is not an error; or NULL
                       */
    /* Of a download, whose redirects are followed, without `header` to other hosts. Receives the
     * body of a successful response, instead of *out, which has no limit of size; false ends the
     * request. timeout_ms is the longest time without data. NULL: no download. */
    bool (*take)(void *self, const void *data, size_t size);
    void *self;
    int64_t first_byte; /* requests the rest of a body: HTTP status 206          */
    char *out_code;     /* receives the header X-Error-Code: FGI_HTTP_CODE bytes */
} fgi_http_request;

enum { FGI_HTTP_CODE = 32 };

/* Sends a request, waits, and appends the body of the response to *out (at most 1 MiB). Errors:
 * FG_ENOTFOUND (libcurl is missing: the message says what to install), FG_EIO (no response in time,
 * or a status other than 200), FG_EFORMAT (not gRPC), FG_EDEVICE (a gRPC error, with its message),
 * FG_ENOMEM. Thread-safe. */
fg_status fgi_http_send(const fgi_http_request *request, fgi_buf *out, fg_error *err);

#endif
