/* test_named_rows.c - built-in callbacks and loggers by name, from C: all of them, options,
 * mistakes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"
#include "row.h"

#include <fulgurite/logger.h>
#include <string.h>

#include "base/file.h"
#include "toy_place.h"
#include "callback/callback_rows.h"
#include "log/logger.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static fg_trainer *create(const char *folder)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = 9,
                                        .output.log_every = 1,
                                        .output.loggers = fgt_list(""),
                                        .checkpoints.run_dir = folder};
    fgt_ok(toy_create(&options, &trainer, &err));
    return trainer;
}

/* Every callback takes part in a fit. */
static void all_callbacks_have_their_names(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create(fgt_temp_folder());
    for (size_t i = 0; i < fgi_callback_row_count; i++) {
        const char *name = fgi_callback_rows[i]->name;
        const char *options = toy_callback_options(name);
        if (strcmp(name, "ema") != 0) /* swa averages the same weights */
            fgt_ok(fg_trainer_add_named_callback(trainer, fgt_entry(name, options), &err));
    }
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
}

/* A metric that does not exist ends the fit, unless `strict` is off. */
static void options_have_an_effect(void **state)
{
    (void)state;
    const fg_fit_data data = the_data();
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        fg_error err = {0};
        fg_trainer *trainer = create(NULL);
        fgt_ok(fg_trainer_add_named_callback(
            trainer,
            fgt_entry("early_stop", is_strict ? "{monitor: val_nothing}"
                                              : "{monitor: val_nothing, strict: false}"),
            &err));
        const fg_status status = fg_trainer_fit(trainer, &task, &data, &err);
        assert_int_equal(status != FG_OK, is_strict);
        assert_int_equal(strstr(err.message, "val_nothing") != NULL, is_strict);
        assert_int_equal(fg_trainer_result(trainer)->steps == 0, is_strict); /* before the first */
        fg_trainer_destroy(trainer);
    }
}

static const struct {
    const fg_callback_entry *row;
    const char *option, *value; /* that it requires */
} fixed_states[] = {{&fgi_early_stop_row, NULL, NULL},
                    {&fgi_freeze_row, "parameters", "[fc1.*]"},
                    {&fgi_lr_monitor_row, NULL, NULL},
                    {&fgi_swa_row, NULL, NULL},
                    {&fgi_timer_row, "duration", "1h"}};

/* In a checkpoint of another build. */
static void states_of_another_size_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fixed_states / sizeof fixed_states[0]; i++) {
        fg_error err = {0};
        fg_option_values *values = NULL;
        void *self = NULL;
        unsigned char bytes[256] = {0};
        char wanted[64];
        const fg_callback_entry *row = fixed_states[i].row;
        fgt_ok(fg_option_values_create(row->entry.name, row->entry.options, row->entry.option_count,
                                       &values, &err));
        if (fixed_states[i].option != NULL)
            fgt_ok(
                fg_option_set(values, fixed_states[i].option, fixed_states[i].value, NULL, &err));
        fgt_ok(fgi_row_begin(&row->entry, values, row->init, row->ops->destroy, &self, &err));
        fg_option_values_destroy(values);
        const size_t size = row->ops->save(self, bytes, sizeof bytes);
        for (size_t other = size - 1; other <= size + 1; other += 2) {
            assert_int_equal(row->ops->load(self, bytes, other, &err), FG_EFORMAT);
            (void)snprintf(wanted, sizeof wanted, "expected %zu byte%s, got %zu", size,
                           size == 1 ? "" : "s", other);
            assert_string_equal(err.message, wanted);
        }
        row->ops->destroy(self);
    }
}

/* In 9 epochs of 3 batches: 2 of 3 steps, then 1 step each. */
static void batches_per_step_are_set_with_a_callback(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create(NULL), *used = create(NULL);
    fgt_ok(
        fg_trainer_add_named_callback(trainer, "gradient_accumulation: {schedule: {2: 3}}", &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_settings(trainer)->total_steps, 2 * 3 + 7);
    assert_int_equal(fg_trainer_result(trainer)->steps, 2 * 3 + 7);
    assert_int_equal(
        fg_trainer_add_named_callback(trainer, "gradient_accumulation: {schedule: {1: 3}}", &err),
        FG_EINVAL);
    assert_string_equal(err.message, "gradient_accumulation: the Trainer has an "
                                     "accumulate_schedule already");
    fgt_ok(fg_trainer_fit(used, &task, &data, &err));
    assert_int_equal(
        fg_trainer_add_named_callback(used, "gradient_accumulation: {schedule: {1: 3}}", &err),
        FG_EINVAL);
    assert_non_null(strstr(err.message, "the Trainer has been used"));
    fg_trainer *empty =
        toy_trainer(client, &(fg_trainer_options){.numerics.accumulate_grad_batches = 1});
    fgt_ok(fg_trainer_add_named_callback(empty, "gradient_accumulation: {schedule: {1: 3}}", &err));
    fg_trainer_destroy(empty);
    fg_trainer_destroy(trainer);
    fg_trainer_destroy(used);
}

static void loggers_write_their_files(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = the_data();
    const char *const loggers[] = {"csv", "jsonl: {wall_time: true}"};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {
        .devices.client = client, .output.loggers = {loggers, 2}, .checkpoints.run_dir = folder};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    char *text = NULL;
    size_t size = 0;
    assert_true(fgi_file_exists(fgt_path(folder, "metrics.csv")));
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.jsonl"), 1 << 20, &text, &size, &err));
    assert_non_null(strstr(text, "wall_time"));
    fgi_free(text);
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *callback, *says;
    } rows[] = {
        {"earlystop", "there is no callback 'earlystop': did you mean 'early_stop'?"},
        {"zzzzzzzz", "there is no callback 'zzzzzzzz': expected one of checkpoint|"},
        {"early_stop: {patience: many}", "early_stop.patience: expected an integer"},
        {"early_stop: {patients: 3}", "unknown option 'patients': did you mean 'patience'?"},
        {"early_stop: {monitor: a, mode: sideways}", "early_stop.mode: expected"},
        {"early_stop: {patience}", "'patience': expected OPTION: VALUE"},
        {"gradient_accumulation", "schedule: expected batches for some epochs"},
        {"gradient_accumulation: {schedule: often}",
         "gradient_accumulation.schedule: expected a map of integers"},
    };
    static const struct {
        const char *logger, *says;
    } loggers[] = {{"tensorbord", "expected names of csv|"},
                   {"csv: {wall_time: maybe}", "csv.wall_time: expected true or false"}};
    fg_trainer *trainer = create(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fg_error err = {0};
        assert_int_equal(fg_trainer_add_named_callback(trainer, rows[i].callback, &err), FG_EINVAL);
        if (strstr(err.message, rows[i].says) == NULL)
            fail_msg("expected '%s' in '%s'", rows[i].says, err.message);
    }
    fg_trainer_destroy(trainer);
    for (size_t i = 0; i < sizeof loggers / sizeof *loggers; i++) {
        fg_error err = {0};
        const fg_trainer_options options = {.devices.client = client,
                                            .output.loggers = {&loggers[i].logger, 1}};
        assert_int_equal(toy_create(&options, &trainer, &err), FG_EINVAL);
        if (strstr(err.message, loggers[i].says) == NULL)
            fail_msg("expected '%s' in '%s'", loggers[i].says, err.message);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_callbacks_have_their_names),
    cmocka_unit_test(options_have_an_effect),
    cmocka_unit_test(states_of_another_size_are_refused),
    cmocka_unit_test(batches_per_step_are_set_with_a_callback),
    cmocka_unit_test(loggers_write_their_files),
    cmocka_unit_test(mistakes_are_explained),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
