/* test_timeline.c - spans are recorded per thread, in order and nested, only while a timeline is
 * being recorded; threads that record while it starts and stops.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/span.h"
#include "base/timeline.h"

enum { MS = 1000000 };

static const fgi_timeline_track *track_of(const fgi_timeline *timeline, const char *name)
{
    char text[FGI_TIMELINE_NAME + 16];
    for (const fgi_timeline_track *t = timeline->tracks; t != NULL; t = t->next) {
        fgi_timeline_describe(timeline, t, text);
        if (strcmp(text, name) == 0)
            return t;
    }
    fail_msg("no track '%s'", name);
    return NULL;
}

/* "name number begin..end" of each span, in milliseconds since `zero_ns`. */
static void expect(const fgi_timeline *timeline, const char *track, int64_t zero_ns,
                   const char *expected)
{
    fg_error err = {0};
    fgi_timeline_span *spans = NULL;
    char text[512] = "";
    const fgi_timeline_track *t = track_of(timeline, track);
    fgt_ok(fgi_timeline_sort(timeline, t, &spans, &err));
    for (size_t i = 0; i < t->span_count; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s %d %d..%d\n", spans[i].name,
                       (int)spans[i].number, (int)((spans[i].begin_ns - zero_ns) / MS),
                       (int)((spans[i].end_ns - zero_ns) / MS));
    }
    assert_string_equal(text, expected);
    fgi_free(spans);
}

static void nothing_is_recorded_without_a_timeline(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    assert_int_equal(fgi_timeline_begin(), 0);
    fgi_timeline_add("test", "before", 1, 1, 2);
    fgt_ok(fgi_timeline_start(&err));
    fgi_timeline_end(0, "test", "began before", 1);
    assert_int_equal(fgi_timeline_start(&err), FG_EINVAL);
    assert_non_null(strstr(err.message, "in progress already"));
    const int64_t begin = fgi_timeline_begin();
    assert_true(begin > 0);
    fgi_timeline_stop(&timeline);
    fgi_timeline_end(begin, "test", "ended after", 1);
    assert_int_equal(timeline.span_count, 0);
    assert_null(timeline.tracks);
    fgi_timeline_fini(&timeline);
}

static void spans_are_sorted_nested_and_clipped(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    fgi_timeline_name_thread("tester");
    fgt_ok(fgi_timeline_start(&err));
    const int64_t zero = fgi_now_ns();
    fgi_timeline_add("test", "inner", 2, zero + 2 * MS, zero + 3 * MS);
    fgi_timeline_add("test", "same begin, inner", 3, zero + MS, zero + 2 * MS);
    fgi_timeline_add("test", "outer", 1, zero + MS, zero + 4 * MS);
    fgi_timeline_add("test", "early", -1, zero - 3600LL * 1000 * MS, zero);
    fgi_timeline_add_to("cpu:0", "device", "step", 7, zero + 5 * MS, zero + 6 * MS);
    fgi_timeline_add_to("cpu:0", "device", "step", 8, zero + 6 * MS, zero + 7 * MS);
    while (fgi_now_ns() < zero + 8 * MS)
        ;
    fgi_timeline_stop(&timeline);
    assert_int_equal(timeline.span_count, 6);
    expect(&timeline, "tester", zero,
           "early -1 0..0\nouter 1 1..4\nsame begin, inner 3 1..2\ninner 2 2..3\n");
    expect(&timeline, "cpu:0", zero, "step 7 5..6\nstep 8 6..7\n");
    fgi_timeline_fini(&timeline);
    assert_null(timeline.tracks);
}

static void names_are_cut_and_valid(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    fgi_timeline_span *spans = NULL;
    fgt_ok(fgi_timeline_start(&err));
    /* 39 bytes fit, which is in the middle of a character */
    fgi_timeline_add("test",
                     "a\xff"
                     "b 89 123456789 123456789 123456789 1234\xc3\xa4",
                     -1, 1, 2);
    fgi_timeline_stop(&timeline);
    fgt_ok(fgi_timeline_sort(&timeline, timeline.tracks, &spans, &err));
    assert_int_equal(strlen(spans[0].name), FGI_TIMELINE_NAME - 1);
    assert_memory_equal(spans[0].name, "a?b 89", 6);
    fgi_free(spans);
    fgi_timeline_fini(&timeline);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct worker {
    fgi_thread thread;
    const char *name;
    int spans;
    bool ends;
    atomic_bool *must_stop;
} worker;

static void *record(void *self)
{
    const worker *w = self;
    fgi_timeline_name_thread(w->name);
    for (int i = 0; w->must_stop != NULL ? !atomic_load(w->must_stop) : i < w->spans; i++) {
        const int64_t begin = fgi_timeline_begin();
        fgi_timeline_end(begin, "test", w->name, i);
    }
    if (w->ends)
        fgi_timeline_thread_ends();
    return NULL;
}

static void each_thread_has_a_track(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    worker workers[] = {{.name = "loader", .spans = 1000},
                        {.name = "loader", .spans = 10},
                        {.name = "saver", .spans = 300, .ends = true}};
    worker second = {.name = "saver", .spans = 5, .ends = true};
    fgt_ok(fgi_timeline_start(&err));
    for (int i = 0; i < 3; i++)
        fgt_ok(fgi_thread_start(&workers[i].thread, record, &workers[i], &err));
    for (int i = 0; i < 3; i++)
        fgi_thread_join(workers[i].thread);
    fgt_ok(fgi_thread_start(&second.thread, record, &second, &err));
    fgi_thread_join(second.thread);
    fgi_timeline_stop(&timeline);
    assert_int_equal(timeline.span_count, 1315);
    assert_int_equal(timeline.lost, 0);
    assert_int_equal(track_of(&timeline, "loader 1")->span_count +
                         track_of(&timeline, "loader 2")->span_count,
                     1010);
    assert_int_equal(track_of(&timeline, "saver")->span_count, 305); /* continued */
    fgi_timeline_fini(&timeline);
}

/* Tracks of one name are numbered, whatever is between them. */
static void tracks_are_numbered_by_name(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    worker workers[] = {{.name = "loader", .spans = 1},
                        {.name = "saver", .spans = 2},
                        {.name = "loader", .spans = 3}};
    fgt_ok(fgi_timeline_start(&err));
    for (int i = 0; i < 3; i++) {
        fgt_ok(fgi_thread_start(&workers[i].thread, record, &workers[i], &err));
        fgi_thread_join(workers[i].thread);
    }
    fgi_timeline_stop(&timeline);
    assert_int_equal(track_of(&timeline, "loader 1")->span_count, 1);
    assert_int_equal(track_of(&timeline, "saver")->span_count, 2);
    assert_int_equal(track_of(&timeline, "loader 2")->span_count, 3);
    fgi_timeline_fini(&timeline);
}

static void threads_record_while_it_starts_and_stops(void **state)
{
    (void)state;
    fg_error err = {0};
    static atomic_bool must_stop;
    worker workers[3] = {{.name = "a"}, {.name = "a"}, {.name = "b"}};
    int64_t spans = 0;
    atomic_store(&must_stop, false);
    for (int i = 0; i < 3; i++) {
        workers[i].must_stop = &must_stop;
        fgt_ok(fgi_thread_start(&workers[i].thread, record, &workers[i], &err));
    }
    for (int i = 0; i < 200 || spans == 0; i++) {
        fgi_timeline timeline;
        fgt_ok(fgi_timeline_start(&err));
        const int64_t begin = fgi_now_ns();
        while (fgi_now_ns() < begin + 50000)
            ;
        fgi_timeline_stop(&timeline);
        spans += timeline.span_count;
        fgi_timeline_fini(&timeline);
    }
    atomic_store(&must_stop, true);
    for (int i = 0; i < 3; i++)
        fgi_thread_join(workers[i].thread);
    assert_int_equal(fgi_alloc_live(), 0);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void spans_over_the_limit_are_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    fgt_ok(fgi_timeline_start(&err));
    for (int i = 0; i < FGI_TIMELINE_MOST_SPANS + 10; i++)
        fgi_timeline_add("test", "span", i, i, i + 1);
    fgi_timeline_stop(&timeline);
    assert_int_equal(timeline.span_count, FGI_TIMELINE_MOST_SPANS);
    assert_int_equal(timeline.lost, 10);
    fgi_timeline_fini(&timeline);
}

static fg_status record_with_faults(void *self, fg_error *err)
{
    fgi_timeline timeline;
    fgi_timeline_span *spans = NULL;
    fg_status status = fgi_timeline_start(err);
    (void)self;
    for (int i = 0; i < FGI_TIMELINE_CHUNK + 1; i++)
        fgi_timeline_add("test", "span", i, i, i + 1);
    fgi_timeline_add_to("device", "test", "span", 0, 1, 2);
    fgi_timeline_stop(&timeline);
    if (timeline.span_count + timeline.lost != FGI_TIMELINE_CHUNK + 2)
        status = FG_EINTERNAL;
    if (status == FG_OK && timeline.tracks != NULL)
        status = fgi_timeline_sort(&timeline, timeline.tracks, &spans, err);
    fgi_free(spans);
    fgi_timeline_fini(&timeline);
    return status;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(record_with_faults, NULL);
}

/* What a listener has heard: "+" a begin, "-" an end, and the activity in progress. */
typedef struct heard {
    char text[64];
    int64_t outer_ns;
} heard;

static void hear(heard *h, char sign, const fgi_span *span, const fgi_span *now)
{
    const size_t size = strlen(h->text);
    (void)snprintf(h->text + size, sizeof h->text - size, "%c%d(%d) ", sign, span->activity,
                   now != NULL ? now->activity : 0);
}

static void on_begun(void *self, const fgi_span *span) { hear(self, '+', span, span); }

static void on_ended(void *self, const fgi_span *span, int64_t end_ns)
{
    hear(self, '-', span, span->outer);
    ((heard *)self)->outer_ns = end_ns - span->begin_ns;
}

/* A span is reported to the listeners, and is on the timeline if it has a name. */
static void a_span_is_reported_to_all(void **state)
{
    (void)state;
    fg_error err;
    heard h = {{0}, 0}, only_ends = {{0}, 0};
    fgi_timeline timeline;
    fgi_spans spans = {NULL, .listener_count = 0};
    fgi_spans_listen(&spans, (fgi_span_listener){&h, on_begun, on_ended});
    fgi_spans_listen(&spans, (fgi_span_listener){&only_ends, NULL, on_ended});
    fgi_span outer = {1, .number = 7, .category = "test", .name = "outer"};
    fgi_span inner = {2, .number = -1}, next = {3, .number = -1, .category = "test", .name = "n"};
    fgi_timeline_name_thread("teller");
    fgt_ok(fgi_timeline_start(&err));
    fgi_span_begin(&spans, &outer);
    fgi_span_begin(&spans, &inner);
    fgi_span_end(&inner);
    fgi_span_begin(&spans, &next);
    fgi_span_end(&next);
    const int64_t ns = fgi_span_end(&outer);
    fgi_timeline_stop(&timeline);
    assert_string_equal(h.text, "+1(1) +2(2) -2(1) +3(3) -3(1) -1(0) ");
    assert_string_equal(only_ends.text, "-2(1) -3(1) -1(0) ");
    assert_true(ns == h.outer_ns && ns >= 0);
    assert_int_equal(timeline.span_count, 2);
    const fgi_timeline_track *track = track_of(&timeline, "teller");
    fgi_timeline_span *sorted = NULL;
    fgt_ok(fgi_timeline_sort(&timeline, track, &sorted, &err));
    assert_string_equal(sorted[0].name, "outer");
    assert_int_equal(sorted[0].number, 7);
    assert_true(sorted[0].end_ns - sorted[0].begin_ns == ns);
    assert_string_equal(sorted[1].name, "n");
    fgi_free(sorted);
    fgi_timeline_fini(&timeline);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_span_is_reported_to_all),
    cmocka_unit_test(nothing_is_recorded_without_a_timeline),
    cmocka_unit_test(spans_are_sorted_nested_and_clipped),
    cmocka_unit_test(names_are_cut_and_valid),
    cmocka_unit_test(each_thread_has_a_track),
    cmocka_unit_test(tracks_are_numbered_by_name),
    cmocka_unit_test(threads_record_while_it_starts_and_stops),
    cmocka_unit_test(spans_over_the_limit_are_counted),
    cmocka_unit_test(allocations_may_fail),
};
FGT_MAIN(tests)
