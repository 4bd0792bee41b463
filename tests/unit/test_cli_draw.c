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
#include "report/chart.h"
#include "report/draw.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/schedule_plot.h"
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

static void a_falling_line_in_ascii(void **state)
{
    const double x[] = {0, 10, 20}, y[] = {4, 2, 0}, vx[] = {0, 20}, vy[] = {0, 4};
    const fgi_draw_series series[] = {{"loss", x, y, 3}, {"val_loss", vx, vy, 2}};
    const fgi_draw_options options = {
        .title = "title", .x_label = "steps", .columns = 30, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    fgi_draw_curves(out, series, 2, &options);
    drawn(out, "          title\n"
               "       4 |***                o\n"
               "         |   *****            \n"
               "         |        *****       \n"
               "         |             ****   \n"
               "       0 |o                ***\n"
               "         +--------------------\n"
               "          0           20 steps\n"
               "          * loss   o val_loss\n");
}

/* A character is four dots high and two wide: a line from the top to the bottom of the chart. */
static void a_falling_line_in_braille(void **state)
{
    const double x[] = {0, 1}, y[] = {1, 0};
    const fgi_draw_series series = {"loss", x, y, 2};
    const fgi_draw_options options = {.columns = 30, .rows = 5};
    fgi_buf *out = begin();
    fgi_draw_curves(out, &series, 1, &options);
    drawn(out, "       1 │⠉⠒⠤⣀                \n"
               "         │    ⠉⠒⠤⣀            \n"
               "         │        ⠉⠒⠤⣀        \n"
               "         │            ⠉⠒⠤⣀    \n"
               "       0 │                ⠉⠒⠤⣀\n"
               "         └────────────────────\n"
               "          0                  1\n"
               "          ⠤ loss\n");
}

/* Draws values at 0, 1, 2 and so on in a chart of 6 rows. */
static fgi_buf *chart_of(const double *y, size_t count)
{
    static double x[12];
    for (size_t i = 0; i < count; i++)
        x[i] = (double)i;
    const fgi_draw_series series = {"loss", x, y, count};
    const fgi_draw_options options = {.title = "loss", .columns = 34, .rows = 6, .is_ascii = true};
    fgi_buf *out = begin();
    fgi_draw_curves(out, &series, 1, &options);
    return out;
}

static const struct {
    fgi_draw_range range;
    const char *notes;
} noted_ranges[] = {
    {{.low = 1, .high = 2}, ""},
    {{.is_log = true}, " (log scale)"},
    {{.above = 1, .below = 2}, " (1 value above the plot, 2 values below the plot)"},
    {{.is_log = true, .below = 1}, " (log scale; 1 value below the plot)"},
};

static void notes_say_what_a_plot_lacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof noted_ranges / sizeof noted_ranges[0]; i++) {
        fgi_buf *out = begin();
        fgi_draw_put_notes(out, &noted_ranges[i].range);
        drawn(out, noted_ranges[i].notes);
    }
}

/* A value that is far from the others is drawn at the edge; of twelve, at most one. */
static void an_outlier_does_not_flatten_the_curve(void **state)
{
    double y[] = {49, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    fgi_buf *out = chart_of(y, 12);
    (void)state;
    drawn(out, "          loss (1 value above the plot)\n"
               "      12 |*****                   \n"
               "         |     **                 \n"
               "         |       *****            \n"
               "         |            ****        \n"
               "         |                ****    \n"
               "       2 |                    ****\n"
               "         +------------------------\n"
               "          0                     11\n"
               "          * loss\n");
    y[1] = 48;
    out = chart_of(y, 12);
    assert_non_null(strstr(out->data, "          loss\n      49 |"));
    y[0] = 8;
    y[1] = 9;
    y[11] = -50;
    out = chart_of(y, 12);
    assert_non_null(strstr(out->data, "          loss (1 value below the plot)\n      11 |"));
    assert_non_null(strstr(out->data, "\n       3 |"));
    fgi_buf_fini(out);
}

static void a_large_range_is_logarithmic(void **state)
{
    const double y[] = {100, 10, 1, 0.1, 0.01};
    (void)state;
    drawn(chart_of(y, 5), "          loss (log scale)\n"
                          "     100 |***                     \n"
                          "         |   *****                \n"
                          "         |        ***             \n"
                          "         |           ****         \n"
                          "         |               *****    \n"
                          "    0.01 |                    ****\n"
                          "         +------------------------\n"
                          "          0                      4\n"
                          "          * loss\n");
}

static void what_cannot_be_drawn_is_left_out(void **state)
{
    const double x[] = {0, 1, 2}, y[] = {(double)NAN, HUGE_VAL, -HUGE_VAL},
                 flat[] = {2, (double)NAN, 2};
    const fgi_draw_series none = {"loss", x, y, 3}, empty = {"loss", NULL, NULL, 0};
    const fgi_draw_series level = {"loss", x, flat, 3};
    const fgi_draw_options options = {.columns = 30, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    fgi_draw_curves(out, &none, 1, &options);
    fgi_draw_curves(out, &empty, 1, &options);
    drawn(out, "          (no numbers to draw)\n          (no numbers to draw)\n");
    out = begin();
    fgi_draw_curves(out, &level, 1, &options); /* two points with a gap between them */
    assert_non_null(out->data);
    assert_non_null(strstr(out->data, "         |*                  *\n"));
    fgi_buf_fini(out);
}

/* Their column is as wide as they are. */
static void labels_have_room(void **state)
{
    const double x[] = {0, 1, 2}, y[] = {12.34, 0.01234, 0.00001234};
    const fgi_draw_series series = {"loss", x, y, 3};
    const fgi_draw_options options = {.title = "loss", .columns = 31, .rows = 5, .is_ascii = true};
    fgi_buf *out = begin();
    (void)state;
    fgi_draw_curves(out, &series, 1, &options);
    drawn(out, "           loss (log scale)\n"
               "    12.34 |***                 \n"
               "          |   *****            \n"
               "          |        *****       \n"
               "          |             ****   \n"
               "1.234e-05 |                 ***\n"
               "          +--------------------\n"
               "           0                  2\n"
               "           * loss\n");
}

/* The page's chart of a line from 1 to 0 with one other value. */
static const char *page_chart_of(double other, bool is_stacked)
{
    static double x[20], y[20];
    const fgi_draw_series series = {"loss", x, y, 20};
    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = i == 3 ? other : 1 - i / 19.0;
    }
    fgi_chart_put(
        begin(), &series, 1,
        &(fgi_chart_options){.title = "loss", .x_label = "steps", .is_stacked = is_stacked});
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

static void classes_are_a_table(void **state)
{
    const fgi_draw_class rows[] = {{"cat", 12, 10 / 11.0, 10 / 12.0, 20 / 23.0},
                                   {"d\xc3\xb6g", 0, 0, (double)NAN, 0},
                                   {"hippopotamus amphibius", 1234567, 1, 1, 1},
                                   {"none", 0, (double)NAN, (double)NAN, (double)NAN}};
    const fgi_draw_options options = {.columns = 55}, narrow = {.columns = 20};
    (void)state;
    fgi_buf *out = begin();
    fgi_draw_classes(out, rows, 4, &options);
    drawn(out, "           class  samples  precision   recall       F1\n"
               "             cat       12     90.9 %   83.3 %   87.0 %\n"
               "             d\xc3\xb6g        0      0.0 %      n/a    0.0 %\n"
               "hippopotamus amp  1234567    100.0 %  100.0 %  100.0 %\n"
               "            none        0        n/a      n/a      n/a\n");
    out = begin();
    fgi_draw_classes(out, rows, 1, &narrow);
    drawn(out, "class  samples  precision   recall       F1\n"
               "  cat       12     90.9 %   83.3 %   87.0 %\n");
}

/* The ten with the lowest F1, of equal ones the first. */
static void of_many_classes_the_worst(void **state)
{
    const fgi_draw_options options = {.columns = 55};
    fgi_draw_class many[1000];
    char names[1000][8];
    fgi_buf *out = begin();
    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%d", i);
        many[i] = (fgi_draw_class){names[i], 5, 1, 1, i == 777 ? 0 : i == 0 ? (double)NAN : 0.5};
    }
    fgi_draw_classes(out, many, 1000, &options);
    assert_non_null(strstr(out->data, "F1\n c777 "));
    assert_non_null(strstr(out->data, "\n   c1 "));
    assert_non_null(strstr(out->data, "\n   c9 "));
    assert_null(strstr(out->data, " c10 "));
    assert_null(strstr(out->data, " c0 "));
    fgi_buf_fini(out);
}

static void a_confusion_matrix(void **state)
{
    const int64_t counts[] = {10, 0, 2, 0, 0, 0, 1, 3, 4};
    const char *const names[] = {"cat", "d\xc3\xb6g", "hippopotamus"};
    const fgi_draw_options ascii = {.is_ascii = true}, narrow = {.columns = 30};
    fgi_buf *out = begin();
    fgi_draw_confusion(out, counts, 3, names, &ascii);
    drawn(out, "confusion matrix: 14 of 20 correct   70.0 %\n"
               "        true |    cat    d\xc3\xb6g hippop  correct\n"
               "         cat |     10      .      2   83.3 %\n"
               "         d\xc3\xb6g |      .      .      .    n/a\n"
               "hippopotamus |      1      3      4   50.0 %\n");
    out = begin();
    fgi_draw_confusion(out, counts, 3, names, &narrow);
    drawn(out, "confusion matrix: 14 of 20 correct   70.0 %\n"
               "       3  hippopotamus predicted as d\xc3\xb6g\n"
               "       2           cat predicted as hippopotamus\n"
               "       1  hippopotamus predicted as cat\n");
}

/* Cells are as wide as the longest number, wherever it is. */
static void a_confusion_matrix_of_large_counts(void **state)
{
    const int64_t counts[] = {1, 0, 0, 12345};
    const fgi_draw_options ascii = {.is_ascii = true};
    fgi_buf *out = begin();
    (void)state;
    fgi_draw_confusion(out, counts, 2, NULL, &ascii);
    drawn(out, "confusion matrix: 12346 of 12346 correct  100.0 %\n"
               "true |     0     1  correct\n"
               "   0 |     1     .  100.0 %\n"
               "   1 |     . 12345  100.0 %\n");
}

static void equal_confusions_are_all_named(void **state)
{
    const int64_t counts[] = {0, 2, 2, 0};
    const fgi_draw_options narrow = {.columns = 5, .title = "t"};
    fgi_buf *out = begin();
    fgi_draw_confusion(out, counts, 2, NULL, &narrow);
    drawn(out, "t: 0 of 4 correct    0.0 %\n       2     0 predicted as 1\n       2     1 "
               "predicted as 0\n");
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
        assert_true(fgi_schedule_put_json(&view, out));
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
        assert_int_equal(strstr(out->data, "lr") != NULL, schedule_curves[i].draws_lr);
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
        assert_true(fgi_schedule_put_json(&view, out));
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
    (void)state;
    for (int i = 0; i < 5; i++) {
        char cell[128];
        fgi_buf *out = begin();
        (void)snprintf(cell, sizeof cell,
                       "<td class=\"bar\"><div><div style=\"width:%s%%\"></div></div></td>",
                       widths[i]);
        fgi_html_bar_cell(out, fractions[i]);
        drawn(out, cell);
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
        fgi_draw_range out;
        for (size_t k = 0; k < ranges[i].count; k++)
            y[k] = k < 3 ? ranges[i].first[k] : 10 + (double)(k % 2);
        fgi_draw_find_range(y, ranges[i].count, ranges[i].log_ratio, &out);
        if (out.is_log != ranges[i].is_log || out.above != ranges[i].above ||
            out.below != ranges[i].below)
            fail_msg("row %zu: %zu below, %zu above", i, out.below, out.above);
        fgt_close("low", out.low, ranges[i].low, 1e-12, 0);
        fgt_close("high", out.high, ranges[i].high, 1e-12, 0);
    }
    /* values that are all the same but one: it is shown */
    double flat[12] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    fgi_draw_range out;
    fgi_draw_find_range(flat, 12, 30, &out);
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
    const fgi_draw_series six[] = {{"loss", count_up, rising, MANY}, {"b", count_up, uneven, MANY},
                                   {"c", count_up, falling, 5},      {"d", count_up, rising + 3, 9},
                                   {"e", count_up, falling, 1},      {"f", count_up, rising, 2}};
    const double spread[] = {-500, 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                             14,   15, 16, 17, 18, 19, 2,  3,  4,  5,  6,  7,  8,  9,
                             10,   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 600};
    const fgi_draw_series wide = {"wide", count_up, spread, 40};
    fgi_buf *out = begin();
    (void)state;
    fill();
    fgi_draw_curves(out, six, 6, &(fgi_draw_options){.title = "all", .x_label = "steps"});
    fgi_draw_curves(out, six, 2, &(fgi_draw_options){.columns = 29, .rows = 4, .is_ascii = true});
    fgi_draw_curves(out, six + 2, 1, &(fgi_draw_options){.columns = 31, .rows = 7, .title = "log"});
    fgi_draw_curves(out, six + 4, 1, &(fgi_draw_options){.columns = 40, .rows = 8, .x_label = "x"});
    fgi_draw_curves(out, &wide, 1, &(fgi_draw_options){.columns = 44, .rows = 9, .title = "wide"});
    fgi_draw_curves(out, six, 1, &(fgi_draw_options){.columns = 401, .rows = 5, .is_ascii = true});
    fgi_draw_curves(out, six, 1, &(fgi_draw_options){.columns = 30, .rows = 101, .is_ascii = true});
    fgt_golden("report/curves.txt", out->data);
    fgi_buf_fini(out);
}

/* Names and numbers of different widths, and the columns that just suffice and just do not. */
static void whole_matrices(void **state)
{
    enum { CLASSES = 12 };
    static const char *const names[CLASSES] = {"a name of 16 col", "a name of 17 colu", NULL,
                                               "abcdef"};
    int64_t counts[CLASSES * CLASSES];
    fgi_buf *out = begin();
    (void)state;
    for (int i = 0; i < CLASSES * CLASSES; i++)
        counts[i] = i % 5 == 2 ? 0 : (i * 7) % 9 + (i == 0 ? 1234567 : 0);
    fgi_draw_confusion(out, counts, 4, names, &(fgi_draw_options){.columns = 59, .title = "fits"});
    fgi_draw_confusion(out, counts, 4, names,
                       &(fgi_draw_options){.columns = 58, .title = "does not"});
    fgi_draw_confusion(out, counts + 1, 4, NULL, &(fgi_draw_options){.columns = 22});
    fgi_draw_confusion(out, counts + 1, 4, NULL, &(fgi_draw_options){.columns = 21});
    fgi_draw_confusion(out, counts, CLASSES, names, &(fgi_draw_options){.columns = 0});
    fgi_draw_confusion(out, (const int64_t[]){0}, 1, NULL, &(fgi_draw_options){.is_ascii = true});
    fgt_golden("report/matrices.txt", out->data);
    fgi_buf_fini(out);
}

static void whole_class_tables(void **state)
{
    const double nan = (double)NAN;
    const fgi_draw_class rows[] = {{"first", 1, 1, 0.5, 0.7},
                                   {"second of equal F1", 2, 0.25, 1, 0.7},
                                   {"unknown", 0, nan, nan, nan},
                                   {"lowest", 3, 0.001, 0.002, 0.0015},
                                   {"a name of 24 columns ...", 99, 1, 1, 0.99},
                                   {"a name of 25 columns ....", 100, 1, 1, 0.98},
                                   {"g", 1, 0, 0, 0},
                                   {"h", 1, 0.3, 0.3, 0.3},
                                   {"i", 1, 0.4, 0.4, 0.4},
                                   {"j", 1, 0.5, 0.5, 0.5},
                                   {"k", 1, 1, 1, 1}};
    fgi_buf *out = begin();
    (void)state;
    fgi_draw_classes(out, rows, 10, &(fgi_draw_options){.columns = 0});
    fgi_draw_classes(out, rows, 11, &(fgi_draw_options){.columns = 63});
    fgi_draw_classes(out, rows, 11, &(fgi_draw_options){.columns = 62});
    fgi_draw_classes(out, rows + 6, 1, &(fgi_draw_options){.columns = 44});
    fgi_draw_classes(out, rows + 4, 1, &(fgi_draw_options){.columns = 46});
    fgt_golden("report/classes.txt", out->data);
    fgi_buf_fini(out);
}

static void put_special_charts(fgi_buf *out)
{
    static double x[900], y[900], outliers[40];
    const double large[] = {0, 99999, 1e5, 2.5e6}, small[] = {-0.25, -0.125, -0.5, -0.25},
                 flat[] = {0, 0, 0, 0}, level[] = {-3, -3, -3, -3};
    const fgi_draw_series more[] = {{"large", large, large, 4},   {"small", large, small, 4},
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
        fgi_chart_put(out, more + i, 1,
                      &(fgi_chart_options){.title = more[i].name, .x_label = "n"});
}

static void whole_charts(void **state)
{
    const fgi_draw_series some[] = {{"<a>", count_up, rising, MANY},
                                    {"b", count_up, uneven, MANY},
                                    {"c", count_up, falling, 5},
                                    {"none", count_up, falling, 0}};
    const double fractions[] = {0.1, 0.7, 1.3};
    fgi_buf *out = begin();
    (void)state;
    fill();
    fgi_chart_put(out, some, 4, &(fgi_chart_options){.title = "t & u", .x_label = "steps"});
    fgi_chart_put(
        out, some, 3,
        &(fgi_chart_options){.title = "s", .x_label = "x", .is_stacked = true, .color = 6});
    fgi_chart_put(out, some + 2, 1,
                  &(fgi_chart_options){.title = "l", .x_label = "x", .has_real_x = true});
    for (int i = 0; i < 2; i++) /* fractions of x have labels */
        fgi_chart_put(out, &(fgi_draw_series){"r", fractions, rising, 3}, 1,
                      &(fgi_chart_options){.title = "r", .x_label = "x", .has_real_x = i == 0});
    fgi_chart_put(out, some + 2, 1, &(fgi_chart_options){.title = "few", .x_label = "steps"});
    put_special_charts(out);
    fgi_chart_put(out, &(fgi_draw_series){"log", falling, count_up + 1, 9}, 1,
                  &(fgi_chart_options){.title = "both", .x_label = "n", .is_log = true});
    fgi_chart_put(out, some + 3, 1, &(fgi_chart_options){.title = "none", .x_label = "n"});
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
        const fgi_draw_series series = {"loss", x, y, rows[i][0]};
        fgi_chart_put(begin(), &series, 1,
                      &(fgi_chart_options){.title = "loss", .x_label = "steps"});
        const char *at = strstr(page.data, "points=\"");
        assert_non_null(at);
        for (at += strlen("points=\""); *at != '"'; at++)
            points += *at == ',';
        assert_int_equal(points, rows[i][1]);
        fgi_buf_fini(&page);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* A gnuplot that keeps its script, and draws what its answer is. */
static const char *fake_gnuplot(const char *answer, const char *end)
{
    const char *folder = fgt_temp_folder(), *program = fgt_path(folder, "gnuplot");
    char text[512], search[512];
    const int size =
        snprintf(text, sizeof text, "#!/bin/sh\n/bin/cat > %s/script\nprintf '%s'\n%s\n", folder,
                 answer, end);
    fgt_write(program, text, (size_t)size);
    assert_int_equal(chmod(program, 0755), 0);
    (void)snprintf(search, sizeof search, "%s", folder);
    assert_int_equal(setenv("PATH", search, 1), 0);
    return folder;
}

static void add_script(fgi_buf *out, const char *folder)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, "script"), 1 << 20, &text, &size, &err));
    fgi_buf_puts(out, text);
    fgi_buf_puts(out, "----\n");
    fgi_free(text);
}

static const fgi_plot_options plots[] = {
    {.title = NULL},
    {.title = "it's a `title`", .x_label = "x\n", .y_label = "y", .y_format = "%.1f"},
    {.is_log_y = true, .limit_name = "most", .limit = 2.5, .x_base = 10},
    {.limit_name = "unknown", .limit = HUGE_VAL, .is_png = true},
    {.has_marks = true, .x_base = 3},
    {.is_linear_x = true, .y2_label = "second"},
    {.has_marks = true, .is_linear_x = true},
    {.has_marks = true, .is_log_y = true, .x_base = 10},
    {.y2_label = "without a second series"},
};

static void scripts_for_gnuplot(void **state)
{
    const double x[] = {0, 1, 2.5, (double)NAN, 1e9, 7},
                 y[] = {1, 2, 0.123456789012, 3, 4, HUGE_VAL};
    const fgi_draw_series series[] = {{"one", x, y, 6}, {"two_#", x + 1, y, 2}};
    const fg_schedule onecycle = fg_onecycle(NULL), constant = {.row = NULL};
    const char *folder = fake_gnuplot("<svg></svg>", "");
    fgi_buf *out = begin();
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        char *picture = fgi_plot_svg(series, 1 + i % 2, &plots[i], &err);
        assert_string_equal(picture, "<svg></svg>");
        fgi_free(picture);
        add_script(out, folder);
    }
    for (int i = 0; i < 2; i++) { /* with a momentum that changes, and without */
        const fgi_schedule_view view = {.name = "s",
                                        .schedule = i == 0 ? &onecycle : &constant,
                                        .settings = schedules[1],
                                        .momentum = 0.9};
        fgt_ok(fgi_schedule_write(&view, fgt_path(folder, "s.svg"), &err));
        add_script(out, folder);
        assert_int_equal(fgi_schedule_write(&view, fgt_path(folder, "script"), &err), FG_EINVAL);
        fgt_ok(fgi_schedule_write(&view, fgt_path(folder, "s.csv"), &err));
        assert_int_equal(rename(fgt_path(folder, "s.csv"), fgt_path(folder, "script")), 0);
        add_script(out, folder);
    }
    assert_non_null(out->data);
    fgt_golden("report/pictures.txt", out->data);
    fgi_buf_fini(out);
}

static const struct {
    const char *answer, *end;
    fg_status status; /* FG_OK: it is a picture */
    const char *words;
} answers[] = {
    {"<svg></svg>", "exit 0", FG_OK, NULL},
    {"IEND\\256\\102\\140\\202", "", FG_EINVAL, "did not draw the picture (status 0)"},
    {"xIEND\\256\\102\\140\\202", "", FG_OK, NULL},
    {"xIEND\\256\\102\\140\\202\\n", "", FG_EINVAL, "did not draw the picture (status 0)"},
    {"<svg>", "", FG_EINVAL, "did not draw the picture (status 0)"},
    {"", "", FG_EINVAL, "did not draw the picture (status 0)"},
    {"<svg></svg>", "exit 3", FG_EINVAL, "did not draw the picture (status 3)"},
    {"<svg></svg>", "kill -KILL $$", FG_EINVAL, "did not draw the picture (status -1)"},
    {"<svg></svg>", "exit 127", FG_ENOTFOUND, "gnuplot is not installed: expected it in PATH"},
};

static void a_gnuplot_that_fails(void **state)
{
    const double x[] = {1}, y[] = {1};
    const fgi_draw_series series = {"one", x, y, 1};
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fg_error err = {0};
        (void)fake_gnuplot(answers[i].answer, answers[i].end);
        char *picture = fgi_plot_svg(&series, 1, &(fgi_plot_options){.title = "t"}, &err);
        if ((picture != NULL) != (answers[i].status == FG_OK) || err.status != answers[i].status ||
            (picture == NULL && strstr(err.message, answers[i].words) == NULL))
            fail_msg("row %zu: %s", i, err.message);
        fgi_free(picture);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(scripts_for_gnuplot),
    cmocka_unit_test(a_gnuplot_that_fails),
    cmocka_unit_test(tables_of_schedules),
    cmocka_unit_test(curves_of_schedules),
    cmocka_unit_test(points_of_schedules),
    cmocka_unit_test(bars_of_fractions),
    cmocka_unit_test(notes_say_what_a_plot_lacks),
    cmocka_unit_test(a_curve_has_few_points),
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
