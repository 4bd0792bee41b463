/* progress_table.c - printed before the first step: the model's layers, the devices, the
 * optimizer and its learning rates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "pjrt/pjrt.h"
#include "train/watch/call.h"
#include "train/progress/progress.h"

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
    (void)fgi_fprintf(out, "%s, lr %g (%s%s",
                      fg_optimizer_name(fgi_fit_facts_of(trainer).optimizer), settings->lr,
                      is_scaled ? settings->lr_scaling : "no learning-rate", " scaling");
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
                  fgi_s(settings->total_steps), at->step > 0 ? " in total" : "");
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
    const char *kind = fg_client_info_of(client)->platform;
    if (fg_device_info_at(client, 0, &info, &err) == FG_OK)
        kind = info.kind;
    const char *kernels = fg_client_info_of(client)->kernels;
    const bool has_other = kernels != NULL && strstr(kernels, "oneDNN") != NULL;
    if (settings->device_count == 1 && has_other)
        (void)fprintf(out, "%s, kernels: %s (trainer.kernels)\n", kind, kernels);
    else if (settings->device_count == 1)
        (void)fprintf(out, "%s\n", kind);
    else if (fgi_client_is_virtual(client))
        (void)fprintf(out, "%d virtual devices of the CPU, for development (%s)\n",
                      settings->device_count, settings->strategy);
    else
        (void)fprintf(out, "%d x %s (%s)\n", settings->device_count, kind, settings->strategy);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { COLUMNS = 5, CELL = 96, TABLE_WIDTH = 80 };

typedef struct row {
    char cell[COLUMNS][CELL];
} row;

static const row heads = {{"module", "kind", "detail", "output", "parameters"}};

/* Writes a row of the table; a cell that is cut to `width` ends in "...". */
static void put_row(FILE *out, const int *width, const row *r)
{
    for (int i = 0; i < COLUMNS - 1; i++) {
        const int length = (int)strlen(r->cell[i]), dots = length > width[i] ? 3 : 0;
        (void)fprintf(out, "%-*.*s%.*s  ", width[i] - dots, width[i] - dots, r->cell[i], dots,
                      "...");
    }
    (void)fprintf(out, "%*s\n", width[COLUMNS - 1], r->cell[COLUMNS - 1]);
}

/* The part of a name after its last point. */
static const char *last_part(const char *name)
{
    const char *point = strrchr(name, '.');
    return point != NULL ? point + 1 : name;
}

/* The number of modules of a block: a module with a number for a name, "layer1.0", and those in it.
 * 0: module i is none. */
static size_t block_size(fg_module *root, size_t i)
{
    fg_module_info block, info;
    size_t size = 1;
    if (!fg_module_info_at(root, i, &block))
        return 0;
    const char *number = last_part(block.name);
    const size_t length = strlen(block.name);
    if (*number == '\0' || number[strspn(number, "0123456789")] != '\0')
        return 0;
    while (fg_module_info_at(root, i + size, &info) &&
           strncmp(info.name, block.name, length) == 0 && info.name[length] == '.')
        size++;
    return size > 1 ? size : 0;
}

static bool is_same(const fg_module_info *a, const fg_module_info *b, size_t a_skip, size_t b_skip)
{
    return strcmp(a->name + a_skip, b->name + b_skip) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->detail, b->detail) == 0 && fg_type_equal(&a->output, &b->output) &&
           a->parameter_count == b->parameter_count;
}

/* Whether block b, of the same parent as block a, repeats it. */
static bool repeats(fg_module *root, size_t a, size_t b, size_t size)
{
    fg_module_info x, y;
    if (block_size(root, b) != size || !fg_module_info_at(root, a, &x) ||
        !fg_module_info_at(root, b, &y))
        return false;
    const size_t parent = (size_t)(last_part(x.name) - x.name);
    const size_t x_size = strlen(x.name), y_size = strlen(y.name);
    if ((size_t)(last_part(y.name) - y.name) != parent || strncmp(x.name, y.name, parent) != 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!fg_module_info_at(root, a + i, &x) || !fg_module_info_at(root, b + i, &y) ||
            !is_same(&x, &y, x_size, y_size))
            return false;
    return true;
}

static void fill_row(row *out, const char *name, const fg_module_info *info, const char *detail,
                     int64_t parameters)
{
    (void)snprintf(out->cell[0], CELL, "%s", name);
    (void)snprintf(out->cell[1], CELL, "%s", info->kind);
    (void)snprintf(out->cell[2], CELL, "%s", detail);
    put_shape(&info->output, out->cell[3], CELL);
    (void)fgi_snprintf(out->cell[4], CELL, "%" PRId64, parameters);
}

/* A row for a block and those that follow and repeat it: "layer1.1-3", "3 x 4 layers". */
static void fill_block(fg_module *root, size_t *i, size_t size, row *out)
{
    fg_module_info first, info = {0};
    char name[CELL], detail[CELL], last[32] = "", times[32] = "";
    int64_t parameters = 0;
    size_t count = 1, layers = 0;
    while (repeats(root, *i, *i + count * size, size))
        count++;
    if (!fg_module_info_at(root, *i, &first))
        return;
    for (size_t k = 0; k < count * size && fg_module_info_at(root, *i + k, &info); k++) {
        parameters += info.parameter_count;
        layers += k > 0 && k < size && (info.kind[0] != '\0' || info.variable_count > 0);
    }
    if (count > 1 && fg_module_info_at(root, *i + (count - 1) * size, &info)) {
        (void)snprintf(last, sizeof last, "-%s", last_part(info.name));
        (void)snprintf(times, sizeof times, "%zu x ", count);
    }
    (void)snprintf(name, sizeof name, "%s%s", first.name, last);
    (void)snprintf(detail, sizeof detail, "%s%zu layer%s", times, layers, fgi_s(layers));
    fill_row(out, name, &first, detail, parameters);
    *i += count * size;
}

/* The next row; false: there is none. */
static bool next_row(fg_module *root, size_t *i, row *out)
{
    fg_module_info info;
    for (; fg_module_info_at(root, *i, &info); (*i)++) {
        const size_t size = block_size(root, *i);
        if (size > 0) {
            fill_block(root, i, size, out);
            return true;
        }
        if (info.kind[0] == '\0' && info.variable_count == 0)
            continue;
        fill_row(out, info.name, &info, info.detail, info.parameter_count);
        (*i)++;
        return true;
    }
    return false;
}

/* Makes columns as wide as their widest cell. If a row does not fit in the line, kind, detail and
 * output are cut, the widest of them first; names are not, because patterns select modules by
 * them. */
static void choose_widths(fg_module *root, int most, int *width)
{
    row r;
    int total = 2 * (COLUMNS - 1);
    for (int k = 0; k < COLUMNS; k++)
        width[k] = (int)strlen(heads.cell[k]);
    for (size_t i = 0; next_row(root, &i, &r);)
        for (int k = 0; k < COLUMNS; k++)
            width[k] = (int)strlen(r.cell[k]) > width[k] ? (int)strlen(r.cell[k]) : width[k];
    for (int k = 0; k < COLUMNS; k++)
        total += width[k];
    for (; total > most; total--) {
        int widest = 1;
        for (int k = 2; k < COLUMNS - 1; k++)
            widest = width[k] > width[widest] ? k : widest;
        if (width[widest] <= (int)strlen(heads.cell[widest]))
            break;
        width[widest]--;
    }
}

void fgi_progress_table(FILE *out, const fg_trainer *trainer, const fg_progress *at)
{
    fg_module *root = fg_trainer_module(trainer);
    row r;
    int width[COLUMNS];
    const int columns = (int)fgi_terminal_columns(out, TABLE_WIDTH + 1);
    choose_widths(root, columns <= TABLE_WIDTH ? columns - 1 : TABLE_WIDTH, width);
    put_row(out, width, &heads);
    for (size_t i = 0; next_row(root, &i, &r);)
        put_row(out, width, &r);
    (void)fprintf(out, "%" PRId64 " parameters in total; on ", fg_module_parameter_count(root));
    put_devices(out, trainer);
    put_settings(out, trainer, at);
    (void)fflush(out);
}
