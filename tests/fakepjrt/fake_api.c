/* fake_api.c - the fake plugin's client and devices, and the table that the library asks for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static void error_destroy(PJRT_Error_Destroy_Args *args)
{
    if (args->error)
        fake_count("errors", -1);
    free(args->error);
}

static void error_message(PJRT_Error_Message_Args *args)
{
    args->message = args->error->message;
    args->message_size = strlen(args->error->message);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args)
{
    FAKE_CHECK(args, PJRT_Error_GetCode_Args);
    args->code = args->error->code;
    return NULL;
}

/* ---- plugin and client ----------------------------------------------------------------------- */

enum { CUDA = 1, TPU = 2 }; /* of "platform" */

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *args)
{
    FAKE_CHECK(args, PJRT_Plugin_Initialize_Args);
    const int code = (int)fake_get("initialize_error");
    if (code && fake_get("platform") == TPU) /* libtpu's own words */
        return fake_error(code, "Internal error when accessing libtpu multi-process lockfile. Run "
                                "\"$ sudo rm /tmp/libtpu_lockfile\".");
    return code ? fake_error(code, "the lock file is held") : NULL;
}

/* As CUDA's plugin: of the devices that there are, those named; wrong types end the process. */
static void see_devices(const PJRT_NamedValue *o, long *devices)
{
    const long all = fake_get("devices") ? fake_get("devices") : *devices;
    long seen = 0, digits = 0;
    if (o->type != PJRT_NamedValue_kInt64List)
        abort();
    for (size_t i = 0; i < o->value_size; i++) {
        seen += o->int64_array_value[i] < all;
        digits = digits * 10 + o->int64_array_value[i] + 1;
    }
    fake_set("visible_devices", digits);
    fake_set("devices", seen ? seen : -1);
}

static PJRT_Error *read_client_options(const PJRT_Client_Create_Args *args, long *devices)
{
    for (size_t i = 0; i < args->num_options; i++) {
        const PJRT_NamedValue *o = &args->create_options[i];
        FAKE_CHECK(o, PJRT_NamedValue);
        if (strcmp(o->name, "cpu_device_count") == 0 && o->type == PJRT_NamedValue_kInt64)
            *devices = o->int64_value;
        else if (fake_get("unknown_options") != 1 && strcmp(o->name, "visible_devices") == 0)
            see_devices(o, devices);
        else if (fake_get("unknown_options") == 1 ||
                 (fake_get("unknown_options") == 2 && strcmp(o->name, "preallocate") == 0))
            return fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                              "Unexpected option name passed to PJRT_Client_Create: %s", o->name);
    }
    return NULL;
}

/* The number of a process's i-th device. */
static int number_device(const PJRT_Client *c, int process, int i)
{
    switch (fake_get("interleaved")) {
    case 1: return i % 2 + 2 * (process + c->processes * (i / 2));
    case 2: return c->processes - 1 - process + c->processes * i;
    default: return c->device_count * process + i;
    }
}

static void make_devices(PJRT_Client *c)
{
    const long processes = fake_get("processes");
    c->process = (int)fake_get("process");
    c->processes = processes > 1 && processes <= PROCESSES_MAX ? (int)processes : 1;
    for (int k = 0; k < c->processes * c->device_count; k++) {
        PJRT_DeviceDescription *about = &c->device[k].description;
        about->process = c->processes > 1 ? k / c->device_count : c->process;
        about->id = number_device(c, k / c->device_count, k % c->device_count);
        snprintf(about->text, sizeof about->text, "FakeDevice(id=%d)", about->id);
        if (about->process == c->process)
            c->device_list[k % c->device_count] = &c->device[k];
    }
}

static PJRT_Error *client_create(PJRT_Client_Create_Args *args)
{
    static const char *const platforms[] = {"cpu", "cuda", "tpu", "abacus"};
    FAKE_CHECK(args, PJRT_Client_Create_Args);
    const int code = (int)fake_get("client_error");
    if (code && fake_get("platform") == TPU)
        return fake_error(code, "TPU initialization failed: No jellyfish device found.");
    if (code && fake_get("platform") == CUDA)
        return fake_error(code, "No visible GPU devices.");
    if (code)
        return fake_error(code, "No devices found.");
    long devices = 1;
    PJRT_Error *error = read_client_options(args, &devices);
    if (error)
        return error;
    if (fake_get("devices") != 0)
        devices = fake_get("devices");
    PJRT_Client *c = calloc(1, sizeof *c);
    if (!c || pthread_mutex_init(&c->mutex, NULL) != 0 || pthread_cond_init(&c->cond, NULL) != 0)
        abort();
    snprintf(c->platform, sizeof c->platform, "%s", platforms[fake_get("platform") & 3]);
    snprintf(c->version, sizeof c->version, "fake 1");
    c->device_count = devices < 0 ? 0 : devices > DEVICES_MAX ? DEVICES_MAX : (int)devices;
    make_devices(c);
    fake_set("client_options", (long)args->num_options);
    fake_count("clients", 1);
    args->client = c;
    return NULL;
}

static PJRT_Error *client_destroy(PJRT_Client_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_Destroy_Args);
    PJRT_Client *c = args->client;
    client_finish(c);
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->cond);
    free(c);
    fake_count("clients", -1);
    return NULL;
}

static PJRT_Error *platform_name(PJRT_Client_PlatformName_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_PlatformName_Args);
    args->platform_name = args->client->platform;
    args->platform_name_size = strlen(args->client->platform);
    return NULL;
}

static PJRT_Error *platform_version(PJRT_Client_PlatformVersion_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_PlatformVersion_Args);
    args->platform_version = args->client->version;
    args->platform_version_size = strlen(args->client->version);
    return NULL;
}

static PJRT_Error *process_index(PJRT_Client_ProcessIndex_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_ProcessIndex_Args);
    args->process_index = args->client->process;
    return NULL;
}

/* ---- devices: listed backwards, since no order is promised ----------------------------------- */

static PJRT_Error *addressable_devices(PJRT_Client_AddressableDevices_Args *args)
{
    static __thread PJRT_Device *backwards[DEVICES_MAX];
    FAKE_CHECK(args, PJRT_Client_AddressableDevices_Args);
    const int count = args->client->device_count;
    for (int i = 0; i < count; i++)
        backwards[i] = args->client->device_list[count - 1 - i];
    args->addressable_devices = backwards;
    args->num_addressable_devices = (size_t)count;
    return NULL;
}

/* Those of all processes. */
static PJRT_Error *all_devices(PJRT_Client_Devices_Args *args)
{
    static __thread PJRT_Device *backwards[WORLD_MAX];
    FAKE_CHECK(args, PJRT_Client_Devices_Args);
    PJRT_Client *c = args->client;
    const int count = c->processes * c->device_count;
    for (int i = 0; i < count; i++)
        backwards[i] = &c->device[count - 1 - i];
    args->devices = backwards;
    args->num_devices = (size_t)count;
    return NULL;
}

static PJRT_Error *device_process(PJRT_DeviceDescription_ProcessIndex_Args *args)
{
    FAKE_CHECK(args, PJRT_DeviceDescription_ProcessIndex_Args);
    args->process_index = args->device_description->process;
    return NULL;
}

static PJRT_Error *get_description(PJRT_Device_GetDescription_Args *args)
{
    FAKE_CHECK(args, PJRT_Device_GetDescription_Args);
    args->device_description = &args->device->description;
    return NULL;
}

static PJRT_Error *device_id(PJRT_DeviceDescription_Id_Args *args)
{
    FAKE_CHECK(args, PJRT_DeviceDescription_Id_Args);
    args->id = args->device_description->id;
    return NULL;
}

static PJRT_Error *device_kind(PJRT_DeviceDescription_Kind_Args *args)
{
    FAKE_CHECK(args, PJRT_DeviceDescription_Kind_Args);
    static const char *const kinds[] = {"fake device", "TPU v2", "TPU v3", "TPU v5 lite"};
    args->device_kind = kinds[fake_get("kind") & 3];
    args->device_kind_size = strlen(args->device_kind);
    return NULL;
}

static PJRT_Error *device_text(PJRT_DeviceDescription_ToString_Args *args)
{
    FAKE_CHECK(args, PJRT_DeviceDescription_ToString_Args);
    args->to_string = args->device_description->text;
    args->to_string_size = strlen(args->to_string);
    return NULL;
}

static PJRT_Error *memory_stats(PJRT_Device_MemoryStats_Args *args)
{
    FAKE_CHECK(args, PJRT_Device_MemoryStats_Args);
    if (fake_get("memory_limit_bytes") == 0)
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "no statistics");
    args->bytes_in_use = fake_get("bytes");
    args->bytes_limit = fake_get("memory_limit_bytes");
    args->bytes_limit_is_set = true;
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static PJRT_Api table = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .PJRT_Error_Destroy = error_destroy,
    .PJRT_Error_Message = error_message,
    .PJRT_Error_GetCode = error_code,
    .PJRT_Plugin_Initialize = initialize,
    .PJRT_Event_Destroy = fake_event_destroy,
    .PJRT_Event_IsReady = fake_event_is_ready,
    .PJRT_Event_Error = fake_event_error,
    .PJRT_Event_Await = fake_event_await,
    .PJRT_Event_OnReady = fake_event_on_ready,
    .PJRT_Client_Create = client_create,
    .PJRT_Client_Destroy = client_destroy,
    .PJRT_Client_PlatformName = platform_name,
    .PJRT_Client_ProcessIndex = process_index,
    .PJRT_Client_PlatformVersion = platform_version,
    .PJRT_Client_Devices = all_devices,
    .PJRT_Client_AddressableDevices = addressable_devices,
    .PJRT_Client_Compile = fake_compile,
    .PJRT_Client_BufferFromHostBuffer = fake_buffer_from_host,
    .PJRT_DeviceDescription_Id = device_id,
    .PJRT_DeviceDescription_ProcessIndex = device_process,
    .PJRT_DeviceDescription_Kind = device_kind,
    .PJRT_DeviceDescription_ToString = device_text,
    .PJRT_Device_GetDescription = get_description,
    .PJRT_Device_MemoryStats = memory_stats,
    .PJRT_Executable_Destroy = fake_executable_destroy,
    .PJRT_Executable_NumOutputs = fake_output_count,
    .PJRT_Executable_GetCostAnalysis = fake_cost,
    .PJRT_Executable_Serialize = fake_serialize,
    .PJRT_LoadedExecutable_Destroy = fake_loaded_destroy,
    .PJRT_LoadedExecutable_GetExecutable = fake_get_executable,
    .PJRT_LoadedExecutable_AddressableDevices = fake_program_devices,
    .PJRT_LoadedExecutable_Execute = fake_execute,
    .PJRT_Executable_DeserializeAndLoad = fake_deserialize,
    .PJRT_Buffer_Destroy = fake_buffer_destroy,
    .PJRT_Buffer_IsDeleted = fake_buffer_is_deleted,
    .PJRT_Buffer_ToHostBuffer = fake_buffer_to_host,
    .PJRT_Buffer_ReadyEvent = fake_buffer_ready_event,
    .PJRT_Executable_OutputElementTypes = fake_output_types,
    .PJRT_Executable_OutputDimensions = fake_output_dims,
    .PJRT_Executable_GetCompiledMemoryStats = fake_memory_of_program,
    .PJRT_Executable_NumReplicas = fake_replica_count,
    .PJRT_Executable_NumPartitions = fake_partition_count,
    .PJRT_Executable_OptimizedProgram = fake_optimized,
    .PJRT_Executable_Fingerprint = fake_fingerprint,
    .PJRT_TopologyDescription_Create = fake_topology_create,
    .PJRT_TopologyDescription_Destroy = fake_topology_destroy,
    .PJRT_TopologyDescription_PlatformName = fake_topology_name,
    .PJRT_TopologyDescription_PlatformVersion = fake_topology_version,
    .PJRT_TopologyDescription_GetDeviceDescriptions = fake_topology_devices,
    .PJRT_DeviceDescription_Attributes = fake_device_attributes,
    .PJRT_Compile = fake_compile_only,
};

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);

const PJRT_Api *GetPjrtApi(void)
{
    table.pjrt_api_version = (PJRT_Api_Version){.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                                                .major_version = (int)fake_get("api_major"),
                                                .minor_version = (int)fake_get("api_minor")};
    table.extension_start = fake_extensions();
    return fake_get("api_is_null") ? NULL : &table;
}
