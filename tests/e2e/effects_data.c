/* effects_data.c - the effects of data keys: with constant weights, the losses of a fit depend only
 * on inputs and labels, which each row states.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <fulgurite/ckpt.h>

static void write_text(const char *folder, const char *name, const char *text)
{
    if (text != NULL)
        fgt_write(fgt_path(folder, name), text, strlen(text));
}

/* Of 4 samples with the labels cat (2) and dog (3), whose logits are 0, the loss is e->value ln 2:
 * rows of a table, or images of one pixel. */
static void labels(const effect *e, const char *folder)
{
    static const char tags[] = "path,n,x,y,cat,dog,tags,words\np0.pgm,1,1,2,1,1,cat;dog,dog cat\n"
                               "p1.pgm,2,3,1,0,1,dog,dog\np2.pgm,3,2,5,0,0,,\n"
                               "p3.pgm,4,4,4,1,1,dog|cat,cat dog\n";
    const bool is_image = strstr(e->arguments, "images") != NULL;
    const float zeros[4] = {0};
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc.weight", .type = {FG_F32, 2, {2, is_image ? 1 : 2}}, .data = zeros},
        {.name = "fc.bias", .type = {FG_F32, 1, {2}}, .data = zeros},
    };
    fg_error err = {0};
    fgt_ok(fg_safetensors_write(fgt_path(folder, "w.safetensors"), tensors, 2, NULL, &err));
    write_text(folder, "tags.csv", tags);
    for (int i = 0; i < 4; i++) {
        char name[] = "p0.pgm";
        name[1] = (char)('0' + i);
        write_text(folder, name, "P2 1 1 9 4\n");
    }
    const json_t *s = effects_fit(0, folder,
                                  "--model.name=linear --model.weights=w.safetensors " EFFECTS_STILL
                                  "--trainer.batch_size=4 %s",
                                  e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"), e->value * log(2), 1e-6, 0);
}

/* Losses of training and validation on the rows that are expected. */
static void losses(const effect *e, const char *folder)
{
    const reference_data *train = e->expected[0].features > 0 ? &e->expected[0] : effects_samples();
    const int features = train->features;
    const reference_model model = reference_start(features);
    reference_save(&model, features, fgt_path(folder, "w.safetensors"));
    write_text(folder, "t.csv", e->train);
    write_text(folder, "v.csv", e->val);
    const json_t *summary =
        effects_fit(e->status, folder,
                    "--model.name=linear --model.weights=w.safetensors " EFFECTS_STILL
                    "--trainer.batch_size=2 %s",
                    e->arguments);
    if (e->says != NULL)
        contains(json_string_value(json_object_get(summary, "error")), e->says);
    if (e->status != 0)
        return;
    fgt_close(e->arguments, effects_number(summary, "metrics.train_loss"),
              reference_loss(&model, train, 0, train->rows), 0, 2e-6);
    if (e->expected[1].rows > 0 && e->later == NULL) {
        reference_data val = e->expected[1];
        val.features = features;
        fgt_close(e->arguments, effects_number(summary, "metrics.val_loss"),
                  reference_loss(&model, &val, 0, val.rows), 0, 2e-6);
    }
}

void effects_check_samples(const effect *e, const char *folder)
{
    const reference_model model = reference_start(2);
    const reference_data *train = effects_samples(), *val = effects_val_samples();
    const json_t *summary = effects_fit(
        0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL "--trainer.batch_size=5 %s", e->arguments);
    const int train_rows = e->value > 0 ? (int)e->value : train->rows;
    const int rows = e->count > 0 ? e->count : val->rows;
    fgt_close("train_loss", effects_number(summary, "metrics.train_loss"),
              reference_loss(&model, train, 0, train_rows), 0, 2e-6);
    fgt_close("val_loss", effects_number(summary, "metrics.val_loss"),
              reference_loss(&model, val, 0, rows), 0, 2e-6);
}

/* Two parts of the samples: checks their sizes, and that their losses add up to that of all
 * samples. */
static void parts(const effect *e, const char *folder)
{
    double val[3];
    static const char *const seeds[] = {"0", "5", "5"};
    const reference_model model = reference_start(2);
    const reference_data *all = effects_samples();
    const double sum = reference_loss(&model, all, 0, all->rows) * all->rows;
    for (int i = 0; i < 3; i++) {
        const json_t *summary = effects_fit(
            0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=5 %s --data.split_seed=%s",
            e->arguments, seeds[i]);
        val[i] = effects_number(summary, "metrics.val_loss");
        const double train = effects_number(summary, "metrics.train_loss");
        fgt_close("both parts", val[i] * e->count + train * (all->rows - e->count), sum, 0, 2e-6);
    }
    assert_true(val[1] == val[2]);
    assert_true(fabs(val[0] - val[1]) > 1e-4);
}

/* The files of a published dataset, with 12 training images and 6 test images. */
static void write_idx(const char *folder, const char *name, int count)
{
    char file[64];
    const uint8_t images[16] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)count, 0, 0, 0, 2, 0, 0, 0, 2};
    const uint8_t labels[8] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)count};
    uint8_t bytes[16 + 12 * 4];
    memcpy(bytes, images, sizeof(images));
    for (int i = 0; i < count * 4; i++)
        bytes[16 + i] = (uint8_t)(37 * i + 11 * count);
    (void)snprintf(file, sizeof(file), "%s-images-idx3-ubyte", name);
    fgt_write(fgt_path(folder, file), bytes, 16 + (size_t)count * 4);
    memcpy(bytes, labels, sizeof(labels));
    for (int i = 0; i < count; i++)
        bytes[8 + i] = (uint8_t)(i % 3);
    (void)snprintf(file, sizeof(file), "%s-labels-idx1-ubyte", name);
    fgt_write(fgt_path(folder, file), bytes, 8 + (size_t)count);
}

static void write_cifar(const char *folder, const char *name, int count)
{
    uint8_t bytes[6 * 3073];
    for (int i = 0; i < count * 3073; i++)
        bytes[i] = (uint8_t)(i % 3073 == 0 ? i / 3073 % 3 : i * 7 / 13 + count);
    fgt_write(fgt_path(folder, name), bytes, (size_t)count * 3073);
}

/* Without val_fraction, validation has separate files; with it, a part of the training files: then
 * losses of both parts add up to that of the whole. */
static void published(const effect *e, const char *folder)
{
    char name[32];
    double train[2], val[2];
    static const char *const more[] = {"", "--data.val_fraction=0.25"};
    write_idx(folder, "train", 12);
    write_idx(folder, "t10k", 6);
    for (int i = 1; i <= 5; i++) {
        (void)snprintf(name, sizeof(name), "data_batch_%d.bin", i);
        write_cifar(folder, name, i < 5 ? 2 : 4);
    }
    write_cifar(folder, "test_batch.bin", 6);
    for (int i = 0; i < 2; i++) {
        const json_t *summary = effects_fit(0, folder,
                                            "--model.name=linear --data.path=. " EFFECTS_STILL
                                            "--trainer.batch_size=5 %s %s",
                                            e->arguments, more[i]);
        train[i] = effects_number(summary, "metrics.train_loss");
        val[i] = effects_number(summary, "metrics.val_loss");
        (void)snprintf(name, sizeof(name), "test_loss\t%.6g\n", val[0]);
        contains(program_gives(0, folder, "test run --quiet --data.path=.")->out, name);
    }
    fgt_close(e->arguments, 9 * train[1] + 3 * val[1], 12 * train[0], 0, 2e-6);
    assert_true(fabs(val[0] - val[1]) > 1e-4 && fabs(train[0] - train[1]) > 1e-4);
}

/* The number of classes is that of the labels: says. */
static void cifar100(const effect *e, const char *folder)
{
    static uint8_t bytes[4 * 3074];
    for (int i = 0; i < (int)sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i % 3074 < 2 ? i / 3074 : i * 7 / 13);
    fgt_write(fgt_path(folder, "train.bin"), bytes, sizeof(bytes));
    fgt_write(fgt_path(folder, "test.bin"), bytes, sizeof(bytes));
    (void)effects_fit(0, folder, "--model.name=linear --data.path=. " EFFECTS_STILL "%s",
                      e->arguments);
    contains(program_gives(0, folder, "show run")->out, e->says);
}

/* The weights of a fit on other samples: their loss, "test_loss" on standard output. */
static void tested(const effect *e, const char *folder)
{
    char line[512];
    reference_data other = e->expected[1];
    if (other.rows == 0)
        other = *effects_val_samples();
    other.features = 2;
    losses(e, folder);
    const reference_model model = reference_start(2);
    (void)snprintf(line, sizeof(line), "test run --quiet %s", e->later);
    const char *at = strstr(program_gives(0, folder, line)->out, "test_loss\t");
    assert_non_null(at);
    fgt_close(e->later, strtod(at + strlen("test_loss\t"), NULL),
              reference_loss(&model, &other, 0, other.rows), 0, 1e-5);
}

/* Their predictions: the row's number, the class, and the probability of each. */
static void predicted(const effect *e, const char *folder)
{
    char line[512], *at;
    const reference_data *other = effects_val_samples();
    const reference_model model = reference_start(2);
    losses(e, folder);
    (void)snprintf(line, sizeof(line), "predict run --quiet %s", e->later);
    at = strchr(program_gives(0, folder, line)->out, '\n');
    for (int i = 0; i < other->rows; i++) {
        double p[REFERENCE_CLASSES];
        assert_non_null(at);
        assert_int_equal(strtol(at + 1, &at, 10), i);
        const long class = strtol(at + 1, &at, 10);
        reference_predict(&model, other, i, p);
        for (int k = 0; k < REFERENCE_CLASSES; k++) {
            fgt_close("probability", strtod(at + 1, &at), p[k], 2e-6, 0);
            assert_true(p[class] >= p[k]);
        }
    }
    assert_string_equal(at, "\n");
}

/* File layouts of a table, each with the resulting rows. */
#define CSV  "--data.format=csv --data.path=t.csv "
#define TAGS "--task=multilabel --data.format=csv --data.path=tags.csv "
#define IMAGES                                                                                     \
    "--task=multilabel --data.format=images --data.train=tags.csv --data.size=1 "                  \
    "--data.channels=1 "
#define RAW CSV "--data.normalize=false "
#define TWO_ROWS                                                                                   \
    {                                                                                              \
        .rows = 2, .features = 2, .x = {{1, 2}, {3, 5}}, .label = { 0, 1 }                         \
    }
#define NPY          "--data.format=npy --data.x=x.npy --data.y=y.npy "
#define MOST_CLASSES "--model.classes=3 "

const effect effects_data[] = {
    {"data.format", RAW MOST_CLASSES, losses, .train = "a,b,y\n1,2,0\n3,5,1\n",
     .expected = {TWO_ROWS}},
    {"data.format", "--data.format=npy", effects_check_samples},
    {"data.format", "--data.format=idx", published},
    {"data.format", "--data.format=cifar10", published},
    {"data.format", "--data.format=cifar100", cifar100, .says = "f32[100]"},
    {"data.labels", "--data.format=cifar100 --data.labels=coarse", cifar100, .says = "f32[20]"},
    {"loss.pos_weight",
     TAGS "--data.target=tags --data.ignore=[path,n,cat,dog,words] "
          "--loss.pos_weight=balanced",
     labels, .value = (2 + 2 + 3 / 3.0 + 1) / 8},
    {"loss.alpha",
     TAGS "--data.target=tags --data.ignore=[path,n,cat,dog,words] "
          "--loss.name=sigmoid_focal --loss.alpha=0.25",
     labels, .value = 0.25 * (5 * 0.25 + 3 * 0.75) / 8},
    {"data.label_columns",
     TAGS "--data.label_columns=[dog,cat] --data.ignore=[path,n,tags,words] "
          "--loss.pos_weight=[3,0.5]",
     labels, .value = (3 * 3 + 1 + 2 * 0.5 + 2) / 8},
    {"data.label_separator",
     TAGS "--data.target=words --data.ignore=[path,n,cat,dog,tags] "
          "'--data.label_separator=\" \"' --loss.pos_weight=[3,0.5]",
     labels, .value = (2 * 3 + 2 + 3 * 0.5 + 1) / 8},
    {"data.labels_column", IMAGES "--data.labels_column=tags --loss.pos_weight=[3,0.5]", labels,
     .value = (2 * 3 + 2 + 3 * 0.5 + 1) / 8},
    {"data.label_columns", IMAGES "--data.label_columns=[dog,cat] --loss.pos_weight=[3,0.5]",
     labels, .value = (3 * 3 + 1 + 2 * 0.5 + 2) / 8},
    {"data.path", RAW MOST_CLASSES "--data.path=v.csv", losses, .val = "a,b,y\n1,2,0\n3,5,1\n",
     .expected = {TWO_ROWS}},
    {"data.length", "--data.format=text --data.path=t.csv --data.text=a --data.length=9", losses,
     .train = "a\nabcdefgh\n", .status = 2,
     .says = "8 tokens: expected at least 10 for one window"},
    {"data.text", "--data.format=text --data.path=t.csv --data.text=b", losses, .train = "a\nx\n",
     .status = 2, .says = "there is no column 'b'"},
    {"data.tokenizer",
     "--data.format=text --data.path=t.csv --data.text=a --data.tokenizer=none.json", losses,
     .train = "a\nabcdefgh\n", .status = 1, .says = "none.json"},
    {"data.target", RAW MOST_CLASSES "--data.target=y", losses, .train = "y,a,b\n0,1,2\n1,3,5\n",
     .expected = {TWO_ROWS}},
    {"data.val", RAW MOST_CLASSES "--data.val=v.csv", losses, .train = "a,b,y\n1,2,0\n3,5,1\n",
     .val = "b,a,y\n4,-1,1\n", .expected = {TWO_ROWS, {.rows = 1, .x = {{-1, 4}}, .label = {1}}}},
    {"data.no_header", RAW MOST_CLASSES "--data.no_header=true", losses, .train = "1,2,0\n3,5,1\n",
     .expected = {TWO_ROWS}},
    {"data.delimiter", RAW MOST_CLASSES "'--data.delimiter=;'", losses,
     .train = "a;b;y\n1;2;0\n3;5;1\n", .expected = {TWO_ROWS}},
    {"data.delimiter", RAW MOST_CLASSES "'--data.delimiter=\\t'", losses,
     .train = "a\tb\ty\n1\t2\t0\n3\t5\t1\n", .expected = {TWO_ROWS}},
    {"data.ignore", RAW MOST_CLASSES "--data.ignore=[c,d]", losses,
     .train = "c,a,b,d,y\n9,1,2,q,0\n8,3,5,r,1\n", .expected = {TWO_ROWS}},
    {"data.categorical", RAW MOST_CLASSES "--data.categorical=[a]", losses,
     .train = "a,b,y\n7,2,0\n3,5,1\n",
     .expected = {{.rows = 2, .features = 3, .x = {{0, 1, 2}, {1, 0, 5}}, .label = {0, 1}}}},
    {"data.numeric", RAW MOST_CLASSES "--data.numeric=[a]", losses,
     .train = "a,b,y\n1,2,0\nq,5,1\n", .status = 1,
     .says = "row 2, column 'a': 'q' is not a number", .expected = {TWO_ROWS}},
    {"data.na_values", RAW MOST_CLASSES "--data.na_values=[q] --data.missing=mean", losses,
     .train = "a,b,y\n1,2,0\nq,5,1\n5,8,2\n",
     .expected = {{.rows = 3, .features = 2, .x = {{1, 2}, {3, 5}, {5, 8}}, .label = {0, 1, 2}}}},
    {"data.missing", RAW MOST_CLASSES "--data.missing=mean", losses,
     .train = "a,b,y\n1,2,0\n,5,1\n5,8,2\n",
     .expected = {{.rows = 3, .features = 2, .x = {{1, 2}, {3, 5}, {5, 8}}, .label = {0, 1, 2}}}},
    {"data.missing", RAW MOST_CLASSES "--data.missing=error", losses,
     .train = "a,b,y\n1,2,0\n,5,1\n5,8,2\n", .status = 1, .says = "column 'a'",
     .expected = {TWO_ROWS}},
    {"data.numeric", RAW MOST_CLASSES "--data.numeric=[a,b]", losses,
     .train = "a,b,y\n1%,$2,0\n3%,1970-01-06,1\n", .expected = {TWO_ROWS}},
    {"data.decimal", RAW MOST_CLASSES "'--data.delimiter=;' --data.decimal=,", losses,
     .train = "a;b;y\n1,0;2;0\n3;5,00;1\n", .expected = {TWO_ROWS}},
    {"data.keep_default_na", RAW MOST_CLASSES "--data.keep_default_na=false", losses,
     .train = "a,b,y\nq,2,0\nNA,5,1\n",
     .expected = {{.rows = 2, .features = 3, .x = {{0, 1, 2}, {1, 0, 5}}, .label = {0, 1}}}},
    {"data.max_categories", RAW MOST_CLASSES "--data.max_categories=1", losses,
     .train = "a,b,y\nq,2,0\np,5,1\n", .status = 1, .says = "more than 1 class",
     .expected = {{.rows = 2, .features = 3}}},
    {"data.unknown", RAW MOST_CLASSES "--data.val=v.csv --data.unknown=zero", losses,
     .train = "a,b,y\nq,2,0\np,5,1\n", .val = "a,b,y\nz,4,1\n",
     .expected = {{.rows = 2, .features = 3, .x = {{0, 1, 2}, {1, 0, 5}}, .label = {0, 1}},
                  {.rows = 1, .x = {{0, 0, 4}}, .label = {1}}}},
    {"data.unknown", RAW MOST_CLASSES "--data.val=v.csv --data.unknown=error", losses,
     .train = "a,b,y\nq,2,0\np,5,1\n", .val = "a,b,y\nz,4,1\n", .status = 1, .says = "'z'",
     .expected = {{.rows = 2, .features = 3}}},
    /* Mean 4 and deviation 2, which also apply to the validation row. */
    {"data.normalize", CSV MOST_CLASSES "--data.val=v.csv --data.normalize=true", losses,
     .train = "a,b,y\n2,1,0\n6,1,1\n", .val = "a,b,y\n8,3,1\n1,1,0\n",
     .expected = {{.rows = 2, .features = 2, .x = {{-1, 0}, {1, 0}}, .label = {0, 1}},
                  {.rows = 2, .x = {{2, 2}, {-1.5, 0}}, .label = {1, 0}}}},
    /* Channels last in the file; weights are in the order channel, height, width, as in PyTorch. */
    {"data.image", CSV MOST_CLASSES "--data.image=[2,1,2]", losses,
     .train = "a,b,c,d,y\n255,51,0,102,0\n0,0,204,51,1\n",
     .expected =
         {{.rows = 2, .features = 4, .x = {{1, 0, 0.2, 0.4}, {0, 0.8, 0, 0.2}}, .label = {0, 1}}}},
    /* One number per channel, which only images have. */
    {"data.image", CSV MOST_CLASSES "--data.image=[2,1,2] --data.std=[0.5,0.25]", losses,
     .train = "a,b,c,d,y\n255,51,0,102,0\n0,0,204,51,1\n",
     .expected =
         {{.rows = 2, .features = 4, .x = {{2, 0, 0.8, 1.6}, {0, 1.6, 0, 0.8}}, .label = {0, 1}}}},

    /* Random ones apply to training only: there, the two rows are exchanged, and one of the samples
     * once more. Each of the last two draws its own numbers; with the same, they would cancel. */
    {"data.augment",
     CSV MOST_CLASSES
     "--data.val=v.csv --data.image=[2,1,2] "
     "'--data.augment=[random_flip: {p: 1, vertical: true},"
     "random_flip: {p: 0.2, vertical: true},random_flip: {p: 0.2, vertical: true}]'",
     losses, .train = "a,b,c,d,y\n255,51,0,102,0\n0,0,204,51,1\n",
     .val = "a,b,c,d,y\n255,51,0,102,0\n",
     .expected =
         {{.rows = 2, .features = 4, .x = {{1, 0, 0.2, 0.4}, {0.8, 0, 0.2, 0}}, .label = {0, 1}},
          {.rows = 1, .x = {{1, 0, 0.2, 0.4}}, .label = {0}}}},
    /* The mean of the two rows, for which the model is built, then 2 x - 1. */
    {"data.augment",
     CSV MOST_CLASSES "--data.val=v.csv --data.image=[2,1,2] "
                      "'--data.augment=[resize: {height: 1},normalize: {mean: [0.5], std: [0.5]}]'",
     losses, .train = "a,b,c,d,y\n255,51,0,102,0\n0,0,204,51,1\n",
     .val = "a,b,c,d,y\n255,51,0,102,0\n",
     .expected = {{.rows = 2, .features = 2, .x = {{0, -0.4}, {-0.2, -0.8}}, .label = {0, 1}},
                  {.rows = 1, .x = {{0, -0.4}}, .label = {0}}}},

    /* Two of the three equal samples of class 0 are drawn, and the sample of class 1 twice. */
    {"data.sampling", RAW MOST_CLASSES "--data.sampling=balanced", losses,
     .train = "a,b,y\n1,2,0\n1,2,0\n1,2,0\n3,5,1\n", .expected = {TWO_ROWS}},
    {"data.sampling", RAW MOST_CLASSES "--data.sampling=uniform", losses,
     .train = "a,b,y\n1,2,0\n3,5,1\n", .expected = {TWO_ROWS}},
    {"data.resident", RAW MOST_CLASSES "--data.val=v.csv --data.resident=true", losses,
     .train = "a,b,y\n1,2,0\n3,5,1\n", .val = "b,y,a\n4,1,-1\n",
     .expected = {TWO_ROWS, {.rows = 1, .x = {{-1, 4}}, .label = {1}}}},
    {"data.resident", RAW MOST_CLASSES "--data.sampling=balanced --data.resident=true", losses,
     .train = "a,b,y\n1,2,0\n3,5,1\n", .status = 1,
     .says = "data.resident: the samples are drawn again in each epoch, so they can't stay on the "
             "devices: set it to auto or false"},
    {"data.x", "--data.x=x.npy", effects_check_samples},
    {"data.y", "--data.y=y.npy", effects_check_samples},
    {"data.val_x", "", effects_check_samples},
    {"data.val_y", "", effects_check_samples},
    {"data.test", RAW MOST_CLASSES, tested, .train = "a,b,y\n1,2,0\n3,5,1\n",
     .val = "b,y,a\n4,1,-1\n", .later = "--data.test=v.csv",
     .expected = {TWO_ROWS, {.rows = 1, .x = {{-1, 4}}, .label = {1}}}},
    {"data.test_x", NPY, tested, .later = "--data.test_x=val_x.npy --data.test_y=val_y.npy"},
    {"data.test_y", NPY, tested, .later = "--data.test_x=val_x.npy --data.test_y=val_y.npy"},
    {"data.predict", NPY, predicted, .later = "--data.predict=val_x.npy"},
    {"data.val_fraction", "--data.val_fraction=0.25", parts, .count = 3},
    {"data.val_fraction", "--data.val_fraction=0.5", parts, .count = 6},
    /* One sample of each class; else two of the same, which depends on the seed. */
    {"data.stratify", RAW MOST_CLASSES "--data.val_fraction=0.5", losses,
     .train = "a,b,y\n1,2,0\n3,5,1\n1,2,0\n3,5,1\n", .expected = {TWO_ROWS, TWO_ROWS}},
    {"data.stratify", RAW MOST_CLASSES "--data.val_fraction=0.5 --data.stratify=false", losses,
     .train = "a,b,y\n1,2,0\n3,5,1\n1,2,0\n3,5,1\n",
     .expected = {{.rows = 2, .features = 2, .x = {{1, 2}, {1, 2}}, .label = {0, 0}},
                  {.rows = 2, .x = {{3, 5}, {3, 5}}, .label = {1, 1}}}},
    {"data.split_seed", "--data.val_fraction=0.34", parts, .count = 4},
    {NULL},
};
