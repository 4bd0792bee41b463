/* test_profile.c - the files of a profile, with and without a profiler of the plugin. The XSpace is
 * read without the library's schema: by the numbers of the fields that a plugin's own descriptor of
 * xplane.proto has. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "fakepjrt/fake_control.h"
#include "golden.h"
#include "profile/profile_files.h"
#include "trace_file.h"
#include "wire.h"

#include <fulgurite/profile.h>

static fake_control fake;

/* Field numbers: XSpace, XPlane, XLine, XEvent, XStat. */
enum { PLANES = 1, HOSTNAMES = 4 };
enum { PLANE_NAME = 2, LINES = 3, EVENT_TABLE = 4, STAT_TABLE = 5, PLANE_STATS = 6 };
enum { LINE_NAME = 2, TIMESTAMP_NS = 3, EVENTS = 4, LINE_DURATION_PS = 9 };
enum { METADATA_ID = 1, OFFSET_PS = 2, DURATION_PS = 3, STATS = 4 };
enum { STAT_UINT64 = 3, STAT_INT64 = 4, STAT_TEXT = 5 };

static fg_client *open_client(long profiler)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fake.reset();
    fake.set("profiler", profiler);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    return client;
}

static void spin(int64_t ns)
{
    const int64_t begin = fgi_now_ns();
    while (fgi_now_ns() < begin + ns)
        ;
}

/* Three steps of 1 ms, each with a call "part \"1\"" of 0.5 ms. */
static fg_profile_info take(fg_client *client, const char *folder)
{
    fg_error err = {0};
    fg_profile *profile = NULL;
    fg_profile_info info;
    memset(&info, 0xff, sizeof info);
    fgt_ok(fg_profile_start(client, &(fg_profile_options){.folder = folder, .name = "three"},
                            &profile, &err));
    for (int i = 0; i < 3; i++) {
        const int64_t begin = fg_profile_begin(), inner = fg_profile_begin();
        spin(500000);
        fg_profile_end(inner, "part \"1\"");
        spin(500000);
        fgi_timeline_end(begin, "step", "train step", i + 1);
    }
    fgt_ok(fg_profile_stop(profile, &info, &err));
    assert_int_equal(fg_profile_begin(), 0);
    assert_int_equal(info.reserved[1], 0);
    return info;
}

static wire read_file(const char *path, char **out)
{
    fg_error err = {0};
    size_t size = 0;
    fgt_ok(fgi_file_read(path, 1 << 24, out, &size, &err));
    return (wire){(const unsigned char *)*out, size};
}

/* ---- the Chrome trace ------------------------------------------------------------------------ */

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static void the_trace_has_nested_events_in_order(void **state)
{
    (void)state;
    fg_client *client = open_client(0);
    const fg_profile_info info = take(client, fgt_temp_folder());
    json_t *root = trace_read_file(info.trace);
    const json_t *events = json_object_get(root, "traceEvents"), *each;
    double last = -1, step_end = 0;
    int steps = 0, parts = 0;
    size_t i;
    json_array_foreach(events, i, each)
    {
        const char *name = json_string_value(json_object_get(each, "name"));
        const double begin = number_of(each, "ts"), end = begin + number_of(each, "dur");
        if (strcmp(name, "train step") == 0) {
            assert_true(begin >= last);
            assert_true(number_of(json_object_get(each, "args"), "step") == ++steps);
            assert_in_range((uintmax_t)(end - begin), 1000, 1000000); /* microseconds */
            step_end = end;
            last = begin;
        } else if (strcmp(name, "part \"1\"") == 0) {
            assert_true(begin >= last && end <= step_end);
            parts++;
        }
    }
    assert_int_equal(steps, 3);
    assert_int_equal(parts, 3);
    assert_int_equal(info.spans, 6);
    assert_true(info.seconds >= 0.003);
    json_decref(root);
    fg_client_close(client);
}

/* ---- the XSpace ------------------------------------------------------------------------------ */

/* The value of the event's statistic with that name; -1: none. */
static int64_t stat_of(wire plane, wire event, const char *name)
{
    wire_field stat;
    while (wire_next(&event, &stat)) {
        if (stat.number != STATS)
            continue;
        const uint64_t id = wire_get(stat.bytes, METADATA_ID, 0).value;
        for (int i = 0; i < wire_count(plane, STAT_TABLE); i++) {
            const wire entry = wire_get(plane, STAT_TABLE, i).bytes;
            if (wire_get(entry, 1, 0).value == id &&
                wire_is(wire_get(wire_get(entry, 2, 0).bytes, 2, 0).bytes, name))
                return (int64_t)wire_get(stat.bytes, STAT_INT64, 0).value;
        }
    }
    return -1;
}

/* Our plane: the steps of `take` on the line of this thread. */
static void check_host(wire space, const char *name)
{
    const wire plane = wire_find(space, PLANES, PLANE_NAME, name);
    assert_true(plane.size > 0);
    const wire line = wire_get(plane, LINES, 0).bytes;
    assert_int_equal(wire_get(line, TIMESTAMP_NS, 0).value, 0);
    assert_int_equal(wire_count(line, EVENTS), 6);
    uint64_t last = 0;
    for (int i = 0; i < 6; i++) {
        const wire event = wire_get(line, EVENTS, i).bytes;
        assert_true(wire_get(event, OFFSET_PS, 0).value >= last);
        last = wire_get(event, OFFSET_PS, 0).value;
        assert_true(wire_get(event, DURATION_PS, 0).value >= (i % 2 ? 500000000u : 1000000000u));
        assert_int_equal(stat_of(plane, event, "step_num"), i % 2 ? -1 : i / 2 + 1);
        assert_int_equal(stat_of(plane, event, "_r"), i % 2 ? -1 : 1);
    }
    assert_int_equal(wire_count(plane, EVENT_TABLE), 2);
}

static void without_a_profiler_the_host_is_written(void **state)
{
    (void)state;
    char *data = NULL;
    fg_client *client = open_client(0);
    assert_false(fg_client_has_profiler(client));
    const fg_profile_info info = take(client, fgt_temp_folder());
    assert_false(info.has_device);
    assert_string_equal(info.note, "the plugin fakepjrt.so has no profiler");
    const wire space = read_file(info.xspace, &data);
    check_host(space, "/host:CPU");
    assert_int_equal(wire_count(space, PLANES), 2);
    assert_int_equal(wire_count(space, HOSTNAMES), 1);
    fgi_free(data);
    fg_client_close(client);
}

/* 1: the plugin's own buffer, with a NUL; 2: the caller's buffer. */
static void the_plugins_planes_are_kept_and_shifted(void **state)
{
    (void)state;
    for (long kind = 1; kind <= 2; kind++) {
        char *data = NULL;
        fg_client *client = open_client(kind);
        assert_true(fg_client_has_profiler(client));
        const fg_profile_info info = take(client, fgt_temp_folder());
        assert_true(info.has_device);
        assert_string_equal(info.note, "");
        const wire space = read_file(info.xspace, &data);
        check_host(space, "/host:CPU");
        const wire plane = wire_get(space, PLANES, 0).bytes;
        assert_true(wire_is(wire_get(plane, PLANE_NAME, 0).bytes, "/device:FAKE:0"));
        const wire line = wire_get(plane, LINES, 0).bytes;
        /* 5 us after the profiler was started, which was just after the profile */
        assert_in_range(wire_get(line, TIMESTAMP_NS, 0).value, 5000, 1000000000);
        assert_int_equal(wire_get(line, LINE_DURATION_PS, 0).value, 777); /* not in our schema */
        assert_int_equal(wire_get(wire_get(line, EVENTS, 0).bytes, DURATION_PS, 0).value, 2000000);
        const wire stat = wire_get(plane, PLANE_STATS, 0).bytes;
        assert_true(wire_is(wire_get(stat, STAT_TEXT, 0).bytes, "unknown"));
        fgi_free(data);
        fg_client_close(client);
        assert_int_equal(fake.get("profilers"), 0);
    }
}

/* The viewer shows one plane with that name, and those whose names begin like this one. */
static void the_plugins_threads_are_kept_too(void **state)
{
    (void)state;
    char *data = NULL;
    fg_client *client = open_client(5);
    const fg_profile_info info = take(client, fgt_temp_folder());
    const wire space = read_file(info.xspace, &data);
    assert_int_equal(wire_count(space, PLANES), 3);
    assert_true(
        wire_is(wire_get(wire_get(space, PLANES, 0).bytes, PLANE_NAME, 0).bytes, "/host:CPU"));
    check_host(space, "/device:CUSTOM:fulgurite");
    fgi_free(data);
    fg_client_close(client);
}

static void a_failing_profiler_is_noted(void **state)
{
    (void)state;
    static const struct {
        long profiler, error;
        const char *note;
    } rows[] = {
        {1, 1, "creating the profiler (fakepjrt.so): the profiler failed in call 1"},
        {1, 2, "starting the profiler (fakepjrt.so): the profiler failed in call 2"},
        {1, 3, "stopping the profiler (fakepjrt.so): the profiler failed in call 3"},
        {1, 4, "reading the profiler (fakepjrt.so): the profiler failed in call 4"},
        {3, 0, "the plugin's profiler returned 40 bytes that are not an XSpace"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *data = NULL;
        fg_client *client = open_client(rows[i].profiler);
        fake.set("profiler_error", rows[i].error);
        const fg_profile_info info = take(client, fgt_temp_folder());
        assert_string_equal(info.note, rows[i].note);
        assert_false(info.has_device);
        check_host(read_file(info.xspace, &data), "/host:CPU");
        fgi_free(data);
        fg_client_close(client);
        assert_int_equal(fake.get("profilers"), 0);
        assert_int_equal(fake.get("errors"), 0);
    }
}

/* ---- mistakes and failures ------------------------------------------------------------------- */

/* The name of a profile is "profile"; its time is in seconds, between those of two clocks. */
static void a_profile_has_a_default_name(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_profile *profile = NULL;
    fg_profile_info info;
    const fg_profile_options options = {.folder = fgt_temp_folder()};
    const int64_t begin = fgi_now_ns();
    fgt_ok(fg_profile_start(NULL, &options, &profile, &err));
    spin(1000000);
    fgt_ok(fg_profile_stop(profile, &info, &err));
    const double most = 1e-9 * (double)(fgi_now_ns() - begin);
    assert_true(info.seconds >= 1e-3 && info.seconds <= most);
    assert_non_null(strstr(info.xspace, "/plugins/profile/profile/"));
    assert_string_equal(info.note, "the plugin's profiler was not requested");
}

static const char whole_trace[] =
    "{\"displayTimeUnit\": \"ms\",\n"
    "\"otherData\": {\"writer\": \"fulgurite\", \"start_unix_ms\": 1500, \"spans\": 3, "
    "\"lost_spans\": 0},\n"
    "\"traceEvents\": [\n"
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, "
    "\"args\": {\"name\": \"devices\"}},\n"
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 2, \"tid\": 0, "
    "\"args\": {\"name\": \"host\"}},\n"
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 1, "
    "\"args\": {\"name\": \"core\"}},\n"
    "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 1, \"tid\": 1, "
    "\"args\": {\"sort_index\": 1}},\n"
    "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": 1234.567, \"dur\": 1000.432, "
    "\"cat\": \"loader\", \"name\": \"a\\u001f\\\"b\", \"args\": {\"batch\": 3}},\n"
    "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": 3000.005, \"dur\": 0.040, "
    "\"cat\": \"device\", \"name\": \"s\", \"args\": {\"step\": 0}},\n"
    "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": 4000.000, \"dur\": 0.001, "
    "\"cat\": \"device\", \"name\": \"x\\\\y z\"},\n"
    "{\"ph\": \"X\", \"pid\": 2, \"tid\": 0, \"ts\": 0, \"dur\": 5000.999, "
    "\"cat\": \"profile\", \"name\": \"profile\"}\n]}\n";

/* Nanoseconds are the fraction of a microsecond. */
static void a_trace_has_microseconds(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_timeline timeline;
    fgi_buf text = {0};
    fgt_ok(fgi_timeline_start(&err));
    fgi_timeline_add_to("core", "loader", "a\x1f\"b", 3, 1234567, 2234999);
    fgi_timeline_add_to("core", "device", "s", 0, 3000005, 3000045);
    fgi_timeline_add_to("core", "device", "x\\y z", -1, 4000000, 4000001);
    fgi_timeline_stop(&timeline);
    timeline.start_ns = 0;
    timeline.end_ns = 5000999;
    timeline.start_time = 1.5;
    fgt_ok(fgi_chrome_trace(&timeline, &text, &err));
    assert_string_equal(text.data, whole_trace);
    fgi_buf_fini(&text);
    fgi_timeline_fini(&timeline);
}

/* ---- whole XSpaces --------------------------------------------------------------------------- */

static void put_varint(fgi_buf *out, uint64_t value)
{
    for (; value > 127; value >>= 7)
        fgi_buf_putc(out, (char)(unsigned char)(value | 128));
    fgi_buf_putc(out, (char)value);
}

static void put_number(fgi_buf *out, int field, uint64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

/* Takes the bytes. */
static void put_bytes(fgi_buf *out, int field, fgi_buf *bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes->size);
    fgi_buf_add(out, bytes->data, bytes->size);
    fgi_buf_fini(bytes);
}

static void put_text(fgi_buf *out, int field, const char *text)
{
    fgi_buf bytes = {0};
    fgi_buf_puts(&bytes, text);
    put_bytes(out, field, &bytes);
}

/* A plane with a line that begins at that time. */
static void put_plane(fgi_buf *out, const char *name, uint64_t begin_ns)
{
    fgi_buf plane = {0}, line = {0};
    put_number(&plane, 1, 7);
    put_text(&plane, PLANE_NAME, name);
    put_number(&line, TIMESTAMP_NS, begin_ns);
    put_bytes(&plane, LINES, &line);
    put_bytes(out, PLANES, &plane);
}

/* A message as one line: fields and their numbers, texts, or messages. */
static void describe(wire message, fgi_buf *out)
{
    wire_field field;
    while (wire_next(&message, &field)) {
        bool is_text = field.bytes.size > 0;
        for (size_t i = 0; i < field.bytes.size; i++)
            is_text &= field.bytes.data[i] >= ' ' && field.bytes.data[i] < 127;
        if (field.bytes.data == NULL)
            fgi_buf_printf(out, " %d=%llu", field.number, (unsigned long long)field.value);
        else if (is_text)
            fgi_buf_printf(out, " %d='%.*s'", field.number, (int)field.bytes.size,
                           field.bytes.data);
        else {
            fgi_buf_printf(out, " %d{", field.number);
            describe(field.bytes, out);
            fgi_buf_puts(out, " }");
        }
    }
}

/* Without a plugin's planes, with some of them, and with those that we would add. */
static void put_space(const fgi_timeline *timeline, int planes, fgi_buf *out)
{
    static const char *const names[] = {"/device:X:0", "/host:CPU", "Task Environment"};
    fg_error err = {0};
    fgi_buf plugin = {0}, space = {0};
    for (int i = 0; i < planes; i++) /* before the start, at it, and after it */
        put_plane(&plugin, names[i], (uint64_t)(1500000000 - 1 + i));
    if (planes == 3)
        put_text(&plugin, HOSTNAMES, "theirs");
    if (planes == 2)
        fgi_buf_putc(&plugin, '\0'); /* which a plugin may count */
    fgt_ok(fgi_xspace((unsigned char *)plugin.data, plugin.size, timeline, "ours", &space, &err));
    wire whole = {(unsigned char *)space.data, space.size};
    wire_field field;
    while (wire_next(&whole, &field)) {
        fgi_buf_printf(out, "%d:", field.number);
        if (field.number == HOSTNAMES)
            fgi_buf_printf(out, " %.*s", (int)field.bytes.size, field.bytes.data);
        else
            describe(field.bytes, out);
        fgi_buf_putc(out, '\n');
    }
    fgi_buf_putc(out, '\n');
    fgi_buf_fini(&plugin);
    fgi_buf_fini(&space);
}

static void whole_spaces(void **state)
{
    fg_error err = {0};
    fgi_timeline timeline;
    fgi_buf all = {0};
    (void)state;
    fgt_ok(fgi_timeline_start(&err));
    fgi_timeline_add_to("core", "step", "train step", 0, 1000, 2500);
    fgi_timeline_add_to("core", "step", "train step", 12, 3000, 4500);
    fgi_timeline_add_to("core", "device", "run", -1, 4600, 4700);
    fgi_timeline_add_to("other", "loader", "read", 0, 500, 1200);
    fgi_timeline_add_to("other", "loader", "read", 3, 1200, 9999);
    fgi_timeline_stop(&timeline);
    timeline.start_ns = 1000;
    timeline.end_ns = 5001;
    timeline.start_time = 1.5;
    for (int planes = 0; planes <= 3; planes++)
        put_space(&timeline, planes, &all);
    assert_non_null(all.data);
    fgt_golden("profile/spaces.txt", all.data);
    fgi_buf_fini(&all);
    fgi_timeline_fini(&timeline);
}

/* ---- operations of the devices --------------------------------------------------------------- */

/* An entry of a table of names. */
static void put_name(fgi_buf *plane, int table, uint64_t id, int field, const char *name)
{
    fgi_buf entry = {0}, about = {0};
    put_number(&entry, 1, id);
    put_text(&about, field, name);
    put_bytes(&entry, 2, &about);
    put_bytes(plane, table, &entry);
}

/* A line with an event of 2 us, 1 us after its start. */
static void put_line(fgi_buf *plane, const char *name, uint64_t metadata, fgi_buf *stat)
{
    fgi_buf line = {0}, event = {0};
    put_text(&line, LINE_NAME, name);
    put_number(&line, TIMESTAMP_NS, 5000);
    put_number(&event, METADATA_ID, metadata);
    put_number(&event, OFFSET_PS, 1000000);
    put_number(&event, DURATION_PS, 2000000);
    if (stat != NULL)
        put_bytes(&event, STATS, stat);
    put_bytes(&line, EVENTS, &event);
    put_bytes(plane, LINES, &line);
}

static void take_operation(void *self, const char *name, int64_t begin_ns, int64_t end_ns)
{
    assert_int_equal(begin_ns, 6000);
    assert_int_equal(end_ns, 8000);
    fgi_buf_printf(self, "%s ", name);
}

/* As profilers of TPUs and GPUs write them: a line of instructions, and kernels with a statistic
 * that names theirs. */
static void operations_have_the_names_of_instructions(void **state)
{
    (void)state;
    enum { HLO_OP = 3, FUSION, STAT_REFERENCE = 7, DISPLAY_NAME = 4 };
    fg_error err = {0};
    fgi_buf space = {0}, tpu = {0}, gpu = {0}, host = {0}, text = {0}, reference = {0}, got = {0};
    put_text(&tpu, PLANE_NAME, "/device:TPU:0");
    put_name(&tpu, EVENT_TABLE, 1, PLANE_NAME, "dot.1");
    put_name(&tpu, EVENT_TABLE, 2, DISPLAY_NAME, "copy.2");
    put_line(&tpu, "XLA Ops", 1, NULL);
    put_line(&tpu, "XLA Ops", 2, NULL);
    put_line(&tpu, "Steps", 1, NULL);
    put_bytes(&space, PLANES, &tpu);
    put_text(&gpu, PLANE_NAME, "/device:GPU:0");
    put_name(&gpu, STAT_TABLE, HLO_OP, PLANE_NAME, "hlo_op");
    put_name(&gpu, STAT_TABLE, FUSION, PLANE_NAME, "fusion.4");
    put_number(&text, METADATA_ID, HLO_OP);
    put_text(&text, STAT_TEXT, "reduce.3");
    put_number(&reference, METADATA_ID, HLO_OP);
    put_number(&reference, STAT_REFERENCE, FUSION);
    put_line(&gpu, "Stream #1", 1, &text);
    put_line(&gpu, "Stream #2", 1, &reference);
    put_line(&gpu, "Stream #2", 1, NULL);
    put_bytes(&space, PLANES, &gpu);
    put_text(&host, PLANE_NAME, "/host:CPU");
    put_name(&host, EVENT_TABLE, 1, PLANE_NAME, "thread");
    put_line(&host, "XLA Ops", 1, NULL);
    put_bytes(&space, PLANES, &host);
    fgt_ok(fgi_xspace_read((unsigned char *)space.data, space.size, take_operation, &got, &err));
    assert_string_equal(got.data, "dot.1 copy.2 reduce.3 fusion.4 ");
    assert_int_equal(
        fgi_xspace_read((unsigned char *)space.data, space.size - 1, take_operation, &got, &err),
        FG_EFORMAT);
    fgi_buf_fini(&got);
    fgi_buf_fini(&space);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_profile *profile = NULL, *second = NULL;
    static const struct {
        fg_profile_options options;
        const char *message;
    } rows[] = {
        {{.folder = NULL}, "profile: expected a folder"},
        {{.folder = ""}, "profile: expected a folder"},
        {{.folder = "x", .name = ""}, "profile: expected a file name as name, got ''"},
        {{.folder = "x", .name = "a/b"}, "profile: expected a file name as name, got 'a/b'"},
        {{.folder = "x", .name = ".a"}, "profile: expected a file name as name, got '.a'"},
        {{.folder = "x", .name = ".."}, "profile: expected a file name as name, got '..'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_profile_start(NULL, &rows[i].options, &profile, &err), FG_EINVAL);
        assert_string_equal(err.message, rows[i].message);
        assert_null(profile);
    }
    const fg_profile_options options = {.folder = fgt_temp_folder()};
    fgt_ok(fg_profile_start(NULL, &options, &profile, &err));
    assert_int_equal(fg_profile_start(NULL, &options, &second, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "in progress already"));
    fg_profile_drop(profile);
    fg_profile_drop(NULL);
    assert_int_equal(fgt_count_entries(options.folder), 0);
}

static void a_folder_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_profile *profile = NULL;
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "file"), "x", 1);
    const fg_profile_options options = {.folder = fgt_path(folder, "file")};
    fgt_ok(fg_profile_start(NULL, &options, &profile, &err));
    assert_int_equal(fg_profile_stop(profile, NULL, &err), FG_EIO);
    assert_non_null(strstr(err.message, "file"));
    fgt_ok(fg_profile_start(NULL, &(fg_profile_options){.folder = folder}, &profile, &err));
    fgt_ok(fg_profile_stop(profile, NULL, &err)); /* the next one is not affected */
}

typedef struct scenario {
    fg_client *client;
    const char *folder;
} scenario;

static fg_status profile_once(void *self, fg_error *err)
{
    const scenario *s = self;
    fg_profile *profile = NULL;
    fg_status status = fg_profile_start(
        s->client, &(fg_profile_options){.folder = s->folder, .name = "faults"}, &profile, err);
    if (status != FG_OK)
        return status;
    fg_profile_end(fg_profile_begin(), "span");
    return fg_profile_stop(profile, NULL, err);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    scenario s = {.client = open_client(1), .folder = fgt_temp_folder()};
    fgt_fault_loop(profile_once, &s);
    fg_client_close(s.client);
    assert_int_equal(fake.get("profilers"), 0);
}

static int open_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_has_nested_events_in_order),
        cmocka_unit_test(without_a_profiler_the_host_is_written),
        cmocka_unit_test(the_plugins_planes_are_kept_and_shifted),
        cmocka_unit_test(the_plugins_threads_are_kept_too),
        cmocka_unit_test(a_failing_profiler_is_noted),
        cmocka_unit_test(a_profile_has_a_default_name),
        cmocka_unit_test(a_trace_has_microseconds),
        cmocka_unit_test(whole_spaces),
        cmocka_unit_test(operations_have_the_names_of_instructions),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_an_error),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, open_fake, NULL) == 0 ? 0 : 1;
}
