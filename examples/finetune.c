/* finetune.c - fine-tuning: an MLP that knows the ten digits learns from 50 images which are odd.
 * Its layers are frozen at first, and then have a smaller learning rate than the new head.
 * usage: finetune [FILE]                        for the first model's weights [digits.safetensors]
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <stdio.h>

enum { FEW = 50 };

static fg_error err;
static fg_csv_parts digits;

/* One training: the number of classes, and the file with the weights that it starts from. */
struct run {
    int64_t classes;
    const char *weights; /* NULL: random */
    fg_model *mlp;
};

static void build(void *self, fg_module *root)
{
    struct run *r = self;
    r->mlp = fg_model_create(root, &(fg_model_options){.name = "mlp",
                                                       .input = {FG_F32, 3, {8, 8, 1}},
                                                       .outputs = r->classes,
                                                       .options = "{hidden: [128, 64]}"});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const struct run *r = self;
    fg_tensor label = fg_batch_at(batch, 1), logits = fg_model_apply(r->mlp, fg_batch_at(batch, 0));
    if (r->classes == 2)
        label = fg_remainder(label, fg_full(fg_step_trace(st), FG_S32, 2, FG_SCALAR));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, label, NULL);
}

/* The head, fc3, has the optimizer's learning rate. */
static fg_optimizer *optimizer(void *self, fg_module *root)
{
    const struct run *r = self;
    const fg_string_pair layers[] = {{"fc1.*", "{lr: 1e-4}"}, {"fc2.*", "{lr: 1e-4}"}};
    const fg_optimizer_groups groups = {.groups = {layers, r->weights != NULL ? 2 : 0}};
    fg_optimizer *adam = fg_adam_create(root, &(fg_adam_options){.lr = 5e-3});
    if (adam != NULL && fg_optimizer_set_groups(adam, &groups, &err) != FG_OK)
        fg_module_fail(root, &err);
    return adam;
}

static const fg_task_ops ops = {
    .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};

static bool create(const struct run *r, fg_trainer **out)
{
    const fg_trainer_options options = {
        .limits.max_epochs = r->classes == 10 ? 8 : 40,
        .validation.val_every_epochs = FG_NONE, /* only after training */
        .checkpoints = {.weights = r->weights, .weights_options.allow_mismatch = true}};
    const char *freeze = "freeze: {parameters: [fc1.*, fc2.*], unfreeze_at_epoch: 20}";
    return fg_trainer_create(&options, out, &err) == FG_OK &&
           (r->weights == NULL || fg_trainer_add_named_callback(*out, freeze, &err) == FG_OK);
}

/* Trains and prints the accuracy on the validation data. Saves the weights, unless path is NULL. */
static bool train(struct run *r, fg_dataset *data, const char *path)
{
    const fg_task task = {.name = "digits", .self = r, .ops = &ops};
    const fg_fit_data all = {.train = data, .val = digits.val};
    fg_trainer *trainer = NULL;
    bool ok = create(r, &trainer) && fg_trainer_fit(trainer, &task, &all, &err) == FG_OK &&
              fg_trainer_validate(trainer, &task, &all, &err) == FG_OK;
    if (ok)
        printf("%s %.3f: %d classes, %s\n", fg_trainer_result(trainer)->metrics[0].name,
               fg_trainer_result(trainer)->metrics[0].value, (int)r->classes,
               r->weights != NULL ? "fine-tuned" : "from random weights");
    if (ok && path != NULL)
        ok = fg_module_save(fg_trainer_module(trainer), path, &err) == FG_OK;
    fg_trainer_destroy(trainer);
    return ok;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "digits.safetensors";
    const fg_csv_options csv = {.header = FG_CSV_HEADER_NO,
                                .image = {8, 8, 1},
                                .image_scale = 1.0 / 16,
                                .val_fraction = 0.2};
    struct run first = {.classes = 10}, scratch = {.classes = 2},
               tuned = {.classes = 2, .weights = path};
    fg_dataset *few = NULL;
    int64_t index[FEW];
    for (int64_t i = 0; i < FEW; i++)
        index[i] = i;
    const bool ok = fg_csv_load("share/data/digits/digits.csv.gz", &csv, &digits, &err) == FG_OK &&
                    fg_dataset_subset(digits.train, index, FEW, &few, &err) == FG_OK &&
                    train(&first, digits.train, path) && train(&scratch, few, NULL) &&
                    train(&tuned, few, NULL);
    if (!ok)
        fg_error_print(&err, argv[0]);
    fg_dataset_destroy(few);
    fg_csv_schema_destroy(digits.schema);
    fg_dataset_destroy(digits.val);
    fg_dataset_destroy(digits.train);
    return ok ? 0 : 1;
}
