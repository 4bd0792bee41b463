/* strategy.c - on which devices a Trainer works and how they share it.
 *
 * There is one program for all devices: the client lays them out as a mesh, and a strategy says
 * what is dealt along it. "single" is a mesh of one; "ddp" deals the batch and leaves the model
 * whole on each device, which on one device is the same; "fsdp" deals the parameters too
 * (sharing.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "train/trainer.h"

static bool is(const char *text, const char *word)
{
    return strcmp(text != NULL ? text : "auto", word) == 0;
}

/* Whether the device or devices are left to the strategy. */
static bool is_open(const char *devices) { return devices == NULL || strcmp(devices, "auto") == 0; }

/* "single" with a known number of devices; 0: not known. */
static fg_status check_count(const fg_trainer_options *o, int count, fg_error *err)
{
    if (!is(o->strategy, "single") || count <= 1)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "strategy 'single' trains on one device, but %d were chosen\nuse devices=1, "
                    "devices=[0] for a particular one, or strategy=ddp for all",
                    count);
}

fg_status fgi_strategy_check(const fg_trainer_options *o, fg_error *err)
{
    static const char *const known[] = {"auto", "single", "ddp", "fsdp"};
    bool is_known = false;
    fgi_device_list list;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is_known |= is(o->strategy, known[i]);
    if (!is_known)
        return fgi_fail(err, FG_EINVAL,
                        "unknown strategy '%s': expected 'auto', 'single', 'ddp' or 'fsdp'",
                        o->strategy);
    if (o->client != NULL && (o->devices != NULL || o->model_devices > 1))
        return fgi_fail(err, FG_EINVAL,
                        "devices and model_devices apply only to a client that the Trainer opens: "
                        "the given client already has its devices");
    FGI_TRY(fgi_device_list_parse(o->devices, &list, err));
    FGI_TRY(check_count(o, o->model_devices, err));
    return check_count(o, list.count > 0 ? list.count : list.first, err);
}

fg_status fgi_strategy_open(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    const bool is_single = is(o->strategy, "single");
    if (trainer->client != NULL)
        return FG_OK;
    fg_client *client = o->client;
    const fg_client_options options = {.accelerator = o->accelerator,
                                       .devices =
                                           is_single && is_open(o->devices) ? "1" : o->devices,
                                       .model_devices = o->model_devices,
                                       .cache_dir = o->cache_dir};
    if (client == NULL)
        FGI_TRY(fg_client_open(&options, &client, err));
    const fg_status status = check_count(o, fg_client_get_info(client)->device_count, err);
    if (status != FG_OK) {
        if (client != o->client)
            fg_client_close(client);
        return status;
    }
    trainer->client = client;
    trainer->owns_client = client != o->client;
    return FG_OK;
}

const char *fgi_strategy_name(const fg_trainer *trainer)
{
    const char *chosen = trainer->options.strategy;
    if (is(chosen, "fsdp"))
        return "fsdp";
    const bool is_one = fg_client_get_info(trainer->client)->device_count == 1;
    return is_one && !is(chosen, "ddp") ? "single" : "ddp";
}

fg_status fg_trainer_open(fg_trainer *trainer, fg_error *err)
{
    return fgi_strategy_open(trainer, err);
}
