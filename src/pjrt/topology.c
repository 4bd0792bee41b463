/* topology.c - clients without devices: programs are compiled for a machine that the plugin
 * describes. Operations on devices fail with FG_EUNSUPPORTED.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pjrt/plugin.h"
#include "base/print.h"

enum { OPTIONS_MAX = 4, GPU_TEXT_MAX = 2048 };

/* ---- creating a topology --------------------------------------------------------------------- */

/* XLA's GpuTargetConfigProto as text: the properties that its compiler otherwise queries from a
 * device. */
static void describe_gpu(const fgi_gpu *gpu, char out[GPU_TEXT_MAX])
{
    (void)fgi_snprintf(
        out, GPU_TEXT_MAX,
        "gpu_device_info { name: \"%s\" device_vendor: \"NVIDIA Corporation\" "
        "cuda_compute_capability { major: %d feature_extension: %s } "
        "threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048 "
        "block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 "
        "thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64 "
        "registers_per_core_limit: 65536 registers_per_block_limit: 65536 "
        "core_count: %d fpus_per_core: %d clock_rate_ghz: %.4f "
        "device_memory_size: %" PRId64 " memory_bandwidth: %" PRId64 " l2_cache_size: %" PRId64 " "
        "shared_memory_per_core: %d shared_memory_per_block: 49152 "
        "shared_memory_per_block_optin: %d device_address_bits: 64 "
        "driver_version: \"13.0.0\" runtime_version: \"13.0.0\" "
        "compile_time_toolkit_version: \"13.0.0\" dnn_version: \"9.10.0\" } "
        "platform_name: \"CUDA\" dnn_version_info { major: 9 minor: 10 } "
        "device_description_str: \"%s\"",
        gpu->model, gpu->capability, gpu->capability >= 9 ? "ACCELERATED_FEATURES" : "NONE",
        gpu->cores, gpu->lanes_per_core, gpu->clock_ghz, gpu->memory_bytes, gpu->memory_bytes_per_s,
        gpu->cache_bytes, gpu->shared_bytes_per_core, gpu->shared_bytes_per_block, gpu->model);
}

static PJRT_NamedValue text_option(const char *name, const char *value)
{
    PJRT_NamedValue option = fgi_named_value(name, PJRT_NamedValue_kString, strlen(value));
    option.string_value = value;
    return option;
}

static fg_status create(fg_client *c, const fgi_topology_name *name, fg_error *err)
{
    char gpu[GPU_TEXT_MAX];
    PJRT_NamedValue options[OPTIONS_MAX];
    size_t count = 0;
    if (name->gpu != NULL) {
        describe_gpu(name->gpu, gpu);
        options[count++] = text_option("target_config", gpu);
        options[count++] = text_option("topology", name->plugin_name);
    }
    if (name->chip_config != NULL)
        options[count++] = text_option("chip_config_name", name->chip_config);
    if (name->host_bounds[0] > 0) {
        options[count] = fgi_named_value("chips_per_host_bounds", PJRT_NamedValue_kInt64List, 3);
        options[count++].int64_array_value = name->host_bounds;
    }
    const char *wanted_name = name->gpu != NULL ? name->generation : name->plugin_name;
    FGI_ARGS(PJRT_TopologyDescription_Create_Args, args, .topology_name = wanted_name,
             .topology_name_size = strlen(wanted_name), .create_options = options,
             .num_options = count);
    const fgi_pjrt_call place = {.operation = "describing the topology", .status = FG_EINVAL};
    if (!FGI_HAS(c->plugin.api, PJRT_TopologyDescription_Create) ||
        !FGI_HAS(c->plugin.api, PJRT_Compile))
        return fgi_fail(err, FG_EUNSUPPORTED, "plugin '%s' cannot compile without devices",
                        c->plugin.path);
    PJRT_Error *error = c->plugin.api->PJRT_TopologyDescription_Create(&args);
    if (error)
        return fgi_plugin_fail(&c->plugin, error, &place, err);
    c->topology = args.topology;
    return FG_OK;
}

/* ---- properties ------------------------------------------------------------------------------ */

static fg_status read_platform(fg_client *c, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "querying the platform", FG_EPLUGIN};
    FGI_CALL(PJRT_TopologyDescription_PlatformName, name, place, err, .topology = c->topology);
    FGI_CALL(PJRT_TopologyDescription_PlatformVersion, version, place, err,
             .topology = c->topology);
    return fgi_client_set_platform(
        c, (fgi_str){name.platform_name, name.platform_name_size},
        (fgi_str){version.platform_version, version.platform_version_size}, err);
}

/* A device's memory from the plugin's attribute or our own table; -1: unknown. */
static int64_t memory_limit(const fg_client *c, PJRT_DeviceDescription *about,
                            const fgi_topology_name *name)
{
    static const char requested[] = "device_memory_bytes_limit";
    FGI_ARGS(PJRT_DeviceDescription_Attributes_Args, args, .device_description = about);
    if (name->gpu != NULL)
        return name->gpu->memory_bytes;
    if (!FGI_HAS(c->plugin.api, PJRT_DeviceDescription_Attributes) ||
        !fgi_ignore(&c->plugin, c->plugin.api->PJRT_DeviceDescription_Attributes(&args)))
        return -1;
    for (size_t i = 0; i < args.num_attributes; i++) {
        const PJRT_NamedValue *value = &args.attributes[i];
        if (value->type == PJRT_NamedValue_kInt64 && value->name_size == sizeof requested - 1 &&
            memcmp(value->name, requested, sizeof requested - 1) == 0)
            return value->int64_value;
    }
    return -1;
}

static fg_status read_devices(fg_client *c, const fgi_topology_name *name, fg_error *err)
{
    const fgi_pjrt_call place = {c, NULL, "listing the devices", FG_EPLUGIN};
    FGI_ARGS(PJRT_TopologyDescription_GetDeviceDescriptions_Args, list, .topology = c->topology);
    FGI_TRY(fgi_check(c->plugin.api->PJRT_TopologyDescription_GetDeviceDescriptions(&list), &place,
                      err));
    if (list.num_descriptions == 0 || list.num_descriptions > 1 << 16)
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s', topology '%s': expected 1 to 65536 devices, got %zu",
                        c->plugin.path, name->plugin_name, list.num_descriptions);
    c->devices = fgi_arena_alloc(&c->arena, list.num_descriptions * sizeof *c->devices);
    if (!c->devices)
        return fgi_no_memory(err);
    FGI_TRY(fgi_client_make_world(c, list.num_descriptions, err));
    for (size_t i = 0; i < list.num_descriptions; i++) {
        FGI_TRY(fgi_client_read_description(c, list.descriptions[i], &c->devices[i], err));
        c->devices[i].memory_limit_bytes = memory_limit(c, list.descriptions[i], name);
        c->world[i] = (fgi_mesh_device){.id = c->devices[i].id, .process = c->devices[i].process};
    }
    /* one process has the devices of all hosts */
    fgi_mesh_sort_devices(c->world, (int)list.num_descriptions, -1);
    c->info.device_count = (int)list.num_descriptions;
    c->info.process_count = 1; /* a machine that has all of them */
    return FG_OK;
}

fg_status fgi_topology_open(fg_client *c, const char *text, const fgi_topology_name *name,
                            fg_error *err)
{
    FGI_TRY(create(c, name, err));
    c->info.topology = fgi_arena_strdup(&c->arena, text);
    if (!c->info.topology)
        return fgi_no_memory(err);
    FGI_TRY(read_platform(c, err));
    return read_devices(c, name, err);
}

void fgi_topology_close(fg_client *c)
{
    FGI_ARGS(PJRT_TopologyDescription_Destroy_Args, args, .topology = c->topology);
    if (c->topology)
        (void)fgi_ignore(&c->plugin, c->plugin.api->PJRT_TopologyDescription_Destroy(&args));
}

fg_status fgi_topology_refuse(const fg_client *c, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: no device available: the client was opened for the topology '%s', for "
                    "which programs can only be compiled",
                    what, c->info.topology);
}
