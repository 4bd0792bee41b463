/* test_divergence_rule.c - which log lines count as divergence, what checkpoints hold of them, and
 * what is said of it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <fulgurite/fulgurite.h>

#include "base/alloc.h"
#include "base/file.h"
#include "optim/optimizer.h"
#include "trace/precision.h"
#include "train/save/divergence.h"
#include "train/trainer.h"

/* The parts of a Trainer that divergence.c uses. */
static fgi_divergence_uses uses_of(fg_trainer *trainer)
{
    return (fgi_divergence_uses){.options = &trainer->options,
                                 .call = &trainer->call,
                                 .cursor = &trainer->cursor,
                                 .optimizer = &trainer->model.optimizer,
                                 .health = &trainer->health};
}

/* The number of lines until it counts as divergence, 0: never. */
static int lines_after(double start, const double *loss, int count)
{
    static const fg_trainer_divergence o = {.divergence_factor = 4, .divergence_patience = 3};
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
    /* a small loss may rise up to the middle between it and the first one */
    double fall[60];
    for (int i = 0; i < 40; i++)
        fall[i] = i < 39 ? 2 * pow(0.7, i) : 0.01;
    static const double rises[][2] = {{0.2, 0}, {0.95, 0}, {1.2, 43}, {2, 43}};
    for (int k = 0; k < 4; k++) {
        for (int i = 40; i < 60; i++)
            fall[i] = rises[k][0];
        assert_int_equal(lines_until(fall, 60), (int)rises[k][1]);
    }
    /* a loss below 0 */
    assert_int_equal(LINES_UNTIL(-1, -1, 1, 1, 1, 1), 0);
    assert_int_equal(LINES_UNTIL(-1, -1, 3, 3, 3, 3), 5);
    /* the moving average is that of a closed form: the mean of a constant is the constant */
    fgi_divergence_state at = {.lr_factor = 1};
    const fg_trainer_divergence o = {.divergence_factor = 4, .divergence_patience = 3};
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
    fg_error err = {0};
    (void)state;
    json_t *object =
        json_pack("{s:i, s:{s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:i}}", "step", 8, "divergence",
                  "first", 2.5, "mean", 0.5, "best", 1.5, "lr_factor", 0.5, "lines", 7, "high", 0,
                  "nonfinite_steps", 0, "rollbacks", 1, "returned", 0);
    fgt_ok(fgi_divergence_load(&divergence, object, "run/checkpoints/a", &err));
    assert_int_equal(divergence.at.lines, 7);
    assert_true(divergence.at.first == 2.5 && divergence.at.has_start == 0);
    json_t *own = json_object_get(object, "divergence");
    assert_int_equal(json_object_set_new(own, "high", json_integer(-1)), 0);
    assert_int_equal(fgi_divergence_load(&divergence, object, "run/checkpoints/a", &err),
                     FG_EFORMAT);
    json_decref(object);
}

/* The first parameter that has a weight that is not finite is named, and the last good checkpoint.
 */
static void the_error_names_the_parameter(void **state)
{
    static fgi_divergence divergence;
    static const struct {
        const char *name;
        float value;
        const char *good, *says;
    } rows[] = {{"a.bias", (float)NAN, "",
                 "the weight 'a.bias' has NaN\nthere is no earlier "
                 "checkpoint"},
                {"b.bias", (float)INFINITY, "run/x",
                 "the weight 'b.bias' has an infinite number\n"
                 "the last good checkpoint is run/x"}};
    fg_error err = {0};
    char text[256];
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 1, &root, &err));
        (void)fg_linear_create(root, "a", &(fg_linear_options){.in = 2, .out = 2});
        (void)fg_linear_create(root, "b", &(fg_linear_options){.in = 2, .out = 2});
        fg_trainer trainer = {.options.divergence.on_divergence = "stop",
                              .model.optimizer = fg_sgd_create(root, NULL)};
        const float values[] = {1, rows[i].value};
        fgt_ok(fg_variable_set(fg_module_find(root, rows[i].name), values, sizeof values, &err));
        divergence = (fgi_divergence){.of = uses_of(&trainer), .at.lr_factor = 1};
        (void)snprintf(divergence.good, sizeof divergence.good, "%s", rows[i].good);
        const fgi_diverged what = {.reason = FGI_BAD_LOSS, .step = 3, .loss = (double)NAN};
        assert_int_equal(fgi_divergence_describe(&divergence, &what, &err), FG_ENUMERIC);
        (void)snprintf(text, sizeof text, "training has diverged at step 3: the loss is NaN; %s",
                       rows[i].says);
        assert_string_equal(err.message, text);
        fg_module_destroy(root);
    }
}

static const struct {
    fgi_diverged what;
    int64_t high;
    bool has_exploded;
    const char *says;
} reasons[] = {
    {{.reason = FGI_HIGH_LOSS, .step = 9, .loss = 12.34567},
     1,
     false,
     "training has diverged at step 9: the loss is 12.35, and it has been too high for 1 log line "
     "(the lowest was 0.5)"},
    {{.reason = FGI_HIGH_LOSS, .step = 9, .loss = 12.34567},
     3,
     true,
     "training has diverged at step 9: the loss is 12.35, and it has been too high for 3 log lines "
     "(it had risen far above the loss of the first step, which was 2)"},
    {{.reason = FGI_BAD_LOSS, .step = 4, .loss = (double)INFINITY},
     0,
     false,
     "training has diverged at step 4: the loss is infinite"},
    {{.reason = FGI_BAD_GRADIENT, .step = 4},
     0,
     false,
     "training has diverged at step 4: gradients are not finite"},
};

static void the_error_says_what_happened(void **state)
{
    static fgi_divergence divergence;
    fg_error err = {0};
    fg_module *root = NULL;
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    (void)fg_linear_create(root, "a", &(fg_linear_options){.in = 2, .out = 2});
    fg_optimizer *sgd = fg_sgd_create(root, NULL);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        fg_trainer trainer = {.options.divergence.on_divergence = "rollback",
                              .model.optimizer = sgd};
        divergence = (fgi_divergence){.of = uses_of(&trainer),
                                      .at = {.lr_factor = 1,
                                             .high = reasons[i].high,
                                             .exploded = reasons[i].has_exploded ? 1 : 0,
                                             .start = 2,
                                             .best = 0.5}};
        assert_int_equal(fgi_divergence_describe(&divergence, &reasons[i].what, &err), FG_ENUMERIC);
        assert_string_equal(err.message, reasons[i].says);
    }
    fg_module_destroy(root);
}

/* The line has the first bad step, which is before the one at which it is noticed. */
static void the_file_has_the_first_bad_step(void **state)
{
    static fgi_divergence divergence;
    fg_error err = {0};
    fg_module *root = NULL;
    char *line = NULL;
    size_t size = 0;
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    (void)fg_linear_create(root, "a", &(fg_linear_options){.in = 2, .out = 2});
    fg_trainer trainer = {.options.divergence.on_divergence = "stop",
                          .options.checkpoints.run_dir = fgt_temp_folder(),
                          .model.optimizer = fg_sgd_create(root, NULL)};
    const fgi_diverged what = {
        .reason = FGI_BAD_GRADIENT, .step = 6, .first_step = 4, .loss = (double)NAN};
    divergence = (fgi_divergence){.of = uses_of(&trainer), .at = {.lr_factor = 1, .rollbacks = 2}};
    assert_int_equal(fgi_divergence_describe(&divergence, &what, &err), FG_ENUMERIC);
    fgt_ok(fgi_file_read(fgt_path(trainer.options.checkpoints.run_dir, "divergence.jsonl"), 4096,
                         &line, &size, &err));
    assert_string_equal(line, "{\"step\":6,\"reason\":\"gradient_not_finite\",\"loss\":null,"
                              "\"first_bad_step\":4,\"parameter\":null,\"epoch\":null,"
                              "\"samples\":null,\"action\":\"stop\",\"checkpoint\":null,"
                              "\"rollbacks\":2}\n");
    fgi_free(line);
    fg_module_destroy(root);
}

/* ---- checkpoints to go back to --------------------------------------------------------------- */

/* How many checkpoints are kept: none is removed while one of them may be needed. */
static void checkpoints_are_kept_while_it_is_uncertain(void **state)
{
    static fgi_divergence divergence;
    static const struct {
        const char *action;
        int64_t high, returned;
        int given, keep;
    } rows[] = {{"stop", 0, 0, 3, 3},     {"stop", 0, 0, 1, 1},      {"stop", 1, 0, 3, -1},
                {"ignore", 1, 0, 3, 3},   {"ignore", 0, 0, 1, 1},    {"rollback", 0, 0, 1, 2},
                {"rollback", 0, 0, 2, 2}, {"rollback", 0, 1, 3, -1}, {"rollback", 0, 0, -1, -1},
                {"stop", 0, 1, 3, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_trainer trainer = {.options.divergence.on_divergence = rows[i].action,
                              .options.checkpoints.keep_checkpoints = rows[i].given};
        divergence = (fgi_divergence){.of = uses_of(&trainer),
                                      .at = {.high = rows[i].high, .returned = rows[i].returned}};
        assert_int_equal(fgi_divergence_keep(&divergence), rows[i].keep);
        assert_int_equal(fgi_divergence_is_suspected(&divergence),
                         rows[i].keep == -1 && rows[i].high);
    }
}

/* The last good one, or, if training has returned to that in vain, the one before it. */
static void the_good_checkpoint_is_the_last_one(void **state)
{
    static fgi_divergence divergence;
    fg_trainer trainer = {.options.divergence.rollback_lr_factor = 0.5};
    (void)state;
    divergence = (fgi_divergence){
        .of = uses_of(&trainer), .at.lr_factor = 1, .is_noticed = true, .batch_count = 9};
    fgi_divergence_note_checkpoint(&divergence, "a", 1, false);
    fgi_divergence_note_checkpoint(&divergence, "b", 2, false);
    fgi_divergence_note_checkpoint(&divergence, "c", 3, true); /* suspected */
    assert_string_equal(fgi_divergence_good(&divergence), "b");
    fgi_divergence_note_checkpoint(&divergence, "b-again", 2, false);
    assert_string_equal(divergence.older, "a");
    assert_string_equal(fgi_divergence_good(&divergence), "b-again");
    fgi_divergence_went_back(&divergence, 0, 1);
    assert_string_equal(fgi_divergence_good(&divergence), "a");
    assert_true(!divergence.is_noticed && divergence.batch_count == 0);
    fgi_divergence_note_checkpoint(&divergence, "b-again", 4, false); /* it is known already */
    assert_string_equal(fgi_divergence_good(&divergence), "a");
    fgi_divergence_went_back(&divergence, 1, 0.5);
    assert_true(divergence.at.rollbacks == 2 && divergence.at.lr_factor == 0.25);
    fgi_divergence_note_checkpoint(&divergence, "d", 5, false);
    assert_string_equal(fgi_divergence_good(&divergence), "d");
    assert_string_equal(divergence.older, "b-again");
    fgi_divergence_went_back(&divergence, 2, 0.25);
    divergence.older[0] = '\0';
    assert_string_equal(fgi_divergence_good(&divergence), "d"); /* there is no other */
}

static const struct {
    const char *action;
    int64_t high, step;       /* of the checkpoint; that of the good one is 5 */
    const char *good, *older; /* in it */
    const char *loaded_good, *loaded_older;
    int64_t good_step;
} named[] = {{"stop", 0, 8, NULL, NULL, "r/c/new", "", 8},
             {"stop", 2, 8, "five", NULL, "r/c/five", "", -1},
             {"rollback", 0, 8, NULL, "five", "r/c/new", "r/c/five", 8},
             {"rollback", 2, 8, "five", "four", "r/c/five", "r/c/four", -1},
             {"rollback", 0, 5, NULL, "four", "r/c/new", "r/c/four", 5},
             {"ignore", 2, 8, NULL, NULL, "", "", -1}};

/* A checkpoint names the good one if it is not good itself, and for rollbacks the one before. */
static void checkpoints_name_good_ones(void **state)
{
    static fgi_divergence divergence, loaded;
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        fg_error err = {0};
        fg_trainer trainer = {.options.divergence.on_divergence = named[i].action,
                              .cursor.step = named[i].step};
        divergence = (fgi_divergence){.of = uses_of(&trainer),
                                      .at = {.high = named[i].high,
                                             .lines = 3,
                                             .best = 0.25,
                                             .rollbacks = 1,
                                             .lr_factor = 0.5},
                                      .good_step = 5,
                                      .good = "run/checkpoints/five",
                                      .older = "run/checkpoints/four"};
        json_t *object = json_pack("{s:I}", "step", (json_int_t)named[i].step);
        assert_true(fgi_divergence_save(&divergence, object));
        const json_t *own = json_object_get(object, "divergence");
        const char *good = json_string_value(json_object_get(own, "good"));
        const char *older = json_string_value(json_object_get(own, "older"));
        assert_string_equal(good != NULL ? good : "-", named[i].good != NULL ? named[i].good : "-");
        assert_string_equal(older != NULL ? older : "-",
                            named[i].older != NULL ? named[i].older : "-");
        loaded = (fgi_divergence){.good = "x", .older = "y"};
        fgt_ok(fgi_divergence_load(&loaded, object, "r/c/new", &err));
        assert_string_equal(loaded.good, named[i].loaded_good);
        assert_string_equal(loaded.older, named[i].loaded_older);
        assert_int_equal(loaded.good_step, named[i].good_step);
        assert_memory_equal(&loaded.at, &divergence.at, sizeof loaded.at);
        json_decref(object);
    }
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* What a fit begins with, and the first step that is a reference. */
static void a_fit_begins_without_what_ended_the_last(void **state)
{
    static fgi_divergence divergence;
    static const struct {
        double sum, weight;
        bool is_reference;
    } rows[] = {{16, 8, true}, {16, 7.9, false}, {(double)INFINITY, 8, false}, {0, 0, false}};
    fg_trainer trainer = {.options.divergence.divergence_patience = 3};
    (void)state;
    for (int high = 2; high <= 4; high++)
        for (int64_t step = 0; step < 2; step++) {
            divergence = (fgi_divergence){.of = uses_of(&trainer),
                                          .is_noticed = true,
                                          .has_warned = true,
                                          .batch_count = 5,
                                          .at = {.high = high, .bad = 7}};
            trainer.cursor.step = step;
            fgi_divergence_start(&divergence);
            assert_false(divergence.is_noticed || divergence.has_warned);
            assert_int_equal(divergence.batch_count, 0);
            assert_int_equal(divergence.at.high, high < 3 ? high : 0);
            assert_int_equal(divergence.at.bad, step == 0 ? 0 : 7);
        }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_divergence_first(&divergence, rows[i].sum, rows[i].weight);
        assert_int_equal(divergence.at.has_start, rows[i].is_reference);
        assert_true(divergence.at.start == (rows[i].is_reference ? 2 : 0));
    }
}

static char line[512];

static void keep_line(void *self, fg_log_level level, const char *text)
{
    (void)self, (void)level;
    (void)snprintf(line, sizeof line, "%s", text);
}

/* At its end, a fit whose loss has risen far above that of the first step is warned of, once. */
static void a_fit_that_ends_high_is_warned_of(void **state)
{
    static fgi_divergence divergence;
    fg_trainer trainer = {.client = NULL};
    (void)state;
    fg_log_set(keep_line, NULL);
    for (int i = 0; i < 4; i++) {
        divergence = (fgi_divergence){.of = uses_of(&trainer),
                                      .has_warned = i == 3,
                                      .at = {.exploded = i > 0, .high = i, .start = 2.30261}};
        line[0] = '\0';
        fgi_divergence_end(&divergence);
        assert_string_equal(line, i == 0 || i == 3 ? ""
                                  : i == 1
                                      ? "training has probably diverged: in the last 1 log line, "
                                        "the loss has not returned to its value at the first step "
                                        "(2.303); use a smaller learning rate"
                                      : "training has probably diverged: in the last 2 log lines, "
                                        "the loss has not returned to its value at the first step "
                                        "(2.303); use a smaller learning rate");
    }
    fg_log_set(NULL, NULL);
}

/* What the optimizer reports after step 7. */
static const struct {
    float bad, lost;
    const char *action, *precision, *says;
} reports[] = {
    {1, 0, "ignore", "32-true",
     "up to step 7 the gradients of 1 step were not finite; detect_anomaly names the parameter"},
    {2, 0.25F, "ignore", "bf16-true",
     "up to step 7 the gradients of 2 steps were not finite; detect_anomaly names the parameter"},
    {1, 0.25F, "stop", "bf16-true", ""},
    {0, 0.256F, "stop", "bf16-true",
     "precision 'bf16-true': step 7 left 26 % of the elements that it updates unchanged, because "
     "the update was less than half a unit in the last place; use 'bf16-mixed', or "
     "stochastic_rounding"},
    {0, 1, "ignore", "16-true",
     "precision '16-true': step 7 left 100 % of the elements that it updates unchanged, because "
     "the update was less than half a unit in the last place; use '16-mixed', or "
     "stochastic_rounding"},
};

static void advice_on_updates_is_given_once(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    (void)fg_linear_create(root, "a", &(fg_linear_options){.in = 2, .out = 2});
    fg_trainer trainer = {.model.optimizer = fg_sgd_create(root, NULL)};
    fg_log_set(keep_line, NULL);
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        const float values[FGI_HEALTH] = {
            [FGI_HEALTH_BAD] = reports[i].bad, [FGI_HEALTH_LOST] = reports[i].lost};
        trainer.options.divergence.on_divergence = reports[i].action;
        trainer.precision = fgi_precision_find(reports[i].precision, &err);
        trainer.health = (fgi_health){.of = {.options = &trainer.options,
                                             .precision = trainer.precision,
                                             .optimizer = &trainer.model.optimizer}};
        fg_result result = {0};
        fgi_health_result(&trainer.health, &result); /* nothing was read */
        assert_true(result.nonfinite_steps == -1 && isnan(result.lost_updates));
        for (int64_t k = 0; k < 2; k++) {
            line[0] = '\0';
            fgi_health_take(&trainer.health, values, 7 + k);
            assert_string_equal(line, k == 0 ? reports[i].says : "");
        }
    }
    fg_log_set(NULL, NULL);
    fg_module_destroy(root);
}

/* Two steps had gradients that are not finite, the first of them step 4; it is noticed at step 7.
 * Before, `ignored` of them were. */
static const struct {
    const char *action;
    int64_t ignored;
    bool is_search;
    const char *says; /* NULL: nothing */
    int64_t ignored_then;
} bad_gradients[] = {{"ignore", 0, false, NULL, 2},
                     {"stop", 0, true, NULL, 0},
                     {"stop", 0, false, "training has diverged at step 4: gradients", 0},
                     {"stop", 1, false, "training has diverged at step 7: gradients", 1},
                     {"stop", 2, false, NULL, 2}};

static void bad_gradients_are_noticed(void **state)
{
    static fgi_divergence divergence;
    const float values[FGI_HEALTH] = {[FGI_HEALTH_BAD] = 2, [FGI_HEALTH_STEP] = 4};
    fg_error err = {0};
    fg_module *root = NULL;
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    (void)fg_linear_create(root, "a", &(fg_linear_options){.in = 2, .out = 2});
    fg_trainer trainer = {.precision = fgi_precision_find("32-true", &err),
                          .call.is_running = true,
                          .model.optimizer = fg_sgd_create(root, NULL)};
    trainer.health = (fgi_health){.of = {.options = &trainer.options,
                                         .precision = trainer.precision,
                                         .optimizer = &trainer.model.optimizer}};
    fg_log_set(keep_line, NULL);
    for (size_t i = 0; i < sizeof bad_gradients / sizeof bad_gradients[0]; i++) {
        divergence = (fgi_divergence){.of = uses_of(&trainer),
                                      .at = {.lr_factor = 1, .bad = bad_gradients[i].ignored}};
        trainer.options.divergence.on_divergence = bad_gradients[i].action;
        trainer.call.is_search = bad_gradients[i].is_search;
        fgi_health_take(&trainer.health, values, 7);
        line[0] = '\0'; /* the advice */
        const fg_status status = fgi_divergence_check(&divergence, 7, &err);
        assert_int_equal(status, bad_gradients[i].says != NULL ? FG_ENUMERIC : FG_OK);
        if (status != FG_OK && strstr(err.message, bad_gradients[i].says) == NULL)
            fail_msg("%s", err.message);
        assert_string_equal(line, "");
        assert_int_equal(divergence.at.bad, bad_gradients[i].ignored_then);
    }
    fg_log_set(NULL, NULL);
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(advice_on_updates_is_given_once),
    cmocka_unit_test(bad_gradients_are_noticed),
    cmocka_unit_test(checkpoints_are_kept_while_it_is_uncertain),
    cmocka_unit_test(the_good_checkpoint_is_the_last_one),
    cmocka_unit_test(checkpoints_name_good_ones),
    cmocka_unit_test(the_error_names_the_parameter),
    cmocka_unit_test(the_error_says_what_happened),
    cmocka_unit_test(the_file_has_the_first_bad_step),
    cmocka_unit_test(a_fit_begins_without_what_ended_the_last),
    cmocka_unit_test(a_fit_that_ends_high_is_warned_of),
    cmocka_unit_test(lines_are_compared_with_the_lowest),
    cmocka_unit_test(the_first_step_is_a_reference),
    cmocka_unit_test(older_checkpoints_are_read),
};
FGT_MAIN(tests)
