/* log.h - lines for the user's log function; dropped when there is none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_LOG_H
#define FGI_BASE_LOG_H

#include <fulgurite/base.h>

/* Formats one line (at most 1,023 bytes) and passes it on. Thread-safe. */
void fgi_log(fg_log_level level, const char *format, ...) FG_PRINTF(2, 3);

/* Called before each line that is passed on, from the thread that logs it: erases what is drawn on
 * the terminal that the line may go to. One at a time; the last one set is in force. */
typedef void fgi_log_before_fn(void *self);
void fgi_log_set_before(fgi_log_before_fn *fn, void *self);
/* Waits for a call that is under way; nothing if another one is in force. */
void fgi_log_unset_before(const void *self);

#endif
