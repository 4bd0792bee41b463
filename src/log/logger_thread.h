/* logger_thread.h - calls of a logger's functions, and a logger on a separate thread, behind a
 * bounded queue.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOGGER_THREAD_H
#define FGI_LOG_LOGGER_THREAD_H

#include <fulgurite/logger.h>
#include <stdatomic.h>

/* ---- calls ----------------------------------------------------------------------------------- */

typedef enum fgi_logger_function {
    FGI_LOGGER_OPEN,
    FGI_LOGGER_LOG,
    FGI_LOGGER_FLUSH,
    FGI_LOGGER_SYNC,
    FGI_LOGGER_SAVED,
    FGI_LOGGER_FINISH,
    FGI_LOGGER_ITEM
} fgi_logger_function;

/* A call of one of the functions of fg_logger_ops. */
typedef struct fgi_logger_call {
    fgi_logger_function of;
    bool can_wait; /* of flush: for a required logger with a thread */
    union {
        fg_log_start start;
        fg_log_line line;
        fg_log_saved saved;
        fg_log_end end;
        fg_log_item item;
    };
} fgi_logger_call;

/* Whether the logger has the function. */
bool fgi_logger_has(const fg_logger_ops *ops, fgi_logger_function of);
/* Calls it on this thread; FG_OK if the logger does not have it. *lines is that of `open`. */
fg_status fgi_logger_call_now(const fg_logger_ops *ops, void *self, const fgi_logger_call *call,
                              int64_t *lines, fg_error *err);

/* What was reported of a logger. Zero-initialize it. */
typedef struct fgi_logger_reported {
    bool is_failing; /* required: since its last success */
    atomic_bool has_failed;
} fgi_logger_reported;
/* Reports the first failure of a logger; of a required one each first failure after a success, and
 * the success that follows. */
void fgi_logger_report(const fg_logger_ops *ops, fgi_logger_reported *reported, fg_status status,
                       const fg_error *err);

/* ---- the thread ------------------------------------------------------------------------------ */

typedef struct fgi_logger_thread fgi_logger_thread;

/* Lines that wait for the logger; later ones are dropped. Of a required logger, up to
 * FGI_LOGGER_REQUIRED_QUEUE lines wait, about 40 MiB with ten values each; then memory counts as
 * exhausted. */
enum { FGI_LOGGER_QUEUE = 1024, FGI_LOGGER_REQUIRED_QUEUE = 32768 };
/* The same for texts, images, histograms and graphs. */
enum { FGI_LOGGER_ITEMS = 64 };

/* How long `open`, the end of a fit and `destroy` wait; for a required logger they wait until it
 * has returned, and report the wait after this time. */
#define FGI_LOGGER_PATIENCE_NS ((int64_t)10000000000)

/* Runs the functions of ops, which are copied, on a thread. `self` is destroyed there, or by the
 * caller if this fails. Errors: FG_ENOMEM, FG_EINTERNAL. */
fg_status fgi_logger_thread_create(const fg_logger_ops *ops, void *self, int64_t patience_ns,
                                   fgi_logger_thread **out, fg_error *err);
/* Queues a copy of the call; any thread.
 *
 * `open` waits until the patience ends; then the run begins without it (*lines is -1), and lines
 * wait in the queue. A failure is that of the logger, which is not called again. The others return
 * at once, but of a required logger, `sync`, which flushes first, and `flush` with can_wait wait
 * for the result, which they return. FG_ENOMEM: the log of a required logger will lack lines. */
fg_status fgi_logger_thread_call(fgi_logger_thread *t, const fgi_logger_call *from, int64_t *lines,
                                 fg_error *err);
/* Waits until the queue is empty or the patience ends, and reports the lines that were dropped or
 * are still waiting. */
void fgi_logger_thread_finish(fgi_logger_thread *t);
/* Ends the thread. If the logger does not return until the patience ends, the thread is left
 * alone: it frees its memory when the logger returns. */
void fgi_logger_thread_destroy(fgi_logger_thread *t);

#endif
