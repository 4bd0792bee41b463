/* test_run_stop.c - stopping a run that a thread of the test plays: it holds the lock, notices the
 * request, and ends. Locks of processes that have died, and of other hosts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <fulgurite/recipe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/run_lock.h"
#include "other_run.h"
#include "recipe/folder/run_dir.h"
#include "recipe/run/run.h"

static fg_error err;
static const char *folder;
static char heard[4096];
static FILE *talk; /* to it */

static int begin(void **state)
{
    static int number;
    char name[32];
    (void)state;
    (void)snprintf(name, sizeof name, "run-%d", number++);
    folder = fgi_path_join(fgt_temp_folder(), name);
    fgt_ok(fgi_folder_make(folder, &err));
    memset(heard, 0, sizeof heard);
    talk = fmemopen(heard, sizeof heard, "w");
    setbuf(talk, NULL);
    return talk == NULL;
}

static int end(void **state)
{
    (void)state;
    fgi_free((char *)folder);
    return fclose(talk);
}

static void hear_anew(void)
{
    rewind(talk);
    memset(heard, 0, sizeof heard);
}

static void contains(const char *whole, const char *part)
{
    if (strstr(whole, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, whole);
}

/* Records a holder in the lock file. */
static void record(int64_t pid, const char *machine, const char *host)
{
    char text[512];
    const int size = snprintf(text, sizeof text, "%lld %s %s\n", (long long)pid, machine, host);
    fgt_write(fgt_path(folder, "lock"), text, (size_t)size);
}

static const char *here(void)
{
    static char host[256];
    (void)gethostname(host, sizeof host - 1);
    return host;
}

static const char *this_machine(void)
{
    static char machine[FGI_MACHINE_SIZE];
    fgi_machine_name(machine);
    return machine;
}

static int hold(void)
{
    const int fd = open(fgt_path(folder, "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
}

/* The only thing that was heard since the last call. */
static void was_heard(const char *expected)
{
    assert_string_equal(heard, expected);
    hear_anew();
}

static fg_status stop(double timeout_s)
{
    const stop_options options = {.timeout_s = timeout_s, .talk = talk};
    return stop_run(folder, &options, &err);
}

/* ---- who is asked ---------------------------------------------------------------------------- */

static void nothing_to_stop(void **state)
{
    (void)state;
    assert_int_equal(stop_run("/nowhere", &(stop_options){0}, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "'/nowhere' does not exist: expected the folder of a run");
    assert_int_equal(stop(0), FG_ENOTFOUND);
    fgt_message_is(err.message, "'@': no run is training there");
    fgt_write(fgt_path(folder, "lock"), "", 0); /* after the end of a fit */
    assert_int_equal(stop(0), FG_ENOTFOUND);
    assert_false(fgi_stop_is_asked(folder));
}

static void a_dead_holder_is_named(void **state)
{
    char expected[1024];
    (void)state;
    record(77, this_machine(), here());
    assert_int_equal(stop(0), FG_ENOTFOUND);
    (void)snprintf(expected, sizeof expected,
                   "'%s': no run is training there: process 77 on host '%s' was, and ended without "
                   "releasing the folder (it was killed or crashed); the next run can use it",
                   folder, here());
    assert_string_equal(err.message, expected);
    record(77, "0123456789abcdef", here()); /* before a restart of the host */
    assert_int_equal(stop(0), FG_ENOTFOUND);
    contains(err.message, "(it was killed or crashed)");
    fgt_write(fgt_path(folder, "lock"), "torn", 4);
    assert_int_equal(stop(1), FG_EINVAL); /* nobody knows who that is */
    assert_true(fgi_stop_is_asked(folder));
}

/* A holder that cannot be seen is asked all the same. */
/* A record whose process cannot be one: its machine is known nevertheless. */
static void only_positive_numbers_are_processes(void **state)
{
    static const struct {
        const char *text;
        int64_t pid;
    } rows[] = {{"7 m h\n", 7}, {"2147483647 m h\n", 2147483647}, {"0 m h\n", 0}, {"-5 m h\n", 0},
                {"x m h\n", 0}, {"2147483648 m h\n", 0}};
    const char *path = fgt_path(fgt_temp_folder(), "lock");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgt_write(path, rows[i].text, strlen(rows[i].text));
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        const fgi_holder who = fgi_holder_read(fd);
        (void)close(fd);
        assert_int_equal(who.pid, rows[i].pid);
        assert_string_equal(who.machine, "m");
        assert_string_equal(who.host, "h");
    }
}

static void another_host_is_asked(void **state)
{
    fgi_holder who;
    (void)state;
    record(77, "0123456789abcdef", "elsewhere");
    assert_int_equal(fgi_lock_look(folder, &who), FGI_LOCK_UNKNOWN);
    assert_int_equal(stop(0.2), FG_EINVAL);
    contains(heard, "asked process 77 on host 'elsewhere' to save and stop; whether it still runs "
                    "cannot be seen from this host");
    fgt_message_is(err.message, "'@': process 77 on host 'elsewhere' has not stopped within 0.2 s; "
                                "the request remains, and takes effect between two steps");
    assert_true(fgi_stop_is_asked(folder));
    fgi_stop_forget(folder);
    const stop_options options = {.no_wait = true, .talk = talk};
    fgt_ok(stop_run(folder, &options, &err));
    assert_true(fgi_stop_is_asked(folder));
}

static void a_new_run_is_not_stopped_by_an_old_request(void **state)
{
    int fd, why;
    (void)state;
    fgt_ok(fgi_stop_ask(folder, &err));
    assert_true(fgi_stop_is_asked(folder));
    fgt_ok(fgi_lock_take(folder, &fd, &why, &err));
    assert_false(fgi_stop_is_asked(folder));
    fgi_lock_release(folder, fd);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static atomic_int requests;

/* The run: loses the first request, as if it had begun just now, and obeys the second; a third one
 * comes too late. */
static void *obey(void *self)
{
    const int *fd = self;
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 2; i++) {
        while (!fgi_stop_is_asked(folder))
            (void)nanosleep(&pause, NULL);
        fgi_stop_forget(folder);
        (void)atomic_fetch_add(&requests, 1);
    }
    assert_int_equal(fgi_stop_ask(folder, NULL), FG_OK);
    assert_int_equal(ftruncate(*fd, 0), 0);
    (void)close(*fd);
    return NULL;
}

static void the_end_is_awaited(void **state)
{
    pthread_t thread;
    char expected[2048];
    (void)state;
    for (int has_checkpoint = 0; has_checkpoint < 2; has_checkpoint++) {
        int fd = hold();
        hear_anew();
        atomic_store(&requests, 0);
        record(getpid(), this_machine(), here());
        if (has_checkpoint) {
            fgt_ok(fgi_folder_make(fgt_path(folder, "checkpoints"), &err));
            fgt_write(fgt_path(folder, "checkpoints/last"), "step-000000007\n", 15);
        }
        assert_int_equal(pthread_create(&thread, NULL, obey, &fd), 0);
        fgt_ok(stop(has_checkpoint ? 60 : 0)); /* 0: however long it takes */
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(atomic_load(&requests), 2);
        assert_false(fgi_stop_is_asked(folder));
        int size =
            snprintf(expected, sizeof expected,
                     "'%s': asked process %d on host '%s' to save and stop\n'%s' has stopped; ",
                     folder, (int)getpid(), here(), folder);
        (void)snprintf(expected + size, sizeof expected - (size_t)size, "%s%s%s\n",
                       has_checkpoint ? "its last checkpoint is " : "it has no checkpoint",
                       has_checkpoint ? folder : "",
                       has_checkpoint ? "/checkpoints/step-000000007" : "");
        assert_string_equal(heard, expected);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const int fd = hold();
    record(getpid(), this_machine(), here());
    assert_int_equal(stop(0.15), FG_EINVAL);
    contains(err.message, "has not stopped within 0.15 s");
    (void)close(fd);
}

/* A folder is in use while its lock is held and names a holder. */
static void a_folder_in_use(void **state)
{
    (void)state;
    assert_false(fgi_run_dir_is_live(folder));
    record(77, this_machine(), here());
    assert_false(fgi_run_dir_is_live(folder));
    const int fd = hold();
    assert_true(fgi_run_dir_is_live(folder));
    assert_int_equal(ftruncate(fd, 0), 0); /* it has ended, and is about to close the file */
    assert_false(fgi_run_dir_is_live(folder));
    (void)close(fd);
}

static void forget(fg_recipe *r)
{
    fgi_free(r->folder);
    r->folder = NULL;
}

/* The folder of a new run: one with checkpoints is refused, unless a process trains in it, which
 * the Trainer names. A search for a learning rate has none. */
static void the_folder_of_a_new_run(void **state)
{
    char assignment[600];
    const char *resume = NULL;
    fg_recipe r = {.kind = FG_RECIPE_FIT, .c = fgi_config_create(NULL, &err)};
    (void)state;
    (void)snprintf(assignment, sizeof assignment, "trainer.run_dir=%s", folder);
    assert_int_equal(fgi_config_override(r.c, assignment, &err), FG_OK);
    fgt_ok(fgi_folder_make(fgt_path(folder, "checkpoints"), &err));
    fgt_write(fgt_path(folder, "checkpoints/last"), "step-000000007\n", 15);
    assert_int_equal(fgi_run_find_origin(&r, &resume, &err), FG_EINVAL);
    forget(&r);
    fgt_message_is(err.message, "'@' holds the checkpoints of an earlier run\n--resume continues "
                                "it, --overwrite deletes it, --trainer.run_dir=FOLDER trains "
                                "elsewhere");
    const int fd = hold();
    record(getpid(), this_machine(), here());
    fgt_ok(fgi_run_find_origin(&r, &resume, &err));
    assert_string_equal(r.folder, folder);
    forget(&r);
    (void)close(fd);
    r.fit.overwrite = true;
    fgt_ok(fgi_run_find_origin(&r, &resume, &err));
    forget(&r);
    r.kind = FG_RECIPE_FIND_LR;
    assert_int_equal(fgi_config_override(r.c, "trainer.resume=last", &err), FG_OK);
    fgt_ok(fgi_run_find_origin(&r, &resume, &err));
    assert_true(r.folder == NULL && resume == NULL && r.origin.ckpt == NULL);
    fgi_config_destroy(r.c);
}

/* Runs whose locks were taken at these times. */
static const struct {
    const char *folder, *lock; /* lock: "": has ended */
    long seconds, nanoseconds;
} trained[] = {
    {"runs/.hidden", "9 m h\n", 99, 0},
    {"runs/a", "5 m h\n", 10, 7},
    {"runs/b", "1 m h\n", 10, 8}, /* as the first of a container */
    {"runs/c", "", 50, 0},
    {"runs/d", "7 m h\n", 9, 9},
    {"swept/lr=1", "11 m h\n", 20, 0},
    {"swept/lr=2", "", 21, 0},
    {"swept/lr=3", "odd", 19, 0},
    {"swept/in/runs", "13 m h\n", 30, 0}, /* of no run of the sweep */
};

static void make_runs(void)
{
    for (size_t i = 0; i < sizeof trained / sizeof trained[0]; i++) {
        const struct timespec time = {trained[i].seconds, trained[i].nanoseconds};
        char path[64];
        fgt_ok(fgi_folder_make(trained[i].folder, &err));
        (void)snprintf(path, sizeof path, "%s/lock", trained[i].folder);
        fgt_write(path, trained[i].lock, strlen(trained[i].lock));
        assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){time, time}, 0), 0);
    }
    fgt_write("swept/in/sweep.json", "{}", 2); /* a sweep in a sweep: its runs are not meant */
}

#define UNSEEN "; whether it still runs cannot be seen from this host\n"

/* `last` is the run that began last, of those that train; of a sweep, it is that of its runs. */
static void last_is_a_run_that_trains(void **state)
{
    char before[512];
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    const stop_options options = {.no_wait = true, .talk = talk};
    assert_int_equal(stop_run("last", &options, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "last: no run in the folder 'runs' is training");
    make_runs();
    fgt_ok(stop_run("last", &options, &err));
    was_heard("'runs/b': asked process 1 on host 'h' to save and stop" UNSEEN);
    assert_true(fgi_stop_is_asked("runs/b"));
    assert_false(fgi_stop_is_asked("runs/a"));
    fgt_write("swept/sweep.json", "{}", 2);
    fgt_ok(stop_run("swept", &options, &err));
    was_heard("'swept/lr=1': asked process 11 on host 'h' to save and stop" UNSEEN);
    assert_int_equal(rename("swept", "runs/swept"), 0);
    fgt_ok(stop_run("last", &options, &err));
    was_heard("'runs/swept/lr=1': asked process 11 on host 'h' to save and stop" UNSEEN);
    fgt_write("runs/swept/lr=1/lock", "", 0);
    fgt_ok(stop_run("runs/swept", &options, &err));
    was_heard("'runs/swept/lr=3': asked another process to save and stop" UNSEEN);
    fgt_write("runs/swept/lr=3/lock", "", 0);
    assert_int_equal(stop_run("runs/swept", &options, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "'runs/swept': no run of this sweep is training");
    assert_int_equal(chdir(before), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(nothing_to_stop, begin, end),
    cmocka_unit_test_setup_teardown(a_dead_holder_is_named, begin, end),
    cmocka_unit_test(only_positive_numbers_are_processes),
    cmocka_unit_test_setup_teardown(another_host_is_asked, begin, end),
    cmocka_unit_test_setup_teardown(a_new_run_is_not_stopped_by_an_old_request, begin, end),
    cmocka_unit_test_setup_teardown(the_end_is_awaited, begin, end),
    cmocka_unit_test_setup_teardown(mistakes_are_named, begin, end),
    cmocka_unit_test_setup_teardown(a_folder_in_use, begin, end),
    cmocka_unit_test_setup_teardown(the_folder_of_a_new_run, begin, end),
    cmocka_unit_test_setup_teardown(last_is_a_run_that_trains, begin, end),
};
FGT_MAIN(tests)
