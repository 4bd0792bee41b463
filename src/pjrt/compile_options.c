/* compile_options.c - writes XLA's CompileOptionsProto: one replica, as many partitions as devices,
 * and the device of each partition.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/compile_options.pb-c.h"
#include "pjrt/plugin.h"

typedef Fgi__Proto__DeviceAssignment__Partition partition;

static fg_status add_flags(fgi_arena *arena, const fgi_compile_options *options,
                           Fgi__Proto__CompileOptions *out, fg_error *err)
{
    if (options->flag_count == 0)
        return FG_OK;
    out->flag = fgi_arena_alloc(arena, options->flag_count * sizeof out->flag[0]);
    for (size_t i = 0; i < options->flag_count && out->flag; i++) {
        Fgi__Proto__Flag *flag = fgi_arena_alloc(arena, sizeof *flag);
        Fgi__Proto__FlagValue *value = fgi_arena_alloc(arena, sizeof *value);
        if (!flag || !value)
            return fgi_no_memory(err);
        fgi__proto__flag__init(flag);
        fgi__proto__flag_value__init(value);
        flag->name = fgi_arena_strdup(arena, options->flags[i].name);
        value->text = fgi_arena_strdup(arena, options->flags[i].value);
        value->value_case = FGI__PROTO__FLAG_VALUE__VALUE_TEXT;
        flag->value = value;
        if (!flag->name || !value->text)
            return fgi_no_memory(err);
        out->flag[out->n_flag++] = flag;
    }
    return out->flag ? FG_OK : fgi_no_memory(err);
}

int fgi_partition_count(const fg_client *client, const fgi_compile_options *options)
{
    if (options->all_processes)
        return client->info.global_device_count;
    return options->device_count > 0 ? options->device_count : 1;
}

/* The device of partition i. In a program of all processes, the i-th device of the world, in an
 * order that each process computes by itself; otherwise the i-th device given by the caller. */
static fg_status find_device(const fg_client *client, const fgi_compile_options *options, int i,
                             int64_t *out_id, fg_error *err)
{
    if (options->all_processes) {
        *out_id = client->world[i].id;
        return FG_OK;
    }
    const int device = options->device_index ? options->device_index[i] : i;
    if (device < 0 || device >= client->info.device_count)
        return fgi_fail(err, FG_EINVAL, "device %d does not exist: %s has %d", device,
                        client->info.platform, client->info.device_count);
    *out_id = client->devices[device].id;
    return FG_OK;
}

/* Checks that the client can compile a program of all processes. */
static fg_status check_all(const fg_client *client, const fgi_compile_options *options,
                           fg_error *err)
{
    int here = 0;
    for (int i = 0; i < client->info.global_device_count; i++)
        here += client->world[i].local_index >= 0;
    if (here != client->info.device_count)
        return fgi_fail(err, FG_EINVAL,
                        "a program of all processes requires all of their devices, but of this "
                        "process's %d devices only %d are selected",
                        here, client->info.device_count);
    for (size_t i = 0; options->out_shardings && i < options->out_count; i++)
        if (!fgi_sharding_is_replicated(&options->out_shardings[i]))
            return fgi_fail(err, FG_EUNSUPPORTED,
                            "output %zu of a program of all processes is sharded", i);
    return FG_OK;
}

static fg_status assign_devices(fgi_arena *arena, const fg_client *client,
                                const fgi_compile_options *options, int count,
                                Fgi__Proto__DeviceAssignment *out, fg_error *err)
{
    out->replica_count = 1;
    out->partition_count = count;
    out->partition = fgi_arena_alloc(arena, (size_t)count * sizeof out->partition[0]);
    partition *all = fgi_arena_alloc(arena, (size_t)count * sizeof *all);
    int64_t *id = fgi_arena_alloc(arena, (size_t)count * sizeof *id);
    if (!out->partition || !all || !id)
        return fgi_no_memory(err);
    if (options->all_processes)
        FGI_TRY(check_all(client, options, err));
    for (int i = 0; i < count; i++) {
        FGI_TRY(find_device(client, options, i, &id[i], err));
        fgi__proto__device_assignment__partition__init(&all[i]);
        all[i].n_device_id = 1;
        all[i].device_id = &id[i];
        out->partition[out->n_partition++] = &all[i];
    }
    return FG_OK;
}

fg_status fgi_compile_options_pack(const fg_client *client, const fgi_compile_options *options,
                                   unsigned char **out_data, size_t *out_size, fg_error *err)
{
    fg_status status;
    fgi_arena arena;
    fgi_arena_init(&arena);
    const int count = fgi_partition_count(client, options);
    Fgi__Proto__CompileOptions all = FGI__PROTO__COMPILE_OPTIONS__INIT;
    Fgi__Proto__BuildOptions build = FGI__PROTO__BUILD_OPTIONS__INIT;
    Fgi__Proto__DeviceAssignment assignment = FGI__PROTO__DEVICE_ASSIGNMENT__INIT;
    all.build = &build;
    build.device_ordinal = -1;
    build.num_replicas = 1;
    build.num_partitions = count;
    build.use_spmd_partitioning = count > 1;
    build.use_shardy_partitioner = count > 1;
    build.device_assignment = &assignment;
    build.run_backend_only = options->is_optimized;
    *out_data = NULL;
    FGI_DONE(assign_devices(&arena, client, options, count, &assignment, err));
    FGI_DONE(add_flags(&arena, options, &all, err));
    *out_data = fgi_alloc(fgi__proto__compile_options__get_packed_size(&all));
    FGI_DONE(*out_data ? FG_OK : fgi_no_memory(err));
    *out_size = fgi__proto__compile_options__pack(&all, *out_data);
done:
    fgi_arena_fini(&arena);
    return status;
}
