/* timeline.h - what the threads of this process do, as spans of time: recorded while a profile is
 * in progress. At other times, a span costs one load of a flag and a branch.
 *
 *     const int64_t begin = fgi_timeline_begin();
 *     ... work ...
 *     fgi_timeline_end(begin, "trainer", "upload", step);
 *
 * Each thread appends to a separate track, without a lock. All functions are thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_TIMELINE_H
#define FGI_BASE_TIMELINE_H

#include <stdatomic.h>
#include <fulgurite/base.h>

#include "base/thread.h"

enum {
    FGI_TIMELINE_NAME = 40,           /* bytes of a name, which is cut if it is longer */
    FGI_TIMELINE_CHUNK = 256,         /* spans that are allocated together */
    FGI_TIMELINE_MOST_SPANS = 1 << 19 /* of all tracks; further ones are counted as lost */
};

/* ---- recording ------------------------------------------------------------------------------- */

extern atomic_bool fgi_timeline_flag; /* a timeline is being recorded */

static inline bool fgi_timeline_is_on(void)
{
    return atomic_load_explicit(&fgi_timeline_flag, memory_order_relaxed);
}

/* The time, or 0 if nothing is recorded. */
static inline int64_t fgi_timeline_begin(void) { return fgi_timeline_is_on() ? fgi_now_ns() : 0; }

/* Adds a span to the track of the calling thread. category must live until the timeline is freed (a
 * literal); name is copied. number: of a step or batch; -1: none. */
void fgi_timeline_add(const char *category, const char *name, int64_t number, int64_t begin_ns,
                      int64_t end_ns);

/* Ends a span; no effect if nothing was recorded when it began. */
static inline void fgi_timeline_end(int64_t begin, const char *category, const char *name,
                                    int64_t number)
{
    if (begin != 0 && fgi_timeline_is_on())
        fgi_timeline_add(category, name, number, begin, fgi_now_ns());
}

/* Adds a span to the track with that name, which belongs to no thread, such as a device. Its spans
 * must be added in order of time and must not overlap. */
void fgi_timeline_add_to(const char *track, const char *category, const char *name, int64_t number,
                         int64_t begin_ns, int64_t end_ns);

/* Names the calling thread; `name` must live as long as the thread. */
void fgi_timeline_name_thread(const char *name);
/* The calling thread is about to end: the next thread with its name continues its track. */
void fgi_timeline_thread_ends(void);

/* ---- a recorded timeline --------------------------------------------------------------------- */

typedef struct fgi_timeline_span {
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    int64_t number;
    const char *category;
    char name[FGI_TIMELINE_NAME];
} fgi_timeline_span;

/* The spans of one thread, or of one name. */
typedef struct fgi_timeline_track {
    struct fgi_timeline_track *next;
    char name[FGI_TIMELINE_NAME]; /* "": an unnamed thread */
    int number;                   /* among the tracks with this name, starting at 1 */
    bool has_thread, has_ended;
    size_t span_count;
    struct fgi_timeline_chunk *first, *last;
} fgi_timeline_track;

typedef struct fgi_timeline {
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    double start_time;        /* seconds since 1970-01-01 UTC */
    int64_t span_count, lost; /* recorded; not recorded, for lack of memory or over the limit */
    fgi_timeline_track *tracks;
} fgi_timeline;

/* Starts recording. FG_EINVAL if a timeline is being recorded already: there is one per process. */
fg_status fgi_timeline_start(fg_error *err);
/* Stops recording and returns what was recorded; the caller frees it with fgi_timeline_fini. */
void fgi_timeline_stop(fgi_timeline *out);
void fgi_timeline_fini(fgi_timeline *timeline);

/* The spans of a track in the order of their begin, outer spans before inner ones, within the
 * timeline's start and end (fgi_free). FG_ENOMEM. */
fg_status fgi_timeline_sort(const fgi_timeline *timeline, const fgi_timeline_track *track,
                            fgi_timeline_span **out, fg_error *err);
/* The track's name for people: "loader worker 2". */
void fgi_timeline_describe(const fgi_timeline *timeline, const fgi_timeline_track *track,
                           char out[FGI_TIMELINE_NAME + 16]);

#endif
