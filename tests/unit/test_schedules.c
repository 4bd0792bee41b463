/* test_schedules.c - the schedules by name: recorded learning rates of PyTorch and transformers
 * (tests/golden/optim/record.py), warm-up, errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "optim/optimizer.h"
#include "record.h"

static fg_module *model_of(void)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 2});
    (void)fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 2});
    return root;
}

static const struct {
    const char *record, *name, *text;
    int64_t warmup;
} rows[] = {
    {"step", "step", NULL, 0},
    {"step_options", "StepLR", "{step_size: 7, gamma: 0.5}", 0},
    {"multistep", "multistep", NULL, 0},
    {"multistep_options", "multistep", "{milestones: [4, 11, 36], gamma: 0.3}", 0},
    {"exponential", "exponential", NULL, 0},
    {"exponential_options", "exponential", "{gamma: 0.9}", 0},
    {"cosine", "cosine", NULL, 0},
    {"cosine_final", "cosine", "{final: 0.1}", 0},
    {"cosine_warmup", "cosine", NULL, 8},
    {"cosine_cycles", "cosine", "{cycles: 4, final: 0.1}", 0},
    {"cosine_mult", "cosine", "{cycles: 3, cycle_mult: 2}", 5},
    {"linear", "linear", NULL, 0},
    {"linear_options", "linear", "{final: 0.1}", 4},
    {"polynomial", "polynomial", NULL, 0},
    {"polynomial_options", "polynomial", "{power: 2}", 0},
    {"inverse_sqrt", "inverse_sqrt", "{timescale: 50}", 0},
    {"inverse_sqrt_warmup", "inverse_sqrt", "{timescale: 6}", 6},
    {"wsd", "wsd", "{decay: 8}", 4},
    {"wsd_linear", "wsd", "{decay: 8, decay_type: linear, final: 0.1}", 0},
    {"wsd_cosine", "wsd", "{decay: 8, decay_type: cosine, final: 0.1}", 0},
};

/* The recorded learning rates of PyTorch and transformers (tests/golden/optim/record.py). */
static void schedules_follow_their_references(void **state)
{
    fg_ckpt *record = fgt_record_open("optim/schedules.safetensors");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_type type;
        char text[64];
        const fg_schedule schedule = {
            .name = rows[i].name, .text = rows[i].text, .warmup.count = rows[i].warmup};
        const double *lr = fgt_record_get(record, &type, "%s", rows[i].record);
        fgt_ok(fg_schedule_check(&schedule, &err));
        for (int64_t step = 0; step < type.dim[0]; step++) {
            (void)snprintf(text, sizeof text, "%s at %d", rows[i].record, (int)step);
            fgt_close(text, fg_schedule_lr(&schedule, 0.7, step, type.dim[0]), lr[step], 1e-15,
                      1e-12);
            assert_true(fg_schedule_momentum(&schedule, 0.9, step, type.dim[0]) == 0.9);
        }
    }
    fg_ckpt_close(record);
}

static void schedules_without_options_span_the_run(void **state)
{
    for (size_t i = 0; i < fgi_schedule_row_count; i++)
        for (int64_t total = 1; total < 400; total = total * 3 + 1) {
            fg_error err = {0};
            const fg_schedule schedule = {.name = fgi_schedule_rows[i]->name};
            const bool is_endless = !fgi_schedule_has_end(&schedule);
            fg_optimizer *o = NULL;
            fg_module *root = model_of();
            o = fg_optimizer_named(root, "sgd", NULL);
            fgt_ok(fg_optimizer_set_schedule(o, &schedule, total, &err));
            for (int64_t step = 0; step < total + 2; step++) {
                const double lr = fg_schedule_lr(&schedule, 1, step, total);
                assert_true(lr > 0 && lr <= 1);
                fg_optimizer_begin_step(o, step);
                fgt_close(schedule.name, fg_optimizer_lr(o), 0.01 * lr, 1e-18, 1e-12);
            }
            const double last = fg_schedule_lr(&schedule, 1, total - 1, total);
            assert_true(is_endless || fg_schedule_lr(&schedule, 1, total + 9, total) == last);
            fg_module_destroy(root);
        }
}

static void warm_ups_come_before_the_schedule(void **state)
{
    fg_error err = {0};
    const fg_schedule tenth = {.warmup.fraction = 0.1},
                      all = {.name = "linear", .warmup.count = 99};
    const fg_schedule cycle = {.name = "onecycle", .warmup.count = 10};
    const fg_schedule onecycle = {.name = "onecycle"};
    fgt_close("warm-up", fg_schedule_lr(&tenth, 2, 5, 100), 1, 0, 1e-15);
    assert_true(fg_schedule_lr(&tenth, 2, 10, 100) == 2 && fg_schedule_lr(&tenth, 2, 0, 100) == 0);
    assert_true(fg_schedule_lr(&all, 2, 9, 10) == 1.8); /* no longer than the run */
    assert_true(fg_schedule_lr(&cycle, 2, 14, 50) == fg_schedule_lr(&onecycle, 2, 4, 40));
    assert_true(fg_schedule_momentum(&cycle, 0, 3, 50) ==
                fg_schedule_momentum(&onecycle, 0, 0, 40));
    assert_int_equal(fgi_schedule_check_steps(&tenth, -1, &err), FG_EINVAL);
    fgt_message_is(err.message, "schedule 'constant': the number of steps is not known");
}

static void unknown_schedules_are_refused(void **state)
{
    static const char *const cases[][3] = {
        {"cosin", NULL, "unknown schedule 'cosin': did you mean 'cosine'?"},
        {"cosine", "{cycles: 0}",
         "cosine.cycles: expected an integer from 1 to 1000 (for example 3), got '0'"},
        {"wsd", "{shape: x}", "wsd: unknown option 'shape'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_error err = {0};
        const fg_schedule schedule = {.name = cases[i][0], .text = cases[i][1]};
        assert_int_not_equal(fg_schedule_check(&schedule, &err), FG_OK);
        if (strstr(err.message, cases[i][2]) == NULL)
            fail_msg("%s", err.message);
        assert_true(isnan(fg_schedule_lr(&schedule, 1, 0, 10)));
    }
}

static void plateau_is_pytorchs(void **state)
{
    static const char *const modes[] = {"min", "max"};
    fg_ckpt *record = fgt_record_open("optim/schedules.safetensors");
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_type type;
        const fg_schedule schedule = {.name = "plateau",
                                      .text = "{gamma: 0.3, patience: 2, threshold: 1e-3, final: "
                                              "0.042857142857142857}"};
        const double *value = fgt_record_get(record, &type, "plateau/values");
        const double *lr = fgt_record_get(record, NULL, "plateau/%s", modes[i]);
        fg_module *root = model_of();
        fg_optimizer *o = fg_optimizer_named(root, "sgd", "{lr: 0.7}");
        fgt_ok(fg_optimizer_set_schedule(o, &schedule, -1, &err));
        for (int64_t k = 0; k < type.dim[0]; k++) {
            fgt_ok(fgi_optimizer_observe(o, i == 0 ? value[k] : 2 - value[k], i == 1, &err));
            fg_optimizer_begin_step(o, k);
            fgt_close(modes[i], fg_optimizer_lr(o), lr[k], 0, 1e-12);
        }
        assert_string_equal(fg_variable_name(fg_optimizer_variable_at(o, 1)), "optimizer.schedule");
        fg_module_destroy(root);
    }
    fg_ckpt_close(record);
}

static void constant_is_constant(void **state)
{
    assert_true(fg_schedule_lr(NULL, 0.3, 7, 0) == 0.3);
    assert_true(fg_schedule_lr(&(fg_schedule){0}, 0.3, 7, 10) == 0.3);
    assert_true(fg_schedule_momentum(NULL, 0.8, 7, 0) == 0.8);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(constant_is_constant),
    cmocka_unit_test(schedules_follow_their_references),
    cmocka_unit_test(schedules_without_options_span_the_run),
    cmocka_unit_test(warm_ups_come_before_the_schedule),
    cmocka_unit_test(unknown_schedules_are_refused),
    cmocka_unit_test(plateau_is_pytorchs),
};
FGT_MAIN(tests)
