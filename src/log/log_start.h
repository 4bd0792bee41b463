/* log_start.h - copies of what loggers receive when their log is opened.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOG_START_H
#define FGI_LOG_LOG_START_H

#include <fulgurite/logger.h>

#include "base/arena.h"

/* Copies everything that `from` refers to into the arena; false when out of memory: *out is then
 * empty. */
bool fgi_log_start_copy(const fg_log_start *from, fgi_arena *arena, fg_log_start *out);

#endif
