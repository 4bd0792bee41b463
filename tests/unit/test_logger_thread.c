/* test_logger_thread.c - a logger on its own thread: one that is slow, fails, cannot be opened, or
 * blocks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <stdio.h>
#include <unistd.h>

#include "board.h"
#include "log/logger.h"

static fgi_logger_thread *start(board *b, int64_t patience_ns)
{
    return board_start(&board_ops, b, patience_ns);
}

static void every_line_arrives_in_order(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    board_make(&b);
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    fgt_ok(board_open_log(t, NULL, &lines, &err));
    assert_int_equal(lines, 7);
    assert_string_equal(b.run_dir, "run");
    board_log_lines(t, 0, 500);
    fgt_ok(board_ask(t, FGI_LOGGER_SYNC, &err));
    char path[] = "run/checkpoints/step-1", why[] = "no memory";
    board_log_saved(t, &(fg_log_saved){.path = path, .step = 12});
    fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    board_log_end(t, &(fg_log_end){.state = FG_LOG_FAILED, .message = why, .step = 500});
    path[0] = why[0] = '?';
    fgi_logger_thread_finish(t);
    assert_string_equal(b.ended, "run/checkpoints/step-1 12, 2 no memory 500");
    assert_int_equal(b.logged, 500);
    assert_int_equal(b.last_step, 499);
    assert_true(b.sum == 500.0 * 499 / 2 + 250);
    assert_true(b.flushed == 1 && b.synced == 1);
    board_log_lines(t, 500, 3); /* another fit, whose lines are logged before the end */
    fgi_logger_thread_destroy(t);
    assert_int_equal(b.logged, 503);
    board_unmake(&b);
    assert_string_equal(board_all_heard(), "");
}

/* What an item refers to is copied; at most 64 wait. */
static void items_arrive_too(void **state)
{
    (void)state;
    board b;
    board_make(&b);
    b.is_closed = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    char name[] = "model", in[] = "x", op[] = "matmul";
    uint32_t input = 0;
    fg_log_node nodes[] = {{.name = in, .op = "input"},
                           {.name = "y", .op = op, .inputs = &input, .input_count = 1}};
    uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
    double edges[] = {0, 1, 3}, counts[] = {5, 7};
    board_log_item(
        t, &(fg_log_item){
               .kind = FG_LOG_GRAPH, .name = name, .step = 9, .nodes = nodes, .node_count = 2});
    board_log_item(t, &(fg_log_item){.kind = FG_LOG_IMAGE,
                                     .name = name,
                                     .pixels = pixels,
                                     .height = 1,
                                     .width = 2,
                                     .channels = 3});
    board_log_item(
        t,
        &(fg_log_item){
            .kind = FG_LOG_HISTOGRAM, .name = name, .edges = edges, .counts = counts, .bins = 2});
    name[0] = in[0] = op[0] = '?';
    input = 1;
    pixels[5] = 0;
    edges[2] = counts[1] = 0;
    for (int i = 0; i < FGI_LOGGER_ITEMS; i++)
        board_log_item(t, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "t", .text = "."});
    assert_int_equal(board_heard("is too slow: 64 texts, images or histograms are waiting"), 1);
    board_set_gate(&b, false);
    fgi_logger_thread_finish(t);
    assert_string_equal(b.item, "model 9 x:input y:matmul(0) model 1x2x3 6 model 3 7 ");
    assert_int_equal(b.items, FGI_LOGGER_ITEMS);
    assert_int_equal(board_heard("3 entries were dropped"), 1);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
}

/* A flush that already waits does for the next one too, unless there are lines between them. */
static void flushes_that_wait_are_one(void **state)
{
    (void)state;
    fg_error err = {0};
    board b;
    board_make(&b);
    b.is_closed = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    board_log_lines(t, 0, 1);
    for (int i = 0; i < 3; i++)
        fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    board_log_lines(t, 1, 1);
    fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    board_set_gate(&b, false);
    fgi_logger_thread_finish(t);
    assert_int_equal(b.logged, 2);
    assert_int_equal(b.flushed, 2);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
}

static void a_failure_is_reported_once(void **state)
{
    (void)state;
    board b;
    board_make(&b);
    b.fails = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    board_log_lines(t, 0, 5);
    fgi_logger_thread_finish(t);
    assert_int_equal(b.logged, 5);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_int_equal(board_heard("logger 'board' failed: no board; training continues"), 1);
    assert_int_equal(board_heard("\n"), 1);
}

/* The queue is bounded; what does not fit is counted. */
static void lines_that_do_not_fit_are_dropped(void **state)
{
    for (int extra = 1; extra <= 2; extra++) {
        board b;
        board_make(&b);
        (void)board_listen(state);
        b.is_closed = true;
        fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
        board_log_lines(t, 0, FGI_LOGGER_QUEUE + extra);
        assert_string_equal(board_all_heard(),
                            "logger 'board' is too slow: 1024 lines are waiting, and further ones "
                            "are dropped; training continues\n");
        (void)board_listen(state);
        board_set_gate(&b, false);
        fgi_logger_thread_finish(t);
        assert_int_equal(b.logged, FGI_LOGGER_QUEUE);
        assert_string_equal(board_all_heard(),
                            extra == 1 ? "logger 'board' was too slow: 1 entry was dropped\n"
                                       : "logger 'board' was too slow: 2 entries were dropped\n");
        (void)board_listen(state);
        fgi_logger_thread_finish(t); /* of another fit: none was dropped in it */
        assert_string_equal(board_all_heard(), "");
        fgi_logger_thread_destroy(t);
        board_unmake(&b);
    }
}

/* Neither the end of a fit nor the Trainer waits for ever; the thread frees its memory. */
static void a_blocked_logger_is_left_alone(void **state)
{
    for (int lines = 1; lines <= 2; lines++) {
        const char *what = lines == 1 ? "1 entry is not logged\n" : "2 entries are not logged\n";
        char expected[400];
        board b;
        board_make(&b);
        (void)board_listen(state);
        b.is_closed = true;
        fgi_logger_thread *t = start(&b, BOARD_SHORT_NS);
        board_log_lines(t, 0, lines);
        board_wait(&b);
        fgi_logger_thread_finish(t);
        fgi_logger_thread_finish(t); /* of another fit: it does not wait again */
        (void)snprintf(expected, sizeof expected,
                       "logger 'board' was not finished 0.02 s after the end of training: %s"
                       "logger 'board' was already late, so the end of training did not wait for "
                       "it: %s",
                       what, what);
        assert_string_equal(board_all_heard(), expected);
        fgi_logger_thread_destroy(t);
        board_set_gate(&b, false);
        board_unmake(&b);
        assert_int_equal(b.logged, 1);
    }
}

static void a_log_that_cannot_be_opened(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    board_make(&b);
    b.fails_open = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    assert_int_equal(board_open_log(t, NULL, &lines, &err), FG_EIO);
    assert_string_equal(err.message, "no server");
    board_log_lines(t, 0, 3);
    fgi_logger_thread_finish(t);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_int_equal(b.logged, 0);
    assert_string_equal(board_all_heard(), ""); /* the caller reports it */
}

/* Training begins; the lines wait, and a late failure is reported. */
static void a_log_that_opens_late(void **state)
{
    for (int fails = 0; fails < 2; fails++) {
        fg_error err = {0};
        int64_t lines = -1;
        board b;
        board_make(&b);
        (void)board_listen(state);
        b.is_closed = true;
        b.fails_open = fails;
        fgi_logger_thread *t = start(&b, BOARD_SHORT_NS);
        fgt_ok(board_open_log(t, NULL, &lines, &err));
        assert_int_equal(lines, -1);
        assert_int_equal(board_heard("logger 'board' has not opened its log in 0.02 s"), 1);
        board_log_lines(t, 0, 3);
        board_set_gate(&b, false);
        (void)pthread_mutex_lock(&b.mutex);
        while (!fails && b.arrived < 4)
            (void)pthread_cond_wait(&b.changed, &b.mutex);
        (void)pthread_mutex_unlock(&b.mutex);
        while (fails && board_heard("logger 'board' failed: no server") == 0)
            (void)usleep(1000);
        fgi_logger_thread_destroy(t);
        board_unmake(&b);
        assert_int_equal(b.logged, fails ? 0 : 3);
    }
}

/* All calls, with a failed allocation in any of them: lines may be lost, but nothing else. */
static fg_status log_some(void *self, fg_error *err)
{
    static const fg_log_setting settings[] = {{"lr", "0.1"}, {"units", "64"}};
    fgi_logger_thread *t = NULL;
    int64_t lines = -1;
    board *b = self;
    board_make(b);
    fg_status status = fgi_logger_thread_create(&board_ops, b, FGI_LOGGER_PATIENCE_NS, &t, err);
    if (status != FG_OK) {
        board_destroy(b);
        board_unmake(b);
        return status;
    }
    const fg_log_start start = {.run_dir = "run",
                                .lines = -1,
                                .history = "h",
                                .config = "a: 1",
                                .settings = settings,
                                .setting_count = 2};
    status = board_open_log(t, &start, &lines, err);
    board_log_lines(t, 0, 2);
    board_log_saved(t, &(fg_log_saved){.path = "p"});
    assert_int_equal(board_ask(t, FGI_LOGGER_FLUSH, err), FG_OK);
    assert_int_equal(board_ask(t, FGI_LOGGER_SYNC, err), FG_OK);
    board_log_end(t, &(fg_log_end){.message = "m"});
    fgi_logger_thread_finish(t);
    fgi_logger_thread_destroy(t);
    board_unmake(b);
    return status;
}

static void no_failed_allocation_is_lost(void **state)
{
    board b;
    (void)state;
    fgt_fault_loop(log_some, &b);
    assert_int_equal(b.logged, 2);
    assert_string_equal(b.ended, "p 0, 0 m 0");
}

/* As one of the loggers of a run. */
static void it_is_one_of_the_loggers_of_a_run(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_logger *logger = NULL;
    board b;
    board_make(&b);
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
    fgt_ok(fgi_logger_add(logger, &board_ops, &b, &err));
    fgt_ok(fgi_logger_open(logger, fgt_temp_folder(), 0, -1, &err));
    const fg_metric metric = {"loss", 2};
    const fg_progress at = {.step = 3, .metrics = &metric, .metric_count = 1};
    fgt_ok(fgi_logger_ops.log(logger, &at, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    fgt_ok(fgi_logger_sync(logger, &err));
    fgt_ok(fgi_logger_ops.fit_end(logger, &at, &err));
    assert_true(b.logged == 1 && b.last_step == 3 && b.sum == 2 && b.synced == 1);
    fgi_logger_destroy(logger);
    board_unmake(&b);
    assert_string_equal(board_all_heard(), "");
}

#define HEARING(test) cmocka_unit_test_setup_teardown(test, board_listen, board_stop_listening)

static const struct CMUnitTest tests[] = {
    HEARING(every_line_arrives_in_order),       HEARING(items_arrive_too),
    HEARING(flushes_that_wait_are_one),         HEARING(a_failure_is_reported_once),
    HEARING(lines_that_do_not_fit_are_dropped), HEARING(a_blocked_logger_is_left_alone),
    HEARING(a_log_that_cannot_be_opened),       HEARING(a_log_that_opens_late),
    HEARING(it_is_one_of_the_loggers_of_a_run), HEARING(no_failed_allocation_is_lost),
};
FGT_MAIN(tests)
