/* run_data_eval.c - the samples for evaluating a checkpoint. They are read according to the
 * checkpoint's description of its data, so no training data are needed, and the meaning of a row
 * does not depend on the other rows. The training file is opened only if the validation rows are
 * part of it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"

/* The data requested by the configuration. */
typedef struct request {
    fgi_run_format format;
    const fg_recipe *run;
    const fgi_config *c;
    fg_recipe_kind kind;
    const fgi_run_schema *schema;
    fg_csv_schema *rules;          /* of a format that has a schema */
    fg_tokenizer *tokenizer;       /* of the checkpoint; NULL: none */
    char key[FGI_RUN_KEY_SIZE];    /* that names the data, for messages */
    char target[FGI_RUN_KEY_SIZE]; /* that names the targets: the same without a file of targets */
    fg_error *err;
} request;

static bool has_fraction(const request *q) { return q->format.request.val_fraction > 0; }

/* The part whose option is given first: for predictions new samples, else test samples, else
 * validation samples; FG_PART_TRAIN: none. */
static fg_data_part named_part(const request *q)
{
    for (int part = (int)fgi_run_format_part(q->kind); part > (int)FG_PART_TRAIN; part--)
        if (fgi_run_format_has(&q->format,
                               fgi_run_format_input(q->format.entry, (fg_data_part)part)))
            return (fg_data_part)part;
    return FG_PART_TRAIN;
}

/* A limit that only the configuration has is that of the fit; predictions have none. */
static fg_status check_limit(const fgi_config *c, fg_recipe_kind kind, fg_error *err)
{
    static const char key[] = "trainer.limit_val_batches";
    if (kind == FG_RECIPE_PREDICT || !fgi_config_is_overridden(c, key) ||
        fg_amount_of(c->trainer.limits.limit_val_batches, 1) != 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s: expected at least one batch, got 0",
                    fgi_config_where(c, key));
}

fg_status fgi_run_data_check_eval(const fgi_config *c, fg_recipe_kind kind, fg_error *err)
{
    static const char *const verbs[] = {[FG_RECIPE_VALIDATE] = "validate",
                                        [FG_RECIPE_TEST] = "test",
                                        [FG_RECIPE_PREDICT] = "predict"};
    request q = {.c = c, .kind = kind, .err = err};
    FGI_TRY(check_limit(c, kind, err));
    if (c->data.format == NULL)
        return FG_OK; /* it may be the checkpoint's */
    fg_status status = fgi_run_format_init(c, NULL, false, &q.format, err);
    if (status == FG_OK && !fgi_run_format_is_folder(q.format.entry) &&
        named_part(&q) == FG_PART_TRAIN &&
        (!has_fraction(&q) || !fgi_run_format_has(&q.format, q.format.entry->files.train)))
        status = fgi_run_format_missing(q.format.entry, kind, verbs[kind], err);
    fgi_run_format_fini(&q.format);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status load_part(request *q, fg_data_part part, fg_dataset **out)
{
    fg_format_data data;
    const char *input = fgi_run_format_input(q->format.entry, part);
    input = input != NULL ? input : q->format.entry->files.train;
    (void)fgi_run_format_key(input != NULL ? input : "format", q->key);
    const char *target = fgi_run_format_target(q->format.entry, part);
    (void)fgi_run_format_key(target != NULL ? target : q->key + strlen("data."), q->target);
    const fg_status status = fgi_run_format_open(&q->format, part, &data, q->err);
    *out = data.samples;
    data.samples = NULL;
    fgi_run_format_release(&data);
    return status;
}

/* Adds a hint to an error: the training data are only needed for the validation samples. */
static fg_status part_is_gone(const request *q, fg_status status)
{
    const fg_data_part part = fgi_run_format_part(q->kind);
    const char *input = fgi_run_format_input(q->format.entry, part);
    const bool is_one = input != NULL && fgi_run_format_target(q->format.entry, part) == NULL;
    return fgi_fail(q->err, status,
                    "%.300s\nthe validation samples are part of the training data "
                    "(data.val_fraction); if these are not available, pass %s%s%s",
                    q->err->message, is_one ? "--data." : "other data", is_one ? input : "",
                    is_one ? "=FILE" : "");
}

/* The validation part of the training data. */
static fg_status load_fraction(request *q, fg_dataset **out)
{
    fg_dataset *all = NULL, *train = NULL;
    const fg_status status = load_part(q, FG_PART_TRAIN, &all);
    if (status != FG_OK)
        return part_is_gone(q, status);
    if (all == NULL)
        return fgi_fail(q->err, FG_EINVAL, "data.format %s: the data contain no training samples",
                        q->format.entry->entry.name);
    const fg_status done = fgi_run_data_split(&q->format.request, all, &train, out, q->err);
    fg_dataset_destroy(all);
    fg_dataset_destroy(train);
    return done;
}

/* Out of a folder that has all samples. */
static fg_status open_folder(request *q, fg_dataset **out)
{
    FGI_TRY(fgi_run_format_need(&q->format, q->format.entry->files.train, q->err));
    if (q->kind != FG_RECIPE_VALIDATE)
        FGI_TRY(load_part(q, FG_PART_TEST, out));
    if (*out != NULL)
        return FG_OK;
    if (has_fraction(q))
        return load_fraction(q, out);
    FGI_TRY(load_part(q, FG_PART_VAL, out));
    return *out != NULL ? FG_OK
                        : fgi_run_format_missing(q->format.entry, q->kind, "evaluate", q->err);
}

static fg_status read_rules(request *q)
{
    char *json = q->schema->csv != NULL ? fgi_json_text(q->schema->csv, 0) : NULL;
    if (json == NULL)
        return fgi_fail(q->err, FG_EINVAL, "the checkpoint's data.json has no schema of the CSV");
    const fg_status status = fg_csv_schema_parse(json, strlen(json), &q->rules, q->err);
    fgi_free(json);
    q->format.request.schema = q->rules;
    return status;
}

static fg_status open_samples(request *q, fg_dataset **out)
{
    if (q->format.entry->has_schema)
        FGI_TRY(read_rules(q));
    if (fgi_run_format_is_folder(q->format.entry))
        return open_folder(q, out);
    const fg_data_part part = named_part(q);
    return part != FG_PART_TRAIN ? load_part(q, part, out) : load_fraction(q, out);
}

/* ---- checks against the model ---------------------------------------------------------------- */

static fg_status check_type(const request *q, const char *key, const char *what,
                            const fg_type *have, const fg_type *expected)
{
    char a[96], b[96];
    if (fg_type_equal(have, expected))
        return FG_OK;
    return fgi_fail(q->err, FG_EFORMAT, "%s: %s is %s: the checkpoint was trained with %s",
                    fg_option_string(q->c->values, key), what, fg_type_format(have, a, sizeof(a)),
                    fg_type_format(expected, b, sizeof(b)));
}

/* Class indices must have the same meaning in both. */
static fg_status check_classes(const request *q, const fg_dataset *dataset)
{
    const fgi_run_schema *s = q->schema;
    const int64_t count = fg_dataset_class_count(dataset);
    if (count > s->class_count)
        return fgi_fail(q->err, FG_EFORMAT,
                        "%s: the data have %" PRId64 " classes: the checkpoint was trained with "
                        "%" PRId64,
                        fg_option_string(q->c->values, q->target), count, s->class_count);
    for (int64_t i = 0; i < count && s->class_names != NULL; i++) {
        const char *name = fg_dataset_class_name(dataset, i);
        if (name == NULL || strcmp(name, s->class_names[i]) == 0)
            continue;
        return fgi_fail(q->err, FG_EFORMAT,
                        "%s: the classes differ: class %" PRId64
                        " is '%.80s' in the checkpoint, '%.80s' here",
                        fg_option_string(q->c->values, q->target), i, s->class_names[i], name);
    }
    return FG_OK;
}

static fg_status check(const request *q, const fg_dataset *dataset)
{
    const bool needs_target = q->kind != FG_RECIPE_PREDICT;
    const bool has_classes = fgi_is_one_of(q->c->task, "classification|multilabel|language");
    const fg_type input = fgi_run_input_type(dataset);
    fg_status status = check_type(q, q->key, "a sample", &input, &q->schema->input);
    if (status != FG_OK || !needs_target)
        return status;
    if (fg_dataset_field_count(dataset) < 2) {
        const char *target = fgi_run_schema_target(q->schema);
        return fgi_fail(q->err, FG_EFORMAT,
                        "%s: there is no target%s%s%s (`fulgurite predict` needs none)",
                        fg_option_string(q->c->values, q->key), *target != '\0' ? ", column '" : "",
                        target, *target != '\0' ? "'" : "");
    }
    status = check_type(q, q->target, "the target", &fg_dataset_field(dataset, 1)->type,
                        &q->schema->target);
    return status == FG_OK && has_classes ? check_classes(q, dataset) : status;
}

/* Formats without a schema may replace each other. */
static fg_status check_format(const request *q)
{
    const fg_format_entry *here = q->format.entry;
    const fg_format_entry *there = (const fg_format_entry *)fg_registry_find(
        q->c->registry, FG_REGISTRY_FORMAT, q->schema->format, NULL);
    if (here == there || (there != NULL && !here->has_schema && !there->has_schema))
        return FG_OK;
    return fgi_fail(q->err, FG_EINVAL, "%s is %s: the checkpoint was trained with %s",
                    fgi_config_where(q->c, "data.format"), here->entry.name, q->schema->format);
}

/* A table that a model of images cannot use: it is no list of image files. */
static fg_status explain_list(const request *q, fg_status status)
{
    const char *text = q->err->message;
    const size_t size = strlen(q->key);
    const char *path = size > 0 ? fg_option_string(q->c->values, q->key) : NULL;
    if (path == NULL || strcmp(q->format.entry->entry.name, "images") != 0 ||
        strstr(text, "there is no column") == NULL)
        return status;
    return fgi_fail(
        q->err, status,
        "%.*s\nthe model was trained on images: expected image files, a folder of them, "
        "or a list with a column of their paths: "
        "--data.path_column=COLUMN",
        (int)strcspn(text, "\n"), text);
}

static fg_status open_checked(request *q, fg_dataset **out)
{
    FGI_TRY(fgi_run_format_init(q->c, q->run, false, &q->format, q->err));
    q->format.request.stratify = q->schema->is_stratified;
    q->format.request.needs_target = q->kind != FG_RECIPE_PREDICT;
    q->format.request.input = &q->schema->input;
    if (q->format.request.needs_target) {
        q->format.request.class_names = (const char *const *)q->schema->class_names;
        q->format.request.class_count = q->schema->class_names != NULL ? q->schema->class_count : 0;
    }
    FGI_TRY(check_format(q));
    FGI_TRY(
        fgi_run_schema_tokenizer(q->schema, "the checkpoint's tokenizer", &q->tokenizer, q->err));
    q->format.request.tokenizer = q->tokenizer;
    const fg_status status = open_samples(q, out);
    if (status != FG_OK)
        return explain_list(q, status);
    if (*out != NULL)
        return check(q, *out);
    return fgi_run_format_missing(q->format.entry, q->kind, "evaluate", q->err);
}

fg_status fgi_run_data_open_eval(const fg_recipe *r, fgi_run_data *out, fg_error *err)
{
    request q = {.run = r, .c = r->c, .kind = r->kind, .schema = &r->schema, .err = err};
    *out = (fgi_run_data){0};
    const fg_status status = open_checked(&q, &out->val);
    fgi_run_format_fini(&q.format);
    out->schema = q.rules;
    out->tokenizer = q.tokenizer;
    if (status != FG_OK)
        fgi_run_data_close(out);
    return status;
}
