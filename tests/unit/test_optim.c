/* test_optim.c - schedules compared with PyTorch's at every step; optimizers without a device:
 * variables, errors, hyperparameters of a launch. Recorded by tests/golden/nn/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <fulgurite/option.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/alloc.h"
#include "optim/optimizer.h"
#include "option/option.h"
#include "record.h"

/* ---- schedules ------------------------------------------------------------------------------- */

static void follows(const fg_ckpt *record, const char *name, const fg_schedule *schedule)
{
    fg_error err = {0};
    fg_type type;
    char text[64];
    fgt_ok(fg_schedule_check(schedule, &err));
    const double *lr = fgt_record_get(record, &type, "%s/lr", name);
    const double *momentum = fgt_record_get(record, NULL, "%s/momentum", name);
    const int64_t total = type.dim[0];
    for (int64_t i = 0; i < total; i++) {
        (void)snprintf(text, sizeof text, "%s at %d", name, (int)i);
        fgt_close(text, fg_schedule_lr(schedule, 0.7, i, total), lr[i], 1e-15, 1e-12);
        fgt_close(text, fg_schedule_momentum(schedule, 0.9, i, total), momentum[i], 0, 1e-12);
    }
    const double last = fg_schedule_lr(schedule, 0.7, total - 1, total);
    assert_true(fg_schedule_lr(schedule, 0.7, total + 5, total) == last);
}

static void onecycle_is_pytorchs_at_every_step(void **state)
{
    fg_ckpt *record = fgt_record_open("nn/schedules.safetensors");
    static const struct {
        const char *name;
        fg_onecycle_options options;
    } rows[] = {
        {"plain2", {.anneal = NULL}},
        {"plain3", {.anneal = NULL}},
        {"plain5", {.anneal = "cos"}},
        {"plain11", {.anneal = NULL}},
        {"plain250", {.anneal = NULL}},
        {"linear", {.anneal = "linear"}},
        {"early", {.pct_start = 0.05, .div_factor = 10, .final_div_factor = 100}},
        {"late", {.pct_start = 0.9, .base_momentum = 0.5, .max_momentum = 0.99}},
        {"up", {.pct_start = 1}},
        {"three", {.three_phase = true}},
        {"three_linear", {.three_phase = true, .pct_start = 0.4, .anneal = "linear"}},
        {"calm", {.no_cycle_momentum = true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_schedule schedule = fg_onecycle(&rows[i].options);
        follows(record, rows[i].name, &schedule);
    }
    fg_ckpt_close(record);
}

static void last_step_has_the_last_value_exactly(void **state)
{
    static const char *const anneals[] = {"cos", "linear"};
    for (int a = 0; a < 2; a++)
        for (int64_t total = 1; total < 300; total++) {
            const fg_schedule s = fg_onecycle(&(fg_onecycle_options){.anneal = anneals[a]});
            assert_true(fg_schedule_lr(&s, 0.3, total - 1, total) == 0.3 / 25 / 1e4);
            assert_true(fg_schedule_momentum(&s, 0.3, total - 1, total) == 0.95);
        }
}

/* fastai's SchedCos(start, end)(pos). */
static double sched_cos(double start, double end, double pos)
{
    return start + (1 + cos(acos(-1) * (1 - pos))) * (end - start) / 2;
}

/* fastai's combined_cos(pct, start, middle, end)(pos). */
static double combined_cos(double pct, double start, double middle, double end, double pos)
{
    return pos < pct ? sched_cos(start, middle, pos / pct)
                     : sched_cos(middle, end, (pos - pct) / (1 - pct));
}

static void fastai_is_combined_cos(void **state)
{
    const fg_schedule s = fg_onecycle(&(fg_onecycle_options){.variant = "fastai"});
    for (int64_t total = 2; total < 120; total++)
        for (int64_t i = 0; i < total; i++) {
            const double pos = (double)i / (double)(total - 1);
            fgt_close("lr", fg_schedule_lr(&s, 0.7, i, total),
                      combined_cos(0.25, 0.7 / 25, 0.7, 0.7 / 1e5, pos), 1e-15, 1e-12);
            fgt_close("momentum", fg_schedule_momentum(&s, 0.9, i, total),
                      combined_cos(0.25, 0.95, 0.85, 0.95, pos), 0, 1e-12);
        }
}

/* The Steppers of OneCyclePolicy_TPU: annealing_linear over int(n * pct) steps, then annealing_cos;
 * n updates happen between the first and the last of n + 1 steps. */
static double stepper(int64_t n, double start, double middle, double end, int64_t step)
{
    const int64_t up = (int64_t)((double)n * 0.4), down = n - up;
    if (step <= up)
        return start + (double)step / (double)up * (middle - start);
    return end + (middle - end) / 2 * (cos(acos(-1) * (double)(step - up) / (double)down) + 1);
}

static void kaggle_is_the_utilitys(void **state)
{
    const fg_schedule s = fg_onecycle(&(fg_onecycle_options){.variant = "kaggle"});
    for (int64_t total = 4; total < 120; total++)
        for (int64_t i = 0; i < total; i++) {
            fgt_close("lr", fg_schedule_lr(&s, 0.7, i, total),
                      stepper(total - 1, 0.7 / 25, 0.7, 0.7 / 25 / 1e4, i), 1e-15, 1e-12);
            fgt_close("momentum", fg_schedule_momentum(&s, 0.9, i, total),
                      stepper(total - 1, 0.95, 0.85, 0.95, i), 0, 1e-12);
        }
}

/* The same, from programs with the structure of the originals: tests/golden/nn/record_cycles.py. */
static void variants_are_as_recorded(void **state)
{
    enum { TOTAL = 40 };
    char line[128];
    int lines = 0;
    FILE *file = fopen(FGT_SOURCE_DIR "/tests/golden/nn/cycles.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = line;
        const char *variant = strsep(&rest, " ");
        const int step = (int)strtol(rest, &rest, 10);
        const double lr = fgi_strtod(rest, &rest), momentum = fgi_strtod(rest, &rest);
        const fg_schedule s = fg_onecycle(&(fg_onecycle_options){.variant = variant});
        fgt_close(variant, fg_schedule_lr(&s, 0.7, step, TOTAL), lr, 1e-15, 1e-12);
        fgt_close(variant, fg_schedule_momentum(&s, 0.9, step, TOTAL), momentum, 0, 1e-12);
        lines++;
    }
    (void)fclose(file);
    assert_int_equal(lines, 2 * TOTAL);
}

static void variants_end_exactly(void **state)
{
    static const struct {
        const char *variant;
        double final_div_factor;
    } rows[] = {{"torch", 1e4}, {"fastai", 4e3}, {"kaggle", 1e4}};
    for (size_t v = 0; v < sizeof rows / sizeof rows[0]; v++) {
        const fg_schedule s = fg_onecycle(&(fg_onecycle_options){.variant = rows[v].variant});
        for (int64_t total = 1; total < 300; total++) {
            assert_true(fg_schedule_lr(&s, 0.3, total - 1, total) ==
                        0.3 / 25 / rows[v].final_div_factor);
            assert_true(fg_schedule_momentum(&s, 0.3, total - 1, total) == 0.95);
        }
    }
}

static const char *schedule_error(const fg_onecycle_options *options)
{
    static fg_error err;
    const fg_schedule schedule = fg_onecycle(options);
    assert_int_equal(fg_schedule_check(&schedule, &err), FG_EINVAL);
    return err.message;
}

#define WRONG(member, value, expected, got)                                                        \
    {                                                                                              \
        {.member = (value)}, #member ": expected " expected ", got '" got "'"                      \
    }
#define FINAL "a number from 1e-06 to 1e+15, or auto (for example 1000)"

static void schedules_are_checked(void **state)
{
    fg_error err;
    assert_int_equal(fg_schedule_check(NULL, &err), FG_OK);
    static const struct {
        fg_onecycle_options options;
        const char *says;
    } rows[] = {
        WRONG(anneal, "cosinus", "one of auto|cos|linear|linear_cos", "cosinus"),
        WRONG(variant, "keras", "one of torch|fastai|kaggle", "keras"),
        WRONG(pct_start, 1.5, "a number from 0 to 1, or auto (for example 0.1)", "1.5"),
        WRONG(pct_start, -0.5, "a number from 0 to 1, or auto (for example 0.1)", "-0.5"),
        WRONG(div_factor, -1, "a number from 1e-06 to 1e+12 (for example 10)", "-1"),
        WRONG(div_factor, FG_ZERO, "a number from 1e-06 to 1e+12 (for example 10)", "0"),
        WRONG(final_div_factor, -1, FINAL, "-1"),
        WRONG(final_div_factor, FG_ZERO, FINAL, "0"),
        WRONG(max_momentum, 1, "a number from 0 to less than 1 (for example 0.9)", "1"),
        WRONG(max_momentum, -0.5, "a number from 0 to less than 1 (for example 0.9)", "-0.5"),
        WRONG(base_momentum, 1, "a number from 0 to less than 1 (for example 0.8)", "1"),
        WRONG(base_momentum, -0.5, "a number from 0 to less than 1 (for example 0.8)", "-0.5"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[256];
        (void)snprintf(expected, sizeof expected, "onecycle.%s", rows[i].says);
        assert_string_equal(schedule_error(&rows[i].options), expected);
    }
}

/* Also names that begin with that of a variant or an annealing, or are the beginning of one. */
static void names_are_compared_as_a_whole(void **state)
{
    static const char *const variants[] = {"torchvision", "torc", "fastai2", "kaggl"};
    static const char *const anneals[] = {"cosines", "co", "linears", "linear_cosine", "linea"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        assert_non_null(strstr(schedule_error(&(fg_onecycle_options){.variant = variants[i]}),
                               "onecycle.variant: expected one of torch|fastai|kaggle, got '"));
    for (size_t i = 0; i < sizeof anneals / sizeof *anneals; i++)
        assert_non_null(
            strstr(schedule_error(&(fg_onecycle_options){.anneal = anneals[i]}),
                   "onecycle.anneal: expected one of auto|cos|linear|linear_cos, got '"));
}

/* A cosine between two values, at a fraction of the way. */
static double cosine_between(double from, double to, double at)
{
    return to + (from - to) / 2 * (cos(acos(-1) * at) + 1);
}

/* Of kaggle with cos, the rise is a cosine too; of linear_cos in three phases, both falls are. With
 * 11 steps, kaggle's peak is at step 4, torch's at 0.3 * 11 - 1 = 2.3; the second phase ends at
 * 4.6. */
static void shapes_are_combined_with_variants(void **state)
{
    const fg_schedule kaggle =
        fg_onecycle(&(fg_onecycle_options){.variant = "kaggle", .anneal = "cos"});
    const fg_schedule three =
        fg_onecycle(&(fg_onecycle_options){.anneal = "linear_cos", .three_phase = true});
    fgt_close("rise", fg_schedule_lr(&kaggle, 1, 1, 11), cosine_between(0.04, 1, 0.25), 1e-12, 0);
    fgt_close("rise", fg_schedule_lr(&three, 1, 1, 11), 0.04 + 0.96 / 2.3, 1e-12, 0);
    fgt_close("fall", fg_schedule_lr(&three, 1, 3, 11), cosine_between(1, 0.04, 0.7 / 2.3), 1e-12,
              0);
    fgt_close("end", fg_schedule_lr(&three, 1, 7, 11), cosine_between(0.04, 0.04 / 1e4, 2.4 / 5.4),
              1e-12, 0);
}

/* FG_ZERO is the number 0, where 0 is the default. */
static void schedules_take_a_zero_that_is_meant(void **state)
{
    const fg_schedule zero = fg_onecycle(&(fg_onecycle_options){
        .pct_start = FG_ZERO, .base_momentum = FG_ZERO, .max_momentum = FG_ZERO});
    fg_error err = {0};
    fgt_ok(fg_schedule_check(&zero, &err));
    for (int64_t i = 1; i < 10; i++) {
        assert_true(fg_schedule_lr(&zero, 1, i, 10) < fg_schedule_lr(&zero, 1, i - 1, 10));
        assert_true(fg_schedule_momentum(&zero, 0.9, i, 10) == 0);
    }
}

static fg_option_values *values_of(const fg_entry *entry, const char *text)
{
    fg_error err = {0};
    fg_option_values *values = NULL;
    fgt_ok(fg_option_values_create(NULL, entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, text, NULL, &err));
    return values;
}

/* What a configuration says, and the same in C. */
static void options_of_a_configuration_are_those_of_the_schedule(void **state)
{
    static const struct {
        const char *text;
        fg_onecycle_options options;
    } rows[] = {{"", {.variant = NULL}},
                {"{variant: fastai}", {.variant = "fastai"}},
                {"{variant: kaggle, pct_start: 0.1}", {.variant = "kaggle", .pct_start = 0.1}},
                {"{anneal: linear}", {.anneal = "linear"}},
                {"{div_factor: 10}", {.div_factor = 10}},
                {"{final_div_factor: 100}", {.final_div_factor = 100}},
                {"{base_momentum: 0.5}", {.base_momentum = 0.5}},
                {"{max_momentum: 0.99}", {.max_momentum = 0.99}},
                {"{max_momentum: 0, base_momentum: 0}",
                 {.max_momentum = FG_ZERO, .base_momentum = FG_ZERO}},
                {"{cycle_momentum: false}", {.no_cycle_momentum = true}},
                {"{three_phase: true}", {.three_phase = true}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        void *own = NULL;
        const fg_schedule by_options = fg_onecycle(&rows[i].options);
        fg_option_values *values = values_of(&fgi_onecycle_row.entry, rows[i].text);
        fgt_ok(fgi_row_create(&fgi_onecycle_row.entry, values, &own, &err));
        const fg_schedule by_text = {.row = &fgi_onecycle_row, .options = own, .is_complete = true};
        for (int64_t step = 0; step < 20; step++) {
            fgt_close(rows[i].text, fg_schedule_lr(&by_text, 0.7, step, 20),
                      fg_schedule_lr(&by_options, 0.7, step, 20), 0, 0);
            fgt_close(rows[i].text, fg_schedule_momentum(&by_text, 0.9, step, 20),
                      fg_schedule_momentum(&by_options, 0.9, step, 20), 0, 0);
        }
        fgi_free(own);
        fg_option_values_destroy(values);
    }
}

/* ---- optimizers ------------------------------------------------------------------------------ */

static fg_module *model_of(void)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 2});
    (void)fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 2});
    return root;
}

static void names_are(const fg_optimizer *o, const char *const *names, size_t count)
{
    assert_int_equal(fg_optimizer_variable_count(o), count);
    for (size_t i = 0; i < count; i++) {
        const fg_variable *v = fg_optimizer_variable_at(o, i);
        assert_string_equal(fg_variable_name(v), names[i]);
        assert_int_equal(fg_variable_kind_of(v), FG_STATE);
    }
    assert_null(fg_optimizer_variable_at(o, count));
}

static void state_is_named_after_the_parameters(void **state)
{
    fg_module *root = model_of();
    fg_optimizer *adam = fg_adam_create(root, NULL);
    assert_non_null(adam);
    assert_string_equal(fg_optimizer_name(adam), "adam");
    assert_int_equal(fg_optimizer_parameter_count(adam), 4); /* running statistics are not */
    assert_string_equal(fg_variable_name(fg_optimizer_parameter_at(adam, 2)), "bn.weight");
    assert_null(fg_optimizer_parameter_at(adam, 4));
    static const char *const names[] = {"optimizer.step",
                                        "optimizer.exp_avg.fc.weight",
                                        "optimizer.exp_avg.fc.bias",
                                        "optimizer.exp_avg.bn.weight",
                                        "optimizer.exp_avg.bn.bias",
                                        "optimizer.exp_avg_sq.fc.weight",
                                        "optimizer.exp_avg_sq.fc.bias",
                                        "optimizer.exp_avg_sq.bn.weight",
                                        "optimizer.exp_avg_sq.bn.bias"};
    names_are(adam, names, 9);
    assert_int_equal(fg_variable_type(fg_optimizer_variable_at(adam, 1))->dim[0], 3);
    fg_module_destroy(root);
}

static void sgd_gets_buffers_when_it_gets_momentum(void **state)
{
    static const char *const names[] = {"optimizer.step", "optimizer.momentum_buffer.fc.weight",
                                        "optimizer.momentum_buffer.fc.bias",
                                        "optimizer.momentum_buffer.bn.weight",
                                        "optimizer.momentum_buffer.bn.bias"};
    fg_error err = {0};
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    names_are(o, names, 1);
    const fg_schedule calm = fg_onecycle(&(fg_onecycle_options){.no_cycle_momentum = true});
    const fg_schedule cycle = fg_onecycle(NULL);
    fgt_ok(fg_optimizer_set_schedule(o, &calm, 10, &err));
    names_are(o, names, 1);
    fgt_ok(fg_optimizer_set_schedule(o, &cycle, 10, &err));
    names_are(o, names, 5);
    fg_module_destroy(root);
    root = model_of();
    o = fg_sgd_create(root, NULL);
    fgt_ok(fg_optimizer_set_momentum(o, 0.5, &err));
    names_are(o, names, 5);
    assert_true(fg_optimizer_momentum(o) == 0.5);
    assert_int_equal(fg_optimizer_set_momentum(o, 1.5, &err), FG_EINVAL);
    assert_true(fg_optimizer_momentum(o) == 0.5);
    fg_module_destroy(root);
}

static void schedule_sets_the_launchs_numbers(void **state)
{
    fg_error err = {0};
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5, .momentum = 0.9});
    const fg_schedule cycle = fg_onecycle(NULL);
    assert_true(fg_optimizer_lr(o) == 0.5);
    fgt_ok(fg_optimizer_set_schedule(o, &cycle, 50, &err));
    assert_true(fg_optimizer_lr(o) == 0.5 / 25);
    fg_optimizer_begin_step(o, 14);
    assert_true(fg_optimizer_lr(o) == 0.5);
    assert_true(fg_optimizer_momentum(o) == 0.85);
    fg_optimizer_set_lr(o, 0.25); /* the peak, immediately */
    assert_true(fg_optimizer_lr(o) == 0.25);
    fg_optimizer_begin_step(o, 49);
    assert_true(fg_optimizer_lr(o) == 0.25 / 25 / 1e4);
    fgt_ok(fg_optimizer_set_schedule(o, NULL, 0, &err));
    assert_true(fg_optimizer_lr(o) == 0.25);
    assert_true(fg_optimizer_momentum(o) == 0.9);
    assert_int_equal(fg_optimizer_set_schedule(o, &cycle, 0, &err), FG_EINVAL);
    assert_string_equal(
        err.message, "schedule 'onecycle' over 0 steps: expected a number of steps greater than 0");
    assert_int_equal(fg_optimizer_set_schedule(o, &cycle, -1, &err), FG_EINVAL);
    assert_string_equal(err.message, "schedule 'onecycle': the number of steps is not known");
    fg_optimizer_begin_step(NULL, 0);
    fg_module_destroy(root);
}

static void own_loops_count_their_steps(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5, .momentum = 0.9});
    const fg_schedule cycle = fg_onecycle(NULL);
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fgt_ok(fg_optimizer_set_schedule(o, &cycle, 20, &err));
    fg_variable *weight = fg_module_find(root, "fc.weight");
    for (int64_t step = 0; step < 20; step++) {
        if (step == 7)
            fg_optimizer_begin_step(o, 12); /* as after a resume */
        fg_optimizer_minimize(o, fg_sum(fg_square(fg_variable_value(trace, weight)), 0, NULL));
        assert_int_equal(fg_trace_error(trace, &err), FG_OK);
        fg_trace_reset(trace);
        const int64_t at = step < 7 ? step : step + 5;
        assert_true(fg_optimizer_lr(o) == fg_schedule_lr(&cycle, 0.5, at, 20));
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static const char *root_error(fg_module *root)
{
    static fg_error err;
    assert_int_not_equal(fg_module_error(root, &err), FG_OK);
    fg_module_destroy(root);
    return err.message;
}

/* Also with a decay rate of 0, whose logarithm is infinite, as the two parts of an f64. */
static void optimizers_take_a_zero_that_is_meant(void **state)
{
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = FG_ZERO, .momentum = FG_ZERO});
    assert_true(fg_optimizer_lr(o) == 0);
    assert_true(fg_optimizer_momentum(o) == 0);
    assert_int_equal(fg_optimizer_variable_count(o), 1); /* no momentum, no buffers */
    fg_module_destroy(root);
    root = model_of();
    o = fg_adamw_create(root, &(fg_adamw_options){.lr = FG_ZERO,
                                                  .betas = {FG_ZERO, FG_ZERO},
                                                  .eps = FG_ZERO,
                                                  .weight_decay = FG_ZERO});
    assert_true(fg_optimizer_lr(o) == 0 && fg_optimizer_momentum(o) == 0);
    assert_true(o->base.hyper.decay == 0 && o->base.hyper.weight_decay == 0);
    fg_module_destroy(root);
    root = model_of();
    o = fg_sgd_create(root, &(fg_sgd_options){.weight_decay = FG_ZERO});
    assert_true(fg_optimizer_weight_decay(o) == 0);
    assert_false(signbit(fg_optimizer_weight_decay(o)));
    fg_module_destroy(root);
    root = model_of();
    o = fg_adamw_create(root, &(fg_adamw_options){.betas = {FG_ZERO, FG_ZERO}});
    for (int i = 0; i < 2; i++) {
        assert_true(isinf(o->base.scalars.decay_rate[i].high.value.f32));
        assert_true(o->base.scalars.decay_rate[i].low.value.f32 == 0);
    }
    fg_error err = {0};
    assert_int_equal(
        fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.init = FG_ZERO}, &err), FG_EINVAL);
    assert_int_equal(
        fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.growth = FG_ZERO}, &err),
        FG_EINVAL);
    fg_module_destroy(root);
}

static void options_have_the_defaults_of_the_reference(void **state)
{
    fg_module *root = model_of();
    const fg_optimizer *sgd = fg_sgd_create(root, NULL), *adam = fg_adam_create(root, NULL);
    const fg_optimizer *adamw = fg_adamw_create(root, NULL);
    assert_true(fg_optimizer_lr(sgd) == 0.01 && fg_optimizer_lr(adam) == 1e-3);
    assert_true(fg_optimizer_lr(adamw) == 1e-3);
    assert_true(fg_optimizer_momentum(sgd) == 0 && fg_optimizer_momentum(adam) == 0.9);
    assert_true(fg_optimizer_momentum(adamw) == 0.9);
    assert_true(adam->base.hyper.decay == 0.999 && adamw->base.hyper.decay == 0.999);
    assert_true(fg_optimizer_weight_decay(sgd) == 0);
    assert_true(fg_optimizer_weight_decay(adam) == 0);
    assert_true(fg_optimizer_weight_decay(adamw) == 0.01);
    assert_string_equal(fg_optimizer_name(sgd), "sgd");
    assert_string_equal(fg_optimizer_name(adamw), "adamw");
    fg_module_destroy(root);
}

static const char *updated; /* the name of the last parameter */

static fg_tensor same_value(const fg_update *update, fg_tensor parameter, fg_tensor gradient)
{
    (void)gradient;
    updated = fg_update_name(update);
    return parameter;
}

typedef struct own_options {
    double rate, momentum;
    const char *text;
} own_options;

static const fg_option own_rows[] = {
    FG_OPTION_AS("inertia", own_options, momentum, FLOAT, "0", "0..<1", "0.5", "The momentum."),
    FG_OPTION(own_options, text, STRING, "nothing", NULL, "x", "A text."),
};

/* The options of a row are copied, with their defaults. */
static void rows_have_options(void **state)
{
    static const fg_optimizer_entry row = {
        .entry = {.name = "same", .help = "nothing", FG_OPTIONS(own_rows, own_options)},
        .momentum = "inertia",
        .update = same_value};
    char text[] = "some text";
    fg_module *root = model_of();
    const own_options given = {.momentum = 0.5, .text = text};
    const fg_optimizer *o = fg_optimizer_create(root, &row, &given);
    memset(text, 'x', sizeof text);
    assert_string_equal(((const own_options *)o->base.options)->text, "some text");
    assert_true(fg_optimizer_lr(o) == 1e-3 && fg_optimizer_momentum(o) == 0.5);
    assert_string_equal(fg_optimizer_name(o), "same");
    assert_int_equal(fg_optimizer_variable_count(o), 1);
    fg_optimizer *plain = fg_optimizer_create(root, &row, NULL);
    assert_string_equal(((const own_options *)plain->base.options)->text, "nothing");
    assert_true(fg_optimizer_momentum(plain) == 0);
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor weight = fg_variable_value(trace, fg_module_find(root, "fc.weight"));
    fg_optimizer_minimize(plain, fg_sum(fg_square(weight), 0, NULL));
    fgt_ok(fg_trace_error(trace, &err));
    assert_string_equal(updated, "fc.weight");
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* Only the first moment depends on the momentum. */
static void the_second_moment_is_not_optional(void **state)
{
    static const fg_optimizer_entry row = {
        .entry = {.name = "two", .help = "nothing", FG_OPTIONS(own_rows, own_options)},
        .momentum = "inertia",
        .moments = {"first", "second"},
        .has_optional_momentum = true,
        .update = same_value};
    static const char *const names[] = {"optimizer.step", "optimizer.first.v",
                                        "optimizer.second.v"};
    for (int has_momentum = 0; has_momentum < 2; has_momentum++) {
        fg_module *root = NULL;
        fg_error err = {0};
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        (void)fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
        const fg_optimizer *o =
            fg_optimizer_create(root, &row, &(own_options){.momentum = has_momentum ? 0.5 : 0});
        assert_int_equal(fg_optimizer_variable_count(o), has_momentum ? 3 : 2);
        assert_string_equal(fg_variable_name(fg_optimizer_variable_at(o, 1)),
                            names[has_momentum ? 1 : 2]);
        fg_module_destroy(root);
    }
}

/* AdamW's decay depends on the learning rate; the override is for one step only. */
static void a_step_may_have_another_learning_rate(void **state)
{
    fg_module *root = model_of();
    fg_optimizer *o = fg_adamw_create(root, &(fg_adamw_options){.lr = 0.5, .weight_decay = 0.25});
    fg_optimizer_begin_step(o, 3);
    fg_optimizer_set_step_lr(o, 0.125);
    assert_true(fg_optimizer_lr(o) == 0.125);
    assert_true(o->base.scalars.lr.high.value.f32 == 0.125F);
    assert_true(o->base.scalars.keep.high.value.f32 == 1 - 0.125F * 0.25F);
    fg_optimizer_begin_step(o, 4);
    assert_true(fg_optimizer_lr(o) == 0.5);
    assert_true(o->base.scalars.keep.high.value.f32 == 1 - 0.5F * 0.25F);
    fg_module_destroy(root);
}

static void limits_of_clipping_are_checked(void **state)
{
    static const struct {
        double limit;
        const char *text;
    } rows[] = {{0, "0"}, {-1, "-1"}, {(double)INFINITY, "inf"}};
    fg_error err = {0};
    char expected[96];
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (fg_clip clip = FG_CLIP_NORM; clip <= FG_CLIP_VALUE; clip++) {
            assert_int_equal(fg_optimizer_set_clip(o, clip, rows[i].limit, &err), FG_EINVAL);
            (void)snprintf(expected, sizeof expected,
                           "gradient clipping: the limit is %s: expected more than 0",
                           rows[i].text);
            assert_string_equal(err.message, expected);
        }
    assert_int_equal(fg_optimizer_set_clip(o, FG_CLIP_NORM, (double)NAN, &err), FG_EINVAL);
    assert_int_equal(fg_optimizer_set_clip(o, (fg_clip)3, 1, &err), FG_EINVAL);
    assert_string_equal(err.message, "gradient clipping: 3 is not an fg_clip");
    fgt_ok(fg_optimizer_set_clip(o, FG_CLIP_NONE, 0, &err));
    fg_module_destroy(root);
}

#define SCALE_EXPECTED ": expected init > 0, growth >= 1, 0 < backoff < 1, growth_interval >= 1"

static void options_of_loss_scaling_are_checked(void **state)
{
    static const struct {
        fg_loss_scale_options options;
        const char *text;
    } rows[] = {
        {{.init = -1}, "init -1, growth 2, backoff 0.5, growth_interval 2000"},
        {{.init = (double)INFINITY}, "init inf, growth 2, backoff 0.5, growth_interval 2000"},
        {{.growth = 0.5}, "init 65536, growth 0.5, backoff 0.5, growth_interval 2000"},
        {{.backoff = 1}, "init 65536, growth 2, backoff 1, growth_interval 2000"},
        {{.backoff = FG_ZERO}, "init 65536, growth 2, backoff 0, growth_interval 2000"},
        {{.growth_interval = -1}, "init 65536, growth 2, backoff 0.5, growth_interval -1"},
        {{.growth_interval = (int64_t)1 << 31},
         "init 65536, growth 2, backoff 0.5, growth_interval 2147483648"},
    };
    fg_error err = {0};
    char expected[192];
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_optimizer_set_loss_scale(o, &rows[i].options, &err), FG_EINVAL);
        (void)snprintf(expected, sizeof expected, "loss scale: %s" SCALE_EXPECTED, rows[i].text);
        assert_string_equal(err.message, expected);
    }
    fgt_ok(fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.growth = 1}, &err));
    assert_int_equal(fg_optimizer_set_loss_scale(o, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "loss scale: this optimizer already has one");
    fg_module_destroy(root);
}

static void loss_scaling_has_the_defaults_of_the_reference(void **state)
{
    fg_error err = {0};
    float scale = 0;
    int32_t streak = 1;
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, NULL);
    static const char *const names[] = {"optimizer.step", "optimizer.loss_scale",
                                        "optimizer.loss_scale_streak"};
    fgt_ok(fg_optimizer_set_loss_scale(o, NULL, &err));
    names_are(o, names, 3);
    fgt_ok(fg_variable_read(fg_optimizer_variable_at(o, 1), &scale, sizeof scale, &err));
    fgt_ok(fg_variable_read(fg_optimizer_variable_at(o, 2), &streak, sizeof streak, &err));
    assert_true(scale == 65536 && streak == 0);
    assert_true(o->guard.growth.value.f32 == 2 && o->guard.backoff.value.f32 == 0.5F);
    assert_int_equal(o->guard.interval.value.s32, 2000);
    fg_module_destroy(root);
}

static void is_refused(fg_optimizer *(*create)(fg_module *root, const void *options),
                       const void *options, const char *says)
{
    fg_module *root = model_of();
    assert_null(create(root, options));
    assert_string_equal(root_error(root), says);
}

static fg_optimizer *sgd(fg_module *root, const void *options)
{
    return fg_sgd_create(root, options);
}

static fg_optimizer *adam(fg_module *root, const void *options)
{
    return fg_adam_create(root, options);
}

static fg_optimizer *adamw(fg_module *root, const void *options)
{
    return fg_adamw_create(root, options);
}

static void bad_numbers_are_kept_in_the_root(void **state)
{
    is_refused(sgd, &(fg_sgd_options){.lr = -1},
               "sgd.lr: expected a number, 0 or greater, or auto (for example 1e-3), got '-1'");
    is_refused(sgd, &(fg_sgd_options){.momentum = 1},
               "sgd.momentum: expected a number from 0 to less than 1, or auto (for example 0.9), "
               "got '1'");
    is_refused(sgd, &(fg_sgd_options){.momentum = -0.5},
               "sgd.momentum: expected a number from 0 to less than 1, or auto (for example 0.9), "
               "got '-0.5'");
    is_refused(adam, &(fg_adam_options){.betas = {0.9, -0.5}},
               "adam.betas: expected a list of 2 numbers from 0 to less than 1, or auto (for "
               "example [0.9, "
               "0.95]), got '-0.5'");
    is_refused(adam, &(fg_adam_options){.betas = {0.9, 1}},
               "adam.betas: expected a list of 2 numbers from 0 to less than 1, or auto (for "
               "example [0.9, "
               "0.95]), got '1'");
    is_refused(
        adamw, &(fg_adamw_options){.eps = -1e-9},
        "adamw.eps: expected a number from 0 to 1, or auto (for example 1e-6), got '-1e-09'");
    is_refused(adamw, &(fg_adamw_options){.weight_decay = -1},
               "adamw.weight_decay: expected a number from 0 to 1000000, or auto (for example "
               "5e-4), got '-1'");
    is_refused(sgd, &(fg_sgd_options){.nesterov = true},
               "sgd: nesterov: requires momentum greater than 0 and dampening 0");
    is_refused(sgd, &(fg_sgd_options){.momentum = 0.9, .dampening = 0.5, .nesterov = true},
               "sgd: nesterov: requires momentum greater than 0 and dampening 0");
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    assert_null(fg_sgd_create(root, NULL));
    assert_string_equal(root_error(root), "sgd: the module has no parameters to train: create the "
                                          "optimizer after the layers");
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_module_variable(root, "n", &(fg_type){.dtype = FG_S32}, NULL);
    assert_null(fg_sgd_create(root, NULL));
    assert_string_equal(root_error(root),
                        "sgd: parameter 'n' is s32: only floating-point parameters can be trained");
    assert_null(fg_sgd_create(NULL, NULL));
}

static void wrong_gradients_are_kept_in_the_trace(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, NULL);
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_tensor g[4];
    for (size_t i = 0; i < 4; i++) {
        const fg_type *type = fg_variable_type(fg_optimizer_parameter_at(o, i));
        g[i] = fg_ones(trace, type->dtype, type->rank, type->dim);
    }
    fg_optimizer_apply(o, g, 4);
    assert_int_equal(fg_trace_error(trace, &err), FG_OK);
    fg_optimizer_apply(o, g, 3);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message, "optimizer: 3 gradients for 4 parameters");
    fg_trace_reset(trace);
    for (size_t i = 0; i < 4; i++)
        g[i] = fg_ones(trace, FG_F32, FG_DIMS(2, 4));
    fg_optimizer_apply(o, g, 4);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "optimizer: parameter 'fc.weight' is f32[3,2], its gradient f32[2,4]");
    fg_trace_reset(trace);
    for (size_t i = 0; i < 4; i++)
        g[i] = fg_ones(trace, FG_F32, FG_DIMS(2, 2));
    fg_optimizer_apply(o, g, 4);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "optimizer: parameter 'fc.weight' is f32[3,2], its gradient f32[2,2]");
    fg_trace_reset(trace);
    fg_optimizer_minimize(NULL, fg_ones(trace, FG_F32, FG_SCALAR));
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message, "the optimizer is NULL: it could not be created\n"
                                     "fg_module_error of its root says why");
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* f32 gradients are for half precision only. */
static void gradients_have_the_dtype_of_their_parameter(void **state)
{
    static const fg_dtype dtypes[] = {FG_F32, FG_BF16, FG_F16, FG_F64};
    fg_error err = {0};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        fg_trace *trace = NULL;
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        (void)fg_module_variable(root, "v", &(fg_type){.dtype = FG_BF16}, NULL);
        (void)fg_module_variable(root, "w", &(fg_type){.dtype = dtypes[i]}, NULL);
        fg_optimizer *o = fg_sgd_create(root, NULL);
        fgt_ok(fg_trace_create(NULL, &trace, &err));
        const fg_tensor g[2] = {fg_ones(trace, FG_F32, FG_SCALAR),
                                fg_ones(trace, FG_F32, FG_SCALAR)};
        fg_optimizer_apply(o, g, 2);
        assert_int_equal(fg_trace_error(trace, &err), dtypes[i] == FG_F64 ? FG_EDTYPE : FG_OK);
        if (dtypes[i] == FG_F64)
            assert_string_equal(err.message,
                                "optimizer: parameter 'w' is f64[], its gradient f32[]");
        fg_trace_destroy(trace);
        fg_module_destroy(root);
    }
}

/* Each call is a step of the schedule. */
static void given_gradients_count_as_steps(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_module *root = NULL;
    const fg_schedule cycle = fg_onecycle(NULL);
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5, .momentum = 0.9});
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fgt_ok(fg_optimizer_set_schedule(o, &cycle, 20, &err));
    for (int64_t step = 0; step < 5; step++) {
        const fg_tensor g = fg_ones(trace, FG_F32, FG_SCALAR);
        fg_optimizer_apply(o, &g, 1);
        fgt_ok(fg_trace_error(trace, &err));
        fg_trace_reset(trace);
        assert_true(fg_optimizer_lr(o) == fg_schedule_lr(&cycle, 0.5, step, 20));
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static void later_parameters_are_refused(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_module *root = model_of();
    fg_optimizer *o = fg_sgd_create(root, NULL);
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_variable *weight = fg_module_find(root, "fc.weight");
    const fg_variable_options buffer = {.kind = FG_BUFFER};
    (void)fg_module_variable(root, "seen", &(fg_type){.dtype = FG_F32}, &buffer);
    fg_optimizer_minimize(o, fg_sum(fg_variable_value(trace, weight), 0, NULL));
    fgt_ok(fg_trace_error(trace, &err)); /* only parameters matter */
    fg_trace_reset(trace);
    (void)fg_module_variable(root, "late", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer_minimize(o, fg_sum(fg_variable_value(trace, weight), 0, NULL));
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "sgd: parameter 'late' was created after the optimizer, which would not "
                        "train it\ncreate the optimizer after all layers");
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* ---- allocation failures --------------------------------------------------------------------- */

static fg_status create_and_trace(void *self, fg_error *err)
{
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    fg_status status = fg_module_create(NULL, 1, &root, err);
    if (status == FG_OK)
        status = fg_trace_create(NULL, &trace, err);
    if (status == FG_OK) {
        fg_linear *fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 2});
        fg_optimizer *o = self == NULL ? fg_sgd_create(root, NULL) : fg_adamw_create(root, NULL);
        status = fg_module_error(root, err);
        if (status == FG_OK) {
            const fg_schedule cycle = fg_onecycle(NULL);
            status = fg_optimizer_set_schedule(o, &cycle, 5, err);
        }
        if (status == FG_OK) {
            const fg_tensor x = fg_ones(trace, FG_F32, FG_DIMS(4, 3));
            fg_optimizer_minimize(o, fg_mean(fg_linear_apply(fc, x), 0, NULL));
            status = fg_trace_error(trace, err);
        }
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    return status;
}

static void optimizers_survive_failing_allocations(void **state)
{
    int adam = 1;
    fgt_fault_loop(create_and_trace, NULL);
    fgt_fault_loop(create_and_trace, &adam);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(onecycle_is_pytorchs_at_every_step),
    cmocka_unit_test(fastai_is_combined_cos),
    cmocka_unit_test(kaggle_is_the_utilitys),
    cmocka_unit_test(variants_are_as_recorded),
    cmocka_unit_test(variants_end_exactly),
    cmocka_unit_test(last_step_has_the_last_value_exactly),
    cmocka_unit_test(schedules_are_checked),
    cmocka_unit_test(schedules_take_a_zero_that_is_meant),
    cmocka_unit_test(names_are_compared_as_a_whole),
    cmocka_unit_test(shapes_are_combined_with_variants),
    cmocka_unit_test(options_of_a_configuration_are_those_of_the_schedule),
    cmocka_unit_test(state_is_named_after_the_parameters),
    cmocka_unit_test(sgd_gets_buffers_when_it_gets_momentum),
    cmocka_unit_test(schedule_sets_the_launchs_numbers),
    cmocka_unit_test(own_loops_count_their_steps),
    cmocka_unit_test(optimizers_take_a_zero_that_is_meant),
    cmocka_unit_test(options_have_the_defaults_of_the_reference),
    cmocka_unit_test(rows_have_options),
    cmocka_unit_test(the_second_moment_is_not_optional),
    cmocka_unit_test(a_step_may_have_another_learning_rate),
    cmocka_unit_test(limits_of_clipping_are_checked),
    cmocka_unit_test(options_of_loss_scaling_are_checked),
    cmocka_unit_test(loss_scaling_has_the_defaults_of_the_reference),
    cmocka_unit_test(bad_numbers_are_kept_in_the_root),
    cmocka_unit_test(gradients_have_the_dtype_of_their_parameter),
    cmocka_unit_test(given_gradients_count_as_steps),
    cmocka_unit_test(later_parameters_are_refused),
    cmocka_unit_test(wrong_gradients_are_kept_in_the_trace),
    cmocka_unit_test(optimizers_survive_failing_allocations),
};
FGT_MAIN(tests)
