/* test_published.c - models and weights as other libraries publish them: a folder that transformers
 * has written (tests/golden/published/record_resnet.py), and files that do not fit. Requires the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <math.h>
#include <stdio.h>
#include <fulgurite/data.h>

enum { ROWS = 4, CLASSES = 5 };

#define RECORDED FGT_SOURCE_DIR "/tests/golden/published"
#define PREDICT  "predict run.yaml "

static const char config[] = "task: classification\n"
                             "model: {hf: " RECORDED "/resnet18, classes: 5}\n"
                             "data: {format: npy, x: x.npy, y: y.npy, val_x: x.npy, val_y: y.npy}\n"
                             "trainer: {batch_size: 4}\n";

/* A folder with the configuration and the recorded images. */
static const char *made_folder(void)
{
    static const int32_t labels[ROWS] = {0, 1, 2, 3};
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &(fg_type){FG_S32, 1, {ROWS}}, labels, &err));
    fgt_write(fgt_path(folder, "run.yaml"), config, sizeof config - 1);
    assert_int_equal(shell(folder, "cp " RECORDED "/x.npy ."), 0);
    return folder;
}

static void check_predictions(const char *csv)
{
    const char *at = strchr(csv, '\n');
    char *text = file_text(RECORDED, "y.txt");
    for (int i = 0; i < ROWS; i++) {
        at = strchr(strchr(at + 1, ',') + 1, ','); /* after index and prediction */
        for (int k = 0; k < CLASSES; k++) {
            char *end;
            const double got = strtod(at + 1, &end), expected = strtod(text, &text);
            if (!(fabs(got - expected) < 1e-5))
                fail_msg("row %d, class %d: got %g, expected %g", i, k, got, expected);
            at = end;
        }
    }
}

/* Names, shards, f16, options, and normalization are those of the folder. */
static void a_folder_of_transformers_predicts_the_same(void **state)
{
    const char *folder = made_folder();
    const outcome *o = program_gives(0, folder, PREDICT);
    contains(o->err, "resnet18/config.json: model resnet18, width 2\n");
    contains(o->err, "preprocessor_config.json: data.mean [0.485, 0.456, 0.406], data.std "
                     "[0.229, 0.224, 0.225]");
    check_predictions(o->out);
    (void)state;
}

/* Each changes a copy of config.json by sed. */
static void what_does_not_fit_is_named(void **state)
{
    static const struct {
        const char *change, *arguments, *message;
    } rows[] = {
        {"s/\"resnet\"/\"resnext\"/", "",
         "model_type 'resnext' is not supported: did you mean 'resnet'?"},
        {"s/\"relu\"/\"gelu\"/", "",
         "copy/config.json: 'hidden_act' is \"gelu\": expected \"relu\" for model resnet18"},
        {"s/\"embedding_size\": 2/\"embedding_size\": 3/", "",
         "'hidden_sizes' is [2,4,8,16]: expected [3,6,12,24] for model resnet18"},
        {"s/\"basic\"/7/", "", "'layer_type' is 7: expected "},
        {"s/\"embedding_size\": 2/\"embedding_size\": \"x\"/", "", "'hidden_sizes' is "},
        {"s/\"model_type\"/\"type\"/", "", "expected the key model_type (transformers) or "},
        {"1d", "", "config.json: byte "},
        {"", "--model.name=resnet50", "--model.name: model.hf sets it, from copy/config.json"},
        {"", "--model.width=4", "--model.width: model.hf sets it"},
        {"", "--model.hf=/nowhere", "'/nowhere' has no config.json"},
        {"", "--model.classes=7", "is f16[5,16], but f32[7,16] in the model"},
        {"s/\"model_type\".*/\"architecture\": \"resnet19.a1\",/", "",
         "architecture 'resnet19' is not supported: did you mean 'resnet1"},
        {"s/\"model_type\".*/\"architecture\": \"resnet18\", \"model_args\": {\"stem\": 1},/", "",
         "'model_args.stem': model resnet18 does not have this argument"},
    };
    const char *folder = made_folder();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "rm -rf copy && cp -r " RECORDED "/resnet18 copy && sed -i '%s' "
                       "copy/config.json",
                       rows[i].change);
        assert_int_equal(shell(folder, command), 0);
        (void)snprintf(command, sizeof command, PREDICT "%s %s",
                       strstr(rows[i].arguments, "model.hf") ? "" : "--model.hf=copy",
                       rows[i].arguments);
        const outcome *o = program(folder, command);
        assert_true(o->status == 1 || o->status == 2);
        contains(o->err, rows[i].message);
    }
    (void)state;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_folder_of_transformers_predicts_the_same),
    cmocka_unit_test(what_does_not_fit_is_named),
};
TRAINING_MAIN(tests)
