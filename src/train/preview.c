/* preview.c - the settings of a fit, computed before anything is opened: a Trainer without a client
 * and a model, whose number of devices is that of the options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "mesh/mesh.h"
#include "train/fit_settings.h"
#include "train/strategy.h"
#include "train/trainer.h"

static bool is(const char *text, const char *word) { return text != NULL && !strcmp(text, word); }

/* The number of devices that the options give; 0: it depends on the machine. */
static int count_devices(const fg_trainer_options *o, const fgi_device_list *list)
{
    const fg_mesh_axis *axes = o->devices.mesh.axes;
    const int listed = fgi_device_list_size(list);
    int64_t product = 1;
    if (listed > 0)
        return listed;
    if (is(o->devices.strategy, "single"))
        return 1;
    for (int i = 0; i < FG_MAX_MESH_AXES && axes[i].name[0] != '\0'; i++)
        product = axes[i].size > 0 && product <= FGI_DEVICES_MAX ? product * axes[i].size : 0;
    if (axes[0].name[0] != '\0' && product > 0 && product <= FGI_DEVICES_MAX)
        return (int)product;
    return fgi_accelerator_devices(o->devices.accelerator);
}

/* The shards of a batch on `count` devices. */
static fg_status count_shards(fg_trainer *trainer, int count, fg_error *err)
{
    fgi_mesh mesh;
    fgi_mesh_device *devices = fgi_calloc((size_t)count, sizeof *devices);
    if (devices == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < count; i++)
        devices[i] = (fgi_mesh_device){.id = i, .local_index = i};
    const fg_status status =
        fgi_mesh_init(&mesh, &trainer->options.devices.mesh, devices, count, err);
    if (status == FG_OK) {
        trainer->preview.device_count = count;
        trainer->preview.batch_shards = mesh.batch_shards;
    }
    fgi_free(devices);
    return status;
}

static fg_status find_devices(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fgi_device_list list;
    FGI_TRY(fgi_device_list_parse(o->devices.devices, &list, err));
    const int count = o->devices.client == NULL ? count_devices(o, &list) : 0;
    return count > 0 ? count_shards(trainer, count, err) : fgi_strategy_open(trainer, err);
}

/* Computes the settings at the first step. */
static fg_status make_settings(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    FGI_TRY_RESERVED(fg_fit_data, data, err);
    FGI_TRY(find_devices(trainer, err));
    FGI_TRY(fgi_settings_make(trainer, data, err));
    trainer->cursor.sample_count = fg_dataset_count(data->train);
    trainer->cursor.batch_size = trainer->fit.settings.global_batch_size;
    trainer->fit.drop_last = data->drop_last;
    return fgi_settings_settle(trainer, err);
}

fg_status fg_trainer_preview_fit(fg_trainer *trainer, const fg_fit_data *data, double lr,
                                 fg_fit_settings *out, fg_error *err)
{
    trainer->preview.lr = lr;
    const fg_status status = make_settings(trainer, data, err);
    *out = status == FG_OK ? trainer->fit.settings : (fg_fit_settings){0};
    return status;
}

fg_status fg_trainer_preview(const fg_trainer_options *options, const fg_fit_data *data, double lr,
                             fg_fit_settings *out, fg_error *err)
{
    fg_trainer *trainer = NULL;
    *out = (fg_fit_settings){0};
    FGI_TRY(fg_trainer_create(options, &trainer, err));
    const fg_status status = fg_trainer_preview_fit(trainer, data, lr, out, err);
    fg_trainer_destroy(trainer);
    return status;
}
