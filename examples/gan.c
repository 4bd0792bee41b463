/* gan.c - a generative adversarial network: two networks, each with an optimizer. The generator
 * learns to draw points around eight centers on a ring.                          usage: gan
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>

enum { CENTERS = 8, SAMPLES = 8192, BATCH = 256, NOISE = 8 };
static const double RADIUS = 2, SPREAD = 0.15, TURN = 6.283185307179586;

/* Sample `index` is a center, f32[2]; the step adds normally distributed offsets. */
static fg_status read_center(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    float *x = out_fields[0];
    const double angle = TURN * (double)(index % CENTERS) / CENTERS;
    x[0] = (float)(RADIUS * cos(angle));
    x[1] = (float)(RADIUS * sin(angle));
    return FG_OK;
}

struct gan {
    fg_model *generator, *discriminator;
};

static void build(void *self, fg_module *root)
{
    struct gan *g = self;
    fg_model_options o = {.name = "mlp", .outputs = 2, .options = "{hidden: [64, 64]}"};
    o.input = (fg_type){FG_F32, 1, {NOISE}};
    g->generator = fg_model_create(fg_module_child(root, "generator"), &o);
    o.input = (fg_type){FG_F32, 1, {2}};
    o.outputs = 1;
    g->discriminator = fg_model_create(fg_module_child(root, "discriminator"), &o);
}

/* Points that the generator makes of noise, f32[BATCH, 2]. */
static fg_tensor generate(void *self, fg_step *st, const fg_batch *batch)
{
    fg_tensor noise = fg_random_normal(fg_step_trace(st), 2, (int64_t[]){BATCH, NOISE});
    return fg_model_apply(((struct gan *)self)->generator, noise);
}

/* Each part of the optimizer minimizes its own loss; neither loss needs fg_stop_gradient. */
static fg_tensor train_step(void *self, fg_step *st, const fg_batch *batch)
{
    const struct gan *g = self;
    fg_tensor offset = fg_random_normal(fg_step_trace(st), 2, (int64_t[]){BATCH, 2});
    fg_tensor x = fg_add(fg_batch_at(batch, 0), fg_mul_scalar(offset, SPREAD));
    fg_tensor real = fg_model_apply(g->discriminator, x);
    fg_tensor fake = fg_model_apply(g->discriminator, generate(self, st, batch));
    fg_tensor both = fg_add(fg_softplus(fg_neg(real)), fg_softplus(fake));
    fg_step_set_loss(st, "discriminator", fg_mean(both, 0, NULL)); /* cross-entropy */
    return fg_mean(fg_softplus(fg_neg(fake)), 0, NULL);            /* the generator's */
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    static const char *const discriminator[] = {"discriminator.*"};
    fg_optimizer_part parts[] = {{.name = "generator"}, /* trains all the rest */
                                 {.name = "discriminator", .parameters = {discriminator, 1}}};
    parts[0].optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 2e-3, .betas = {0.5, 0.99}});
    parts[1].optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 4e-3, .betas = {0.5, 0.99}});
    return fg_optimizer_join(root, parts, 2);
}

static int near[CENTERS]; /* points near each of them */

static fg_status count_near(void *self, const fg_type *type, const void *data, int64_t first,
                            fg_error *err)
{
    for (int64_t i = 0; i < type->dim[0]; i++) {
        const float *at = (const float *)data + 2 * i;
        const double x = (double)at[0], y = (double)at[1], step = TURN / CENTERS;
        const int center = (int)round(atan2(y, x) / step);
        if (hypot(x - RADIUS * cos(step * center), y - RADIUS * sin(step * center)) < 3 * SPREAD)
            near[(center + CENTERS) % CENTERS]++;
    }
    return FG_OK;
}

static void report(void)
{
    int points = 0, covered = 0;
    for (int i = 0; i < CENTERS; i++) {
        points += near[i];
        covered += near[i] > SAMPLES / CENTERS / 4;
    }
    printf("%d %% of the points are near a center; %d of %d centers are covered\n",
           points * 100 / SAMPLES, covered, CENTERS);
}

static const fg_dataset_ops center_ops = {.read = read_center};
static const fg_task_ops ops = {
    .build = build, .train_step = train_step, .predict_step = generate, .optimizer = optimizer};

int main(void)
{
    const fg_field field = {"x", {.dtype = FG_F32, .rank = 1, .dim = {2}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = &field, .field_count = 1};
    const fg_trainer_options options = {.limits.max_epochs = 45, .devices.steps_per_launch = 32};
    struct gan model;
    const fg_task task = {.name = "gan", .self = &model, .ops = &ops};
    fg_dataset *centers = NULL;
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    bool ok = fg_dataset_create(&center_ops, NULL, &spec, &centers, &err) == FG_OK &&
              fg_trainer_create(&options, &trainer, &err) == FG_OK &&
              fg_trainer_add_named_callback(trainer, "ema: {decay: 0.99}", &err) == FG_OK;
    const fg_fit_data data = {.train = centers, .predict = centers, .global_batch_size = BATCH};
    ok = ok && fg_trainer_fit(trainer, &task, &data, &err) == FG_OK &&
         fg_trainer_predict(trainer, &task, &data, count_near, NULL, &err) == FG_OK;
    if (ok)
        report();
    else
        fg_error_print(&err, "gan");
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(centers);
    return ok ? 0 : 1;
}
