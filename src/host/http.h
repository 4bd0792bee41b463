/* http.h - one request to a server on this machine or beside it: the metadata server, libtpu's
 * runtime metrics. By libcurl, which is loaded when it is first needed.
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
    bool is_grpc; /* HTTP/2 at once; the body and the answer are framed as gRPC does, and its status
                     in the trailer counts */
    int timeout_ms;
} fgi_http_request;

/* Sends, waits, and appends the answer's body to *out (at most 1 MiB). No proxy is used. Errors:
 * FG_ENOTFOUND (no libcurl: the message says what to install), FG_EIO (no answer in time, or not
 * the status 200), FG_EFORMAT (not gRPC), FG_EDEVICE (gRPC's own error, with its words), FG_ENOMEM.
 * Thread-safe. */
fg_status fgi_http_send(const fgi_http_request *request, fgi_buf *out, fg_error *err);

#endif
