/* test_logger_required.c - a required logger on its own thread: it loses no line, and what needs
 * its lines waits for them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <unistd.h>

#include "board.h"

static fgi_logger_thread *start_required(board *b, int64_t patience_ns)
{
    fg_logger_ops required = board_ops;
    required.is_required = true;
    board_make(b);
    b->is_required = true;
    return board_start(&required, b, patience_ns);
}

static void set_failing(board *b, bool fails)
{
    (void)pthread_mutex_lock(&b->mutex);
    b->fails = fails;
    (void)pthread_mutex_unlock(&b->mutex);
}

/* Lines are taken at once while the logger is blocked, also more than another logger's queue has.
 */
static void a_required_logger_loses_no_line(void **state)
{
    (void)state;
    fg_error err = {0};
    board b;
    fgi_logger_thread *t = start_required(&b, FGI_LOGGER_PATIENCE_NS);
    board_set_gate(&b, true);
    board_log_lines(t, 0, FGI_LOGGER_QUEUE + 500);
    assert_int_equal(board_heard("logger 'board' is too slow: 1024 lines are waiting in memory"),
                     1);
    board_set_gate(&b, false);
    fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    assert_int_equal(b.logged, FGI_LOGGER_QUEUE + 500);
    assert_int_equal(b.last_step, FGI_LOGGER_QUEUE + 499);
    assert_int_equal(b.flushed, 1);
    board_set_gate(&b, true);
    board_log_lines(t, FGI_LOGGER_QUEUE + 500, FGI_LOGGER_QUEUE + 5); /* is not reported again */
    board_set_gate(&b, false);
    fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    assert_int_equal(b.logged, 2 * FGI_LOGGER_QUEUE + 505);
    fgi_logger_thread_finish(t);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_int_equal(board_heard("\n"), 1);
}

/* Each caller that needs the lines gets the failure; it is reported once, and so is its end. */
static void a_required_logger_reports_that_it_fails_and_recovers(void **state)
{
    (void)state;
    fg_error err = {0};
    board b;
    fgi_logger_thread *t = start_required(&b, FGI_LOGGER_PATIENCE_NS);
    for (int round = 1; round <= 2; round++) {
        set_failing(&b, true);
        board_log_lines(t, 0, 3);
        err = (fg_error){0};
        assert_int_equal(board_ask(t, FGI_LOGGER_FLUSH, &err), FG_EIO);
        assert_string_equal(err.message, "no board");
        assert_int_equal(board_heard("logger 'board': no board; training continues"), round);
        assert_int_equal(board_ask(t, FGI_LOGGER_SYNC, &err), FG_EIO);
        assert_int_equal(b.synced, round - 1);
        set_failing(&b, false);
        fgt_ok(board_ask(t, FGI_LOGGER_SYNC, &err));
        assert_int_equal(b.synced, round);
        assert_int_equal(board_heard("logger 'board': the log is complete again"), round);
    }
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_int_equal(board_heard("\n"), 4);
}

/* A text that is logged says nothing about the lines before it. */
static void the_log_is_complete_only_with_its_lines(void **state)
{
    (void)state;
    fg_error err = {0};
    board b;
    fgi_logger_thread *t = start_required(&b, FGI_LOGGER_PATIENCE_NS);
    set_failing(&b, true);
    board_log_lines(t, 0, 1);
    board_log_item(t, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "t", .text = "."});
    assert_int_equal(board_ask(t, FGI_LOGGER_FLUSH, &err), FG_EIO);
    assert_int_equal(b.items, 1);
    assert_int_equal(board_heard("training continues"), 1);
    assert_int_equal(board_heard("complete again"), 0);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
}

static void *open_when_waiting_is_reported(void *self)
{
    while (board_heard("logger 'board' has not written its log for 0.02 s; waiting for it") == 0)
        (void)usleep(1000);
    board_set_gate(self, false);
    return NULL;
}

/* What needs the lines waits for as long as it takes: open, sync, the end of a fit, destroy. */
static void a_required_logger_is_waited_for(void **state)
{
    for (int what = 0; what < 4; what++) {
        fg_error err = {0};
        int64_t lines = -1;
        board b;
        pthread_t opener;
        (void)board_listen(state);
        fgi_logger_thread *t = start_required(&b, BOARD_SHORT_NS);
        board_set_gate(&b, true);
        board_log_lines(t, 0, 3);
        assert_int_equal(pthread_create(&opener, NULL, open_when_waiting_is_reported, &b), 0);
        if (what == 0)
            fgt_ok(board_open_log(t, NULL, &lines, &err));
        else if (what == 1)
            fgt_ok(board_ask(t, FGI_LOGGER_SYNC, &err));
        else if (what == 2)
            fgi_logger_thread_finish(t);
        if (what < 3)
            assert_int_equal(b.logged, 3);
        fgi_logger_thread_destroy(t);
        (void)pthread_join(opener, NULL);
        board_unmake(&b);
        assert_int_equal(b.logged, 3);
        assert_int_equal(lines, what == 0 ? 7 : -1);
    }
}

/* Memory is limited: then the fit must end, and no checkpoint counts as saved. The log that is
 * opened again is complete. */
static void a_required_logger_without_memory(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    const fg_log_line line = {.step = 1};
    board b;
    fgi_logger_thread *t = start_required(&b, FGI_LOGGER_PATIENCE_NS);
    board_set_gate(&b, true);
    board_log_lines(t, 0, FGI_LOGGER_REQUIRED_QUEUE);
    assert_int_equal(board_log_line(t, &line, &err), FG_ENOMEM);
    board_set_gate(&b, false);
    assert_int_equal(board_ask(t, FGI_LOGGER_FLUSH, &err), FG_ENOMEM);
    assert_int_equal(board_log_line(t, &line, &err), FG_ENOMEM);
    assert_int_equal(board_ask(t, FGI_LOGGER_SYNC, &err), FG_ENOMEM);
    fgt_ok(board_open_log(t, NULL, &lines, &err));
    fgt_ok(board_log_line(t, &line, &err));
    fgt_ok(board_ask(t, FGI_LOGGER_SYNC, &err));
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_int_equal(b.logged, FGI_LOGGER_REQUIRED_QUEUE + 1);
}

/* The caller reports that a log could not be opened, and may try again. */
static void a_required_log_that_cannot_be_opened(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    fgi_logger_thread *t = start_required(&b, FGI_LOGGER_PATIENCE_NS);
    b.fails_open = true;
    assert_int_equal(board_open_log(t, NULL, &lines, &err), FG_EIO);
    assert_string_equal(err.message, "no server");
    b.fails_open = false;
    fgt_ok(board_open_log(t, NULL, &lines, &err));
    board_log_lines(t, 0, 2);
    fgt_ok(board_ask(t, FGI_LOGGER_FLUSH, &err));
    assert_int_equal(b.logged, 2);
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
    assert_string_equal(board_all_heard(), "");
}

typedef struct syncing {
    fgi_logger_thread *thread;
    fg_status status;
    fg_error error;
} syncing;

static void *sync_log(void *self)
{
    syncing *s = self;
    s->status = board_ask(s->thread, FGI_LOGGER_SYNC, &s->error);
    return NULL;
}

/* A checkpoint that waits for the lines of a log that cannot be opened again, after divergence,
 * does not count as saved. */
static void who_waits_for_lines_gets_the_failure_of_open(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    pthread_t opener, saver;
    fgi_logger_thread *t = start_required(&b, BOARD_SHORT_NS);
    syncing s = {.thread = t};
    b.fails_open = true;
    board_set_gate(&b, true);
    assert_int_equal(pthread_create(&opener, NULL, open_when_waiting_is_reported, &b), 0);
    board_log_lines(t, 0, 1);
    assert_int_equal(pthread_create(&saver, NULL, sync_log, &s), 0);
    assert_int_equal(board_open_log(t, NULL, &lines, &err), FG_EIO);
    (void)pthread_join(opener, NULL);
    (void)pthread_join(saver, NULL);
    assert_true(s.status == FG_OK || s.status == FG_EIO); /* it came first, or second */
    assert_int_equal(board_ask(t, FGI_LOGGER_SYNC, &err), FG_EIO);
    assert_string_equal(err.message, "no server");
    fgi_logger_thread_destroy(t);
    board_unmake(&b);
}

#define HEARING(test) cmocka_unit_test_setup_teardown(test, board_listen, board_stop_listening)

static const struct CMUnitTest tests[] = {
    HEARING(a_required_logger_loses_no_line),
    HEARING(a_required_logger_reports_that_it_fails_and_recovers),
    HEARING(the_log_is_complete_only_with_its_lines),
    HEARING(a_required_logger_is_waited_for),
    HEARING(a_required_logger_without_memory),
    HEARING(a_required_log_that_cannot_be_opened),
    HEARING(who_waits_for_lines_gets_the_failure_of_open),
};
FGT_MAIN(tests)
