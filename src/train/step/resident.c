/* resident.c - data that stay on the devices: each device has all samples of a stage's dataset, and
 * a batch is only the numbers of its samples, which the program gathers. The values are the same as
 * in batches that are uploaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "data/dataset.h"
#include "train/step/stage.h"

enum { LARGEST_PART = 8 }; /* auto: at most this part of a device's memory */

/* ---- the choice ------------------------------------------------------------------------------ */

int64_t fgi_resident_bytes(const fg_dataset *dataset)
{
    int64_t bytes = 0;
    for (int f = 0; f < dataset->field_count; f++)
        bytes += (int64_t)dataset->row_bytes[f];
    return bytes * dataset->count;
}

/* On the CPU, a batch is read where the loader has put it: copies on the device would save little.
 * Samples that must be read from files first would delay the start. */
static bool pays(const fg_client *client, const fg_dataset *dataset, int64_t others)
{
    return !fgi_client_reads_host(client) && !dataset->reads_rows &&
           fgi_resident_bytes(dataset) + others <= fgi_memory_limit(client) / LARGEST_PART;
}

fg_status fgi_resident_choose(const fg_client *client, const fg_dataset *dataset,
                              fg_resident wanted, int64_t others, bool *out_is_resident,
                              fg_error *err)
{
    const bool can = fgi_dataset_is_constant(dataset) && dataset->count <= INT32_MAX;
    if (wanted == FG_RESIDENT_TRUE && !can)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "data.resident: the samples %s, so they can't stay on the devices: set it "
                        "to auto or false",
                        fg_dataset_is_source(dataset) ? "come from a source"
                        : dataset->is_drawn           ? "are drawn again in each epoch"
                        : dataset->varies             ? "vary by epoch, such as random crops"
                                                      : "are more than 2^31");
    *out_is_resident = can && (wanted == FG_RESIDENT_TRUE ||
                               (wanted == FG_RESIDENT_AUTO && pays(client, dataset, others)));
    return FG_OK;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

void fgi_resident_destroy(fgi_resident *resident)
{
    if (resident == NULL)
        return;
    for (int f = 0; f < FG_MAX_FIELDS; f++)
        fg_variable_destroy(resident->field[f]);
    fgi_free(resident);
}

static fg_status create_field(const fg_dataset *dataset, int f, fg_variable **out, fg_error *err)
{
    const fg_type *sample = &dataset->fields[f].type;
    fg_type type = {.dtype = sample->dtype, .rank = sample->rank + 1, .dim = {dataset->count}};
    memcpy(type.dim + 1, sample->dim, (size_t)sample->rank * sizeof sample->dim[0]);
    return fg_variable_create(dataset->fields[f].name, &type,
                              &(fg_variable_options){.kind = FG_STATE}, out, err);
}

fg_status fgi_resident_create(const fg_dataset *dataset, fgi_resident **out, fg_error *err)
{
    fg_status status = FG_OK;
    fgi_resident *resident = fgi_calloc(1, sizeof *resident);
    *out = resident;
    if (resident == NULL)
        return fgi_no_memory(err);
    for (int f = 0; f < dataset->field_count && status == FG_OK; f++)
        status = create_field(dataset, f, &resident->field[f], err);
    return status;
}

/* Reads the whole dataset into one block per field. */
static fg_status read_all(fg_loader *loader, const fg_dataset *dataset, void *const *blocks,
                          fg_error *err)
{
    void *rows[FG_MAX_FIELDS];
    const fg_host_batch *batch;
    int64_t done = 0;
    while (done < dataset->count) {
        FGI_TRY(fg_loader_next(loader, &batch, err));
        fgi_dataset_row(dataset, blocks, (size_t)done, rows);
        for (int f = 0; f < dataset->field_count; f++)
            memcpy(rows[f], batch->data[f], (size_t)batch->valid * dataset->row_bytes[f]);
        done += batch->valid;
        fg_loader_recycle(loader, batch);
    }
    return FG_OK;
}

fg_status fgi_resident_load(fgi_resident *resident, fg_dataset *dataset, int64_t workers,
                            fg_error *err)
{
    enum { ROWS = 256 };
    void *blocks[FG_MAX_FIELDS] = {NULL};
    fg_loader *loader = NULL;
    if (resident->is_loaded)
        return FG_OK;
    fg_status status = fg_loader_create(
        dataset, &(fg_loader_options){.batch_size = ROWS, .workers = workers}, &loader, err);
    for (int f = 0; f < dataset->field_count && status == FG_OK; f++) {
        const size_t bytes = dataset->row_bytes[f] * (size_t)dataset->count;
        blocks[f] = fgi_alloc_aligned(bytes > 0 ? bytes : 1);
        if (blocks[f] == NULL)
            status = fgi_no_memory(err);
    }
    if (status == FG_OK)
        status = read_all(loader, dataset, blocks, err);
    fg_loader_destroy(loader);
    for (int f = 0; f < dataset->field_count; f++) {
        if (status == FG_OK)
            fgi_variable_take(resident->field[f], blocks[f]);
        else
            fgi_free_aligned(blocks[f]);
    }
    resident->is_loaded = status == FG_OK;
    return status;
}

fg_tensor fgi_resident_field(const fgi_resident *resident, int f, fg_tensor row)
{
    return fg_gather(fg_variable_value(fg_tensor_trace(row), resident->field[f]), row, 0, 0);
}
