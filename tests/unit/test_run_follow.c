/* test_run_follow.c - following a run that a thread of the test plays: it holds the lock, writes
 * lines in parts, is resumed, and ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <fulgurite/report.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "other_run.h"

static fg_error err;
static const char *folder;
static fgi_buf heard;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int begin(void **state)
{
    static int number;
    char name[32];
    (void)state;
    (void)snprintf(name, sizeof name, "run-%d", number++);
    folder = fgi_path_join(fgt_temp_folder(), name);
    fgt_ok(fgi_folder_make(folder, &err));
    return 0;
}

static int end(void **state)
{
    (void)state;
    fgi_buf_fini(&heard);
    fgi_free((char *)folder);
    return 0;
}

static void put(const char *name, const char *text)
{
    fg_error unused;
    char *path = fgi_path_join(folder, name); /* replaced as a whole, as a resume does */
    assert_int_equal(fg_file_write(path, text, strlen(text), &unused), FG_OK);
    fgi_free(path);
}

static bool hear(void *self, const char *text)
{
    (void)self;
    (void)pthread_mutex_lock(&lock);
    fgi_buf_puts(&heard, text);
    (void)pthread_mutex_unlock(&lock);
    return true;
}

static bool has_heard(const char *words)
{
    (void)pthread_mutex_lock(&lock);
    const bool has = heard.data != NULL && strstr(heard.data, words) != NULL;
    (void)pthread_mutex_unlock(&lock);
    return has;
}

/* Gives up after a minute, so that a failure is one. */
static void await(const char *words)
{
    for (int i = 0; i < 6000 && !has_heard(words); i++)
        usleep(10000);
}

#define FIRST  "{\"step\": 10, \"epoch\": 0, \"train_loss\": 4}\n"
#define SECOND "{\"step\": 20, \"epoch\": 1, \"wall_time\": 1.5, \"train_loss\": 2.5}\n"
#define AGAIN  "{\"step\": 20, \"epoch\": 1, \"train_loss\": 2.25}\n"
#define THIRD  "{\"step\": 30, \"epoch\": 1, \"val_acc\": null}\n"

static void *play(void *self)
{
    const int fd = *(int *)self;
    put("metrics.jsonl", FIRST "{\"step\": 20, \"ep");
    await("step 10");
    put("metrics.jsonl", FIRST SECOND);
    await("2.5");
    put("metrics.jsonl", FIRST AGAIN THIRD); /* resumed, and already longer than before */
    await("step 30");
    put("report.json", "{\"version\":1,\"state\":\"stopped\"}");
    assert_int_equal(ftruncate(fd, 0), 0);
    (void)close(fd);
    return NULL;
}

/* The lock as a running fit holds it. */
static int hold(void)
{
    put("lock", "somebody");
    const int fd = open(fgt_path(folder, "lock"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
}

static void each_row_is_shown_once(void **state)
{
    const follow_options options = {.show = hear, .every_s = 0.01};
    const char *ended;
    pthread_t thread;
    (void)state;
    int fd = hold();
    assert_int_equal(pthread_create(&thread, NULL, play, &fd), 0);
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(ended, "stopped");
    assert_string_equal(heard.data, "step 10, epoch 0: train_loss 4\n"
                                    "step 20, epoch 1: train_loss 2.5\n"
                                    "the run was resumed from a checkpoint\n"
                                    "step 20, epoch 1: train_loss 2.25\n"
                                    "step 30, epoch 1: val_acc nan\n");
}

static void ended_runs_are_shown_and_end(void **state)
{
    static const char *const rows[][2] = {
        {NULL, "unknown"},
        {"{\"version\":1,\"state\":\"running\"}", "killed"},
        {"{\"version\":1,\"state\":\"failed\"}", "failed"},
        {"{\"version\":1,\"state\":\"finished\"}", "finished"},
        {"{\"version\":1,\"state\":\"stopped\"}", "stopped"},
        {"{\"version\":1,\"state\":\"odd\"}", "failed"},
    };
    (void)state;
    put("metrics.jsonl", FIRST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int whole = 0; whole < 2; whole++) {
            const follow_options options = {.show = hear, .every_s = 0.01, .whole = whole};
            const char *ended;
            if (rows[i][0] != NULL)
                put("report.json", rows[i][0]);
            fgi_buf_clear(&heard);
            fgt_ok(follow_run(folder, &options, &ended, &err));
            assert_string_equal(ended, rows[i][1]);
            assert_true(has_heard(whole ? "metric " : "step 10, epoch 0: train_loss 4\n"));
        }
}

/* A run of a version without report.json, which left its lock behind; and one whose report is that
 * of an earlier fit. */
static void killed_runs_left_their_lock(void **state)
{
    const follow_options options = {.show = hear, .every_s = 0.01};
    const char *ended;
    (void)state;
    put("metrics.jsonl", FIRST);
    put("lock", "somebody");
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_string_equal(ended, "killed");
    put("lock", "");
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_string_equal(ended, "unknown");
    put("lock", "somebody");
    put("report.json", "{\"version\":1,\"state\":\"finished\"}");
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_string_equal(ended, "killed");
}

static bool refuse(void *self, const char *text)
{
    (void)self;
    (void)text;
    return false;
}

static void refused(const char *path, const follow_options *o, fg_status status,
                    const char *message)
{
    const char *ended = NULL;
    assert_int_equal(follow_run(path, o, &ended, &err), status);
    fgt_message_is(err.message, message);
    assert_string_equal(ended, "unknown");
}

static void mistakes_are_named(void **state)
{
    static const follow_options options = {.show = refuse, .every_s = 0.01};
    (void)state;
    refused("/nowhere", &options, FG_ENOTFOUND,
            "'/nowhere' does not exist: expected the folder of a run");
    refused(folder, &options, FG_ENOTFOUND,
            "'@' is not the folder of a run: nothing writes to it, and it has no metrics");
    put("sweep.json", "{}");
    refused(folder, &options, FG_ENOTFOUND,
            "'@' is the folder of a sweep: expected the folder of one of its runs");
    assert_int_equal(remove(fgt_path(folder, "sweep.json")), 0);
    put("metrics.jsonl", FIRST);
    refused(folder, &options, FG_ESTOPPED, "stopped following '@'");
    put("metrics.jsonl", FIRST "{\n");
    refused(folder, &options, FG_EFORMAT,
            "@/metrics.jsonl: byte 43: invalid JSON: string or '}' expected near end of file");
}

/* Values in their order; a name may have any characters. A run without metrics has a state. */
static void rows_of_any_names(void **state)
{
    static const follow_options options = {.show = hear, .every_s = 0.01};
    const char *ended;
    (void)state;
    put("report.json", "{\"version\":1,\"state\":\"failed\"}");
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_string_equal(ended, "failed");
    assert_int_equal(heard.size, 0);
    put("metrics.jsonl",
        "{\"wall_time\": 2, \"step\": 1e9, \"b\": 1234567, \"epoch\": 3, "
        "\"a\\u001b\\u007f\\u0020z\": -0.5}\n{\"step\": 2, \"epoch\": 3}\n{\"step");
    fgt_ok(follow_run(folder, &options, &ended, &err));
    assert_string_equal(heard.data, "step 1000000000, epoch 3: b 1.23457e+06, a?? z -0.5\n"
                                    "step 2, epoch 3\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(each_row_is_shown_once, begin, end),
    cmocka_unit_test_setup_teardown(ended_runs_are_shown_and_end, begin, end),
    cmocka_unit_test_setup_teardown(killed_runs_left_their_lock, begin, end),
    cmocka_unit_test_setup_teardown(mistakes_are_named, begin, end),
    cmocka_unit_test_setup_teardown(rows_of_any_names, begin, end),
};
FGT_MAIN(tests)
