/* test_train_copies.c - what a Trainer is given is copied: options, their texts and lists, the
 * schedule, the task's name. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <stddef.h>
#include <stdio.h>

#include "base/file.h"
#include "toy_place.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* Options, their strings, the schedule and the task's name. */
static void options_are_copied(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[512], anneal[] = "linear", task_name[] = "toy", accelerator[] = "cpu";
    char monitor[] = "val_acc", name[] = "{epoch}-{val_acc:.0f}-{step}", precision[] = "32-true",
         loggers[] = "jsonl", attached[] = "notes.txt", text[] = "some words";
    const fg_attachment attachment = {attached, text};
    fg_ckpt *ckpt = NULL;
    (void)snprintf(folder, sizeof folder, "%s/run", fgt_temp_folder());
    fg_schedule schedule = fg_onecycle(&(fg_onecycle_options){.anneal = anneal, .pct_start = 0.5});
    fg_task mine = {.name = task_name, .self = &model, .ops = &toy_ops};
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2,
                                                  .checkpoints = {.run_dir = folder,
                                                                  .monitor = monitor,
                                                                  .ckpt_name = name,
                                                                  .attachments = &attachment,
                                                                  .attachment_count = 1},
                                                  .numerics.precision = precision,
                                                  .output.loggers = fgt_list(loggers),
                                                  .lr.schedule = &schedule,
                                                  .devices.accelerator = accelerator});
    char kept[512];
    (void)snprintf(kept, sizeof kept, "%s", folder);
    memset(folder, 'x', sizeof folder - 1);
    memset(anneal, 'x', sizeof anneal - 1);
    memset(accelerator, 'x', sizeof accelerator - 1);
    memset(monitor, 'x', sizeof monitor - 1);
    memset(name, '/', sizeof name - 1);
    memset(precision, 'x', sizeof precision - 1);
    memset(loggers, 'x', sizeof loggers - 1);
    memset(attached, 'x', sizeof attached - 1);
    memset(text, 'x', sizeof text - 1);
    memset(&schedule, 'x', sizeof schedule);
    fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &mine, &data, &err));
    memset(task_name, 'x', sizeof task_name - 1);
    assert_true(fgi_file_exists(fgt_path(kept, "metrics.jsonl")));
    fgt_ok(fg_ckpt_open(fgt_path(kept, "checkpoints/2-nan-6"), NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_attachment(ckpt, "notes.txt"), "some words");
    fg_ckpt_close(ckpt);
    mine.ops = NULL;
    assert_int_equal(fg_trainer_fit(trainer, &mine, &data, &err), FG_EINVAL);
    mine = (fg_task){.name = "other", .ops = &toy_ops};
    assert_int_equal(fg_trainer_fit(trainer, &mine, &data, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the Trainer has task 'toy' already: create another one for 'other'");
    const fg_task_ops others = toy_ops;
    mine = (fg_task){.name = "third", .self = &model, .ops = &others};
    assert_int_equal(fg_trainer_fit(trainer, &mine, &data, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the Trainer has task 'toy' already: create another one for 'third'");
    fg_trainer_destroy(trainer);
}

#define TEXT(member, value)                                                                        \
    {                                                                                              \
        offsetof(fg_trainer_options, member), value                                                \
    }

/* Each text of the options, with a value that is valid together with the others. */
static const struct {
    size_t offset;
    const char *value;
} texts[] = {
    TEXT(devices.accelerator, "cpu"),
    TEXT(devices.devices, "1"),
    TEXT(devices.strategy, "ddp"),
    TEXT(devices.cache_dir, "cache"),
    TEXT(lr.lr_scaling, "sqrt"),
    TEXT(checkpoints.run_dir, "run"),
    TEXT(checkpoints.monitor, "val_acc"),
    TEXT(checkpoints.weights, "some.safetensors"),
    TEXT(checkpoints.weights_options.prefix, "model."),
    TEXT(checkpoints.resume, "best"),
    TEXT(checkpoints.ckpt_name, "{step}"),
    TEXT(numerics.precision, "bf16-mixed"),
    TEXT(numerics.gradient_clip_algorithm, "value"),
    TEXT(output.progress_style, "bar"),
    TEXT(divergence.on_divergence, "rollback"),
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

/* Also lists of texts. */
static void each_text_is_copied(void **state)
{
    (void)state;
    char mine[TEXTS][32], pattern[] = "fc2.*", match[] = "fc1.*", spec[] = "model";
    fg_trainer_options given = {.checkpoints.monitor_mode = FG_MODE_MAX};
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    const char *skip[] = {"fc1.bias", pattern};
    fg_sharding_rule rules[] = {{"a", "b", {0}}, {match, spec, {0}}};
    for (size_t i = 0; i < TEXTS; i++) {
        (void)snprintf(mine[i], sizeof mine[i], "%s", texts[i].value);
        *(const char **)((char *)&given + texts[i].offset) = mine[i];
    }
    given.checkpoints.weights_options.skip = skip;
    given.checkpoints.weights_options.skip_count = 2;
    given.devices.sharding_rules = rules;
    given.devices.sharding_rule_count = 2;
    fgt_ok(toy_create(&given, &trainer, &err));
    memset(mine, 'x', sizeof mine);
    memset(pattern, 'x', sizeof pattern);
    memset(match, 'x', sizeof match);
    memset(spec, 'x', sizeof spec);
    memset(skip, 0, sizeof skip);
    memset(rules, 0, sizeof rules);
    const fg_trainer_options *kept = &trainer->options;
    for (size_t i = 0; i < TEXTS; i++)
        assert_string_equal(*(const char *const *)((const char *)kept + texts[i].offset),
                            texts[i].value);
    assert_string_equal(kept->checkpoints.weights_options.skip[0], "fc1.bias");
    assert_string_equal(kept->checkpoints.weights_options.skip[1], "fc2.*");
    assert_string_equal(kept->devices.sharding_rules[1].match, "fc1.*");
    assert_string_equal(kept->devices.sharding_rules[1].spec, "model");
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(options_are_copied),
    cmocka_unit_test(each_text_is_copied),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
