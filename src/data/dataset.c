/* dataset.c - datasets in general: validation, reference counts, reading. The origin of the samples
 * is behind fg_dataset_ops: memory.c, subset.c or a custom dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/reserved.h"
#include "data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "data/encoding.h"

/* Larger samples are considered a mistake; the limit keeps products of sizes within 64 bits. */
#define LARGEST_SAMPLE_BYTES ((size_t)1 << 40)

static fg_status check_field(const fg_dataset_spec *spec, int index, size_t *out_bytes,
                             fg_error *err)
{
    const fg_field *field = &spec->fields[index];
    if (field->name == NULL || field->name[0] == '\0')
        return fgi_fail(err, FG_EINVAL, "field %d of the dataset has no name", index);
    for (int i = 0; i < index; i++)
        if (strcmp(spec->fields[i].name, field->name) == 0)
            return fgi_fail(err, FG_EINVAL, "two fields of the dataset are named '%s'",
                            field->name);
    size_t bytes = fg_dtype_size(field->type.dtype);
    if (bytes == 0)
        return fgi_fail(err, FG_EINVAL, "field '%s' has no dtype", field->name);
    if (field->type.rank < 0 || field->type.rank > FG_MAX_RANK - 1)
        return fgi_fail(err, FG_EINVAL, "field '%s' has rank %d: expected 0 to %d", field->name,
                        field->type.rank, FG_MAX_RANK - 1);
    for (int i = 0; i < field->type.rank; i++) {
        const int64_t dim = field->type.dim[i];
        if (dim < 1)
            return fgi_fail(err, FG_EINVAL,
                            "field '%s' has a dimension of %" PRId64 ": expected 1 or more",
                            field->name, dim);
        if (__builtin_mul_overflow(bytes, (size_t)dim, &bytes) || bytes > LARGEST_SAMPLE_BYTES)
            return fgi_fail(err, FG_EINVAL, "a sample of field '%s' is larger than %zu bytes",
                            field->name, LARGEST_SAMPLE_BYTES);
    }
    *out_bytes = bytes;
    return FG_OK;
}

static fg_status check_encoding(const fg_dataset_spec *spec, fg_error *err)
{
    char text[2][96];
    const fg_image_encoding *encoding = spec->encoding;
    const fg_type *type = &spec->fields[0].type;
    if (encoding == NULL || encoding->coding == FG_IMAGE_PIXELS)
        return FG_OK;
    FGI_TRY(fgi_encoding_check(encoding, err));
    const fg_type expected = fg_image_encoding_type(encoding);
    if (fg_type_equal(type, &expected))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "field '%s' is %s: expected %s for its encoding",
                    spec->fields[0].name, fg_type_format(type, text[0], sizeof(text[0])),
                    fg_type_format(&expected, text[1], sizeof(text[1])));
}

static fg_status check_spec(const fg_dataset_spec *spec, int64_t least_count,
                            size_t row_bytes[FG_MAX_FIELDS], fg_error *err)
{
    FGI_TRY_RESERVED(fg_dataset_spec, spec, err);
    if (spec->count < least_count)
        return fgi_fail(err, FG_EINVAL,
                        "the dataset has a count of %" PRId64 ": expected 0 or more", spec->count);
    if (spec->field_count < 1 || spec->field_count > FG_MAX_FIELDS || spec->fields == NULL)
        return fgi_fail(err, FG_EINVAL, "the dataset has %d fields: expected 1 to %d",
                        spec->field_count, FG_MAX_FIELDS);
    if (spec->class_count < 0)
        return fgi_fail(err, FG_EINVAL, "the dataset has %" PRId64 " classes: expected 0 or more",
                        spec->class_count);
    for (int i = 0; i < spec->field_count; i++)
        FGI_TRY(check_field(spec, i, &row_bytes[i], err));
    return check_encoding(spec, err);
}

static bool copy_names(fg_dataset *dataset, const fg_dataset_spec *spec)
{
    for (int i = 0; i < spec->field_count; i++) {
        dataset->fields[i] = spec->fields[i];
        dataset->fields[i].name = fgi_arena_strdup(&dataset->arena, spec->fields[i].name);
        if (dataset->fields[i].name == NULL)
            return false;
    }
    if (spec->class_names == NULL || spec->class_count == 0)
        return true;
    const size_t count = (size_t)spec->class_count;
    const char **names = count > SIZE_MAX / sizeof(*names)
                             ? NULL
                             : fgi_arena_alloc(&dataset->arena, count * sizeof(*names));
    if (names == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if ((names[i] = fgi_arena_strdup(&dataset->arena, spec->class_names[i])) == NULL)
            return false;
    dataset->class_names = names;
    return true;
}

static fg_status create(const fg_dataset_spec *spec, int64_t least_count, fg_dataset **out,
                        fg_error *err)
{
    size_t row_bytes[FG_MAX_FIELDS];
    FGI_TRY(check_spec(spec, least_count, row_bytes, err));
    fg_dataset *dataset = fgi_calloc(1, sizeof(*dataset));
    if (dataset == NULL)
        return fgi_no_memory(err);
    if (!copy_names(dataset, spec)) {
        fgi_arena_fini(&dataset->arena);
        fgi_free(dataset);
        return fgi_no_memory(err);
    }
    atomic_init(&dataset->references, 1);
    dataset->count = spec->count;
    dataset->field_count = spec->field_count;
    dataset->class_count = spec->class_count;
    if (spec->encoding != NULL)
        dataset->encoding = *spec->encoding;
    memcpy(dataset->row_bytes, row_bytes, sizeof(row_bytes[0]) * (size_t)spec->field_count);
    *out = dataset;
    return FG_OK;
}

/* What has taken ownership of self destroys it after a failure. */
static fg_status drop(const fg_dataset_ops *ops, void *take_self, fg_status status)
{
    if (ops->destroy != NULL)
        ops->destroy(take_self);
    return status;
}

/* A dataset with these functions; takes ownership of self, also on failure. */
static fg_status create_with(const fg_dataset_ops *ops, void *take_self,
                             const fg_dataset_spec *spec, int64_t least_count, fg_dataset **out,
                             fg_error *err)
{
    *out = NULL;
    const fg_status status = create(spec, least_count, out, err);
    if (status != FG_OK)
        return drop(ops, take_self, status);
    (*out)->ops = *ops;
    (*out)->self = take_self;
    return FG_OK;
}

static fg_status check_ops(const fg_dataset_ops *ops, fg_error *err)
{
    FGI_TRY_RESERVED(fg_dataset_ops, ops, err);
    if (ops->read == NULL && ops->gather == NULL && ops->read_epoch == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "the dataset has no read, gather or read_epoch function: expected one");
    if (ops->read_epoch != NULL && (ops->read != NULL || ops->gather != NULL))
        return fgi_fail(err, FG_EINVAL,
                        "the dataset has a read_epoch function and read or gather: expected "
                        "read_epoch alone");
    return FG_OK;
}

fg_status fg_dataset_create(const fg_dataset_ops *ops, void *take_self, const fg_dataset_spec *spec,
                            fg_dataset **out, fg_error *err)
{
    *out = NULL;
    const fg_status status = check_ops(ops, err);
    if (status != FG_OK)
        return drop(ops, take_self, status);
    FGI_TRY(create_with(ops, take_self, spec, 0, out, err));
    (*out)->reads_rows = ops->gather == NULL;
    (*out)->varies = ops->read_epoch != NULL;
    return FG_OK;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Once, also if several samples come from the same dataset in different ways. */
fg_status fgi_dataset_has_damage(fg_dataset *dataset, const fgi_damage *damage, fg_error *err)
{
    const size_t count = dataset->damage_count;
    for (size_t i = 0; i < count; i++)
        if (dataset->damage[i] == damage)
            return FG_OK;
    const fgi_damage **all = fgi_arena_alloc(&dataset->arena, (count + 1) * sizeof *all);
    if (all == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        all[i] = dataset->damage[i];
    all[count] = damage;
    dataset->damage = all;
    dataset->damage_count = count + 1;
    return FG_OK;
}

fg_status fgi_dataset_add_damage(fg_dataset *dataset, const fg_dataset *source, fg_error *err)
{
    for (size_t i = 0; i < source->damage_count; i++)
        FGI_TRY(fgi_dataset_has_damage(dataset, source->damage[i], err));
    return FG_OK;
}

/* The sum of all counts of one kind, and the message about the first. */
static int64_t sum_damage(const fg_dataset *dataset, bool is_flawed, const char **out_first)
{
    int64_t sum = 0;
    const char *first = "";
    for (size_t i = 0; i < dataset->damage_count; i++) {
        const fgi_damage *d = dataset->damage[i];
        const int64_t count = atomic_load(is_flawed ? &d->flawed : &d->count);
        if (count > 0 && sum == 0)
            first = is_flawed ? d->first_flawed.message : d->first.message;
        sum += count;
    }
    if (out_first != NULL)
        *out_first = first;
    return sum;
}

int64_t fg_dataset_damaged(const fg_dataset *dataset, const char **out_first)
{
    return sum_damage(dataset, false, out_first);
}

int64_t fg_dataset_flawed(const fg_dataset *dataset, const char **out_first)
{
    return sum_damage(dataset, true, out_first);
}

/* ---- creation -------------------------------------------------------------------------------- */

fg_status fgi_dataset_create_gathered(const fgi_gathered *gathered, void *take_self,
                                      const fg_dataset_spec *spec, fg_dataset **out, fg_error *err)
{
    const fg_dataset_ops ops = {
        .labels = gathered->labels, .destroy = gathered->destroy, .name = gathered->name};
    FGI_TRY(create_with(&ops, take_self, spec, 0, out, err));
    fg_dataset *dataset = *out;
    dataset->gather_epoch = gathered->gather_epoch;
    dataset->prefetch = gathered->prefetch;
    dataset->groups = gathered->groups;
    dataset->target = gathered->target;
    dataset->limit_spares = gathered->limit_spares;
    dataset->reads_rows = true;
    dataset->varies = true;
    if (gathered->damage == NULL)
        return FG_OK;
    return fgi_dataset_finish(out, fgi_dataset_has_damage(dataset, gathered->damage, err));
}

fg_status fgi_dataset_derive(const fgi_gathered *gathered, void *take_self, const fg_dataset *like,
                             int64_t count, fg_dataset **out, fg_error *err)
{
    const fg_dataset_spec spec = {.count = count,
                                  .fields = like->fields,
                                  .field_count = like->field_count,
                                  .class_count = like->class_count,
                                  .class_names = like->class_names,
                                  .encoding = &like->encoding};
    FGI_TRY(fgi_dataset_create_gathered(gathered, take_self, &spec, out, err));
    (*out)->is_drawn = like->is_drawn;
    (*out)->reads_rows = like->reads_rows;
    (*out)->varies = like->varies;
    return fgi_dataset_finish(out, fgi_dataset_add_damage(*out, like, err));
}

fg_status fg_dataset_from_source(const fg_source_ops *ops, void *take_self,
                                 const fg_dataset_spec *spec, fg_dataset **out, fg_error *err)
{
    const fg_dataset_ops own = {.destroy = ops->destroy};
    *out = NULL;
    fg_status status = fgi_check_reserved(FGI_RESERVED(fg_source_ops, ops), err);
    if (status == FG_OK && (ops->open == NULL || ops->next == NULL))
        status = fgi_fail(err, FG_EINVAL, "the source has no open or no next function");
    if (status != FG_OK)
        return drop(&own, take_self, status);
    FGI_TRY(create_with(&own, take_self, spec, FG_UNKNOWN_COUNT, out, err));
    (*out)->source = *ops;
    return FG_OK;
}

fg_status fgi_dataset_check_random(const fg_dataset *dataset, fg_error *err)
{
    if (dataset->source.open == NULL)
        return FG_OK;
    return fgi_fail(
        err, FG_EUNSUPPORTED,
        "a source can only be read sequentially, by a loader: random access is not supported");
}

const char *fg_dataset_sample_name(const fg_dataset *dataset, int64_t index)
{
    const bool has_name = dataset->ops.name != NULL && index >= 0 && index < dataset->count;
    return has_name ? dataset->ops.name(dataset->self, index) : NULL;
}

bool fgi_dataset_is_constant(const fg_dataset *dataset)
{
    return dataset->count >= 0 && !dataset->is_drawn && !dataset->varies;
}

bool fg_dataset_is_source(const fg_dataset *dataset) { return dataset->source.open != NULL; }

fg_dataset *fgi_dataset_retain(fg_dataset *dataset)
{
    atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
    return dataset;
}

void fg_dataset_destroy(fg_dataset *dataset)
{
    if (dataset == NULL ||
        atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel) != 1)
        return;
    if (dataset->ops.destroy != NULL)
        dataset->ops.destroy(dataset->self);
    fgi_arena_fini(&dataset->arena);
    fgi_free(dataset);
}

fg_status fgi_dataset_finish(fg_dataset **dataset, fg_status status)
{
    if (status == FG_OK)
        return FG_OK;
    fg_dataset_destroy(*dataset);
    *dataset = NULL;
    return status;
}

int64_t fg_dataset_count(const fg_dataset *dataset) { return dataset->count; }

int fg_dataset_field_count(const fg_dataset *dataset) { return dataset->field_count; }

const fg_field *fg_dataset_field(const fg_dataset *dataset, int index)
{
    return index < 0 || index >= dataset->field_count ? NULL : &dataset->fields[index];
}

int fg_dataset_find_field(const fg_dataset *dataset, const char *name)
{
    for (int i = 0; i < dataset->field_count; i++)
        if (strcmp(dataset->fields[i].name, name) == 0)
            return i;
    return -1;
}

int64_t fg_dataset_class_count(const fg_dataset *dataset) { return dataset->class_count; }

const char *fg_dataset_class_name(const fg_dataset *dataset, int64_t index)
{
    if (dataset->class_names == NULL || index < 0 || index >= dataset->class_count)
        return NULL;
    return dataset->class_names[index];
}

const fg_image_encoding *fg_dataset_encoding(const fg_dataset *dataset)
{
    return dataset->encoding.coding != FG_IMAGE_PIXELS ? &dataset->encoding : NULL;
}

fg_status fgi_dataset_fail(const char *reader, fg_status status, int64_t index, fg_error *err)
{
    if (status == FG_OK)
        return FG_OK;
    if (err->message[0] == '\0')
        return fgi_fail(err, status, "sample %" PRId64 ": the %s's reader returned %s", index,
                        reader, fg_status_name(status));
    err->status = status;
    return status;
}

static fg_status gather_one_by_one(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                                   size_t n, void *const *out_fields, fg_error *err)
{
    const fg_dataset_ops *ops = &dataset->ops;
    void *row[FG_MAX_FIELDS];
    for (size_t i = 0; i < n; i++) {
        fgi_dataset_row(dataset, out_fields, i, row);
        const fg_status status = ops->read_epoch != NULL
                                     ? ops->read_epoch(dataset->self, epoch, indices[i], row, err)
                                     : ops->read(dataset->self, indices[i], row, err);
        if (status != FG_OK)
            return fgi_dataset_fail("dataset", status, indices[i], err);
    }
    return FG_OK;
}

fg_status fgi_dataset_gather(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                             size_t n, void *const *out_fields, fg_error *err)
{
    fg_error local;
    if (err == NULL)
        err = &local;
    *err = (fg_error){0};
    FGI_TRY(fgi_dataset_check_random(dataset, err));
    for (size_t i = 0; i < n; i++)
        if (indices[i] < 0 || indices[i] >= dataset->count)
            return fgi_fail(err, FG_EINVAL,
                            "sample %" PRId64 " does not exist: the dataset has %" PRId64,
                            indices[i], dataset->count);
    if (n == 0)
        return FG_OK;
    if (dataset->gather_epoch != NULL)
        return dataset->gather_epoch(dataset->self, epoch, indices, n, out_fields, err);
    if (dataset->ops.gather == NULL)
        return gather_one_by_one(dataset, epoch, indices, n, out_fields, err);
    const fg_status status = dataset->ops.gather(dataset->self, indices, n, out_fields, err);
    return fgi_dataset_fail("dataset", status, indices[0], err);
}

void fgi_dataset_prefetch(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                          size_t n)
{
    if (dataset->prefetch != NULL && n > 0)
        dataset->prefetch(dataset->self, epoch, indices, n);
}

fg_status fg_dataset_read(const fg_dataset *dataset, int64_t index, void *const *out_fields,
                          fg_error *err)
{
    return fgi_dataset_gather(dataset, 0, &index, 1, out_fields, err);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static fg_status check_labels(const fg_dataset *dataset, fg_error *err)
{
    FGI_TRY(fgi_dataset_check_random(dataset, err));
    if (dataset->is_drawn)
        return fgi_fail(
            err, FG_EUNSUPPORTED,
            "the samples of this dataset are drawn again in each epoch, so they have no "
            "fixed labels");
    const fg_type *type = dataset->field_count > 1 ? &dataset->fields[1].type : NULL;
    if (dataset->class_count == 0 || type == NULL || type->dtype != FG_S32 || type->rank != 0)
        return fgi_fail(err, FG_EINVAL,
                        "the dataset has no class indices: expected classes, and s32[] as field 1");
    return FG_OK;
}

/* Reads every sample; `room` has room for all other fields. */
static fg_status read_labels(const fg_dataset *dataset, void *room, int32_t *out_labels,
                             fg_error *err)
{
    void *row[FG_MAX_FIELDS];
    for (int f = 0; f < dataset->field_count; f++)
        row[f] = room;
    for (int64_t i = 0; i < dataset->count; i++) {
        row[1] = &out_labels[i];
        FGI_TRY(fgi_dataset_gather(dataset, 0, &i, 1, row, err));
    }
    return FG_OK;
}

bool fg_dataset_has_labels(const fg_dataset *dataset)
{
    fg_error none;
    return dataset->ops.labels != NULL && check_labels(dataset, &none) == FG_OK;
}

fg_status fg_dataset_labels(const fg_dataset *dataset, int32_t *out_labels, fg_error *err)
{
    fg_error local;
    err = err != NULL ? err : &local;
    *err = (fg_error){0};
    FGI_TRY(check_labels(dataset, err));
    if (dataset->ops.labels != NULL)
        return fgi_dataset_fail("dataset", dataset->ops.labels(dataset->self, out_labels, err), 0,
                                err);
    size_t largest = 1;
    for (int f = 0; f < dataset->field_count; f++)
        largest = dataset->row_bytes[f] > largest ? dataset->row_bytes[f] : largest;
    void *room = fgi_alloc_aligned(largest);
    if (room == NULL)
        return fgi_no_memory(err);
    const fg_status status = read_labels(dataset, room, out_labels, err);
    fgi_free_aligned(room);
    return status;
}

/* ---- several labels per sample --------------------------------------------------------------- */

bool fg_dataset_is_multilabel(const fg_dataset *dataset)
{
    const fg_type *type = dataset->field_count > 1 ? &dataset->fields[1].type : NULL;
    return type != NULL && type->dtype == FG_U8 && type->rank == 1 && dataset->class_count > 0 &&
           type->dim[0] == dataset->class_count;
}

/* A value of a target as a number; NaN for a dtype that cannot say whether a sample has a label. */
static double label_value(const fg_type *type, const void *row, int64_t i)
{
    switch (type->dtype) {
    case FG_BOOL:
    case FG_U8: return ((const uint8_t *)row)[i];
    case FG_S32: return ((const int32_t *)row)[i];
    case FG_F32: return (double)((const float *)row)[i];
    default: return (double)NAN;
    }
}

static fg_status add_labels(const fg_dataset *dataset, int64_t index, const void *row,
                            int64_t *counts, fg_error *err)
{
    const fg_type *type = &dataset->fields[1].type;
    for (int64_t c = 0; c < type->dim[0]; c++) {
        const double value = label_value(type, row, c);
        if (!(value >= 0 && value <= 1))
            return fgi_fail(err, FG_EFORMAT,
                            "sample %" PRId64 ": label %" PRId64 " is %g: expected 0, or 1 if the "
                            "sample has it",
                            index, c, value);
        counts[c] += value > 0.5;
    }
    return FG_OK;
}

static fg_status count_rows(const fg_dataset *dataset, void *const *row, int64_t *counts,
                            fg_error *err)
{
    for (int64_t i = 0; i < dataset->count; i++) {
        if (dataset->target != NULL)
            FGI_TRY(dataset->target(dataset->self, i, row[1], err));
        else
            FGI_TRY(fgi_dataset_gather(dataset, 0, &i, 1, row, err));
        FGI_TRY(add_labels(dataset, i, row[1], counts, err));
    }
    return FG_OK;
}

fg_status fg_dataset_label_counts(const fg_dataset *dataset, int64_t *out_counts, fg_error *err)
{
    void *row[FG_MAX_FIELDS] = {NULL};
    fg_status status = fgi_dataset_check_random(dataset, err);
    if (status == FG_OK && (dataset->field_count < 2 || dataset->fields[1].type.rank != 1))
        status = fgi_fail(err, FG_EINVAL,
                          "the dataset has no labels to count: expected one value for each label "
                          "as field 1");
    for (int f = 0; f < dataset->field_count && status == FG_OK; f++) {
        row[f] = fgi_calloc(1, dataset->row_bytes[f]);
        status = row[f] != NULL ? FG_OK : fgi_no_memory(err);
    }
    if (status == FG_OK)
        status = count_rows(dataset, row, out_counts, err);
    for (int f = 0; f < dataset->field_count; f++)
        fgi_free(row[f]);
    return status;
}
