/* fake_topology.c - the fake plugin's topologies: the number of devices is the product of the
 * numbers in the topology's name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "v5e:2x4" and "1x1x8" give 8. */
static int count_of(const char *name, size_t size)
{
    const char *at = memchr(name, ':', size), *end = name + size;
    int count = 1;
    at = at ? at + 1 : name;
    while (at < end) {
        int number = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            number = 10 * number + (*at - '0');
        count *= number;
        at++;
    }
    return count;
}

/* Records the names and values of the options for the tests. */
static PJRT_Error *read_options(const PJRT_TopologyDescription_Create_Args *args,
                                PJRT_TopologyDescription *t)
{
    for (size_t i = 0; i < args->num_options; i++) {
        const PJRT_NamedValue *o = &args->create_options[i];
        FAKE_CHECK(o, PJRT_NamedValue);
        if (strcmp(o->name, "topology") == 0 && o->type == PJRT_NamedValue_kString)
            t->device_count = count_of(o->string_value, o->value_size);
        else if (strcmp(o->name, "target_config") == 0 && o->type == PJRT_NamedValue_kString)
            fake_set("topology_target", strstr(o->string_value, "H100") ? 100 : 1);
        else if (strcmp(o->name, "chips_per_host_bounds") == 0 &&
                 o->type == PJRT_NamedValue_kInt64List && o->value_size == 3)
            fake_set("topology_host",
                     (long)(o->int64_array_value[0] * 100 + o->int64_array_value[1] * 10 +
                            o->int64_array_value[2]));
        else if (strcmp(o->name, "chip_config_name") != 0)
            return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "Unexpected arguments: %s",
                              o->name);
    }
    return NULL;
}

PJRT_Error *fake_topology_create(PJRT_TopologyDescription_Create_Args *args)
{
    static const char *const platforms[] = {"cpu", "cuda", "tpu", "abacus"};
    FAKE_CHECK(args, PJRT_TopologyDescription_Create_Args);
    const int code = (int)fake_get("topology_error");
    if (code)
        return fake_error(code, "no such layout");
    PJRT_TopologyDescription *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    snprintf(t->platform, sizeof t->platform, "%s", platforms[fake_get("platform") & 3]);
    t->device_count = count_of(args->topology_name, args->topology_name_size);
    PJRT_Error *error = read_options(args, t);
    if (error) {
        free(t);
        return error;
    }
    t->device_count = t->device_count < DEVICES_MAX ? t->device_count : DEVICES_MAX;
    for (int i = 0; i < t->device_count; i++) {
        t->device[i].id = i;
        t->device[i].process = i * (int)fake_get("processes") / t->device_count;
        snprintf(t->device[i].text, sizeof t->device[i].text, "FakeDevice(id=%d)", i);
        t->device_list[t->device_count - 1 - i] = &t->device[i];
    }
    fake_count("topologies", 1);
    args->topology = t;
    return NULL;
}

PJRT_Error *fake_topology_destroy(PJRT_TopologyDescription_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_TopologyDescription_Destroy_Args);
    fake_count("topologies", -1);
    free(args->topology);
    return NULL;
}

PJRT_Error *fake_topology_name(PJRT_TopologyDescription_PlatformName_Args *args)
{
    FAKE_CHECK(args, PJRT_TopologyDescription_PlatformName_Args);
    args->platform_name = args->topology->platform;
    args->platform_name_size = strlen(args->topology->platform);
    return NULL;
}

PJRT_Error *fake_topology_version(PJRT_TopologyDescription_PlatformVersion_Args *args)
{
    FAKE_CHECK(args, PJRT_TopologyDescription_PlatformVersion_Args);
    args->platform_version = "fake 1";
    args->platform_version_size = strlen("fake 1");
    return NULL;
}

PJRT_Error *fake_topology_devices(PJRT_TopologyDescription_GetDeviceDescriptions_Args *args)
{
    FAKE_CHECK(args, PJRT_TopologyDescription_GetDeviceDescriptions_Args);
    args->descriptions = args->topology->device_list;
    args->num_descriptions = (size_t)args->topology->device_count;
    return NULL;
}

PJRT_Error *fake_device_attributes(PJRT_DeviceDescription_Attributes_Args *args)
{
    static const char name[] = "device_memory_bytes_limit";
    static PJRT_NamedValue limit = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                    .name = name,
                                    .name_size = sizeof name - 1,
                                    .type = PJRT_NamedValue_kInt64,
                                    .int64_value = 1 << 30,
                                    .value_size = 1};
    FAKE_CHECK(args, PJRT_DeviceDescription_Attributes_Args);
    args->attributes = &limit;
    args->num_attributes = 1;
    return NULL;
}
