/* damaged.c - see damaged.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/damaged.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"

enum { MOST_LOGGED = 20 };

fg_status fgi_damaged_init(fgi_damaged *d, int64_t record_count, bool is_skipped, fg_error *err)
{
    const size_t words = (size_t)record_count / 32 + 1;
    FGI_TRY(fgi_mutex_init(&d->mutex, err));
    d->has_mutex = true;
    d->flaws = fgi_calloc(words, sizeof *d->flaws);
    if (d->flaws != NULL && is_skipped)
        d->bits = fgi_calloc(words, sizeof *d->bits);
    return d->flaws != NULL && (d->bits != NULL || !is_skipped) ? FG_OK : fgi_no_memory(err);
}

void fgi_damaged_fini(fgi_damaged *d)
{
    if (d->has_mutex)
        (void)pthread_mutex_destroy(&d->mutex);
    fgi_free(d->bits);
    fgi_free(d->flaws);
    fgi_free(d->is_spare);
}

fg_status fgi_damaged_limit(fgi_damaged *d, int64_t count, const int64_t *rows, size_t n,
                            fg_error *err)
{
    if (d->bits == NULL)
        return FG_OK;
    d->is_spare = fgi_calloc((size_t)count, 1);
    if (d->is_spare == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < n; i++)
        d->is_spare[rows[i]] = 1;
    return FG_OK;
}

int64_t fgi_damaged_no_spare(const fgi_damaged *d, int64_t count)
{
    for (int64_t i = 0; d->bits != NULL && d->is_spare != NULL && i < count; i++)
        if (d->is_spare[i] == 0 && !fgi_damaged_can_read(d, i, i, 0))
            return i;
    return -1;
}

bool fgi_damaged_can_read(const fgi_damaged *d, int64_t sample, int64_t record, int64_t tries)
{
    if (d->bits == NULL)
        return true;
    const uint32_t bits = atomic_load_explicit(&d->bits[record / 32], memory_order_relaxed);
    const bool is_spare = tries == 0 || d->is_spare == NULL || d->is_spare[sample] != 0;
    return is_spare && (bits >> (record % 32) & 1) == 0;
}

bool fgi_damaged_is_damage(const fgi_damaged *d, fg_status status)
{
    return d->bits != NULL && (status == FG_EFORMAT || status == FG_EUNSUPPORTED);
}

bool fgi_damaged_begin(fgi_damaged *d, int64_t record, const char *message)
{
    fgi_damage *noted = &d->noted;
    if (!fgi_bit_set(d->bits, record))
        return false;
    if (atomic_load(&noted->count) < MOST_LOGGED)
        fgi_log(FG_LOG_WARNING, "damaged, so the next sample is used instead: %s", message);
    (void)pthread_mutex_lock(&d->mutex);
    if (atomic_load(&noted->count) == 0)
        (void)fgi_snprintf(noted->first.message, sizeof noted->first.message, "%s", message);
    (void)atomic_fetch_add(&noted->count, 1);
    return true;
}

void fgi_damaged_end(fgi_damaged *d) { (void)pthread_mutex_unlock(&d->mutex); }

void fgi_damaged_flaw(fgi_damaged *d, int64_t record, const char *name, const char *warning)
{
    fgi_damage *noted = &d->noted;
    if (!fgi_bit_set(d->flaws, record))
        return;
    (void)pthread_mutex_lock(&d->mutex);
    if (atomic_load(&noted->flawed) == 0)
        (void)fgi_snprintf(noted->first_flawed.message, sizeof noted->first_flawed.message,
                           "%.300s: %s", name, warning);
    (void)atomic_fetch_add(&noted->flawed, 1);
    (void)pthread_mutex_unlock(&d->mutex);
}
