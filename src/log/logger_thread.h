/* logger_thread.h - a logger on a separate thread, behind a bounded queue.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOGGER_THREAD_H
#define FGI_LOG_LOGGER_THREAD_H

#include <fulgurite/logger.h>

typedef struct fgi_logger_thread fgi_logger_thread;

/* Lines that wait for the logger; later ones are dropped. Of a required logger, up to
 * FGI_LOGGER_REQUIRED_QUEUE lines wait, about 40 MiB with ten values each; then memory counts as
 * exhausted. */
enum { FGI_LOGGER_QUEUE = 1024, FGI_LOGGER_REQUIRED_QUEUE = 32768 };
/* The same for texts, images, histograms and graphs. */
enum { FGI_LOGGER_ITEMS = 64 };
/* Reports the first failure of a required logger after a success, and the success that follows. */
void fgi_logger_report(const char *name, bool *is_failing, fg_status status, const fg_error *err);

/* How long `open`, the end of a fit and `destroy` wait; for a required logger they wait until it
 * has returned, and report the wait after this time. */
#define FGI_LOGGER_PATIENCE_NS ((int64_t)10000000000)

/* Runs the functions of ops, which are copied, on a thread. `self` is destroyed there, or by the
 * caller if this fails. Errors: FG_ENOMEM, FG_EINTERNAL. */
fg_status fgi_logger_thread_create(const fg_logger_ops *ops, void *self, int64_t patience_ns,
                                   fgi_logger_thread **out, fg_error *err);
/* Opens the log, waiting until the patience ends; then the run begins without it, and lines wait
 * in the queue. A failure is that of the logger, which is not called again. */
fg_status fgi_logger_thread_open(fgi_logger_thread *t, const fg_log_start *start,
                                 int64_t *out_lines, fg_error *err);
/* These queue the call and return at once. FG_ENOMEM: the log of a required logger will lack lines.
 */
fg_status fgi_logger_thread_log(fgi_logger_thread *t, const fg_log_line *line, fg_error *err);
void fgi_logger_thread_item(fgi_logger_thread *t, const fg_log_item *item);
void fgi_logger_thread_flush(fgi_logger_thread *t);
void fgi_logger_thread_saved(fgi_logger_thread *t, const fg_log_saved *saved);
void fgi_logger_thread_end(fgi_logger_thread *t, const fg_log_end *end);
/* Flush, and flush and sync. For a required logger they wait for the result, which they return. */
fg_status fgi_logger_thread_catch_up(fgi_logger_thread *t, fg_error *err);
fg_status fgi_logger_thread_sync(fgi_logger_thread *t, fg_error *err); /* any thread */
/* Waits until the queue is empty or the patience ends, and reports the lines that were dropped or
 * are still waiting. */
void fgi_logger_thread_finish(fgi_logger_thread *t);
/* Ends the thread. If the logger does not return until the patience ends, the thread is left
 * alone: it frees its memory when the logger returns. */
void fgi_logger_thread_destroy(fgi_logger_thread *t);

#endif
