/* thread.h - threads, locks and a monotonic clock. Thread creation counts as an allocation, which a
 * test can make fail.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_THREAD_H
#define FGI_BASE_THREAD_H

#include <pthread.h>
#include <fulgurite/base.h>

typedef pthread_t fgi_thread;

/* Starts `run(self)` with signals blocked, so that they are delivered to the program's own threads.
 * Signals raised by a fault of the thread itself (SIGSEGV and the like) are not blocked. */
fg_status fgi_thread_start(fgi_thread *thread, void *(*run)(void *), void *self, fg_error *err);
void fgi_thread_join(fgi_thread thread);

/* Mutexes and condition variables of pthread, created with these functions so that failure is an
 * error. The timed wait uses CLOCK_MONOTONIC. */
fg_status fgi_mutex_init(pthread_mutex_t *mutex, fg_error *err);
fg_status fgi_cond_init(pthread_cond_t *cond, fg_error *err);
/* Both, or neither. */
fg_status fgi_monitor_init(pthread_mutex_t *mutex, pthread_cond_t *cond, fg_error *err);
void fgi_monitor_fini(pthread_mutex_t *mutex, pthread_cond_t *cond);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t fgi_now_ns(void);
void fgi_sleep(double seconds);
static inline double fgi_now_s(void) { return (double)fgi_now_ns() * 1e-9; }
/* Seconds since 1970-01-01T00:00:00Z: the system's clock, which may be set back. */
double fgi_wall_time(void);
/* CPU time of the calling thread in nanoseconds, without waiting. Costs a system call. */
int64_t fgi_thread_cpu_ns(void);

#endif
