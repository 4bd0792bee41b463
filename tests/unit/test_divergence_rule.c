/* test_divergence_rule.c - which log lines count as divergence, and what
 * checkpoints hold of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <math.h>

#include "train/divergence_parts.h"
#include "train/trainer.h"

/* The number of lines until it counts as divergence, 0: never. */
static int lines_after(double start, const double *loss, int count)
{
    static const fg_trainer_divergence o = {.factor = 4, .patience = 3};
    fgi_divergence_state at = {.has_start = isfinite(start), .start = start, .lr_factor = 1};
    for (int i = 0; i < count; i++)
        if (fgi_divergence_add(&at, &o, loss[i]))
            return i + 1;
    return 0;
}

/* The loss of the first step is not known. */
static int lines_until(const double *loss, int count)
{
    return lines_after((double)NAN, loss, count);
}

#define LINES_AFTER(start, ...)                                                                    \
    lines_after(start, (double[]){__VA_ARGS__},                                                    \
                (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
#define LINES_UNTIL(...)                                                                           \
    lines_until((double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

static void lines_are_compared_with_the_lowest(void **state)
{
    (void)state;
    assert_int_equal(LINES_UNTIL(2, 9, 9, 9), 4);          /* at once: above 4 * 2 */
    assert_int_equal(LINES_UNTIL(2, 7, 7, 7, 7, 7), 0);    /* not above */
    assert_int_equal(LINES_UNTIL(2, 9, 9, 1, 9, 9, 1), 0); /* not in a row */
    assert_int_equal(LINES_UNTIL(2, 2, (double)NAN, HUGE_VAL, 9),
                     5); /* not finite counts as high */
    /* a small loss may rise; one that returns to where it began has diverged */
    double fall[60];
    for (int i = 0; i < 40; i++)
        fall[i] = i < 39 ? 2 * pow(0.7, i) : 0.01;
    for (int i = 40; i < 60; i++)
        fall[i] = 0.2;
    assert_int_equal(lines_until(fall, 60), 0);
    for (int i = 40; i < 60; i++)
        fall[i] = 2;
    assert_int_equal(lines_until(fall, 60), 43);
    /* a loss below 0 */
    assert_int_equal(LINES_UNTIL(-1, -1, 1, 1, 1, 1), 0);
    assert_int_equal(LINES_UNTIL(-1, -1, 3, 3, 3, 3), 5);
    /* the moving average is that of a closed form: the mean of a constant is the constant */
    fgi_divergence_state at = {.lr_factor = 1};
    const fg_trainer_divergence o = {.factor = 4, .patience = 3};
    for (int i = 0; i < 5; i++)
        assert_false(fgi_divergence_add(&at, &o, 0.3));
    fgt_close("average", at.best, 0.3, 1e-12, 0);
}

/* Lines after the loss of the first step. */
static void the_first_step_is_a_reference(void **state)
{
    (void)state;
    assert_int_equal(LINES_AFTER(2, 1e9, 1e5, 1e3), 3);      /* the first line is no reference */
    assert_int_equal(LINES_AFTER(2, 1e9, 2.1, 2.1), 3);      /* it has not returned */
    assert_int_equal(LINES_AFTER(2, 1e9, 2.1, 1.9, 2.1), 0); /* it has */
    assert_int_equal(LINES_AFTER(2, 199, 199, 199, 199), 0);
    assert_int_equal(LINES_AFTER(2, 201, 201, 201), 3);
    assert_int_equal(LINES_AFTER(1e6, 1e7, 5e6, 1e6, 4), 0);    /* of a large scale */
    assert_int_equal(LINES_AFTER(1e-4, 0.3, 0.3, 0.3, 0.2), 0); /* easy samples in the first step */
    assert_int_equal(LINES_AFTER(-2, 1e3, 5, 5), 3);
    assert_int_equal(LINES_AFTER(-2, 150, 90, 199, 199), 0);
    /* afterwards, a line that exploded is no reference either: 4 * 2 is the limit */
    assert_int_equal(LINES_AFTER(2.2, 1e9, 2, 9, 9, 9), 5);
}

/* A checkpoint of an earlier version has no loss of the first step, and a damaged one is refused.
 */
static void older_checkpoints_are_read(void **state)
{
    static fgi_divergence divergence;
    fg_trainer trainer = {.divergence = &divergence};
    fg_error err = {0};
    (void)state;
    json_t *object =
        json_pack("{s:i, s:{s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:i}}", "step", 8, "divergence",
                  "first", 2.5, "mean", 0.5, "best", 1.5, "lr_factor", 0.5, "lines", 7, "high", 0,
                  "nonfinite_steps", 0, "rollbacks", 1, "returned", 0);
    fgt_ok(fgi_divergence_load(&trainer, object, "run/checkpoints/a", &err));
    assert_int_equal(divergence.at.lines, 7);
    assert_true(divergence.at.first == 2.5 && divergence.at.has_start == 0);
    json_t *own = json_object_get(object, "divergence");
    assert_int_equal(json_object_set_new(own, "high", json_integer(-1)), 0);
    assert_int_equal(fgi_divergence_load(&trainer, object, "run/checkpoints/a", &err), FG_EFORMAT);
    json_decref(object);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_are_compared_with_the_lowest),
    cmocka_unit_test(the_first_step_is_a_reference),
    cmocka_unit_test(older_checkpoints_are_read),
};
FGT_MAIN(tests)
