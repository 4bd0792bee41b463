/* test_fit_data.c - fulgurite fit on data of other formats: CSV, NPY, IDX, CIFAR.
 *
 * SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <fulgurite/data.h>
#include "fit_run.h"

/* ---- other data ------------------------------------------------------------------------------ */

/* y = 2 a - b + 1 on a grid. */
static void a_regression_from_csv(void **state)
{
    const char *folder = fgt_temp_folder();
    FILE *out = fopen(fgt_path(folder, "line.csv"), "wb");
    assert_non_null(out);
    (void)fputs("a,b,y\n", out);
    for (int i = 0; i < 200; i++)
        (void)fprintf(out, "%g,%g,%g\n", i % 14 / 7.0, i % 10 / 5.0,
                      2 * (i % 14 / 7.0) - i % 10 / 5.0 + 1);
    (void)fclose(out);
    const char *fit = "fit -q --task=regression --model.name=linear --data.format=csv "
                      "--data.path=line.csv --data.target=y --data.val_fraction=0.25 "
                      "--optimizer.name=sgd --optimizer.lr=0.1 --trainer.max_epochs=40 "
                      "--trainer.ckpt_every_epochs=20 --trainer.run_dir=run --summary=s.json";
    (void)program_gives(0, folder, fit);
    json_t *summary = fit_json(folder, "s.json");
    assert_true(fit_metric(summary, "val_loss") < 1e-4);
    assert_true(fit_metric(summary, "val_mae") < 1e-2);
    json_decref(summary);
    const outcome *o = program_gives(0, folder, "predict run/config.yaml -q --data.test=line.csv");
    contains(o->out, "index,prediction\n0,");
    assert_true(fabs(strtod(strchr(o->out, '\n') + 3, NULL) - 1) < 0.05); /* a = b = 0 */
}

static void check_rare(const char *folder)
{
    json_t *summary = fit_json(folder, "s.json");
    const json_t *found = json_object_get(summary, "evaluation");
    const json_t *classes = json_object_get(found, "classes"), *rare = json_array_get(classes, 1);
    assert_string_equal(json_string_value(json_object_get(rare, "name")), "rare");
    assert_int_equal(json_integer_value(json_object_get(rare, "samples")), 4);
    assert_true(json_number_value(json_object_get(rare, "recall")) == 0);
    assert_true(json_is_null(json_object_get(rare, "precision"))); /* there is no prediction */
    const json_t *matrix = json_object_get(found, "confusion");
    assert_int_equal(json_integer_value(json_array_get(json_array_get(matrix, 1), 0)), 4);
    const json_t *worst = json_array_get(json_object_get(found, "worst"), 0);
    assert_string_equal(json_string_value(json_object_get(worst, "target")), "rare");
    assert_int_equal(json_integer_value(json_object_get(worst, "index")) % 10, 0);
    json_decref(summary);
}

/* The same weights, where a remedy is used already; which samples are drawn depends on the seed. */
static void check_balanced(const char *folder, const char *fit)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "%s --data.sampling=balanced --model.weights=runs/run-1 --optimizer.lr=1e-12",
                   fit);
    const outcome *o = program_gives(0, folder, line);
    contains(o->err, "note: class rare (4 of the validation samples) is never predicted\n");
    char *first = strdup(o->out);
    (void)strcat(line, " --trainer.seed=2");
    assert_string_not_equal(program_gives(0, folder, line)->out, first);
    free(first);
}

/* Of 40 rows, 4 are of the class "rare", which the only column does not tell from the other. */
static void an_imbalanced_table(void **state)
{
    const char *folder = fgt_temp_folder();
    FILE *out = fopen(fgt_path(folder, "rare.csv"), "wb");
    (void)state;
    assert_non_null(out);
    (void)fputs("a,y\n", out);
    for (int i = 0; i < 40; i++)
        (void)fprintf(out, "%d,%s\n", i % 3, i % 10 == 0 ? "rare" : "often");
    (void)fclose(out);
    const char *fit = "fit --task=classification --model.name=linear --data.format=csv "
                      "--data.path=rare.csv --data.val=rare.csv --optimizer.lr=0.1 "
                      "--trainer.max_epochs=5 --summary=s.json --progress=none";
    char line[512];
    const outcome *o = program_gives(0, folder, fit);
    contains(o->err, "note: class rare (4 of the validation samples) is never predicted; "
                     "--loss.class_weight=balanced ");
    contains(o->out, "val_recall\t0.5\n"); /* 1 and 0 */
    check_rare(folder);
    check_balanced(folder, fit);
    (void)snprintf(line, sizeof line, "%s --loss.class_weight=balanced --trainer.devices=2", fit);
    o = program_gives(0, folder, line);
    contains(o->err,
             "class weights of the training loss (loss.class_weight): often 0.556, rare 5\n");
    contains(o->err,
             "trainer.batch_size is per device: 2 devices with 32 samples each train with "
             "batches of 64, so the results are not those of one device; to keep the batch, "
             "set trainer.global_batch_size to 32 in place of trainer.batch_size");
    (void)snprintf(line, sizeof line, "%s --loss.class_weight=balanced --data.sampling=balanced",
                   fit);
    o = program_gives(2, folder, line);
    contains(o->err, "--loss.class_weight: data.sampling balanced has the same purpose");
    for (int i = 0; i < 2; i++) {
        static const char *const counts[][2] = {{"[1]", "got 1\n"}, {"[1,2,3]", "got 3\n"}};
        (void)snprintf(line, sizeof line, "%s '--loss.class_weight=%s'", fit, counts[i][0]);
        o = program_gives(2, folder, line);
        contains(o->err, "--loss.class_weight: expected balanced or one weight for each of the 2 "
                         "classes, ");
        contains(o->err, counts[i][1]);
    }
}

/* Two outputs a sample, inputs of two dimensions, in .npy; predictions as .npy. */
static void a_regression_from_npy(void **state)
{
    float x[64][2][3], y[64][2];
    fg_error err = {0};
    fg_dataset *predicted;
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 6; k++)
            x[i][k / 3][k % 3] = (float)((i * 7 + k * 5) % 11) / 11;
        y[i][0] = x[i][0][0] - x[i][1][2];
        y[i][1] = x[i][0][1] + 0.5F;
    }
    const fg_type x_type = {.dtype = FG_F32, .rank = 3, .dim = {64, 2, 3}};
    const fg_type y_type = {.dtype = FG_F32, .rank = 2, .dim = {64, 2}};
    fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &x_type, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &y_type, y, &err));
    (void)program_gives(0, folder,
                        "fit -q --task=regression --model.name=linear --data.format=npy "
                        "--data.x=x.npy --data.y=y.npy --data.val_x=x.npy "
                        "--data.val_y=y.npy --optimizer.lr=0.05 --trainer.max_epochs=60 "
                        "--trainer.ckpt_every_epochs=20 --trainer.run_dir=run --summary=s.json");
    json_t *summary = fit_json(folder, "s.json");
    const double rmse = fit_metric(summary, "val_rmse"); /* in the targets' unit */
    assert_true(rmse * rmse < 1e-3);
    json_decref(summary);
    (void)program_gives(0, folder, "predict run/config.yaml -q --data.test_x=x.npy --out=p.npy");
    fgt_ok(fg_npy_load(fgt_path(folder, "p.npy"), NULL, NULL, &predicted, &err));
    assert_int_equal(fg_dataset_count(predicted), 64);
    float row[2];
    fgt_ok(fg_dataset_read(predicted, 5, (void *const[]){row}, &err));
    fgt_close("y0", (double)row[0], (double)y[5][0], 0.1, 0);
    fgt_close("y1", (double)row[1], (double)y[5][1], 0.1, 0);
    fg_dataset_destroy(predicted);
    contains(program_gives(0, folder, "predict run/config.yaml -q")->out, "index,y0,y1\n0,");
}

/* Small MNIST files: class = whether the left half is bright. */
static void write_idx(const char *folder, const char *images, const char *labels, int count)
{
    FILE *x = fopen(fgt_path(folder, images), "wb"), *y = fopen(fgt_path(folder, labels), "wb");
    assert_true(x != NULL && y != NULL);
    const unsigned char head_x[16] = {0, 0, 8, 3, 0, 0, 0, (unsigned char)count,
                                      0, 0, 0, 8, 0, 0, 0, 8};
    const unsigned char head_y[8] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)count};
    (void)fwrite(head_x, 1, sizeof(head_x), x);
    (void)fwrite(head_y, 1, sizeof(head_y), y);
    for (int i = 0; i < count; i++) {
        (void)putc(i % 2, y);
        for (int p = 0; p < 64; p++)
            (void)putc((p % 8 < 4) == (i % 2) ? 200 + (i * p) % 50 : (i + p) % 40, x);
    }
    (void)fclose(x);
    (void)fclose(y);
}

static void a_convolutional_net_on_idx_files(void **state)
{
    const char *folder = fgt_temp_folder();
    write_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 120);
    write_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 30);
    (void)program_gives(0, folder,
                        "fit -q --model.name=lenet --data.format=idx --data.path=. "
                        "--data.mean=0.4 --data.std=[0.4] --trainer.max_epochs=4 "
                        "--trainer.batch_size=8 --trainer.run_dir=run --summary=s.json");
    json_t *summary = fit_json(folder, "s.json");
    assert_true(fit_metric(summary, "val_acc") == 1);
    json_decref(summary);
    contains(program_gives(0, folder, "test run/config.yaml -q")->out, "test_acc\t1\n");
    contains(
        program_gives(2, folder, "fit -q --data.format=idx --data.path=. --data.mean=1,2,3")->err,
        "fulgurite fit: --data.mean has 3 numbers: expected 1, for the only channel");
    fgt_write(fgt_path(folder, "t.csv"), "a,b,y\n1,2,0\n3,5,1\n", 18);
    contains(program_gives(2, folder,
                           "fit -q --data.format=csv --data.path=t.csv "
                           "--model.classes=3 --data.augment=random_flip")
                 ->err,
             "--data.augment: the samples are f32[2]: expected images T[height,width,channels]");
}

/* The losses of one epoch of a model that does not change. */
static void losses_with(const char *folder, const char *options, double *train, double *val)
{
    char command[512];
    (void)snprintf(command, sizeof command,
                   "fit -q --model.name=linear --data.format=idx --data.path=. "
                   "--optimizer.name=sgd --optimizer.lr=1e-30 --trainer.max_epochs=1 "
                   "--trainer.batch_size=7 --trainer.run_dir=null --summary=s.json %s",
                   options);
    (void)program_gives(0, folder, command);
    json_t *summary = fit_json(folder, "s.json");
    *train = fit_metric(summary, "train_loss");
    *val = fit_metric(summary, "val_loss");
    json_decref(summary);
}

/* Mixed targets change the loss of training, unless no sample is mixed, but not that of validation.
 */
static void samples_are_mixed_in_training(void **state)
{
    (void)state;
    static const char *const rows[] = {"mixup: {alpha: 0.5}", "[random_flip: {p: 0}, cutmix]",
                                       "mixup: {p: 0}"};
    const char *folder = fgt_temp_folder();
    double train, val, mixed, same;
    write_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 16);
    write_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 8);
    losses_with(folder, "", &train, &val);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char option[128];
        (void)snprintf(option, sizeof option, "'--data.augment=%s'", rows[i]);
        losses_with(folder, option, &mixed, &same);
        assert_true(val == same);
        if (i < 2)
            assert_true(fabs(mixed - train) > 1e-3 && mixed > 0 && mixed < 10);
        else
            fgt_close("not mixed", mixed, train, 1e-6, 0);
    }
}

static void a_residual_net_on_idx_files(void **state)
{
    const char *folder = fgt_temp_folder();
    write_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 120);
    write_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 30);
    const outcome *o =
        program_gives(0, folder,
                      "fit --model.name=resnet18 --model.stem=small --model.width=4 "
                      "--data.format=idx --data.path=. --optimizer.name=sgd --optimizer.lr=0.05 "
                      "--trainer.max_epochs=4 --trainer.batch_size=12 --trainer.run_dir=run");
    contains(o->err, "\nlayer1.0-1  basic_block  2 x 4 layers "); /* equal blocks have one row */
    contains(o->err, "\nlayer2.0    basic_block  6 layers ");
    contains(program_gives(0, folder, "validate run/config.yaml -q")->out, "val_acc\t1\n");
    contains(program_gives(0, folder, "predict run/config.yaml -q")->out, "\n29,");
}

/* Small CIFAR-10 files: the label is the plane that is bright. */
static void colours_from_cifar_files(void **state)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 20);
    for (int f = 0; f < 6; f++) {
        char name[32];
        (void)snprintf(name, sizeof(name), f < 5 ? "data_batch_%d.bin" : "test_batch.bin", f + 1);
        FILE *out = fopen(fgt_path(folder, name), "wb");
        assert_non_null(out);
        for (int i = 0; i < 24; i++) {
            (void)putc(i % 3, out);
            for (int p = 0; p < 3072; p++)
                (void)putc(p / 1024 == i % 3 ? 180 + (i + p) % 60 : (i * p) % 50, out);
        }
        (void)fclose(out);
    }
    (void)program_gives(0, folder,
                        "fit -q --model.name=linear --data.format=cifar10 --data.path=. "
                        "--data.mean=0.4,0.4,0.4 --data.std=0.3 --trainer.max_epochs=6 "
                        "--trainer.batch_size=16 --trainer.run_dir=run");
    const outcome *o = program_gives(0, folder, "test run/config.yaml -q --draw=always");
    contains(o->out, "confusion matrix: 24 of 24 correct  100.0 %\n");
    contains(o->out, "test_acc\t1\n");
    fgt_write(fgt_path(folder, "batches.meta.txt"), "a\nc\nb\nd\ne\nf\ng\nh\ni\nj\n", 20);
    contains(program_gives(1, folder, "test run/config.yaml -q")->err,
             "fulgurite test: .: the classes differ: class 1 is 'b' in the checkpoint, 'c' here");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_regression_from_csv),
    cmocka_unit_test(an_imbalanced_table),
    cmocka_unit_test(a_regression_from_npy),
    cmocka_unit_test(a_convolutional_net_on_idx_files),
    cmocka_unit_test(samples_are_mixed_in_training),
    cmocka_unit_test(a_residual_net_on_idx_files),
    cmocka_unit_test(colours_from_cifar_files),
};

/* Compiled programs are shared by the runs of this test and go with it. */
TRAINING_MAIN(tests)
