/* map_guard.c - the process's SIGBUS handler for guarded mappings.
 *
 * The handler runs in the thread that reads the mapping. It only reads atomics and calls mmap, so
 * it takes no lock. A slot is in use while its `begin` is not 0; `begin` is stored last and cleared
 * first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/print.h"

enum { SLOT_COUNT = 4096 };

typedef struct slot {
    atomic_uintptr_t begin, end;
    _Atomic(atomic_bool *) is_lost;
} slot;

static slot slots[SLOT_COUNT];
static atomic_int used; /* no slot at or after this one has ever been used */
static struct sigaction before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Replaces the mapping from the page of the fault to its end. */
static bool replace(uintptr_t fault)
{
    const int count = atomic_load(&used);
    const uintptr_t page = fault & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    for (int i = 0; i < count; i++) {
        const uintptr_t begin = atomic_load(&slots[i].begin), end = atomic_load(&slots[i].end);
        if (begin == 0 || fault < begin || fault >= end)
            continue;
        void *at = (char *)begin + (page - begin); /* NOLINT(performance-no-int-to-ptr) */
        if (mmap(at, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            return false;
        atomic_store(atomic_load(&slots[i].is_lost), true);
        return true;
    }
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    const bool is_ours = info->si_code > 0 && replace((uintptr_t)info->si_addr);
    errno = kept;
    if (is_ours)
        return;
    if ((before.sa_flags & SA_SIGINFO) != 0)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        (void)sigaction(SIGBUS, &before,
                        NULL); /* the fault occurs again, with the default action */
}

static fg_status install(fg_error *err)
{
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    ours.sa_sigaction = on_fault;
    (void)sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) != 0)
        return fgi_fail(err, FG_EIO, "cannot handle SIGBUS: %s", fgi_errno_text(errno));
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault)
        return FG_OK;
    before = now;
    return sigaction(SIGBUS, &ours, NULL) == 0
               ? FG_OK
               : fgi_fail(err, FG_EIO, "cannot handle SIGBUS: %s", fgi_errno_text(errno));
}

static fg_status add(const void *data, size_t size, atomic_bool *is_lost, fg_error *err)
{
    FGI_TRY(install(err));
    for (int i = 0; i < SLOT_COUNT; i++) {
        if (atomic_load(&slots[i].begin) != 0)
            continue;
        atomic_store(&slots[i].is_lost, is_lost);
        atomic_store(&slots[i].end, (uintptr_t)data + size);
        atomic_store(&slots[i].begin, (uintptr_t)data);
        if (i >= atomic_load(&used))
            atomic_store(&used, i + 1);
        return FG_OK;
    }
    return fgi_fail(err, FG_EUNSUPPORTED, "more than %d files are mapped: close some of them",
                    (int)SLOT_COUNT);
}

fg_status fgi_guard_add(const void *data, size_t size, atomic_bool *is_lost, fg_error *err)
{
    (void)pthread_mutex_lock(&lock);
    const fg_status status = add(data, size, is_lost, err);
    (void)pthread_mutex_unlock(&lock);
    return status;
}

void fgi_guard_remove(const void *data)
{
    for (int i = 0; data != NULL && i < atomic_load(&used); i++) {
        uintptr_t begin = (uintptr_t)data;
        if (atomic_compare_exchange_strong(&slots[i].begin, &begin, 0))
            return;
    }
}

void fgi_guard_renew(void)
{
    (void)pthread_mutex_lock(&lock);
    if (atomic_load(&used) > 0)
        (void)install(NULL);
    (void)pthread_mutex_unlock(&lock);
}
