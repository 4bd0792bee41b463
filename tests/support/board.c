/* board.c - a logger for tests of what runs loggers on threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "board.h"

#include <stdio.h>

#include "base/log.h"
#include "base/thread.h"
#include "fgt.h"

void board_make(board *b)
{
    fg_error err = {0};
    *b = (board){0};
    fgt_ok(fgi_mutex_init(&b->mutex, &err));
    fgt_ok(fgi_cond_init(&b->changed, &err));
}

void board_set_gate(board *b, bool is_closed)
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

void board_wait(board *b)
{
    (void)pthread_mutex_lock(&b->mutex);
    while (b->arrived == 0)
        (void)pthread_cond_wait(&b->changed, &b->mutex);
    (void)pthread_mutex_unlock(&b->mutex);
}

void board_unmake(board *b)
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
    (void)pthread_mutex_lock(&b->mutex);
    b->flushed++;
    (void)snprintf(err->message, sizeof err->message, "no board");
    const fg_status status = b->fails && b->is_required ? FG_EIO : FG_OK;
    (void)pthread_mutex_unlock(&b->mutex);
    return status;
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

void board_destroy(void *self)
{
    board *b = self;
    (void)pthread_mutex_lock(&b->mutex);
    b->is_destroyed = true;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->mutex);
}

const fg_logger_ops board_ops = {.name = "board",
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

size_t board_heard(const char *part)
{
    size_t count = 0;
    (void)pthread_mutex_lock(&heard_mutex);
    for (const char *at = strstr(heard, part); at != NULL; at = strstr(at + 1, part))
        count++;
    (void)pthread_mutex_unlock(&heard_mutex);
    return count;
}

int board_listen(void **state)
{
    (void)state;
    heard[0] = '\0';
    fg_log_set(hear, NULL);
    return 0;
}

int board_stop_listening(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    return 0;
}

fgi_logger_thread *board_start(const fg_logger_ops *as, board *b, int64_t patience_ns)
{
    fg_error err = {0};
    fgi_logger_thread *t = NULL;
    fgt_ok(fgi_logger_thread_create(as, b, patience_ns, &t, &err));
    return t;
}

fg_status board_open_log(fgi_logger_thread *t, const fg_log_start *start, int64_t *lines,
                         fg_error *err)
{
    const fgi_logger_call call = {
        .of = FGI_LOGGER_OPEN,
        .start = start != NULL ? *start : (fg_log_start){.run_dir = "run", .lines = -1}};
    return fgi_logger_thread_call(t, &call, lines, err);
}

fg_status board_log_line(fgi_logger_thread *t, const fg_log_line *line, fg_error *err)
{
    const fgi_logger_call call = {.of = FGI_LOGGER_LOG, .line = *line};
    return fgi_logger_thread_call(t, &call, NULL, err);
}

void board_log_lines(fgi_logger_thread *t, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count; i++) {
        const fg_metric metrics[] = {{"a", (double)i}, {"b", 0.5}};
        const fg_log_line line = {.step = i, .metrics = metrics, .metric_count = 2};
        fg_error err = {0};
        fgt_ok(board_log_line(t, &line, &err));
    }
}

static void send(fgi_logger_thread *t, const fgi_logger_call *call)
{
    fg_error err = {0};
    fgt_ok(fgi_logger_thread_call(t, call, NULL, &err));
}

void board_log_item(fgi_logger_thread *t, const fg_log_item *item)
{
    send(t, &(fgi_logger_call){.of = FGI_LOGGER_ITEM, .item = *item});
}

void board_log_saved(fgi_logger_thread *t, const fg_log_saved *saved)
{
    send(t, &(fgi_logger_call){.of = FGI_LOGGER_SAVED, .saved = *saved});
}

void board_log_end(fgi_logger_thread *t, const fg_log_end *end)
{
    send(t, &(fgi_logger_call){.of = FGI_LOGGER_FINISH, .end = *end});
}

fg_status board_ask(fgi_logger_thread *t, fgi_logger_function of, fg_error *err)
{
    return fgi_logger_thread_call(t, &(fgi_logger_call){.of = of, .can_wait = true}, NULL, err);
}

const char *board_all_heard(void) { return heard; }
