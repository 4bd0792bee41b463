/* span.c - tells the timeline and the listeners of spans.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#include "base/thread.h"
#include "base/timeline.h"

void fgi_spans_listen(fgi_spans *spans, fgi_span_listener listener)
{
    spans->listener[spans->listener_count++] = listener;
}

void fgi_span_begin(fgi_spans *spans, fgi_span *span)
{
    span->of = spans;
    span->outer = spans->innermost;
    spans->innermost = span;
    span->begin_ns = fgi_now_ns();
    for (int i = 0; i < spans->listener_count; i++)
        if (spans->listener[i].begun != NULL)
            spans->listener[i].begun(spans->listener[i].self, span);
}

int64_t fgi_span_end(fgi_span *span)
{
    fgi_spans *spans = span->of;
    const int64_t end_ns = fgi_now_ns();
    spans->innermost = span->outer;
    for (int i = 0; i < spans->listener_count; i++)
        spans->listener[i].ended(spans->listener[i].self, span, end_ns);
    if (span->name != NULL && fgi_timeline_is_on())
        fgi_timeline_add(span->category, span->name, span->number, span->begin_ns, end_ns);
    return end_ns - span->begin_ns;
}
