/* chrome_trace.c - a timeline as a Chrome trace: JSON with complete events, in microseconds since
 * the start.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile_files.h"

enum { DEVICES = 1, HOST = 2 }; /* the processes of the trace */

static void put_name(fgi_buf *out, const char *kind, int process, int track, const char *name)
{
    fgi_buf_printf(out, "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, ", kind,
                   process, track);
    fgi_buf_puts(out, "\"args\": {\"name\": ");
    fgi_buf_put_json(out, name);
    fgi_buf_puts(out, "}},\n");
    if (track > 0)
        fgi_buf_printf(out,
                       "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %d, \"tid\": %d, "
                       "\"args\": {\"sort_index\": %d}},\n",
                       process, track, track);
}

/* "12.345": microseconds of nanoseconds. */
static void put_us(fgi_buf *out, const char *key, int64_t ns)
{
    fgi_buf_printf(out, "\"%s\": %" PRId64 ".%03d, ", key, ns / 1000, (int)(ns % 1000));
}

static void put_span(fgi_buf *out, const fgi_timeline_span *span, int process, int track,
                     int64_t start_ns)
{
    fgi_buf_printf(out, "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, ", process, track);
    put_us(out, "ts", span->begin_ns - start_ns);
    put_us(out, "dur", span->end_ns - span->begin_ns);
    fgi_buf_printf(out, "\"cat\": \"%s\", \"name\": ", span->category);
    fgi_buf_put_json(out, span->name);
    if (span->number >= 0)
        fgi_buf_printf(out, ", \"args\": {\"%s\": %" PRId64 "}",
                       strcmp(span->category, "loader") == 0 ? "batch" : "step", span->number);
    fgi_buf_puts(out, "},\n");
}

static fg_status put_track(fgi_buf *out, const fgi_timeline *timeline,
                           const fgi_timeline_track *track, int number, fg_error *err)
{
    const int process = track->has_thread ? HOST : DEVICES;
    char name[FGI_TIMELINE_NAME + 16];
    fgi_timeline_span *spans = NULL;
    fg_status status = fgi_timeline_sort(timeline, track, &spans, err);
    if (status != FG_OK)
        return status;
    fgi_timeline_describe(timeline, track, name);
    put_name(out, "thread_name", process, number, name);
    for (size_t i = 0; i < track->span_count; i++)
        put_span(out, &spans[i], process, number, timeline->start_ns);
    fgi_free(spans);
    return FG_OK;
}

fg_status fgi_chrome_trace(const fgi_timeline *timeline, fgi_buf *out, fg_error *err)
{
    fg_status status = FG_OK;
    int number = 0;
    fgi_buf_puts(out, "{\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"writer\": \"fulgurite\", ");
    fgi_buf_printf(out,
                   "\"start_unix_ms\": %" PRId64 ", \"spans\": %" PRId64
                   ", \"lost_spans\": %" PRId64 "},\n\"traceEvents\": [\n",
                   (int64_t)(timeline->start_time * 1e3), timeline->span_count, timeline->lost);
    put_name(out, "process_name", DEVICES, 0, "devices");
    put_name(out, "process_name", HOST, 0, "host");
    for (const fgi_timeline_track *t = timeline->tracks; status == FG_OK && t != NULL; t = t->next)
        status = put_track(out, timeline, t, ++number, err);
    /* the list ends with the profile itself, so that it has no comma at its end */
    fgi_buf_puts(out, "{\"ph\": \"X\", \"pid\": 2, \"tid\": 0, \"ts\": 0, ");
    fgi_buf_printf(out,
                   "\"dur\": %" PRId64 ".%03d, \"cat\": \"profile\", \"name\": \"profile\"}\n]}\n",
                   (timeline->end_ns - timeline->start_ns) / 1000,
                   (int)((timeline->end_ns - timeline->start_ns) % 1000));
    return status == FG_OK ? fgi_buf_status(out, err) : status;
}
