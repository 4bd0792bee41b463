/* handlers.c - functions that compiled programs call (custom calls), which plugins accept through
 * the FFI extension. The wheel of the CPU plugin has no header for it: the order and the types of
 * the members are those of the binary interface.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops/custom.h>

#include <assert.h>
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

fg_status fg_client_add_handler(fg_client *client, const char *name, void *handler, fg_error *err)
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

/* A pointer to a function as one to an object. */
static void *address_of(const fgi_kernel *kernel)
{
    void *address;
    static_assert(sizeof address == sizeof kernel->run, "");
    memcpy(&address, &kernel->run, sizeof address);
    return address;
}

void fgi_client_add_kernels(fg_client *client, const char *which)
{
    const bool is_auto = which == NULL || strcmp(which, "auto") == 0;
    client->has_kernels =
        client->platform == FGI_CPU && (which == NULL || strcmp(which, "none") != 0);
    for (size_t i = 0; i < fgi_kernel_count && client->has_kernels; i++)
        client->has_kernels = fg_client_add_handler(client, fgi_kernels[i].name,
                                                    address_of(&fgi_kernels[i]), NULL) == FG_OK;
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
