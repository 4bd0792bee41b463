/* test_mesh_loop.c - the example with a custom loop on eight devices follows the Trainer's loss
 * curve on one, step by step, with replicated and with sharded parameters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "curve.h"

enum { BATCH = 64, EPOCHS = 3 };

static fg_csv_parts data;

/* The example's model in a task. */
static void build(void *self, fg_module *root)
{
    fg_model **model = self;
    *model =
        fg_model_create(root, &(fg_model_options){.name = "mlp",
                                                  .input = fg_dataset_field(data.train, 0)->type,
                                                  .outputs = 10,
                                                  .options = "{hidden: [128, 64], dropout: 0.1}",
                                                  .scale = 1.0 / 16});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_model *const *model = self;
    const fg_tensor label = fg_batch_at(batch, 1);
    const fg_tensor logits = fg_model_apply(*model, fg_batch_at(batch, 0));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, label, NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.003});
}

static const fg_task_ops ops = {
    .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};

/* Runs the example; its losses, and its accuracy after the last epoch. */
static void run_example(const char *strategy, curve *out, double *out_accuracy)
{
    char line[256];
    int step_number = 0, devices = 0;
    double value = 0;
    (void)snprintf(line, sizeof line,
                   "cd '" FGT_SOURCE_DIR "' && '" FGT_BINARY_DIR "/examples/mesh_loop' %s",
                   strategy);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (sscanf(line, "step %d loss %lf", &step_number, &value) == 2 && step_number >= 1 &&
            step_number <= CURVE_STEPS)
            out->loss[step_number - 1] = value;
        devices += strstr(line, "of 8\n") != NULL;
        (void)sscanf(line, "epoch %*d accuracy %lf", out_accuracy);
    }
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(devices, 8);
}

static void follows_the_trainer(void **state)
{
    static curve want, got;
    const fg_csv_options digits = {
        .header = FG_CSV_HEADER_NO, .image = {8, 8, 1}, .val_fraction = 0.2};
    fg_error err = {0};
    fg_model *model = NULL;
    const fg_task task = {.name = "mlp", .self = &model, .ops = &ops};
    (void)state;
    fgt_ok(fg_csv_load(FGT_SOURCE_DIR "/share/data/digits/digits.csv.gz", &digits, &data, &err));
    const int steps = EPOCHS * (int)(fg_dataset_count(data.train) / BATCH);
    const curve_run run = {.task = &task,
                           .train = data.train,
                           .val = data.val,
                           .batch = BATCH,
                           .drop_last = true,
                           .steps = steps,
                           .seed = 1};
    assert_in_range(steps, 60, CURVE_STEPS);
    curve_fit(&run, &want);
    for (int i = 0; i < 2; i++) {
        double accuracy = 0;
        run_example(i == 0 ? "ddp" : "fsdp", &got, &accuracy);
        curves_agree(i == 0 ? "ddp" : "fsdp", &want, &got, 0, steps, 1e-3);
        fgt_close("accuracy", accuracy, curve_metric(&want, "val_acc"), 5e-5 + 1.0 / 359, 0);
    }
    fg_dataset_destroy(data.train);
    fg_dataset_destroy(data.val);
    fg_csv_schema_destroy(data.schema);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_trainer)};
FGT_MAIN(tests)
