/* test_trainer_table.c - the table of the Trainer's options: what it refuses, and the defaults. On
 * the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "toy_place.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static void is_refused(const fg_trainer_options *options, const char *says)
{
    fg_error err = {0};
    fg_trainer *trainer = (fg_trainer *)&err;
    assert_int_equal(toy_create(options, &trainer, &err), FG_EINVAL);
    assert_null(trainer);
    assert_string_equal(err.message, says);
}

static const struct {
    fg_trainer_options options;
    const char *says;
} wrong[] = {
    {{.limits.max_epochs = -2},
     "trainer.max_epochs: expected an integer, -1 or greater, or auto (for example 30), got "
     "'-2'"},
    {{.limits.max_steps = -2},
     "trainer.max_steps: expected an integer, -1 or greater (for example 10000), got '-2'"},
    {{.limits.limit_train_batches.count = -2},
     "trainer.limit_train_batches: expected a fraction (0.0 to 1.0) or a count (for example "
     "0.1), got '-2'"},
    {{.limits.limit_val_batches.count = -2},
     "trainer.limit_val_batches: expected a fraction (0.0 to 1.0) or a count (for example 20), "
     "got '-2'"},
    {{.validation.val_every_epochs = -2},
     "trainer.val_every_epochs: expected an integer, 0 or greater (for example 5), got '-2'"},
    {{.validation.val_every_steps = -1},
     "trainer.val_every_steps: expected an integer, 0 or greater (for example 500), got '-1'"},
    {{.output.log_every = -5},
     "trainer.log_every: expected an integer, 1 or greater (for example 10), got '-5'"},
    {{.checkpoints.ckpt_every_epochs = -2},
     "trainer.ckpt_every_epochs: expected an integer, 0 or greater, or auto (for example 10), got "
     "'-2'"},
    {{.checkpoints.ckpt_every_steps = -1},
     "trainer.ckpt_every_steps: expected an integer, 0 or greater (for example 1000), got "
     "'-1'"},
    {{.checkpoints.save_top_k = -1},
     "trainer.save_top_k: expected an integer from 1 to 16 (for example 3), got '-1'"},
    {{.checkpoints.save_top_k = 17},
     "trainer.save_top_k: expected an integer from 1 to 16 (for example 3), got '17'"},
    {{.checkpoints.ckpt_every_time = -1},
     "trainer.ckpt_every_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got "
     "'-1s'"},
    {{.checkpoints.ckpt_every_time = -0.5},
     "trainer.ckpt_every_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got "
     "'-0.500000000s'"},
    {{.checkpoints.ckpt_every_time = 1.1e9},
     "trainer.ckpt_every_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got "
     "'1100000000s'"},
    {{.limits.max_time = -1},
     "trainer.max_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got "
     "'-1s'"},
    {{.limits.max_time = 1.1e9},
     "trainer.max_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got "
     "'1100000000s'"},
    {{.hang.watchdog_s = -1},
     "trainer.watchdog_s: expected a number from 0 to 1000000000 (for example 600), got '-1'"},
    {{.hang.watchdog_s = 1.1e9},
     "trainer.watchdog_s: expected a number from 0 to 1000000000 (for example 600), got "
     "'1100000000'"},
    {{.numerics.gradient_clip_val = HUGE_VAL},
     "trainer.gradient_clip_val: expected a number, 0 or greater (for example 1), got 'inf': "
     "the largest value is 1e+30"},
    {{.output.profile = {FG_AUTO}}, "trainer.profile is given, which needs a run_dir"},
    {{.output.profile = {10, 20}}, "trainer.profile is given, which needs a run_dir"},
    {{.output.profile = {20, 10}},
     "trainer.profile: steps 20 to 10: expected the first one before the last"},
    {{.output.progress_style = "bars"},
     "trainer: progress_style is 'bars': expected auto, bar or plain"},
    {{.validation.sanity_val_steps = -2},
     "trainer.sanity_val_steps: expected an integer, -1 or greater (for example 0), got '-2'"},
    {{.lr.base_batch_size = -1},
     "trainer.base_batch_size: expected an integer, 1 or greater, or auto (for example 256), "
     "got '-1'"},
    {{.checkpoints.ckpt_name = "a/{step}"},
     "trainer: checkpoint name 'a/{step}': at '/{step}': expected letters, digits, '.', '_', "
     "'=', '-' or a field\nsuch as {epoch:02d}-{step}-{val_loss:.3f}"},
    {{.checkpoints.keep_checkpoints = -2},
     "trainer.keep_checkpoints: expected an integer from 0 to 1048576 (for example 5), got "
     "'-2'"},
    {{.checkpoints.resume = "last"}, "trainer.resume is 'last', which needs a run_dir"},
    {{.checkpoints.resume = "best"}, "trainer.resume is 'best', which needs a run_dir"},
    {{.checkpoints.resume = "auto"}, "trainer.resume is 'auto', which needs a run_dir"},
};

static void wrong_options_are_refused(void **state)
{
    (void)state;
    const fg_schedule bad = fg_onecycle(&(fg_onecycle_options){.anneal = "cosinus"});
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        is_refused(&wrong[i].options, wrong[i].says);
    is_refused(&(fg_trainer_options){.lr.schedule = &bad},
               "trainer: onecycle.anneal: expected one of auto|cos|linear|linear_cos, got "
               "'cosinus'");
    fg_trainer_destroy(NULL);
}

#define GIVEN                                                                                      \
    "trainer: devices and mesh apply only to a client that the Trainer opens: the given client "   \
    "already has its devices"

static void other_wrong_options_are_refused(void **state)
{
    (void)state;
    const struct {
        fg_trainer_options options;
        const char *says;
    } rows[] = {
        {{.numerics.gradient_clip_val = -0.5},
         "trainer.gradient_clip_val: expected a number, 0 or greater (for example 1), got '-0.5'"},
        {{.numerics.accumulate_grad_batches = -1},
         "trainer.accumulate_grad_batches: expected an integer from 1 to 1048576 (for example 4), "
         "got '-1'"},
        {{.limits.overfit_batches.count = -1},
         "trainer.overfit_batches: expected a fraction (0.0 to 1.0) or a count (for example 10), "
         "got '-1'"},
        {{.devices = {.client = client, .devices = "1"}}, GIVEN},
        {{.devices = {.client = client, .mesh.axes = {{"data", 1}}}}, GIVEN},
        {{.devices = {.client = client, .mesh.batch_axes = 1}}, GIVEN},
        {{.devices = {.client = client, .mesh.fsdp_axes = 1}}, GIVEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is_refused(&rows[i].options, rows[i].says);
}

/* The least and greatest values, and what is not given. */
static void limits_of_options_and_defaults(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options most = {.limits = {.max_epochs = -1, .max_time = 1e9},
                                     .validation.sanity_val_steps = -1,
                                     .checkpoints = {.save_top_k = 16, .ckpt_every_time = 1e9},
                                     .output.progress_style = "plain",
                                     .hang.watchdog_s = 1e9};
    fgt_ok(toy_create(&most, &trainer, &err));
    fg_trainer_destroy(trainer);
    fgt_ok(fg_trainer_create(NULL, &trainer, &err));
    const fg_trainer_options *o = &trainer->options;
    assert_int_equal(o->limits.max_epochs, 10);
    assert_int_equal(o->limits.max_steps, -1);
    assert_int_equal(o->validation.sanity_val_steps, 2);
    assert_true(o->hang.watchdog_s == 1800);
    assert_int_equal(o->validation.val_every_epochs, 1);
    assert_int_equal(o->output.log_every, 50);
    assert_int_equal(o->numerics.accumulate_grad_batches, 1);
    assert_true(o->checkpoints.ckpt_every_epochs == FG_AUTO);
    assert_int_equal(o->checkpoints.keep_checkpoints, 2);
    assert_int_equal(o->checkpoints.save_top_k, 1);
    assert_null(o->checkpoints.monitor); /* chosen when the data are known */
    assert_string_equal(o->divergence.on_divergence, "stop");
    fg_trainer_destroy(trainer);
    fgt_ok(toy_create(&(fg_trainer_options){.limits.max_steps = 5}, &trainer, &err));
    assert_int_equal(trainer->options.limits.max_epochs, -1); /* as many as the steps need */
    fg_trainer_destroy(trainer);
}

static void accelerators_are_known(void **state)
{
    (void)state;
    is_refused(&(fg_trainer_options){.devices.accelerator = "abacus"},
               "trainer.accelerator: expected one of auto|tpu|cuda|cpu, got 'abacus'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_options_are_refused),
    cmocka_unit_test(other_wrong_options_are_refused),
    cmocka_unit_test(limits_of_options_and_defaults),
    cmocka_unit_test(accelerators_are_known),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
