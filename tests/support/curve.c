/* curve.c - the helpers of curve.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "curve.h"

#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "train/step/stage.h"
#include "train/trainer.h"

/* Keeps the loss of each step, which is a separate window. */
static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    curve *c = self;
    (void)err;
    for (size_t i = 0; i < at->metric_count; i++)
        if (strcmp(at->metrics[i].name, "train_loss") == 0 && at->step >= 1 &&
            at->step <= CURVE_STEPS)
            c->loss[at->step - 1] = at->metrics[i].value;
    return FG_OK;
}

static const fg_callback_ops ops = {.log = on_log};

static fg_trainer *open(const curve_run *run)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fg_trainer *trainer = NULL;
    const fg_client_options devices = {.accelerator = "cpu",
                                       .cpu_devices = run->devices > 0 ? run->devices : 1,
                                       .mesh = run->mesh,
                                       .cache_dir = run->cache_dir != NULL ? run->cache_dir : ""};
    fgt_ok(fg_client_open(&devices, &client, &err));
    const fg_trainer_options options = {.devices.client = client,
                                        .devices.strategy = run->strategy,
                                        .devices.sharding_rules = run->rules,
                                        .devices.sharding_rule_count = run->rule_count,
                                        .limits.max_steps = run->steps,
                                        .numerics.accumulate_grad_batches = run->accumulate,
                                        .output.log_every = 1,
                                        .seed = run->seed,
                                        .lr.schedule = run->schedule,
                                        .checkpoints.run_dir = run->run_dir,
                                        .checkpoints.resume = run->resume};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    return trainer;
}

void curve_end(fg_trainer *trainer)
{
    fg_client *client = fg_trainer_client(trainer);
    fg_trainer_destroy(trainer);
    fg_client_close(client);
}

static void take_metrics(const fg_trainer *trainer, curve *out)
{
    const fg_result *result = fg_trainer_result(trainer);
    out->metric_count = result->metric_count;
    memcpy(out->metric, result->metrics, sizeof out->metric);
}

static fg_fit_data data_of(const curve_run *run)
{
    return (fg_fit_data){.train = run->train,
                         .val = run->val,
                         .predict = run->val,
                         .global_batch_size = run->batch,
                         .drop_last = run->drop_last};
}

static fg_trainer *fit(const curve_run *run, curve *out)
{
    fg_error err = {0};
    const fg_fit_data data = data_of(run);
    fg_trainer *trainer = open(run);
    if (out != NULL)
        fgt_ok(fg_trainer_add_callback(trainer, &ops, out, &err));
    fgt_ok(fg_trainer_fit(trainer, run->task, &data, &err));
    return trainer;
}

fg_trainer *curve_begin(const curve_run *run) { return fit(run, NULL); }

void curve_fit(const curve_run *run, curve *out)
{
    fgi_program_cost cost;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < CURVE_STEPS; i++)
        out->loss[i] = (double)NAN;
    fg_trainer *trainer = fit(run, out);
    cost = fgi_executable_cost(fgi_step_program_executable(trainer->stage[FGI_TRAIN]->program));
    out->argument_bytes = cost.argument_bytes;
    take_metrics(trainer, out);
    curve_end(trainer);
}

void curve_validate(const curve_run *run, curve *out)
{
    fg_error err = {0};
    const fg_fit_data data = data_of(run);
    memset(out, 0, sizeof *out);
    fg_trainer *trainer = open(run);
    fgt_ok(fg_trainer_validate(trainer, run->task, &data, &err));
    take_metrics(trainer, out);
    curve_end(trainer);
}

void curve_predict(const curve_run *run, fg_predict_fn *write, void *self)
{
    fg_error err = {0};
    const fg_fit_data data = data_of(run);
    fg_trainer *trainer = open(run);
    fgt_ok(fg_trainer_predict(trainer, run->task, &data, write, self, &err));
    curve_end(trainer);
}

void curves_agree(const char *what, const curve *a, const curve *b, int first, int steps,
                  double late)
{
    char place[128];
    for (int i = first; i < steps; i++) {
        (void)snprintf(place, sizeof place, "%s, loss of step %d", what, i + 1);
        assert_true(a->loss[i] > 0);
        fgt_close(place, b->loss[i], a->loss[i], 0, i < 10 ? 1e-5 : late);
    }
}

double curve_metric(const curve *c, const char *name)
{
    for (size_t i = 0; i < c->metric_count; i++)
        if (strcmp(c->metric[i].name, name) == 0)
            return c->metric[i].value;
    fail_msg("no metric %s", name);
    return 0;
}
