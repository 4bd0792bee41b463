/* thread.h - threads, locks and a monotonic clock. Creation of threads can be made to fail like an
 * allocation (it counts as one).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_THREAD_H
#define FGI_BASE_THREAD_H

#include <pthread.h>
#include <fulgurite/base.h>

typedef pthread_t fgi_thread;

/* Starts `run(self)` with signals blocked, so that they reach the program's own threads; those that
 * a fault of the thread itself raises (SIGSEGV and the like) are not. */
fg_status fgi_thread_start(fgi_thread *thread, void *(*run)(void *), void *self, fg_error *err);
void fgi_thread_join(fgi_thread thread);

/* Mutexes and conditions are pthread's, made with these so that failure is an error. The timed wait
 * of a condition takes times of CLOCK_MONOTONIC. */
fg_status fgi_mutex_init(pthread_mutex_t *mutex, fg_error *err);
fg_status fgi_cond_init(pthread_cond_t *cond, fg_error *err);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t fgi_now_ns(void);
/* Nanoseconds that the calling thread has spent on a processor: waiting does not count. Costs a
 * system call. */
int64_t fgi_thread_cpu_ns(void);
/* Processors this process may run on (affinity honoured), at least 1. */
int fgi_cpu_count(void);

#endif
