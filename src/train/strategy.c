/* strategy.c - selects the devices of a Trainer, and how arrays are sharded over them.
 *
 * There is one program for all devices: the client arranges them as a mesh, and shardings determine
 * what is sharded along its axes. "single" is a mesh of one device; "ddp" shards batches and
 * replicates the model, which on one device is the same; "fsdp" shards parameters too
 * (src/mesh/sharding_rules.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/check.h>
#include <fulgurite/dist.h>
#include "base/error.h"
#include "pjrt/pjrt.h"
#include "train/trainer_options.h"

static bool is(const char *text, const char *word)
{
    return strcmp(text != NULL ? text : "auto", word) == 0;
}

/* Whether the strategy selects the devices. */
static bool is_open(const char *devices) { return devices == NULL || strcmp(devices, "auto") == 0; }

/* "single" with a known number of devices; 0: not known. */
static fg_status check_count(const fg_trainer_devices *o, int count, fg_error *err)
{
    if (!is(o->strategy, "single") || count <= 1)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "strategy 'single' trains on one device, but %d were chosen\nuse devices=1, "
                    "devices=[0] for a particular one, or strategy=ddp for all",
                    count);
}

static bool has_mesh(const fg_trainer_devices *o)
{
    return o->mesh.axes[0].name[0] != '\0' || o->mesh.batch_axes != 0 || o->mesh.fsdp_axes != 0;
}

fg_status fgi_strategy_check(const fg_trainer_devices *o, fg_error *err)
{
    fgi_device_list list;
    if (o->client != NULL && (o->devices != NULL || has_mesh(o)))
        return fgi_fail(err, FG_EINVAL,
                        "devices and mesh apply only to a client that the Trainer opens: "
                        "the given client already has its devices");
    FGI_TRY(fgi_device_list_parse(o->devices, &list, err));
    for (int i = 0; i < FG_MAX_MESH_AXES && o->mesh.axes[i].name[0] != '\0'; i++)
        FGI_TRY(check_count(o, o->mesh.axes[i].size, err));
    return check_count(o, fgi_device_list_size(&list), err);
}

fg_status fgi_strategy_open(const fg_trainer_devices *o, const fg_check_options *check,
                            fg_client **client, fg_error *err)
{
    const fg_client_options options = {
        .accelerator = o->accelerator,
        .devices = is(o->strategy, "single") && is_open(o->devices) ? "1" : o->devices,
        .mesh = o->mesh,
        .cache_dir = o->cache_dir,
        .kernels = o->kernels};
    if (*client != NULL)
        return FG_OK;
    *client = o->client;
    if (*client == NULL)
        FGI_TRY(fg_client_open(&options, client, err));
    fg_status status = check_count(o, fg_client_info_of(*client)->device_count, err);
    if (status == FG_OK && *client != o->client)
        status = fg_client_check(*client, check, NULL, err);
    if (status != FG_OK) {
        if (*client != o->client)
            fg_client_close(*client);
        *client = NULL;
    }
    return status;
}

fg_status fgi_strategy_can_run(const fg_client *client, fg_error *err)
{
    const fg_client_info *info = fg_client_info_of(client);
    if (info->process_count == 1)
        return FG_OK;
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "this is process %d of %d: the Trainer supports one process only\n"
                    "restrict the plugin to this machine's devices",
                    info->process_index, info->process_count);
}

const char *fgi_strategy_name(const fg_trainer_devices *o, int device_count)
{
    if (is(o->strategy, "fsdp"))
        return "fsdp";
    return device_count == 1 && !is(o->strategy, "ddp") ? "single" : "ddp";
}

/* ---- shardings ------------------------------------------------------------------------------- */

fg_status fgi_sharding_apply(const fg_trainer_devices *o, fg_client *client, fg_module *root,
                             fg_error *err)
{
    const fg_distribute_options options = {.strategy = is(o->strategy, "fsdp") ? "fsdp" : "ddp",
                                           .rules = o->sharding_rules,
                                           .rule_count = o->sharding_rule_count};
    return fg_module_distribute(root, client, &options, err);
}
