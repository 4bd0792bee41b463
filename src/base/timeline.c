/* timeline.c - records spans of time.
 *
 * A thread appends to chunks that belong to its own track. Stopping clears the flag and waits for
 * the threads that are appending (`writers`): a thread counts itself before it tests the flag, so
 * each one is either waited for, or sees that the flag is cleared.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/timeline.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"

typedef struct fgi_timeline_chunk {
    struct fgi_timeline_chunk *next;
    size_t count;
    fgi_timeline_span span[FGI_TIMELINE_CHUNK];
} chunk;

atomic_bool fgi_timeline_flag;

static struct {
    pthread_mutex_t lock; /* for tracks, and for starting and stopping */
    bool is_recording;
    fgi_timeline timeline;
    atomic_int writers;
    atomic_uint_fast64_t session; /* counts timelines */
    atomic_llong spans, lost;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    const char *name;
    uint64_t session; /* of the track; 0: none */
    fgi_timeline_track *track;
} own;

void fgi_timeline_name_thread(const char *name) { own.name = name; }

/* ---- tracks, with the lock held -------------------------------------------------------------- */

static fgi_timeline_track *new_track(const char *name, bool has_thread)
{
    fgi_timeline_track *made = fgi_calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    (void)fgi_snprintf(made->name, sizeof made->name, "%s", name);
    made->has_thread = has_thread;
    made->number = 1;
    fgi_timeline_track **place = &recorder.timeline.tracks;
    for (; *place != NULL; place = &(*place)->next)
        made->number += strcmp((*place)->name, made->name) == 0;
    *place = made;
    return made;
}

/* The track of a thread that starts to record, or with that name. NULL: out of memory. */
static fgi_timeline_track *find_track(const char *name, bool has_thread)
{
    for (fgi_timeline_track *t = recorder.timeline.tracks; t != NULL; t = t->next)
        if (t->has_thread == has_thread && (t->has_ended || !has_thread) &&
            strncmp(t->name, name, sizeof t->name - 1) == 0) {
            t->has_ended = false;
            return t;
        }
    return new_track(name, has_thread);
}

/* ---- recording ------------------------------------------------------------------------------- */

static chunk *room(fgi_timeline_track *track)
{
    if (track->last != NULL && track->last->count < FGI_TIMELINE_CHUNK)
        return track->last;
    if (atomic_fetch_add(&recorder.spans, FGI_TIMELINE_CHUNK) >= FGI_TIMELINE_MOST_SPANS)
        return NULL;
    chunk *made = fgi_alloc(sizeof *made);
    if (made == NULL)
        return NULL;
    made->next = NULL;
    made->count = 0;
    if (track->last != NULL)
        track->last->next = made;
    else
        track->first = made;
    track->last = made;
    return made;
}

static void append(fgi_timeline_track *track, const char *category, const char *name,
                   int64_t number, int64_t begin_ns, int64_t end_ns)
{
    chunk *c = track != NULL ? room(track) : NULL;
    if (c == NULL) {
        (void)atomic_fetch_add(&recorder.lost, 1);
        return;
    }
    fgi_timeline_span *span = &c->span[c->count++];
    *span = (fgi_timeline_span){
        .begin_ns = begin_ns, .end_ns = end_ns, .number = number, .category = category};
    (void)fgi_snprintf(span->name, sizeof span->name, "%s", name);
    track->span_count++;
}

static fgi_timeline_track *own_track(void)
{
    const uint64_t session = atomic_load(&recorder.session);
    if (own.session == session && own.track != NULL)
        return own.track;
    (void)pthread_mutex_lock(&recorder.lock);
    own.track = find_track(own.name != NULL ? own.name : "", true);
    own.session = session;
    (void)pthread_mutex_unlock(&recorder.lock);
    return own.track;
}

void fgi_timeline_add(const char *category, const char *name, int64_t number, int64_t begin_ns,
                      int64_t end_ns)
{
    (void)atomic_fetch_add(&recorder.writers, 1);
    if (atomic_load(&fgi_timeline_flag))
        append(own_track(), category, name, number, begin_ns, end_ns);
    (void)atomic_fetch_sub(&recorder.writers, 1);
}

void fgi_timeline_add_to(const char *track, const char *category, const char *name, int64_t number,
                         int64_t begin_ns, int64_t end_ns)
{
    (void)atomic_fetch_add(&recorder.writers, 1);
    if (atomic_load(&fgi_timeline_flag)) {
        (void)pthread_mutex_lock(&recorder.lock);
        append(find_track(track, false), category, name, number, begin_ns, end_ns);
        (void)pthread_mutex_unlock(&recorder.lock);
    }
    (void)atomic_fetch_sub(&recorder.writers, 1);
}

void fgi_timeline_thread_ends(void)
{
    (void)atomic_fetch_add(&recorder.writers, 1);
    if (atomic_load(&fgi_timeline_flag) && own.track != NULL &&
        own.session == atomic_load(&recorder.session)) {
        (void)pthread_mutex_lock(&recorder.lock);
        own.track->has_ended = true;
        own.track = NULL;
        (void)pthread_mutex_unlock(&recorder.lock);
    }
    (void)atomic_fetch_sub(&recorder.writers, 1);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

fg_status fgi_timeline_start(fg_error *err)
{
    (void)pthread_mutex_lock(&recorder.lock);
    const bool is_busy = recorder.is_recording;
    if (!is_busy) {
        recorder.is_recording = true;
        recorder.timeline = (fgi_timeline){.start_ns = fgi_now_ns(), .start_time = fgi_wall_time()};
        atomic_store(&recorder.spans, 0);
        atomic_store(&recorder.lost, 0);
        (void)atomic_fetch_add(&recorder.session, 1);
        atomic_store(&fgi_timeline_flag, true);
    }
    (void)pthread_mutex_unlock(&recorder.lock);
    return !is_busy ? FG_OK
                    : fgi_fail(err, FG_EINVAL,
                               "a profile is in progress already; there can be one per process");
}

void fgi_timeline_stop(fgi_timeline *out)
{
    atomic_store(&fgi_timeline_flag, false);
    while (atomic_load(&recorder.writers) > 0)
        (void)sched_yield();
    (void)pthread_mutex_lock(&recorder.lock);
    *out = recorder.timeline;
    out->end_ns = fgi_now_ns();
    out->lost = atomic_load(&recorder.lost);
    for (const fgi_timeline_track *t = out->tracks; t != NULL; t = t->next)
        out->span_count += (int64_t)t->span_count;
    recorder.timeline = (fgi_timeline){0};
    recorder.is_recording = false;
    (void)pthread_mutex_unlock(&recorder.lock);
}

void fgi_timeline_fini(fgi_timeline *timeline)
{
    for (fgi_timeline_track *t = timeline->tracks, *next; t != NULL; t = next) {
        next = t->next;
        for (chunk *c = t->first, *after; c != NULL; c = after) {
            after = c->next;
            fgi_free(c);
        }
        fgi_free(t);
    }
    *timeline = (fgi_timeline){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t clip(const fgi_timeline *timeline, int64_t ns)
{
    if (ns < timeline->start_ns)
        return timeline->start_ns;
    return ns < timeline->end_ns ? ns : timeline->end_ns;
}

/* By begin; of spans with the same begin, the longer one is the outer. */
static int compare(const void *a, const void *b)
{
    const fgi_timeline_span *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Replaces what is not UTF-8, such as the end of a name that was cut. */
fg_status fgi_timeline_sort(const fgi_timeline *timeline, const fgi_timeline_track *track,
                            fgi_timeline_span **out, fg_error *err)
{
    fgi_timeline_span *spans = fgi_calloc(track->span_count + 1, sizeof *spans);
    size_t count = 0;
    *out = spans;
    if (spans == NULL)
        return fgi_no_memory(err);
    for (const chunk *c = track->first; c != NULL; c = c->next)
        for (size_t i = 0; i < c->count; i++) {
            spans[count] = c->span[i];
            spans[count].begin_ns = clip(timeline, c->span[i].begin_ns);
            spans[count].end_ns = clip(timeline, c->span[i].end_ns);
            fgi_text_make_utf8(spans[count++].name);
        }
    qsort(spans, count, sizeof *spans, compare);
    return FG_OK;
}

void fgi_timeline_describe(const fgi_timeline *timeline, const fgi_timeline_track *track,
                           char out[FGI_TIMELINE_NAME + 16])
{
    int same = 0;
    const char *name = track->name[0] != '\0' ? track->name : "thread";
    for (const fgi_timeline_track *t = timeline->tracks; t != NULL; t = t->next)
        same += strcmp(t->name, track->name) == 0;
    if (same > 1)
        (void)fgi_snprintf(out, FGI_TIMELINE_NAME + 16, "%s %d", name, track->number);
    else
        (void)fgi_snprintf(out, FGI_TIMELINE_NAME + 16, "%s", name);
    fgi_text_make_utf8(out);
}
