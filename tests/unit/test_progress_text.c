/* test_progress_text.c - the texts of the progress display: numbers and times, the live line and
 * the line of an epoch, and how they fit a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/print.h"
#include "train/progress/progress_text.h"

static const struct {
    double seconds;
    const char *text;
} times[] = {{-1, "00:00"},  {0.4, "00:00"},  {0.6, "00:01"},    {59.7, "01:00"},
             {754, "12:34"}, {3599, "59:59"}, {3600, "1:00:00"}, {363599, "100:59:59"}};
static const struct {
    double count;
    const char *text;
} counts[] = {
    {0, "0"},   {999, "999"},     {1000, "1,000"}, {123456, "123,456"}, {1234567, "1,234,567"},
    {99, "99"}, {10000, "10,000"}};

static void numbers_and_times(void **state)
{
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        fgi_progress_time(times[i].seconds, text, sizeof text);
        assert_string_equal(text, times[i].text);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_string_equal(fgi_count_words(counts[i].count), counts[i].text);
    const fg_metric metrics[] = {{"train_acc", 0.5}, {"train_loss", 0.123456}, {"lr", 1e-5}};
    fgi_progress_metrics(metrics, 3, "train_", 4, text, sizeof text);
    assert_string_equal(text, "  loss 0.1235  acc 0.5  lr 1e-05");
    const fg_metric short_names[] = {{"acc", 0.5}, {"loss", 2}, {"los", 3}};
    fgi_progress_metrics(short_names, 3, "", 4, text, sizeof text);
    assert_string_equal(text, "  loss 2  acc 0.5  los 3");
}

static const struct {
    size_t columns;
    const char *line;
} live_lines[] = {
    {200, "epoch 3/30  [======>                 ] 120/469  2,345 samples/s  00:12<00:31, run 12:40 "
          "left  loss 0.1234  acc 0.9"},
    {100, "epoch 3/30  [==>       ] 120/469  2,345 samples/s  00:12<00:31, run 12:40 left  "
          "loss 0.1234"},
    {80, "epoch 3/30  [==>       ] 120/469  00:12<00:31, run 12:40 left  loss 0.1234"},
    {70, "epoch 3/30  [==>       ] 120/469  00:12<00:31  loss 0.1234"},
    {50, "epoch 3/30  [==>       ] 120/469  loss 0.1234"},
    {40, "epoch 3/30  [==>       ] 120/469"},
    {30, "epoch 3/30  120/469"},
    {10, "epoch 3/3"},
    {1, "e"},
};

static void a_line_fits_the_terminal(void **state)
{
    const fgi_progress_view view = {.label = "epoch 3/30",
                                    .batch = 120,
                                    .batches = 469,
                                    .samples_per_s = 2345.2,
                                    .elapsed_s = 12,
                                    .remaining_s = 31,
                                    .run_s = 760,
                                    .metrics = "  loss 0.1234  acc 0.9"};
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof live_lines / sizeof live_lines[0]; i++) {
        fgi_progress_line(&view, live_lines[i].columns, line, sizeof line);
        assert_string_equal(line, live_lines[i].line);
    }
    fgi_progress_view other = view;
    other.batches = -1; /* from a source */
    other.remaining_s = other.run_s = -1;
    other.samples_per_s = 0;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  120 batches  00:12  loss 0.1234  acc 0.9");
    other.batch = 1;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  1 batch  00:12  loss 0.1234  acc 0.9");
    other.batches = 1;
    other.batch = 5; /* more than were announced */
    other.metrics = "";
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  [========================] 5/1  00:12");
    other.is_plain = true;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  5/1  00:12");
    other.samples_per_s = 2.345;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  5/1  2.3 samples/s  00:12");
}

/* The bar gives way first, one character at a time. */
static void a_bar_gives_way_first(void **state)
{
    const fgi_progress_view view = {
        .label = "e", .batch = 3, .batches = 4, .remaining_s = -1, .run_s = -1, .metrics = ""};
    static const char whole[] = "e  [==================>     ] 3/4  00:00";
    char line[256];
    (void)state;
    for (size_t less = 0; less <= 14; less++) {
        fgi_progress_line(&view, sizeof whole - less, line, sizeof line);
        assert_int_equal(strlen(line), sizeof whole - 1 - less);
    }
    assert_string_equal(line, "e  [=======>  ] 3/4  00:00");
    fgi_progress_line(&view, sizeof whole - 15, line, sizeof line);
    assert_string_equal(line, "e  [=======>  ] 3/4");
}

static const struct {
    int64_t batch;
    double rate, remaining_s, run_s;
    const char *line;
} line_parts[] = {
    {0, 0, -1, -1, "e  0/4  00:12"},
    {1, 0.5, -1, -1, "e  1/4  0.5 samples/s  00:12"},
    {1, 9.94, 0, 0, "e  1/4  9.9 samples/s  00:12<00:00, run 00:00 left"},
    {1, 9.96, 31, -1, "e  1/4  10 samples/s  00:12<00:31"},
    {1, 10, -1, 31, "e  1/4  10 samples/s  00:12, run 00:31 left"},
    {1, 10.6, -1, -1, "e  1/4  11 samples/s  00:12"},
    {4, 1e15, 1e9, 1e9, "e  4/4  1,000,000,000,000,000 samples/s  00:12"},
    {4, 2e15, 999999999, 999999999, "e  4/4  00:12<277777:46:39, run 277777:46:39 left"},
    {4, (double)NAN, (double)NAN, (double)NAN, "e  4/4  00:12"},
};

/* What is not known, or cannot be true, is left out. */
static void parts_of_a_line(void **state)
{
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof line_parts / sizeof line_parts[0]; i++) {
        const fgi_progress_view view = {.label = "e",
                                        .batch = line_parts[i].batch,
                                        .batches = 4,
                                        .samples_per_s = line_parts[i].rate,
                                        .elapsed_s = 12,
                                        .remaining_s = line_parts[i].remaining_s,
                                        .run_s = line_parts[i].run_s,
                                        .metrics = "",
                                        .is_plain = true};
        fgi_progress_line(&view, 200, line, sizeof line);
        assert_string_equal(line, line_parts[i].line);
    }
}

static const struct {
    size_t columns;
    const char *line;
} epoch_lines[] = {
    {140, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  2,345 "
          "samples/s  00:12, run 12:40 left"},
    {139, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  "
          "00:12, run 12:40 left"},
    {121, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  "
          "00:12, run 12:40 left"},
    {120, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12, run "
          "12:40 left"},
    {107, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12, run "
          "12:40 left"},
    {106, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12"},
    {89, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12"},
    {88, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5 f1 0.125  00:12"},
    {78, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5 f1 0.125  00:12"},
    {77, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5  00:12"},
    {68, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5  00:12"},
    {67, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5"},
    {59, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5"},
    {58, "epoch 3/30  train loss 0.5  val loss 0.25"},
    {48, "epoch 3/30  train loss 0.5  val loss 0.25"},
    {47, "epoch 3/30  val loss 0.25"},
    {29, "epoch 3/30  val loss 0.25"},
    {28, "epoch 3/30"},
    {1, "e"},
};

/* Rate, all but three values of the validation, time of the run, ...: the least important first. */
static void an_epoch_line_fits_the_terminal(void **state)
{
    static const fg_metric train[] = {{"train_acc", 0.75}, {"train_loss", 0.5}},
                           val[] = {{"val_acc", 0.5},
                                    {"val_loss", 0.25},
                                    {"val_f1", 0.125},
                                    {"val_recall", 1}};
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof epoch_lines / sizeof epoch_lines[0]; i++) {
        fgi_epoch_style style = {0};
        const fgi_epoch_view view = {.label = "epoch 3/30",
                                     .longest = "epoch 30/30",
                                     .train = train,
                                     .train_count = 2,
                                     .val = val,
                                     .val_count = 4,
                                     .rate = "2,345",
                                     .time = "00:12",
                                     .left = "12:40"};
        fgi_progress_epoch_line(&view, epoch_lines[i].columns, &style, line, sizeof line);
        assert_string_equal(line, epoch_lines[i].line);
    }
}

/* The words of a line, without its numbers. */
static void put_parts(const char *line, char *out)
{
    out[0] = '\0';
    for (; *line != '\0'; line += strspn(line, " ,")) {
        const size_t length = strcspn(line, " ,");
        if (*line >= 'a' && *line <= 'z' && strncmp(line, "nan", length) != 0)
            (void)strncat(strncat(out, line, length), " ", 2);
        line += length;
    }
}

/* The line of an epoch of a run of 100 epochs, in which every metric has this value. */
static void put_line(double value, bool has_val, bool is_long, size_t columns,
                     fgi_epoch_style *style, char *out, size_t size)
{
    const fg_metric train[] = {{"train_acc", value}, {"train_loss", value}};
    const fg_metric val[] = {{"val_acc", value}, {"val_loss", value}};
    const fgi_epoch_view view = {.label = is_long ? "epoch 99/100" : "epoch 1/100",
                                 .longest = "epoch 100/100",
                                 .train = train,
                                 .train_count = 2,
                                 .val = val,
                                 .val_count = has_val ? 2 : 0,
                                 .known = val,
                                 .known_count = 2,
                                 .rate = is_long ? "123,456" : "8",
                                 .time = is_long ? "1:02:03" : "00:07",
                                 .left = is_long ? "2:04:06" : "00:14"};
    fgi_progress_epoch_line(&view, columns, style, out, size);
    assert_true(strlen(out) < columns);
}

/* All lines of a run have the same parts, whatever its numbers and although the first one has no
 * validation; after a change of the terminal's width, those that fit there. */
static void a_run_has_one_style(void **state)
{
    static const double values[] = {2,         0.25,   0.12345,  0.00012345,
                                    1.2345e-7, 123456, 12345678, (double)NAN};
    static const struct {
        size_t columns;
        const char *parts;
    } rows[] = {{130, "epoch train loss acc val loss acc samples/s run left "},
                {100, "epoch train loss acc val loss acc run left "},
                {60, "epoch train loss val loss "},
                {40, "epoch val loss "},
                {20, "epoch "},
                {130, "epoch train loss acc val loss acc samples/s run left "}};
    fgi_epoch_style style = {0};
    char line[512], parts[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_line(3, false, false, rows[i].columns, &style, line, sizeof line);
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            put_line(values[k], true, k > 1, rows[i].columns, &style, line, sizeof line);
            put_parts(line, parts);
            assert_string_equal(parts, rows[i].parts);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_and_times),
    cmocka_unit_test(a_line_fits_the_terminal),
    cmocka_unit_test(a_bar_gives_way_first),
    cmocka_unit_test(parts_of_a_line),
    cmocka_unit_test(an_epoch_line_fits_the_terminal),
    cmocka_unit_test(a_run_has_one_style),
};
FGT_MAIN(tests)
