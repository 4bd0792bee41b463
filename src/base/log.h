/* log.h - lines for the user's log function; dropped when there is none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_LOG_H
#define FGI_BASE_LOG_H

#include <fulgurite/base.h>

/* Formats one line (at most 1,023 bytes) and passes it on. Thread-safe. */
void fgi_log(fg_log_level level, const char *format, ...) FG_PRINTF(2, 3);

#endif
