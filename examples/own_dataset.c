/* own_dataset.c - a custom dataset: generates points on two spirals, and trains a small MLP to
 * classify them.                                                  usage: own_dataset
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <math.h>

struct spirals {
    int64_t per_turn; /* samples per turn */
};

/* Generates sample `index`: x f32[2] is the point, y s32[] the spiral that it is on. */
static fg_status read_point(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const struct spirals *s = self;
    float *x = out_fields[0];
    int32_t *y = out_fields[1];
    const int32_t arm = (int32_t)(index % 2);
    const double turn = 0.1 + (double)index / (double)s->per_turn;
    const double angle = 2 * 3.14159265358979 * (turn + 0.5 * arm);
    (void)err; /* cannot fail */
    x[0] = (float)(turn * cos(angle));
    x[1] = (float)(turn * sin(angle));
    *y = arm;
    return FG_OK;
}

static const fg_dataset_ops point_ops = {.read = read_point};

static fg_status make_points(struct spirals *s, fg_dataset **out, fg_error *err)
{
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {2}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = 2 * s->per_turn, .fields = fields, .field_count = 2, .class_count = 2};
    return fg_dataset_create(&point_ops, s, &spec, out, err);
}

struct net {
    fg_model *mlp;
};

static void build(void *self, fg_module *root)
{
    struct net *n = self;
    n->mlp = fg_model_create(
        root, &(fg_model_options){.name = "mlp",
                                  .input = {FG_F32, 1, {2}},
                                  .outputs = 2,
                                  .options = "{hidden: [64, 64], activation: tanh}"});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const struct net *n = self;
    fg_tensor logits = fg_model_apply(n->mlp, fg_batch_field(batch, "x"));
    fg_step_log(st, "acc", fg_accuracy(logits, fg_batch_field(batch, "y")));
    return fg_cross_entropy(logits, fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.02});
}

int main(int argc, char **argv)
{
    const fg_task_ops ops = {
        .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};
    struct net net;
    struct spirals spirals = {.per_turn = 500};
    const fg_task task = {.name = "spirals", .self = &net, .ops = &ops};
    const fg_trainer_options options = {
        .limits.max_epochs = 40, .validation.val_every_epochs = 20, .output.progress = stdout};
    fg_dataset *all = NULL, *train = NULL, *val = NULL;
    fg_trainer *trainer = NULL;
    fg_error err = {0};

    bool ok = make_points(&spirals, &all, &err) == FG_OK &&
              fg_dataset_split(all, &(fg_split_options){.val_fraction = 0.2}, &train, &val, &err) ==
                  FG_OK &&
              fg_trainer_create(&options, &trainer, &err) == FG_OK;
    const fg_fit_data data = {.train = train, .val = val, .batch_size = 50};
    ok = ok && fg_trainer_fit(trainer, &task, &data, &err) == FG_OK;
    if (!ok)
        fg_error_print(&err, argv[0]);

    fg_trainer_destroy(trainer);
    fg_dataset_destroy(val);
    fg_dataset_destroy(train);
    fg_dataset_destroy(all);
    (void)argc;
    return ok ? 0 : 1;
}
