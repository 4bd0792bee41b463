/* test_train_measure.c - values that callbacks add to the log lines: their order, compared
 * with docs/hooks.md, what is refused, and those of host_stats. The number of metrics that a step
 * logs. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "toy_place.h"
#include "callback/callback_rows.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static char text[4096]; /* of all notes */

typedef struct note {
    const char *name;  /* of the callback */
    const char *value; /* that it adds; NULL: none */
    double number;
    int extra; /* that many more values */
} note;

static void put(const note *n, const char *event, const fg_progress *at)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%-7s %-8s step %d ", n->name, event,
                   (int)at->step);
    for (size_t i = 0; i < at->metric_count; i++)
        strcat(strcat(text, " "), at->metrics[i].name);
    strcat(text, "\n");
}

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    const note *n = self;
    (void)err;
    put(n, "measure", at);
    if (n->value != NULL)
        fg_log_values_add(values, n->value, n->number);
    for (int i = 0; i < n->extra; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "more%d", i);
        fg_log_values_add(values, name, i);
    }
    return FG_OK;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    put(self, "log", at);
    return FG_OK;
}

static const fg_callback_ops ops = {.measure = on_measure, .log = on_log};

/* A fit of one epoch, 3 steps, with a line each 2; the lines of metrics.jsonl. */
static fg_status fit(note *notes, size_t count, char **lines, fg_error *out_err)
{
    fg_error err = {0};
    fg_trainer_options options = {
        .devices.client = client, .output.log_every = 2, .checkpoints.run_dir = fgt_temp_folder()};
    fg_trainer *trainer = NULL;
    const fg_fit_data data = the_data();
    size_t size = 0;
    text[0] = '\0';
    fgt_ok(toy_create(&options, &trainer, &err));
    for (size_t i = 0; i < count; i++)
        fgt_ok(fg_trainer_add_callback(trainer, &ops, &notes[i], &err));
    const fg_status status = fg_trainer_fit(trainer, &task, &data, out_err);
    fg_trainer_destroy(trainer);
    if (lines != NULL)
        fgt_ok(fgi_file_read(fgt_path(options.checkpoints.run_dir, "metrics.jsonl"), 1 << 20, lines,
                             &size, &err));
    return status;
}

static void the_order_is_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    note notes[] = {{"first", "speed", -0.5, 0}, {"second", "unknown", (double)NAN, 0}};
    char *lines = NULL, *docs = NULL, expected[4300];
    size_t size = 0;
    fgt_ok(fit(notes, 2, &lines, &err));
    fgt_ok(fgi_file_read(FGT_SOURCE_DIR "/docs/hooks.md", 1 << 20, &docs, &size, &err));
    (void)snprintf(expected, sizeof expected, "<!-- recorded: two callbacks -->\n```\n%s```\n",
                   text);
    if (strstr(docs, expected) == NULL)
        fail_msg("docs/hooks.md lacks this:\n%s", expected);
    assert_non_null(strstr(lines, "\"speed\": -0.5"));
    assert_null(strstr(lines, "unknown"));
    fgi_free(lines);
    fgi_free(docs);
}

static void values_that_cannot_be_added_end_the_run(void **state)
{
    (void)state;
    static const struct {
        note at;
        const char *message;
    } rows[] = {
        {{"one", "train_loss", 1, 0}, "the log line already has a value 'train_loss'"},
        {{"one", "", 1, 0}, "value of a log line: expected a name of 1 to 63 letters"},
        {{"one", "a\"b", 1, 0}, "wall_time, got 'a\"b'"}, /* would break the files of the log */
        {{"one", "a,b", 1, 0}, "wall_time, got 'a,b'"},
        {{"one", "\xff", 1, 0}, "wall_time, got "},
        {{"one", "lr", 1, 0}, "wall_time, got 'lr'"},
        {{"one", "wall_time", 1, 0}, "wall_time, got 'wall_time'"},
        {{"one", "v", 1, 32}, "value 'more31' of a log line: callbacks can add at most 32 values"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        note one = rows[i].at;
        assert_int_equal(fit(&one, 1, NULL, &err), FG_EINVAL);
        assert_non_null(strstr(err.message, rows[i].message));
        assert_non_null(strstr(err.message, "saved in ")); /* like an error in any other hook */
    }
    fg_error err = {0};
    note most = {"most", "v", 1, 31};
    fgt_ok(fit(&most, 1, NULL, &err));
    note both[] = {{"wrong", "lr", 1, 0}, {"right", "v", 1, 0}}; /* only one of them is blamed */
    assert_int_equal(fit(both, 2, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(text, "right   log      step 2  train_acc train_loss v\n"));
}

static fg_status end_early(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    (void)self, (void)at, (void)values;
    return fg_error_set(err, FG_ESTOPPED, "measured enough");
}

/* As of the other hooks. */
static void a_stop_with_a_reason_is_a_normal_end(void **state)
{
    (void)state;
    fg_error err = {0};
    static const fg_callback_ops early = {.measure = end_early};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = NULL;
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client, .output.log_every = 2},
                      &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &early, NULL, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_string_equal(fg_trainer_result(trainer)->stop_reason, "measured enough");
    fg_trainer_destroy(trainer);
}

static void host_stats_adds_plausible_values(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    void *self = NULL;
    static recorder r;
    const fg_fit_data data = the_data();
    fgt_ok(FGT_ROW_BEGIN(&fgi_host_stats_row, NULL, &self, &err));
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client, .output.log_every = 1},
                      &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, fgi_host_stats_row.ops, self, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    static const struct {
        const char *name;
        double least, most;
    } rows[] = {{" host_cpu_percent=", 0, 1e6},
                {" host_rss_bytes=", 1 << 20, 1e12},
                {" host_threads=", 1, 500},
                {" host_available_bytes=", 1 << 20, 1e15}};
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = strstr(r.logged, rows[i].name);
        assert_non_null(at);
        const double value = strtod(at + strlen(rows[i].name), NULL);
        assert_true(value >= rows[i].least && value <= rows[i].most);
        assert_true(strstr(rows[i].name, "_bytes") == NULL || value <= machine);
        assert_true(i != 1 || value > 1e9 || fmod(value, 4096) == 0); /* whole pages */
    }
}

/* Names that a step logs before the metrics of classes, and what follows. */
static const struct {
    int count;
    const char *name, *says; /* a further name, NULL: none; "": no error */
} classified[] = {
    {11, NULL, ""},
    {12, NULL, "log 'loss': a step logs at most 16 names"},
    {13, NULL,
     "log_classification: 'recall' is logged twice in one step, or there are more than 16"},
    {0, "f1", "log_classification: 'f1' is logged twice"},
    {0, "precision", "log_classification: 'precision' is logged twice"},
    {0, "recall", "log_classification: 'recall' is logged twice"},
    {0, "acc", "log 'acc': logged twice"}};
static size_t classified_row;

static fg_tensor classify(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    const fg_tensor label = fg_batch_field(batch, "y"),
                    loss = fg_cross_entropy(logits, label, NULL);
    for (int i = 0; i < classified[classified_row].count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        fg_step_log(step, name, loss);
    }
    if (classified[classified_row].name != NULL)
        fg_step_log(step, classified[classified_row].name, loss);
    fg_step_log_classification(step, logits, label);
    return loss;
}

static void metrics_of_classes_have_room(void **state)
{
    (void)state;
    fg_task_ops own = toy_ops;
    const fg_task classifies = {.name = "toy", .self = &model, .ops = &own};
    const fg_fit_data data = the_data();
    own.val_step = classify;
    for (size_t i = 0; i < sizeof classified / sizeof classified[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        classified_row = i;
        const fg_status status = fg_trainer_validate(trainer, &classifies, &data, &err);
        assert_int_equal(status, classified[i].says[0] == '\0' ? FG_OK : FG_EINVAL);
        if (status != FG_OK && strstr(err.message, classified[i].says) == NULL)
            fail_msg("%s", err.message);
        assert_int_equal(fg_trainer_result(trainer)->metric_count, status == FG_OK ? 16 : 0);
        fg_trainer_destroy(trainer);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_order_is_as_docs_say),
    cmocka_unit_test(values_that_cannot_be_added_end_the_run),
    cmocka_unit_test(a_stop_with_a_reason_is_a_normal_end),
    cmocka_unit_test(host_stats_adds_plausible_values),
    cmocka_unit_test(metrics_of_classes_have_room),
};
int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
