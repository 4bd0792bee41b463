/* test_cli_draw.c - text plots, compared as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli.h"
#include "golden.h"
#include "input/json_file.h"
#include "doc/chart.h"
#include "report/reports.h"
#include "terminal.h"

static fgi_buf page;

static fgi_buf *begin(void)
{
    fgi_buf_clear(&page);
    return &page;
}

static void drawn(fgi_buf *out, const char *expected)
{
    assert_non_null(out->data);
    assert_string_equal(out->data, expected);
    fgi_buf_fini(out);
}

typedef struct drawn_as {
    const char *title, *x_label;
    int columns, rows;
    bool is_ascii;
} drawn_as;

static void draw_curves(fgi_buf *out, const fgi_series *series, size_t count, const drawn_as *as)
{
    const fgi_chart chart = {
        .title = as->title, .x_label = as->x_label, .series = series, .count = count};
    fgi_chart_put_text(out, &chart, (fgi_chart_size){as->columns, as->rows, as->is_ascii});
}

static void a_falling_line_in_ascii(void **state)
{
    const double x[] = {0, 10, 20}, y[] = {4, 2, 0}, vx[] = {0, 20}, vy[] = {0, 4};
    const fgi_series series[] = {{"loss", x, y, 3}, {"val_loss", vx, vy, 2}};
    const drawn_as options = {
        .title = "title", .x_label = "steps", .columns = 30, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    draw_curves(out, series, 2, &options);
    drawn(out, "          title\n"
               "       4 +***                o\n"
               "         |   *****\n"
               "       2 +        *****\n"
               "         |             ****\n"
               "       0 +o                ***\n"
               "         ++---------+---------\n"
               "          0        10    steps\n"
               "          * loss  o val_loss\n");
}

/* A character is four dots high and two wide: a line from the top to the bottom of the chart. */
static void a_falling_line_in_braille(void **state)
{
    const double x[] = {0, 1}, y[] = {1, 0};
    const fgi_series series = {"loss", x, y, 2};
    const drawn_as options = {.columns = 30, .rows = 5};
    fgi_buf *out = begin();
    draw_curves(out, &series, 1, &options);
    drawn(out, "       1 ┤⠉⠒⠤⣀\n"
               "         │    ⠉⠒⠤⣀\n"
               "     0.5 ┤        ⠉⠒⠤⣀\n"
               "         │            ⠉⠒⠤⣀\n"
               "       0 ┤                ⠉⠒⠤⣀\n"
               "         └┬──────────────────┬\n"
               "          0                  1\n"
               "          ⠤ loss\n");
}

/* Draws values at 0, 1, 2 and so on in a chart of 6 rows. */
static fgi_buf *chart_of(const double *y, size_t count)
{
    static double x[12];
    for (size_t i = 0; i < count; i++)
        x[i] = (double)i;
    const fgi_series series = {"loss", x, y, count};
    const drawn_as options = {.title = "loss", .columns = 34, .rows = 6, .is_ascii = true};
    fgi_buf *out = begin();
    draw_curves(out, &series, 1, &options);
    return out;
}

/* A value that is far from the others is drawn at the edge; of twelve, at most one. */
static void an_outlier_does_not_flatten_the_curve(void **state)
{
    double y[] = {49, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    fgi_buf *out = chart_of(y, 12);
    (void)state;
    drawn(out, "          loss (1 value above the plot)\n"
               "      15 +*\n"
               "         | ****\n"
               "      10 +     *******\n"
               "       5 +            ******\n"
               "         |                  ******\n"
               "       0 +\n"
               "         ++--------------------+--\n"
               "          0                   10\n"
               "          * loss\n");
    y[1] = 48;
    out = chart_of(y, 12);
    assert_non_null(strstr(out->data, "          loss\n      60 +"));
    y[0] = 8;
    y[1] = 9;
    y[11] = -50;
    out = chart_of(y, 12);
    assert_non_null(strstr(out->data, "          loss (1 value below the plot)\n      15 +"));
    assert_non_null(strstr(out->data, "\n       0 +"));
    fgi_buf_fini(out);
}

static void a_large_range_is_logarithmic(void **state)
{
    const double y[] = {100, 10, 1, 0.1, 0.01};
    (void)state;
    drawn(chart_of(y, 5), "          loss (log scale)\n"
                          "     100 +***\n"
                          "      10 +   *****\n"
                          "         |        ***\n"
                          "       1 +           ****\n"
                          "     0.1 +               *****\n"
                          "    0.01 +                    ****\n"
                          "         ++-----------+----------+\n"
                          "          0           2          4\n"
                          "          * loss\n");
}

static void what_cannot_be_drawn_is_left_out(void **state)
{
    const double x[] = {0, 1, 2}, y[] = {(double)NAN, HUGE_VAL, -HUGE_VAL},
                 flat[] = {2, (double)NAN, 2};
    const fgi_series none = {"loss", x, y, 3}, empty = {"loss", NULL, NULL, 0};
    const fgi_series level = {"loss", x, flat, 3};
    const drawn_as options = {.columns = 30, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    draw_curves(out, &none, 1, &options);
    draw_curves(out, &empty, 1, &options);
    drawn(out, "          (no numbers to draw)\n          (no numbers to draw)\n");
    out = begin();
    draw_curves(out, &level, 1, &options); /* two points with a gap between them */
    assert_non_null(out->data);
    assert_non_null(strstr(out->data, "*                  *\n"));
    fgi_buf_fini(out);
}

/* Their column is as wide as they are. */
static void labels_have_room(void **state)
{
    const double x[] = {0, 1, 2}, y[] = {0, -1e-200, -1.5e-200};
    const fgi_series series = {"loss", x, y, 3};
    const drawn_as options = {.title = "loss", .columns = 31, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    (void)state;
    draw_curves(out, &series, 1, &options);
    drawn(out, "           loss\n"
               "        0 +**\n"
               "  -5e-201 +  ***\n"
               "          |     ****\n"
               "  -1e-200 +         ******\n"
               "-1.5e-200 +               *****\n"
               "          ++---------+--------+\n"
               "           0         1        2\n"
               "           * loss\n");
}

static void put_figure(fgi_buf *out, const fgi_series *series, size_t count, fgi_chart chart)
{
    chart.series = series;
    chart.count = count;
    fgi_chart_put_figure(out, &chart);
}

/* The page's chart of a line from 1 to 0 with one other value. */
static const char *page_chart_of(double other, bool is_stacked)
{
    static double x[20], y[20];
    const fgi_series series = {"loss", x, y, 20};
    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = i == 3 ? other : 1 - i / 19.0;
    }
    put_figure(begin(), &series, 1,
               (fgi_chart){.title = "loss", .x_label = "steps", .is_stacked = is_stacked});
    assert_non_null(page.data);
    return page.data;
}

/* The plot has the same range as that in the terminal; areas show all. */
static void an_outlier_does_not_flatten_a_chart(void **state)
{
    (void)state;
    const char *text = page_chart_of(1e6, false);
    assert_non_null(strstr(text, "<figcaption>loss (1 value above the plot)</figcaption>"));
    assert_non_null(strstr(text, ">0.8</text>"));
    assert_null(strstr(text, "M</text>"));
    for (const char *at = strstr(text, "points=\"") + 8; *at != '"'; at = strchr(at, ' ') + 1) {
        const double height = strtod(strchr(at, ',') + 1, NULL);
        assert_true(height >= 8 && height <= 208); /* within the plot */
    }
    text = page_chart_of(1.02, false); /* within the range after it was rounded */
    assert_non_null(strstr(text, "<figcaption>loss</figcaption>"));
    text = page_chart_of(1e6, true);
    assert_non_null(strstr(text, "<figcaption>loss</figcaption>"));
    fgi_buf_fini(&page);
}

/* A class of an evaluation; a fraction that is NaN is unknown. */
typedef struct class_row {
    const char *name;
    int64_t samples;
    double precision, recall, f1;
} class_row;

static void draw_classes(fgi_buf *out, const class_row *rows, size_t count)
{
    fgi_doc d;
    json_t *classes = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(
            classes,
            json_pack("{s:s, s:I, s:o*, s:o*, s:o*}", "name", rows[i].name, "samples",
                      (json_int_t)rows[i].samples, "precision", json_real(rows[i].precision),
                      "recall", json_real(rows[i].recall), "f1", json_real(rows[i].f1)));
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_worst_classes(&d, classes);
    fgi_doc_end(&d);
    json_decref(classes);
}

/* Names that are NULL are numbers. */
static void draw_confusion(fgi_buf *out, const int64_t *counts, size_t count,
                           const char *const *names, int columns)
{
    fgi_doc d;
    json_t *classes = json_array();
    for (size_t i = 0; i < count; i++) {
        char number[24];
        (void)snprintf(number, sizeof number, "%zu", i);
        const char *name = names != NULL && names[i] != NULL ? names[i] : number;
        (void)json_array_append_new(classes, json_pack("{s:s}", "name", name));
    }
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_confusion(&d, &(fgi_confusion){counts, count, classes}, columns);
    fgi_doc_end(&d);
    json_decref(classes);
}

static void classes_are_a_table(void **state)
{
    const class_row rows[] = {{"cat", 12, 10 / 11.0, 10 / 12.0, 20 / 23.0},
                              {"d\xc3\xb6g", 0, 0, (double)NAN, 0},
                              {"hippopotamus amphibius", 1234567, 1, 1, 1},
                              {"none", 0, (double)NAN, (double)NAN, (double)NAN}};
    (void)state;
    fgi_buf *out = begin();
    draw_classes(out, rows, 4);
    drawn(out, "class                   samples  precision   recall       F1\n"
               "cat                          12     90.9 %   83.3 %   87.0 %\n"
               "d\xc3\xb6g                           0      0.0 %        -    0.0 %\n"
               "hippopotamus amphibius  1234567    100.0 %  100.0 %  100.0 %\n"
               "none                          0          -        -        -\n");
}

/* The ten with the lowest F1, of equal ones the first. */
static void of_many_classes_the_worst(void **state)
{
    class_row many[1000];
    char names[1000][8];
    fgi_buf *out = begin();
    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%d", i);
        many[i] = (class_row){names[i], 5, 1, 1, i == 777 ? 0 : i == 0 ? (double)NAN : 0.5};
    }
    draw_classes(out, many, 1000);
    assert_non_null(strstr(out->data, "F1\nc777 "));
    assert_non_null(strstr(out->data, "\nc1 "));
    assert_non_null(strstr(out->data, "\nc9 "));
    assert_null(strstr(out->data, "\nc10 "));
    assert_null(strstr(out->data, "\nc0 "));
    fgi_buf_fini(out);
}

static void a_confusion_matrix(void **state)
{
    const int64_t counts[] = {10, 0, 2, 0, 0, 0, 1, 3, 4};
    const char *const names[] = {"cat", "d\xc3\xb6g", "hippopotamus"};
    fgi_buf *out = begin();
    draw_confusion(out, counts, 3, names, 80);
    drawn(out, "confusion matrix: 14 of 20 correct  70.0 %\n"
               "true          cat  d\xc3\xb6g  hippop  correct\n"
               "cat            10    .       2   83.3 %\n"
               "d\xc3\xb6g             .    .       .        -\n"
               "hippopotamus    1    3       4   50.0 %\n");
    out = begin();
    draw_confusion(out, counts, 3, names, 30);
    drawn(out, "confusion matrix: 14 of 20 correct  70.0 %\n"
               "class         predicted as  samples\n"
               "hippopotamus  d\xc3\xb6g                 3\n"
               "cat           hippopotamus        2\n"
               "hippopotamus  cat                 1\n");
}

/* Cells are as wide as the longest number, wherever it is. */
static void a_confusion_matrix_of_large_counts(void **state)
{
    const int64_t counts[] = {1, 0, 0, 1234567};
    fgi_buf *out = begin();
    (void)state;
    draw_confusion(out, counts, 2, NULL, 80);
    drawn(out, "confusion matrix: 1234568 of 1234568 correct  100.0 %\n"
               "true  0        1  correct\n"
               "0     1        .  100.0 %\n"
               "1     .  1234567  100.0 %\n");
}

static void equal_confusions_are_all_named(void **state)
{
    const int64_t counts[] = {0, 2, 2, 0};
    fgi_buf *out = begin();
    draw_confusion(out, counts, 2, NULL, 5);
    drawn(out, "confusion matrix: 0 of 4 correct  0.0 %\n"
               "class  predicted as  samples\n"
               "0      1                   2\n"
               "1      0                   2\n");
}

static void the_locale_decides(void **state)
{
    assert_int_equal(unsetenv("LC_ALL"), 0);
    assert_int_equal(unsetenv("LC_CTYPE"), 0);
    assert_int_equal(setenv("LANG", "C.UTF-8", 1), 0);
    assert_true(cli_is_utf8());
    assert_int_equal(setenv("LC_CTYPE", "C", 1), 0);
    assert_false(cli_is_utf8());
    assert_int_equal(setenv("LC_CTYPE", "de_DE.utf8", 1), 0);
    assert_true(cli_is_utf8());
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    assert_false(cli_is_utf8());
}

/* On a terminal that has colors, unless NO_COLOR is set to something. */
static void colors_are_for_terminals(void **state)
{
    static const struct {
        const char *none, *term;
        bool has_color;
    } rows[] = {{NULL, "xterm", true}, {"", "xterm", true},  {"1", "xterm", false},
                {NULL, "dumb", false}, {NULL, "", false},    {NULL, NULL, false},
                {"0", "xterm", false}, {NULL, "vt100", true}};
    int master;
    FILE *file = tmpfile(), *terminal = terminal_open(80, &master);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            rows[i].none != NULL ? setenv("NO_COLOR", rows[i].none, 1) : unsetenv("NO_COLOR"), 0);
        assert_int_equal(rows[i].term != NULL ? setenv("TERM", rows[i].term, 1) : unsetenv("TERM"),
                         0);
        if (cli_has_color(terminal) != rows[i].has_color)
            fail_msg("row %zu", i);
        assert_false(cli_has_color(file));
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(fclose(terminal), 0);
    assert_int_equal(close(master), 0);
}

/* The terminal's width, at least 30; 80 if it is not a terminal. */
static void columns_are_the_terminals(void **state)
{
    (void)state;
    static const int rows[][2] = {{30, 30}, {20, 30}, {29, 30}, {31, 31}, {0, 80}, {400, 400}};
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(cli_columns(file), 80);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int master;
        FILE *terminal = terminal_open((unsigned short)rows[i][0], &master);
        assert_int_equal(cli_columns(terminal), rows[i][1]);
        assert_int_equal(fclose(terminal), 0);
        assert_int_equal(close(master), 0);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

static const fg_fit_settings schedules[] = {
    {.device_count = 1,
     .batch_shards = 1,
     .batch_size = 8,
     .global_batch_size = 8,
     .accumulate_grad_batches = 1,
     .steps_per_epoch = 1,
     .total_steps = 1,
     .total_epochs = 1,
     .lr_scaling = "none",
     .lr_given = 0.5,
     .lr_factor = 1,
     .lr = 0.5,
     .part_count = 1,
     .part = {{.epoch = 0, .step = 0, .steps = 1}}},
    {.device_count = 4,
     .batch_shards = 2,
     .batch_size = 8,
     .global_batch_size = 16,
     .accumulate_grad_batches = 3,
     .steps_per_epoch = 5,
     .total_steps = 25,
     .total_epochs = 4,
     .lr_scaling = "linear",
     .lr_given = 0.5,
     .lr_factor = 2,
     .lr = 1,
     .part_count = 3,
     .part = {{.epoch = 0, .step = 0, .steps = 5},
              {.epoch = 2, .step = 10, .steps = 10},
              {.epoch = 4, .step = 30, .steps = 20}}},
    {.device_count = 1,
     .batch_shards = 1,
     .batch_size = 8,
     .global_batch_size = 8,
     .accumulate_grad_batches = 1,
     .steps_per_epoch = -1,
     .total_steps = -1,
     .total_epochs = -1,
     .lr_scaling = "sqrt",
     .lr_given = 0.5,
     .lr_factor = 1,
     .lr = 0.5},
};

static void tables_of_schedules(void **state)
{
    fgi_buf *out = begin();
    const fg_schedule schedule = fg_onecycle(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        const fgi_schedule_view view = {.name = "onecycle",
                                        .schedule = &schedule,
                                        .settings = schedules[i],
                                        .momentum = i == 0 ? 0.9 : (double)NAN};
        fgi_schedule_put_table(&view, out);
        fgi_json_put(out, fgi_schedule_json(&view), JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        fgi_buf_puts(out, "\n");
    }
    assert_non_null(out->data);
    fgt_golden("report/schedules.txt", out->data);
    fgi_buf_fini(out);
}

static const struct {
    int64_t steps;
    double momentum; /* NaN: not known */
    bool is_onecycle, draws_lr, draws_momentum;
} schedule_curves[] = {{1, 0.9, true, false, false},
                       {2, 0.9, true, true, true},
                       {9, 0.9, false, true, false},
                       {9, (double)NAN, false, true, false}};

/* What does not change is not drawn. */
static void curves_of_schedules(void **state)
{
    const fg_schedule onecycle = fg_onecycle(NULL), constant = {.row = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof schedule_curves / sizeof schedule_curves[0]; i++) {
        fgi_buf *out = begin();
        fgi_schedule_view view = {.schedule =
                                      schedule_curves[i].is_onecycle ? &onecycle : &constant,
                                  .settings = schedules[1],
                                  .momentum = schedule_curves[i].momentum};
        view.settings.total_steps = schedule_curves[i].steps;
        fgi_schedule_draw(&view, 60, true, out);
        fgi_buf_putc(out, '\n');
        assert_non_null(out->data);
        assert_int_equal(strstr(out->data, "learning rate") != NULL, schedule_curves[i].draws_lr);
        assert_int_equal(strstr(out->data, "momentum") != NULL, schedule_curves[i].draws_momentum);
        fgi_buf_fini(out);
    }
}

/* Of these many steps there are points up to a number, and the highest. */
static const struct {
    int64_t steps;
    size_t points;
} schedule_points[] = {{1, 1},         {2, 2},         {9999, 9999},   {10000, 10000},
                       {10001, 10000}, {20009, 10001}, {20008, 10001}, {1000003, 10001}};

/* They ascend from the first step to the last one. */
static void check_points(const json_t *root, size_t count, int64_t last)
{
    const json_t *steps = json_object_get(root, "step"), *lr = json_object_get(root, "lr_at");
    const json_t *highest = json_object_get(root, "highest");
    const json_int_t peak = json_integer_value(json_object_get(highest, "step"));
    json_int_t before = 0;
    bool has_peak = false;
    assert_int_equal(json_array_size(steps), count);
    assert_int_equal(json_array_size(lr), count);
    assert_int_equal(json_integer_value(json_array_get(steps, 0)), 1);
    for (size_t i = 0; i < count; i++) {
        const json_int_t step = json_integer_value(json_array_get(steps, i));
        assert_true(step > before);
        has_peak = has_peak || step == peak;
        before = step;
    }
    assert_int_equal(before, last);
    assert_true(has_peak);
}

/* It is the first step with the highest rate of all. */
static void check_peak(const json_t *root, const fg_schedule *schedule, int64_t steps)
{
    int64_t best = 0;
    for (int64_t i = 1; i < steps && steps <= 20009; i++)
        if (fg_schedule_lr(schedule, 1, i, steps) > fg_schedule_lr(schedule, 1, best, steps))
            best = i;
    if (steps <= 20009)
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(root, "highest"), "step")),
            best + 1);
}

static void points_of_schedules(void **state)
{
    const fg_schedule onecycle = fg_onecycle(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof schedule_points / sizeof schedule_points[0]; i++) {
        fgi_buf *out = begin();
        fgi_schedule_view view = {.name = "x", .schedule = &onecycle, .settings = schedules[1]};
        view.settings.total_steps = schedule_points[i].steps;
        fgi_json_put(out, fgi_schedule_json(&view), JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        json_t *root = fgi_json_load(out->data, out->size, 0, NULL);
        check_points(root, schedule_points[i].points, schedule_points[i].steps);
        check_peak(root, &onecycle, schedule_points[i].steps);
        json_decref(root);
        fgi_buf_fini(out);
    }
}

/* Bars are within their cell. */
static void bars_of_fractions(void **state)
{
    static const double fractions[] = {-0.5, 0, 0.25, 1, 1.5};
    static const char *const widths[] = {"0.0", "0.0", "25.0", "100.0", "100.0"};
    static const fgi_field fields[] = {FGI_FIELD("", "part/whole", FGI_BAR), FGI_FIELDS_END};
    (void)state;
    for (int i = 0; i < 5; i++) {
        char cell[128];
        fgi_doc d;
        json_t *rows = json_pack("[{s:f, s:f}]", "part", 2 * fractions[i], "whole", 2.0);
        fgi_doc_begin(&d, begin(), true, "page");
        fgi_doc_table(&d, NULL, fields, rows);
        fgi_doc_end(&d);
        (void)snprintf(cell, sizeof cell,
                       "<td class=\"bar\"><div><div style=\"width:%s%%\"></div></div></td>",
                       widths[i]);
        assert_non_null(strstr(page.data, cell));
        fgi_buf_fini(&page);
        json_decref(rows);
    }
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* `count` values from 10 to 11, of which the first ones are replaced. */
static const struct {
    size_t count;
    double first[3];
    double log_ratio, low, high;
    bool is_log;
    size_t below, above;
} ranges[] = {
    {4, {1000, 10, 11}, 1e9, 10, 1000, false, 0, 0}, /* of four, none is an outlier */
    {5, {1000, 10, 11}, 1e9, 10, 11, false, 0, 1},
    {5, {-1000, 10, 11}, 1e9, 10, 11, false, 1, 0},
    {20, {-1000, 1000, 11}, 1e9, -1000, 1000, false, 0, 0}, /* one in 20 at most */
    {39, {-1000, 1000, 11}, 1e9, -1000, 1000, false, 0, 0},
    {40, {-1000, 1000, 11}, 1e9, 10, 11, false, 1, 1},
    {40, {1000, 1001, 11}, 1e9, 10, 11, false, 0, 2},
    {40, {-1000, -1001, 11}, 1e9, 10, 11, false, 2, 0},
    {40, {1000, 1001, 1002}, 1e9, 10, 1002, false, 0, 0},
    {12, {15, 10, 11}, 1e9, 10, 15, false, 0, 0}, /* 4 interquartile ranges of 1 beyond 11 */
    {12, {15.1, 10, 11}, 1e9, 10, 11, false, 0, 1},
    {12, {6, 10, 11}, 1e9, 6, 11, false, 0, 0},
    {12, {5.9, 10, 11}, 1e9, 10, 11, false, 1, 0},
    {4, {300, 10, 11}, 30, 10, 300, false, 0, 0},
    {4, {301, 10, 11}, 30, 1, 2.4785664955938436, true, 0, 0},
    {4, {1000, 0, 11}, 30, 0, 1000, false, 0, 0},
    {4, {1000, -1, 11}, 30, -1, 1000, false, 0, 0},
    {12, {1e-9, 10, 11}, 30, 1, 1.0413926851582251, true, 1, 0},
    {1, {7, 0, 0}, 30, 7, 7, false, 0, 0},
};

static void the_range_leaves_out_few_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        double y[40];
        fgi_range out;
        for (size_t k = 0; k < ranges[i].count; k++)
            y[k] = k < 3 ? ranges[i].first[k] : 10 + (double)(k % 2);
        fgi_chart_find_range(y, ranges[i].count, ranges[i].log_ratio, &out);
        if (out.is_log != ranges[i].is_log || out.above != ranges[i].above ||
            out.below != ranges[i].below)
            fail_msg("row %zu: %zu below, %zu above", i, out.below, out.above);
        fgt_close("low", out.low, ranges[i].low, 1e-12, 0);
        fgt_close("high", out.high, ranges[i].high, 1e-12, 0);
    }
    /* values that are all the same but one: it is shown */
    double flat[12] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    fgi_range out;
    fgi_chart_find_range(flat, 12, 30, &out);
    assert_true(out.high > 1.5 && out.above == 0);
}

/* ---- whole drawings -------------------------------------------------------------------------- */

enum { MANY = 45 };
static double count_up[MANY], falling[MANY], rising[MANY], uneven[MANY];

static void fill(void)
{
    for (int i = 0; i < MANY; i++) {
        count_up[i] = 10 * i;
        falling[i] = 100.0 / (i + 1);
        rising[i] = i - 20;
        uneven[i] = i % 7 == 3 ? (double)NAN : (i * 13) % 11;
    }
}

static void whole_curves(void **state)
{
    const fgi_series six[] = {{"loss", count_up, rising, MANY}, {"b", count_up, uneven, MANY},
                              {"c", count_up, falling, 5},      {"d", count_up, rising + 3, 9},
                              {"e", count_up, falling, 1},      {"f", count_up, rising, 2}};
    const double spread[] = {-500, 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                             14,   15, 16, 17, 18, 19, 2,  3,  4,  5,  6,  7,  8,  9,
                             10,   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 600};
    const fgi_series wide = {"wide", count_up, spread, 40};
    fgi_buf *out = begin();
    (void)state;
    fill();
    draw_curves(out, six, 6, &(drawn_as){.title = "all", .x_label = "steps"});
    draw_curves(out, six, 2, &(drawn_as){.columns = 29, .rows = 4, .is_ascii = true});
    draw_curves(out, six + 2, 1, &(drawn_as){.columns = 31, .rows = 7, .title = "log"});
    draw_curves(out, six + 4, 1, &(drawn_as){.columns = 40, .rows = 8, .x_label = "x"});
    draw_curves(out, &wide, 1, &(drawn_as){.columns = 44, .rows = 9, .title = "wide"});
    draw_curves(out, six, 1, &(drawn_as){.columns = 401, .rows = 5, .is_ascii = true});
    draw_curves(out, six, 1, &(drawn_as){.columns = 30, .rows = 101, .is_ascii = true});
    fgt_golden("report/curves.txt", out->data);
    fgi_buf_fini(out);
}

/* Names and numbers of different widths, and the columns that just suffice and just do not. */
static void whole_matrices(void **state)
{
    enum { CLASSES = 33 };
    static const char *const names[CLASSES] = {"a name of 16 col", "a name of 17 colu", NULL,
                                               "abcdef"};
    int64_t counts[CLASSES * CLASSES];
    fgi_buf *out = begin();
    (void)state;
    for (int i = 0; i < CLASSES * CLASSES; i++)
        counts[i] = i % 5 == 2 ? 0 : (i * 7) % 9 + (i == 0 ? 1234567 : 0);
    draw_confusion(out, counts, 4, names, 61);
    draw_confusion(out, counts, 4, names, 60);
    draw_confusion(out, counts + 1, 4, NULL, 25);
    draw_confusion(out, counts + 1, 4, NULL, 24);
    draw_confusion(out, counts + 1, CLASSES - 1, NULL, 300);
    draw_confusion(out, counts, CLASSES, names, 1000);
    draw_confusion(out, (const int64_t[]){0}, 1, NULL, 80);
    fgt_golden("report/matrices.txt", out->data);
    fgi_buf_fini(out);
}

static void whole_class_tables(void **state)
{
    const double nan = (double)NAN;
    const class_row rows[] = {{"first", 1, 1, 0.5, 0.7},
                              {"second of equal F1", 2, 0.25, 1, 0.7},
                              {"unknown", 0, nan, nan, nan},
                              {"lowest", 3, 0.001, 0.002, 0.0015},
                              {"a name of more than 40 columns, which is cut", 99, 1, 1, 0.99},
                              {"a name of 25 columns ....", 100, 1, 1, 0.98},
                              {"g", 1, 0, 0, 0},
                              {"h", 1, 0.3, 0.3, 0.3},
                              {"i", 1, 0.4, 0.4, 0.4},
                              {"j", 1, 0.5, 0.5, 0.5},
                              {"k", 1, 1, 1, 1}};
    fgi_buf *out = begin();
    (void)state;
    draw_classes(out, rows, 10);
    draw_classes(out, rows, 11);
    draw_classes(out, rows + 6, 1);
    draw_classes(out, rows + 4, 1);
    fgt_golden("report/classes.txt", out->data);
    fgi_buf_fini(out);
}

static void put_special_charts(fgi_buf *out)
{
    static double x[900], y[900], outliers[40];
    const double large[] = {0, 99999, 1e5, 2.5e6}, small[] = {-0.25, -0.125, -0.5, -0.25},
                 flat[] = {0, 0, 0, 0}, level[] = {-3, -3, -3, -3};
    const fgi_series more[] = {{"large", large, large, 4},   {"small", large, small, 4},
                               {"flat", small, flat, 4},     {"level", count_up, level, 4},
                               {"one", count_up, level, 1},  {"long", x, y, 900},
                               {"outliers", x, outliers, 40}};
    for (int i = 0; i < 40; i++)
        outliers[i] = i == 7 ? -500 : i == 20 ? 500 : i % 5;
    for (int i = 0; i < 900; i++) {
        x[i] = i;
        y[i] = i == 450 ? (double)NAN : (i * 37) % 101;
    }
    for (int i = 0; i < 7; i++)
        put_figure(out, more + i, 1, (fgi_chart){.title = more[i].name, .x_label = "n"});
}

static void whole_charts(void **state)
{
    const fgi_series some[] = {{"<a>", count_up, rising, MANY},
                               {"b", count_up, uneven, MANY},
                               {"c", count_up, falling, 5},
                               {"none", count_up, falling, 0}};
    const double fractions[] = {0.1, 0.7, 1.3};
    fgi_buf *out = begin();
    (void)state;
    fill();
    put_figure(out, some, 4, (fgi_chart){.title = "t & u", .x_label = "steps"});
    put_figure(out, some, 3,
               (fgi_chart){.title = "s", .x_label = "x", .is_stacked = true, .color = 6});
    put_figure(out, some + 2, 1, (fgi_chart){.title = "l", .x_label = "x", .has_real_x = true});
    for (int i = 0; i < 2; i++) /* fractions of x have labels */
        put_figure(out, &(fgi_series){"r", fractions, rising, 3}, 1,
                   (fgi_chart){.title = "r", .x_label = "x", .has_real_x = i == 0});
    put_figure(out, some + 2, 1, (fgi_chart){.title = "few", .x_label = "steps"});
    put_special_charts(out);
    put_figure(out, &(fgi_series){"log", falling, count_up + 1, 9}, 1,
               (fgi_chart){.title = "both", .x_label = "n", .y = FGI_SCALE_LOG, .is_log_x = true});
    put_figure(out, some + 3, 1, (fgi_chart){.title = "none", .x_label = "n"});
    fgt_golden("report/charts.html", out->data);
    fgi_buf_fini(out);
}

/* Of up to 399 values each is a point; else each point is the least or greatest of some values. */
static void a_curve_has_few_points(void **state)
{
    static const size_t rows[][2] = {{399, 399}, {400, 201}, {799, 401}, {800, 268}};
    static double x[800], y[800];
    (void)state;
    for (size_t i = 0; i < 800; i++)
        x[i] = (double)i;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t points = 0;
        const fgi_series series = {"loss", x, y, rows[i][0]};
        put_figure(begin(), &series, 1, (fgi_chart){.title = "loss", .x_label = "steps"});
        const char *at = strstr(page.data, "points=\"");
        assert_non_null(at);
        for (at += strlen("points=\""); *at != '"'; at++)
            points += *at == ',';
        assert_int_equal(points, rows[i][1]);
        fgi_buf_fini(&page);
    }
}

/* A long curve has fewer points than values, but ends where they end. */
static void a_long_curve_has_its_last_point(void **state)
{
    static double x[1000], y[1000];
    (void)state;
    for (int i = 0; i < 1000; i++) {
        x[i] = i;
        y[i] = 1;
    }
    for (size_t count = 400; count <= 1000; count += 100) {
        const fgi_series series = {"loss", x, y, count};
        x[count - 1] = 2e5;
        put_figure(begin(), &series, 1, (fgi_chart){.title = "loss", .x_label = "steps"});
        assert_non_null(strstr(page.data, " 470.0,")); /* the right end of the axis */
        assert_non_null(strstr(page.data, ">200k</text>"));
        fgi_buf_fini(&page);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Charts one above the other, of a schedule with a momentum that changes and of one without, and
 * their numbers. */
static void whole_pictures(void **state)
{
    const fg_schedule onecycle = fg_onecycle(NULL), constant = {.row = NULL};
    const char *folder = fgt_temp_folder();
    fgi_buf *out = begin();
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const fgi_schedule_view view = {.name = "s",
                                        .schedule = i < 2 ? &onecycle : &constant,
                                        .settings = schedules[1],
                                        .momentum = 0.9};
        const char *path = fgt_path(folder, i % 2 == 0 ? "s.svg" : "s.csv");
        char *text = NULL;
        size_t size = 0;
        fgt_ok(fgi_schedule_write(&view, path, &err));
        fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
        fgi_buf_printf(out, "%s----\n", text);
        fgi_free(text);
        assert_int_equal(fgi_schedule_write(&view, fgt_path(folder, "s"), &err), FG_EINVAL);
    }
    assert_non_null(out->data);
    fgt_golden("report/pictures.svg", out->data);
    fgi_buf_fini(out);
}

/* 1200 pixels wide, with the colors of the document; without librsvg, what is missing is said. */
static void png_files_have_the_pixels_of_the_document(void **state)
{
    const double x[] = {1, 2}, y[] = {0, 1}, limit[] = {0.5};
    const fgi_series series[] = {{"<a>", x, y, 2}, {"limit", NULL, limit, 1}};
    const fgi_chart chart = {.title = "t", .x_label = "x", .series = series, .count = 2};
    fg_image_decoder *decoder = NULL;
    fg_image image = {0};
    fg_error err = {0};
    fgi_buf *out = begin();
    size_t white = 0, green = 0, orange = 0;
    (void)state;
    if (fgi_chart_put_png(out, &chart, 1, &err) != FG_OK) {
        assert_int_equal(err.status, FG_ENOTFOUND);
        assert_non_null(strstr(err.message, "librsvg"));
        skip();
    }
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "png", out->data, out->size,
                           &(fg_image_decode_options){.channels = 3}, &image, &err));
    assert_int_equal(image.width, 1200);
    assert_int_equal(image.height, 1200 * 298 / 480);
    for (int64_t i = 0; i < image.width * image.height; i++) {
        const uint8_t *p = image.pixels + 3 * i;
        white += p[0] == 0xff && p[1] == 0xff && p[2] == 0xff;
        green += p[0] == 0x2e && p[1] == 0x7d && p[2] == 0x5b;
        orange += p[0] == 0xc4 && p[1] == 0x66 && p[2] == 0x1f;
    }
    assert_true(white > 600000 && green > 3000 && orange > 1500);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    fgi_buf_fini(out);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whole_pictures),
    cmocka_unit_test(png_files_have_the_pixels_of_the_document),
    cmocka_unit_test(tables_of_schedules),
    cmocka_unit_test(curves_of_schedules),
    cmocka_unit_test(points_of_schedules),
    cmocka_unit_test(bars_of_fractions),
    cmocka_unit_test(a_curve_has_few_points),
    cmocka_unit_test(a_long_curve_has_its_last_point),
    cmocka_unit_test(the_range_leaves_out_few_values),
    cmocka_unit_test(whole_curves),
    cmocka_unit_test(whole_matrices),
    cmocka_unit_test(whole_class_tables),
    cmocka_unit_test(whole_charts),
    cmocka_unit_test(a_falling_line_in_ascii),
    cmocka_unit_test(a_falling_line_in_braille),
    cmocka_unit_test(an_outlier_does_not_flatten_the_curve),
    cmocka_unit_test(a_large_range_is_logarithmic),
    cmocka_unit_test(what_cannot_be_drawn_is_left_out),
    cmocka_unit_test(a_confusion_matrix),
    cmocka_unit_test(a_confusion_matrix_of_large_counts),
    cmocka_unit_test(equal_confusions_are_all_named),
    cmocka_unit_test(the_locale_decides),
    cmocka_unit_test(columns_are_the_terminals),
    cmocka_unit_test(colors_are_for_terminals),
    cmocka_unit_test(labels_have_room),
    cmocka_unit_test(an_outlier_does_not_flatten_a_chart),
    cmocka_unit_test(classes_are_a_table),
    cmocka_unit_test(of_many_classes_the_worst),
};
FGT_MAIN(tests)
