/* test_logger_thread.c - a logger on its own thread: one that is slow, fails, cannot be opened, or
 * blocks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "train/logger.h"
#include "train/logger_thread.h"

#define SHORT_NS ((int64_t)20000000)

/* A logger that waits at a gate while it is closed. */
typedef struct board {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_closed, fails, is_destroyed;
    bool fails_open;
    int arrived, logged, flushed, synced;
    int64_t last_step;
    double sum;
    char run_dir[32], ended[128], item[256];
    int items;
} board;

static void make(board *b)
{
    fg_error err = {0};
    *b = (board){0};
    fgt_ok(fgi_mutex_init(&b->mutex, &err));
    fgt_ok(fgi_cond_init(&b->changed, &err));
}

static void set_gate(board *b, bool is_closed)
{
    (void)pthread_mutex_lock(&b->mutex);
    b->is_closed = is_closed;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->mutex);
}

static void wait_at_gate(board *b)
{
    b->arrived++;
    (void)pthread_cond_broadcast(&b->changed);
    while (b->is_closed)
        (void)pthread_cond_wait(&b->changed, &b->mutex);
}

static void wait_for_arrival(board *b)
{
    (void)pthread_mutex_lock(&b->mutex);
    while (b->arrived == 0)
        (void)pthread_cond_wait(&b->changed, &b->mutex);
    (void)pthread_mutex_unlock(&b->mutex);
}

static void unmake(board *b)
{
    (void)pthread_mutex_lock(&b->mutex);
    while (!b->is_destroyed)
        (void)pthread_cond_wait(&b->changed, &b->mutex);
    (void)pthread_mutex_unlock(&b->mutex);
    (void)pthread_cond_destroy(&b->changed);
    (void)pthread_mutex_destroy(&b->mutex);
}

static fg_status board_open(void *self, const fg_log_start *start, int64_t *out_lines,
                            fg_error *err)
{
    board *b = self;
    (void)pthread_mutex_lock(&b->mutex);
    wait_at_gate(b);
    (void)snprintf(b->run_dir, sizeof b->run_dir, "%s", start->run_dir);
    const bool fails = b->fails_open;
    (void)pthread_mutex_unlock(&b->mutex);
    *out_lines = 7;
    (void)snprintf(err->message, sizeof err->message, "no server");
    return fails ? FG_EIO : FG_OK;
}

static fg_status board_log(void *self, const fg_log_line *line, fg_error *err)
{
    board *b = self;
    (void)pthread_mutex_lock(&b->mutex);
    wait_at_gate(b);
    b->logged++;
    b->last_step = line->step;
    for (size_t i = 0; i < line->metric_count; i++)
        b->sum += line->metrics[i].value;
    (void)snprintf(err->message, sizeof err->message, "no board");
    const bool fails = b->fails;
    (void)pthread_mutex_unlock(&b->mutex);
    return fails ? FG_EIO : FG_OK;
}

static fg_status board_flush(void *self, fg_error *err)
{
    board *b = self;
    (void)err;
    (void)pthread_mutex_lock(&b->mutex);
    b->flushed++;
    (void)pthread_mutex_unlock(&b->mutex);
    return FG_OK;
}

static fg_status board_sync(void *self, fg_error *err)
{
    board *b = self;
    (void)err;
    (void)pthread_mutex_lock(&b->mutex);
    b->synced++;
    (void)pthread_mutex_unlock(&b->mutex);
    return FG_OK;
}

static fg_status board_saved(void *self, const fg_log_saved *saved, fg_error *err)
{
    board *b = self;
    (void)err;
    (void)snprintf(b->ended, sizeof b->ended, "%s %d", saved->path, (int)saved->step);
    return FG_OK;
}

static fg_status board_finish(void *self, const fg_log_end *end, fg_error *err)
{
    board *b = self;
    const size_t used = strlen(b->ended);
    (void)err;
    (void)snprintf(b->ended + used, sizeof b->ended - used, ", %d %s %d", (int)end->state,
                   end->message, (int)end->step);
    return FG_OK;
}

/* "model 9 x:input y:matmul(0) ", "model 1x2x3 6 ", "model 3 7 ": of arrays, the last element. */
static fg_status board_item(void *self, const fg_log_item *item, fg_error *err)
{
    board *b = self;
    (void)err;
    (void)pthread_mutex_lock(&b->mutex);
    wait_at_gate(b);
    (void)pthread_mutex_unlock(&b->mutex);
    char *at = b->item + strlen(b->item);
    const size_t room = sizeof b->item - strlen(b->item);
    b->items++;
    if (item->kind == FG_LOG_GRAPH)
        (void)snprintf(at, room, "%s %d %s:%s %s:%s(%d) ", item->name, (int)item->step,
                       item->nodes[0].name, item->nodes[0].op, item->nodes[1].name,
                       item->nodes[1].op, (int)item->nodes[1].inputs[0]);
    else if (item->kind == FG_LOG_IMAGE)
        (void)snprintf(at, room, "%s %dx%dx%d %d ", item->name, (int)item->height, (int)item->width,
                       (int)item->channels, item->pixels[5]);
    else if (item->kind == FG_LOG_HISTOGRAM)
        (void)snprintf(at, room, "%s %d %d ", item->name, (int)item->edges[2],
                       (int)item->counts[1]);
    return FG_OK;
}

static void board_destroy(void *self)
{
    board *b = self;
    (void)pthread_mutex_lock(&b->mutex);
    b->is_destroyed = true;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->mutex);
}

static const fg_logger_ops ops = {.name = "board",
                                  .has_thread = true,
                                  .open = board_open,
                                  .log = board_log,
                                  .flush = board_flush,
                                  .sync = board_sync,
                                  .saved = board_saved,
                                  .finish = board_finish,
                                  .item = board_item,
                                  .destroy = board_destroy};

/* ---- warnings -------------------------------------------------------------------------------- */

static pthread_mutex_t heard_mutex = PTHREAD_MUTEX_INITIALIZER;
static char heard[2048];

static void hear(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    (void)pthread_mutex_lock(&heard_mutex);
    const size_t used = strlen(heard);
    (void)snprintf(heard + used, sizeof heard - used, "%s\n", line);
    (void)pthread_mutex_unlock(&heard_mutex);
}

static size_t times_heard(const char *part)
{
    size_t count = 0;
    (void)pthread_mutex_lock(&heard_mutex);
    for (const char *at = strstr(heard, part); at != NULL; at = strstr(at + 1, part))
        count++;
    (void)pthread_mutex_unlock(&heard_mutex);
    return count;
}

static int listen(void **state)
{
    (void)state;
    heard[0] = '\0';
    fg_log_set(hear, NULL);
    return 0;
}

static int stop_listening(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static fgi_logger_thread *start(board *b, int64_t patience_ns)
{
    fg_error err = {0};
    fgi_logger_thread *t = NULL;
    fgt_ok(fgi_logger_thread_create(&ops, b, patience_ns, &t, &err));
    return t;
}

static fg_status open_log(fgi_logger_thread *t, int64_t *lines, fg_error *err)
{
    return fgi_logger_thread_open(t, &(fg_log_start){.run_dir = "run", .lines = -1}, lines, err);
}

static void log_lines(fgi_logger_thread *t, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count; i++) {
        const fg_metric metrics[] = {{"a", (double)i}, {"b", 0.5}};
        fgi_logger_thread_log(t, &(fg_log_line){.step = i, .metrics = metrics, .metric_count = 2});
    }
}

static void every_line_arrives_in_order(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    make(&b);
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    fgt_ok(open_log(t, &lines, &err));
    assert_int_equal(lines, 7);
    assert_string_equal(b.run_dir, "run");
    log_lines(t, 0, 500);
    fgi_logger_thread_sync(t);
    char path[] = "run/checkpoints/step-1", why[] = "no memory";
    fgi_logger_thread_saved(t, &(fg_log_saved){.path = path, .step = 12});
    fgi_logger_thread_flush(t);
    fgi_logger_thread_end(t, &(fg_log_end){.state = FG_LOG_FAILED, .message = why, .step = 500});
    path[0] = why[0] = '?';
    fgi_logger_thread_finish(t);
    assert_string_equal(b.ended, "run/checkpoints/step-1 12, 2 no memory 500");
    assert_int_equal(b.logged, 500);
    assert_int_equal(b.last_step, 499);
    assert_true(b.sum == 500.0 * 499 / 2 + 250);
    assert_true(b.flushed == 1 && b.synced == 1);
    log_lines(t, 500, 3); /* another fit, whose lines are logged before the end */
    fgi_logger_thread_destroy(t);
    assert_int_equal(b.logged, 503);
    unmake(&b);
    assert_string_equal(heard, "");
}

/* What an item refers to is copied; at most 64 wait. */
static void items_arrive_too(void **state)
{
    (void)state;
    board b;
    make(&b);
    b.is_closed = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    char name[] = "model", in[] = "x", op[] = "matmul";
    uint32_t input = 0;
    fg_log_node nodes[] = {{.name = in, .op = "input"},
                           {.name = "y", .op = op, .inputs = &input, .input_count = 1}};
    uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
    double edges[] = {0, 1, 3}, counts[] = {5, 7};
    fgi_logger_thread_item(
        t, &(fg_log_item){
               .kind = FG_LOG_GRAPH, .name = name, .step = 9, .nodes = nodes, .node_count = 2});
    fgi_logger_thread_item(t, &(fg_log_item){.kind = FG_LOG_IMAGE,
                                             .name = name,
                                             .pixels = pixels,
                                             .height = 1,
                                             .width = 2,
                                             .channels = 3});
    fgi_logger_thread_item(
        t,
        &(fg_log_item){
            .kind = FG_LOG_HISTOGRAM, .name = name, .edges = edges, .counts = counts, .bins = 2});
    name[0] = in[0] = op[0] = '?';
    input = 1;
    pixels[5] = 0;
    edges[2] = counts[1] = 0;
    for (int i = 0; i < FGI_LOGGER_ITEMS; i++)
        fgi_logger_thread_item(t, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "t", .text = "."});
    assert_int_equal(times_heard("is too slow: 64 texts, images or histograms are waiting"), 1);
    set_gate(&b, false);
    fgi_logger_thread_finish(t);
    assert_string_equal(b.item, "model 9 x:input y:matmul(0) model 1x2x3 6 model 3 7 ");
    assert_int_equal(b.items, FGI_LOGGER_ITEMS);
    assert_int_equal(times_heard("3 entries were dropped"), 1);
    fgi_logger_thread_destroy(t);
    unmake(&b);
}

static void a_failure_is_reported_once(void **state)
{
    (void)state;
    board b;
    make(&b);
    b.fails = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    log_lines(t, 0, 5);
    fgi_logger_thread_finish(t);
    assert_int_equal(b.logged, 5);
    fgi_logger_thread_destroy(t);
    unmake(&b);
    assert_int_equal(times_heard("logger 'board' failed: no board; training continues"), 1);
    assert_int_equal(times_heard("\n"), 1);
}

/* The queue is bounded; what does not fit is counted. */
static void lines_that_do_not_fit_are_dropped(void **state)
{
    (void)state;
    board b;
    make(&b);
    b.is_closed = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    log_lines(t, 0, FGI_LOGGER_QUEUE + 10);
    assert_int_equal(times_heard("logger 'board' is too slow: 1024 lines are waiting"), 1);
    set_gate(&b, false);
    fgi_logger_thread_finish(t);
    assert_int_equal(b.logged, FGI_LOGGER_QUEUE);
    assert_int_equal(times_heard("logger 'board' was too slow: 10 entries were dropped"), 1);
    fgi_logger_thread_destroy(t);
    unmake(&b);
}

/* Neither the end of a fit nor the Trainer waits for ever; the thread frees its memory. */
static void a_blocked_logger_is_left_alone(void **state)
{
    (void)state;
    board b;
    make(&b);
    b.is_closed = true;
    fgi_logger_thread *t = start(&b, SHORT_NS);
    log_lines(t, 0, 3);
    wait_for_arrival(&b);
    fgi_logger_thread_finish(t);
    assert_int_equal(times_heard("3 entries are not logged"), 1);
    fgi_logger_thread_destroy(t);
    set_gate(&b, false);
    unmake(&b);
    assert_int_equal(b.logged, 1);
}

static void a_log_that_cannot_be_opened(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t lines = -1;
    board b;
    make(&b);
    b.fails_open = true;
    fgi_logger_thread *t = start(&b, FGI_LOGGER_PATIENCE_NS);
    assert_int_equal(open_log(t, &lines, &err), FG_EIO);
    assert_string_equal(err.message, "no server");
    log_lines(t, 0, 3);
    fgi_logger_thread_finish(t);
    fgi_logger_thread_destroy(t);
    unmake(&b);
    assert_int_equal(b.logged, 0);
    assert_string_equal(heard, ""); /* the caller reports it */
}

/* Training begins; the lines wait, and a late failure is reported. */
static void a_log_that_opens_late(void **state)
{
    for (int fails = 0; fails < 2; fails++) {
        fg_error err = {0};
        int64_t lines = -1;
        board b;
        make(&b);
        (void)listen(state);
        b.is_closed = true;
        b.fails_open = fails;
        fgi_logger_thread *t = start(&b, SHORT_NS);
        fgt_ok(open_log(t, &lines, &err));
        assert_int_equal(lines, -1);
        assert_int_equal(times_heard("logger 'board' has not opened its log in 0.02 s"), 1);
        log_lines(t, 0, 3);
        set_gate(&b, false);
        (void)pthread_mutex_lock(&b.mutex);
        while (!fails && b.arrived < 4)
            (void)pthread_cond_wait(&b.changed, &b.mutex);
        (void)pthread_mutex_unlock(&b.mutex);
        while (fails && times_heard("logger 'board' failed: no server") == 0)
            (void)usleep(1000);
        fgi_logger_thread_destroy(t);
        unmake(&b);
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
    make(b);
    fg_status status = fgi_logger_thread_create(&ops, b, FGI_LOGGER_PATIENCE_NS, &t, err);
    if (status != FG_OK) {
        board_destroy(b);
        unmake(b);
        return status;
    }
    const fg_log_start start = {.run_dir = "run",
                                .lines = -1,
                                .history = "h",
                                .config = "a: 1",
                                .settings = settings,
                                .setting_count = 2};
    status = fgi_logger_thread_open(t, &start, &lines, err);
    log_lines(t, 0, 2);
    fgi_logger_thread_saved(t, &(fg_log_saved){.path = "p"});
    fgi_logger_thread_flush(t);
    fgi_logger_thread_sync(t);
    fgi_logger_thread_end(t, &(fg_log_end){.message = "m"});
    fgi_logger_thread_finish(t);
    fgi_logger_thread_destroy(t);
    unmake(b);
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
    board b, refused;
    make(&b);
    make(&refused);
    fgt_ok(fgi_logger_init("csv", &logger, &err));
    fgt_ok(fgi_logger_add(logger, &ops, &b, &err));
    fg_logger_ops required = ops;
    required.is_required = true;
    assert_int_equal(fgi_logger_add(logger, &required, &refused, &err), FG_EINVAL);
    unmake(&refused);
    fgt_ok(fgi_logger_open(logger, fgt_temp_folder(), 0, -1, &err));
    const fg_metric metric = {"loss", 2};
    const fg_progress at = {.step = 3, .metrics = &metric, .metric_count = 1};
    fgt_ok(fgi_logger_ops.log(logger, &at, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    fgt_ok(fgi_logger_sync(logger, &err));
    fgt_ok(fgi_logger_ops.fit_end(logger, &at, &err));
    assert_true(b.logged == 1 && b.last_step == 3 && b.sum == 2 && b.synced == 1);
    fgi_logger_destroy(logger);
    unmake(&b);
    assert_string_equal(heard, "");
}

#define HEARING(test) cmocka_unit_test_setup_teardown(test, listen, stop_listening)

static const struct CMUnitTest tests[] = {
    HEARING(every_line_arrives_in_order),    HEARING(items_arrive_too),
    HEARING(a_failure_is_reported_once),     HEARING(lines_that_do_not_fit_are_dropped),
    HEARING(a_blocked_logger_is_left_alone), HEARING(a_log_that_cannot_be_opened),
    HEARING(a_log_that_opens_late),          HEARING(it_is_one_of_the_loggers_of_a_run),
    HEARING(no_failed_allocation_is_lost),
};
FGT_MAIN(tests)
