/* http_library.c - loads libmicrohttpd. Few programs serve pages, and it brings GnuTLS into a
 * process, so it is not linked: its header is needed to build, the library only to serve.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/http_library.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/library.h"

static fgi_http_library functions;
static bool is_loaded;

static void load(void)
{
    static const char *const names[] = {"libmicrohttpd.so.12", NULL};
    static const fgi_library_symbol symbols[] = {
        {"MHD_start_daemon", &functions.start},
        {"MHD_stop_daemon", &functions.stop},
        {"MHD_lookup_connection_value", &functions.lookup},
        {"MHD_create_response_from_buffer", &functions.response},
        {"MHD_add_response_header", &functions.header},
        {"MHD_queue_response", &functions.queue},
        {"MHD_destroy_response", &functions.destroy},
    };
    is_loaded = fgi_library_load(names, symbols, sizeof(symbols) / sizeof(symbols[0]));
}

const fgi_http_library *fgi_http_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
