/* test_train_values.c - the values of metrics: from sums and weights, from the counts of classes,
 * in which order and under which names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "train/state/metrics.h"
#include "train/watch/call.h"

/* Those of training before those of the validation; a value of the same name is replaced. */
static void metrics_of_a_result_are_in_order(void **state)
{
    static const fg_metric first[] = {{"val_loss", 1}, {"train_loss", 2}},
                           more[] = {{"train_acc", 3}, {"other", 4}, {"val_acc", 5}},
                           again[] = {{"val_loss", 6}, {"train_f1", 7}};
    static fg_result result;
    char text[256] = "";
    (void)state;
    result = (fg_result){0};
    fgi_result_put(&result, first, 2);
    fgi_result_put(&result, more, 3);
    fgi_result_put(&result, again, 2);
    for (size_t i = 0; i < result.metric_count; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s=%g ",
                       result.metrics[i].name, result.metrics[i].value);
    assert_string_equal(text, "train_loss=2 train_acc=3 train_f1=7 val_loss=6 other=4 val_acc=5 ");
    for (int i = 0; result.metric_count < FG_MAX_RESULTS; i++) {
        fg_metric metric = {.value = i};
        (void)snprintf(metric.name, sizeof metric.name, "m%d", i);
        fgi_result_put(&result, &metric, 1);
    }
    const fg_metric last[] = {{"no_room", 8}, {"val_loss", 9}};
    fgi_result_put(&result, last, 2);
    assert_int_equal(result.metric_count, FG_MAX_RESULTS);
    assert_true(result.metrics[3].value == 9);
    assert_int_equal(result.metrics[FG_MAX_RESULTS - 1].name[0], 'm');
}

static fgi_metrics metrics_of(void)
{
    fgi_metrics m = {0};
    static const struct {
        const char *name;
        fgi_metric_rule rule;
    } rows[] = {{"loss", {FGI_MEAN, 0}}, {"half", {FGI_SCALED, 0.5}},    {"rmse", {FGI_ROOT, 2}},
                {"mse", {FGI_MEAN, 0}},  {"r2", {FGI_DETERMINATION, 0}}, {"sq", {FGI_HIDDEN, 0}},
                {"none", {FGI_MEAN, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_metrics_add(&m, rows[i].name);
        m.rule[i] = rows[i].rule;
    }
    return m;
}

static const struct {
    double square; /* the sum of squares of targets, whose sum is 12, of 4 */
    double r2;
} squares[] = {
    {44, 0.75}, {38, 0}, {36.0001, 1 - 0.5 / 0.000025}, {36.00002, (double)NAN}, {36, (double)NAN}};

/* What follows from sums and weights, by each rule; and from the counts of classes. */
static void values_follow_from_sums(void **state)
{
    static const char *const names[] = {"half", "rmse", "mse", "r2", "none"};
    fg_metric out[FG_MAX_METRICS];
    const fgi_metrics own = metrics_of(), *m = &own;
    (void)state;
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++) {
        const double sums[] = {6, 4, 6, 3, 8, 2, 2, 4, 12, 4, squares[i].square, 4, 0, 0};
        assert_int_equal(fgi_metrics_values(m, "val_", sums, NULL, out), 6);
        assert_string_equal(out[0].name, "val_loss");
        fgt_close("loss", out[0].value, 1.5, 0, 0);
        fgt_close("half", out[1].value, 1, 0, 0);
        fgt_close("rmse", out[2].value, 4, 0, 0);
        fgt_close("mse", out[3].value, 0.5, 0, 0);
        assert_true(isnan(squares[i].r2)
                        ? isnan(out[4].value)
                        : fabs(out[4].value - squares[i].r2) <= 1e-6 * fabs(squares[i].r2));
        assert_true(isnan(out[5].value));
        for (int k = 1; k < 6; k++)
            assert_string_equal(out[k].name + 4, names[k - 1]);
    }
    const double sums[] = {-6, -4, 6, 3, -8, 2, 2, 4, 12, 4, 38, 4, 0, 0};
    assert_int_equal(fgi_metrics_values(m, "val_", sums, NULL, out), 6);
    for (int k = 0; k < 3; k += 2) /* no mean, and the root of -4; printed without a sign */
        assert_true(isnan(out[k].value) && !signbit(out[k].value));
}

static const struct {
    double counts[9]; /* samples of the class, predicted as it, both */
    double f1, precision, recall;
} class_counts[] = {{{3, 1, 0, 2, 2, 0, 2, 1, 0}, (0.8 + 2. / 3) / 2, 0.75, (2. / 3 + 1) / 2},
                    {{3, 1, 1, 3, 2, 0, 3, 1, 0}, (1 + 2. / 3) / 3, 0.5, 2. / 3},
                    {{2, 2, 0, 1, 2, 1, 1, 2, 0}, (2. / 3 + 1) / 3, 2. / 3, 0.5},
                    {{0, 0, 0, 0, 0, 0, 0, 0, 0}, (double)NAN, (double)NAN, (double)NAN}};

static void values_of_classes_are_means(void **state)
{
    static const char *const names[] = {"test_f1", "test_precision", "test_recall"};
    fg_metric out[FG_MAX_METRICS];
    fgi_metrics own = {0}, *m = &own;
    (void)state;
    assert_true(fgi_metrics_has_room(m, FG_MAX_METRICS));
    assert_false(fgi_metrics_has_room(m, FG_MAX_METRICS + 1));
    assert_false(fgi_metrics_has(m, "recall"));
    m->classes = 3;
    assert_true(fgi_metrics_has(m, "recall") && fgi_metrics_has(m, "f1"));
    assert_int_equal(m->classes, 3);
    assert_true(fgi_metrics_has_room(m, FG_MAX_METRICS - 3));
    assert_false(fgi_metrics_has_room(m, FG_MAX_METRICS - 2));
    for (size_t i = 0; i <= sizeof class_counts / sizeof class_counts[0]; i++) {
        const bool is_unknown = i == sizeof class_counts / sizeof class_counts[0];
        const double expected[] = {is_unknown ? (double)NAN : class_counts[i].f1,
                                   is_unknown ? (double)NAN : class_counts[i].precision,
                                   is_unknown ? (double)NAN : class_counts[i].recall};
        assert_int_equal(
            fgi_metrics_values(m, "test_", NULL, is_unknown ? NULL : class_counts[i].counts, out),
            3);
        for (int k = 0; k < 3; k++) {
            assert_string_equal(out[k].name, names[k]);
            assert_true(isnan(expected[k]) ? isnan(out[k].value)
                                           : fabs(out[k].value - expected[k]) < 1e-12);
        }
    }
    fgi_metrics_add(m, "loss");
    assert_true(fgi_metrics_has(m, "loss"));
    assert_int_equal(fgi_metrics_find(m, "acc"), 1);
}

static void names_of_metrics(void **state)
{
    static const struct {
        const char *name;
        bool is_valid, is_max, is_of_training;
    } rows[] = {{"val_acc", true, true, false},       {"top5_acc", true, true, false},
                {"train_f1", true, true, true},       {"val_r2", true, true, false},
                {"precision", true, true, false},     {"val_recall", true, true, false},
                {"val_loss", true, false, false},     {"val_accuracy", true, false, false},
                {"train_", true, false, true},        {"train", true, false, false},
                {"azAZ_.b/c-09", true, false, false}, {"", false, false, false},
                {"a b", false, false, false},         {"a:b", false, false, false},
                {"\xc3\xa4", false, false, false},    {"123456789", true, false, false},
                {"12345678901", false, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fgi_is_metric_name(rows[i].name, i < 15 ? 63 : 10), rows[i].is_valid);
        assert_int_equal(fgi_metric_is_max(rows[i].name), rows[i].is_max);
        assert_int_equal(fgi_is_of_training(rows[i].name), rows[i].is_of_training);
    }
    assert_true(fgi_is_metric_name("1234567890", 10));
    for (const char *c = "@[`{:"; *c != '\0'; c++) /* before and after letters and digits */
        assert_false(fgi_is_metric_name((const char[]){*c, '\0'}, 10));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(metrics_of_a_result_are_in_order),
    cmocka_unit_test(values_follow_from_sums),
    cmocka_unit_test(values_of_classes_are_means),
    cmocka_unit_test(names_of_metrics),
};
FGT_MAIN(tests)
