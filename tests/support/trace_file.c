/* trace_file.c - reads a Chrome trace that a profile has written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace_file.h"

#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "input/json_file.h"

json_t *trace_read_file(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    fg_error err = {0};
    json_t *root = NULL;
    fgt_ok(fgi_file_read(path, 1 << 28, &text, &size, &err));
    fgt_ok(fgi_json_parse(path, 0, text, size, &root, &err));
    fgi_free(text);
    return root;
}

json_t *trace_read(const char *run)
{
    return trace_read_file(fgt_path(run, "profile/host.trace.json"));
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static int step_of(const json_t *event)
{
    return (int)json_integer_value(json_object_get(json_object_get(event, "args"), "step"));
}

/* The tracks with that name ("": all), by number of thread; 0: no more. */
static int track_at(const json_t *root, const char *name, int index)
{
    const json_t *each;
    size_t i;
    json_array_foreach(json_object_get(root, "traceEvents"), i, each)
    {
        if (strcmp(text_of(each, "name"), "thread_name") == 0 &&
            (name[0] == '\0' ||
             strcmp(text_of(json_object_get(each, "args"), "name"), name) == 0) &&
            index-- == 0)
            return (int)number_of(each, "tid");
    }
    return 0;
}

const char *trace_steps(const json_t *root, const char *track, const char *name)
{
    static char text[512];
    const int tid = track_at(root, track, 0);
    const json_t *each;
    size_t i, used = 0;
    text[0] = '\0';
    json_array_foreach(json_object_get(root, "traceEvents"), i, each)
    {
        if (strcmp(text_of(each, "ph"), "X") == 0 && (int)number_of(each, "tid") == tid &&
            strcmp(text_of(each, "name"), name) == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? " " : "",
                                     step_of(each));
    }
    return text;
}

void trace_expect_steps(const json_t *root, const char *track, const char *name,
                        const char *expected)
{
    const char *steps = trace_steps(root, track, name);
    if (strcmp(steps, expected) != 0)
        fail_msg("%s on %s: steps %s, expected %s", name, track, steps, expected);
}

void trace_check_nesting(const json_t *root)
{
    int tid = 0;
    for (int t = 0; (tid = track_at(root, "", t)) != 0; t++) {
        double open[16], last = 0;
        int depth = 0;
        const json_t *each;
        size_t i;
        json_array_foreach(json_object_get(root, "traceEvents"), i, each)
        {
            if (strcmp(text_of(each, "ph"), "X") != 0 || (int)number_of(each, "tid") != tid)
                continue;
            const double begin = number_of(each, "ts"), end = begin + number_of(each, "dur");
            assert_true(begin >= last && end >= begin);
            while (depth > 0 && open[depth - 1] <= begin + 0.0005) /* half a nanosecond */
                depth--;
            if (depth > 0 && end > open[depth - 1] + 0.0015) /* rounding to nanoseconds */
                fail_msg("'%s' ends %g us after the span that it is in", text_of(each, "name"),
                         end - open[depth - 1]);
            assert_true(depth < 16);
            open[depth++] = end;
            last = begin;
        }
    }
}

/* The seconds that a track was busy; *out_first: of these, its first span. */
static double busy_of(const json_t *root, const char *track, double *out_first)
{
    const int tid = track_at(root, track, 0);
    const json_t *each;
    double sum = 0;
    size_t i;
    *out_first = 0;
    json_array_foreach(json_object_get(root, "traceEvents"), i, each)
    {
        if (strcmp(text_of(each, "ph"), "X") != 0 || (int)number_of(each, "tid") != tid)
            continue;
        if (sum <= 0)
            *out_first = number_of(each, "dur") * 1e-6;
        sum += number_of(each, "dur") * 1e-6;
    }
    return sum;
}

void trace_check_busy(const json_t *root, int devices, double busy_s, double tolerance_s)
{
    double most = 0, longest_first = 0;
    for (int d = 0; d < devices; d++) {
        char label[32];
        double first = 0;
        (void)snprintf(label, sizeof label, "cpu:%d", d);
        assert_true(track_at(root, label, 0) != 0);
        most = fmax(most, busy_of(root, label, &first));
        longest_first = fmax(longest_first, first);
    }
    const double shown = most - longest_first;
    if (shown > busy_s + tolerance_s || (devices == 1 && shown < busy_s - tolerance_s))
        fail_msg("a device was busy for %g s of %g s", shown, busy_s);
}
