/* pack_arrays.c - datasets as packs, a record per sample, and the arrays in a folder that are
 * packed like this.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_arrays.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

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
#include "base/file.h"
#include "data/npy.h"

enum { SPLITS = 3, PATH = 4096 };

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

/* ---- sources --------------------------------------------------------------------------------- */

/* Writes the path of the file "x.npy" of a folder, or of the array "x" of an archive. */
static void put_path(const char *source, const char *name, char out[PATH])
{
    const int size = (int)strlen(name) - (fgi_ends_with(name, ".npy") ? 4 : 0);
    if (fgi_ends_with(source, ".npz"))
        (void)fgi_snprintf(out, PATH, "%s:%.*s", source, size, name);
    else
        (void)fgi_snprintf(out, PATH, "%s/%s", source, name);
}

static bool has_file(const char *source, const char *name)
{
    char path[PATH];
    put_path(source, name, path);
    if (strlen(path) + 1 >= PATH)
        return false;
    return fgi_ends_with(source, ".npz") ? fgi_npz_has(source, path + strlen(source) + 1)
                                         : fgi_file_exists(path);
}

static bool has_any(const char *folder, const char *const *names)
{
    for (; *names != NULL; names++)
        if (has_file(folder, *names))
            return true;
    return false;
}

static const char *const idx_names[] = {"train-images-idx3-ubyte", "train-images.idx3-ubyte",
                                        "train-images-idx3-ubyte.gz", "train-images.idx3-ubyte.gz",
                                        NULL};
static const char *const cifar_names[] = {"data_batch_1.bin",
                                          "cifar-10-batches-bin/data_batch_1.bin", NULL};
static const char *const cifar100_names[] = {"fine_label_names.txt",
                                             "cifar-100-binary/fine_label_names.txt", NULL};
static const char *const npy_names[] = {"x.npy", "x_train.npy", NULL};

bool fg_pack_arrays_accepts(const char *source)
{
    return fgi_ends_with(source, ".npy") || fgi_npz_is(source) || has_any(source, idx_names) ||
           has_any(source, cifar_names) || has_any(source, cifar100_names) ||
           has_any(source, npy_names);
}

bool fgi_packer_is_tokens(const char *source)
{
    static const char *const names[] = {"train.bin", "train.txt", "train.npy", NULL};
    return fgi_is_file(source) ? fgi_ends_with(source, ".txt") || fgi_ends_with(source, ".bin")
                               : has_any(source, names);
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef fg_status open_split(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err);

/* A published dataset; a missing file of validation samples is not an error. */
static fg_status open_published(const char *folder, open_split *open, fg_dataset *out[SPLITS],
                                fg_error *err)
{
    fg_error missing;
    FGI_TRY(open(folder, FG_TRAIN, &out[FG_TRAIN], err));
    const fg_status status = open(folder, FG_VAL, &out[FG_VAL], &missing);
    if (status == FG_OK || status == FG_ENOTFOUND)
        return FG_OK;
    if (err != NULL)
        *err = missing;
    return status;
}

static fg_status open_fine(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    return fg_cifar100_load(folder, split, false, out, err);
}

/* One split of a folder of .npy files, if its inputs exist. */
static fg_status open_npy(const char *folder, const char *x_name, const char *y_name,
                          fg_dataset **out, fg_error *err)
{
    char x[PATH], y[PATH];
    if (*out != NULL || !has_file(folder, x_name))
        return FG_OK;
    put_path(folder, x_name, x);
    put_path(folder, y_name, y);
    return fg_npy_load(x, has_file(folder, y_name) ? y : NULL, NULL, out, err);
}

static fg_status open_npy_folder(const char *folder, fg_dataset *out[SPLITS], fg_error *err)
{
    static const char *const names[SPLITS][4] = {
        {"x.npy", "y.npy", "x_train.npy", "y_train.npy"},
        {"val_x.npy", "val_y.npy", "x_val.npy", "y_val.npy"},
        {"test_x.npy", "test_y.npy", "x_test.npy", "y_test.npy"},
    };
    for (int i = 0; i < SPLITS; i++)
        for (int k = 0; k < 4; k += 2)
            FGI_TRY(open_npy(folder, names[i][k], names[i][k + 1], &out[i], err));
    return FG_OK;
}

static fg_status open_token_folder(const char *folder, int64_t sequence, fg_dataset *out[SPLITS],
                                   fg_error *err)
{
    static const char *const splits[SPLITS] = {"train", "val", "test"};
    static const char *const extensions[] = {".npy", ".bin", ".txt"};
    for (int i = 0; i < SPLITS; i++)
        for (size_t k = 0; k < 3; k++) {
            char path[PATH], name[16];
            (void)fgi_snprintf(name, sizeof name, "%s%s", splits[i], extensions[k]);
            (void)fgi_snprintf(path, sizeof path, "%s/%s", folder, name);
            if (out[i] == NULL && has_file(folder, name))
                FGI_TRY(fg_tokens_load(path, sequence, &out[i], err));
        }
    if (out[FG_TRAIN] != NULL)
        return FG_OK;
    /* not a folder of tokens: one file, or an error that names it */
    return fg_tokens_load(folder, sequence, &out[FG_TRAIN], err);
}

static fg_status open_source(const char *source, int64_t sequence, fg_dataset *out[SPLITS],
                             fg_error *err)
{
    if (sequence != 0)
        return open_token_folder(source, sequence, out, err);
    if (fgi_npz_is(source) && !has_any(source, npy_names))
        return fg_npy_load(source, NULL, NULL, &out[FG_TRAIN], err);
    if (has_any(source, idx_names))
        return open_published(source, fg_idx_load, out, err);
    if (has_any(source, cifar_names))
        return open_published(source, fg_cifar10_load, out, err);
    if (has_any(source, cifar100_names))
        return open_published(source, open_fine, out, err);
    if (has_any(source, npy_names))
        return open_npy_folder(source, out, err);
    if (fgi_ends_with(source, ".npy"))
        return fg_npy_load(source, NULL, NULL, &out[FG_TRAIN], err);
    return fgi_fail(
        err, FG_ENOTFOUND,
        "'%s' has no arrays: expected a folder with the files of MNIST or CIFAR, "
        "with x.npy or x_train.npy, or a file .npy or .npz; for tokens, set the sequence length",
        source);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static fg_status hold_out(const fg_pack_arrays_options *o, fg_dataset *datasets[SPLITS],
                          fg_error *err)
{
    fg_dataset *train = NULL, *val = NULL;
    if (o->val_fraction == 0 || datasets[FG_VAL] != NULL)
        return FG_OK;
    FGI_TRY(fg_dataset_split(datasets[FG_TRAIN],
                             &(fg_split_options){.val_fraction = o->val_fraction, .seed = o->seed},
                             &train, &val, err));
    fg_dataset_destroy(datasets[FG_TRAIN]);
    datasets[FG_TRAIN] = train;
    datasets[FG_VAL] = val;
    return FG_OK;
}

/* The source with the options that determine its samples: for messages, the metadata and the
 * fingerprint. */
static void describe(const char *source, const fg_pack_arrays_options *o, char out[PATH + 128])
{
    char sequence[48] = "", split[80] = "";
    if (o->sequence != 0)
        (void)fgi_snprintf(sequence, sizeof sequence, ", sequence %lld", (long long)o->sequence);
    if (o->val_fraction != 0)
        (void)fgi_snprintf(split, sizeof split, ", val_fraction %.17g, seed %llu", o->val_fraction,
                           (unsigned long long)o->seed);
    (void)fgi_snprintf(out, PATH + 128, "%s%s%s", source, sequence, split);
}

fg_status fg_pack_arrays(const char *source, const char *out_path,
                         const fg_pack_arrays_options *options, int64_t *out_count, fg_error *err)
{
    char text[PATH + 128];
    fg_pack_arrays_options o = {0};
    fg_dataset *datasets[SPLITS] = {NULL, NULL, NULL};
    if (out_count != NULL)
        *out_count = 0;
    FGI_TRY_RESERVED(fg_pack_arrays_options, options, err);
    if (options != NULL)
        o = *options;
    describe(source, &o, text);
    fg_status status = open_source(source, o.sequence, datasets, err);
    if (status == FG_OK)
        status = hold_out(&o, datasets, err);
    if (status == FG_OK)
        status = fg_pack_datasets(datasets, text, out_path, &o, out_count, err);
    for (int i = 0; i < SPLITS; i++)
        fg_dataset_destroy(datasets[i]);
    return status;
}
