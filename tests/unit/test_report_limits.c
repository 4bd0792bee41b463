/* test_report_limits.c - charts, cells and words of reports at the limits of their numbers: zero,
 * values below it, one value, many decades, and the last one before another unit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "devices.h"
#include "golden.h"
#include "input/json_file.h"
#include "doc/chart.h"
#include "doc/doc.h"
#include "report/reports.h"
#include "report/run_view.h"
#include "sheet.h"

#define NONE ((double)NAN)

static void compare(const char *name, fgi_buf *out)
{
    assert_non_null(out->data);
    assert_false(out->failed);
    fgt_golden(name, out->data);
    fgi_buf_fini(out);
}

/* ---- charts ---------------------------------------------------------------------------------- */

enum { MOST = 20 };

/* One or two curves over the same x. */
static const struct {
    const char *title;
    fgi_chart how;
    size_t series, count;
    double x[MOST], y[2][MOST];
} charts[] = {
    {"areas of nothing", {.is_stacked = true}, 1, 3, {1, 2, 3}, {{0, 0, 0}}},
    {"areas below zero", {.is_stacked = true}, 2, 3, {1, 2, 3}, {{1, -5, 2}, {3, 4, -1}}},
    {"areas of many sizes", {.is_stacked = true}, 2, 3, {1, 2, 3}, {{1, 20, 300}, {1, 1, 1000}}},
    {"many decades",
     {.y = FGI_SCALE_LOG, .is_log_x = true},
     1,
     3,
     {1e-3, 1, 1e13},
     {{1e-6, 2, 4e10}}},
    {"twelve decades", {.y = FGI_SCALE_LOG, .is_log_x = true}, 1, 2, {1, 1e11}, {{1, 1e12}}},
    {"one point of both logarithms", {.y = FGI_SCALE_LOG, .is_log_x = true}, 1, 1, {7}, {{200}}},
    {"one point", {.color = 7}, 2, 1, {7}, {{100}, {-100}}},
    {"large units", {.has_real_x = true}, 1, 3, {0, 1e18, 3e18}, {{0, 1e15, 4e15}}},
    {"close to each other", {.color = 3}, 1, 2, {1234560, 1234566}, {{99990, 100010}}},
    {"below zero", {.color = 3}, 1, 3, {-250000, 0, 250000}, {{-1e5, -2e5, -99999}}},
    {"the lowest one is at the edge",
     {.color = 3},
     1,
     20,
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
     {{0, 2.6, 8.5, 8.5, 8.5, 8.5, 8.5, 8.5, 9, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 10}}},
    {"a label at the right end", {.color = 3}, 1, 3, {0, 50, 103}, {{1, 2, 4}}},
    {"a label that just fits", {.color = 3}, 1, 3, {0, 50, 104}, {{1, 2, 4}}},
    {"the highest label is the widest", {.color = 3}, 1, 2, {0, 1}, {{0, 10000}}},
    {"fractions", {.has_real_x = true}, 1, 2, {0, 0.001}, {{0.00125, 0.00375}}},
    {"places without a number",
     {.color = 0},
     2,
     5,
     {NONE, 2, 3, HUGE_VAL, 5},
     {{1, 2, 3, 4, 5}, {NONE, NONE, 7, 6, NONE}}},
    {"one curve without numbers", {.color = 1}, 2, 2, {1, 2}, {{NONE, NONE}, {5, 6}}},
    {"half of the highest", {.color = 3}, 1, 2, {1, 2}, {{5, 10}}},
    {"less than half of it", {.color = 3}, 1, 2, {1, 2}, {{4.9, 10}}},
};

static void limits_of_charts(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof charts / sizeof charts[0]; i++) {
        const fgi_series series[] = {{"first", charts[i].x, charts[i].y[0], charts[i].count},
                                     {"second", charts[i].x, charts[i].y[1], charts[i].count}};
        fgi_chart how = charts[i].how;
        how.title = charts[i].title;
        how.x_label = "x";
        how.series = series;
        how.count = charts[i].series;
        fgi_chart_put_figure(&out, &how);
    }
    compare("report/limits.html", &out);
}

/* ---- plots in a terminal --------------------------------------------------------------------- */

static const struct {
    int columns, rows;
    size_t count;
    double x[MOST], y[MOST];
} plots[] = {
    {40, 5, 2, {0, 1}, {1e-5, -1.2345e-5}},
    {40, 5, 2, {0, 1}, {-1.2345e-5, 1e-5}},
    {30, 6, 1, {5}, {-2}},
    {30, 7, 2, {1e-7, 123456789}, {0, 0}},
    {30, 5, 4, {1, 2, 3, 4}, {1, 100, 100, 1}},
    {30, 5, 4, {1, 2, 3, 4}, {1, 101, 101, 1}},
    {30, 5, 4, {4, 3, NONE, 1}, {1, 2, 3, 4}},
    {30, 5, 5, {1, 2, 3, 4, 5}, {1, 1.01, 1.02, 1.03, 9}},
};

static void limits_of_plots(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        const fgi_series one = {"one", plots[i].x, plots[i].y, plots[i].count};
        for (int k = 0; k < 2; k++)
            fgi_chart_put_text(&out,
                               &(fgi_chart){.title = k == 0 ? "title" : NULL,
                                            .x_label = k == 0 ? "x" : NULL,
                                            .series = &one,
                                            .count = 1},
                               (fgi_chart_size){plots[i].columns, plots[i].rows, k == 0});
    }
    compare("report/limits_plots.txt", &out);
}

/* ---- cells and words ------------------------------------------------------------------------- */

static const double numbers[] = {
    0,        1,      -1,     0.5,       -0.5,      1e-9,     0.0994, 0.99949, 0.99951,
    1.005,    99.95,  99.99,  100,       119.6,     999.4,    999.5,  999.94,  999.96,
    1000,     -999.9, -1000,  -1e6,      3599.4,    3599.99,  3600,   7199.9,  86400,
    360000,   999949, 999951, 123456,    1234.5,    999.9e9,  1e12,   1.5e12,  -2e12,
    9.994e14, 1e15,   1.5e18, 0.9994e-3, 0.9996e-3, HUGE_VAL, NONE,
};

/* Each number as a cell of each kind: the number, a count, parts of 1000 and of itself, bytes, a
 * duration, and a bar. */
static void limits_of_cells(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const double value = numbers[i];
        fgi_buf_printf(&out, "%g\n", value);
        for (int kind = FGI_WORDS; kind <= FGI_PERCENT; kind++) {
            fgi_buf_puts(&out, kind > FGI_WORDS ? " | " : "");
            fgi_kind_put(&out, (fgi_kind)kind, kind == FGI_BYTES ? fabs(value) : value);
        }
        fgi_buf_putc(&out, '\n');
    }
    compare("report/limits_cells.txt", &out);
}

/* ---- accelerators ---------------------------------------------------------------------------- */

/* All rows, as lines and as JSON: each number is in its column. */
static void the_table_of_accelerators(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (int as_json = 0; as_json < 2; as_json++)
        chip_table_print(&out, as_json == 1);
    compare("report/chips.txt", &out);
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* From the step in the options on, the rate is the given one; before, half of it. */
static double late_lr(const void *options, double lr, int64_t step, int64_t total_steps)
{
    (void)total_steps;
    return step < *(const int64_t *)options ? lr / 2 : lr;
}

static const fg_schedule_entry late_row = {.entry = {.name = "late"}, .lr = late_lr};

/* Steps of a schedule whose number is not divisible by four, and factors below 1. */
static void limits_of_schedules(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (int64_t steps = 1; steps <= 8; steps++) {
        const int64_t begin = steps / 2;
        const fg_schedule schedule = {.row = &late_row, .options = &begin, .is_complete = true};
        const fgi_schedule_view view = {.name = "late",
                                        .schedule = &schedule,
                                        .momentum = steps % 2 == 0 ? 0 : 0.5,
                                        .settings = {.device_count = 3,
                                                     .batch_shards = steps < 3 ? 1 : 2,
                                                     .batch_size = 4,
                                                     .global_batch_size = steps < 3 ? 4 : 8,
                                                     .accumulate_grad_batches = steps < 5 ? 1 : 2,
                                                     .steps_per_epoch = 3,
                                                     .total_steps = steps,
                                                     .total_epochs = (steps + 2) / 3,
                                                     .lr_scaling = "sqrt",
                                                     .lr_given = 0.5,
                                                     .lr_factor = steps < 7 ? 0.25 : 4,
                                                     .lr = steps < 7 ? 0.125 : 2,
                                                     .part_count = 1,
                                                     .part = {{.steps = 3}}}};
        fgi_schedule_put_table(&view, &out);
        fgi_json_put(&out, fgi_schedule_json(&view), JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    }
    compare("report/limits_schedules.txt", &out);
}

/* The first of the steps with the highest rate, also between those that are drawn. */
static const int64_t late[][2] = {{9999, 5000},   {20009, 15},           {20009, 16},
                                  {20009, 20008}, {100000003, 12345678}, {499950000, 77777777}};

static void the_first_step_with_the_highest_rate(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        char words[64];
        fgi_buf out = {0};
        const fg_schedule schedule = {
            .row = &late_row, .options = &late[i][1], .is_complete = true};
        const fgi_schedule_view view = {.name = "late",
                                        .schedule = &schedule,
                                        .momentum = NONE,
                                        .settings = {.batch_shards = 1,
                                                     .batch_size = 1,
                                                     .global_batch_size = 1,
                                                     .accumulate_grad_batches = 1,
                                                     .total_steps = late[i][0],
                                                     .lr_factor = 1,
                                                     .lr = 1}};
        fgi_schedule_put_table(&view, &out);
        const char *row = strstr(out.data, "highest ");
        assert_non_null(row);
        (void)snprintf(words, sizeof words, " %lld ", (long long)late[i][1] + 1);
        if (strstr(row, words) == NULL)
            fail_msg("row %zu: %s", i, row);
        fgi_buf_fini(&out);
    }
}

/* ---- contact sheets -------------------------------------------------------------------------- */

static const struct {
    int64_t width, height;
    int channels;
    const char *label; /* NULL: none */
} pictures[] = {
    {40, 3, 3, NULL},
    {3, 40, 1, "I"},
    {500, 1, 3, "HI"}, /* just fits, twice as large */
    {1, 500, 3, "HH"},
    {16, 11, 1, "A B"},
    {11, 16, 3, "a label that is cut"},
    {16, 16, 3, "\xc3\xa9\xc3\xa9~"},
    {1, 1, 1, "\n"},
    {17, 8, 3, ""},
};

/* A character for each pixel: "." around the cells, "-" of an empty one, "#" black, "g" gray, and
 * "c" of the color. */
static void put_canvas(fgi_buf *out, const fg_image *canvas)
{
    for (int64_t y = 0; y < canvas->height; y++) {
        for (int64_t x = 0; x < canvas->width; x++) {
            const uint8_t *at = canvas->pixels + (y * canvas->width + x) * 3;
            const bool is_gray = at[0] == at[1] && at[1] == at[2];
            fgi_buf_putc(out, !is_gray       ? at[0] > at[1] && at[1] > at[2] ? 'c' : '?'
                              : at[0] == 255 ? '.'
                              : at[0] == 235 ? '-'
                              : at[0] == 0   ? '#'
                                             : 'g');
        }
        fgi_buf_putc(out, '\n');
    }
}

/* Cells of 16 pixels: images of one pixel in a direction, and of every remainder. */
static void limits_of_sheets(void **state)
{
    static uint8_t pixels[3 * 500];
    fgi_buf out = {0};
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(200 - 50 * (i % 3));
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        contact_sheet sheet;
        static uint8_t gray[3 * 500];
        memset(gray, 99, sizeof gray);
        const fg_image image = {
            .pixels = pictures[i].channels == 3 ? pixels : gray,
            .width = pictures[i].width,
            .height = pictures[i].height,
            .channels = pictures[i].channels,
            .region = {0, 0, (double)pictures[i].width, (double)pictures[i].height}};
        const int sides = i % 4 == 3 ? 2 : 1;
        fgt_ok(sheet_create(sides, sides, 16, &sheet, &err));
        fgt_ok(sheet_put(&sheet, sides - 1, 0, &image, pictures[i].label, &err));
        put_canvas(&out, &sheet.canvas);
        fgi_buf_putc(&out, '\n');
        sheet_fini(&sheet);
    }
    compare("report/limits_sheets.txt", &out);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Texts have ' instead of ". */
static json_t *read(const char *text)
{
    char json[2048];
    (void)snprintf(json, sizeof json, "%s", text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *value = fgi_json_load(json, strlen(json), 0, NULL);
    if (value == NULL)
        fail_msg("%s", text);
    return value;
}

#define TIME "'time': {'busy_s': 3, 'idle': {'input_s': 1}}"
static const struct {
    const char *report; /* NULL: none */
    size_t metrics;     /* of `metrics` */
} runs[] = {
    {"{'loader': {}, 'host': {'workers': []}, 'history': []}", 0},
    {"{" TIME ", 'windows': [{'step': 5, 'busy_s': 3, 'samples_per_s': 7}]}", 0},
    {"{" TIME ", 'windows': [{'step': 5, 'busy_s': 3, 'samples_per_s': 7}, {'step': 6,"
     " 'input_s': -3, 'samples_per_s': null}]}",
     0},
    {"{'samples_per_s': -1234.5, 'steps': 1000, 'epochs': -1}", 0},
    {"{'settings': {'monitor': 'odd'}}", 7},
    {"{'settings': {'monitor': 'no such'}}", 7},
    {"{'state': 'x'}", 3},
    {"{'memory': {'peak_bytes': 300, 'limit_bytes': 250}, 'host': {'cpu_s': 1, 'cpus': 1,"
     " 'workers': [{'name': 'only', 'cpu_s': 1}]}}",
     2},
    {NULL, 1},
    {"{'evaluation': {'part': 'test', 'samples': 2, 'step': 3, 'worst': [{'index': 1, 'image':"
     " 'data:image/png;base64,AA==', 'target': 1, 'prediction': 2, 'loss': 3}, {'index': 2}]}}",
     0},
};

static char metric_names[][16] = {"train_loss", "val_loss", "loss",   "val_r2",
                                  "val_acc",    "val_mae",  "train_x"};
static double metric_x[] = {1, 2, 3}, metric_y[][3] = {{3, 2, 1},
                                                       {2, 1, 1},
                                                       {9, 8, 7},
                                                       {-12345, -12345.5, -20000},
                                                       {0.5, HUGE_VAL, 0.25},
                                                       {NONE, -1, -1e-9},
                                                       {1e6, 1e7, 1e8}};

/* The first metrics, of which every second one is a mean of the steps of a window. */
static void limits_of_runs(void **state)
{
    fgi_buf text = {0}, page = {0};
    char folder[] = "run";
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        fgi_run_metric metrics[7];
        json_t *report = runs[i].report != NULL ? read(runs[i].report) : NULL;
        for (size_t k = 0; k < 7; k++)
            metrics[k] = (fgi_run_metric){.name = metric_names[k],
                                          .x = metric_x,
                                          .y = metric_y[k],
                                          .count = 3,
                                          .last = metric_y[k][2],
                                          .is_window = k % 2 == 0};
        const fgi_run_view view = {.folder = folder,
                                   .report = report,
                                   .metrics = metrics,
                                   .metric_count = runs[i].metrics,
                                   .rows = 1};
        fgi_run_report_put(&text, &view, FG_REPORT_TEXT);
        fgi_run_report_put(&page, &view, FG_REPORT_HTML);
        json_decref(report);
    }
    for (char *at = page.data; (at = strstr(at, "<style>")) != NULL;) { /* not its colors */
        const char *end = strstr(at, "</style>");
        memmove(at, end, strlen(end) + 1);
    }
    compare("report/limits_runs.txt", &text);
    compare("report/limits_runs.html", &page);
}

/* The areas of up to 512 windows, of which the first are shown, and all rates. */
static void many_windows(void **state)
{
    static const int counts[][2] = {{511, 511}, {512, 512}, {513, 512}, {700, 512}};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char folder[] = "run";
        fgi_buf page = {0};
        json_t *windows = json_array(), *report = read("{" TIME "}");
        for (int k = 1; k <= counts[i][0]; k++)
            (void)json_array_append_new(windows, json_pack("{s:i, s:f, s:f}", "step", k, "busy_s",
                                                           1.0, "samples_per_s", (double)k));
        (void)json_object_set_new(report, "windows", windows);
        fgi_run_report_put(&page, &(fgi_run_view){.folder = folder, .report = report},
                           FG_REPORT_HTML);
        int commas = 0;
        for (const char *at = strstr(page.data, "class=\"area s0\""); *at != '>'; at++)
            commas += *at == ',';
        assert_int_equal(commas, 2 * counts[i][1]); /* there and back */
        char words[48];
        (void)snprintf(words, sizeof words, "samples/s from 1 to %d\"", counts[i][0]);
        assert_non_null(strstr(page.data, words));
        json_decref(report);
        fgi_buf_fini(&page);
    }
}

/* Characters that a page cannot have are replaced, and their neighbors are not. */
static void limits_of_characters(void **state)
{
    static const char *const rows[][2] = {
        {"a\tb\nc\rd", "a\tb\nc\xef\xbf\xbd"
                       "d"},
        {"\x01\x1f \x7f", "\xef\xbf\xbd\xef\xbf\xbd \x7f"},
        {"<\xef\xbf\xbd>", "&lt;\xef\xbf\xbd&gt;"},
        {"<\xef\xbf\xbe>", "&lt;\xef\xbf\xbd&gt;"},
        {"<\xef\xbf\xbf>", "&lt;\xef\xbf\xbd&gt;"},
        {"<\xef\xbe\xbf>", "&lt;\xef\xbe\xbf&gt;"},
        {"\"'&amp;", "&quot;&#39;&amp;amp;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_buf out = {0};
        fgi_html_text(&out, rows[i][0]);
        assert_string_equal(out.data, rows[i][1]);
        fgi_buf_fini(&out);
    }
}

/* The sign of a comparison without regard to the case of letters. */
static void words_in_any_case(void **state)
{
    static const struct {
        const char *a, *b;
        int sign;
    } rows[] = {{"", "", 0},
                {"a", "A", 0},
                {"Label_2", "lABEL_2", 0},
                {"abc", "ABD", -1},
                {"ab", "ABC", -1},
                {"ABC", "ab", 1},
                {"a", "", 1},
                {"[", "{", -1},
                {"Z", "a", 1},
                {"z", "A", 1},
                {"\xc3\x84", "\xc3\xa4", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int found = fgi_compare_nocase(rows[i].a, rows[i].b);
        if ((found > 0) - (found < 0) != rows[i].sign)
            fail_msg("'%s' and '%s': %d", rows[i].a, rows[i].b, found);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(limits_of_charts),
    cmocka_unit_test(limits_of_plots),
    cmocka_unit_test(limits_of_cells),
    cmocka_unit_test(limits_of_characters),
    cmocka_unit_test(the_table_of_accelerators),
    cmocka_unit_test(limits_of_schedules),
    cmocka_unit_test(the_first_step_with_the_highest_rate),
    cmocka_unit_test(limits_of_sheets),
    cmocka_unit_test(words_in_any_case),
    cmocka_unit_test(limits_of_runs),
    cmocka_unit_test(many_windows),
};
FGT_MAIN(tests)
