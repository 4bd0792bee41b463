/* format_npy.c - the data format npy: NumPy arrays of inputs and targets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "data/dataset.h"
#include "data/formats.h"

typedef struct npy {
    const char *paths[4], *targets[4]; /* by fg_data_part; no targets of FG_PART_PREDICT */
    bool no_normalize;
    fg_ints image; /* the recipe reads it */
} npy;

/* ---- the deviation of targets ---------------------------------------------------------------- */

/* Mean and population deviation of all numbers of the targets, by Welford's sums. */
static fg_status measure(const fg_dataset *targets, void *const rows[2], double *out_mean,
                         double *out_deviation, fg_error *err)
{
    const fg_type *type = &fg_dataset_field(targets, 1)->type;
    const size_t width = (size_t)fg_type_count(type);
    double mean = 0, squares = 0, count = 0;
    for (int64_t i = 0; i < fg_dataset_count(targets); i++) {
        FGI_TRY(fg_dataset_read(targets, i, rows, err));
        for (size_t k = 0; k < width; k++) {
            const double value = type->dtype == FG_F32 ? (double)((const float *)rows[1])[k]
                                                       : (double)((const int32_t *)rows[1])[k];
            const double change = value - mean;
            mean += change / ++count;
            squares += change * (value - mean);
        }
    }
    const double deviation = count > 0 ? sqrt(squares / count) : 0;
    *out_mean = mean;
    *out_deviation = deviation > 0 || isnan(deviation) ? deviation : 1; /* all are equal */
    return FG_OK;
}

/* The training part of the targets alone: the inputs may be large. */
static fg_status open_targets(const char *y, const fg_format_request *request, fg_dataset **out,
                              fg_error *err)
{
    fg_dataset *all = NULL, *train = NULL, *val = NULL;
    FGI_TRY(fg_npy_load(y, y, NULL, &all, err));
    *out = all;
    if (!(request->val_fraction > 0))
        return FG_OK;
    const fg_split_options options = {.val_fraction = request->val_fraction,
                                      .seed = request->split_seed};
    const fg_status status = fg_dataset_split(all, &options, &train, &val, err);
    fg_dataset_destroy(all);
    fg_dataset_destroy(val);
    *out = train; /* by number and seed: the rows of the training part */
    return status;
}

/* Rows for fg_dataset_read; free both. */
static fg_status make_rows(const fg_dataset *dataset, void *rows[2], fg_error *err)
{
    for (int f = 0; f < fg_dataset_field_count(dataset); f++) {
        rows[f] = fgi_calloc(1, fg_type_bytes(&fg_dataset_field(dataset, f)->type));
        if (rows[f] == NULL)
            return fgi_no_memory(err);
    }
    return FG_OK;
}

static fg_status measure_targets(const npy *o, const fg_format_request *request,
                                 fg_format_data *out, fg_error *err)
{
    const fg_dtype dtype = fg_dataset_field(out->samples, 1)->type.dtype;
    const bool has_classes = fg_dataset_class_count(out->samples) > 0;
    const bool is_regression = strcmp(request->task, "regression") == 0 ||
                               (strcmp(request->task, "auto") == 0 && !has_classes);
    fg_dataset *targets = NULL;
    if (!is_regression || o->no_normalize || (dtype != FG_F32 && dtype != FG_S32))
        return FG_OK;
    void *rows[2] = {NULL, NULL};
    fg_status status = open_targets(o->targets[FG_PART_TRAIN], request, &targets, err);
    if (status == FG_OK)
        status = make_rows(targets, rows, err);
    if (status == FG_OK)
        status = measure(targets, rows, &out->target_mean, &out->target_deviation, err);
    if (status == FG_OK && !isfinite(out->target_deviation))
        status = fg_option_fail(request->values, "y", FG_EINVAL, err,
                                "a training target is NaN or infinite: expected finite numbers");
    fgi_free(rows[0]);
    fgi_free(rows[1]);
    fg_dataset_destroy(targets);
    return status;
}

/* ---- checks of the values -------------------------------------------------------------------- */

/* Whether a value of a float array is NaN or infinite. */
static bool has_bad(const fg_type *type, const void *values)
{
    const int64_t count = fg_type_count(type);
    bool is_bad = false;
    for (int64_t i = 0; type->dtype == FG_F32 && i < count; i++)
        is_bad |= !isfinite(((const float *)values)[i]);
    for (int64_t i = 0; type->dtype == FG_F16 && i < count; i++)
        is_bad |= (((const uint16_t *)values)[i] & 0x7c00) == 0x7c00;
    return is_bad;
}

/* The first row whose input is not finite; -1: there is none. */
static fg_status find_bad(const fg_dataset *samples, int64_t *out, fg_error *err)
{
    const fg_type *type = &fg_dataset_field(samples, 0)->type;
    void *rows[2] = {NULL, NULL};
    *out = -1;
    if (!fg_dtype_is_float(type->dtype))
        return FG_OK;
    fg_status status = make_rows(samples, rows, err);
    for (int64_t i = 0; status == FG_OK && *out < 0 && i < fg_dataset_count(samples); i++) {
        status = fg_dataset_read(samples, i, rows, err);
        if (status == FG_OK && has_bad(type, rows[0]))
            *out = i;
    }
    fgi_free(rows[0]);
    fgi_free(rows[1]);
    return status;
}

/* ---- rows to predict ------------------------------------------------------------------------- */

/* Samples of which those that are not finite cannot be read. */
typedef struct checked {
    fgi_view view;
    char *path;
} checked;

static fg_status checked_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                void *const *out_fields, fg_error *err)
{
    const checked *f = self;
    const fg_dataset *parent = f->view.parent;
    const char *inputs = out_fields[0];
    FGI_TRY(fgi_dataset_gather(parent, epoch, indices, n, out_fields, err));
    for (size_t i = 0; i < n; i++)
        if (has_bad(&parent->fields[0].type, inputs + i * parent->row_bytes[0]))
            return fgi_fail(err, FG_EFORMAT,
                            "'%.300s': row %lld has a value that is NaN or infinite (the first is "
                            "row 0)",
                            f->path, (long long)indices[i]);
    return FG_OK;
}

static void checked_destroy(void *self) { fgi_free(((checked *)self)->path); }

static fg_status require_finite(const char *path, fg_dataset **samples, fg_error *err)
{
    fg_dataset *parent = *samples;
    checked *f = fgi_calloc(1, sizeof *f);
    if (f == NULL || (f->path = fgi_strdup(path)) == NULL) {
        fgi_free(f);
        return fgi_no_memory(err);
    }
    f->view = (fgi_view){.parent = parent,
                         .count = parent->count,
                         .gather_epoch = checked_gather,
                         .destroy = checked_destroy};
    const fg_status status = fgi_view_create(&f->view, samples, err);
    fg_dataset_destroy(parent); /* the new one keeps it */
    FGI_TRY(status);
    (*samples)->reads_rows = true;
    return FG_OK;
}

/* As in a CSV, inputs must be finite; to predict, those of each row. */
static fg_status check_inputs(const char *path, const fg_format_request *request,
                              fg_dataset **samples, fg_error *err)
{
    static const char *const names[] = {[FG_PART_TRAIN] = "x",
                                        [FG_PART_VAL] = "val_x",
                                        [FG_PART_TEST] = "test_x",
                                        [FG_PART_PREDICT] = "predict"};
    int64_t row;
    FGI_TRY(find_bad(*samples, &row, err));
    if (row < 0)
        return FG_OK;
    if (!request->needs_target && request->part != FG_PART_TRAIN)
        return require_finite(path, samples, err);
    return fg_option_fail(request->values, names[request->part], FG_EINVAL, err,
                          "row %lld has a value that is NaN or infinite (the first is row "
                          "0): expected finite numbers\nremove the row, or replace the "
                          "value, as numpy.nan_to_num does",
                          (long long)row);
}

/* A model has an output for each index up to the largest label. */
static fg_status check_labels(const char *y, const fg_option_values *values,
                              const fg_dataset *samples, fg_error *err)
{
    enum { MOST_CLASSES = 1000000 };
    const int64_t classes = fg_dataset_class_count(samples);
    const int64_t count = fg_dataset_count(samples);
    int64_t used = 0;
    if (classes > MOST_CLASSES)
        return fg_option_fail(values, "y", FG_EINVAL, err,
                              "the largest label is %lld: expected class indices, 0 to the number "
                              "of classes - 1",
                              (long long)classes - 1);
    int32_t *labels = fgi_calloc((size_t)count, sizeof *labels);
    bool *is_used = fgi_calloc((size_t)classes, sizeof *is_used);
    const bool is_made = labels != NULL && is_used != NULL;
    const fg_status status = is_made ? fg_dataset_labels(samples, labels, err) : fgi_no_memory(err);
    for (int64_t i = 0; status == FG_OK && i < count; i++) {
        used += !is_used[labels[i]];
        is_used[labels[i]] = true;
    }
    if (status == FG_OK && used < classes)
        fgi_log(FG_LOG_WARNING,
                "%s: the largest label is %lld, so there are %lld classes, but only %lld of them "
                "occur; numpy.unique(y, return_inverse=True) numbers labels from 0",
                y, (long long)classes - 1, (long long)classes, (long long)used);
    fgi_free(is_used);
    fgi_free(labels);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Targets may be missing where samples are for prediction only. */
static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    const npy *o = own;
    const char *x = o->paths[request->part], *y = o->targets[request->part];
    FGI_TRY(fg_npy_load(x, y, NULL, &out->samples, err));
    FGI_TRY(check_inputs(x, request, &out->samples, err));
    if (request->part != FG_PART_TRAIN || !request->is_training)
        return FG_OK;
    if (strcmp(request->task, "regression") != 0 && fg_dataset_class_count(out->samples) > 0)
        FGI_TRY(check_labels(y, request->values, out->samples, err));
    return measure_targets(o, request, out, err);
}

/* ---- the row --------------------------------------------------------------------------------- */

#define FILE_OPTION(name, member, example, help)                                                   \
    FG_OPTION_AS(name, npy, member, STRING, NULL, NULL, example, help)

static const fg_option options[] = {
    FILE_OPTION("x", paths[FG_PART_TRAIN], "data/x.npy",
                "The inputs, T[N,...]: a .npy file, or an array of an archive, data.npz:x."),
    FILE_OPTION("y", targets[FG_PART_TRAIN], "data/y.npy",
                "The targets, T[N] or T[N,...]; integers for a classification."),
    FILE_OPTION("val_x", paths[FG_PART_VAL], "data/val_x.npy", "Inputs for validation."),
    FILE_OPTION("val_y", targets[FG_PART_VAL], "data/val_y.npy", "Targets for validation."),
    FILE_OPTION("test_x", paths[FG_PART_TEST], "data/test_x.npy",
                "Inputs for `test` and `predict`. Default: the validation samples."),
    FILE_OPTION("test_y", targets[FG_PART_TEST], "data/test_y.npy",
                "Targets for `test`; `predict` does not need them."),
    FGI_OPTION_PREDICT(npy),
    FGI_OPTION_NORMALIZE(npy, no_normalize),
    FGI_OPTION_IMAGE(npy),
};

const fg_format_entry fgi_npy_row = {.entry = {.name = "npy",
                                               .help = "NumPy arrays",
                                               .spellings = "numpy",
                                               FG_OPTIONS(options, npy)},
                                     .files = {.train = "x",
                                               .val = "val_x",
                                               .test = "test_x",
                                               .predict = "predict",
                                               .train_target = "y",
                                               .val_target = "val_y",
                                               .test_target = "test_y"},
                                     .fitted = "normalize",
                                     .load = load_part};
