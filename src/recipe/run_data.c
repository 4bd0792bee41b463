/* run_data.c - creates datasets from the configuration's section `data`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run.h"
#include "base/alloc.h"
#include "base/error.h"

/* An error in the configuration, with its location. */
static fg_status wrong(const fgi_config *c, const char *key, fg_error *err, const char *what)
{
    (void)fgi_refuse(err, "%s: %s", fgi_config_where(c, key), what);
    return FG_EINVAL;
}

static fg_status need(const fgi_config *c, const char *key, fg_error *err)
{
    const char *text = fgi_config_text(c, key);
    if (text != NULL && *text != '\0')
        return FG_OK;
    (void)fgi_refuse(err, "%s must be given for data.format %s", key,
                     fgi_config_text(c, "data.format"));
    return FG_EINVAL;
}

/* Splits the validation samples off the training samples. */
static fg_status split(const fgi_config *c, fgi_run_data *data, fg_error *err)
{
    fg_dataset *train = NULL, *val = NULL;
    const fg_status status =
        fg_dataset_split(data->train, fgi_config_float(c, "data.val_fraction"),
                         (uint64_t)fgi_config_int(c, "data.split_seed"), &train, &val, err);
    if (status != FG_OK)
        return status;
    fg_dataset_destroy(data->train); /* the parts retain what they need */
    data->train = train;
    data->val = val;
    return FG_OK;
}

static bool has_fraction(const fgi_config *c)
{
    return fgi_config_float(c, "data.val_fraction") > 0;
}

/* ---- csv ------------------------------------------------------------------------------------- */

static const char **texts_of(const fgi_config *c, const char *key)
{
    const size_t count = fgi_config_count(c, key);
    const char **texts = fgi_calloc(count + 1, sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < count; i++)
        texts[i] = fgi_config_text_at(c, key, i);
    return texts;
}

char fgi_run_data_delimiter(const fgi_config *c)
{
    const char *text = fgi_config_text(c, "data.delimiter");
    if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0)
        return '\t';
    return strlen(text) == 1 ? text[0] : '\0';
}

static fg_status check_csv(const fgi_config *c, fg_error *err)
{
    if (need(c, "data.path", err) != FG_OK)
        return err->status;
    if (fgi_run_data_delimiter(c) == '\0')
        return wrong(c, "data.delimiter", err, "expected one character, or \\t or tab for a tab");
    const size_t sides = fgi_config_count(c, "data.image");
    if (sides != 0 && sides != 3)
        return wrong(c, "data.image", err, "expected [height, width, channels]");
    if (fgi_config_text(c, "data.val") != NULL && has_fraction(c))
        return wrong(c, "data.val_fraction", err, "data.val is given too: set only one of them");
    return FG_OK;
}

static fg_status open_csv(const fgi_config *c, fgi_run_data *data, fg_error *err)
{
    fg_csv_parts parts = {0};
    if (check_csv(c, err) != FG_OK)
        return err->status;
    const char **ignore = texts_of(c, "data.ignore"), **names = texts_of(c, "data.categorical");
    const char **numeric = texts_of(c, "data.numeric"), **na = texts_of(c, "data.na_values");
    fg_csv_options options = {
        .no_header = fgi_config_bool(c, "data.no_header"),
        .delimiter = fgi_run_data_delimiter(c),
        .target = fgi_config_text(c, "data.target"),
        .task = fgi_config_text(c, "task"),
        .categorical = names,
        .categorical_count = fgi_config_count(c, "data.categorical"),
        .numeric = numeric,
        .numeric_count = fgi_config_count(c, "data.numeric"),
        .na_values = na,
        .na_value_count = fgi_config_count(c, "data.na_values"),
        .ignore = ignore,
        .ignore_count = fgi_config_count(c, "data.ignore"),
        .no_normalize = !fgi_config_bool(c, "data.normalize"),
        .standardize_target = fgi_config_bool(c, "data.normalize"),
        .missing = fgi_config_text(c, "data.missing"),
        .unknown = fgi_config_text(c, "data.unknown"),
        .val_path = fgi_config_text(c, "data.val"),
        .val_fraction = fgi_config_float(c, "data.val_fraction"),
        .split_seed = (uint64_t)fgi_config_int(c, "data.split_seed"),
    };
    for (size_t i = 0; i < fgi_config_count(c, "data.image"); i++)
        options.image[i] = fgi_config_int_at(c, "data.image", i);
    const bool has_all = ignore != NULL && names != NULL && numeric != NULL && na != NULL;
    fg_status status = has_all ? fg_csv_open(fgi_config_text(c, "data.path"), &options, &parts, err)
                               : fgi_no_memory(err);
    fgi_free(ignore);
    fgi_free(names);
    fgi_free(numeric);
    fgi_free(na);
    *data = (fgi_run_data){.train = parts.train, .val = parts.val, .schema = parts.schema};
    if (status == FG_OK && fgi_config_text(c, "data.test") != NULL)
        status = fg_csv_apply(parts.schema, fgi_config_text(c, "data.test"), &data->test, err);
    return status;
}

/* ---- idx, cifar10 ---------------------------------------------------------------------------- */

typedef fg_status open_split(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err);

static fg_status open_folder(const fgi_config *c, open_split *open, fgi_run_data *data,
                             fg_error *err)
{
    if (need(c, "data.path", err) != FG_OK)
        return err->status;
    const char *folder = fgi_config_text(c, "data.path");
    fg_status status = open(folder, FG_TRAIN, &data->train, err);
    if (status == FG_OK)
        status = open(folder, FG_TEST, &data->test, err);
    if (status != FG_OK)
        return status;
    return has_fraction(c) ? split(c, data, err) : open(folder, FG_VAL, &data->val, err);
}

/* ---- npy ------------------------------------------------------------------------------------- */

/* Targets may be missing if the samples are only for prediction. */
static fg_status open_pair(const fgi_config *c, const char *x, const char *y, fg_dataset **out,
                           fg_error *err)
{
    if (fgi_config_text(c, x) == NULL && fgi_config_text(c, y) != NULL) {
        (void)fgi_refuse(err, "%s: given without the inputs, %s", fgi_config_where(c, y), x);
        return FG_EINVAL;
    }
    if (fgi_config_text(c, x) == NULL)
        return FG_OK;
    return fg_npy_open(fgi_config_text(c, x), fgi_config_text(c, y), NULL, out, err);
}

/* Mean and population standard deviation of all numbers in the targets, by Welford's algorithm. */
static fg_status measure(const fgi_config *c, const fg_dataset *targets, fgi_run_data *out,
                         fg_error *err)
{
    const fg_type *type = &fg_dataset_field(targets, 1)->type;
    const size_t width = (size_t)fg_type_count(type), bytes = fg_type_bytes(type);
    void *rows[2] = {fgi_calloc(1, fg_type_bytes(&fg_dataset_field(targets, 0)->type)),
                     fgi_calloc(1, bytes)};
    double mean = 0, squares = 0, count = 0;
    fg_status status = rows[0] != NULL && rows[1] != NULL ? FG_OK : fgi_no_memory(err);
    for (int64_t i = 0; i < fg_dataset_count(targets) && status == FG_OK; i++) {
        status = fg_dataset_read(targets, i, rows, err);
        for (size_t k = 0; k < width && status == FG_OK; k++) {
            const double value = type->dtype == FG_F32 ? (double)((const float *)rows[1])[k]
                                                       : (double)((const int32_t *)rows[1])[k];
            const double change = value - mean;
            mean += change / ++count;
            squares += change * (value - mean);
        }
    }
    fgi_free(rows[0]);
    fgi_free(rows[1]);
    if (status == FG_OK && !isfinite(squares))
        return wrong(c, "data.y", err,
                     "a training target is NaN or infinite: expected finite numbers");
    const double deviation = count > 0 ? sqrt(squares / count) : 0;
    out->target_mean = mean;
    out->target_deviation = deviation > 0 ? deviation : 1; /* all are equal */
    return status;
}

/* Computes the statistics of a regression's training targets. Reads only the targets: the inputs
 * may be large. */
static fg_status measure_targets(const fgi_config *c, fgi_run_data *out, fg_error *err)
{
    const fg_dtype dtype = fg_dataset_field(out->train, 1)->type.dtype;
    fgi_run_data targets = {0};
    if (strcmp(fgi_config_text(c, "task"), "regression") != 0 ||
        !fgi_config_bool(c, "data.normalize") || (dtype != FG_F32 && dtype != FG_S32))
        return FG_OK;
    fg_status status = open_pair(c, "data.y", "data.y", &targets.train, err);
    if (status == FG_OK && has_fraction(c))
        status = split(c, &targets, err); /* the rows of the training part */
    if (status == FG_OK)
        status = measure(c, targets.train, out, err);
    fgi_run_data_close(&targets);
    return status;
}

static fg_status open_npy(const fgi_config *c, fgi_run_data *data, fg_error *err)
{
    if (need(c, "data.x", err) != FG_OK || need(c, "data.y", err) != FG_OK)
        return err->status;
    if (fgi_config_text(c, "data.val_x") != NULL && has_fraction(c))
        return wrong(c, "data.val_fraction", err, "data.val_x is given too: set only one of them");
    if (fgi_config_text(c, "data.val_x") != NULL && need(c, "data.val_y", err) != FG_OK)
        return err->status;
    fg_status status = open_pair(c, "data.x", "data.y", &data->train, err);
    if (status == FG_OK)
        status = open_pair(c, "data.val_x", "data.val_y", &data->val, err);
    if (status == FG_OK)
        status = open_pair(c, "data.test_x", "data.test_y", &data->test, err);
    if (status == FG_OK && has_fraction(c))
        status = split(c, data, err);
    return status == FG_OK ? measure_targets(c, data, err) : status;
}

/* ---- all formats ----------------------------------------------------------------------------- */

fg_status fgi_run_data_open(const fgi_config *c, fgi_run_data *out, fg_error *err)
{
    const char *format = fgi_config_text(c, "data.format");
    fg_status status;
    *out = (fgi_run_data){0};
    if (format == NULL) {
        (void)fgi_refuse(err,
                         "data.format must be given: %s\n"
                         "`fulgurite init DATA` looks at data and writes a configuration",
                         fgi_config_find("data.format")->option->choices);
        return FG_EINVAL;
    }
    if (strcmp(format, "csv") == 0)
        status = open_csv(c, out, err);
    else if (strcmp(format, "npy") == 0)
        status = open_npy(c, out, err);
    else
        status =
            open_folder(c, strcmp(format, "idx") == 0 ? fg_idx_open : fg_cifar10_open, out, err);
    if (status != FG_OK)
        fgi_run_data_close(out);
    return status;
}

void fgi_run_data_close(fgi_run_data *data)
{
    fg_dataset_destroy(data->train);
    fg_dataset_destroy(data->val);
    fg_dataset_destroy(data->test);
    fg_csv_schema_destroy(data->schema);
    *data = (fgi_run_data){0};
}
