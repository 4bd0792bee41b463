/* test_packer_resume.c - builds that are killed, stopped, or run out of disk space, and started
 * again: the pack and the list of bad images have the same bytes as in one go.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "packer/packer.h"
#include "photos.h"

enum { SAMPLES = 10, STOPPED = 3, FAILED = 4 };
static fg_error err;
static char source[512], whole[512]; /* a pack that was built in one go */

/* Records of 786 kB, so that some are on disk when the process is killed. */
static const fg_pack_build_options options = {
    .codec = FG_PACK_CHOICE_RAW,
    .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 512, .upscale = true},
    .variant_count = 2,
    .thread_count = 2,
    .skip_bad = true,
    .progress_s = FG_ZERO,
};

static int64_t last;    /* sample after which to end */
static int with_signal; /* 0: as the progress function says */

static bool end_after(void *self, const fg_pack_progress *progress)
{
    (void)self;
    if (progress->done == last && with_signal != 0)
        (void)kill(getpid(), with_signal);
    return progress->done < last || with_signal != 0;
}

/* Builds in a child process that ends after `samples`, with a signal if it is not 0; returns its
 * wait status. */
static int build_until(const char *path, int64_t samples, int signal_number)
{
    const pid_t child = fork();
    if (child == 0) {
        fg_pack_build_options o = options;
        o.handle_signals = signal_number != 0;
        last = samples;
        with_signal = signal_number;
        const fg_status status =
            fg_pack_build(source, path, photos_reported(&o, end_after, NULL), NULL, &err);
        _exit(status == FG_ESTOPPED ? STOPPED : status == FG_OK ? 0 : FAILED);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Checks the images in a child process that sends itself SIGTERM after the fifth. */
static int check_until_terminated(void)
{
    const pid_t child = fork();
    if (child == 0) {
        fg_pack_build_options o = options;
        fg_pack_built built;
        o.handle_signals = true;
        last = 5;
        with_signal = SIGTERM;
        _exit(fg_pack_check_source(source, photos_reported(&o, end_after, NULL), &built, &err) ==
                      FG_ESTOPPED
                  ? STOPPED
                  : FAILED);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Completes the pack and compares it; returns the number of records that it had. */
static int64_t complete(const char *path)
{
    char a[600], b[600];
    fg_pack_built built;
    fgt_ok(fg_pack_build(source, path, &options, &built, &err));
    assert_int_equal(built.record_count, 2 * (SAMPLES - 2));
    assert_int_equal(built.bad_count, 2);
    assert_string_equal(built.bad[0].name, "cat/empty.jpg");
    assert_string_equal(built.bad[1].name, "dog/a.png");
    const int64_t resumed = built.resumed_count;
    fg_pack_built_fini(&built);
    photos_check_same(path, whole);
    (void)snprintf(a, sizeof(a), "%s.bad.jsonl", path);
    (void)snprintf(b, sizeof(b), "%s.bad.jsonl", whole);
    photos_check_same(a, b);
    return resumed;
}

static int make(void **state)
{
    (void)state;
    (void)snprintf(source, sizeof(source), "%s", photos_make());
    (void)snprintf(whole, sizeof(whole), "%s/whole.pack", fgt_temp_folder());
    fgt_write(fgt_path(source, "cat/empty.jpg"), "", 0);
    fgt_write(fgt_path(source, "dog/a.png"), "text", 4);
    photos_pack(source, whole, &options);
    return 0;
}

static void a_killed_build_continues(void **state)
{
    int64_t most = 0;
    for (int64_t samples = 1; samples <= SAMPLES; samples += 3) {
        const char *path = fgt_path(fgt_temp_folder(), "p.pack");
        const int status = build_until(path, samples, SIGKILL);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_not_equal(access(path, F_OK), 0);
        const int64_t resumed = complete(path);
        most = resumed > most ? resumed : most;
    }
    assert_true(most > 4);
}

/* Stopped after each sample in turn, in one folder. */
static void a_stopped_build_continues(void **state)
{
    char folder[256];
    (void)snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
    const char *path = fgt_path(folder, "p.pack");
    for (int64_t samples = 1; samples < SAMPLES; samples += 2) {
        const int status = build_until(path, samples, samples == 5 ? SIGTERM : 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == STOPPED);
    }
    assert_true(complete(path) >= 12);
    assert_int_equal(fgt_count_entries(folder), 2); /* the pack and the list */
}

static void a_check_stops_at_a_signal(void **state)
{
    (void)state;
    const int status = check_until_terminated();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == STOPPED);
}

/* The journal has the samples that were left out. Without it, the build starts again. */
static void without_its_journal_a_build_starts_again(void **state)
{
    char journal[600];
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    (void)snprintf(journal, sizeof(journal), "%s.partial.jsonl", path);
    (void)build_until(path, 7, 0);
    assert_int_equal(unlink(journal), 0);
    assert_int_equal(complete(path), 0);
    (void)unlink(path);
    (void)build_until(path, 9, 0);
    size_t size;
    char *text = photos_read(journal, &size);
    fgt_write(journal, text, size - 9); /* torn in the middle of a line */
    free(text);
    assert_int_equal(complete(path), 0);
}

static const struct {
    const char *line;
    size_t samples, runs;
} journal_lines[] = {
    {"{\"sample\": 3, \"name\": \"a.jpg\", \"reason\": \"r\"}", 2, 1},
    {"{\"start\": 3, \"begun\": 7.5}", 1, 2},
    {"{\"name\": \"a.jpg\", \"reason\": \"r\"}", 0, 0},
    {"{\"sample\": \"3\", \"name\": \"a.jpg\", \"reason\": \"r\"}", 0, 0},
    {"{\"sample\": 3, \"reason\": \"r\"}", 0, 0},
    {"{\"sample\": 3, \"name\": \"a.jpg\"}", 0, 0},
    {"{\"codec\": \"tape\", \"reason\": \"r\"}", 0, 0},
    {"{\"start\": 3, \"begun\": 7}", 0, 0},
    {"{\"start\": 3", 0, 0},
};

/* Those after a damaged one are not used. */
static void lines_of_a_journal_are_read_up_to_a_damaged_one(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof journal_lines / sizeof journal_lines[0]; i++) {
        fgi_packer_journal j;
        const int size = snprintf(text, sizeof text,
                                  "%s\n{\"start\": 0, \"begun\": 1.5}\n"
                                  "{\"sample\": 1, \"name\": \"b.jpg\", \"reason\": \"s\"}\n",
                                  journal_lines[i].line);
        char name[600];
        (void)snprintf(name, sizeof name, "%s.partial.jsonl", path);
        fgt_write(name, text, (size_t)size);
        fgt_ok(fgi_packer_journal_open(path, &j, &err));
        if (j.count != journal_lines[i].samples || j.run_count != journal_lines[i].runs)
            fail_msg("%s: %zu samples, %zu runs", journal_lines[i].line, j.count, j.run_count);
        fgi_packer_journal_close(&j);
    }
}

static const char journal_text[] = "{\"codec\": \"raw\", \"reason\": \"why\"}\n"
                                   "{\"start\": 0, \"begun\": 1.5}\n"
                                   "{\"sample\": 1, \"name\": \"b\", \"reason\": \"s\"}\n"
                                   "{\"sample\": 3, \"name\": \"d\", \"reason\": \"s\"}\n"
                                   "{\"start\": 4, \"begun\": 2.5}\n"
                                   "{\"start\": 6, \"begun\": 3.5}\n"
                                   "{\"sample\": 4, \"name\": \"e\", \"reason\": \"s\"}\n"
                                   "{\"sample\": 7, \"name\": \"h\", \"reason\": \"s\"}\n";

/* Of a sample: the bad ones before it, and when its run began. */
static const struct {
    int64_t sample, before;
    double begun_s;
} journal_samples[] = {{0, 0, 1.5}, {1, 0, 1.5}, {2, 1, 1.5}, {3, 1, 1.5}, {4, 2, 2.5},
                       {5, 3, 2.5}, {6, 3, 3.5}, {7, 3, 3.5}, {8, 4, 3.5}, {-1, 0, 0}};

/* What was noted from the first sample of a run on is forgotten, also the run that began there. */
static void a_run_continues_its_journal_at_a_sample(void **state)
{
    fgi_packer_journal j;
    char path[512], name[600];
    (void)state;
    (void)snprintf(path, sizeof path, "%s", fgt_path(fgt_temp_folder(), "p.pack"));
    (void)snprintf(name, sizeof name, "%s.partial.jsonl", path);
    fgt_write(name, journal_text, sizeof journal_text - 1);
    fgt_ok(fgi_packer_journal_open(path, &j, &err));
    for (size_t i = 0; i < sizeof journal_samples / sizeof journal_samples[0]; i++) {
        const int64_t sample = journal_samples[i].sample;
        assert_int_equal(fgi_packer_journal_before(&j, sample), journal_samples[i].before);
        fgt_close("begun", fgi_packer_journal_begun(&j, sample), journal_samples[i].begun_s, 0, 0);
    }
    fgt_ok(fgi_packer_journal_start(&j, 4, &err));
    fgt_ok(fgi_packer_journal_add(&j, 5, "f", "t", &err));
    for (int read = 0; read < 2; read++) {
        assert_int_equal(j.codec, FG_PACK_CHOICE_RAW);
        assert_string_equal(j.reason, "why");
        assert_int_equal(j.count, 3);
        assert_memory_equal(j.samples, ((int64_t[]){1, 3, 5}), 3 * sizeof(int64_t));
        assert_string_equal(j.bad[1].name, "d");
        assert_string_equal(j.bad[2].reason, "t");
        assert_int_equal(j.run_count, 2);
        assert_int_equal(j.runs[1].sample, 4);
        fgt_close("begun", fgi_packer_journal_begun(&j, 3), 1.5, 0, 0);
        assert_true(fgi_packer_journal_begun(&j, 4) > 1e9); /* now */
        fgi_packer_journal_close(&j);
        fgt_ok(fgi_packer_journal_open(path, &j, &err));
    }
    fgi_packer_journal_close(&j);
}

/* Makes a sample a link to another image. The image itself is old. */
static void replace(const char *name, const char *image)
{
    assert_int_equal(unlink(fgt_path(source, name)), 0);
    photos_put(image, source, name);
}

static void expect_changed(const char *path, const char *message)
{
    assert_int_equal(fg_pack_build(source, path, &options, NULL, &err), FG_EINVAL);
    if (strstr(err.message, message) == NULL)
        fail_msg("%s", err.message);
}

static void a_build_does_not_continue_after_a_sample_has_changed(void **state)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/p.pack", fgt_temp_folder());
    (void)build_until(path, 3, 0);
    replace("cat/baseline.jpg", "baseline.jpg"); /* the same bytes */
    (void)build_until(path, 5, 0);
    replace("cat/baseline.jpg", "gray.jpg");
    expect_changed(path, "'cat/baseline.jpg' has changed since packing was interrupted: "
                         "start over (restart, --restart)");
    replace("cat/baseline.jpg", "baseline.jpg");
    replace("cat/empty.jpg", "gray.jpg"); /* it was left out */
    expect_changed(path, "'cat/empty.jpg' has changed since packing was interrupted: "
                         "start over (restart, --restart)");
    assert_int_equal(unlink(fgt_path(source, "cat/empty.jpg")), 0);
    fgt_write(fgt_path(source, "cat/empty.jpg"), "", 0);
    assert_true(complete(path) > 0);
}

static void other_options_do_not_continue(void **state)
{
    fg_pack_build_options o = options;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    (void)build_until(path, 3, 0);
    static const char *const others[][2] = {
        {"codec", "jpeg"},         {"presize", "square=511,upscale"},
        {"presize", "square=512"}, {"quality", "91"},
        {"variants", "3"},         {"limit", "9"},
        {"split", "val=0.5"},      {"seed", "1"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = options;
        fgt_ok(fgi_pack_build_set(&o, others[i][0], others[i][1], &err));
        assert_int_equal(fg_pack_build(source, path, &o, NULL, &err), FG_EINVAL);
        if (strstr(err.message, "written from other inputs or with other options") == NULL)
            fail_msg("%s: %s", others[i][0], err.message);
    }
    o.restart = true;
    photos_pack(source, path, &o);
    o.restart = false;
    assert_int_equal(fg_pack_build(source, path, &o, NULL, &err), FG_EINVAL);
    fgt_message_is(err.message,
                   "'~/p.pack' exists: remove it, replace it (--replace), or choose another name");
    o.replace = true;
    o.seed = 0;
    photos_pack(source, path, &o);
    photos_check_same(path, whole);
}

/* Of at most 512 samples, evenly spaced, the pixels are measured. */
static void samples_are_measured_at_a_stride(void **state)
{
    static const int64_t counts[][2] = {{1, 1}, {511, 1}, {512, 1}, {513, 2}, {1024, 2}, {1025, 3}};
    (void)state;
    for (int i = 0; i < 6; i++)
        assert_int_equal(fgi_packer_stride(&(fgi_packer_plan){.count = counts[i][0]}),
                         counts[i][1]);
}

/* Every second of 514 samples is measured, also of those that were packed before: wherever a build
 * continues, the mean is the same. */
static void what_was_packed_before_is_measured_again(void **state)
{
    enum { COUNT = 514 };
    char folder[512], once[600], twice[600];
    fg_pack_build_options o = {.codec = FG_PACK_CHOICE_FILE, .progress_s = FG_ZERO};
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%03d.jpg", i);
        photos_put(i % 4 == 0 ? "gray.jpg" : i % 4 == 2 ? "full.jpg" : "cmyk.jpg", folder, name);
    }
    const char *out = fgt_temp_folder();
    (void)snprintf(once, sizeof once, "%s/once.pack", out);
    (void)snprintf(twice, sizeof twice, "%s/twice.pack", out);
    photos_pack(folder, once, &o);
    with_signal = 0;
    for (last = 2; last < 6; last++)
        assert_int_equal(
            fg_pack_build(folder, twice, photos_reported(&o, end_after, NULL), NULL, &err),
            FG_ESTOPPED);
    o.thread_count = 1;
    photos_pack(folder, twice, &o);
    photos_check_same(once, twice);
}

/* Rows of a list, of which one differs in its name, label, labels, split or group. */
static const char *const lists[][2] = {
    {"\"name\":\"n2\",\"label\":\"x\"", "\"name\":\"n3\",\"label\":\"x\""},
    {"\"name\":\"n2\",\"label\":\"x\"", "\"name\":\"n2\",\"label\":\"y\""},
    {"\"labels\":[\"x\",\"y\"]", "\"labels\":[\"x\",\"z\"]"},
    {"\"labels\":[\"x\",\"y\"]", "\"labels\":[\"x\"]"},
    {"\"label\":\"x\",\"split\":\"train\"", "\"label\":\"x\",\"split\":\"val\""},
    {"\"label\":\"x\",\"group\":\"1\"", "\"label\":\"x\",\"group\":\"2\""},
    {"\"label\":\"x\",\"group\":\"1\"", "\"label\":\"x\",\"group\":\"1\""}, /* the same */
};

/* What the catalog says about a sample that was not packed yet counts, too. */
static void another_list_does_not_continue(void **state)
{
    const char *folder = fgt_temp_folder();
    const fg_pack_build_options o = {
        .codec = FG_PACK_CHOICE_FILE, .thread_count = 1, .progress_s = FG_ZERO};
    char list[512], text[600];
    photos_put("gray.jpg", folder, "a.jpg");
    photos_put("gray.jpg", folder, "b.jpg");
    (void)snprintf(list, sizeof list, "%s/list.jsonl", folder);
    last = 1;
    with_signal = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%d.pack", folder, (int)i);
        for (int k = 0; k < 2; k++) {
            const int size = snprintf(text, sizeof text,
                                      "{\"classes\":[\"x\",\"y\",\"z\"]}\n{\"path\":\"a.jpg\","
                                      "\"label\":\"x\",\"group\":\"2\"}\n{\"path\":\"b.jpg\",%s}\n",
                                      lists[i][k]);
            fgt_write(list, text, (size_t)size);
            const fg_status status = fg_pack_build(
                list, path, photos_reported(&o, k == 0 ? end_after : NULL, NULL), NULL, &err);
            assert_int_equal(status, k == 0                                   ? FG_ESTOPPED
                                     : i + 1 < sizeof lists / sizeof lists[0] ? FG_EINVAL
                                                                              : FG_OK);
        }
    }
}

/* A limit of the file size, as a disk that becomes full. */
static void a_full_disk_is_an_error_and_the_build_continues(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000000, 5000000});
        const fg_status status = fg_pack_build(source, path, &options, NULL, &err);
        const bool is_good =
            status == FG_EIO && strstr(err.message, "cannot write") != NULL &&
            strstr(err.message, "\nwhat was written is in the partial pack: free some "
                                "space if the disk is full, and start again to "
                                "continue") != NULL;
        _exit(is_good ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(complete(path) >= 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_killed_build_continues),
    cmocka_unit_test(a_stopped_build_continues),
    cmocka_unit_test(a_check_stops_at_a_signal),
    cmocka_unit_test(without_its_journal_a_build_starts_again),
    cmocka_unit_test(lines_of_a_journal_are_read_up_to_a_damaged_one),
    cmocka_unit_test(a_run_continues_its_journal_at_a_sample),
    cmocka_unit_test(a_build_does_not_continue_after_a_sample_has_changed),
    cmocka_unit_test(other_options_do_not_continue),
    cmocka_unit_test(samples_are_measured_at_a_stride),
    cmocka_unit_test(what_was_packed_before_is_measured_again),
    cmocka_unit_test(another_list_does_not_continue),
    cmocka_unit_test(a_full_disk_is_an_error_and_the_build_continues),
};

int main(void) { return cmocka_run_group_tests(tests, make, NULL) == 0 ? 0 : 1; }
