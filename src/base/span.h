/* span.h - work of one thread from its begin to its end, reported once to everyone who records it:
 * the timeline of a profile, and the listeners of the thread's owner.
 *
 *     fgi_span span = {ACTIVITY, .number = step, .category = "trainer", .name = "upload"};
 *     fgi_span_begin(spans, &span);
 *     ... work, with other spans within it ...
 *     const int64_t ns = fgi_span_end(&span);
 *
 * Spans of a list are nested, and belong to one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_SPAN_H
#define FGI_BASE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fgi_span {
    int activity, kind;          /* what is done, and for what, in the numbers of the listeners */
    int64_t number;              /* of the step or batch; -1: none */
    const char *category, *name; /* literals, for the timeline; NULL: not there */
    void *awaited;    /* what the thread waits for, for a listener that knows its type, or NULL */
    int64_t begin_ns; /* of this and what follows, only span.c sets them */
    struct fgi_spans *of;
    struct fgi_span *outer; /* NULL: none */
} fgi_span;

typedef struct fgi_span_listener {
    void *self;
    void (*begun)(void *self, const fgi_span *span); /* NULL: none */
    void (*ended)(void *self, const fgi_span *span,
                  int64_t end_ns); /* outer is in progress again */
} fgi_span_listener;

enum { FGI_SPAN_LISTENERS = 4 };

/* The spans in progress, and who listens. */
typedef struct fgi_spans {
    fgi_span *innermost; /* NULL: none */
    int listener_count;
    fgi_span_listener listener[FGI_SPAN_LISTENERS];
} fgi_spans;

void fgi_spans_listen(fgi_spans *spans, fgi_span_listener listener);
void fgi_span_begin(fgi_spans *spans, fgi_span *span);
/* Returns how long it took, in nanoseconds. */
int64_t fgi_span_end(fgi_span *span);

#endif
