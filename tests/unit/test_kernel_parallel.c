/* test_kernel_parallel.c - loops (src/kernel/parallel.h) on a thread pool whose threads come at
 * once or late, and on one that has no room.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "kernel/parallel.h"

enum { MOST_TASKS = 64, ITERATIONS = 1000, THREADS = 4 };

/* Scheduled tasks; each is run by a thread that starts at once, or by run_late. */
static struct {
    bool is_late, is_full;
    fgi_ffi_schedule task[MOST_TASKS];
    pthread_t thread[MOST_TASKS];
    int count, errors; /* tasks; errors that are not destroyed */
} pool;

static void *run_task(void *task)
{
    const fgi_ffi_schedule *self = task;
    self->task(self->data);
    return NULL;
}

static void *schedule(fgi_ffi_schedule *args)
{
    if (pool.is_full) {
        pool.errors++;
        return &pool;
    }
    assert_true(pool.count < MOST_TASKS);
    pool.task[pool.count] = *args;
    if (!pool.is_late)
        assert_int_equal(
            pthread_create(&pool.thread[pool.count], NULL, run_task, &pool.task[pool.count]), 0);
    pool.count++;
    return NULL;
}

static void *thread_count(fgi_ffi_thread_count *args)
{
    *args->count = THREADS;
    return NULL;
}

static void end_tasks(void)
{
    for (int i = 0; i < pool.count; i++)
        if (pool.is_late)
            (void)run_task(&pool.task[i]);
        else
            assert_int_equal(pthread_join(pool.thread[i], NULL), 0);
    pool.count = 0;
}

static void error_destroy(fgi_ffi_error_destroy *args)
{
    assert_ptr_equal(args->error, &pool);
    pool.errors--;
}

static const fgi_ffi_api api = {.struct_size = sizeof api,
                                .error_destroy = error_destroy,
                                .schedule = schedule,
                                .thread_count = thread_count};
static const fgi_ffi_call frame = {.api = &api};

typedef struct work {
    int done[ITERATIONS];
    atomic_int in_use[THREADS]; /* by worker: an iteration runs */
} work;

static void count_up(void *context, int64_t i, int worker)
{
    work *w = context;
    assert_in_range(worker, 0, THREADS - 1);
    assert_int_equal(atomic_fetch_add(&w->in_use[worker], 1), 0);
    w->done[i]++;
    atomic_fetch_sub(&w->in_use[worker], 1);
}

static void check_loop(const fgi_ffi_call *call, int64_t count)
{
    work w;
    memset(&w, 0, sizeof w);
    fgi_parallel(call, fgi_parallel_threads(call, THREADS), count, count_up, &w);
    for (int64_t i = 0; i < ITERATIONS; i++)
        assert_int_equal(w.done[i], i < count);
}

static void every_iteration_runs_once(void **state)
{
    static const int64_t counts[] = {0, 1, 2, 3, 5, 100, ITERATIONS};
    (void)state;
    for (size_t i = 0; i < 3 * sizeof counts / sizeof counts[0]; i++) {
        pool.is_late = i % 3 == 1;
        pool.is_full = i % 3 == 2;
        check_loop(&frame, counts[i / 3]);
        end_tasks(); /* late tasks find nothing to do, and free the loop */
        assert_int_equal(pool.errors, 0);
    }
    pool.is_late = pool.is_full = false;
}

static void without_a_pool_it_is_one_thread(void **state)
{
    static const fgi_ffi_api older = {.struct_size = offsetof(fgi_ffi_api, schedule)};
    const fgi_ffi_call none = {.api = NULL}, old = {.api = &older};
    (void)state;
    assert_int_equal(fgi_parallel_threads(&none, THREADS), 1);
    assert_int_equal(fgi_parallel_threads(&old, THREADS), 1);
    assert_int_equal(fgi_parallel_threads(&frame, 2), 2);
    assert_int_equal(fgi_parallel_threads(&frame, 1000), THREADS);
    check_loop(&none, 10);
}

static void without_memory_it_is_one_thread(void **state)
{
    (void)state;
    fgi_alloc_fail_after(0);
    check_loop(&frame, 100);
    fgi_alloc_fail_after(-1);
    assert_int_equal(pool.count, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_iteration_runs_once),
        cmocka_unit_test(without_a_pool_it_is_one_thread),
        cmocka_unit_test(without_memory_it_is_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
