/* strategy.c - selects the devices of a Trainer, and how arrays are sharded over them.
 *
 * There is one program for all devices: the client arranges them as a mesh, and shardings determine
 * what is sharded along its axes. "single" is a mesh of one device; "ddp" shards batches and
 * replicates the model, which on one device is the same; "fsdp" shards parameters too
 * (src/mesh/sharding_rules.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/dist.h>
#include "base/error.h"
#include "train/strategy.h"
#include "train/trainer.h"

static bool is(const char *text, const char *word)
{
    return strcmp(text != NULL ? text : "auto", word) == 0;
}

/* Whether the strategy selects the devices. */
static bool is_open(const char *devices) { return devices == NULL || strcmp(devices, "auto") == 0; }

/* "single" with a known number of devices; 0: not known. */
static fg_status check_count(const fg_trainer_options *o, int count, fg_error *err)
{
    if (!is(o->devices.strategy, "single") || count <= 1)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "strategy 'single' trains on one device, but %d were chosen\nuse devices=1, "
                    "devices=[0] for a particular one, or strategy=ddp for all",
                    count);
}

static bool has_mesh(const fg_trainer_options *o)
{
    return o->devices.mesh.axes[0].name[0] != '\0' || o->devices.mesh.batch_axes != NULL ||
           o->devices.mesh.fsdp_axes != NULL;
}

fg_status fgi_strategy_check(const fg_trainer_options *o, fg_error *err)
{
    static const char *const known[] = {"auto", "single", "ddp", "fsdp"};
    bool is_known = false;
    fgi_device_list list;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is_known |= is(o->devices.strategy, known[i]);
    if (!is_known)
        return fgi_fail(err, FG_EINVAL,
                        "unknown strategy '%s': expected 'auto', 'single', 'ddp' or 'fsdp'",
                        o->devices.strategy);
    if (o->devices.client != NULL && (o->devices.devices != NULL || has_mesh(o)))
        return fgi_fail(err, FG_EINVAL,
                        "devices and mesh apply only to a client that the Trainer opens: "
                        "the given client already has its devices");
    FGI_TRY(fgi_device_list_parse(o->devices.devices, &list, err));
    for (int i = 0; i < FG_MAX_MESH_AXES && o->devices.mesh.axes[i].name[0] != '\0'; i++)
        FGI_TRY(check_count(o, o->devices.mesh.axes[i].size, err));
    return check_count(o, fgi_device_list_size(&list), err);
}

fg_status fgi_strategy_open(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    const bool is_single = is(o->devices.strategy, "single");
    if (trainer->client != NULL)
        return FG_OK;
    fg_client *client = o->devices.client;
    const fg_client_options options = {
        .accelerator = o->devices.accelerator,
        .devices = is_single && is_open(o->devices.devices) ? "1" : o->devices.devices,
        .mesh = o->devices.mesh,
        .cache_dir = o->devices.cache_dir};
    if (client == NULL)
        FGI_TRY(fg_client_open(&options, &client, err));
    const fg_status status = check_count(o, fg_client_get_info(client)->device_count, err);
    if (status != FG_OK) {
        if (client != o->devices.client)
            fg_client_close(client);
        return status;
    }
    trainer->client = client;
    return FG_OK;
}

int fgi_device_count(const fg_trainer *trainer)
{
    return trainer->client != NULL ? fg_client_get_info(trainer->client)->device_count
                                   : trainer->preview.device_count;
}

const char *fgi_strategy_name(const fg_trainer *trainer)
{
    const char *chosen = trainer->options.devices.strategy;
    if (is(chosen, "fsdp"))
        return "fsdp";
    const bool is_one = fgi_device_count(trainer) == 1;
    return is_one && !is(chosen, "ddp") ? "single" : "ddp";
}

fg_status fg_trainer_open(fg_trainer *trainer, fg_error *err)
{
    return fgi_strategy_open(trainer, err);
}

/* ---- shardings ------------------------------------------------------------------------------- */

fgi_sharding fgi_batch_sharding(const fg_trainer *trainer)
{
    return fgi_sharding_of_batch(fgi_client_mesh(trainer->client));
}

int fgi_batch_shards(const fg_trainer *trainer)
{
    return trainer->client != NULL ? fgi_client_mesh(trainer->client)->batch_shards
                                   : trainer->preview.batch_shards;
}

bool fgi_sharding_keep(fg_trainer *trainer)
{
    fg_trainer_options *o = &trainer->options;
    if (o->devices.sharding_rule_count == 0)
        return true;
    fg_sharding_rule *rules =
        fgi_arena_copy(&trainer->strings, o->devices.sharding_rules,
                       o->devices.sharding_rule_count * sizeof *o->devices.sharding_rules);
    for (size_t i = 0; rules != NULL && i < o->devices.sharding_rule_count; i++) {
        const char *match = rules[i].match != NULL ? rules[i].match : "";
        const char *spec = rules[i].spec != NULL ? rules[i].spec : "";
        rules[i].match = fgi_arena_strdup(&trainer->strings, match);
        rules[i].spec = fgi_arena_strdup(&trainer->strings, spec);
        if (rules[i].match == NULL || rules[i].spec == NULL)
            return false;
    }
    o->devices.sharding_rules = rules;
    return rules != NULL;
}

fg_status fgi_sharding_apply(const fg_trainer *trainer, fg_module *root, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    const bool is_fsdp = strcmp(fgi_strategy_name(trainer), "fsdp") == 0;
    const fg_distribute_options options = {.strategy = is_fsdp ? "fsdp" : "ddp",
                                           .rules = o->devices.sharding_rules,
                                           .rule_count = o->devices.sharding_rule_count};
    return fg_module_distribute(root, trainer->client, &options, err);
}
