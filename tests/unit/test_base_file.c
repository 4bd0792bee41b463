/* test_base_file.c - files, folders, atomic replacement, threads and the clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"

static void check_content(const char *path, const char *wanted)
{
    fg_error err;
    char *data;
    size_t size;
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_int_equal(size, strlen(wanted));
    assert_string_equal(data, wanted);
    fgi_free(data);
}

static void mapping_shows_the_file(void **state)
{
    fg_error err;
    fgi_mapping mapping;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a");
    fgt_write(path, "one\0two", 7);
    fgt_ok(fgi_file_map(path, &mapping, &err));
    assert_int_equal(mapping.size, 7);
    assert_memory_equal(mapping.data, "one\0two", 7);
    fgi_file_unmap(&mapping);
    assert_null(mapping.data);
    fgi_file_unmap(&mapping);
    fgt_write(path, "", 0);
    fgt_ok(fgi_file_map(path, &mapping, &err));
    assert_null(mapping.data);
    assert_int_equal(mapping.size, 0);
    fgi_file_unmap(&mapping);
}

static void unreadable_files_are_named(void **state)
{
    fg_error err;
    fgi_mapping mapping;
    char *data, wanted[600];
    size_t size;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "missing");
    assert_int_equal(fgi_file_map(path, &mapping, &err), FG_ENOTFOUND);
    assert_null(mapping.data);
    snprintf(wanted, sizeof(wanted), "cannot open '%s': No such file or directory", path);
    assert_string_equal(err.message, wanted);
    assert_int_equal(fgi_file_read(path, 10, &data, &size, &err), FG_ENOTFOUND);
    assert_null(data);
    fgt_write(fgt_path(folder, "regular"), "x", 1);
    assert_int_equal(fgi_file_read(fgt_path(folder, "regular/x"), 10, &data, &size, &err),
                     FG_ENOTFOUND);
    assert_int_equal(fgi_file_read(folder, 10, &data, &size, &err), FG_EIO);
    fgt_message_is(err.message, "cannot read '~': it is a folder");
    assert_int_equal(fgi_file_map("/dev/null", &mapping, &err), FG_EIO);
    assert_string_equal(err.message, "cannot map '/dev/null': not a regular file");
    const char *fifo = fgt_path(folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(fgi_file_map(fifo, &mapping, &err), FG_EIO); /* does not wait for a writer */
    assert_false(fgi_file_exists(path));
    assert_true(fgi_file_exists(folder));
}

static void reading_stops_at_the_limit(void **state)
{
    fg_error err;
    char *data;
    size_t size;
    const char *path = fgt_path(fgt_temp_folder(), "a");
    fgt_write(path, "12345", 5);
    fgt_ok(fgi_file_read(path, 5, &data, &size, &err));
    assert_int_equal(size, 5);
    assert_string_equal(data, "12345");
    fgi_free(data);
    assert_int_equal(fgi_file_read(path, 4, &data, &size, &err), FG_EFORMAT);
    assert_null(data);
    fgt_message_is(err.message, "'~/a' is larger than the 4 bytes allowed here");
    assert_int_equal(fgi_file_read("/dev/zero", 100000, &data, &size, &err), FG_EFORMAT);
    fgt_write(path, "", 0);
    fgt_ok(fgi_file_read(path, SIZE_MAX, &data, &size, &err));
    assert_string_equal(data, "");
    fgi_free(data);
    fgt_ok(fgi_file_read("/proc/self/maps", SIZE_MAX, &data, &size, &err)); /* says size 0 */
    assert_true(size > 100 && strlen(data) == size);
    fgi_free(data);
}

static void writing_replaces_the_whole_file(void **state)
{
    fg_error err;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a");
    fgt_ok(fgi_file_write_atomic(path, "first, longer", 13, &err));
    check_content(path, "first, longer");
    fgt_ok(fgi_file_write_atomic(path, "second", 6, &err));
    check_content(path, "second");
    fgt_ok(fgi_file_write_atomic(path, NULL, 0, &err));
    check_content(path, "");
    assert_int_equal(fgt_count_entries(folder), 1);
    assert_int_equal(chdir(folder), 0); /* a name without a folder */
    fgt_ok(fgi_file_write_atomic("b", "x", 1, &err));
    check_content("b", "x");
    assert_int_equal(chdir("/"), 0);
}

static void a_failed_write_keeps_the_old_file(void **state)
{
    fg_error err;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a");
    static char large[1 << 20];
    fgt_ok(fgi_file_write_atomic(path, "old", 3, &err));
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN); /* so that write fails with EFBIG */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const fg_status status = fgi_file_write_atomic(path, large, sizeof(large), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, FG_EIO);
    fgt_message_is(err.message, "cannot write '~/a': File too large");
    check_content(path, "old");
    assert_int_equal(fgt_count_entries(folder), 1); /* nothing left behind */
    const char *missing = fgt_path(folder, "no/such/b");
    assert_int_equal(fgi_file_write_atomic(missing, "x", 1, &err), FG_ENOTFOUND);
    const char *taken = fgt_path(folder, "folder");
    fgt_ok(fgi_folder_make(taken, &err));
    assert_int_equal(fgi_file_write_atomic(taken, "x", 1, &err), FG_EIO);
    assert_int_equal(fgt_count_entries(folder), 2);
}

static void write_all_names_the_failure(void **state)
{
    fg_error err;
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fgi_write_all(fd, "out.bin", "x", 1, &err), FG_EIO);
    close(fd);
    assert_string_equal(err.message, "cannot write 'out.bin': No space left on device");
}

static void on_alarm(int number) {}

/* Writes while a timer interrupts: a full pipe then gives short writes and EINTR. */
static int write_interrupted(int fd, const char *data, size_t size)
{
    const struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    const struct itimerval every = {{0, 3000}, {0, 3000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    return fgi_write_all(fd, "pipe", data, size, NULL) == FG_OK ? 0 : 1;
}

static void write_all_goes_on_after_short_writes(void **state)
{
    enum { SIZE = 1 << 20 };
    static char sent[SIZE], got[SIZE];
    int ends[2];
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (char)(i * 7 >> 3);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(write_interrupted(ends[1], sent, SIZE));
    }
    close(ends[1]);
    size_t size = 0;
    for (ssize_t more; (more = read(ends[0], got + size, SIZE - size)) > 0;) {
        size += (size_t)more;
        usleep(5000);
    }
    close(ends[0]);
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(size, SIZE);
    assert_memory_equal(sent, got, SIZE);
}

static void folders_are_made_and_removed(void **state)
{
    fg_error err;
    const char *folder = fgt_temp_folder();
    char inner[600], outside[600];
    snprintf(inner, sizeof(inner), "%s/x/y//z/", folder);
    snprintf(outside, sizeof(outside), "%s/keep", folder);
    fgt_ok(fgi_folder_make(inner, &err));
    fgt_ok(fgi_folder_make(inner, &err));
    fgt_ok(fgi_folder_sync(inner, &err));
    fgt_ok(fgi_folder_make(outside, &err));
    fgt_write(fgt_path(outside, "precious"), "1", 1);
    fgt_write(fgt_path(inner, "file"), "1", 1);
    assert_int_equal(symlink(outside, fgt_path(inner, "link")), 0);
    const char *top = fgt_path(folder, "x");
    fgt_ok(fgi_folder_remove(top, &err));
    assert_false(fgi_file_exists(top));
    assert_true(fgi_file_exists(fgt_path(outside, "precious"))); /* links are not followed */
    fgt_ok(fgi_folder_remove(top, &err));
    const char *file = fgt_path(outside, "precious");
    assert_int_equal(fgi_folder_make(file, &err), FG_EIO);
    fgt_message_is(err.message, "cannot create the folder '~/keep/precious': File exists");
    assert_int_equal(fgi_folder_make(fgt_path(file, "below"), &err), FG_EIO);
    assert_int_equal(fgi_folder_sync(top, &err), FG_ENOTFOUND);
}

static void paths_are_joined_with_one_slash(void **state)
{
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
    for (size_t i = 0; i < 4; i++) {
        char *path = fgi_path_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        fgi_free(path);
    }
}

static void folders_of_paths(void **state)
{
    static const char *const parents[][2] = {
        {"a/b", "a"}, {"b", "."}, {"/b", "/"}, {"a/b/c", "a/b"}};
    for (size_t i = 0; i < 4; i++) {
        char *parent = fgi_path_parent(parents[i][0]);
        assert_string_equal(parent, parents[i][1]);
        fgi_free(parent);
    }
}

static void files_are_in_folders(void **state)
{
    char folder[256], file[300], link[300];
    bool is_in = false;
    fg_error err = {0};
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(file, sizeof file, "%s/x/../nothing", folder);
    (void)snprintf(link, sizeof link, "%s/x/link", folder);
    fgt_ok(fgi_folder_make(fgt_path(folder, "x"), &err));
    assert_int_equal(symlink(folder, link), 0);
    fgt_ok(fgi_path_is_in(file, folder, &is_in, &err)); /* which need not exist */
    assert_true(is_in);
    fgt_ok(fgi_path_is_in(file, link, &is_in, &err));
    assert_true(is_in);
    fgt_ok(fgi_path_is_in(link, folder, &is_in, &err)); /* in a folder below it */
    assert_false(is_in);
    fgt_ok(fgi_path_is_in("", ".", &is_in, &err));
    assert_false(is_in);
    fgt_ok(fgi_path_is_in("a", ".", &is_in, &err));
    assert_true(is_in);
    fgt_ok(fgi_path_is_in("no/a", "no", &is_in, &err));
    assert_false(is_in);
}

static fg_status use_files(void *self, fg_error *err)
{
    const char *folder = self;
    char *path = fgi_path_join(folder, "file"), *data = NULL;
    size_t size;
    fg_status status = path == NULL ? FG_ENOMEM : fgi_folder_make(folder, err);
    if (path == NULL && err != NULL)
        err->status = FG_ENOMEM;
    if (status == FG_OK)
        status = fgi_file_write_atomic(path, "text", 4, err);
    if (status == FG_OK)
        status = fgi_file_read(path, 100, &data, &size, err);
    fgi_free(data);
    fgi_free(path);
    return status;
}

static void each_allocation_may_fail(void **state)
{
    char folder[256];
    snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
    fgt_fault_loop(use_files, folder);
    assert_int_equal(fgt_count_entries(folder), 1);
}

typedef struct worker {
    atomic_int runs;
    atomic_int block_term, block_segv; /* how many threads to start */
} worker;

static void *work(void *self)
{
    worker *w = self;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    atomic_fetch_add(&w->block_term, sigismember(&mask, SIGTERM));
    atomic_fetch_add(&w->block_segv, sigismember(&mask, SIGSEGV));
    for (int i = 0; i < 1000; i++) {
        fgi_free(fgi_alloc(1)); /* the counters are shared */
        atomic_fetch_add(&w->runs, 1);
    }
    return NULL;
}

static void threads_run_without_signals(void **state)
{
    fg_error err;
    worker w = {0};
    fgi_thread threads[4];
    sigset_t before, after;
    const long live = fgi_alloc_live();
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    for (int i = 0; i < 4; i++)
        fgt_ok(fgi_thread_start(&threads[i], work, &w, &err));
    for (int i = 0; i < 4; i++)
        fgi_thread_join(threads[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(atomic_load(&w.runs), 4000);
    assert_int_equal(atomic_load(&w.block_term), 4);
    assert_int_equal(atomic_load(&w.block_segv), 0);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    assert_int_equal(fgi_alloc_live(), live);
    fgi_alloc_fail_after(0);
    assert_int_equal(fgi_thread_start(&threads[0], work, &w, &err), FG_ENOMEM);
}

static void clock_and_conditions_agree(void **state)
{
    fg_error err;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    fgt_ok(fgi_mutex_init(&mutex, &err));
    fgt_ok(fgi_cond_init(&cond, &err));
    const int64_t start = fgi_now_ns(), until = start + 20 * 1000 * 1000;
    const struct timespec deadline = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    pthread_mutex_lock(&mutex);
    int result = 0;
    while (result == 0) /* spurious wakeup: keep waiting */
        result = pthread_cond_timedwait(&cond, &mutex, &deadline);
    pthread_mutex_unlock(&mutex);
    assert_int_equal(result, ETIMEDOUT);
    assert_true(fgi_now_ns() >= until);
    pthread_cond_destroy(&cond);
    pthread_mutex_destroy(&mutex);
}

static void the_name_of_a_path(void **state)
{
    static const char *const cases[][2] = {{"a/b/", "b"}, {"a/b", "b"}, {"b//", "b"},  {"/b", "b"},
                                           {"", ""},      {"/", ""},    {"a b", "a b"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const fgi_str name = fgi_path_name(cases[i][0]);
        if (!fgi_str_equal(name, cases[i][1]))
            fail_msg("'%s': '%.*s'", cases[i][0], (int)name.size, name.data);
    }
}

static void folders_are_listed_without_hidden_files(void **state)
{
    const char *folder = fgt_temp_folder();
    int seen = 0;
    (void)state;
    fgt_write(fgt_path(folder, "1"), "", 0);
    fgt_write(fgt_path(folder, "2"), "", 0);
    fgt_write(fgt_path(folder, ".4"), "", 0);
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (const struct dirent *e; (e = fgi_folder_next(&stream)) != NULL;)
        seen += e->d_name[0] - '0';
    assert_int_equal(seen, 3);
    assert_null(stream); /* closed */
    assert_null(fgi_folder_next(&stream));
}

static void sleeping_takes_as_long(void **state)
{
    (void)state;
    const double begin = fgi_now_s();
    fgi_sleep(0.02);
    assert_true(fgi_now_s() - begin >= 0.02);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(folders_of_paths),
    cmocka_unit_test(the_name_of_a_path),
    cmocka_unit_test(folders_are_listed_without_hidden_files),
    cmocka_unit_test(sleeping_takes_as_long),
    cmocka_unit_test(files_are_in_folders),
    cmocka_unit_test(mapping_shows_the_file),
    cmocka_unit_test(unreadable_files_are_named),
    cmocka_unit_test(reading_stops_at_the_limit),
    cmocka_unit_test(writing_replaces_the_whole_file),
    cmocka_unit_test(a_failed_write_keeps_the_old_file),
    cmocka_unit_test(write_all_names_the_failure),
    cmocka_unit_test(write_all_goes_on_after_short_writes),
    cmocka_unit_test(folders_are_made_and_removed),
    cmocka_unit_test(paths_are_joined_with_one_slash),
    cmocka_unit_test(each_allocation_may_fail),
    cmocka_unit_test(threads_run_without_signals),
    cmocka_unit_test(clock_and_conditions_agree),
};
FGT_MAIN(tests)
