/* effects_optimizer.c - update rules and schedules: the weights after some full-batch steps equal
 * those of reference.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 5 };

/* The samples as the model receives them. */
static reference_data prepared(const effect *e)
{
    reference_data data = *effects_samples();
    for (int i = 0; i < data.rows; i++)
        for (int f = 0; f < data.features; f++) {
            const double scale = e->scale != 0 ? e->scale : 1, std = e->std[f] != 0 ? e->std[f] : 1;
            const double stored =
                strstr(e->arguments, "bytes") == NULL ? data.x[i][f] : 100 * (data.x[i][f] + 1);
            data.x[i][f] = (stored * scale - e->mean[f]) / std;
        }
    return data;
}

static void weights(const effect *e, const char *folder)
{
    char what[128];
    double weight[REFERENCE_CLASSES * 2], bias[REFERENCE_CLASSES];
    const reference_data data = prepared(e);
    reference_optimizer optimizer = e->optimizer;
    reference_model expected = reference_start(2);
    if (optimizer.lr == 0)
        optimizer.lr = 0.1;
    (void)effects_fit(
        0, folder, EFFECTS_NPY "--trainer.ckpt_every_epochs=0 --trainer.max_steps=%d %s %s", STEPS,
        strstr(e->arguments, "batch_size") == NULL ? "--trainer.batch_size=12" : "", e->arguments);
    reference_train(&expected, &data, &optimizer, STEPS);
    effects_tensor(folder, "fc.weight", REFERENCE_CLASSES * 2, weight);
    effects_tensor(folder, "fc.bias", REFERENCE_CLASSES, bias);
    for (int k = 0; k < REFERENCE_CLASSES; k++) {
        (void)snprintf(what, sizeof(what), "%s: row %d", e->arguments, k);
        fgt_close(what, bias[k], expected.bias[k], 3e-6, 0);
        for (int f = 0; f < 2; f++)
            fgt_close(what, weight[k * 2 + f], expected.weight[k][f], 3e-6, 0);
    }
}

/* The weights differ from those of the same fit without the last argument. */
#define EFFECTS_FEW EFFECTS_NPY "--trainer.ckpt_every_epochs=0 --trainer.max_steps=2 %.*s"
static void changes(const effect *e, const char *folder)
{
    double with[REFERENCE_CLASSES * 2], without[REFERENCE_CLASSES * 2];
    const int size = (int)strlen(e->arguments), last = (int)strlen(strrchr(e->arguments, ' '));
    (void)effects_fit(0, folder, EFFECTS_FEW, size, e->arguments);
    effects_tensor(folder, "fc.weight", REFERENCE_CLASSES * 2, with);
    (void)effects_fit(0, folder, EFFECTS_FEW, size - last, e->arguments);
    effects_tensor(folder, "fc.weight", REFERENCE_CLASSES * 2, without);
    assert_true(fabs(with[0] - without[0]) > 1e-6);
}

/* Standard error has e->says. */
static void line(const effect *e, const char *folder)
{
    char command[512];
    (void)snprintf(command, sizeof(command),
                   "fit --draw=never --trainer.accelerator=cpu --data.format=npy --data.x=x.npy "
                   "--data.y=y.npy --trainer.max_steps=1 --trainer.run_dir=run %s",
                   e->arguments);
    contains(program_gives(0, folder, command)->err, e->says);
}

/* The learning rate after 50 of 101 steps is e->value; nothing is trained. */
static void half_way(const effect *e, const char *folder)
{
    char line[1024];
    double lr = 0;
    (void)snprintf(
        line, sizeof(line),
        "fit --quiet --draw=never --trainer.accelerator=cpu --print-schedule " EFFECTS_NPY
        "--trainer.batch_size=12 --trainer.max_steps=101 %s",
        e->arguments);
    const char *row = strstr(program_gives(0, folder, line)->out, "\n50 % ");
    assert_true(row != NULL && sscanf(row, " 50 %% %*d %*d %lf", &lr) == 1);
    fgt_close(e->arguments, lr, e->value, 0, 1e-3);
}

/* The learning rate of the last of four epochs, of one step each. */
static void last_lr(const effect *e, const char *folder)
{
    double lr = 0;
    (void)effects_fit(0, folder,
                      EFFECTS_NPY EFFECTS_VAL "--trainer.batch_size=12 --trainer.max_epochs=4 "
                                              "--trainer.log_every=1 --trainer.monitor=train_loss "
                                              "--schedule.name=plateau %s",
                      e->arguments);
    for (const char *at = file_text(folder, "run/metrics.jsonl"); at != NULL;) {
        at = strstr(at, "\"lr\":");
        if (at != NULL)
            lr = strtod(at += 5, NULL);
    }
    fgt_close(e->arguments, lr, e->value, 0, 1e-6);
}

#define ONECYCLE    "--schedule.name=onecycle "
#define CYCLE_ALONE ONECYCLE "--schedule.cycle_momentum=false "
#define ALONE       .keeps_momentum = true, .is_on = true

const effect effects_optimizer[] = {
    {"model.freeze", "--model.freeze=[fc.bias] --optimizer.weight_decay=0.5", weights,
     .optimizer = {.keeps_bias = true, .decay = 0.5}},
    {"model.freeze", "'--model.freeze=[*.weight]' --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .keeps_weight = true}},

    {"optimizer.name", "--optimizer.name=sgd", weights},
    {"optimizer.name", "--optimizer.name=adam", weights, .optimizer = {.rule = RULE_ADAM}},
    {"optimizer.name", "--optimizer.name=adamw", weights,
     .optimizer = {.rule = RULE_ADAMW, .decay = 0.01}},
    {"optimizer.lr", "--optimizer.lr=0.7", weights, .optimizer = {.lr = 0.7}},
    {"optimizer.lr", "--optimizer.lr=0 --optimizer.momentum=0.9", weights,
     .optimizer = {.lr = 1e-300}},
    {"optimizer.lr", "--optimizer.lr=0 --optimizer.name=adam", weights,
     .optimizer = {.lr = 1e-300}},
    {"optimizer.lr", "--optimizer.lr=auto", weights, .optimizer = {.lr = 0.01}},
    {"optimizer.lr", "--optimizer.lr=auto --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .lr = 0.001}},
    {"optimizer.lr", "--optimizer.lr=auto --optimizer.name=adamw", weights,
     .optimizer = {.rule = RULE_ADAMW, .lr = 0.001, .decay = 0.01}},
    {"optimizer.momentum", "--optimizer.momentum=0.8", weights, .optimizer = {.momentum = 0.8}},
    {"optimizer.dampening", "--optimizer.momentum=0.8 --optimizer.dampening=0.3", weights,
     .optimizer = {.momentum = 0.8, .dampening = 0.3}},
    {"optimizer.nesterov", "--optimizer.momentum=0.8 --optimizer.nesterov=true", weights,
     .optimizer = {.momentum = 0.8, .nesterov = true}},
    {"optimizer.weight_decay", "--optimizer.weight_decay=0.5", weights,
     .optimizer = {.decay = 0.5}},
    {"optimizer.weight_decay", "--optimizer.weight_decay=0.5 --optimizer.momentum=0.8", weights,
     .optimizer = {.decay = 0.5, .momentum = 0.8}},
    {"optimizer.weight_decay", "--optimizer.weight_decay=0.5 --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .decay = 0.5}},
    {"optimizer.weight_decay", "--optimizer.weight_decay=0.5 --optimizer.name=adamw", weights,
     .optimizer = {.rule = RULE_ADAMW, .decay = 0.5}},
    {"optimizer.weight_decay",
     "--optimizer.weight_decay=0 --optimizer.name=adamw --optimizer.lr=0.9", weights,
     .optimizer = {.rule = RULE_ADAMW, .lr = 0.9}},
    {"optimizer.betas", "--optimizer.betas=[0.5,0.999] --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .momentum = 0.5}},
    {"optimizer.betas", "--optimizer.betas=[0.9,0.3] --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .beta2 = 0.3}},
    {"optimizer.betas", "--optimizer.betas=[0.5,0.3] --optimizer.name=adamw", weights,
     .optimizer = {.rule = RULE_ADAMW, .momentum = 0.5, .beta2 = 0.3, .decay = 0.01}},
    {"optimizer.eps", "--optimizer.eps=0.25 --optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .eps = 0.25}},
    {"optimizer.eps", "--optimizer.eps=0.25 --optimizer.name=adamw", weights,
     .optimizer = {.rule = RULE_ADAMW, .eps = 0.25, .decay = 0.01}},
    {"optimizer.alpha", "--optimizer.name=rmsprop --optimizer.alpha=0.5", changes},
    {"optimizer.centered", "--optimizer.name=rmsprop --optimizer.centered=true", changes},
    {"optimizer.trust_coefficient", "--optimizer.name=lars --optimizer.trust_coefficient=0.5",
     changes},
    {"optimizer.adamw", "--optimizer.name=muon --optimizer.adamw=true", changes},
    {"optimizer.groups", "'--optimizer.groups={\"*.bias\": {lr: 0}}'", weights,
     .optimizer = {.keeps_bias = true}},
    {"optimizer.no_decay", "--optimizer.weight_decay=0.5 --optimizer.no_decay=bias_and_norm",
     changes},
    {"optimizer.layer_decay", "--model.name=mlp --model.hidden=8 --optimizer.layer_decay=0.1", line,
     .says = "note: optimizer groups: layer_decay: learning rates from 0.1 to 1 times "
             "optimizer.lr\n"},

    {"schedule.name", "--schedule.name=constant", weights},
    {"schedule.name", ONECYCLE, weights, .optimizer = {.cycle = {.is_on = true}}},
    {"schedule.name", ONECYCLE "--optimizer.name=adam", weights,
     .optimizer = {.rule = RULE_ADAM, .cycle = {.is_on = true}}},
    /* The peak of five steps is the second, which PyTorch has with a pct_start of 0.4. */
    {"schedule.variant", CYCLE_ALONE "--schedule.variant=fastai", weights,
     .optimizer = {.cycle = {ALONE, .pct_start = 0.4, .final_div_factor = 4e3}}},
    {"schedule.pct_start", CYCLE_ALONE "--schedule.pct_start=0.6", weights,
     .optimizer = {.cycle = {ALONE, .pct_start = 0.6}}},
    {"schedule.anneal", CYCLE_ALONE "--schedule.anneal=linear --schedule.pct_start=0.5", weights,
     .optimizer = {.cycle = {ALONE, .is_linear = true, .pct_start = 0.5}}},
    {"schedule.div_factor", CYCLE_ALONE "--schedule.div_factor=2", weights,
     .optimizer = {.cycle = {ALONE, .div_factor = 2}}},
    {"schedule.final_div_factor", CYCLE_ALONE "--schedule.final_div_factor=0.05", weights,
     .optimizer = {.cycle = {ALONE, .final_div_factor = 0.05}}},
    {"schedule.three_phase", CYCLE_ALONE "--schedule.three_phase=true --schedule.pct_start=0.4",
     weights, .optimizer = {.cycle = {ALONE, .is_three_phase = true, .pct_start = 0.4}}},
    {"schedule.cycle_momentum", ONECYCLE "--optimizer.momentum=0.5 --schedule.cycle_momentum=false",
     weights, .optimizer = {.momentum = 0.5, .cycle = {ALONE}}},
    {"schedule.base_momentum", ONECYCLE "--schedule.base_momentum=0.2", weights,
     .optimizer = {.cycle = {.is_on = true, .base_momentum = 0.2}}},
    {"schedule.max_momentum", ONECYCLE "--schedule.max_momentum=0.5 --schedule.base_momentum=0.2",
     weights, .optimizer = {.cycle = {.is_on = true, .base_momentum = 0.2, .max_momentum = 0.5}}},

    {"schedule.warmup", "--schedule.warmup=100", half_way, .value = 0.05},
    {"schedule.warmup", "--schedule.warmup=0.99 --schedule.name=linear", half_way,
     .value = 0.050505},
    {"schedule.step_size", "--schedule.name=step --schedule.step_size=20", half_way, .value = 1e-3},
    {"schedule.gamma", "--schedule.name=step --schedule.gamma=0.5", half_way, .value = 0.05},
    {"schedule.milestones", "--schedule.name=multistep --schedule.milestones=[10,40]", half_way,
     .value = 1e-3},
    {"schedule.final", "--schedule.name=linear --schedule.final=0.5", half_way, .value = 0.07525},
    {"schedule.cycles", "--schedule.name=cosine --schedule.cycles=2", half_way, .value = 2.419e-5},
    {"schedule.cycle_mult", "--schedule.name=cosine --schedule.cycles=2 --schedule.cycle_mult=3",
     half_way, .value = 0.07589},
    {"schedule.power", "--schedule.name=polynomial --schedule.power=3", half_way,
     .value = 0.012875},
    {"schedule.timescale", "--schedule.name=inverse_sqrt --schedule.timescale=50", half_way,
     .value = 0.07071},
    {"schedule.decay", "--schedule.name=wsd --schedule.decay=0.8", half_way, .value = 0.03979},
    {"schedule.decay_type", "--schedule.name=wsd --schedule.decay=80 --schedule.decay_type=linear",
     half_way, .value = 0.06375},
    {"schedule.patience", "--schedule.threshold=0.9 --schedule.patience=0", last_lr, .value = 1e-3},
    {"schedule.threshold", "--schedule.threshold=0 --schedule.patience=0", last_lr, .value = 0.1},

    {"data.scale", "--data.scale=0.5", weights, .scale = 0.5},
    {"data.scale", "--data.x=bytes.npy", weights, .scale = 1.0 / 255},
    {"data.scale", "--data.x=bytes.npy --data.scale=0.01", weights, .scale = 0.01},
    {"data.mean", "--data.mean=0.5", weights, .mean = {0.5, 0.5}},
    {"data.mean", "--data.scale=2 --data.mean=[0.5,-1]", weights, .scale = 2, .mean = {0.5, -1}},
    {"data.std", "--data.std=4", weights, .std = {4, 4}},
    {"data.std", "--data.mean=1 --data.std=[0.5,4]", weights, .mean = {1, 1}, .std = {0.5, 4}},

    /* The same batch in parts: the gradient is the mean over all of it. */
    {"trainer.accumulate_grad_batches",
     "--trainer.batch_size=5 --trainer.accumulate_grad_batches=3", weights},
    {"trainer.gradient_clip_val", "--trainer.gradient_clip_val=0.02", weights,
     .optimizer = {.clip_norm = 0.02}},
    {"trainer.gradient_clip_val",
     "--trainer.gradient_clip_val=0.03 --trainer.batch_size=5 --trainer.accumulate_grad_batches=3 "
     "--optimizer.momentum=0.9 '--model.freeze=[fc.bias]'",
     weights, .optimizer = {.clip_norm = 0.03, .momentum = 0.9, .keeps_bias = true}},
    {"trainer.gradient_clip_algorithm",
     "--trainer.gradient_clip_val=0.01 --trainer.gradient_clip_algorithm=value", weights,
     .optimizer = {.clip_value = 0.01}},
    {"trainer.global_batch_size", "--trainer.global_batch_size=12", weights},
    {"trainer.lr_scaling",
     "--trainer.lr_scaling=linear --trainer.batch_size=4 --trainer.accumulate_grad_batches=3",
     weights, .optimizer = {.lr = 0.3}},
    {"trainer.base_batch_size",
     "--trainer.lr_scaling=sqrt --trainer.batch_size=12 --trainer.base_batch_size=3", weights,
     .optimizer = {.lr = 0.2}},
    {NULL},
};
