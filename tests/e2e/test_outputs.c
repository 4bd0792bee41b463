/* test_outputs.c - where the program writes: files, links, devices, FIFOs and standard output; and
 * that paths that cannot be written are detected before any work. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char digits[] =
    "model: {name: mlp, hidden: [16]}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_steps: 2, seed: 7, run_dir: run}\n";

/* A fresh folder with a run in it. */
static const char *trained(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    (void)program_gives(0, folder, "fit digits.yaml -q --draw=never");
    return folder;
}

static mode_t kind_of(const char *folder, const char *name)
{
    struct stat info;
    assert_int_equal(lstat(fgt_path(folder, name), &info), 0);
    return info.st_mode & S_IFMT;
}

static void predictions_reach_any_kind_of_file(void **state)
{
    const char *folder = trained();
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q > plain.csv"), 0);
    const char *plain = file_text(folder, "plain.csv");
    assert_non_null(strstr(plain, "index,prediction,p_0"));
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=- > dash.csv"), 0);
    assert_string_equal(file_text(folder, "dash.csv"), plain);
    assert_int_equal(shell(folder, "{ echo first; fulgurite predict digits.yaml -q "
                                   "--out=/dev/stdout; echo last; } > device.csv"),
                     0);
    const char *device = file_text(folder, "device.csv");
    assert_int_equal(strlen(device), strlen(plain) + strlen("first\nlast\n"));
    assert_non_null(strstr(device, plain));
    assert_int_equal(shell(folder, "mkfifo fifo; cat fifo > passed.csv & "
                                   "fulgurite predict digits.yaml -q --out=fifo && wait"),
                     0);
    assert_string_equal(file_text(folder, "passed.csv"), plain);
    assert_int_equal(kind_of(folder, "fifo"), S_IFIFO);
    assert_int_equal(shell(folder, "mkdir there; ln -s there/p.csv link.csv; "
                                   "fulgurite predict digits.yaml -q --out=link.csv"),
                     0);
    assert_int_equal(kind_of(folder, "link.csv"), S_IFLNK);
    assert_string_equal(file_text(folder, "there/p.csv"), plain);
}

/* The formats agree, row by row; files are written while the predictions arrive. */
static void formats_agree(void **state)
{
    (void)state;
    const char *folder = trained();
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=p.csv "
                                   "--trainer.batch_size=50"),
                     0);
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=p.jsonl "
                                   "--trainer.batch_size=7"),
                     0);
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=p.npy"), 0);
    char *csv = file_text(folder, "p.csv"), *lines = file_text(folder, "p.jsonl");
    fg_error err = {0};
    void *bytes = NULL;
    size_t size = 0, count = 0;
    fgt_ok(fg_file_read(fgt_path(folder, "p.npy"), &bytes, &size, &err));
    (void)strsep(&csv, "\n"); /* the header */
    for (char *line, *row; (line = strsep(&lines, "\n")) != NULL && *line != '\0'; count++) {
        json_t *object = json_loads(line, 0, NULL);
        row = strsep(&csv, "\n");
        assert_non_null(row);
        assert_int_equal(json_integer_value(json_object_get(object, "index")), count);
        assert_int_equal(strtol(strsep(&row, ","), NULL, 10), count);
        assert_string_equal(json_string_value(json_object_get(object, "prediction")),
                            strsep(&row, ","));
        const json_t *p = json_object_get(object, "p");
        assert_int_equal(json_array_size(p), 10);
        for (size_t k = 0; k < 10; k++) {
            const double value = json_number_value(json_array_get(p, k));
            char text[32];
            (void)snprintf(text, sizeof text, "%s", strsep(&row, ","));
            fgt_close("csv", strtod(text, NULL), value, 1e-6, 1e-6);
            float number;
            assert_true(size >= (count + 1) * 10 * sizeof number);
            memcpy(&number, (const char *)bytes + 128 + (count * 10 + k) * sizeof number,
                   sizeof number);
            fgt_close("npy", (double)number, value, 1e-6, 1e-6);
        }
        json_decref(object);
    }
    assert_int_equal(count, 359);
    assert_int_equal(size, 128 + count * 10 * sizeof(float));
    free(bytes);
}

/* TSV and JSON are the same text, apart from separators. What is not supported is refused before
 * any work. */
static void other_formats(void **state)
{
    (void)state;
    const char *folder = trained();
    assert_int_equal(shell(folder,
                           "fulgurite predict digits.yaml -q --out=p.tsv && "
                           "fulgurite predict digits.yaml --out=/dev/stdout >same.csv 2>err && "
                           "tr '\\t' , < p.tsv | cmp - same.csv && "
                           "fulgurite predict digits.yaml -q --out=p.json && "
                           "fulgurite predict digits.yaml --out=same.jsonl 2>>err && "
                           "! grep suffix err && "
                           "sed '1d;$d;s/,$//' p.json | cmp - same.jsonl"),
                     0);
    json_t *all = json_load_file(fgt_path(folder, "p.json"), 0, NULL);
    assert_int_equal(json_array_size(all), 359);
    json_decref(all);
    contains(program_gives(2, folder, "predict digits.yaml --out=p.parquet")->err,
             "'p.parquet': predictions are written as .csv, .tsv, .json, .jsonl or .npy: .parquet "
             "is not supported\n");
    contains(program_gives(2, folder,
                           "predict digits.yaml "
                           "'--trainer.callbacks=prediction_writer: {path: p.xlsx}'")
                 ->err,
             ".xlsx is not supported\nor set file_format");
    contains(program_gives(0, folder, "predict digits.yaml --out=plain")->err,
             "note: 'plain' has no suffix, so it is written as CSV\n");
    assert_null(strstr(program_gives(0, folder, "predict digits.yaml --out=named.csv")->err,
                       "has no suffix"));
    assert_int_equal(shell(folder, "cmp plain same.csv && test ! -e p.parquet"), 0);
}

/* The callback writes the same files, and only in predict: a fit, whose confusion matrix needs
 * predictions, and an evaluation do not have it. */
static void a_callback_writes_the_same_predictions(void **state)
{
    (void)state;
    const char *folder = trained();
    static const char both[] = "--trainer.callbacks='prediction_writer: {path: w.jsonl},"
                               "prediction_writer: {path: w.txt, file_format: npy}'";
    char line[512];
    (void)snprintf(line, sizeof line, "fit digits.yaml -q --overwrite --draw=always %s", both);
    contains(program_gives(0, folder, line)->out, "  correct");
    (void)snprintf(line, sizeof line, "validate digits.yaml -q --draw=always %s", both);
    (void)program_gives(0, folder, line);
    assert_int_equal(shell(folder, "test ! -e w.jsonl && test ! -e w.txt"), 0);
    (void)snprintf(line, sizeof line, "predict digits.yaml -q --out=p.jsonl %s", both);
    (void)program_gives(0, folder, line);
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=p.npy"), 0);
    assert_int_equal(shell(folder, "cmp p.jsonl w.jsonl && cmp p.npy w.txt"), 0);
    contains(program_gives(2, folder,
                           "predict digits.yaml -q "
                           "'--trainer.callbacks=prediction_writer: {path: \"\"}'")
                 ->err,
             "expected the path of a file, such as predictions.csv");
    /* those of the run are used when it is named; a copy of its weights has none */
    assert_int_equal(shell(folder, "cp run/checkpoints/step-000000002/model.safetensors . && "
                                   "rm w.jsonl w.txt && "
                                   "fulgurite predict model.safetensors " FGT_SOURCE_DIR
                                   "/share/data/digits/digits.csv.gz -q > all.csv && "
                                   "fulgurite predict run -q --trainer.callbacks=[] > p.csv && "
                                   "test ! -e w.jsonl && "
                                   "fulgurite predict run -q --out=p.jsonl && "
                                   "cmp p.jsonl w.jsonl && test -e w.txt"),
                     0);
}

/* What was there remains when the program is killed while it waits for a batch. */
static void an_early_end_leaves_the_file_as_it_was(void **state)
{
    (void)state;
    const char *folder = trained();
    assert_int_equal(shell(folder, "mkdir out; echo before >out/p.jsonl; "
                                   "export FULGURITE_PLUGIN=" FGT_BINARY_DIR "/fakepjrt.so; "
                                   "FAKEPJRT=hold_from=20 fulgurite predict digits.yaml -q "
                                   "--out=out/p.jsonl --trainer.batch_size=1 & pid=$!; sleep 0.5; "
                                   "kill -9 $pid && ! wait $pid"),
                     0);
    assert_string_equal(file_text(folder, "out/p.jsonl"), "before\n");
}

static void a_full_device_is_an_error(void **state)
{
    const char *folder = trained();
    assert_int_equal(symlink("/dev/full", fgt_path(folder, "full")), 0);
    assert_int_equal(symlink("/dev/full", fgt_path(folder, "full.npy")), 0);
    contains(program_gives(1, folder, "predict digits.yaml -q --out=full")->err,
             "No space left on device");
    contains(program_gives(1, folder, "predict digits.yaml -q --out=full.npy")->err,
             "No space left on device");
    contains(program_gives(1, folder, "validate digits.yaml -q --summary=full")->err,
             "No space left on device");
    assert_int_equal(kind_of(folder, "full"), S_IFLNK);
    assert_int_equal(kind_of(folder, "full.npy"), S_IFLNK);
    assert_int_equal(shell(folder, "fulgurite validate digits.yaml -q --summary=- > s.txt"), 0);
    contains(file_text(folder, "s.txt"), "\"status\": \"done\"");
}

/* Without SIGXFSZ. The blocks of the limit have 512 or 1024 bytes. */
static void a_limit_of_file_sizes_is_an_error(void **state)
{
    (void)state;
    const char *folder = trained();
    assert_int_equal(shell(folder, "ulimit -f 8; fulgurite report run --html=r.html 2> message"),
                     1);
    contains(file_text(folder, "message"), "r.html': File too large");
    assert_false(is_there(folder, "r.html"));
    assert_int_equal(shell(folder, "ulimit -f 8; fulgurite predict digits.yaml -q --out=p.csv "
                                   "2> message"),
                     1);
    contains(file_text(folder, "message"), "p.csv': File too large");
}

static void a_place_that_cannot_be_written_is_found_first(void **state)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    contains(program_gives(2, folder, "fit digits.yaml -q --summary=no/such/s.json")->err,
             "fulgurite fit: --summary: cannot write 'no/such/s.json': No such file or directory");
    contains(program_gives(2, folder, "fit digits.yaml -q --summary=.")->err,
             "fulgurite fit: --summary: cannot write '.': Is a directory");
    assert_false(is_there(folder, "run"));
    contains(program_gives(2, folder, "predict digits.yaml -q --out=no/such/p.csv")->err,
             "fulgurite predict: --out: cannot write 'no/such/p.csv'");
    contains(
        program_gives(2, folder, "plan digits.yaml --topology=v5e-8 --html=no/such/p.html")->err,
        "fulgurite plan: --html: cannot write 'no/such/p.html'");
}

/* If no folder can be created for a new run, that is reported, and nothing is removed. */
static void no_place_for_runs_is_an_error(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    fgt_write(fgt_path(folder, "runs"), "", 0);
    contains(program_gives(1, folder, "fit digits.yaml -q --trainer.run_dir=null")->err,
             "fulgurite fit: cannot create the folder 'runs");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(predictions_reach_any_kind_of_file),
    cmocka_unit_test(formats_agree),
    cmocka_unit_test(other_formats),
    cmocka_unit_test(a_callback_writes_the_same_predictions),
    cmocka_unit_test(an_early_end_leaves_the_file_as_it_was),
    cmocka_unit_test(a_full_device_is_an_error),
    cmocka_unit_test(a_limit_of_file_sizes_is_an_error),
    cmocka_unit_test(a_place_that_cannot_be_written_is_found_first),
    cmocka_unit_test(no_place_for_runs_is_an_error),
};
TRAINING_MAIN(tests)
