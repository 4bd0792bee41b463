/* test_standalone.c - self-contained checkpoints: evaluation and prediction without the training
 * data, given a run, last or best, a folder, or a copy of the tensors; rejected with a different
 * model or different preprocessing. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fulgurite/ckpt.h>
#include "base/file.h"

enum { ROWS = 120 };

static const char *const colours[] = {"red", "green", "blue"};
static const char *const animals[] = {"cat", "dog", "eel"};

/* Row i: two numbers, a category, and the animal that follows from the category. */
static void put_row(FILE *out, int i, const char *format)
{
    for (; *format != '\0'; format++)
        switch (*format) {
        case 'a': (void)fprintf(out, "%g", 5 + i % 7 / 2.0); break;
        case 'b': (void)fprintf(out, "%s", colours[i % 3]); break;
        case 'c': (void)fprintf(out, "%g", i % 11 / 4.0 - 1); break;
        case 'y': (void)fprintf(out, "%s", animals[i % 3]); break;
        default: (void)fputc(*format, out); break;
        }
    (void)fputc('\n', out);
}

/* "a,b,c,y" is the header and the order of the cells. */
static void write_csv(const char *folder, const char *name, const char *columns, int count,
                      const char *more)
{
    FILE *out = fopen(fgt_path(folder, name), "wb");
    assert_non_null(out);
    (void)fprintf(out, "%s\n", columns);
    for (int i = 0; i < count; i++)
        put_row(out, i, columns);
    (void)fputs(more, out);
    (void)fclose(out);
}

static const char config[] = "model: {hidden: [16], activation: relu}\n"
                             "data: {format: csv, path: train.csv, val: val.csv}\n"
                             "optimizer: {lr: 0.05}\n"
                             "trainer: {max_epochs: 5, seed: 3, keep_checkpoints: 0}\n";

/* A folder with a run, runs/zoo-1, whose training file is gone. */
static const char *trained(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "zoo.yaml"), config, strlen(config));
    write_csv(folder, "train.csv", "a,b,c,y", ROWS, "");
    write_csv(folder, "val.csv", "y,c,b,a", 40, "");
    (void)program_gives(0, folder, "fit zoo.yaml -q --trainer.ckpt_every_epochs=1");
    assert_int_equal(rename(fgt_path(folder, "train.csv"), fgt_path(folder, "gone.csv")), 0);
    return folder;
}

static char *kept(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

/* The run's folder, a word, a pointer, a checkpoint, a copy of its tensors, the configuration. */
static void every_way_to_name_a_checkpoint(void **state)
{
    static const char *const args[] = {"runs/zoo-1",
                                       "runs/zoo-1///",
                                       "last",
                                       "runs/zoo-1/checkpoints",
                                       "runs/zoo-1/checkpoints/last",
                                       "runs/zoo-1/checkpoints/step-000000020",
                                       "copy.safetensors",
                                       "--ckpt=copy.safetensors",
                                       "--ckpt=runs/zoo-1",
                                       "zoo.yaml",
                                       "zoo.yaml --ckpt=copy.safetensors",
                                       "runs/zoo-1 --ckpt=last",
                                       "last val.csv",
                                       "last --data.test=nowhere.csv --data.predict=nowhere.csv"};
    char command[256];
    const char *folder = trained();
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && cp runs/zoo-1/checkpoints/$(cat "
                   "runs/zoo-1/checkpoints/last)/model.safetensors copy.safetensors",
                   folder);
    assert_int_equal(system(command), 0);
    char *best = kept(program_gives(0, folder, "validate best -q")->out);
    char *last = kept(program_gives(0, folder, "validate last -q")->out);
    for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
        (void)snprintf(command, sizeof(command), "validate %s", args[i]);
        const outcome *o = program_gives(0, folder, command);
        contains(o->err, "checkpoint: ");
        contains(o->err, "step 20, epoch 5)");
        if (strcmp(o->out, last) != 0 && strcmp(o->out, best) != 0)
            fail_msg("validate %s gives:\n%s", args[i], o->out);
    }
    contains(program_gives(0, folder, "validate runs/zoo-1 --ckpt=last")->err,
             "checkpoint: runs/zoo-1/checkpoints/step-000000020 (run runs/zoo-1, last, step 20, "
             "epoch 5)\n");
    contains(program_gives(0, folder, "validate runs/zoo-1 --ckpt=step-000000004")->err,
             "step 4, epoch 1)\n");
    free(best);
    free(last);
    (void)state;
}

static void last_is_of_the_newest_run(void **state)
{
    const char *folder = trained();
    (void)program_gives(0, folder, "fit zoo.yaml -q --data.path=gone.csv --trainer.max_epochs=1");
    contains(program_gives(0, folder, "validate last")->err, "run runs/zoo-2, best, step 4,");
    contains(program_gives(0, folder, "validate last --ckpt=last")->err,
             "run runs/zoo-2, last, step 4,");
    contains(program_gives(2, folder, "validate best --ckpt=last")->err,
             "'best' and --ckpt=last name different checkpoints");
    contains(program_gives(0, folder, "validate last --trainer.run_dir=runs/zoo-1")->err,
             "run runs/zoo-1, best, step ");
    contains(program_gives(0, folder, "report last")->out, "Run runs/zoo-2\n");
    contains(program_gives(1, fgt_temp_folder(), "validate last")->err,
             "fulgurite validate: last: there is no run in 'runs' here\n");
    contains(program_gives(0, folder, "show best")->err, "run runs/zoo-2, best, step 4,");
    /* the newest run may have no checkpoint yet: it is not passed over */
    assert_int_equal(shell(folder, "mkdir runs/zoo-3 && echo '{}' > runs/zoo-3/metrics.jsonl && "
                                   "touch -d 2100-01-01 runs/zoo-3/metrics.jsonl"),
                     0);
    contains(program_gives(1, folder, "predict last")->err,
             "last: 'runs/zoo-3', the newest run in 'runs', has no checkpoint: name another run");
    assert_int_equal(shell(folder, "mv runs/zoo-3/metrics.jsonl runs/zoo-3/sweep.json"), 0);
    contains(program_gives(1, folder, "predict last")->err,
             "last: 'runs/zoo-3', the newest in 'runs', is a sweep: name one of its runs");
    assert_int_equal(shell(folder, "rm -r runs/zoo-3"), 0);
    (void)state;
}

/* ---- different models and preprocessing ------------------------------------------------------ */

static const struct {
    const char *command, *says;
} other_settings[] = {
    {"validate zoo.yaml --model.activation=tanh",
     "\n  model.activation: relu in the checkpoint, tanh by --model.activation\n"},
    {"validate last --model.activation=tanh", "model.activation: relu in the checkpoint, tanh"},
    {"predict last --model.hidden=[8,8]", "model.hidden: [16] in the checkpoint, [8, 8] by"},
    {"test last --model.name=linear", "model.name: mlp in the checkpoint, linear by"},
    {"validate last --task=regression", "task"},
    {"validate last --model.classes=4", "outputs: 3 in the checkpoint, 4 here"},
    {"validate last --data.mean=0.5", "data.mean: [] in the checkpoint, [0.5] here"},
    {"validate last --data.std=2", "data.std: [] in the checkpoint, [2.0] here"},
    {"validate last --data.scale=0.5", "data.scale: 1.0 in the checkpoint, 0.5 here"},
    {"validate last --data.normalize=false", "data.normalize: true in the checkpoint, false by"},
    {"validate zoo.yaml --data.categorical=a", "data.categorical: [] in the checkpoint, [a] by"},
    {"validate zoo.yaml --data.ignore=a", "data.ignore: [] in the checkpoint, [a] by"},
    {"validate last --data.target=b", "data.target: null in the checkpoint, b by"},
    {"validate last --data.format=npy --data.val_x=x.npy", "was trained with csv"},
};

static void other_settings_are_refused(void **state)
{
    const char *folder = trained();
    for (size_t i = 0; i < sizeof(other_settings) / sizeof(other_settings[0]); i++)
        contains(program_gives(2, folder, other_settings[i].command)->err, other_settings[i].says);
    /* the last column by its name is the same column; dropout is off in evaluation */
    (void)program_gives(0, folder, "validate last --data.target=y --model.dropout=0.5");
    contains(
        program_gives(2, folder,
                      "validate last --model.activation=tanh --model.hidden=[4] --task=regression "
                      "--data.scale=3 --data.mean=1 --data.std=2")
            ->err,
        "  data.scale: 1.0 in the checkpoint, 3.0 here\n  and 3 more\nleave CONFIG or these "
        "options");
    (void)state;
}

/* The same for a resumed run: other training rows have different statistics. */
static void a_resumed_run_keeps_its_settings(void **state)
{
    const char *folder = trained();
    const char *resume = "fit zoo.yaml -q --trainer.resume=last --trainer.max_epochs=6 ";
    char command[256];
    (void)snprintf(command, sizeof(command), "%s--data.path=gone.csv --model.activation=tanh",
                   resume);
    contains(program_gives(2, folder, command)->err,
             "model.activation: relu in the checkpoint, tanh by --model.activation\n"
             "to train with other settings, start from its weights instead: model.weights\n");
    write_csv(folder, "train.csv", "a,b,c,y", ROWS, "900,red,0,cat\n");
    (void)snprintf(command, sizeof(command), "%s", resume);
    contains(program_gives(2, folder, command)->err, "csv.columns.a.mean: 6.");
    write_csv(folder, "train.csv", "a,b,c,y", ROWS, "5,red,0,bat\n");
    contains(program_gives(2, folder, command)->err,
             "class_names: [\"cat\",\"dog\",\"eel\"] in the checkpoint, "
             "[\"bat\",\"cat\",\"dog\",\"eel\"] here\n");
    (void)snprintf(command, sizeof(command), "%s--data.path=gone.csv", resume);
    (void)program_gives(0, folder, command);
    /* initial weights may be from a different model, with a note */
    contains(
        program_gives(0, folder,
                      "fit zoo.yaml --data.path=gone.csv --model.activation=tanh "
                      "--model.weights=runs/zoo-1 --trainer.max_steps=1")
            ->err,
        "was trained with a different model:\n  model.activation: relu in the checkpoint, tanh by");
    (void)state;
}

/* ---- new rows -------------------------------------------------------------------------------- */

static void predictions_of_new_files(void **state)
{
    const char *folder = trained();
    write_csv(folder, "new.csv", "c,b,a", 9, "");
    char *nine = kept(program_gives(0, folder, "predict last new.csv -q")->out);
    contains(nine, "index,prediction,p_cat,p_dog,p_eel\n0,cat,");
    contains(nine, "\n1,dog,");
    contains(nine, "\n2,eel,");
    assert_string_equal(program_gives(0, folder, "predict zoo.yaml -q --data.predict=new.csv")->out,
                        nine);
    /* the target column is not read, whatever it contains */
    write_csv(folder, "new.csv", "c,b,a,y", 8, "0,blue,6,\n");
    program_gives(0, folder, "predict runs/zoo-1 new.csv -q --out=p.csv");
    assert_int_equal(strncmp(program_gives(0, folder, "predict last new.csv -q")->out, nine,
                             (size_t)(strstr(nine, "\n8,") - nine)),
                     0);
    write_csv(folder, "new.csv", "c,b,a", 9, "");
    contains(program_gives(1, folder, "validate last new.csv")->err,
             "new.csv: there is no target, column 'y' (`fulgurite predict` needs none)\n");
    contains(program_gives(1, folder, "predict last p.csv")->err, "p.csv:1: no column 'a'");
    free(nine);
    (void)state;
}

/* Appending rows, even outliers, does not change the prediction of other rows in any digit, with
 * full and partial batches of 32. */
static void appended_rows_change_no_other(void **state)
{
    static const int counts[] = {5, 31, 32, 33, 64};
    const char *folder = trained();
    write_csv(folder, "new.csv", "a,b,c", 5, "");
    char *first = kept(program_gives(0, folder, "predict last new.csv -q")->out);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        write_csv(folder, "new.csv", "a,b,c", counts[i], "1e6,green,-1e6\n1e9,red,7\n");
        const outcome *o = program_gives(0, folder, "predict last new.csv -q");
        if (strncmp(o->out, first, strlen(first)) != 0)
            fail_msg("with %d rows:\n%s\nbut with 5:\n%s", counts[i] + 2, o->out, first);
    }
    free(first);
    (void)state;
}

static void how_a_file_is_read_may_change(void **state)
{
    const char *folder = trained();
    write_csv(folder, "new.csv", "a;b;c", 3, "");
    char *semicolons =
        kept(program_gives(0, folder, "predict last new.csv -q \"--data.delimiter=;\"")->out);
    write_csv(folder, "new.csv", "a,b,c", 3, "");
    assert_string_equal(program_gives(0, folder, "predict last new.csv -q")->out, semicolons);
    free(semicolons);
    fgt_write(fgt_path(folder, "new.csv"), "a,b,c\n,pink,1\n", 14);
    contains(program_gives(1, folder, "predict last new.csv -q")->err, "new.csv:2: row 1, column");
    contains(
        program_gives(0, folder, "predict last new.csv -q --data.unknown=zero --data.missing=mean")
            ->out,
        "index,prediction,p_cat,p_dog,p_eel\n0,");
    (void)state;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* However they would be held out now. */
static void validation_samples_are_those_of_the_run(const char *folder)
{
    char *stratified = kept(program_gives(0, folder, "validate last -q")->out);
    assert_string_equal(program_gives(0, folder, "validate last -q --data.stratify=false")->out,
                        stratified);
    free(stratified);
}

static void what_is_missing_is_said(void **state)
{
    fg_error err = {0};
    const char *folder = trained();
    (void)program_gives(0, folder,
                        "fit -q --data.format=csv --data.path=gone.csv --data.val_fraction=0.25 "
                        "--trainer.max_epochs=1");
    validation_samples_are_those_of_the_run(folder);
    assert_int_equal(rename(fgt_path(folder, "gone.csv"), fgt_path(folder, "away.csv")), 0);
    const outcome *o = program_gives(1, folder, "validate last");
    contains(o->err, "cannot open 'gone.csv'");
    contains(o->err, "part of the training data (data.val_fraction); if these are not available, "
                     "pass --data.val=FILE\n");
    (void)program_gives(0, folder, "validate last --data.val=val.csv");
    contains(program_gives(2, folder, "validate last --data.val_fraction=0")->err,
             "no data to validate: set data.val or data.val_fraction\n");
    contains(program_gives(2, folder, "validate .")->err, "is neither a run's folder");
    contains(program_gives(2, folder, "validate runs/zoo-1/checkpoints/last --ckpt=best")->err,
             "and --ckpt=best name different checkpoints");
    contains(program_gives(1, folder, "validate runs/zoo-1 --ckpt=step-7")->err,
             "no checkpoint 'step-7', neither as a path nor in 'runs/zoo-1/checkpoints'");
    /* tensors written by another program */
    const float one = 1;
    const fg_ckpt_tensor tensor = {"w", {.dtype = FG_F32, .rank = 1, .dim = {1}}, &one};
    fgt_ok(fg_safetensors_write(fgt_path(folder, "alien.safetensors"), &tensor, 1, NULL, &err));
    contains(program_gives(2, folder, "validate alien.safetensors")->err,
             "alien.safetensors: contains no configuration");
    (void)state;
}

static void show_says_what_it_is(void **state)
{
    const char *folder = trained();
    const outcome *o = program_gives(0, folder, "show last");
    contains(o->err, "checkpoint: runs/zoo-1/checkpoints/step-000000020 (run runs/zoo-1, best, "
                     "step 20, epoch 5)\n"
                     "model: mlp, classification of f32[5], 3 outputs: cat, dog, eel\n");
    contains(o->out, "fc1.weight\tf32[16,5]\tmodel\n");
    contains(program_gives(0, folder, "show runs/zoo-1 --config")->out,
             "task: classification\nmetrics: []\nmodel:\n  name: mlp\n  hidden: [16]\n  "
             "activation: relu\n");
    o = program_gives(0, folder, "show runs/zoo-1 --ckpt=last --json");
    contains(o->out, "\"class_names\": [");
    contains(o->out, "\"config\": \"task: classification\\n");
    (void)state;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_way_to_name_a_checkpoint),
    cmocka_unit_test(last_is_of_the_newest_run),
    cmocka_unit_test(other_settings_are_refused),
    cmocka_unit_test(a_resumed_run_keeps_its_settings),
    cmocka_unit_test(predictions_of_new_files),
    cmocka_unit_test(appended_rows_change_no_other),
    cmocka_unit_test(how_a_file_is_read_may_change),
    cmocka_unit_test(what_is_missing_is_said),
    cmocka_unit_test(show_says_what_it_is),
};
FGT_MAIN(tests)
