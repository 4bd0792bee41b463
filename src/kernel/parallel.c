/* parallel.c - loops on XLA's thread pool. A loop ends when its iterations have, not when all the
 * threads that were asked have come: the pool may be busy with what waits for this very kernel.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

/* Shared by the threads; the last one frees it. */
typedef struct loop {
    fgi_work work;
    void *context; /* used only by who has got an iteration */
    int64_t count;
    _Atomic int64_t next, done;
    atomic_int workers, users;
    pthread_mutex_t mutex;
    pthread_cond_t is_done;
} loop;

static void leave(loop *l)
{
    if (atomic_fetch_sub(&l->users, 1) > 1)
        return;
    (void)pthread_cond_destroy(&l->is_done);
    (void)pthread_mutex_destroy(&l->mutex);
    fgi_free(l);
}

static void work_off(loop *l)
{
    const int worker = atomic_fetch_add(&l->workers, 1);
    int64_t i = atomic_fetch_add(&l->next, 1), done = 0;
    for (; i < l->count; i = atomic_fetch_add(&l->next, 1), done++)
        l->work(l->context, i, worker);
    if (done > 0 && atomic_fetch_add(&l->done, done) + done == l->count) {
        (void)pthread_mutex_lock(&l->mutex);
        (void)pthread_cond_signal(&l->is_done);
        (void)pthread_mutex_unlock(&l->mutex);
    }
}

static void help(void *self)
{
    work_off(self);
    leave(self);
}

static loop *loop_new(int64_t count, fgi_work work, void *context)
{
    loop *l = fgi_calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->work = work;
    l->context = context;
    l->count = count;
    atomic_store(&l->users, 1);
    if (pthread_mutex_init(&l->mutex, NULL) == 0) {
        if (pthread_cond_init(&l->is_done, NULL) == 0)
            return l;
        (void)pthread_mutex_destroy(&l->mutex);
    }
    fgi_free(l);
    return NULL;
}

static bool has_pool(const fgi_ffi_call *call)
{
    return call->api != NULL && call->api->struct_size >= sizeof *call->api;
}

/* Whether there is no error; frees it. */
static bool is_ok(const fgi_ffi_call *call, void *error)
{
    fgi_ffi_error_destroy args = {.struct_size = sizeof args, .error = error};
    if (error != NULL)
        call->api->error_destroy(&args);
    return error == NULL;
}

int fgi_parallel_threads(const fgi_ffi_call *call, int most)
{
    int64_t count = 1;
    if (!has_pool(call) || most <= 1)
        return 1;
    fgi_ffi_thread_count args = {
        .struct_size = sizeof args, .context = call->context, .count = &count};
    if (!is_ok(call, call->api->thread_count(&args)) || count < 1)
        return 1;
    return count < most ? (int)count : most;
}

void fgi_parallel(const fgi_ffi_call *call, int threads, int64_t count, fgi_work work,
                  void *context)
{
    loop *l = threads > 1 && count > 1 ? loop_new(count, work, context) : NULL;
    for (int64_t i = 0; i < count && l == NULL; i++)
        work(context, i, 0);
    if (l == NULL)
        return;
    for (int i = 1; i < threads && i < count; i++) {
        atomic_fetch_add(&l->users, 1);
        fgi_ffi_schedule args = {
            .struct_size = sizeof args, .context = call->context, .task = help, .data = l};
        if (!is_ok(call, call->api->schedule(&args)))
            leave(l);
    }
    work_off(l);
    (void)pthread_mutex_lock(&l->mutex);
    while (atomic_load(&l->done) < count)
        (void)pthread_cond_wait(&l->is_done, &l->mutex);
    (void)pthread_mutex_unlock(&l->mutex);
    leave(l);
}
