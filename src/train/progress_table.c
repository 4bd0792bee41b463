/* progress_table.c - printed before the first step: the model's layers, the devices, the
 * optimizer and its learning rates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "pjrt/pjrt.h"
#include "train/progress.h"
#include "train/trainer.h"

static void put_shape(const fg_type *type, char *out, size_t size)
{
    out[0] = '\0';
    if (type->dtype != FG_DTYPE_NONE)
        (void)fg_type_format(type, out, size);
}

/* Learning rate and steps, so that a mistake is visible before training. */
static void put_settings(FILE *out, const fg_trainer *trainer, const fg_progress *at)
{
    const fg_fit_settings *settings = fg_trainer_settings(trainer);
    const bool is_scaled = strcmp(settings->lr_scaling, "none") != 0;
    (void)fgi_fprintf(out, "%s, lr %g (%s%s", fg_optimizer_name(trainer->model.optimizer),
                      settings->lr, is_scaled ? settings->lr_scaling : "no learning-rate",
                      " scaling");
    if (settings->lr_factor != 1)
        (void)fgi_fprintf(out, ", %g x %g", settings->lr_given, settings->lr_factor);
    (void)fprintf(out, "), batches of %" PRId64, settings->global_batch_size);
    if (settings->batch_shards > 1)
        (void)fprintf(out, " (%d x %" PRId64 ")", settings->batch_shards, settings->batch_size);
    if (settings->accumulate_grad_batches > 1)
        (void)fprintf(out, ", %" PRId64 " per step", settings->accumulate_grad_batches);
    if (settings->total_steps < 0) {
        (void)fprintf(out, ", no limit on steps\n");
        return;
    }
    (void)fprintf(out,
                  ", %" PRId64 " step%s%s\nlr at 0, 25, 50, 75, 100 %%:", settings->total_steps,
                  settings->total_steps == 1 ? "" : "s", at->step > 0 ? " in total" : "");
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

enum { COLUMNS = 5, TABLE_WIDTH = 80 };

/* Writes a row of the table, each cell truncated to `width`. */
static void put_row(FILE *out, const int *width, const char *const *cell)
{
    for (int i = 0; i < COLUMNS - 1; i++)
        (void)fprintf(out, "%-*.*s  ", width[i], width[i], cell[i]);
    (void)fprintf(out, "%*s\n", width[COLUMNS - 1], cell[COLUMNS - 1]);
}

/* The cells of the next module that has a row. shape and number are memory of the caller. */
static bool next_row(fg_module *root, size_t *i, const char **cell, char *shape, size_t shape_size,
                     char *number, size_t number_size)
{
    fg_module_info info;
    for (; fg_module_info_at(root, *i, &info); (*i)++) {
        if (info.kind[0] == '\0' && info.variable_count == 0)
            continue;
        put_shape(&info.output, shape, shape_size);
        fgi_snprintf(number, number_size, "%" PRId64, info.parameter_count);
        cell[0] = info.name, cell[1] = info.kind, cell[2] = info.detail, cell[3] = shape;
        cell[4] = number;
        (*i)++;
        return true;
    }
    return false;
}

static const char *const heads[COLUMNS] = {"module", "kind", "detail", "output", "parameters"};

/* Makes columns as wide as their widest cell. If a row does not fit into the line, kind, detail and
 * output are truncated, the widest of them first; names are not, because patterns select modules by
 * them. */
static void choose_widths(fg_module *root, int *width)
{
    const char *cell[COLUMNS];
    char shape[96], number[24];
    int total = 2 * (COLUMNS - 1);
    for (int k = 0; k < COLUMNS; k++)
        width[k] = (int)strlen(heads[k]);
    for (size_t i = 0; next_row(root, &i, cell, shape, sizeof shape, number, sizeof number);)
        for (int k = 0; k < COLUMNS; k++)
            width[k] = (int)strlen(cell[k]) > width[k] ? (int)strlen(cell[k]) : width[k];
    for (int k = 0; k < COLUMNS; k++)
        total += width[k];
    for (; total > TABLE_WIDTH; total--) {
        int widest = 1;
        for (int k = 2; k < COLUMNS - 1; k++)
            widest = width[k] > width[widest] ? k : widest;
        if (width[widest] <= (int)strlen(heads[widest]))
            break;
        width[widest]--;
    }
}

void fgi_progress_table(FILE *out, const fg_trainer *trainer, const fg_progress *at)
{
    fg_module *root = fg_trainer_module(trainer);
    const char *cell[COLUMNS];
    char shape[96], number[24];
    int width[COLUMNS];
    choose_widths(root, width);
    put_row(out, width, heads);
    for (size_t i = 0; next_row(root, &i, cell, shape, sizeof shape, number, sizeof number);)
        put_row(out, width, cell);
    (void)fprintf(out, "%" PRId64 " parameters in total; on ", fg_module_parameter_count(root));
    put_devices(out, trainer);
    put_settings(out, trainer, at);
    (void)fflush(out);
}
