/* thread.c - pthreads with the library's errors, and the clock. The caller that starts a thread
 * joins it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/stack_signal.h"

static fg_status fail_number(fg_error *err, const char *what, int number)
{
    return fgi_fail(err, number == EAGAIN || number == ENOMEM ? FG_ENOMEM : FG_EINTERNAL,
                    "cannot create a %s: %s", what, fgi_errno_text(number));
}

fg_status fgi_thread_start(fgi_thread *thread, void *(*run)(void *), void *self, fg_error *err)
{
    static const int own[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                              SIGTRAP, SIGABRT, SIGSYS, FGI_STACK_SIGNAL};
    if (fgi_alloc_fault())
        return fgi_no_memory(err);
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        (void)sigdelset(&blocked, own[i]);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int failure = pthread_create(thread, NULL, run, self);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0 ? FG_OK : fail_number(err, "thread", failure);
}

void fgi_thread_join(fgi_thread thread) { (void)pthread_join(thread, NULL); }

fg_status fgi_mutex_init(pthread_mutex_t *mutex, fg_error *err)
{
    const int failure = pthread_mutex_init(mutex, NULL);
    return failure == 0 ? FG_OK : fail_number(err, "mutex", failure);
}

fg_status fgi_cond_init(pthread_cond_t *cond, fg_error *err)
{
    pthread_condattr_t attributes;
    int failure = pthread_condattr_init(&attributes);
    if (failure == 0) {
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        failure = pthread_cond_init(cond, &attributes);
        (void)pthread_condattr_destroy(&attributes);
    }
    return failure == 0 ? FG_OK : fail_number(err, "condition", failure);
}

fg_status fgi_monitor_init(pthread_mutex_t *mutex, pthread_cond_t *cond, fg_error *err)
{
    FGI_TRY(fgi_mutex_init(mutex, err));
    const fg_status status = fgi_cond_init(cond, err);
    if (status != FG_OK)
        (void)pthread_mutex_destroy(mutex);
    return status;
}

void fgi_monitor_fini(pthread_mutex_t *mutex, pthread_cond_t *cond)
{
    (void)pthread_cond_destroy(cond);
    (void)pthread_mutex_destroy(mutex);
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void fgi_sleep(double seconds)
{
    const time_t whole = (time_t)seconds;
    const struct timespec time = {whole, (long)((seconds - (double)whole) * 1e9)};
    (void)nanosleep(&time, NULL);
}

int64_t fgi_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

double fgi_wall_time(void) { return (double)read_clock(CLOCK_REALTIME) * 1e-9; }

int64_t fgi_thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
