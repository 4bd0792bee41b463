/* executable.c - compiles StableHLO text, and loads and serializes compiled programs. Caching is in
 * program_cache.c, costs are in program_costs.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "pjrt/plugin.h"

/* ---- importing the plugin's handles ---------------------------------------------------------- */

/* The rows of argument lists are in the plugin's order of the program's devices. */
static fg_status map_rows(fgi_executable *e, fg_error *err)
{
    fg_client *c = e->client;
    const int requested = e->device_count;
    const fgi_pjrt_call place = {c, c->label, "querying a program's devices", FG_EDEVICE};
    FGI_CALL(PJRT_LoadedExecutable_AddressableDevices, list, place, err, .executable = e->loaded);
    e->device_count = (int)list.num_addressable_devices;
    if (e->device_count != requested)
        return fgi_fail(err, FG_EINVAL, "the program is for %d devices: expected %d",
                        e->device_count, requested);
    e->device_index = fgi_calloc((size_t)e->device_count, sizeof *e->device_index);
    if (!e->device_index)
        return fgi_no_memory(err);
    for (int row = 0; row < e->device_count; row++) {
        int i = 0;
        while (i < c->info.device_count && c->devices[i].device != list.addressable_devices[row])
            i++;
        if (i == c->info.device_count)
            return fgi_fail(err, FG_EINTERNAL, "a device of the program does not belong to %s",
                            c->label);
        e->device_index[row] = i;
    }
    return FG_OK;
}

/* The types of the outputs that the plugin reports: those on one device. */
static fg_status read_types(const fgi_executable *e, fg_type *out, fg_error *err)
{
    const fg_client *c = e->client;
    const fgi_pjrt_call place = {c, c->label, "querying a program's outputs", FG_EDEVICE};
    FGI_CALL(PJRT_Executable_OutputElementTypes, types, place, err, .executable = e->executable);
    FGI_CALL(PJRT_Executable_OutputDimensions, dims, place, err, .executable = e->executable);
    if (types.num_output_types != e->out_count || dims.num_outputs != e->out_count)
        return fgi_fail(err, FG_EINTERNAL,
                        "%s reports contradictory information about a program's outputs",
                        c->plugin.name);
    const int64_t *dim = dims.dims;
    for (size_t i = 0; i < e->out_count; i++) {
        out[i] = (fg_type){.dtype = fgi_dtype_from_pjrt(types.output_types[i]),
                           .rank = (int)dims.dim_sizes[i]};
        if (out[i].dtype == FG_DTYPE_NONE || dims.dim_sizes[i] > FG_MAX_RANK)
            return fgi_fail(
                err, FG_EUNSUPPORTED,
                "output %zu of the program has a dtype or a rank (%zu) that arrays do not support",
                i, dims.dim_sizes[i]);
        if (dims.dim_sizes[i] > 0) /* all scalars: the plugin returns no list */
            memcpy(out[i].dim, dim, dims.dim_sizes[i] * sizeof *dim);
        dim += dims.dim_sizes[i];
    }
    return FG_OK;
}

/* The types of the outputs from the caller, who knows the global ones, or else from the plugin. */
static fg_status set_types(fgi_executable *e, const fgi_compile_options *options, fg_error *err)
{
    const fg_client *c = e->client;
    const fgi_pjrt_call place = {c, c->label, "querying a program's outputs", FG_EDEVICE};
    FGI_CALL(PJRT_Executable_NumOutputs, outputs, place, err, .executable = e->executable);
    e->out_count = outputs.num_outputs;
    if (options->out_types && e->out_count != options->out_count)
        return fgi_fail(err, FG_EINVAL, "the program has %zu outputs: expected %zu", e->out_count,
                        options->out_count);
    e->out_types = fgi_calloc(e->out_count + 1, sizeof *e->out_types);
    e->out_shardings = fgi_calloc(e->out_count + 1, sizeof *e->out_shardings);
    if (!e->out_types || !e->out_shardings)
        return fgi_no_memory(err);
    if (!options->out_types || e->partition_count == 1)
        FGI_TRY(read_types(e, e->out_types, err));
    for (size_t i = 0; i < e->out_count && options->out_types; i++) {
        char requested[96], got[96];
        const fg_type *type = &options->out_types[i];
        if (e->partition_count == 1 && memcmp(type, &e->out_types[i], sizeof *type) != 0)
            return fgi_fail(err, FG_EINVAL, "output %zu of the program is %s: expected %s", i,
                            fg_type_format(&e->out_types[i], got, sizeof got),
                            fg_type_format(type, requested, sizeof requested));
        e->out_types[i] = *type;
        if (options->out_shardings)
            e->out_shardings[i] = options->out_shardings[i];
    }
    return FG_OK;
}

static void release_handles(const fgi_executable *executable)
{
    const fgi_plugin *plugin = &executable->client->plugin;
    if (executable->executable) {
        FGI_ARGS(PJRT_Executable_Destroy_Args, args, .executable = executable->executable);
        (void)fgi_ignore(plugin, plugin->api->PJRT_Executable_Destroy(&args));
    }
    if (executable->loaded) {
        FGI_ARGS(PJRT_LoadedExecutable_Destroy_Args, args, .executable = executable->loaded);
        (void)fgi_ignore(plugin, plugin->api->PJRT_LoadedExecutable_Destroy(&args));
    }
}

static void destroy(fgi_executable *executable)
{
    release_handles(executable);
    fgi_scratch_free(atomic_load(&executable->scratch));
    fgi_free(executable->device_index);
    fgi_free(executable->out_types);
    fgi_free(executable->out_shardings);
    fgi_client_release(executable->client);
    fgi_free(executable);
}

/* The devices that the program runs on, if there are devices. */
static fg_status take_over(fgi_executable *e, const fgi_compile_options *options, fg_error *err)
{
    const fg_client *c = e->client;
    e->partition_count = fgi_partition_count(c, options);
    e->device_count = options->all_processes ? c->info.device_count : e->partition_count;
    if (!e->loaded)
        return FG_OK;
    const fgi_pjrt_call place = {c, c->label, "loading a program", FG_EDEVICE};
    FGI_CALL(PJRT_LoadedExecutable_GetExecutable, get, place, err, .loaded_executable = e->loaded);
    e->executable = get.executable;
    return map_rows(e, err);
}

/* Handles of the plugin: a loaded program, or only a compiled one. */
typedef struct compiled {
    PJRT_LoadedExecutable *loaded;
    PJRT_Executable *executable;
} compiled;

/* Takes ownership of `from`, also on failure. */
static fg_status wrap(fg_client *c, compiled from, const fgi_compile_options *options,
                      fgi_executable **out, fg_error *err)
{
    fg_status status;
    fgi_executable none = {.client = c, .loaded = from.loaded, .executable = from.executable};
    fgi_executable *e = fgi_calloc(1, sizeof *e);
    if (!e) {
        release_handles(&none);
        return fgi_no_memory(err);
    }
    e->client = fgi_client_retain(c);
    e->references = 1;
    e->loaded = from.loaded;
    e->executable = from.executable;
    FGI_DONE(take_over(e, options, err));
    FGI_DONE(set_types(e, options, err));
    e->reused_bytes = fgi_executable_reused_bytes(e);
done:
    if (status != FG_OK) {
        destroy(e);
        e = NULL;
    }
    *out = e;
    return status;
}

/* ---- programs in use ----------------------------------------------------------------- A program
 * that is equal to one that is still referenced is shared: it is compiled and stored only once. */

static fgi_executable *find_held(fg_client *c, fgi_hash key)
{
    (void)pthread_mutex_lock(&c->lock);
    fgi_executable *e = c->programs;
    while (e && !fgi_hash_equal(e->key, key))
        e = e->next;
    if (e)
        e->references++;
    (void)pthread_mutex_unlock(&c->lock);
    return e;
}

static void hold(fg_client *c, fgi_executable *e, fgi_hash key)
{
    (void)pthread_mutex_lock(&c->lock);
    e->key = key;
    e->next = c->programs;
    c->programs = e;
    (void)pthread_mutex_unlock(&c->lock);
}

void fgi_executable_destroy(fgi_executable *executable)
{
    if (!executable)
        return;
    fg_client *c = executable->client;
    (void)pthread_mutex_lock(&c->lock);
    const bool is_last = --executable->references == 0;
    fgi_executable **at = &c->programs;
    while (is_last && *at && *at != executable)
        at = &(*at)->next;
    if (is_last && *at)
        *at = executable->next;
    (void)pthread_mutex_unlock(&c->lock);
    if (is_last)
        destroy(executable);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static fg_status compile(fg_client *c, const char *text, size_t text_size,
                         const unsigned char *packed, size_t packed_size, bool is_optimized,
                         compiled *out, fg_error *err)
{
    const char *format = is_optimized ? "hlo" : "mlir";
    /* The plugin only reads the text: the field is not const because another function writes it. */
    char *code;
    memcpy(&code, &text, sizeof code);
    FGI_ARGS(PJRT_Program, program, .code = code, .code_size = text_size, .format = format,
             .format_size = strlen(format));
    FGI_ARGS(PJRT_Client_Compile_Args, args, .client = c->client, .program = &program,
             .compile_options = (const char *)packed, .compile_options_size = packed_size);
    FGI_ARGS(PJRT_Compile_Args, alone, .topology = c->topology, .program = &program,
             .compile_options = (const char *)packed, .compile_options_size = packed_size);
    const fgi_pjrt_call place = {c, c->label, "compiling", FG_ECOMPILE};
    if (c->topology)
        FGI_TRY(fgi_check(c->plugin.api->PJRT_Compile(&alone), &place, err));
    else
        FGI_TRY(fgi_check(c->plugin.api->PJRT_Client_Compile(&args), &place, err));
    *out = c->topology ? (compiled){.executable = alone.executable}
                       : (compiled){.loaded = args.executable};
    (void)atomic_fetch_add(&c->stats.compiles, 1);
    return FG_OK;
}

typedef enum found { IN_USE, IN_CACHE, NOWHERE } found; /* a program */

static fg_status load_or_compile(fg_client *c, const char *text, size_t text_size, fgi_str key_text,
                                 const fgi_compile_options *options, fgi_executable **out,
                                 found *out_found, fg_error *err)
{
    unsigned char *packed = NULL;
    size_t packed_size = 0;
    compiled fresh = {0};
    const bool uses_cache = c->cache_dir && !c->is_checked;
    fg_status status;
    FGI_DONE(fgi_compile_options_pack(c, options, &packed, &packed_size, err));
    const fgi_hash key = fgi_cache_key(c, packed, packed_size, key_text.data, key_text.size);
    *out = find_held(c, key);
    if (*out)
        goto done;
    const int64_t begin = fgi_timeline_begin();
    if (uses_cache)
        *out = fgi_cache_load(c, key, options);
    *out_found = *out ? IN_CACHE : NOWHERE;
    if (*out) {
        fgi_timeline_end(begin, "compile", "load program", -1);
        (void)atomic_fetch_add(&c->stats.cache_hits, 1);
    } else {
        FGI_DONE(
            compile(c, text, text_size, packed, packed_size, options->is_optimized, &fresh, err));
        FGI_DONE(wrap(c, fresh, options, out, err));
        fgi_timeline_end(begin, "compile", "compile", -1);
        if (uses_cache)
            fgi_cache_store(c, key, *out);
    }
    hold(c, *out, key);
done:
    fgi_free(packed);
    return status;
}

fg_status fgi_compile(fg_client *client, const char *text, size_t text_size, const char *key_text,
                      size_t key_size, const fgi_compile_options *options, fgi_executable **out,
                      fg_error *err)
{
    static const fgi_compile_options defaults = {.device_count = 1};
    const int64_t start = fgi_now_ns();
    *out = NULL;
    const fgi_str key = key_text ? (fgi_str){key_text, key_size} : (fgi_str){text, text_size};
    found where = IN_USE;
    if (!options)
        options = &defaults;
    const fg_status status =
        load_or_compile(client, text, text_size, key, options, out, &where, err);
    const int64_t time_ns = fgi_now_ns() - start;
    (void)atomic_fetch_add(&client->stats.compile_ns, time_ns);
    if (status == FG_OK && where != IN_USE) {
        fg_compile_event event = {.program = "program", .step = -1};
        event = options->event ? *options->event : event;
        event.seconds = (double)time_ns * 1e-9;
        event.is_cached = where == IN_CACHE;
        fgi_client_add_compile(client, &event);
    }
    return status;
}

fg_status fgi_recompile(const fgi_executable *executable, const void *module, size_t size,
                        const fgi_flag *flags, size_t flag_count, fgi_executable **out,
                        fg_error *err)
{
    const fgi_executable *e = executable;
    const fgi_compile_options options = {.device_count = e->device_count,
                                         .device_index = e->device_index,
                                         .flags = flags,
                                         .flag_count = flag_count,
                                         .out_types = e->out_types,
                                         .out_shardings = e->out_shardings,
                                         .out_count = e->out_count,
                                         .is_optimized = true};
    return fgi_compile(e->client, module, size, NULL, 0, &options, out, err);
}

/* ---- serialized programs --------------------------------------------------------------------- */

fg_status fgi_executable_serialize(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err)
{
    const fg_client *c = executable->client;
    *out_data = NULL;
    *out_size = 0;
    const fgi_pjrt_call place = {c, c->label, "serializing a program", FG_EUNSUPPORTED};
    FGI_CALL(PJRT_Executable_Serialize, args, place, err, .executable = executable->executable);
    char *data = fgi_alloc(args.serialized_bytes_size + 1);
    if (data) {
        memcpy(data, args.serialized_bytes, args.serialized_bytes_size);
        *out_data = data;
        *out_size = args.serialized_bytes_size;
    }
    args.serialized_executable_deleter(args.serialized_executable);
    return data ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_executable_load(fg_client *client, const char *data, size_t size,
                              const fgi_compile_options *options, fgi_executable **out,
                              fg_error *err)
{
    static const fgi_compile_options defaults = {.device_count = 1};
    *out = NULL;
    if (client->topology)
        return fgi_topology_refuse(client, "loading a compiled program", err);
    const fgi_pjrt_call place = {client, client->label, "loading a compiled program", FG_EFORMAT};
    FGI_CALL(PJRT_Executable_DeserializeAndLoad, args, place, err, .client = client->client,
             .serialized_executable = data, .serialized_executable_size = size);
    return wrap(client, (compiled){.loaded = args.loaded_executable}, options ? options : &defaults,
                out, err);
}
