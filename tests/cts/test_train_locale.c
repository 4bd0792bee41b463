/* test_train_locale.c - a complete run in a program that has called setlocale: reading a CSV file,
 * compiling, writing metrics and checkpoints, resuming, predicting. Everything is byte for byte the
 * same as in the locale "C". tests/unit/under_locale runs this under other
 * locales.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "toy.h"

enum { ROWS = 40 };

static fg_error err;

static int close_all(void **state) { return fgi_alloc_live() != 0; }

/* Six numbers, some with more digits than a double can represent, and one of three classes. */
static void write_data(const char *path)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "a,b,c,d,e,f,kind\n");
    for (int64_t i = 0; i < ROWS; i++) {
        float x[TOY_FEATURES];
        const int32_t label = toy_sample(i, 3, x);
        for (int f = 0; f < TOY_FEATURES; f++)
            fgi_buf_printf(&text, "%.*f,", 3 + 7 * f, (double)x[f]);
        fgi_buf_printf(&text, "%c\n", 'A' + label);
    }
    fgt_write(path, text.data, text.size);
    fgi_buf_fini(&text);
}

/* The files of a run that people and programs read. */
typedef struct traces {
    char *schema, *rows, *metrics, *progress;
    float first_prediction;
    double loss;
} traces;

static void free_traces(traces *t)
{
    free(t->schema);
    fgi_free(t->rows);
    fgi_free(t->metrics);
    free(t->progress);
}

static char *read_text(const char *path)
{
    char *text;
    size_t size;
    fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
    return text;
}

static fg_status keep_first(void *self, const fg_type *type, const void *rows, int64_t first,
                            fg_error *e)
{
    if (first == 0)
        *(float *)self = ((const float *)rows)[0];
    return FG_OK;
}

static void fit(fg_client *client, const fg_csv_parts *parts, const char *folder, bool resume,
                FILE *out, traces *t)
{
    toy model = {.dropout = 0.25, .optimizer = "adamw"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data data = {
        .train = parts->train, .val = parts->val, .predict = parts->val, .batch_size = 8};
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = resume ? 4 : 2,
                                                  .seed = 5,
                                                  .checkpoints.run_dir = folder,
                                                  .checkpoints.resume = resume ? "last" : NULL,
                                                  .output.log_every = 1,
                                                  .output.progress = out});
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    t->loss = toy_metric(trainer, "val_loss");
    fgt_ok(fg_trainer_predict(trainer, &task, &data, keep_first, &t->first_prediction, &err));
    fg_trainer_destroy(trainer);
}

/* Data from a file, two epochs, a resume from the checkpoint, two more epochs, predictions; without
 * a compile cache. */
static traces run(const char *path)
{
    traces t = {0};
    fg_client *client = NULL;
    fg_csv_parts parts;
    fg_csv_schema *again;
    size_t size;
    const char *folder = fgt_temp_folder();
    FILE *out = open_memstream(&t.progress, &size);
    const fg_client_options options = {.accelerator = "cpu", .cache_dir = fgt_cache("")};
    fgt_ok(fg_client_open(&options, &client, &err));
    fgt_ok(fg_csv_load(path, &(fg_csv_options){.val_fraction = 0.25}, &parts, &err));
    t.schema = strdup(fg_csv_schema_json(parts.schema));
    fgt_ok(fg_csv_schema_parse(t.schema, strlen(t.schema), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), t.schema);
    fit(client, &parts, folder, false, out, &t);
    fit(client, &parts, folder, true, out, &t);
    (void)fclose(out);
    t.metrics = read_text(fgt_path(folder, "metrics.csv"));
    t.rows = read_text(fgt_path(folder, "metrics.jsonl"));
    fg_csv_schema_destroy(again);
    fg_dataset_destroy(parts.train);
    fg_dataset_destroy(parts.val);
    fg_csv_schema_destroy(parts.schema);
    fg_client_close(client);
    return t;
}

static void the_locale_changes_nothing(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "data.csv");
    write_data(path);
    assert_non_null(setlocale(LC_ALL, "C"));
    traces plain = run(path);
    assert_non_null(setlocale(LC_ALL, getenv("FGT_LOCALE") != NULL ? "" : "C"));
    traces here = run(path);
    assert_string_equal(here.schema, plain.schema);
    assert_string_equal(here.metrics, plain.metrics);
    assert_string_equal(here.rows, plain.rows);
    assert_true(here.loss == plain.loss && here.first_prediction == plain.first_prediction);
    assert_non_null(strstr(here.progress, "lr 0."));
    free_traces(&plain);
    free_traces(&here);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(the_locale_changes_nothing)};

int main(void) { return cmocka_run_group_tests(tests, NULL, close_all) == 0 ? 0 : 1; }
