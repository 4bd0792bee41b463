/* log.c - passes lines to the user's log function, one at a time. The lock is recursive, so that a
 * log function may call the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include "base/print.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static fg_log_fn *log_fn;
static void *log_self;
static fgi_log_before_fn *before_fn;
static void *before_self;

void fg_log_set(fg_log_fn *fn, void *self)
{
    (void)pthread_mutex_lock(&lock);
    log_fn = fn;
    log_self = self;
    (void)pthread_mutex_unlock(&lock);
}

void fgi_log_set_before(fgi_log_before_fn *fn, void *self)
{
    (void)pthread_mutex_lock(&lock);
    before_fn = fn;
    before_self = self;
    (void)pthread_mutex_unlock(&lock);
}

void fgi_log_unset_before(const void *self)
{
    (void)pthread_mutex_lock(&lock);
    if (before_self == self)
        before_fn = NULL;
    (void)pthread_mutex_unlock(&lock);
}

void fgi_log(fg_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    const int length = fgi_vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0)
        return;
    (void)pthread_mutex_lock(&lock);
    if (log_fn != NULL && before_fn != NULL)
        before_fn(before_self);
    if (log_fn != NULL)
        log_fn(log_self, level, line);
    (void)pthread_mutex_unlock(&lock);
}
