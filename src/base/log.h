/* log.h - lines for the user's log function; discarded if there is none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_LOG_H
#define FGI_BASE_LOG_H

#include <fulgurite/base.h>

/* Formats one line (at most 1,023 bytes) and logs it. Thread-safe. */
void fgi_log(fg_log_level level, const char *format, ...) FG_PRINTF(2, 3);

/* Sets a function that is called before each log line, from the thread that logs it: it erases the
 * progress line on the terminal to which the log may be written. Only one can be set; the last one
 * applies. */
typedef void fgi_log_before_fn(void *self);
void fgi_log_set_before(fgi_log_before_fn *fn, void *self);
/* Waits for a call in progress, and removes the function; no effect if another one is set. */
void fgi_log_unset_before(const void *self);

#endif
