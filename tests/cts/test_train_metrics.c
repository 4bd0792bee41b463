/* test_train_metrics.c - the metrics that a task chooses, as the Trainer logs them, compared with
 * scikit-learn's, in batches with padding rows, on one device and on several.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

enum { COUNT = 101, MOST_CLASSES = 5 };

/* Logits are a field of the data. The same samples as in record_metrics.py. */
typedef struct fixed {
    fg_linear *unused;
    const char *name; /* in metrics.txt */
    int classes;
    bool has_labels; /* several per sample */
    float logit[COUNT * MOST_CLASSES], target[COUNT * MOST_CLASSES];
    int32_t label[COUNT];
} fixed;

static int label_of(int i, int classes) { return i % 3 != 0 ? 0 : i / 3 % classes; }

static void fill(fixed *f)
{
    for (int i = 0; i < COUNT; i++) {
        f->label[i] = label_of(i, f->classes);
        for (int k = 0; k < f->classes; k++) {
            const int at = i * f->classes + k;
            f->target[at] = (i * (k + 2) + k) % 7 < 2;
            f->logit[at] = (float)((i * 37 + k * 61 + i * i * 7) % 97 - 48) / 16 +
                           (k == f->label[i] ? 2.F : 0) + (f->has_labels ? f->target[at] : 0);
        }
    }
}

static void build(void *self, fg_module *root)
{
    fixed *f = self;
    f->unused = fg_linear_create(root, "fc", &(fg_linear_options){.in = 1, .out = 1});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fixed *f = self;
    const fg_tensor x = fg_batch_at(batch, 0), y = fg_batch_at(batch, 1);
    if (f->has_labels)
        fg_step_log_multilabel(st, x, y);
    else
        fg_step_log_classification(st, x, y);
    return f->has_labels ? fg_bce_with_logits(x, y, NULL) : fg_cross_entropy(x, y, NULL);
}

static const fg_task_ops ops = {.build = build, .val_step = step};

static fg_dataset *dataset_of(const fixed *f)
{
    fg_error err;
    fg_dataset *dataset;
    const fg_type row = {FG_F32, 1, {f->classes}};
    const fg_field fields[] = {{"x", row}, {"y", f->has_labels ? row : (fg_type){.dtype = FG_S32}}};
    const void *values = f->has_labels ? (const void *)f->target : f->label;
    const fg_dataset_spec spec = {.count = COUNT, .fields = fields, .field_count = 2};
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){f->logit, values}, FG_BORROW,
                                  &dataset, &err));
    return dataset;
}

/* Validates with these metrics; *out_err receives the error. */
static fg_trainer *validated(fixed *f, const char *devices, fg_strings metrics, fg_error *out_err)
{
    fg_error err;
    const fg_task task = {.name = "fixed", .self = f, .ops = &ops, .metrics = metrics};
    fg_dataset *data = dataset_of(f);
    const fg_fit_data val = {.val = data, .global_batch_size = 12};
    fg_trainer *trainer;
    fgt_ok(toy_create(&(fg_trainer_options){.devices.accelerator = "cpu",
                                            .devices.devices = devices,
                                            .devices.cache_dir = fgt_cache(fgt_temp_folder())},
                      &trainer, &err));
    const fg_status status = fg_trainer_validate(trainer, &task, &val, out_err);
    assert_int_equal(status, out_err->status);
    fg_dataset_destroy(data);
    return trainer;
}

/* The names and values of a case in metrics.txt. */
typedef struct recorded {
    char name[32][32];
    const char *names[32];
    double value[32];
    size_t count;
} recorded;

static void read_recorded(const char *name, recorded *out)
{
    char line[128], wanted[32];
    FILE *file = fopen(FGT_SOURCE_DIR "/tests/golden/train/metrics.txt", "r");
    assert_non_null(file);
    (void)snprintf(wanted, sizeof wanted, "%s.", name);
    out->count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, wanted, strlen(wanted)) != 0)
            continue;
        char *value = strchr(line, ' ');
        *value = '\0';
        (void)snprintf(out->name[out->count], sizeof out->name[0], "%s", line + strlen(wanted));
        out->names[out->count] = out->name[out->count];
        out->value[out->count++] = strtod(value + 1, NULL);
    }
    (void)fclose(file);
    assert_true(out->count > 8);
}

static void they_are_those_of_scikit_learn(void **state)
{
    static fixed cases[] = {{.name = "two", .classes = 2},
                            {.name = "five", .classes = 5},
                            {.name = "labels", .classes = 4, .has_labels = true}};
    static recorded all;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int devices = 1; devices <= 3; devices += 2) {
            char text[8], metric[64];
            fg_error err = {0};
            fill(&cases[i]);
            read_recorded(cases[i].name, &all);
            (void)snprintf(text, sizeof text, "%d", devices);
            fg_trainer *trainer =
                validated(&cases[i], text, (fg_strings){.at = all.names, .count = all.count}, &err);
            assert_int_equal(err.status, FG_OK);
            for (size_t k = 0; k < all.count; k++) {
                (void)snprintf(metric, sizeof metric, "val_%s", all.name[k]);
                fgt_close(metric, toy_metric(trainer, metric), all.value[k], 0, 2e-6);
            }
            assert_int_equal(fg_trainer_result(trainer)->metric_count, all.count + 1);
            fg_trainer_destroy(trainer);
        }
}

static void others_are_refused(void **state)
{
    static const char *const names[] = {"acc", "top5", "rmse"};
    static fixed f = {.classes = 3};
    (void)state;
    fill(&f);
    for (size_t i = 1; i < 3; i++) {
        fg_error err = {0};
        fg_trainer_destroy(validated(&f, "1", (fg_strings){.at = names, .count = i + 1}, &err));
        assert_int_equal(err.status, FG_EINVAL);
        assert_non_null(strstr(err.message,
                               "metrics: 'top5' is not a metric of this task: expected "
                               "acc|topK_acc|balanced_acc|f1|"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(they_are_those_of_scikit_learn),
    cmocka_unit_test(others_are_refused),
};
FGT_MAIN(tests)
