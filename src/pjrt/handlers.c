/* handlers.c - functions that compiled programs call (custom calls), which plugins accept through
 * the FFI extension. The wheel of the CPU plugin has no header for it: the order and the types of
 * the members are those of the binary interface.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops/custom.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "kernel/kernel.h"
#include "pjrt/plugin.h"

typedef struct register_args {
    size_t struct_size;
    const char *name;
    size_t name_size;
    void *handler;
    const char *platform;
    size_t platform_size;
    int traits;
} register_args;

typedef struct ffi_extension {
    PJRT_Extension_Base base;
    void (*type_register)(void);
    void (*user_data_add)(void);
    PJRT_Error *(*register_handler)(register_args *args);
} ffi_extension;

static fg_status add(fg_client *client, const char *name, void *handler, fg_error *err)
{
    const PJRT_Extension_Base *e = client->plugin.api->extension_start;
    while (e != NULL && e->type != PJRT_Extension_Type_FFI)
        e = e->next;
    if (e == NULL || e->struct_size < sizeof(ffi_extension))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "handler '%s': the plugin %s does not accept functions for custom calls",
                        name, client->plugin.name);
    const char *platform = client->platform == FGI_CUDA ? "CUDA" : client->info.platform;
    register_args args = {.struct_size = offsetof(register_args, traits) + sizeof args.traits,
                          .name = name,
                          .name_size = strlen(name),
                          .handler = handler,
                          .platform = platform,
                          .platform_size = strlen(platform)};
    const fgi_pjrt_call place = {client, client->label, "adding a handler", FG_EPLUGIN};
    return fgi_check(((const ffi_extension *)(const void *)e)->register_handler(&args), &place,
                     err);
}

typedef void *handler(fgi_ffi_call *call);

/* A pointer to a function as one to an object, and back. */
static void *address_of(handler *run)
{
    void *address;
    static_assert(sizeof address == sizeof run, "");
    memcpy(&address, &run, sizeof address);
    return address;
}

static handler *handler_at(void *address)
{
    handler *run;
    memcpy(&run, &address, sizeof run);
    return run;
}

fg_status fg_client_add_handler(fg_client *client, const char *name, void *address, fg_error *err)
{
    FGI_TRY(add(client, name, address, err));
    if (client->platform != FGI_CPU)
        return FG_OK;
    FGI_TRY(add(client, FGI_KERNEL_CUSTOM, address_of(fgi_kernel_custom), err));
    return fgi_handler_add(name, handler_at(address)) ? FG_OK : fgi_no_memory(err);
}

bool fgi_client_has_handler(const fg_client *client, const char *name)
{
    return client != NULL && client->platform == FGI_CPU && fgi_handler_is_known(name);
}

void fgi_client_add_kernels(fg_client *client, const char *which)
{
    const bool is_auto = which == NULL || strcmp(which, "auto") == 0;
    client->has_kernels =
        client->platform == FGI_CPU && (which == NULL || strcmp(which, "none") != 0);
    for (size_t i = 0; i < fgi_kernel_count && client->has_kernels; i++)
        client->has_kernels =
            add(client, fgi_kernels[i].name, address_of(fgi_kernels[i].run), NULL) == FG_OK;
    client->has_dnnl = client->has_kernels && is_auto && fgi_kernel_dnnl_version() != NULL;
    client->info.kernels = client->platform == FGI_CPU ? client->kernels : NULL;
    (void)fgi_snprintf(client->kernels, sizeof client->kernels, "%s%s%s",
                       client->has_kernels ? "own" : "none", client->has_dnnl ? ", oneDNN " : "",
                       client->has_dnnl ? fgi_kernel_dnnl_version() : "");
}

bool fgi_client_has_clock(const fg_client *client) { return client->has_kernels; }

bool fgi_client_has_kernels(const fg_client *client)
{
    return client != NULL && client->has_kernels;
}

bool fgi_client_has_dnnl(const fg_client *client) { return client != NULL && client->has_dnnl; }

/* ---- errors of calls ------------------------------------------------------------------------- */

static fgi_hash key_of(uint64_t number) { return fgi_hash_bytes(&number, sizeof number); }

void fgi_client_add_call(const fg_client *client, uint64_t number, const fgi_call_site *site)
{
    fg_client *c = (fg_client *)client;
    (void)pthread_mutex_lock(&c->lock);
    fgi_call_site *known = fgi_map_get(&c->calls, key_of(number));
    fgi_call_site *to = known != NULL ? known : fgi_alloc(sizeof *to);
    if (to != NULL)
        *to = *site;
    if (known == NULL && to != NULL && !fgi_map_put(&c->calls, key_of(number), to))
        fgi_free(to); /* its errors have no place */
    (void)pthread_mutex_unlock(&c->lock);
}

static bool find_call(const fg_client *client, uint64_t number, fgi_call_site *out)
{
    fg_client *c = (fg_client *)client;
    (void)pthread_mutex_lock(&c->lock);
    const fgi_call_site *site = fgi_map_get(&c->calls, key_of(number));
    if (site != NULL)
        *out = *site;
    (void)pthread_mutex_unlock(&c->lock);
    return site != NULL;
}

void fgi_call_explain(const fg_client *client, fg_error *err)
{
    static const char before[] = "[call ", after[] = "] ";
    fgi_call_site site;
    char *end, *at = strstr(err->message, before);
    if (at == NULL)
        return;
    const uint64_t number = strtoull(at + strlen(before), &end, 16);
    if (strncmp(end, after, strlen(after)) != 0 || !find_call(client, number, &site))
        return;
    end += strlen(after);
    memmove(at, end, strlen(end) + 1);
    err->file = site.file;
    err->line = site.line;
    (void)fgi_context(err, err->status, "%s", site.operation);
}

void fgi_calls_free(fg_client *client)
{
    for (size_t i = 0; i < client->calls.capacity; i++)
        fgi_free(client->calls.slots[i].value);
    fgi_map_fini(&client->calls);
}
