/* kernel_clock.c - notes the time: src/plan/hlo_clocks.c inserts calls of this kernel around the
 * operations of a program, because the CPU plugin has no profiler. Calls from any thread take the
 * next place in the array.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/thread.h"
#include "kernel/kernel.h"

static struct {
    _Atomic(fgi_tick *) ticks; /* NULL: nothing is recorded */
    size_t most;
    atomic_size_t count;
} record;

bool fgi_clock_start(fgi_tick *ticks, size_t most)
{
    fgi_tick *none = NULL;
    if (atomic_load(&record.ticks) != NULL)
        return false;
    record.most = most;
    atomic_store(&record.count, 0);
    return atomic_compare_exchange_strong(&record.ticks, &none, ticks);
}

size_t fgi_clock_stop(void)
{
    atomic_store(&record.ticks, NULL);
    return atomic_load(&record.count);
}

void *fgi_kernel_clock(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    fgi_tick *ticks = atomic_load(&record.ticks);
    if (ticks == NULL)
        return NULL;
    const size_t at = atomic_fetch_add(&record.count, 1);
    if (at < record.most)
        ticks[at] = (fgi_tick){fgi_now_ns(), *(const uint32_t *)call->in.buffer[0]->data};
    return NULL;
}
