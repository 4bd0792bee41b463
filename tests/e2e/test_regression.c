/* test_regression.c - a regression on CSV and .npy files with the program: the report before
 * training, warnings about invalid cells and columns, targets of any scale, metrics and predictions
 * in the target's unit, and a linear model compared with least squares in closed form. Requires the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <fulgurite/data.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 150, VAL_ROWS = 61 };

/* Row i of a file, a function of i: two features, a kind, and what follows from them. */
typedef struct home {
    double area, rooms, price;
    int kind;
} home;

static const char *const kinds[] = {"flat", "house", "loft"};

static home home_of(int i)
{
    home h = {.area = 20 + i * 37 % 180, .rooms = 1 + i * 11 % 6, .kind = i * 7 % 3};
    h.price = 0.5 + 0.02 * h.area + 0.1 * h.rooms + 0.3 * h.kind + 0.1 * sin(i * 12.9898);
    return h;
}

static void write_homes(const char *folder, const char *name, int first, int count, double scale)
{
    FILE *out = fopen(fgt_path(folder, name), "wb");
    assert_non_null(out);
    (void)fprintf(out, "area,rooms,kind,price\n");
    for (int i = first; i < first + count; i++) {
        const home h = home_of(i);
        (void)fprintf(out, "%g,%g,%s,%.17g\n", h.area, h.rooms, kinds[h.kind], scale * h.price);
    }
    (void)fclose(out);
}

/* The metric with that name on standard output. */
static double metric(const char *out, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s\t", name);
    const char *at = strstr(out, key);
    if (at == NULL)
        fail_msg("no metric %s in: %s", name, out);
    return strtod(at + strlen(key), NULL);
}

/* The predictions in the program's output, in order. */
static int predictions(const char *out, double *values, int most)
{
    int count = 0;
    const char *line = strchr(out, '\n');
    assert_int_equal(strncmp(out, "index,prediction\n", 17), 0);
    for (; line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n')) {
        assert_true(count < most);
        assert_int_equal(strtol(line + 1, NULL, 10), count);
        values[count++] = strtod(strchr(line, ',') + 1, NULL);
    }
    return count;
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Against what the program predicts for the same rows. */
static void check_metrics(const char *out, const double *p, double scale)
{
    double far = 0, squares = 0, mean = 0, total = 0;
    for (int i = 0; i < VAL_ROWS; i++) {
        const double y = scale * home_of(ROWS + i).price;
        far += fabs(p[i] - y) / VAL_ROWS;
        squares += (p[i] - y) * (p[i] - y);
        mean += y / VAL_ROWS;
    }
    for (int i = 0; i < VAL_ROWS; i++)
        total += pow(scale * home_of(ROWS + i).price - mean, 2);
    fgt_close("val_mae", metric(out, "val_mae"), far, 0, 1e-4);
    fgt_close("val_rmse", metric(out, "val_rmse"), sqrt(squares / VAL_ROWS), 0, 1e-4);
    fgt_close("val_r2", metric(out, "val_r2"), 1 - squares / total, 1e-5, 0);
    assert_true(metric(out, "val_r2") > 0.95);
    assert_null(strstr(out, "r2_squares"));
}

/* 120 epochs, of which only each 40th is validated and saved. */
#define LONG_RUN                                                                                   \
    "--trainer.max_epochs=120 --trainer.val_every_epochs=40 --trainer.ckpt_every_epochs=40 "       \
    "--trainer.run_dir=run "

/* Prices of 1e6, of 1e-9 and of 1: the default learning rate works for all. */
static void targets_of_any_scale_train(void **state)
{
    static const double scales[] = {1e6, 1e-9, 1};
    char command[512];
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        double p[VAL_ROWS];
        const char *folder = fgt_temp_folder();
        write_homes(folder, "train.csv", 0, ROWS, scales[k]);
        write_homes(folder, "val.csv", ROWS, VAL_ROWS, scales[k]);
        (void)snprintf(command, sizeof command,
                       "fit -q --task=regression --data.format=csv --data.path=train.csv "
                       "--data.val=val.csv --model.hidden=[32] " LONG_RUN);
        const outcome *o = program_gives(0, folder, command);
        char *fitted = strdup(o->out);
        assert_int_equal(
            predictions(program_gives(0, folder, "predict run val.csv -q")->out, p, VAL_ROWS),
            VAL_ROWS);
        check_metrics(fitted, p, scales[k]);
        /* padding rows and devices change nothing */
        check_metrics(program_gives(0, folder, "validate run -q --trainer.batch_size=7")->out, p,
                      scales[k]);
        check_metrics(program_gives(0, folder,
                                    "validate run -q --trainer.devices=3 "
                                    "--trainer.batch_size=6")
                          ->out,
                      p, scales[k]);
        free(fitted);
    }
}

static void write_npy(const char *folder, const char *name, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fgt_ok(fg_npy_write(fgt_path(folder, name), type, data, &err));
}

/* The same rows as .npy files, x and y. */
static void write_arrays(const char *folder, const char *x_name, const char *y_name, int first,
                         int count, double scale)
{
    static float x[ROWS][5], y[ROWS];
    for (int i = 0; i < count; i++) {
        const home h = home_of(first + i);
        x[i][0] = (float)(h.area - 110) / 50;
        x[i][1] = (float)h.rooms - 3;
        for (int k = 0; k < 3; k++)
            x[i][2 + k] = h.kind == k;
        y[i] = (float)(scale * h.price);
    }
    write_npy(folder, x_name, &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {count, 5}}, x);
    write_npy(folder, y_name, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {count}}, y);
}

/* No validation has a finite loss: the state is saved, but the run has failed. */
static void a_loss_that_is_never_finite_is_an_error(void **state)
{
    static float huge[VAL_ROWS][5], y[VAL_ROWS];
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < VAL_ROWS; i++)
        for (int k = 0; k < 5; k++)
            huge[i][k] = 3e38F;
    write_arrays(folder, "x.npy", "y.npy", 0, ROWS, 1);
    write_npy(folder, "vx.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {VAL_ROWS, 5}}, huge);
    write_npy(folder, "vy.npy", &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {VAL_ROWS}}, y);
#define FIT                                                                                        \
    "fit --task=regression --data.format=npy --data.x=x.npy --data.y=y.npy --data.val_x=vx.npy "   \
    "--data.val_y=vy.npy --trainer.max_epochs=2 --trainer.run_dir=run --summary=s.json "
    const outcome *o = program_gives(1, folder, FIT);
    contains(o->err, " at step 5: this state cannot be the best\n");
    contains(o->err, "val_loss was not finite in any validation; the last state is saved "
                     "in run/checkpoints/step-");
    assert_null(strstr(o->err, "to continue")); /* it is complete */
    contains(file_text(folder, "s.json"), "\"status\": \"failed\"");
    assert_true(is_there(folder, "run/checkpoints/last"));
    assert_false(is_there(folder, "run/checkpoints/best"));
    o = program_gives(0, folder, FIT "--overwrite --trainer.on_divergence=ignore");
    contains(o->err, " at step 5: this state cannot be the best\n");
#undef FIT
}

/* Labels with gaps make outputs that are never used. */
static void gaps_in_labels_are_reported(void **state)
{
    static int32_t labels[ROWS];
    const char *folder = fgt_temp_folder();
    write_arrays(folder, "x.npy", "y.npy", 0, ROWS, 1);
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % 2 == 0 ? 3 : 100;
    write_npy(folder, "labels.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {ROWS}}, labels);
#define FIT                                                                                        \
    "fit --task=classification --data.format=npy --data.x=x.npy --data.y=labels.npy "              \
    "--data.val_fraction=0.2 --model.name=linear --trainer.max_epochs=1 --trainer.run_dir=run "
    const outcome *o = program_gives(0, folder, FIT);
    contains(o->err,
             "labels.npy: the largest label is 100, so there are 101 classes, but only 2 of "
             "them occur; ");
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % 2;
    write_npy(folder, "labels.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {ROWS}}, labels);
    o = program_gives(0, folder, FIT "--overwrite");
    assert_null(strstr(o->err, "the largest label"));
    static const float new[3][5] = {{1}, {1, NAN}, {1}}; /* the others are predicted */
    write_npy(folder, "new.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {3, 5}}, new);
    o = program_gives(1, folder, "predict run new.npy -q --summary=s.json");
    contains(o->err, "1 sample could not be read; the first one: 'new.npy': row 1 has a value that "
                     "is NaN or infinite (the first is row 0)\n");
    contains(o->out, "\n1,,,,'new.npy': row 1 has a value");
    contains(o->out, "\n2,");
    contains(file_text(folder, "s.json"),
             "\"damaged\": 1,\n  \"damaged_error\": \"'new.npy': row 1");
    for (int i = 0; i < 4; i++) { /* a million classes is the most */
        static const int32_t largest[] = {3, 999999, 1000000, 2000000000};
        static const char *const said[] = {
            "the largest label is 3, so there are 4 classes, but only 3 of",
            "the largest label is 999999, so there are 1000000 classes, but only 3 of",
            "data.y: the largest label is 1000000: expected class indices",
            "data.y: the largest label is 2000000000: expected class indices"};
        labels[7] = largest[i];
        write_npy(folder, "labels.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {ROWS}},
                  labels);
        o = program_gives(i < 2 ? 1 : 2, folder, /* nothing is trained */
                          FIT "--overwrite --data.val_fraction=0 --data.val_x=no --data.val_y=no");
        contains(o->err, said[i]);
    }
}

static void inputs_that_are_not_finite_are_refused(void **state)
{
    static int32_t labels[ROWS];
    static float x[ROWS][5];
    const char *folder = fgt_temp_folder();
    x[7][2] = NAN;
    write_npy(folder, "x.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {ROWS, 5}}, x);
    write_npy(folder, "labels.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {ROWS}}, labels);
    const outcome *o = program_gives(2, folder, FIT);
    contains(o->err, "data.x: row 7 has a value that is NaN or infinite (the first is row 0)");
    static uint16_t half[ROWS][5];
    half[9][1] = 0x7e00; /* NaN */
    write_npy(folder, "x.npy", &(fg_type){.dtype = FG_F16, .rank = 2, .dim = {ROWS, 5}}, half);
    contains(program_gives(2, folder, FIT)->err, "data.x: row 9 has a value that is NaN");
#undef FIT
}

#define FIT_ARRAYS                                                                                 \
    "fit --task=regression --data.format=npy --data.x=x.npy --data.y=y.npy --model.hidden=[32] "   \
    "--data.val_x=vx.npy --data.val_y=vy.npy " LONG_RUN

/* Targets of .npy files are standardized like those of a CSV; a checkpoint contains the
 * statistics. */
static void npy_targets_of_any_scale_train(void **state)
{
    static const double scales[] = {1e6, 1e-9};
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        double p[VAL_ROWS];
        const char *folder = fgt_temp_folder();
        write_arrays(folder, "x.npy", "y.npy", 0, ROWS, scales[k]);
        write_arrays(folder, "vx.npy", "vy.npy", ROWS, VAL_ROWS, scales[k]);
        const outcome *o = program_gives(0, folder, FIT_ARRAYS);
        contains(o->err, "target: mean ");
        contains(o->err, " (standardized for training)\n");
        char *fitted = strdup(o->out);
        o = program_gives(0, folder, "predict run --data.predict=vx.npy -q");
        assert_int_equal(predictions(o->out, p, VAL_ROWS), VAL_ROWS);
        check_metrics(fitted, p, scales[k]);
        free(fitted);
        o = program_gives(0, folder,
                          "validate run -q --data.val_x=vx.npy --data.val_y=vy.npy "
                          "--trainer.batch_size=7");
        check_metrics(o->out, p, scales[k]);
    }
}

/* By the training rows only, of one number or more; turned off by data.normalize. */
static void npy_targets_are_measured(void **state)
{
    const char *folder = fgt_temp_folder();
    static const float y[4][2] = {{1, 3}, {5, 7}, {1, 3}, {5, 7}};
    write_arrays(folder, "x.npy", "vy.npy", 0, 4, 1);
    write_arrays(folder, "vx.npy", "vy.npy", 0, 4, 1);
    write_npy(folder, "y.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {4, 2}}, y);
    write_npy(folder, "vy.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {4, 2}}, y);
    contains(program_gives(0, folder, FIT_ARRAYS)->err,
             "target: mean 4, deviation 2.23607 (standardized for training)\n");
    contains(program_gives(0, folder, FIT_ARRAYS "--overwrite")->out, "val_rmse\t");
    /* the metrics are in the targets' unit: a model of zeros, not trained, is off by the mean */
    const outcome *o = program_gives(0, folder,
                                     FIT_ARRAYS "--overwrite --data.normalize=false -q "
                                                "--optimizer.lr=1e-12 --model.name=linear");
    assert_null(strstr(o->err, "standardized"));
    assert_true(metric(o->out, "val_rmse") > 2.3);
    static const float broken[4] = {1, NAN, 2, 3};
    write_npy(folder, "y.npy", &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {4}}, broken);
    contains(program_gives(2, folder, FIT_ARRAYS "--overwrite")->err,
             "data.y: a training target is NaN or infinite");
}

/* ---- least squares --------------------------------------------------------------------------- */

enum { TERMS = 5 }; /* area, rooms, two of the kinds, 1 */

static void terms_of(const home *h, double x[TERMS])
{
    x[0] = h->area / 100;
    x[1] = h->rooms;
    x[2] = h->kind == 0;
    x[3] = h->kind == 1;
    x[4] = 1;
}

/* Weights w that solve A' A w = A' y, by Gauss's elimination with pivots. */
static void least_squares(double w[TERMS])
{
    double a[TERMS][TERMS + 1] = {{0}};
    for (int i = 0; i < ROWS; i++) {
        const home h = home_of(i);
        double x[TERMS];
        terms_of(&h, x);
        for (int r = 0; r < TERMS; r++) {
            for (int c = 0; c < TERMS; c++)
                a[r][c] += x[r] * x[c];
            a[r][TERMS] += x[r] * h.price;
        }
    }
    for (int k = 0; k < TERMS; k++) {
        int best = k;
        for (int r = k + 1; r < TERMS; r++)
            best = fabs(a[r][k]) > fabs(a[best][k]) ? r : best;
        for (int c = 0; c <= TERMS; c++) {
            const double swap = a[k][c];
            a[k][c] = a[best][c];
            a[best][c] = swap;
        }
        for (int r = 0; r < TERMS; r++) {
            const double factor = r == k ? 0 : a[r][k] / a[k][k];
            for (int c = k; c <= TERMS; c++)
                a[r][c] -= factor * a[k][c];
        }
    }
    for (int k = 0; k < TERMS; k++)
        w[k] = a[k][TERMS] / a[k][k];
}

/* A linear model, trained to the end by plain gradient descent over all rows, predicts what least
 * squares does. */
static void a_linear_model_is_least_squares(void **state)
{
    const double scale = 3e5;
    double p[ROWS], w[TERMS];
    const char *folder = fgt_temp_folder();
    write_homes(folder, "train.csv", 0, ROWS, scale);
    (void)program_gives(0, folder,
                        "fit -q --task=regression --data.format=csv --data.path=train.csv "
                        "--model.name=linear --optimizer.name=sgd --optimizer.lr=0.3 "
                        "--trainer.batch_size=150 --trainer.max_epochs=600 "
                        "--trainer.log_every=100 --trainer.ckpt_every_epochs=600 "
                        "--trainer.run_dir=run");
    assert_int_equal(
        predictions(program_gives(0, folder, "predict run train.csv -q")->out, p, ROWS), ROWS);
    least_squares(w);
    for (int i = 0; i < ROWS; i++) {
        const home h = home_of(i);
        double x[TERMS], wanted = 0;
        terms_of(&h, x);
        for (int k = 0; k < TERMS; k++)
            wanted += w[k] * x[k];
        fgt_close("prediction", p[i], scale * wanted, 2e-4 * scale, 0);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

#define FIT "fit --task=regression --data.format=csv --data.path=t.csv --trainer.max_epochs=1 "

static void put(const char *folder, const char *text)
{
    fgt_write(fgt_path(folder, "t.csv"), text, strlen(text));
}

static void the_columns_are_reported_before_training(void **state)
{
    const char *folder = fgt_temp_folder();
    put(folder, "age,kind,y\n30,a,1.5\nn.a.,b,2\n50,a,4\n20,b,3\n");
    const outcome *o = program_gives(0, folder, FIT);
    contains(o->err, "t.csv: 4 rows, 4 of them for training, 6 features\n"
                     "column  type             missing  range or categories\n"
                     "age     categorical            0  4: 20, 30, 50, n.a.\n"
                     "kind    categorical            0  2: a, b\n"
                     "y       target, number         0  1.5 to 4, ");
    contains(o->err, "t.csv:3: row 2, column 'age': 'n.a.' is not a number, so the column is a "
                     "category; 3 of its 4 values are numbers.");
    assert_true(strstr(o->err, "target, number") < strstr(o->err, "lr 0."));
    o = program_gives(0, folder, FIT "--data.na_values=[n.a.] --data.missing=mean");
    contains(o->err, "age     numeric                1  20 to 50, ");
    assert_null(strstr(o->err, "is not a number"));
    assert_string_equal(program_gives(0, folder, FIT "-q --data.categorical=[age]")->err, "");
    o = program_gives(1, folder, FIT "--data.numeric=[age]");
    contains(o->err, "t.csv:3: row 2, column 'age': 'n.a.' is not a number\ncorrect it, or treat "
                     "it as missing with data.na_values and data.missing: mean");
    put(folder, "age,y\n30,1.5\n,2\n");
    contains(program_gives(1, folder, FIT)->err,
             "t.csv:3: row 2, column 'age': the value is missing\nset data.missing: mean to use");
}

/* Resuming a complete run prints the same metrics as the run itself. */
static void metrics_keep_their_order(void **state)
{
    const char *folder = fgt_temp_folder();
    put(folder, "age,y\n30,1.5\n40,2\n50,4\n20,3\n35,1\n");
    const char *command = FIT "-q --data.val_fraction=0.4 --trainer.run_dir=run";
    char *first = strdup(program_gives(0, folder, command)->out);
    assert_non_null(strstr(first, "train_mae\t"));
    assert_true(strstr(first, "train_mae\t") < strstr(first, "train_loss\t"));
    assert_true(strstr(first, "train_loss\t") < strstr(first, "val_mae\t"));
    command = FIT "-q --data.val_fraction=0.4 --trainer.run_dir=run --resume";
    assert_string_equal(program_gives(0, folder, command)->out, first);
    free(first);
    (void)state;
}

static void delimiters_are_suggested_and_tabs_have_names(void **state)
{
    const char *folder = fgt_temp_folder();
    put(folder, "a\ty\n1\t1.5\n2\t2.5\n");
    contains(program_gives(1, folder, FIT)->err, "set data.delimiter: \"\\t\"");
    (void)program_gives(0, folder, FIT "'--data.delimiter=\\t'");
    (void)program_gives(0, folder, FIT "--data.delimiter=tab");
    contains(program_gives(0, folder, "predict last t.csv -q")->out, "index,prediction\n0,");
    contains(program_gives(2, folder, FIT "--data.delimiter=space")->err,
             "data.delimiter: expected one character, or \\t or tab for a tab");
}

/* An output for each quantile: `predict` writes all, and metrics are those of the median. A
 * checkpoint has the loss that its outputs are for. */
static void quantiles_are_predicted(void **state)
{
    double p[VAL_ROWS];
    const char *folder = fgt_temp_folder();
    write_homes(folder, "train.csv", 0, ROWS, 1000);
    write_homes(folder, "val.csv", ROWS, VAL_ROWS, 1000);
    char *fitted = strdup(program_gives(0, folder,
                                        "fit -q --loss.name=quantile --data.format=csv "
                                        "--data.path=train.csv --data.val=val.csv "
                                        "--model.name=linear " LONG_RUN)
                              ->out);
    const outcome *o = program_gives(0, folder, "predict run val.csv -q");
    assert_int_equal(strncmp(o->out, "index,y0,y1,y2\n", 15), 0);
    const char *line = strchr(o->out, '\n');
    for (int i = 0; i < VAL_ROWS; i++, line = strchr(line + 1, '\n'))
        p[i] = strtod(strchr(strchr(line, ',') + 1, ',') + 1, NULL);
    check_metrics(fitted, p, 1000);
    contains(program_gives(0, folder, "validate run -q")->out, strstr(fitted, "val_mae"));
    contains(program_gives(2, folder,
                           "fit -q --loss.name=quantile --loss.quantiles=[0.5,1] "
                           "--data.format=csv --data.path=train.csv")
                 ->err,
             "loss.quantiles");
    free(fitted);
    (void)state;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(targets_of_any_scale_train),
    cmocka_unit_test(npy_targets_of_any_scale_train),
    cmocka_unit_test(npy_targets_are_measured),
    cmocka_unit_test(a_loss_that_is_never_finite_is_an_error),
    cmocka_unit_test(quantiles_are_predicted),
    cmocka_unit_test(gaps_in_labels_are_reported),
    cmocka_unit_test(inputs_that_are_not_finite_are_refused),
    cmocka_unit_test(a_linear_model_is_least_squares),
    cmocka_unit_test(the_columns_are_reported_before_training),
    cmocka_unit_test(metrics_keep_their_order),
    cmocka_unit_test(delimiters_are_suggested_and_tabs_have_names),
};
FGT_MAIN(tests)
