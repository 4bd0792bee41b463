/* http_library.h - libmicrohttpd, loaded when the first page is served.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_HTTP_LIBRARY_H
#define FGI_RECIPE_HTTP_LIBRARY_H

#include <microhttpd.h>

/* The functions that are used; see microhttpd.h. */
typedef struct fgi_http_library {
    struct MHD_Daemon *(*start)(unsigned int flags, uint16_t port, MHD_AcceptPolicyCallback accept,
                                void *accept_self, MHD_AccessHandlerCallback answer,
                                void *answer_self, ...);
    void (*stop)(struct MHD_Daemon *daemon);
    const char *(*lookup)(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                          const char *key);
    struct MHD_Response *(*response)(size_t size, void *data, enum MHD_ResponseMemoryMode mode);
    enum MHD_Result (*header)(struct MHD_Response *response, const char *name, const char *value);
    enum MHD_Result (*queue)(struct MHD_Connection *connection, unsigned int status,
                             struct MHD_Response *response);
    void (*destroy)(struct MHD_Response *response);
} fgi_http_library;

/* The functions, or NULL if the library is not installed. Thread-safe. */
const fgi_http_library *fgi_http_library_load(void);

#endif
