/* run_data.c - datasets out of the configuration's section `data`: opened by the data format that
 * it names; the task of a run whose configuration does not give it, and whether the targets of a
 * classification are plausible classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/sampling.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "catalog/class_counts.h"

fg_status fgi_run_data_split(const fg_format_request *request, fg_dataset *all, fg_dataset **train,
                             fg_dataset **val, fg_error *err)
{
    const bool by_class = request->stratify && strcmp(request->task, "regression") != 0 &&
                          fg_dataset_field_count(all) > 1 && fgi_run_has_classes(all);
    const fg_split_options options = {
        .val_fraction = request->val_fraction, .seed = request->split_seed, .stratify = by_class};
    return fg_dataset_split(all, &options, train, val, err);
}

/* Cuts the validation part out of the training part. */
static fg_status split(const fg_format_request *request, fgi_run_data *data, fg_error *err)
{
    fg_dataset *train = NULL, *val = NULL;
    FGI_TRY(fgi_run_data_split(request, data->train, &train, &val, err));
    fg_dataset_destroy(data->train); /* the parts keep what they need of it */
    data->train = train;
    data->val = val;
    return FG_OK;
}

/* Draws the training samples as data.sampling says. */
static fg_status draw(const fgi_config *c, fgi_run_data *data, fg_error *err)
{
    fg_dataset *drawn = NULL;
    if (strcmp(c->data.sampling, "balanced") != 0)
        return FG_OK;
    const fg_sampling_options options = {.seed = (uint64_t)c->trainer.seed};
    const fg_status status = fg_dataset_balanced(data->train, &options, &drawn, err);
    if (status != FG_OK)
        return fgi_context(err, status, "%s", fgi_config_where(c, "data.sampling"));
    fg_dataset_destroy(data->train); /* the new one keeps it */
    data->train = drawn;
    return FG_OK;
}

/* ---- options that contradict each other ------------------------------------------------------ */

/* Targets are given with their inputs. */
static fg_status check_part(const fgi_run_format *f, fg_data_part part, fg_error *err)
{
    char key[FGI_RUN_KEY_SIZE];
    const char *input = fgi_run_format_input(f->entry, part);
    const char *target = fgi_run_format_target(f->entry, part);
    if (!fgi_run_format_has(f, target) || fgi_run_format_has(f, input))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s: given without the inputs, data.%s",
                    fgi_config_where(f->c, fgi_run_format_key(target, key)), input);
}

static fg_status check(const fgi_run_format *f, fg_error *err)
{
    const fg_format_files *files = &f->entry->files;
    FGI_TRY(fgi_run_format_need(f, files->train, err));
    FGI_TRY(fgi_run_format_need(f, files->train_target, err));
    FGI_TRY(check_part(f, FG_PART_VAL, err));
    FGI_TRY(check_part(f, FG_PART_TEST, err));
    if (!fgi_run_format_has(f, files->val))
        return FG_OK;
    if (f->request.val_fraction > 0)
        return fgi_fail(err, FG_EINVAL, "%s: data.%s is given too: set only one of them",
                        fgi_config_where(f->c, "data.val_fraction"), files->val);
    return fgi_run_format_need(f, files->val_target, err);
}

/* ---- what was read --------------------------------------------------------------------------- */

static fg_status count_labels(const fg_dataset *d, int64_t classes, int64_t *out, fg_error *err)
{
    const fg_type *target = d != NULL ? &fg_dataset_field(d, 1)->type : NULL;
    if (target != NULL && target->rank == 1)
        return target->dim[0] == classes ? fg_dataset_label_counts(d, out, err) : FG_OK;
    if (d == NULL || !fg_dataset_has_labels(d))
        return FG_OK;
    const int64_t count = fg_dataset_count(d);
    int32_t *labels = fgi_calloc((size_t)count + 1, sizeof(*labels));
    const fg_status status =
        labels != NULL ? fg_dataset_labels(d, labels, err) : fgi_no_memory(err);
    for (int64_t i = 0; status == FG_OK && i < count; i++)
        if (labels[i] >= 0 && labels[i] < classes)
            out[labels[i]]++;
    fgi_free(labels);
    return status;
}

/* The option that names the file of the training targets; NULL: there is none. */
static const char *target_option(const fgi_run_format *f)
{
    const char *target = fgi_run_format_target(f->entry, FG_PART_TRAIN);
    return target != NULL ? target : f->entry->files.train;
}

/* A classifier needs at least two classes to choose from. */
static fg_status check_classes(const fgi_run_format *f, const fgi_class_counts *counts,
                               fg_error *err)
{
    char key[FGI_RUN_KEY_SIZE], number[32];
    const int64_t only = fgi_class_counts_only(counts);
    const char *labels = target_option(f);
    if (only < 0 || labels == NULL)
        return FG_OK;
    (void)fgi_snprintf(number, sizeof(number), "%" PRId64, only);
    return fgi_fail(err, FG_EINVAL,
                    "%s: all samples are of one class, '%.80s': a classification needs "
                    "at least two",
                    fgi_config_where(f->c, fgi_run_format_key(labels, key)),
                    counts->names[only] != NULL ? counts->names[only] : number);
}

/* The fraction of the training samples that the most frequent class has. */
static double largest_of(const fgi_class_counts *counts)
{
    double samples = 0, most = 0;
    for (int64_t i = 0; i < counts->classes; i++) {
        samples += (double)counts->train[i];
        most = fmax(most, (double)counts->train[i]);
    }
    return samples > 0 ? most / samples : 0;
}

/* Says how many samples each class has in each part. */
static fg_status say_classes(const fgi_run_format *f, fgi_run_data *data, fg_error *err)
{
    char key[FGI_RUN_KEY_SIZE];
    fgi_class_counts counts;
    const fg_type *target = &fg_dataset_field(data->train, 1)->type;
    const bool is_multilabel = strcmp(f->c->task, "multilabel") == 0 && target->rank == 1;
    if (!is_multilabel &&
        (!fg_dataset_has_labels(data->train) || strcmp(f->c->task, "classification") != 0))
        return FG_OK;
    FGI_TRY(fgi_class_counts_init(
        &counts, is_multilabel ? "label" : "sample",
        is_multilabel ? target->dim[0] : fg_dataset_class_count(data->train), err));
    for (int64_t i = 0; i < counts.classes; i++)
        counts.names[i] = fg_dataset_class_name(data->train, i);
    fg_status status = count_labels(data->train, counts.classes, counts.train, err);
    if (status == FG_OK)
        status = count_labels(data->val, counts.classes, counts.val, err);
    if (status != FG_OK && is_multilabel && target_option(f) != NULL)
        status = fgi_context(err, status, "task multilabel: %s",
                             fgi_config_where(f->c, fgi_run_format_key(target_option(f), key)));
    if (status == FG_OK && !is_multilabel)
        status = check_classes(f, &counts, err);
    if (status == FG_OK)
        fgi_class_counts_say(&counts, f->request.say, f->request.say_self);
    data->largest = is_multilabel ? 0 : largest_of(&counts);
    fgi_class_counts_fini(&counts);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status open_train(fgi_run_format *f, fgi_run_data *out, fg_error *err)
{
    fg_format_data data;
    const fg_status status = fgi_run_format_open(f, FG_PART_TRAIN, &data, err);
    *out = (fgi_run_data){.train = data.samples,
                          .val = data.val,
                          .schema = data.schema,
                          .tokenizer = data.tokenizer,
                          .bytes_per_token = data.bytes_per_token,
                          .target_mean = data.target_mean,
                          .target_deviation = data.target_deviation};
    f->request.schema = data.schema;
    f->request.tokenizer = data.tokenizer;
    if (status == FG_OK && data.samples == NULL)
        return fgi_fail(err, FG_EINVAL, "data.format %s: the data contain no training samples",
                        f->entry->entry.name);
    return status;
}

/* Another part, unless it has an option, which is not given. */
static fg_status open_other(fgi_run_format *f, fg_data_part part, fg_dataset **out, fg_error *err)
{
    fg_format_data data;
    const char *input = fgi_run_format_input(f->entry, part);
    if (input != NULL && !fgi_run_format_has(f, input))
        return FG_OK;
    const fg_status status = fgi_run_format_open(f, part, &data, err);
    *out = data.samples;
    data.samples = NULL;
    fgi_run_format_release(&data);
    return status;
}

static fg_status open_all(fgi_config *c, fgi_run_format *f, fgi_run_data *out, fg_error *err)
{
    FGI_TRY(check(f, err));
    FGI_TRY(open_train(f, out, err));
    FGI_TRY(fgi_run_task_infer(c, f->entry, out, err));
    f->request.task = c->task;
    if (out->val == NULL && f->request.val_fraction > 0)
        FGI_TRY(split(&f->request, out, err));
    else if (out->val == NULL)
        FGI_TRY(open_other(f, FG_PART_VAL, &out->val, err));
    FGI_TRY(fgi_run_task_check(c, out, err));
    FGI_TRY(say_classes(f, out, err));
    FGI_TRY(draw(c, out, err));
    return open_other(f, FG_PART_TEST, &out->test, err);
}

fg_status fgi_run_data_open(fgi_config *c, const fg_recipe *r, fgi_run_data *out, fg_error *err)
{
    fgi_run_format format;
    *out = (fgi_run_data){0};
    fg_status status = fgi_run_format_init(c, r, true, &format, err);
    if (status == FG_OK)
        status = open_all(c, &format, out, err);
    if (status != FG_OK)
        fgi_run_data_close(out);
    fgi_run_format_fini(&format);
    return status;
}

void fgi_run_data_close(fgi_run_data *data)
{
    fg_dataset_destroy(data->train);
    fg_dataset_destroy(data->val);
    fg_dataset_destroy(data->test);
    fg_csv_schema_destroy(data->schema);
    fg_tokenizer_destroy(data->tokenizer);
    *data = (fgi_run_data){0};
}

/* ---- the task, if the configuration does not give it ----------------------------------------- */

/* Fewer classes are never refused. Up to MANY_CLASSES may be rare, and up to MOST_CLASSES
 * frequent. */
enum { FEW_CLASSES = 4, MANY_CLASSES = 100, MANY_SAMPLES = 10, MOST_CLASSES = 1000 };

/* ---- the task -------------------------------------------------------------------------------- */

const char *fgi_run_task_given(const fgi_config *c)
{
    const char *task = c->task;
    fg_error unused;
    if (strcmp(task, "auto") != 0)
        return task;
    if (strcmp(c->loss.name, "auto") != 0) {
        const fg_loss_entry *loss =
            (const fg_loss_entry *)fgi_config_entry(c, FG_REGISTRY_LOSS, "loss.name", &unused);
        return loss != NULL ? loss->task : task;
    }
    return c->model.classes == FG_AUTO ? task : "classification";
}

bool fgi_run_has_classes(const fg_dataset *dataset)
{
    const fg_type *target = &fg_dataset_field(dataset, 1)->type;
    return target->dtype == FG_S32 && target->rank == 0 && fg_dataset_class_count(dataset) > 0;
}

bool fgi_run_has_tokens(const fg_dataset *dataset)
{
    const fg_type *target = &fg_dataset_field(dataset, 1)->type;
    return target->dtype == FG_S32 && target->rank == 1 && fg_dataset_class_count(dataset) > 0 &&
           fg_type_equal(&fg_dataset_field(dataset, 0)->type, target);
}

/* The target's column in a fitted schema; false: there is none. */
static bool find_target(const fg_csv_schema *schema, fg_csv_column *out)
{
    fg_error unused;
    for (size_t i = 0; schema != NULL && i < fg_csv_schema_column_count(schema); i++)
        if (fg_csv_schema_column(schema, i, out, &unused) == FG_OK &&
            strcmp(out->kind, "target") == 0)
            return true;
    return false;
}

/* Why the samples have several labels. */
static void give_labels(fgi_run_data *data)
{
    fg_csv_column column;
    if (find_target(data->schema, &column))
        (void)fgi_snprintf(data->inferred, sizeof data->inferred,
                           "task: multilabel, because column '%.64s' has lists of labels; to "
                           "predict the whole strings, set task: classification",
                           column.name);
    else
        (void)fgi_snprintf(data->inferred, sizeof data->inferred, "task: multilabel, because %s",
                           data->schema != NULL
                               ? "data.label_columns is given"
                               : "samples have several labels; to predict only the first one, set "
                                 "task: classification");
}

/* Why the task was inferred; nothing if the samples can have no other. */
static void give_reason(bool is_class, bool has_other, fgi_run_data *data)
{
    char type[96];
    fg_csv_column column;
    const char *other = is_class ? "to predict numbers, set task: regression"
                                 : "to predict classes, set task: classification";
    const int64_t classes = fg_dataset_class_count(data->train);
    const bool is_text = find_target(data->schema, &column) && column.texts > 0;
    if (is_text)
        (void)fgi_snprintf(data->inferred, sizeof data->inferred,
                           "task: classification, because column '%.64s' has %s that are not "
                           "numbers, such as '%.40s'",
                           column.name, column.numbers > 0 ? "values" : "strings", column.text);
    else if (data->schema != NULL)
        (void)fgi_snprintf(data->inferred, sizeof data->inferred,
                           is_class ? "task: %s, because column '%.64s' has only %" PRId64
                                      " different integers; %s"
                                    : "task: %s, because column '%.64s' has numbers%.0" PRId64
                                      "; %s",
                           is_class ? "classification" : "regression", column.name, classes, other);
    else if (has_other || !is_class)
        (void)fgi_snprintf(
            data->inferred, sizeof data->inferred, "task: %s, because the targets are %s; %s",
            is_class ? "classification" : "regression",
            fg_type_format(&fg_dataset_field(data->train, 1)->type, type, sizeof type),
            is_class ? other : "classes must be integers, one per sample, starting at 0");
}

fg_status fgi_run_task_infer(fgi_config *c, const fg_format_entry *format, fgi_run_data *data,
                             fg_error *err)
{
    const char *task = fgi_run_task_given(c);
    if (strcmp(c->task, "auto") != 0 || fg_dataset_field_count(data->train) < 2)
        return FG_OK;
    const bool has_tokens = fgi_run_has_tokens(data->train);
    if (has_tokens && fgi_is_one_of(task, "auto|classification")) { /* by its loss */
        task = "language";
        (void)fgi_snprintf(data->inferred, sizeof data->inferred,
                           "task: language, because the samples are tokens");
    } else if (strcmp(task, "auto") == 0) {
        const bool is_class = fgi_run_has_classes(data->train);
        const bool is_multilabel = fg_dataset_is_multilabel(data->train);
        task = is_class ? "classification" : is_multilabel ? "multilabel" : "regression";
        if (is_multilabel)
            give_labels(data);
        else
            give_reason(is_class, format->files.train_target != NULL, data);
    }
    return fgi_config_set(c, "task", task, NULL, err);
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct tally {
    int64_t samples, classes, singles; /* classes that occur; those of one sample */
    int64_t *counts;                   /* of each class */
    int64_t count;
} tally;

static fg_status add_labels(const fg_dataset *dataset, tally *t, fg_error *err)
{
    const int64_t count = dataset != NULL ? fg_dataset_count(dataset) : 0;
    int32_t *labels = count > 0 ? fgi_calloc((size_t)count, sizeof *labels) : NULL;
    if (count > 0 && labels == NULL)
        return fgi_no_memory(err);
    fg_status status = count > 0 ? fg_dataset_labels(dataset, labels, err) : FG_OK;
    for (int64_t i = 0; i < count && status == FG_OK; i++) {
        if (labels[i] < 0 || labels[i] >= t->count)
            continue;
        const int64_t seen = t->counts[labels[i]]++;
        t->classes += seen == 0;
        t->singles += (seen == 0) - (seen == 1);
        t->samples++;
    }
    fgi_free(labels);
    return status;
}

static fg_status refuse(const fgi_config *c, const fgi_run_data *data, const tally *t,
                        fg_error *err)
{
    char target[96] = "the targets have";
    const char *other = "check that the labels are classes";
    fg_csv_column column;
    const bool is_csv = find_target(data->schema, &column);
    if (is_csv)
        (void)fgi_snprintf(target, sizeof target, "column '%.64s' has", column.name);
    if (is_csv && column.texts > 0)
        other = "choose another column (data.target); if these are numbers, list it in "
                "data.numeric";
    else if (is_csv || fg_dataset_class_name(data->train, 0) == NULL)
        other = "to predict numbers, set task: regression";
    return fgi_fail(err, FG_EINVAL,
                    "%s is classification, but %s %" PRId64 " classes in %" PRId64
                    " samples, %" PRId64 " of them with a single sample\n%s; to train a "
                    "classifier anyway, set model.classes: %" PRId64,
                    fgi_config_where(c, "task"), target, t->classes, t->samples, t->singles, other,
                    t->count);
}

static bool is_implausible(const tally *t)
{
    return t->classes > FEW_CLASSES &&
           (2 * t->singles > t->classes || t->classes > MOST_CLASSES ||
            (t->classes > MANY_CLASSES && t->samples / t->classes < MANY_SAMPLES));
}

fg_status fgi_run_task_check(const fgi_config *c, const fgi_run_data *data, fg_error *err)
{
    tally t = {.count = fg_dataset_class_count(data->train)};
    if (strcmp(c->task, "classification") != 0 || t.count <= FEW_CLASSES ||
        fg_dataset_field_count(data->train) < 2 || !fgi_run_has_classes(data->train) ||
        fg_dataset_count(data->train) < 0 || c->model.classes != FG_AUTO)
        return FG_OK;
    t.counts = fgi_calloc((size_t)t.count, sizeof *t.counts);
    if (t.counts == NULL)
        return fgi_no_memory(err);
    fg_status status = add_labels(data->train, &t, err);
    if (status == FG_OK)
        status = add_labels(data->val, &t, err);
    fgi_free(t.counts);
    return status == FG_OK && is_implausible(&t) ? refuse(c, data, &t, err) : status;
}
