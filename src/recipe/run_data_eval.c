/* run_data_eval.c - the samples for evaluating a checkpoint. They are read according to the
 * checkpoint's description of its data, so no training data are needed, and the meaning of a row
 * does not depend on the other rows. The training file is opened only if the validation rows are
 * part of it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run.h"
#include "base/print.h"
#include "base/alloc.h"

/* The data requested by the configuration. */
typedef struct request {
    const fgi_config *c;
    fg_recipe_kind kind;
    const fgi_run_schema *schema;
    fg_csv_schema *rules; /* of a CSV */
    const char *key;      /* the key that names the data, for messages */
    fg_error *err;
} request;

static const char *text_of(const request *q, const char *key)
{
    const char *text = fgi_config_text(q->c, key);
    return text != NULL && *text != '\0' ? text : NULL;
}

static bool has_fraction(const request *q)
{
    return fgi_config_float(q->c, "data.val_fraction") > 0;
}

/* The keys that may name the data of a kind of run, `count` of them; the first that is given is
 * used.
 */
static const char *const *keys_of(const char *format, fg_recipe_kind kind, size_t *out_count)
{
    static const char *const csv[] = {"data.predict", "data.test", "data.val"};
    static const char *const npy[] = {"data.predict", "data.test_x", "data.val_x"};
    const size_t skip = kind == FG_RECIPE_PREDICT ? 0 : kind == FG_RECIPE_TEST ? 1 : 2;
    *out_count = 3 - skip;
    return (strcmp(format, "csv") == 0 ? csv : npy) + skip;
}

/* The value of the first of these keys that is given, NULL if none is. */
static const char *named_file(request *q, const char *format)
{
    size_t count;
    const char *const *keys = keys_of(format, q->kind, &count);
    for (size_t i = 0; i < count; i++) {
        q->key = keys[i];
        if (text_of(q, keys[i]) != NULL)
            return text_of(q, keys[i]);
    }
    q->key = strcmp(format, "csv") == 0 ? "data.path" : "data.x";
    return NULL;
}

fg_status fgi_run_data_check_eval(const fgi_config *c, fg_recipe_kind kind, fg_error *err)
{
    static const char *const verbs[] = {[FG_RECIPE_VALIDATE] = "validate",
                                        [FG_RECIPE_TEST] = "test",
                                        [FG_RECIPE_PREDICT] = "predict"};
    request q = {.c = c, .kind = kind, .err = err};
    const char *format = fgi_config_text(c, "data.format");
    const bool is_csv = format != NULL && strcmp(format, "csv") == 0;
    if (format == NULL || (!is_csv && strcmp(format, "npy") != 0) || named_file(&q, format) != NULL)
        return FG_OK;
    if (has_fraction(&q) && text_of(&q, q.key) != NULL)
        return FG_OK;
    const char *keys = kind == FG_RECIPE_PREDICT ? "data.predict"
                       : kind == FG_RECIPE_TEST
                           ? (is_csv ? "data.test" : "data.test_x and data.test_y")
                       : is_csv ? "data.val"
                                : "data.val_x and data.val_y,";
    (void)fgi_refuse(err, "no data to %s: set %s or data.val_fraction", verbs[kind], keys);
    return FG_EINVAL;
}

/* The validation part of the training data. */
static fg_status split(const request *q, fg_dataset *take_all, fg_dataset **out)
{
    fg_dataset *train = NULL;
    const fg_status status =
        fg_dataset_split(take_all, fgi_config_float(q->c, "data.val_fraction"),
                         (uint64_t)fgi_config_int(q->c, "data.split_seed"), &train, out, q->err);
    fg_dataset_destroy(take_all);
    fg_dataset_destroy(train);
    return status;
}

/* Adds a hint to an error: the training data are only needed for the validation samples. */
static fg_status part_is_gone(const request *q, fg_status status)
{
    char text[sizeof(q->err->message)];
    const bool is_csv = strcmp(q->schema->format, "csv") == 0;
    const char *instead = q->kind == FG_RECIPE_PREDICT ? "--data.predict=FILE"
                          : !is_csv                    ? "other data"
                          : q->kind == FG_RECIPE_TEST  ? "--data.test=FILE"
                                                       : "--data.val=FILE";
    (void)fgi_snprintf(text, sizeof(text), "%s", q->err->message);
    (void)fgi_refuse(q->err,
                     "%.300s\nthe validation samples are a part of the training data "
                     "(data.val_fraction); without them, give %s",
                     text, instead);
    q->err->status = status;
    return status;
}

/* ---- formats --------------------------------------------------------------------------------- */

static fg_status apply(const request *q, const char *path, fg_dataset **out)
{
    const fg_csv_apply_options options = {.no_target = q->kind == FG_RECIPE_PREDICT,
                                          .delimiter = fgi_run_data_delimiter(q->c),
                                          .missing = fgi_config_text(q->c, "data.missing"),
                                          .unknown = fgi_config_text(q->c, "data.unknown")};
    return fg_csv_apply_with(q->rules, path, &options, out, q->err);
}

static fg_status open_csv(request *q, fg_dataset **out)
{
    fg_dataset *all = NULL;
    char *json =
        q->schema->csv != NULL ? fgi_json_text(q->schema->csv, JSON_REAL_PRECISION(17)) : NULL;
    fg_status status =
        json != NULL ? fg_csv_schema_parse(json, strlen(json), &q->rules, q->err) : FG_EINVAL;
    if (json == NULL)
        (void)fgi_refuse(q->err, "the checkpoint's data.json has no schema of the CSV");
    fgi_free(json);
    if (status != FG_OK)
        return status;
    const char *path = named_file(q, "csv");
    if (path != NULL)
        return apply(q, path, out);
    status = apply(q, text_of(q, "data.path"), &all);
    return status == FG_OK ? split(q, all, out) : part_is_gone(q, status);
}

static fg_status open_npy(request *q, fg_dataset **out)
{
    fg_dataset *all = NULL;
    const char *x = named_file(q, "npy"), *y = NULL;
    if (q->kind != FG_RECIPE_PREDICT)
        y = text_of(q, strcmp(q->key, "data.test_x") == 0 ? "data.test_y" : "data.val_y");
    if (x != NULL)
        return fg_npy_open(x, y, NULL, out, q->err);
    const fg_status status =
        fg_npy_open(text_of(q, "data.x"), text_of(q, "data.y"), NULL, &all, q->err);
    return status == FG_OK ? split(q, all, out) : part_is_gone(q, status);
}

typedef fg_status open_split(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err);

static fg_status open_folder(request *q, open_split *open, fg_dataset **out)
{
    fg_dataset *all = NULL;
    const char *folder = text_of(q, "data.path");
    q->key = "data.path";
    if (folder == NULL) {
        (void)fgi_refuse(q->err, "data.path must be given: the folder of the data");
        return FG_EINVAL;
    }
    if (q->kind != FG_RECIPE_VALIDATE || !has_fraction(q))
        return open(folder, q->kind == FG_RECIPE_VALIDATE ? FG_VAL : FG_TEST, out, q->err);
    const fg_status status = open(folder, FG_TRAIN, &all, q->err);
    return status == FG_OK ? split(q, all, out) : part_is_gone(q, status);
}

/* ---- checks against the model ---------------------------------------------------------------- */

/* An error: the file does not match the model. */
static fg_status wrong_data(const request *q)
{
    q->err->status = FG_EFORMAT;
    return FG_EFORMAT;
}

static bool is_same_type(const fg_type *a, const fg_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0])) == 0;
}

static fg_status check_type(const request *q, const char *what, const fg_type *have,
                            const fg_type *want)
{
    char a[96], b[96];
    if (is_same_type(have, want))
        return FG_OK;
    (void)fgi_refuse(q->err, "%s: %s is %s: the checkpoint was trained with %s",
                     fgi_config_text(q->c, q->key), what, fg_type_format(have, a, sizeof(a)),
                     fg_type_format(want, b, sizeof(b)));
    return wrong_data(q);
}

/* Class indices must have the same meaning in both. */
static fg_status check_classes(const request *q, const fg_dataset *dataset)
{
    const fgi_run_schema *s = q->schema;
    const int64_t count = fg_dataset_class_count(dataset);
    if (count > s->class_count) {
        (void)fgi_refuse(q->err,
                         "%s: the data have %" PRId64 " classes: the checkpoint was trained with "
                         "%" PRId64,
                         fgi_config_text(q->c, q->key), count, s->class_count);
        return wrong_data(q);
    }
    for (int64_t i = 0; i < count && s->class_names != NULL; i++) {
        const char *name = fg_dataset_class_name(dataset, i);
        if (name == NULL || strcmp(name, s->class_names[i]) == 0)
            continue;
        (void)fgi_refuse(q->err,
                         "%s: the classes differ: class %" PRId64
                         " is '%.80s' in the checkpoint, '%.80s' here",
                         fgi_config_text(q->c, q->key), i, s->class_names[i], name);
        return wrong_data(q);
    }
    return FG_OK;
}

static fg_status check(const request *q, const fg_dataset *dataset)
{
    const bool needs_target = q->kind != FG_RECIPE_PREDICT;
    const bool is_classification = strcmp(fgi_config_text(q->c, "task"), "classification") == 0;
    fg_status status =
        check_type(q, "a sample", &fg_dataset_field(dataset, 0)->type, &q->schema->input);
    if (status != FG_OK || !needs_target)
        return status;
    if (fg_dataset_field_count(dataset) < 2) {
        const char *target = fgi_run_schema_target(q->schema);
        (void)fgi_refuse(q->err, "%s: there is no target%s%s%s (`fulgurite predict` needs none)",
                         fgi_config_text(q->c, q->key), *target != '\0' ? ", column '" : "", target,
                         *target != '\0' ? "'" : "");
        return wrong_data(q);
    }
    status = check_type(q, "the target", &fg_dataset_field(dataset, 1)->type, &q->schema->target);
    return status == FG_OK && is_classification ? check_classes(q, dataset) : status;
}

fg_status fgi_run_data_open_eval(const fgi_config *c, fg_recipe_kind kind,
                                 const fgi_run_schema *schema, fgi_run_data *out, fg_error *err)
{
    request q = {.c = c, .kind = kind, .schema = schema, .key = "data.path", .err = err};
    const char *format = fgi_config_text(c, "data.format");
    fg_status status;
    *out = (fgi_run_data){0};
    if (format == NULL || (strcmp(format, "csv") == 0) != (strcmp(schema->format, "csv") == 0)) {
        (void)fgi_refuse(err, "%s is %s: the checkpoint was trained with %s",
                         fgi_config_where(c, "data.format"), format != NULL ? format : "not given",
                         schema->format);
        return FG_EINVAL;
    }
    if (strcmp(format, "csv") == 0)
        status = open_csv(&q, &out->val);
    else if (strcmp(format, "npy") == 0)
        status = open_npy(&q, &out->val);
    else
        status =
            open_folder(&q, strcmp(format, "idx") == 0 ? fg_idx_open : fg_cifar10_open, &out->val);
    if (status == FG_OK)
        status = check(&q, out->val);
    out->schema = q.rules;
    if (status != FG_OK)
        fgi_run_data_close(out);
    return status;
}
