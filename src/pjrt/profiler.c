/* profiler.c - the plugin's own profiler, which records what the devices do.
 *
 * Plugins offer it as an extension, and not all have it. Its calls have errors of their own type.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/profiler_api.h"

#include <string.h>

#include "pjrt/plugin.h"
#include "pjrt/profile_options.pb-c.h"

struct fgi_profiler {
    fg_client *client; /* retained */
    const fgi_profiler_api *api;
    fgi_plugin_profiler *profiler;
    bool is_running;
};

static const fgi_profiler_api *find_api(const fg_client *client)
{
    const PJRT_Extension_Base *e = client->plugin.api->extension_start;
    while (e != NULL && e->type != PJRT_Extension_Type_Profiler)
        e = e->next;
    if (e == NULL || e->struct_size < FGI_PROFILER_SIZE(fgi_profiler_extension, api))
        return NULL;
    const fgi_profiler_api *api = ((const fgi_profiler_extension *)(const void *)e)->api;
    const bool is_whole =
        api != NULL && api->struct_size >= FGI_PROFILER_SIZE(fgi_profiler_api, collect_data);
    return is_whole ? api : NULL;
}

bool fgi_client_has_profiler(const fg_client *client) { return find_api(client) != NULL; }

/* FG_OK if error is NULL; otherwise converts and destroys it. */
static fg_status check(const fgi_profiler *p, fgi_profiler_error *error, const char *operation,
                       fg_error *err)
{
    if (error == NULL)
        return FG_OK;
    fgi_profiler_error_text text = {
        .struct_size = FGI_PROFILER_SIZE(fgi_profiler_error_text, message_size), .error = error};
    p->api->error_message(&text);
    const int size = text.message_size < 4096 ? (int)text.message_size : 4096;
    const fg_status status =
        fgi_fail(err, FG_EDEVICE, "%s the profiler (%s): %.*s", operation, p->client->plugin.name,
                 size, text.message != NULL ? text.message : "");
    fgi_profiler_error_free destroy = {
        .struct_size = FGI_PROFILER_SIZE(fgi_profiler_error_free, error), .error = error};
    p->api->error_destroy(&destroy);
    return status;
}

static fg_status call(const fgi_profiler *p, fgi_profiler_error *(*function)(fgi_profiler_args *),
                      const char *operation, fg_error *err)
{
    fgi_profiler_args args = {.struct_size = FGI_PROFILER_SIZE(fgi_profiler_args, profiler),
                              .profiler = p->profiler};
    return check(p, function(&args), operation, err);
}

static fg_status create(fgi_profiler *p, fg_error *err)
{
    Fgi__Proto__ProfileOptions options = FGI__PROTO__PROFILE_OPTIONS__INIT;
    unsigned char packed[64];
    options.version = 1;
    options.host_tracer_level = 2;
    options.device_tracer_level = 1;
    options.enable_hlo_proto = true;
    options.start_timestamp_ns = (uint64_t)(fgi_wall_time() * 1e9);
    fgi_profiler_create_args args = {
        .struct_size = FGI_PROFILER_SIZE(fgi_profiler_create_args, profiler),
        .options = (const char *)packed,
        .options_size = fgi__proto__profile_options__pack(&options, packed)};
    FGI_TRY(check(p, p->api->create(&args), "creating", err));
    p->profiler = args.profiler;
    return FG_OK;
}

fg_status fgi_profiler_start(fg_client *client, fgi_profiler **out, fg_error *err)
{
    *out = NULL;
    if (!fgi_client_has_profiler(client))
        return fgi_fail(err, FG_EUNSUPPORTED, "the plugin %s has no profiler", client->plugin.name);
    fgi_profiler *p = fgi_calloc(1, sizeof *p);
    if (p == NULL)
        return fgi_no_memory(err);
    p->client = fgi_client_retain(client);
    p->api = find_api(client);
    fg_status status = create(p, err);
    if (status == FG_OK)
        status = call(p, p->api->start, "starting", err);
    p->is_running = status == FG_OK;
    if (status == FG_OK)
        *out = p;
    else
        fgi_profiler_destroy(p);
    return status;
}

/* The extension's header says: the first call returns the size, the second one fills the caller's
 * buffer. libtpu 0.0.52 and the CUDA plugin 0.12.0 return their own buffer from the first call, and
 * leave that of the caller unchanged. */
static fg_status collect(const fgi_profiler *p, unsigned char **out_data, size_t *out_size,
                         fg_error *err)
{
    fgi_profiler_data_args args = {.struct_size =
                                       FGI_PROFILER_SIZE(fgi_profiler_data_args, buffer_size),
                                   .profiler = p->profiler};
    FGI_TRY(check(p, p->api->collect_data(&args), "reading", err));
    const size_t size = args.buffer_size;
    unsigned char *data = fgi_calloc(1, size + 1);
    if (data == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (args.buffer != NULL) {
        memcpy(data, args.buffer, size);
    } else if (size > 0) {
        args.buffer = data;
        status = check(p, p->api->collect_data(&args), "reading", err);
    }
    if (status != FG_OK) {
        fgi_free(data);
        return status;
    }
    *out_data = data;
    *out_size = size;
    return FG_OK;
}

fg_status fgi_profiler_stop(fgi_profiler *profiler, unsigned char **out_data, size_t *out_size,
                            fg_error *err)
{
    *out_data = NULL;
    *out_size = 0;
    FGI_TRY(call(profiler, profiler->api->stop, "stopping", err));
    profiler->is_running = false;
    return collect(profiler, out_data, out_size, err);
}

void fgi_profiler_destroy(fgi_profiler *profiler)
{
    if (profiler == NULL)
        return;
    fg_error ignored = {0};
    if (profiler->is_running)
        (void)call(profiler, profiler->api->stop, "stopping", &ignored);
    if (profiler->profiler != NULL)
        (void)call(profiler, profiler->api->destroy, "destroying", &ignored);
    fgi_client_release(profiler->client);
    fgi_free(profiler);
}
