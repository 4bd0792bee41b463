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
} squares[] = {{44, 0.75},
               {38, 0},
               {36.0001, 1 - 0.5 / 0.000025},
               {36.00002, (double)(double)NAN},
               {36, (double)(double)NAN}};

/* What follows from sums and weights, by each rule; and from the counts of classes. */
static void values_follow_from_sums(void **state)
{
    static const char *const names[] = {"half", "rmse", "mse", "r2", "none"};
    fg_metric out[FG_MAX_METRICS];
    const fgi_metrics own = metrics_of(), *m = &own;
    (void)state;
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++) {
        const double sums[] = {6, 4, 6, 3, 8, 2, 2, 4, 12, 4, squares[i].square, 4, 0, 0};
        assert_int_equal(fgi_metrics_values(m, "val_", sums, NULL, NULL, out), 6);
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
    assert_int_equal(fgi_metrics_values(m, "val_", sums, NULL, NULL, out), 6);
    for (int k = 0; k < 3; k += 2) /* no mean, and the root of -4; printed without a sign */
        assert_true(isnan(out[k].value) && !signbit(out[k].value));
}

typedef struct class_count {
    double counts[9]; /* samples of the class, predicted as it, both */
    double f1, precision, recall, balanced;
} class_count;

static const class_count class_counts[] = {
    {{3, 1, 0, 2, 2, 0, 2, 1, 0}, (0.8 + 2. / 3) / 2, 0.75, 2.5 / 3, 2.5 / 3},
    {{3, 1, 1, 3, 2, 0, 3, 1, 0}, (1 + 2. / 3) / 3, 0.5, 2. / 3, 2. / 3},
    {{2, 2, 0, 1, 2, 1, 1, 2, 0}, (2. / 3 + 1) / 3, 2. / 3, 0.5, 0.75},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0}, (double)NAN, (double)NAN, (double)NAN, (double)NAN}};

/* The six metrics of these counts; NULL: unknown. */
static void check_class_values(const fgi_metrics *m, const char *const *names, const class_count *c)
{
    static const double ranked[] = {0.25, 0.125};
    fg_metric out[FG_MAX_METRICS];
    const double none = (double)NAN;
    const double expected[] = {c != NULL ? c->f1 : none,     c != NULL ? c->precision : none,
                               c != NULL ? c->recall : none, c != NULL ? c->balanced : none,
                               c != NULL ? 0.25 : none,      c != NULL ? 0.125 : none};
    assert_int_equal(fgi_metrics_values(m, "test_", NULL, c != NULL ? c->counts : NULL,
                                        c != NULL ? ranked : NULL, out),
                     6);
    for (int k = 0; k < 6; k++) {
        assert_string_equal(out[k].name + strlen("test_"), names[k]);
        assert_true(isnan(expected[k]) ? isnan(out[k].value)
                                       : fabs(out[k].value - expected[k]) < 1e-12);
    }
}

static void values_of_classes_are_means(void **state)
{
    static const char *const names[] = {"f1", "precision", "recall", "balanced_acc", "auc", "ap"};
    fgi_metrics own = {.classes = 3}, *m = &own;
    (void)state;
    assert_true(fgi_metrics_has_room(m, FG_MAX_METRICS));
    assert_false(fgi_metrics_has_room(m, FG_MAX_METRICS + 1) || fgi_metrics_has(m, "recall"));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(fgi_metrics_rank(m), i == 5);
        m->rows[m->row_count++] = fgi_metric_row_find(names[i], NULL);
    }
    assert_true(fgi_metrics_has(m, "recall") && fgi_metrics_has(m, "f1"));
    assert_true(fgi_metrics_has_room(m, FG_MAX_METRICS - 6));
    assert_false(fgi_metrics_has_room(m, FG_MAX_METRICS - 5));
    for (size_t i = 0; i < sizeof class_counts / sizeof class_counts[0]; i++)
        check_class_values(m, names, &class_counts[i]);
    check_class_values(m, names, NULL);
    fgi_metrics_add(m, "loss");
    assert_true(fgi_metrics_has(m, "loss"));
    assert_int_equal(fgi_metrics_find(m, "acc"), 1);
}

/* Equal scores are one threshold: as scikit-learn's roc_auc_score and average_precision_score. */
static void samples_are_ranked(void **state)
{
    static const struct {
        fgi_scored samples[4];
        size_t count;
        double auc, ap;
    } cases[] = {{{{0.1F, false}, {0.4F, false}, {0.35F, true}, {0.8F, true}}, 4, 0.75, 2.5 / 3},
                 {{{1, true}, {1, false}, {1, true}, {1, false}}, 4, 0.5, 0.5},
                 {{{2, false}, {2, true}, {1, true}, {0, false}}, 4, 0.625, (0.5 + 2. / 3) / 2},
                 {{{1, true}, {2, true}}, 2, (double)NAN, 1},
                 {{{1, false}}, 1, (double)NAN, (double)NAN},
                 {{{NAN, true}, {2, false}}, 2, (double)NAN, (double)NAN},
                 {{{0, false}}, 0, (double)NAN, (double)NAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fgi_scored samples[4];
        double auc, ap;
        memcpy(samples, cases[i].samples, sizeof samples);
        fgi_rank_scores(samples, cases[i].count, &auc, &ap);
        assert_true(isnan(cases[i].auc) ? isnan(auc) : fabs(auc - cases[i].auc) < 1e-12);
        assert_true(isnan(cases[i].ap) ? isnan(ap) : fabs(ap - cases[i].ap) < 1e-7);
    }
}

/* The key `metrics` documents every row; directions follow from the table. */
static void metrics_have_rows(void **state)
{
    static const struct {
        const char *name;
        int direction;
    } names[] = {{"val_auc", 1},        {"val_ap", 1},
                 {"val_log_loss", -1},  {"val_rmse", -1},
                 {"test_top3_acc", 1},  {"val_balanced_acc", 1},
                 {"val_f1_micro", 1},   {"val_perplexity", -1},
                 {"val_gap", 0},        {"lr", 0},
                 {"train_loss", -1},    {"val_error", -1},
                 {"val_head_2_mae", -1}};
    static const char *const bad[] = {"f1", "rmse", "top0_acc", "topK_acc", "", "accuracy"};
    fg_error err = {0};
    int64_t k;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(fgi_metric_direction(names[i].name), names[i].direction);
    assert_string_equal(fgi_metric_row_find("top12_acc", &k)->name, "topK_acc");
    assert_int_equal(k, 12);
    assert_null(fgi_metric_row_find("top_acc", &k));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const fg_strings chosen = {.at = &bad[i], .count = 1};
        assert_int_equal(fgi_metrics_check(chosen, FGI_CLASSIFICATION, &err),
                         i == 0 ? FG_OK : FG_EINVAL);
    }
    const fg_strings chosen = {.at = bad, .count = 1};
    assert_int_equal(fgi_metrics_check(chosen, FGI_REGRESSION, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "metrics: 'f1' is not a metric of this task: expected mae|mse|rmse|r2");
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
    cmocka_unit_test(samples_are_ranked),
    cmocka_unit_test(metrics_have_rows),
    cmocka_unit_test(names_of_metrics),
};
FGT_MAIN(tests)
