/* early_stop.c - early stopping: a callback that ends the run when the validation loss has not
 * improved for a few epochs.       usage: early_stop [CSV-FILE]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <string.h>

struct patience {
    int epochs;  /* stop after this many epochs without improvement */
    int waited;  /* epochs without improvement so far */
    double best; /* lowest val_loss; negative: none yet */
};

/* Called after each validation; at->metrics are its means. */
static fg_status after_validation(void *self, const fg_progress *at, fg_error *err)
{
    struct patience *p = self;
    (void)err; /* stopping is not an error */
    for (size_t i = 0; i < at->metric_count; i++) {
        const double loss = at->metrics[i].value;
        if (strcmp(at->metrics[i].name, "val_loss") != 0)
            continue;
        const bool is_better = p->best < 0 || loss < p->best;
        p->waited = is_better ? 0 : p->waited + 1;
        p->best = is_better ? loss : p->best;
    }
    return p->waited >= p->epochs ? FG_ESTOPPED : FG_OK;
}

static const fg_callback_ops early_stop = {.val_end = after_validation};

/* A callback in five lines: prints the rate of each window of log_every steps. */
static fg_status print_rate(void *self, const fg_progress *at, fg_error *err)
{
    printf("step %lld: %.0f samples/s\n", (long long)at->step, at->samples_per_s);
    return FG_OK;
}
static const fg_callback_ops rate = {.log = print_rate};

static void build(void *self, fg_module *root)
{
    fg_model **lenet = self;
    *lenet = fg_model_create(
        root, &(fg_model_options){.name = "lenet", .input = {FG_F32, 3, {8, 8, 1}}, .outputs = 10});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_model *const *lenet = self;
    fg_tensor label = fg_batch_field(batch, "label");
    fg_tensor logits = fg_model_apply(*lenet, fg_batch_field(batch, "image"));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, label, NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 3e-3});
}

int main(int argc, char **argv)
{
    const fg_csv_options csv = {.header = FG_CSV_HEADER_NO,
                                .image = {8, 8, 1},
                                .image_scale = 1.0 / 16,
                                .val_fraction = 0.2};
    const fg_task_ops ops = {
        .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};
    fg_model *lenet = NULL;
    const fg_task task = {.name = "digits", .self = &lenet, .ops = &ops};
    const fg_trainer_options options = {.limits.max_epochs = 100, .output.progress = stdout};
    struct patience patience = {.epochs = 3, .best = -1};
    fg_csv_parts digits = {0};
    fg_trainer *trainer = NULL;
    fg_error err = {0};

    bool ok = fg_csv_load(argc > 1 ? argv[1] : "share/data/digits/digits.csv.gz", &csv, &digits,
                          &err) == FG_OK &&
              fg_trainer_create(&options, &trainer, &err) == FG_OK &&
              fg_trainer_add_callback(trainer, &early_stop, &patience, &err) == FG_OK &&
              fg_trainer_add_callback(trainer, &rate, NULL, &err) == FG_OK;
    const fg_fit_data data = {.train = digits.train, .val = digits.val, .batch_size = 32};
    if (ok)
        ok = fg_trainer_fit(trainer, &task, &data, &err) == FG_OK || err.status == FG_ESTOPPED;
    if (ok)
        printf("%lld epochs, best val_loss %.4f\n", (long long)fg_trainer_result(trainer)->epochs,
               patience.best);
    else
        fg_error_print(&err, argv[0]);

    fg_trainer_destroy(trainer);
    fg_csv_schema_destroy(digits.schema);
    fg_dataset_destroy(digits.val);
    fg_dataset_destroy(digits.train);
    return ok ? 0 : 1;
}
