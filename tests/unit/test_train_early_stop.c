/* test_train_early_stop.c - the callback early_stop, given validations by hand: when it ends a fit,
 * what it says, and its state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "callback/callback_rows.h"
#include "train/trainer.h"

#define NONE ((double)NAN)

static const fg_callback_ops *ops;
static const fg_trainer endless = {.fit.validations = -1};

static fg_status create(const char *options, void **out, fg_error *err)
{
    return FGT_ROW_BEGIN(&fgi_early_stop_row, options, out, err);
}

static void *make(const char *options)
{
    void *self = NULL;
    fg_error err = {0};
    fgt_ok(create(options, &self, &err));
    return self;
}

/* A validation after `step` steps: an unrelated metric, and two whose values are equal. */
static fg_status validate(void *self, int64_t step, double value, fg_error *err)
{
    const fg_metric metrics[] = {
        {"val_other", -100. * (double)step}, {"val_loss", value}, {"val_acc", value}};
    *err = (fg_error){.status = FG_OK};
    return ops->val_end(self,
                        &(fg_progress){.step = step,
                                       .epoch = 10 * step,
                                       .metrics = metrics,
                                       .metric_count = 3,
                                       .trainer = &endless},
                        err);
}

static const struct {
    const char *options;
    double values[6];
    int64_t stops_at; /* 0: not in six validations */
    const char *message;
} decisions[] = {
    {"", {5, 4, 4, 4, 4, 4}, 5, "val_loss has not improved in 3 validations (best: 4 at step 2)"},
    {"", {5, 6, 7, 4, 6, 6}, 0, NULL},
    {"{patience: 1}",
     {5, 4, 4.5, 3, 2, 1},
     3,
     "val_loss has not improved in 1 validation (best: 4 at step 2)"},
    {"{patience: 2, mode: max}",
     {1, 2, 3, 2, 3, 4},
     5,
     "val_loss has not improved in 2 validations (best: 3 at step 3)"},
    {"{patience: 2, monitor: val_acc}",
     {1, 2, 3, 2, 2, 4},
     5,
     "val_acc has not improved in 2 validations (best: 3 at step 3)"},
    {"{patience: 1, monitor: val_acc, min_delta: 0.5}",
     {1, 1.4},
     2,
     "val_acc has not improved in 1 validation (best: 1 at step 1)"},
    {"{patience: 2, monitor: val_acc, mode: min}",
     {1, 2, 3, 2, 2, 4},
     3,
     "val_acc has not improved in 2 validations (best: 1 at step 1)"},
    {"{patience: 2, min_delta: 0.5}",
     {5, 4.5, 4.6, 4, 4, 4},
     3,
     "val_loss has not improved in 2 validations (best: 5 at step 1)"},
    {"{patience: 2, min_delta: 0.5}", {5, 4, 3, 2, 1, 0}, 0, NULL},
    {"{patience: 2, check_finite: false}",
     {NONE, 4, NONE, 3, NONE, NONE},
     6,
     "val_loss has not improved in 2 validations (best: 3 at step 4)"},
    {"{patience: 2, check_finite: false}",
     {1, NONE, NONE, 0, 0, 0},
     3,
     "val_loss has not improved in 2 validations (best: 1 at step 1)"},
    {"{patience: 2, check_finite: false}",
     {NONE, NONE, 1, 1, 1, 1},
     2,
     "val_loss was NaN in 2 validations"},
    {"{patience: 1, check_finite: false}", {NONE}, 1, "val_loss was NaN in 1 validation"},
    {"{check_finite: false}", {NONE, NONE, 5, 4, 3, 2}, 0, NULL},
    {"", {5, 4, NONE, 3, 2, 1}, 3, "val_loss is nan, which is not finite"},
    {"{mode: max}", {5, 6, HUGE_VAL, 7, 8, 9}, 3, "val_loss is inf, which is not finite"},
    {"{check_finite: false}", {5, 4, HUGE_VAL, 3, 2, 1}, 0, NULL},
    {"{stopping_threshold: 3}",
     {5, 4, 3.01, 3, 2, 1},
     4,
     "val_loss is 3, the stopping_threshold is 3"},
    {"{stopping_threshold: -1}",
     {2, 1, 0, -0.5, -1.5, 1},
     5,
     "val_loss is -1.5, the stopping_threshold is -1"},
    {"{stopping_threshold: 0.9, monitor: val_acc}",
     {0.1, 0.5, 0.89, 0.95, 1, 1},
     4,
     "val_acc is 0.95, the stopping_threshold is 0.9"},
    {"{stopping_threshold: 0.75, monitor: val_acc}",
     {0.1, 0.5, 0.75, 0.5, 0.5, 0.5},
     3,
     "val_acc is 0.75, the stopping_threshold is 0.75"},
    {"{divergence_threshold: 6}",
     {5, 6, 4, 6.5, 2, 1},
     4,
     "val_loss is 6.5, above the divergence_threshold of 6"},
    {"{divergence_threshold: 0.2, mode: max}",
     {0.5, 0.2, 0.3, 0.1, 1, 1},
     4,
     "val_loss is 0.1, below the divergence_threshold of 0.2"},
};

static void it_stops_at_the_right_validation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        void *self = make(decisions[i].options);
        fg_error err = {0};
        int64_t stopped = 0;
        assert_int_equal(ops->fit_start(self, &(fg_progress){.trainer = &endless}, &err), FG_OK);
        for (int64_t step = 1; step <= 6 && stopped == 0; step++)
            if (validate(self, step, decisions[i].values[step - 1], &err) == FG_ESTOPPED)
                stopped = step;
        assert_int_equal(stopped, decisions[i].stops_at);
        if (stopped > 0) {
            assert_memory_equal(err.message, "early_stop: ", 12);
            assert_string_equal(err.message + 12, decisions[i].message);
        }
        ops->destroy(self);
    }
}

static void its_state_is_restored(void **state)
{
    unsigned char bytes[256];
    fg_error err = {0};
    void *first = make("{patience: 2}"), *second = make("{patience: 2}"),
         *patient = make("{patience: 4}");
    (void)state;
    assert_int_equal(validate(first, 1, 3, &err), FG_OK);
    assert_int_equal(validate(first, 2, 4, &err), FG_OK);
    const size_t size = ops->save(first, NULL, 0);
    assert_in_range(size, 1, sizeof bytes);
    assert_int_equal(ops->save(first, bytes, size), size);
    fgt_ok(ops->load(second, bytes, size, &err));
    assert_int_equal(ops->fit_start(second, &(fg_progress){.step = 2, .trainer = &endless}, &err),
                     FG_OK);
    assert_int_equal(validate(second, 3, 5, &err), FG_ESTOPPED);
    fgt_message_is(err.message,
                   "early_stop: val_loss has not improved in 2 validations (best: 3 at step 1)");
    /* it ends again, unless it has more patience */
    assert_int_equal(ops->save(second, bytes, size), size);
    fgt_ok(ops->load(first, bytes, size, &err));
    assert_int_equal(ops->fit_start(first, &(fg_progress){.step = 3, .trainer = &endless}, &err),
                     FG_ESTOPPED);
    fgt_ok(ops->load(patient, bytes, size, &err));
    assert_int_equal(ops->fit_start(patient, &(fg_progress){.step = 3, .trainer = &endless}, &err),
                     FG_OK);
    assert_int_equal(validate(patient, 4, 5, &err), FG_OK);
    assert_int_equal(validate(patient, 5, 5, &err), FG_ESTOPPED);
    assert_int_equal(ops->load(patient, bytes, size - 1, &err), FG_EFORMAT);
    void *strict = make("{patience: 9, divergence_threshold: 4.5}");
    fgt_ok(ops->load(strict, bytes, size, &err)); /* the last value was 5 */
    assert_int_equal(ops->fit_start(strict, &(fg_progress){.step = 3, .trainer = &endless}, &err),
                     FG_ESTOPPED);
    ops->destroy(strict);
    ops->destroy(first);
    ops->destroy(second);
    ops->destroy(patient);
}

/* One that only a limit of the fit has made necessary leaves no trace. */
static void an_extra_validation_does_not_count(void **state)
{
    const fg_metric loss = {"val_loss", 1};
    const fg_trainer ended = {.fit.is_extra = true};
    unsigned char before[256], after[256];
    fg_error err = {0};
    void *self = make("{patience: 1, stopping_threshold: 1}");
    (void)state;
    assert_int_equal(validate(self, 1, 5, &err), FG_OK);
    const size_t size = ops->save(self, before, sizeof before);
    fgt_ok(ops->val_end(
        self, &(fg_progress){.step = 2, .metrics = &loss, .metric_count = 1, .trainer = &ended},
        &err));
    assert_int_equal(ops->save(self, after, sizeof after), size);
    assert_memory_equal(before, after, size);
    ops->destroy(self);
}

static void a_validation_without_the_metric_is_ignored(void **state)
{
    const fg_metric other = {"val_f1", 9};
    fg_error err = {0};
    void *self = make("{patience: 1}");
    (void)state;
    assert_int_equal(validate(self, 1, 5, &err), FG_OK);
    for (int step = 2; step < 4; step++)
        fgt_ok(ops->val_end(
            self,
            &(fg_progress){.step = step, .metrics = &other, .metric_count = 1, .trainer = &endless},
            &err));
    assert_int_equal(validate(self, 4, 5, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "early_stop: val_loss has not improved in 1 validation (best: "
                                     "5 at step 1)");
    ops->destroy(self);
}

static char last_warning[256];
static int warnings;

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(last_warning, sizeof last_warning, "%s", line);
    warnings += level == FG_LOG_WARNING;
}

/* The warning before the first step of a fit with this many validations; "": none. */
static const char *warning_of(void *self, int64_t validations)
{
    fg_error err = {0};
    const fg_trainer trainer = {.fit.validations = validations};
    last_warning[0] = '\0';
    fg_log_set(keep_warning, NULL);
    fgt_ok(ops->fit_start(self, &(fg_progress){.trainer = &trainer}, &err));
    fg_log_set(NULL, NULL);
    return last_warning;
}

static void a_fit_that_it_cannot_end_is_warned_of(void **state)
{
    static const char few[] = "early_stop cannot end this run: with a patience of 3, 4 validations "
                              "are needed, but there will be 3; validate more often, or use a "
                              "smaller patience";
    fg_error err = {0};
    void *self = make(""), *with_threshold = make("{stopping_threshold: 0.1}"),
         *with_other = make("{divergence_threshold: 9}");
    (void)state;
    assert_string_equal(warning_of(self, 0),
                        "early_stop cannot end this run: it has no validation");
    assert_string_equal(warning_of(self, 3), few);
    assert_string_equal(warning_of(self, 4), "");
    assert_string_equal(warning_of(self, -1), ""); /* no end */
    assert_string_equal(warning_of(with_threshold, 1), "");
    assert_string_equal(warning_of(with_other, 1), "");
    assert_string_equal(warning_of(with_threshold, 0),
                        "early_stop cannot end this run: it has no validation");
    fgt_ok(validate(self, 1, 5, &err));
    assert_string_equal(warning_of(self, 3), ""); /* of a run that resumes */
    fgt_ok(validate(self, 2, 6, &err));
    assert_string_equal(warning_of(self, 2), "");
    assert_non_null(strstr(warning_of(self, 1), "2 validations are needed, but there will be 1"));
    ops->destroy(with_threshold);
    ops->destroy(with_other);
    ops->destroy(self);
}

static void a_complete_run_is_not_warned_of(void **state)
{
    fg_error err = {0};
    void *self = make("");
    (void)state;
    last_warning[0] = '\0';
    const fg_trainer complete = {.fit.validations = 0, .call.result.nothing_to_do = true};
    fg_log_set(keep_warning, NULL);
    fgt_ok(ops->fit_start(self, &(fg_progress){.trainer = &complete}, &err));
    fg_log_set(NULL, NULL);
    assert_string_equal(last_warning, "");
    ops->destroy(self);
}

/* A metric with another name, or another mode, has values that cannot be compared. */
static void another_metric_starts_again(void **state)
{
    static const char *const rows[][2] = {
        {"{monitor: val_acc}",
         "early_stop: monitor was val_loss (min) and is now val_acc (max): it "
         "starts with a new best"},
        {"{mode: max}",
         "early_stop: monitor was val_loss (min) and is now val_loss (max): it starts "
         "with a new best"},
        {"{patience: 7}", ""}};
    unsigned char bytes[256];
    fg_error err = {0};
    void *first = make("");
    (void)state;
    fgt_ok(validate(first, 1, 0.1, &err));
    fgt_ok(validate(first, 2, 0.2, &err));
    fgt_ok(validate(first, 3, 0.2, &err));
    const size_t size = ops->save(first, bytes, sizeof bytes);
    for (int i = 0; i < 3; i++) {
        void *self = make(rows[i][0]);
        last_warning[0] = '\0';
        fg_log_set(keep_warning, NULL);
        fgt_ok(ops->load(self, bytes, size, &err));
        fg_log_set(NULL, NULL);
        assert_string_equal(last_warning, rows[i][1]);
        for (int step = 4; step <= 6; step++) /* after 3 without an improvement, it would end */
            fgt_ok(validate(self, step, i < 2 ? 0.05 * step : 0.2, &err));
        ops->destroy(self);
    }
    ops->destroy(first);
}

static fg_status scenario(void *self, fg_error *err)
{
    void *made = NULL;
    (void)self;
    const fg_status status = create("{monitor: val_los}", &made, err);
    if (status == FG_OK)
        ops->destroy(made);
    return status;
}

static void no_failed_allocation_is_lost(void **state)
{
    (void)state;
    fgt_fault_loop(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_at_the_right_validation),
        cmocka_unit_test(its_state_is_restored),
        cmocka_unit_test(an_extra_validation_does_not_count),
        cmocka_unit_test(a_validation_without_the_metric_is_ignored),
        cmocka_unit_test(another_metric_starts_again),
        cmocka_unit_test(a_complete_run_is_not_warned_of),
        cmocka_unit_test(a_fit_that_it_cannot_end_is_warned_of),
        cmocka_unit_test(no_failed_allocation_is_lost),
    };
    ops = fgi_early_stop_row.ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
