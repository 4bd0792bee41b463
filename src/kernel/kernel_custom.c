/* kernel_custom.c - calls of the user's handlers (fg_custom_call), whose errors then say which call
 * it was, as those of the kernels do. The attributes of the call come before those of the user.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "kernel/kernel.h"

typedef struct handler {
    struct handler *next;
    void *(*run)(fgi_ffi_call *call);
    char name[];
} handler;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static handler *handlers; /* of the process, as those of XLA */

static handler *find(const char *name, size_t size)
{
    handler *h = handlers;
    while (h != NULL && (strlen(h->name) != size || memcmp(h->name, name, size) != 0))
        h = h->next;
    return h;
}

bool fgi_handler_add(const char *name, void *(*run)(fgi_ffi_call *call))
{
    const size_t size = strlen(name);
    (void)pthread_mutex_lock(&mutex);
    handler *known = find(name, size), *h = known;
    if (h == NULL && (h = fgi_calloc(1, sizeof *h + size + 1)) != NULL) {
        memcpy(h->name, name, size);
        h->run = run;
        h->next = handlers;
        handlers = h;
    }
    (void)pthread_mutex_unlock(&mutex);
    return h != NULL;
}

bool fgi_handler_is_known(const char *name)
{
    (void)pthread_mutex_lock(&mutex);
    const bool is_known = find(name, strlen(name)) != NULL;
    (void)pthread_mutex_unlock(&mutex);
    return is_known;
}

/* The same error, with the number of the call. */
static void *numbered(const fgi_ffi_call *call, void *error)
{
    fgi_ffi_error_message what = {.struct_size = sizeof what, .error = error, .message = ""};
    fgi_ffi_error_destroy gone = {.struct_size = sizeof gone, .error = error};
    call->api->error_message(&what);
    void *made = fgi_ffi_fail(call, what.message);
    call->api->error_destroy(&gone);
    return made;
}

void *fgi_kernel_custom(fgi_ffi_call *call)
{
    enum { OURS = 2 };
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_attributes all = call->attributes;
    const fgi_ffi_span *name = all.value[1];
    (void)pthread_mutex_lock(&mutex);
    const handler *h = find(name->data, name->size);
    (void)pthread_mutex_unlock(&mutex);
    if (h == NULL)
        return fgi_ffi_fail(call, "its handler was not added to this process");
    call->attributes.count -= OURS;
    call->attributes.types += OURS;
    call->attributes.names += OURS;
    call->attributes.value += OURS;
    void *error = h->run(call);
    call->attributes = all;
    return error != NULL ? numbered(call, error) : NULL;
}
