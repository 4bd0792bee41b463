/* damaged.h - which records of a dataset are damaged, if others are read in their place.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_DAMAGED_H
#define FGI_DATA_DAMAGED_H

#include "base/thread.h"
#include "data/dataset.h"

enum { FGI_MOST_SKIPPED = 4096 }; /* samples that are tried in place of one */

/* Zero-initialize it. */
typedef struct fgi_damaged {
    _Atomic uint32_t *bits;  /* of records; NULL: damaged ones are errors */
    _Atomic uint32_t *flaws; /* of records that are used all the same */
    uint8_t *is_spare;       /* of samples: it may replace others; NULL: all may */
    bool has_mutex;
    pthread_mutex_t mutex; /* held while a record is noted */
    fgi_damage noted;
} fgi_damaged;

/* is_skipped: damaged records are replaced; otherwise they are errors. */
fg_status fgi_damaged_init(fgi_damaged *d, int64_t record_count, bool is_skipped, fg_error *err);
void fgi_damaged_fini(fgi_damaged *d);

/* Only these samples of `count` replace others. */
fg_status fgi_damaged_limit(fgi_damaged *d, int64_t count, const int64_t *rows, size_t n,
                            fg_error *err);

/* The first damaged sample that may not replace others, of samples that are their records; -1:
 * there is none. */
int64_t fgi_damaged_no_spare(const fgi_damaged *d, int64_t count);

/* Whether a sample, which is this record, can be read as the one that is `tries` samples before it:
 * it is not known to be damaged, and may replace others. */
bool fgi_damaged_can_read(const fgi_damaged *d, int64_t sample, int64_t record, int64_t tries);
/* Whether a read failed because the record is damaged, and not because files cannot be read. */
bool fgi_damaged_is_damage(const fgi_damaged *d, fg_status status);
/* Remembers that a record is damaged, and logs the first ones. Returns whether that is new, with
 * the mutex locked. */
bool fgi_damaged_begin(fgi_damaged *d, int64_t record, const char *message);
/* Counts a record whose image had this warning. */
void fgi_damaged_flaw(fgi_damaged *d, int64_t record, const char *name, const char *warning);
/* After each call of fgi_damaged_begin that returned true. */
void fgi_damaged_end(fgi_damaged *d);

/* Sets a bit; returns whether it was not set. */
static inline bool fgi_bit_set(_Atomic uint32_t *bits, int64_t i)
{
    const uint32_t bit = (uint32_t)1 << (i % 32);
    return (atomic_fetch_or_explicit(&bits[i / 32], bit, memory_order_relaxed) & bit) == 0;
}

#endif
