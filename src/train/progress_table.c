/* progress_table.c - what is printed before the first step: the model's layers, the devices, the
 * optimizer and its learning rates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/print.h"
#include "train/trainer.h"

static void put_shape(const fg_type *type, char *out, size_t size)
{
    out[0] = '\0';
    if (type->dtype != FG_DTYPE_NONE)
        (void)fg_type_format(type, out, size);
}

/* Learning rate and steps, which decide whether what follows is worth its time. */
static void put_settings(FILE *out, const fg_trainer *trainer, const fg_progress *at)
{
    const fg_fit_settings *settings = fg_trainer_settings(trainer);
    (void)fgi_fprintf(out, "%s, lr %g (scaling rule: %s", fg_optimizer_name(trainer->optimizer),
                      settings->lr, settings->lr_scaling);
    if (settings->lr_factor != 1)
        (void)fgi_fprintf(out, ", %g x %g", settings->lr_given, settings->lr_factor);
    (void)fprintf(out, "), batches of %" PRId64, settings->global_batch_size);
    if (settings->batch_shards > 1)
        (void)fprintf(out, " (%d x %" PRId64 ")", settings->batch_shards, settings->batch_size);
    if (settings->accumulate_grad_batches > 1)
        (void)fprintf(out, ", %" PRId64 " a step", settings->accumulate_grad_batches);
    if (settings->total_steps < 0) {
        (void)fprintf(out, ", no limit on steps\n");
        return;
    }
    (void)fprintf(out,
                  ", %" PRId64 " step%s%s\nlr at 0, 25, 50, 75, 100 %%:", settings->total_steps,
                  settings->total_steps == 1 ? "" : "s", at->step > 0 ? " in all" : "");
    for (int i = 0; i < 5; i++)
        (void)fgi_fprintf(out, " %.4g", settings->lr_at[i]);
    (void)fputc('\n', out);
}

/* "8 x TPU v3 (ddp)" */
static void put_devices(FILE *out, const fg_trainer *trainer)
{
    const fg_fit_settings *settings = fg_trainer_settings(trainer);
    const fg_client *client = fg_trainer_client(trainer);
    fg_error err;
    fg_device_info info;
    const char *kind = fg_client_get_info(client)->platform;
    if (fg_device_get_info(client, 0, &info, &err) == FG_OK)
        kind = info.kind;
    if (settings->device_count == 1)
        (void)fprintf(out, "%s\n", kind);
    else if (fgi_client_is_virtual(client))
        (void)fprintf(out, "%d virtual devices of the CPU, for development (%s)\n",
                      settings->device_count, settings->strategy);
    else
        (void)fprintf(out, "%d x %s (%s)\n", settings->device_count, kind, settings->strategy);
}

void fgi_progress_table(FILE *out, const fg_trainer *trainer, const fg_progress *at)
{
    fg_module *root = fg_trainer_module(trainer);
    fg_module_info info;
    char shape[96];
    (void)fprintf(out, "%-24s %-12s %-28s %-20s %12s\n", "module", "kind", "detail", "output",
                  "parameters");
    for (size_t i = 0; fg_module_info_at(root, i, &info); i++) {
        if (info.kind[0] == '\0' && info.variable_count == 0)
            continue;
        put_shape(&info.output, shape, sizeof shape);
        (void)fprintf(out, "%-24s %-12s %-28s %-20s %12" PRId64 "\n", info.name, info.kind,
                      info.detail, shape, info.parameter_count);
    }
    (void)fprintf(out, "%" PRId64 " parameters in all; on ", fg_module_parameter_count(root));
    put_devices(out, trainer);
    put_settings(out, trainer, at);
    (void)fflush(out);
}
