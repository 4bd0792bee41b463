/* memory.c - datasets in memory: arrays of the user, mapped files, converted files. Gathering the
 * rows of a batch is a loop of copies, which takes most of the time for small batches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/reserved.h"
#include "data/memory.h"

#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "data/dataset.h"

/* Prefetch distance in rows: random rows miss the cache. */
enum { PREFETCH_ROWS = 4, CACHE_LINE = 64, PREFETCH_BYTES = 1024 };

typedef struct memory {
    int64_t count;
    int field_count;
    size_t row_bytes[FG_MAX_FIELDS];
    fgi_block blocks[FG_MAX_FIELDS];
} memory;

static inline void prefetch_row(const unsigned char *row, size_t bytes)
{
    for (size_t at = 0; at < bytes && at < PREFETCH_BYTES; at += CACHE_LINE)
        __builtin_prefetch(row + at);
}

/* memcpy with a size that is known here compiles to a load and a store. */
static void gather_4_bytes(const unsigned char *source, const int64_t *indices, size_t n,
                           unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * 4, source + (size_t)indices[i] * 4, 4);
}

static void gather_rows(const unsigned char *source, size_t bytes, const int64_t *indices, size_t n,
                        unsigned char *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i + PREFETCH_ROWS < n)
            prefetch_row(source + (size_t)indices[i + PREFETCH_ROWS] * bytes, bytes);
        memcpy(out + i * bytes, source + (size_t)indices[i] * bytes, bytes);
    }
}

static fg_status memory_gather(void *self, const int64_t *indices, size_t n,
                               void *const *out_fields, fg_error *err)
{
    const memory *m = self;
    for (int f = 0; f < m->field_count; f++) {
        if (m->row_bytes[f] == 4)
            gather_4_bytes(m->blocks[f].data, indices, n, out_fields[f]);
        else
            gather_rows(m->blocks[f].data, m->row_bytes[f], indices, n, out_fields[f]);
    }
    return FG_OK;
}

/* fg_dataset_labels has checked that field 1 is s32[]. */
static fg_status memory_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const memory *m = self;
    if (m->count > 0)
        memcpy(out_labels, m->blocks[1].data, (size_t)m->count * sizeof(*out_labels));
    return FG_OK;
}

static void memory_destroy(void *self)
{
    memory *m = self;
    if (m == NULL)
        return;
    for (int f = 0; f < m->field_count; f++)
        fgi_block_fini(&m->blocks[f]);
    fgi_free(m);
}

static const fg_dataset_ops memory_ops = {
    .gather = memory_gather, .labels = memory_labels, .destroy = memory_destroy};

fg_status fgi_memory_create(const fg_dataset_spec *spec, fgi_block *take_blocks, fg_dataset **out,
                            fg_error *err)
{
    *out = NULL;
    const int fields = spec->field_count > FG_MAX_FIELDS ? FG_MAX_FIELDS : spec->field_count;
    memory *m = fgi_calloc(1, sizeof(*m));
    for (int f = 0; f < fields; f++) {
        if (m != NULL) {
            m->blocks[f] = take_blocks[f];
            m->row_bytes[f] = fg_type_bytes(&spec->fields[f].type);
            take_blocks[f] = (fgi_block){0};
        } else {
            fgi_block_fini(&take_blocks[f]);
        }
    }
    if (m == NULL)
        return fgi_no_memory(err);
    m->count = spec->count;
    m->field_count = fields;
    return fg_dataset_create(&memory_ops, m, spec, out, err);
}

/* A user's array as a block: borrowed or copied. */
static fg_status take_array(const fg_dataset_spec *spec, int field, const void *array,
                            fg_storage storage, fgi_block *out, fg_error *err)
{
    const fg_field *f = &spec->fields[field];
    size_t bytes;
    if (array == NULL && spec->count > 0)
        return fgi_fail(err, FG_EINVAL, "the array of field %d is NULL", field);
    if (f->type.rank < 0 || f->type.rank >= FG_MAX_RANK ||
        !fgi_mul_size(spec->count, fg_type_bytes(&f->type), &bytes))
        return fgi_fail(err, FG_EINVAL, "the size of the array of field %d is too large", field);
    if (storage == FG_BORROW) {
        *out = (fgi_block){.data = array, .size = bytes};
        return FG_OK;
    }
    FGI_TRY(fgi_block_alloc(bytes, out, err));
    if (array != NULL && bytes > 0)
        memcpy(out->owned, array, bytes);
    return FG_OK;
}

fg_status fg_dataset_from_arrays(const fg_dataset_spec *spec, const void *const *arrays,
                                 fg_storage storage, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_dataset_spec, spec, err);
    fgi_block blocks[FG_MAX_FIELDS] = {{0}};
    if (spec->field_count < 1 || spec->field_count > FG_MAX_FIELDS || spec->fields == NULL)
        return fgi_fail(err, FG_EINVAL, "the dataset has %d fields: expected 1 to %d",
                        spec->field_count, FG_MAX_FIELDS);
    fg_status status = FG_OK;
    for (int f = 0; f < spec->field_count && status == FG_OK; f++)
        status = take_array(spec, f, arrays[f], storage, &blocks[f], err);
    if (status == FG_OK)
        return fgi_memory_create(spec, blocks, out, err);
    for (int f = 0; f < spec->field_count; f++)
        fgi_block_fini(&blocks[f]);
    return status;
}
