/* test_progress_terminal.c - the progress display on a terminal: how its lines fit, and what
 * happens when the terminal is resized.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "progress_show.h"
#include "terminal.h"

/* As open_show, with colors, on a terminal; the caller closes *out_master. */
static void open_on_terminal(show *s, const char *style, int64_t epochs, unsigned short columns,
                             int *out_master)
{
    *s = (show){.out = terminal_open(columns, out_master)};
    s->trainer.fit.settings = (fg_fit_settings){.total_epochs = epochs};
    create_display(s, style, true);
    fgi_progress_set_clock(s->progress, clock_ns);
}

static void resize(int master, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
}

/* The output of two epochs on a terminal of this width. */
static void run_on_terminal(unsigned short columns, char *out, size_t size)
{
    int master;
    show s;
    open_on_terminal(&s, "bar", 3, columns, &master);
    compile_begins(s.progress, FGI_TRAIN);
    pass(75);
    compile_ends(s.progress);
    run_epoch(&s, 0, 1);
    tell(&s, fgi_progress_ops.val_start, (fg_progress){.batch = 2, .batches = 4});
    pass(1);
    fgi_progress_validating(s.progress, &(fg_progress){.batch = 2, .batches = 4});
    run_epoch(&s, 1, 0.001);
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.epoch = 2});
    terminal_read(master, out, size);
    close_show(&s);
    (void)close(master);
}

static size_t longest_row(const char *text)
{
    size_t longest = 0;
    for (; *text != '\0'; text += strspn(text, "\r\n")) {
        const size_t length = strcspn(text, "\r\n");
        longest = length > longest ? length : longest;
        text += length;
    }
    return longest;
}

/* Every row is shorter than the terminal is wide: otherwise it would wrap, and the next update
 * would start below it. */
static void every_line_fits_the_terminal(void **state)
{
    static const struct {
        unsigned short columns;
        const char *kept;
    } rows[] = {
        {120,
         "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  8 samples/s  00:07, run "
         "00:14 left\r\n"},
        {100,
         "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  00:07, run 00:14 left\r\n"},
        {90, "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  00:07\r\n"},
        {70, "\repoch 1/3  train loss 0.5  val loss 0.25 acc 0.5  00:07\r\n"},
        {50, "\repoch 1/3  train loss 0.5  val loss 0.25\r\n"},
        {34, "\repoch 1/3  val loss 0.25\r\n"}, /* the length of "compiling..." */
        {30, "\repoch 1/3  val loss 0.25\r\n"},
        {20, "\repoch 1/3\r\n"},
        {5, "\repoc\r\n"},
        {2, "\re\r\n"},
    };
    char text[8192];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_on_terminal(rows[i].columns, text, sizeof text);
        if (longest_row(text) >= rows[i].columns || strstr(text, rows[i].kept) == NULL)
            fail_msg("%d columns: %s", rows[i].columns, text);
    }
}

/* In the middle of a run: what is drawn afterwards fits the new width. */
static void a_window_may_be_resized(void **state)
{
    static const unsigned short widths[] = {40, 20, 120};
    char text[8192];
    int master;
    show s;
    (void)state;
    open_on_terminal(&s, "bar", 4, 100, &master);
    run_epoch(&s, 0, 1);
    for (int i = 0; i < 3; i++) {
        tell(&s, fgi_progress_ops.batch_end, (fg_progress){.epoch = i + 1, .batches = 4});
        terminal_read(master, text, sizeof text);
        resize(master, widths[i]);
        run_epoch(&s, i + 1, 1);
        terminal_read(master, text, sizeof text);
        assert_true(longest_row(text) < widths[i]);
        assert_non_null(strstr(text, i == 1 ? "\repoch 3/4\r\n" : "val loss 0.25"));
    }
    close_show(&s);
    (void)close(master);
}

/* To the length of the live line. */
static void a_window_may_be_as_wide_as_the_line(void **state)
{
    char text[8192];
    int master;
    show s;
    (void)state;
    open_on_terminal(&s, "bar", 3, 100, &master);
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    terminal_read(master, text, sizeof text);
    const size_t length = longest_row(text);
    resize(master, (unsigned short)length);
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.batch = 1, .batches = 4});
    terminal_read(master, text, sizeof text);
    assert_int_equal(longest_row(text), length - 1);
    close_show(&s);
    (void)close(master);
}

static const struct {
    unsigned short columns;
    int64_t epochs; /* -1: unknown */
    const char *line;
} within[] = {
    {65, 3, "epoch 1/3  batch 2/1,000  val loss 0.25 \x1b[1;32macc 0.5\x1b[0m\r\n"},
    {66, 3, "epoch 1/3  batch 2/1,000  val loss 0.25 \x1b[1;32macc 0.5\x1b[0m  00:00\r\n"},
    {67, -1, "epoch 1  batch 2/1,000  val loss 0.25 \x1b[1;32macc 0.5\x1b[0m\r\n"},
    {68, -1, "epoch 1  batch 2/1,000  val loss 0.25 \x1b[1;32macc 0.5\x1b[0m  00:00\r\n"}};

/* The line of a validation within an epoch has the parts that fit behind "batch 1,000/1,000", of
 * the last epoch or "epoch 1,000". The best value is highlighted, also at the end. */
static void parts_fit_behind_the_last_batch(void **state)
{
    static const fg_metric val[] = {{"val_acc", 0.5}, {"val_loss", 0.25}};
    const fg_progress at = {.batch = 2, .batches = 1000, .metrics = val, .metric_count = 2};
    char text[4096];
    (void)state;
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        int master;
        show s;
        open_on_terminal(&s, "bar", within[i].epochs, within[i].columns, &master);
        s.trainer.options.checkpoints.monitor = "val_acc";
        s.trainer.cursor.top.waiting_count = 1;
        s.trainer.cursor.top.waiting[0].value = 0.5;
        tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 1000});
        tell(&s, fgi_progress_ops.val_start, at);
        tell(&s, fgi_progress_ops.val_end, at);
        tell(&s, fgi_progress_ops.fit_end, at);
        terminal_read(master, text, sizeof text);
        assert_string_equal(text, within[i].line);
        close_show(&s);
        (void)close(master);
    }
}

/* Plain lines are whole, as they may be redirected at any time. */
static void plain_lines_are_not_cut(void **state)
{
    char text[8192];
    int master;
    show s;
    (void)state;
    open_on_terminal(&s, "plain", 3, 30, &master);
    run_epoch(&s, 0, 1);
    terminal_read(master, text, sizeof text);
    assert_string_equal(text, "epoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                              "8 samples/s  00:07, run 00:14 left\r\n");
    close_show(&s);
    (void)close(master);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_line_fits_the_terminal),
    cmocka_unit_test(a_window_may_be_resized),
    cmocka_unit_test(a_window_may_be_as_wide_as_the_line),
    cmocka_unit_test(parts_fit_behind_the_last_batch),
    cmocka_unit_test(plain_lines_are_not_cut),
};
FGT_MAIN(tests)
