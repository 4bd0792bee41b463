/* client.c - opens a client: selects and loads a plugin, passes options to it, and collects its
 * devices, their properties and memory, counters and compilations. Closes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "base/thread.h"
#include "pjrt/plugin.h"

enum {
    CPU_DEVICES = 1,
    CPU_DEVICES_MAX = 1024,
    OPTIONS_MAX = 4,
    CANDIDATES_MAX = 64,
    FIRST_KEPT = FG_MAX_COMPILE_EVENTS / 2
};

static const char *const accelerators[] = {"tpu", "cuda",
                                           "cpu"}; /* the order in which "auto" tries them */
enum { ACCELERATORS = sizeof accelerators / sizeof accelerators[0] };

/* ---- creating the plugin's client ------------------------------------------------------------ */

PJRT_NamedValue fgi_named_value(const char *name, PJRT_NamedValue_Type type, size_t size)
{
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = type,
                             .value_size = size};
}

/* The user's options, and the parsed `devices` option. */
typedef struct request {
    const fg_client_options *opt;
    fgi_device_list devices;
} request;

/* As many as requested by number, or as required by the list of devices. */
static int cpu_device_count(const request *r)
{
    const int asked = r->opt->cpu_devices > 0 ? r->opt->cpu_devices : CPU_DEVICES;
    const int needed = fgi_device_list_needed(&r->devices);
    return needed > asked ? needed : asked;
}

/* The options that a platform supports. The first `needed` of them are mandatory if the plugin does
 * not know all. An option of a wrong type would terminate the process, so each platform's options
 * are listed only here. */
typedef struct create_options {
    PJRT_NamedValue option[OPTIONS_MAX];
    size_t count, needed, visible_count;
    int64_t visible[FGI_DEVICES_MAX];
} create_options;

static PJRT_NamedValue *add(create_options *out, const char *name, PJRT_NamedValue_Type type)
{
    out->option[out->count] = fgi_named_value(name, type, 1);
    return &out->option[out->count++];
}

/* Only the selected devices: the plugin allocates memory on all devices that it sees. */
static void add_visible(create_options *out, const request *r)
{
    out->visible_count = fgi_device_list_ascending(&r->devices, out->visible);
    if (out->visible_count == 0)
        return;
    PJRT_NamedValue *value = add(out, "visible_devices", PJRT_NamedValue_kInt64List);
    value->int64_array_value = out->visible;
    value->value_size = out->visible_count;
}

/* Source of CUDA's options: XLA, pjrt_c_api_gpu_internal.cc. By default it would allocate 3/4 of
 * the memory immediately. */
static void fill_options(const char *accelerator, const request *r, create_options *out)
{
    out->count = out->needed = out->visible_count = 0;
    if (accelerator && strcmp(accelerator, "cpu") == 0) {
        /* its default would be 4 */
        add(out, "cpu_device_count", PJRT_NamedValue_kInt64)->int64_value = cpu_device_count(r);
        out->needed = out->count;
    } else if (accelerator && strcmp(accelerator, "cuda") == 0) {
        add(out, "preallocate", PJRT_NamedValue_kBool)->bool_value = r->opt->preallocate;
        if (r->opt->memory_fraction > 0)
            add(out, "memory_fraction", PJRT_NamedValue_kFloat)->float_value =
                (float)r->opt->memory_fraction;
        add_visible(out, r);
    }
}

static PJRT_Error *create(fg_client *c, const PJRT_NamedValue *options, size_t count)
{
    FGI_ARGS(PJRT_Client_Create_Args, args, .create_options = options, .num_options = count);
    PJRT_Error *error = c->plugin.api->PJRT_Client_Create(&args);
    c->client = error ? NULL : args.client;
    return error;
}

/* Whether an error's message contains `words`. The caller still owns the error. */
static bool says(const fgi_plugin *plugin, const PJRT_Error *error, const char *words)
{
    FGI_ARGS(PJRT_Error_Message_Args, args, .error = error);
    plugin->api->PJRT_Error_Message(&args);
    return args.message && memmem(args.message, args.message_size, words, strlen(words));
}

/* Removes the options that the error message mentions, or all optional ones if it mentions none of
 * them. */
static void leave_out(const fg_client *c, const PJRT_Error *error, create_options *options)
{
    size_t kept = options->needed;
    for (size_t i = options->needed; i < options->count; i++) {
        if (!says(&c->plugin, error, options->option[i].name))
            options->option[kept++] = options->option[i];
        else if (options->option[i].type == PJRT_NamedValue_kInt64List)
            options->visible_count = 0;
    }
    if (kept == options->count) {
        kept = options->needed;
        options->visible_count = 0;
    }
    options->count = kept;
}

static fg_status create_client(fg_client *c, const char *accelerator, const request *r,
                               fg_error *err)
{
    create_options options;
    fill_options(accelerator, r, &options);
    const fgi_pjrt_call place = {.operation = "making a client", .status = FG_EPLUGIN};
    PJRT_Error *error = create(c, options.option, options.count);
    /* An older or newer plugin may not support an option; running without it is better than
     * failing. */
    while (error && options.count > options.needed &&
           says(&c->plugin, error, "Unexpected option")) {
        const size_t count = options.count;
        leave_out(c, error, &options);
        (void)fgi_ignore(&c->plugin, error);
        fgi_log(FG_LOG_INFO, "%s does not support all client options: ignoring %zu", c->plugin.name,
                count - options.count);
        error = create(c, options.option, options.count);
    }
    c->sees_chosen_only = options.visible_count > 0;
    if (!error)
        return FG_OK;
    return fgi_explain_refusal(NULL, accelerator, fgi_plugin_fail(&c->plugin, error, &place, err),
                               err);
}

/* ---- properties of the client ---------------------------------------------------------------- */

static const char *keep(fg_client *c, const char *text, size_t size)
{
    char *copy = fgi_arena_alloc(&c->arena, size + 1);
    if (copy && size > 0)
        memcpy(copy, text, size);
    return copy;
}

static fgi_platform platform_of(const char *name)
{
    if (strcmp(name, "cpu") == 0)
        return FGI_CPU;
    if (strcmp(name, "tpu") == 0)
        return FGI_TPU;
    return strcmp(name, "cuda") == 0 || strcmp(name, "gpu") == 0 ? FGI_CUDA : FGI_OTHER;
}

fg_status fgi_client_set_platform(fg_client *c, fgi_str name, fgi_str version, fg_error *err)
{
    const char *platform = keep(c, name.data, name.size);
    c->info.platform_version = keep(c, version.data, version.size);
    if (!platform || !c->info.platform_version)
        return fgi_no_memory(err);
    c->platform = platform_of(platform);
    c->info.platform = c->platform == FGI_CUDA ? "cuda" : platform;
    c->info.plugin_path = c->plugin.path;
    c->info.api_major = c->plugin.api->pjrt_api_version.major_version;
    c->info.api_minor = c->plugin.api->pjrt_api_version.minor_version;
    return FG_OK;
}

static fg_status read_platform(fg_client *c, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "querying the platform", FG_EPLUGIN};
    FGI_CALL(PJRT_Client_PlatformName, name, place, err, .client = c->client);
    FGI_CALL(PJRT_Client_PlatformVersion, version, place, err, .client = c->client);
    FGI_CALL(PJRT_Client_ProcessIndex, process, place, err, .client = c->client);
    c->info.process_index = process.process_index;
    return fgi_client_set_platform(
        c, (fgi_str){name.platform_name, name.platform_name_size},
        (fgi_str){version.platform_version, version.platform_version_size}, err);
}

fg_status fgi_client_read_description(fg_client *c, PJRT_DeviceDescription *about, fgi_device *out,
                                      fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "querying a device", FG_EPLUGIN};
    FGI_CALL(PJRT_DeviceDescription_Id, id, place, err, .device_description = about);
    FGI_CALL(PJRT_DeviceDescription_ProcessIndex, process, place, err, .device_description = about);
    FGI_CALL(PJRT_DeviceDescription_Kind, kind, place, err, .device_description = about);
    FGI_CALL(PJRT_DeviceDescription_ToString, text, place, err, .device_description = about);
    *out = (fgi_device){.id = id.id,
                        .process = process.process_index,
                        .kind = keep(c, kind.device_kind, kind.device_kind_size),
                        .description = keep(c, text.to_string, text.to_string_size),
                        .label = fgi_arena_printf(&c->arena, "%s:%d", c->info.platform, id.id),
                        .memory_limit_bytes = -1};
    return out->kind && out->description && out->label ? FG_OK : fgi_no_memory(err);
}

static fg_status read_device(fg_client *c, PJRT_Device *device, fgi_device *out, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "querying a device", FG_EPLUGIN};
    FGI_CALL(PJRT_Device_GetDescription, get, place, err, .device = device);
    FGI_TRY(fgi_client_read_description(c, get.device_description, out, err));
    out->device = device;
    return FG_OK;
}

static int by_process_and_id(const void *a, const void *b)
{
    const fgi_device *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

fg_status fgi_client_make_world(fg_client *c, size_t count, fg_error *err)
{
    if (count > 1 << 20)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' has %zu devices", c->plugin.path, count);
    c->info.global_device_count = (int)count;
    c->world = fgi_arena_alloc(&c->arena, (count + 1) * sizeof *c->world);
    return c->world ? FG_OK : fgi_no_memory(err);
}

/* The devices of all processes, and their number. */
static fg_status read_world(fg_client *c, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "listing the devices", FG_EPLUGIN};
    FGI_CALL(PJRT_Client_Devices, list, place, err, .client = c->client);
    FGI_TRY(fgi_client_make_world(c, list.num_devices, err));
    c->info.process_count = c->info.process_index + 1;
    for (size_t i = 0; i < list.num_devices; i++) {
        FGI_CALL(PJRT_Device_GetDescription, get, place, err, .device = list.devices[i]);
        FGI_CALL(PJRT_DeviceDescription_Id, id, place, err,
                 .device_description = get.device_description);
        FGI_CALL(PJRT_DeviceDescription_ProcessIndex, process, place, err,
                 .device_description = get.device_description);
        c->world[i] = (fgi_mesh_device){.id = id.id, .process = process.process_index};
        if (process.process_index >= c->info.process_count)
            c->info.process_count = process.process_index + 1;
    }
    fgi_mesh_sort_devices(c->world, c->info.global_device_count, c->info.process_index);
    c->info.host_count = c->info.process_count;
    return FG_OK;
}

static fg_status read_devices(fg_client *c, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "listing the devices", FG_EPLUGIN};
    FGI_CALL(PJRT_Client_AddressableDevices, list, place, err, .client = c->client);
    if (list.num_addressable_devices == 0 || list.num_addressable_devices > 1 << 16)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' has %zu devices for this process",
                        c->plugin.path, list.num_addressable_devices);
    const int count = (int)list.num_addressable_devices;
    c->devices = fgi_arena_alloc(&c->arena, (size_t)count * sizeof *c->devices);
    if (!c->devices)
        return fgi_no_memory(err);
    for (int i = 0; i < count; i++)
        FGI_TRY(read_device(c, list.addressable_devices[i], &c->devices[i], err));
    c->info.device_count = count;
    return FG_OK;
}

/* Number of hosts of a topology's selected devices. */
static int count_hosts(const fg_client *c)
{
    int hosts = 0;
    for (int i = 0; i < c->info.device_count; i++) {
        const int host = c->devices[i].process;
        int before = i - 1; /* devices of a host are adjacent, unless a list changes the order */
        while (before >= 0 && c->devices[before].process != host)
            before--;
        hosts += before < 0;
    }
    return hosts;
}

/* The selected devices, by (process, id) unless a list defines the order. */
static fg_status choose_devices(fg_client *c, const request *r, fg_error *err)
{
    fgi_device_list chosen = r->devices;
    qsort(c->devices, (size_t)c->info.device_count, sizeof *c->devices, by_process_and_id);
    if (c->sees_chosen_only) {
        const int requested = fgi_device_list_size(&chosen);
        if (c->info.device_count < requested)
            return fgi_fail(
                err, FG_ENOTFOUND,
                "devices '%s' were requested, but only %d of them are available; `fulgurite "
                "devices` lists all",
                r->opt->devices, c->info.device_count);
        fgi_device_list_renumber(&chosen);
    }
    const int all = c->info.device_count;
    FGI_TRY(fgi_device_list_choose(&chosen, c->info.platform, c->devices, sizeof *c->devices,
                                   &c->info.device_count, err));
    FGI_TRY(fgi_check_cores(c->devices[0].kind, c->info.device_count, all, err));
    if (c->topology)
        c->info.host_count = count_hosts(c);
    c->label = c->info.device_count == 1 ? c->devices[0].label : c->info.platform;
    return FG_OK;
}

/* Indexes of the client's devices, in their order; with a topology, devices of other hosts are
 * included. */
static fg_status make_mesh(fg_client *c, const fg_mesh_options *options, fg_error *err)
{
    const int count = c->info.device_count;
    fgi_mesh_device *devices = fgi_arena_alloc(&c->arena, (size_t)count * sizeof *devices);
    if (!devices)
        return fgi_no_memory(err);
    for (int i = 0; i < count; i++)
        devices[i] = (fgi_mesh_device){c->devices[i].id, c->devices[i].process, i};
    FGI_TRY(fgi_mesh_init(&c->mesh, options, devices, count, err));
    c->info.mesh.axis_count = c->mesh.axis_count;
    memcpy(c->info.mesh.axes, c->mesh.axes, sizeof c->mesh.axes);
    c->info.mesh.batch_shards = c->mesh.batch_shards;
    return FG_OK;
}

static fg_status check_platform(const fg_client *c, const char *named_one, fg_error *err)
{
    if (!named_one || strcmp(named_one, "auto") == 0 || strcmp(named_one, c->info.platform) == 0)
        return FG_OK;
    return fgi_fail(err, FG_EPLUGIN, "plugin '%s' is for '%s', but '%s' was requested",
                    c->plugin.path, c->info.platform, named_one);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The plugin's client, its platform and its devices. */
static fg_status open_devices(fg_client *c, const char *accelerator, const request *r,
                              fg_error *err)
{
    FGI_TRY(create_client(c, accelerator, r, err));
    FGI_TRY(read_platform(c, err));
    FGI_TRY(check_platform(c, r->opt->accelerator, err));
    FGI_TRY(read_world(c, err));
    return read_devices(c, err);
}

/* The same for a topology. */
static fg_status open_topology(fg_client *c, const request *r, fg_error *err)
{
    fgi_topology_name name;
    FGI_TRY(fgi_topology_parse(r->opt->topology, &name, err));
    FGI_TRY(fgi_topology_open(c, r->opt->topology, &name, err));
    return check_platform(c, name.accelerator, err);
}

static fg_status open_path(const char *path, const char *accelerator, const request *r,
                           fg_client **out, fg_error *err)
{
    const fgi_plugin_use use = {accelerator, r->opt->show_plugin_log, r->opt->topology != NULL};
    fg_status status;
    fg_client *c = fgi_calloc(1, sizeof *c);
    if (!c)
        return fgi_no_memory(err);
    atomic_init(&c->references, 1);
    fgi_arena_init(&c->arena);
    const char *kept = fgi_arena_strdup(&c->arena, path);
    FGI_DONE(kept ? FG_OK : fgi_no_memory(err));
    status = fgi_plugin_load(kept, &use, &c->plugin, err);
    if (status != FG_OK && c->plugin.has_refused && r->opt->topology == NULL)
        status = fgi_explain_refusal(NULL, accelerator, status, err);
    FGI_DONE(status);
    FGI_DONE(r->opt->topology ? open_topology(c, r, err) : open_devices(c, accelerator, r, err));
    FGI_DONE(choose_devices(c, r, err));
    FGI_DONE(make_mesh(c, &r->opt->mesh, err));
    /* a program compiled without devices cannot be loaded without them, so caching it is useless */
    if (!r->opt->topology)
        FGI_DONE(fgi_cache_open(c, r->opt->cache_dir, err));
    FGI_DONE(fgi_mutex_init(&c->lock, err));
    c->has_lock = true;
    fgi_client_add_kernels(c, r->opt->kernels);
done:
    if (status != FG_OK) {
        fg_client_close(c);
        c = NULL;
    }
    *out = c;
    return status;
}

/* Opens the first plugin that exists. */
static fg_status open_accelerator(const char *accelerator, const request *r, fg_client **out,
                                  fg_error *err)
{
    size_t count = 0, i = 0;
    fg_plugin_candidate *places = fgi_calloc(CANDIDATES_MAX, sizeof *places);
    if (!places)
        return fgi_no_memory(err);
    fg_client_options options = *r->opt;
    options.accelerator = accelerator;
    fg_status status = fg_plugin_search(&options, places, CANDIDATES_MAX, &count, err);
    if (status == FG_OK) {
        count = count < CANDIDATES_MAX ? count : CANDIDATES_MAX;
        /* A plugin requested by path is used as is, even if it does not exist. */
        while (i < count && !places[i].exists && strcmp(places[i].source, "FULGURITE_PLUGIN") != 0)
            i++;
        if (i < count)
            status = open_path(places[i].path, accelerator, r, out, err);
        else
            status = r->opt->topology != NULL
                         ? fgi_explain_no_compiler(accelerator, places, count, err)
                         : fgi_explain_missing(NULL, accelerator, places, count, err);
    }
    fgi_free(places);
    return status;
}

/* Tries TPU, then GPU, then CPU: the first one that the machine has and whose plugin works. */
static fg_status open_auto(const request *r, fg_client **out, fg_error *err)
{
    const char *variable = getenv("FULGURITE_PLUGIN");
    if (variable && *variable)
        return open_path(variable, fgi_accelerator_of_file(variable), r, out, err);
    for (int i = 0; i < ACCELERATORS - 1; i++) {
        fg_error why = {0};
        if (!fgi_machine_has("", accelerators[i]))
            continue;
        const fg_status status = open_accelerator(accelerators[i], r, out, &why);
        if (status == FG_OK || status == FG_ENOMEM) {
            if (status != FG_OK)
                return fgi_no_memory(err);
            return FG_OK;
        }
        fgi_log(FG_LOG_WARNING, "%s", why.message);
    }
    return open_accelerator("cpu", r, out, err);
}

static fg_status check_options(const fg_client_options *opt, fg_error *err)
{
    const char *name = opt->accelerator ? opt->accelerator : "auto";
    bool known = strcmp(name, "auto") == 0;
    for (int i = 0; i < ACCELERATORS; i++)
        known = known || strcmp(name, accelerators[i]) == 0;
    if (!known)
        return fgi_fail(err, FG_EINVAL, "unknown accelerator '%s': expected auto, cpu, cuda or tpu",
                        name);
    if (opt->cpu_devices < 0 || opt->cpu_devices > CPU_DEVICES_MAX)
        return fgi_fail(err, FG_EINVAL, "cpu_devices is %d: expected 1 to %d (0 means 1)",
                        opt->cpu_devices, CPU_DEVICES_MAX);
    if (opt->kernels != NULL && strcmp(opt->kernels, "auto") != 0 &&
        strcmp(opt->kernels, "own") != 0 && strcmp(opt->kernels, "none") != 0)
        return fgi_fail(err, FG_EINVAL, "kernels is '%s': expected auto, own or none",
                        opt->kernels);
    if (!(opt->memory_fraction >= 0 && opt->memory_fraction <= 1))
        return fgi_fail(err, FG_EINVAL, "memory_fraction is %g: expected 0 to 1",
                        opt->memory_fraction);
    return FG_OK;
}

fg_status fg_client_open(const fg_client_options *options, fg_client **out, fg_error *err)
{
    static const fg_client_options defaults = {.accelerator = "auto"};
    const fg_client_options *opt = options ? options : &defaults;
    *out = NULL;
    request r = {.opt = opt};
    FGI_TRY_RESERVED(fg_client_options, opt, err);
    FGI_TRY_RESERVED(fg_mesh_options, &opt->mesh, err);
    FGI_TRY(check_options(opt, err));
    FGI_TRY(fgi_device_list_parse(opt->devices, &r.devices, err));
    const char *accelerator = opt->accelerator;
    if (accelerator && strcmp(accelerator, "auto") == 0)
        accelerator = NULL;
    if (opt->topology) {
        fgi_topology_name name;
        FGI_TRY(fgi_topology_parse(opt->topology, &name, err));
        if (accelerator && strcmp(accelerator, name.accelerator) != 0)
            return fgi_fail(err, FG_EINVAL, "topology '%s' is for '%s', but '%s' was requested",
                            opt->topology, name.accelerator, accelerator);
        accelerator = name.accelerator;
    }
    if (opt->plugin_path && *opt->plugin_path) {
        if (!accelerator)
            accelerator = fgi_accelerator_of_file(opt->plugin_path);
        return open_path(opt->plugin_path, accelerator, &r, out, err);
    }
    return accelerator ? open_accelerator(accelerator, &r, out, err) : open_auto(&r, out, err);
}

/* ---- questions ------------------------------------------------------------------------------- */

const fg_client_info *fg_client_info_of(const fg_client *client) { return &client->info; }

fgi_platform fgi_client_platform(const fg_client *client) { return client->platform; }

const fgi_mesh *fgi_client_mesh(const fg_client *client) { return &client->mesh; }

bool fgi_client_is_compile_only(const fg_client *client) { return client->topology != NULL; }

void fgi_client_set_plain(fg_client *client, const char *rule) { client->plain = rule; }

const char *fgi_client_plain(const fg_client *client) { return client->plain; }

fgi_support fgi_client_support(const fg_client *client, fg_dtype dtype)
{
    if (client->platform == FGI_TPU && (dtype == FG_F16 || dtype == FG_F64))
        return FGI_UNSUPPORTED;
    return client->platform == FGI_CPU && dtype == FG_F16 ? FGI_WIDENED : FGI_NATIVE;
}

bool fgi_client_rounds_operands(const fg_client *client) { return client->platform != FGI_CPU; }

int fgi_accelerator_devices(const char *accelerator)
{
    return accelerator != NULL && strcmp(accelerator, "cpu") == 0 ? CPU_DEVICES : 0;
}

bool fgi_client_is_virtual(const fg_client *client)
{
    return client->platform == FGI_CPU && client->info.device_count > 1;
}

bool fgi_client_reads_host(const fg_client *client) { return client->platform == FGI_CPU; }

fg_status fg_device_info_at(const fg_client *client, int index, fg_device_info *out, fg_error *err)
{
    *out = (fg_device_info){.id = -1};
    if (index < 0 || index >= client->info.device_count)
        return fgi_fail(err, FG_EINVAL, "device %d does not exist: the client has %d", index,
                        client->info.device_count);
    const fgi_device *d = &client->devices[index];
    const fgi_mesh *mesh = &client->mesh;
    const int number = fgi_mesh_device_number(mesh, index);
    *out = (fg_device_info){.id = d->id,
                            .process = d->process,
                            .batch_shard = fgi_mesh_shard_of(mesh, mesh->batch, number),
                            .kind = d->kind,
                            .description = d->description,
                            .memory_used_bytes = -1,
                            .memory_peak_bytes = -1,
                            .memory_limit_bytes = d->memory_limit_bytes};
    for (int i = 0; i < mesh->axis_count; i++)
        out->coordinates[i] = fgi_mesh_coordinate(mesh, i, number);
    if (!d->device)
        return FG_OK;
    const PJRT_Api *api = client->plugin.api;
    FGI_ARGS(PJRT_Device_MemoryStats_Args, stats, .device = d->device);
    if (!fgi_ignore(&client->plugin, api->PJRT_Device_MemoryStats(&stats)))
        return FG_OK;
    out->memory_used_bytes = stats.bytes_in_use;
    if (stats.peak_bytes_in_use_is_set)
        out->memory_peak_bytes = stats.peak_bytes_in_use;
    if (stats.bytes_limit_is_set)
        out->memory_limit_bytes = stats.bytes_limit;
    return FG_OK;
}

fg_client_stats fg_client_stats_of(const fg_client *client)
{
    const fg_client_stats *without = &client->unlisted;
    return (fg_client_stats){
        .compiles = atomic_load(&client->stats.compiles) - without->compiles,
        .compile_cache_hits = atomic_load(&client->stats.cache_hits) - without->compile_cache_hits,
        .compile_s = (double)atomic_load(&client->stats.compile_ns) * 1e-9 - without->compile_s,
        .executions = atomic_load(&client->stats.executions) - without->executions,
        .host_reads = atomic_load(&client->stats.host_reads) - without->host_reads,
        .uploaded_bytes = atomic_load(&client->stats.uploaded_bytes) - without->uploaded_bytes,
        .in_place_bytes = atomic_load(&client->stats.in_place_bytes) - without->in_place_bytes,
    };
}

/* ---- checks ---------------------------------------------------------------------------------- */

void fgi_client_begin_check(fg_client *client)
{
    client->stats_before = fg_client_stats_of(client);
    client->is_checked = true;
}

/* Launches are numbered, so the counters themselves do not go back. */
void fgi_client_end_check(fg_client *client)
{
    const fg_client_stats *before = &client->stats_before, now = fg_client_stats_of(client);
    fg_client_stats *add = &client->unlisted;
    add->compiles += now.compiles - before->compiles;
    add->compile_cache_hits += now.compile_cache_hits - before->compile_cache_hits;
    add->compile_s += now.compile_s - before->compile_s;
    add->executions += now.executions - before->executions;
    add->host_reads += now.host_reads - before->host_reads;
    add->uploaded_bytes += now.uploaded_bytes - before->uploaded_bytes;
    add->in_place_bytes += now.in_place_bytes - before->in_place_bytes;
    client->is_checked = false;
}

/* ---- compilations ----------------------------------------------------------------------------
 * The first and the latest ones are kept. */

void fgi_client_add_compile(fg_client *client, const fg_compile_event *event)
{
    if (client->is_checked)
        return;
    (void)pthread_mutex_lock(&client->lock);
    fg_compile_event *all = client->compile;
    if (client->compile_count == FG_MAX_COMPILE_EVENTS) {
        memmove(all + FIRST_KEPT, all + FIRST_KEPT + 1,
                (FG_MAX_COMPILE_EVENTS - FIRST_KEPT - 1) * sizeof *all);
        client->compile_count--;
    }
    all[client->compile_count++] = *event;
    (void)pthread_mutex_unlock(&client->lock);
}

size_t fg_client_compiles(const fg_client *client, fg_compile_event *out, size_t capacity)
{
    fg_client *c = (fg_client *)client;
    (void)pthread_mutex_lock(&c->lock);
    const size_t count = c->compile_count, n = count < capacity ? count : capacity;
    if (n > 0)
        memcpy(out, c->compile, n * sizeof *out);
    (void)pthread_mutex_unlock(&c->lock);
    return count;
}

/* ---- closing ---------------------------------------------------------------------------------
 * Arrays, programs and traces have a reference each, so they may be destroyed in any order. A
 * plugin's client must outlive its buffers and programs: the last reference destroys it. */

fg_client *fgi_client_retain(fg_client *client)
{
    if (client)
        (void)atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    return client;
}

void fgi_client_release(fg_client *client)
{
    if (!client || atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) != 1)
        return;
    if (client->client) {
        FGI_ARGS(PJRT_Client_Destroy_Args, args, .client = client->client);
        (void)fgi_ignore(&client->plugin, client->plugin.api->PJRT_Client_Destroy(&args));
    }
    fgi_topology_close(client);
    fgi_calls_free(client);
    if (client->has_lock)
        pthread_mutex_destroy(&client->lock);
    fgi_free(client->cache_dir);
    fgi_free(client->verdict_dir);
    fgi_arena_fini(&client->arena);
    fgi_free(client);
}

void fg_client_close(fg_client *client)
{
    if (!client)
        return;
    atomic_store(&client->is_closed, true); /* before the lists are emptied for the last time */
    fgi_donated_free(client, true);
    fgi_client_release(client);
}
