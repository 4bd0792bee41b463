/* board.h - a logger for tests of what runs loggers on threads: it counts what it receives, and can
 * wait, or fail.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_BOARD_H
#define FGT_BOARD_H

#include <pthread.h>

#include "log/logger_thread.h"

/* A patience that is over soon. */
#define BOARD_SHORT_NS ((int64_t)20000000)

/* A logger that waits at a gate while it is closed. */
typedef struct board {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_closed, fails, is_destroyed;
    bool fails_open, is_required;
    int arrived, logged, flushed, synced;
    int64_t last_step;
    double sum;
    char run_dir[32], ended[128], item[256];
    int items;
} board;

/* The logger's functions; it has a thread. `self` is a board. */
extern const fg_logger_ops board_ops;
void board_destroy(void *self);

void board_make(board *b);
/* Waits until it is destroyed as a logger. */
void board_unmake(board *b);
void board_set_gate(board *b, bool is_closed);
/* Waits until a call has arrived at the gate. */
void board_wait(board *b);

fgi_logger_thread *board_start(const fg_logger_ops *as, board *b, int64_t patience_ns);
/* start: NULL: of the folder "run". */
fg_status board_open_log(fgi_logger_thread *t, const fg_log_start *start, int64_t *lines,
                         fg_error *err);
fg_status board_log_line(fgi_logger_thread *t, const fg_log_line *line, fg_error *err);
/* Logs lines of the steps from `from`, with the values step and 0.5; no failure is expected. */
void board_log_lines(fgi_logger_thread *t, int64_t from, int64_t count);
void board_log_item(fgi_logger_thread *t, const fg_log_item *item);
void board_log_saved(fgi_logger_thread *t, const fg_log_saved *saved);
void board_log_end(fgi_logger_thread *t, const fg_log_end *end);
/* Calls flush or sync, and waits for the result of a required logger. */
fg_status board_ask(fgi_logger_thread *t, fgi_logger_function of, fg_error *err);

/* Setup and teardown of a test: collects the messages of the library. */
int board_listen(void **state);
int board_stop_listening(void **state);
/* How often the messages contain `part`; any thread. */
size_t board_heard(const char *part);
const char *board_all_heard(void);

#endif
