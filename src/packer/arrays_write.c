/* arrays_write.c - datasets as packs: a record per sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_arrays.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/number.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "data/dataset.h"
#include "input/json_file.h"
#include "packer/packer.h"

enum { SPLITS = 3 };

typedef struct arrays {
    fg_dataset *const *datasets;
    const fg_dataset *first;
    const char *source;
    fg_pack_arrays_options o;
    fg_field fields[FG_MAX_FIELDS];
    int field_count;
    int64_t counts[SPLITS]; /* samples of each that are packed */
    fg_pack_writer *writer;
    uint8_t *record;
    size_t offsets[FG_MAX_FIELDS], size;
    fgi_packer_meter meter;
} arrays;

/* ---- checks ---------------------------------------------------------------------------------- */

static fg_status check_fields(const arrays *a, const fg_dataset *dataset, fg_error *err)
{
    if (fg_dataset_is_source(dataset))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "a pack of a sequential source is not supported: it has no random access");
    bool is_same = fg_dataset_field_count(dataset) == a->field_count;
    for (int i = 0; is_same && i < a->field_count; i++) {
        const fg_field *f = fg_dataset_field(dataset, i), *g = &a->fields[i];
        is_same =
            strcmp(f->name, g->name) == 0 && f->type.dtype == g->type.dtype &&
            f->type.rank == g->type.rank &&
            memcmp(f->type.dim, g->type.dim, (size_t)g->type.rank * sizeof g->type.dim[0]) == 0;
    }
    return is_same ? FG_OK
                   : fgi_fail(err, FG_EINVAL,
                              "%s: the training, validation and test samples differ in their "
                              "fields: expected the same names and types",
                              a->source);
}

static fg_status prepare(arrays *a, fg_error *err)
{
    int64_t total = 0;
    for (int i = SPLITS - 1; i >= 0; i--)
        a->first = a->datasets[i] != NULL ? a->datasets[i] : a->first;
    if (a->first == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: no dataset is given", a->source);
    a->field_count = fg_dataset_field_count(a->first);
    for (int i = 0; i < a->field_count; i++) {
        a->fields[i] = *fg_dataset_field(a->first, i);
        a->offsets[i] = a->size;
        a->size += fg_type_bytes(&a->fields[i].type);
    }
    for (int i = 0; i < SPLITS; i++) {
        if (a->datasets[i] == NULL)
            continue;
        FGI_TRY(check_fields(a, a->datasets[i], err));
        const int64_t count = fg_dataset_count(a->datasets[i]);
        a->counts[i] = a->o.limit > 0 && a->o.limit < count ? a->o.limit : count;
        total += a->counts[i];
    }
    if (total == 0)
        return fgi_fail(err, FG_EINVAL, "%s: there are no samples", a->source);
    a->record = fgi_calloc(a->size + 1, 1);
    return a->record != NULL ? FG_OK : fgi_no_memory(err);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Reads sample i of a split into a->record. */
static fg_status read_sample(arrays *a, int split, int64_t i, fg_error *err)
{
    void *out_fields[FG_MAX_FIELDS];
    for (int f = 0; f < a->field_count; f++)
        out_fields[f] = a->record + a->offsets[f];
    return fg_dataset_read(a->datasets[split], i, out_fields, err);
}

/* A record of a partial pack must be the sample that would be written now. */
static fg_status check_kept(void *self, int64_t record, const fg_pack_entry *entry,
                            const void *data, size_t size, fg_error *err)
{
    arrays *a = self;
    int64_t i = record;
    int split = 0;
    while (split < SPLITS - 1 && i >= a->counts[split])
        i -= a->counts[split++];
    if (i < a->counts[split] && size == a->size) {
        FGI_TRY(read_sample(a, split, i, err));
        if (memcmp(a->record, data, size) == 0 && entry->split == split)
            return FG_OK;
    }
    return fgi_fail(err, FG_EINVAL,
                    "record %" PRId64 " of the partial pack is not the same as in '%s', which has "
                    "changed since packing was interrupted: start over (restart, --restart)",
                    record, a->source);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* What determines the records. */
static void put_fingerprint(const arrays *a, fgi_buf *out)
{
    fgi_buf_printf(out, "arrays 1\n%s\nlimit %" PRId64 "\n", a->source, a->o.limit);
    for (int i = 0; i < a->field_count; i++) {
        char type[96];
        fgi_buf_printf(out, "%s %s\n", a->fields[i].name,
                       fg_type_format(&a->fields[i].type, type, sizeof type));
    }
    for (int i = 0; i < SPLITS; i++)
        fgi_buf_printf(out, "%" PRId64 "\n", a->counts[i]);
}

static fg_status create_writer(arrays *a, const char *out_path, fg_error *err)
{
    fgi_buf fingerprint = {0};
    put_fingerprint(a, &fingerprint);
    fg_status status = fgi_buf_status(&fingerprint, err);
    const fg_pack_writer_options options = {.shard_bytes = a->o.shard_bytes,
                                            .fields = a->fields,
                                            .field_count = a->field_count,
                                            .class_names = a->first->class_names,
                                            .class_count = fg_dataset_class_count(a->first),
                                            .fingerprint = fingerprint.data,
                                            .resume = !a->o.restart,
                                            .replace = a->o.replace,
                                            .kept = check_kept,
                                            .kept_self = a};
    if (status == FG_OK)
        status = fg_pack_writer_create(out_path, &options, &a->writer, NULL, err);
    fgi_buf_fini(&fingerprint);
    return status;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_image(const fg_type *type)
{
    return type->dtype == FG_U8 && type->rank == 3 && (type->dim[2] == 1 || type->dim[2] == 3) &&
           type->dim[0] <= UINT32_MAX && type->dim[1] <= UINT32_MAX;
}

static int32_t label_of(const arrays *a)
{
    int32_t label = FG_PACK_NO_LABEL;
    if (a->field_count > 1 && a->fields[1].type.dtype == FG_S32 && a->fields[1].type.rank == 0 &&
        fg_dataset_class_count(a->first) > 0)
        memcpy(&label, a->record + a->offsets[1], sizeof label);
    return label;
}

static fg_status add_samples(arrays *a, int split, int64_t begin, fg_error *err)
{
    for (int64_t i = begin; i < a->counts[split]; i++) {
        fg_pack_entry entry = {.codec = FG_PACK_ARRAYS, .split = (uint8_t)split};
        FGI_TRY(read_sample(a, split, i, err));
        if (is_image(&a->fields[0].type)) {
            entry.height = (uint32_t)a->fields[0].type.dim[0];
            entry.width = (uint32_t)a->fields[0].type.dim[1];
        }
        entry.label = label_of(a);
        FGI_TRY(fg_pack_writer_add(a->writer, &entry, a->record, a->size, err));
        const int64_t done = fg_pack_writer_count(a->writer);
        const uint64_t written = (uint64_t)(done - a->meter.start) * a->size;
        if (!fgi_packer_meter_report(&a->meter, done, 0, written))
            return fgi_fail(err, FG_ESTOPPED,
                            "stopped after %" PRId64 " of %" PRId64
                            " sample%s: start again to continue",
                            done, a->meter.total, fgi_s(a->meter.total));
    }
    return FG_OK;
}

static fg_status finish(arrays *a, fg_error *err)
{
    fgi_buf metadata = {0};
    char source[4096];
    (void)fgi_text_escape(fgi_str_of(a->source), source, sizeof source); /* JSON is UTF-8 */
    json_t *object =
        json_pack("{s:s, s:{s:I, s:I, s:I}}", "source", source, "splits", "train",
                  (json_int_t)a->counts[FG_TRAIN], "val", (json_int_t)a->counts[FG_VAL], "test",
                  (json_int_t)a->counts[FG_TEST]);
    const bool is_written = object != NULL && fgi_json_write(object, JSON_COMPACT, &metadata);
    fg_status status = is_written ? fgi_buf_status(&metadata, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = fg_pack_writer_finish(a->writer, metadata.data, err);
    fgi_buf_fini(&metadata);
    json_decref(object);
    return status;
}

static fg_status write_all(arrays *a, const char *out_path, fg_error *err)
{
    FGI_TRY(prepare(a, err));
    FGI_TRY(create_writer(a, out_path, err));
    int64_t kept = fg_pack_writer_count(a->writer);
    fgi_packer_meter_start(&a->meter, kept,
                           a->counts[FG_TRAIN] + a->counts[FG_VAL] + a->counts[FG_TEST]);
    for (int split = 0; split < SPLITS; split++) {
        const int64_t begin = kept < a->counts[split] ? kept : a->counts[split];
        FGI_TRY(add_samples(a, split, begin, err));
        kept -= begin;
    }
    return finish(a, err);
}

fg_status fg_pack_datasets(fg_dataset *const datasets[3], const char *source, const char *out_path,
                           const fg_pack_arrays_options *options, int64_t *out_count, fg_error *err)
{
    FGI_TRY_RESERVED(fg_pack_arrays_options, options, err);
    arrays a = {.datasets = datasets, .source = source != NULL ? source : ""};
    if (options != NULL)
        a.o = *options;
    a.meter = (fgi_packer_meter){.progress = a.o.progress,
                                 .self = a.o.progress_self,
                                 .unit = "samples",
                                 .every_s = fgi_or_default(a.o.progress_s, 0.1)};
    const fg_status status = write_all(&a, out_path, err);
    if (out_count != NULL)
        *out_count = status == FG_OK ? fg_pack_writer_count(a.writer) : 0;
    fg_pack_writer_destroy(a.writer);
    fgi_free(a.record);
    return status;
}
