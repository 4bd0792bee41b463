/* run_infer.c - the task of a run whose configuration does not give it, and whether the targets of
 * a classification are plausible classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "recipe/run_infer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"

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
    if (strcmp(task, "auto") == 0) {
        const bool is_class = fgi_run_has_classes(data->train);
        task = is_class ? "classification" : "regression";
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
