/* test_train_timer.c - the callback timer: when it ends a fit, and that it counts on in a resumed
 * run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <string.h>
#include <time.h>

#include "callback/callback_rows.h"

static const fg_callback_ops *ops;
static const fg_progress at; /* unused by it */

static fg_status create(const char *options, void **out, fg_error *err)
{
    return FGT_ROW_BEGIN(&fgi_timer_row, options, out, err);
}

/* A timer of a run that has trained for so long. */
static void *resumed(const char *options, double seconds)
{
    void *self = NULL;
    fg_error err = {0};
    fgt_ok(create(options, &self, &err));
    fgt_ok(ops->load(self, &seconds, sizeof seconds, &err));
    return self;
}

static double saved_s(void *self)
{
    double seconds = 0;
    assert_int_equal(ops->save(self, NULL, 0), sizeof seconds);
    assert_int_equal(ops->save(self, &seconds, sizeof seconds), sizeof seconds);
    return seconds;
}

static void a_run_ends_when_its_time_is_over(void **state)
{
    (void)state;
    fg_error err = {0};
    void *over = resumed("{duration: 1h}", 3600), *longer = resumed("{duration: 01:30:00}", 3600);
    assert_int_equal(ops->fit_start(over, &at, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "timer: the run has trained for 1h");
    fgt_ok(ops->fit_start(longer, &at, &err));
    fgt_ok(ops->batch_end(longer, &at, &err));
    fgt_ok(ops->epoch_end(longer, &at, &err));
    ops->destroy(over);
    ops->destroy(longer);
}

static void it_ends_after_a_step_or_an_epoch(void **state)
{
    (void)state;
    fg_error err = {0};
    const struct timespec moment = {.tv_nsec = 2000000};
    void *step = resumed("{duration: 0.001s}", 0);
    void *epoch = resumed("{duration: 0.001s, interval: epoch}", 0);
    fgt_ok(ops->batch_end(step, &at, &err)); /* of an evaluation before the fit */
    fgt_ok(ops->fit_start(step, &at, &err));
    fgt_ok(ops->fit_start(epoch, &at, &err));
    assert_int_equal(nanosleep(&moment, NULL), 0);
    assert_int_equal(ops->batch_end(step, &at, &err), FG_ESTOPPED);
    fgt_ok(ops->batch_end(epoch, &at, &err));
    assert_int_equal(ops->epoch_end(epoch, &at, &err), FG_ESTOPPED);
    fgt_ok(ops->fit_end(step, &at, &err));
    fgt_ok(ops->batch_end(step, &at, &err)); /* of an evaluation after it */
    ops->destroy(step);
    ops->destroy(epoch);
}

/* Only the time of fits counts, and a run that goes back to a checkpoint loses none of it. */
static void the_time_of_all_fits_is_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    const struct timespec moment = {.tv_nsec = 2000000};
    const double earlier = 50;
    void *self = resumed("{duration: 1d}", 100);
    assert_float_equal(saved_s(self), 100, 0);
    fgt_ok(ops->fit_start(self, &at, &err));
    assert_int_equal(nanosleep(&moment, NULL), 0);
    assert_true(saved_s(self) >= 100.002);
    fgt_ok(ops->load(self, &earlier, sizeof earlier, &err)); /* a rollback */
    assert_true(saved_s(self) >= 100.002);
    fgt_ok(ops->fit_end(self, &at, &err));
    const double ended = saved_s(self);
    assert_int_equal(nanosleep(&moment, NULL), 0);
    assert_float_equal(saved_s(self), ended, 0);
    fgt_ok(ops->fit_start(self, &at, &err));
    assert_true(saved_s(self) >= ended);
    assert_int_equal(ops->load(self, &earlier, 4, &err), FG_EFORMAT);
    ops->destroy(self);
}

static void a_duration_is_required(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{duration: auto}", "{duration: 12}", "{duration: 0s}",
                                      "{duration: 1 fortnight}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fg_error err = {0};
        void *self = NULL;
        assert_int_equal(create(bad[i], &self, &err), FG_EINVAL);
        if (strstr(err.message, "expected a duration such as 90s, 8h30m") == NULL)
            fail_msg("%s: %s", bad[i], err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_when_its_time_is_over),
        cmocka_unit_test(it_ends_after_a_step_or_an_epoch),
        cmocka_unit_test(the_time_of_all_fits_is_counted),
        cmocka_unit_test(a_duration_is_required),
    };
    ops = fgi_timer_row.ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
