/* test_ckpt_crash.c - a writer that is killed. A child saves, points and prunes; it is ended right
 * before its first, second, third ... system call that changes the disk, and each time a reader
 * must find a whole checkpoint: the old one or the new one. The calls are caught by defining them
 * here, before the C library's own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/series.h"

enum { KILLED = 99, FAILED = 98 };

static long calls_left = -1;  /* negative: no limit */
static bool has_no_exchange;  /* simulates a file system that cannot exchange folders */
static int good_renames = -1; /* that many succeed, then one fails; negative: all succeed */

static void count_call(void)
{
    if (calls_left == 0)
        _exit(KILLED);
    if (calls_left > 0)
        calls_left--;
}

/* The C library's function behind one of ours. */
static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

/* a function pointer from dlsym, without the cast that ISO C forbids */
#define REAL(type, name)                                                                           \
    type function;                                                                                 \
    void *object = real(name);                                                                     \
    count_call();                                                                                  \
    memcpy(&function, &object, sizeof(function))

ssize_t write(int fd, const void *data, size_t size)
{
    typedef ssize_t write_fn(int, const void *, size_t);
    REAL(write_fn *, "write");
    return function(fd, data, size > 60 ? size / 2 : size); /* short writes, too */
}

/* A process that ends loses nothing that it has written, so fsync is not needed. */
int fsync(int fd)
{
    count_call();
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int rename(const char *from, const char *to)
{
    typedef int rename_fn(const char *, const char *);
    REAL(rename_fn *, "rename");
    if (good_renames >= 0 && good_renames-- == 0) {
        errno = EIO;
        return -1;
    }
    return function(from, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    typedef int renameat2_fn(int, const char *, int, const char *, unsigned);
    REAL(renameat2_fn *, "renameat2");
    if (has_no_exchange) {
        errno = EINVAL;
        return -1;
    }
    return function(from_fd, from, to_fd, to, flags);
}

int unlink(const char *path)
{
    typedef int unlink_fn(const char *);
    REAL(unlink_fn *, "unlink");
    return function(path);
}

int rmdir(const char *path)
{
    typedef int rmdir_fn(const char *);
    REAL(rmdir_fn *, "rmdir");
    return function(path);
}

int mkdir(const char *path, mode_t mode)
{
    typedef int mkdir_fn(const char *, mode_t);
    REAL(mkdir_fn *, "mkdir");
    return function(path, mode);
}

/* One checkpoint whose weight and whose state.json are the step. */
static fg_status save(const char *folder, const char *name, int step, fg_error *err)
{
    char path[512], json[32];
    const int32_t value = step;
    const fg_ckpt_tensor model = {"step", {.dtype = FG_S32}, &value};
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)snprintf(json, sizeof(json), "{\"step\": %d}", step);
    const fg_ckpt_content content = {.model = &model, .model_count = 1, .state_json = json};
    const fg_status status = fg_ckpt_save(path, &content, err);
    return status == FG_OK ? fgi_ckpt_point(folder, "last", name, err) : status;
}

/* Steps 2 to 4 of a run whose step 1 is saved: 3 replaces 2's folder. */
static fg_status go_on(const char *folder, fg_error *err)
{
    fg_status status = save(folder, "b", 2, err);
    if (status == FG_OK)
        status = save(folder, "b", 3, err);
    if (status == FG_OK)
        status = save(folder, "c", 4, err);
    return status == FG_OK ? fgi_ckpt_prune(folder, 1, NULL, 0, err) : status;
}

/* The step of the checkpoint that a resumed run would use. */
static int last_step(const char *folder)
{
    fg_error err = {0};
    char *path, json[32];
    fg_ckpt *ckpt;
    int32_t step;
    fgt_ok(fgi_ckpt_resolve(folder, "last", &path, &err));
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    fgi_free(path);
    memcpy(&step, fg_ckpt_data(ckpt, 0), sizeof(step));
    (void)snprintf(json, sizeof(json), "{\"step\": %d}", (int)step);
    assert_string_equal(fg_ckpt_state_json(ckpt), json);
    fg_ckpt_close(ckpt);
    return step;
}

/* Ends a run before its n-th call; true if the run completed instead. */
static bool run_until(const char *folder, long n)
{
    const pid_t child = fork();
    if (child == 0) {
        calls_left = n;
        _exit(go_on(folder, NULL) == FG_OK ? 0 : FAILED);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KILLED);
    return WEXITSTATUS(status) == 0;
}

static void check_every_end(void)
{
    fg_error err = {0};
    int before = 1;
    bool is_through = false;
    const char *all = fgt_temp_folder();
    for (long n = 0; !is_through; n++) {
        char folder[512];
        (void)snprintf(folder, sizeof(folder), "%s/%ld", all, n);
        fgt_ok(save(folder, "a", 1, &err));
        is_through = run_until(folder, n);
        const int step = last_step(folder);
        assert_true(step >= before && step <= 4); /* the later the end, the newer the state */
        before = step;
        if (n % 4 != 0)
            continue;
        assert_true(run_until(folder, -1)); /* and the run can be resumed */
        assert_int_equal(last_step(folder), 4);
        struct stat info;
        assert_int_equal(stat(folder, &info), 0);
        assert_int_equal(info.st_nlink, 3); /* only "c": all leftovers are removed */
    }
    assert_int_equal(before, 4);
}

static void any_end_leaves_a_whole_checkpoint(void **state)
{
    has_no_exchange = false;
    check_every_end();
}

static void also_where_folders_cannot_be_exchanged(void **state)
{
    has_no_exchange = true;
    check_every_end();
    has_no_exchange = false;
}

/* The old checkpoint keeps its name if either of the two renames fails, and nothing else remains;
 * without a failure, the new checkpoint has the name. */
static void a_failed_replacement_leaves_the_old_one(void **state)
{
    for (int failing = 0; failing <= 2; failing++) {
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fgt_ok(save(folder, "a", 1, &err));
        has_no_exchange = true;
        good_renames = failing;
        const int32_t value = 2;
        const fg_ckpt_tensor model = {"step", {.dtype = FG_S32}, &value};
        const fg_ckpt_content content = {
            .model = &model, .model_count = 1, .state_json = "{\"step\": 2}"};
        const fg_status status = fg_ckpt_save(fgt_path(folder, "a"), &content, &err);
        has_no_exchange = false;
        good_renames = -1;
        assert_int_equal(status, failing < 2 ? FG_EIO : FG_OK);
        if (failing < 2)
            assert_non_null(
                strstr(err.message, failing == 0 ? "cannot move aside" : "cannot replace"));
        assert_int_equal(last_step(folder), failing < 2 ? 1 : 2);
        assert_int_equal(fgt_count_entries(folder), 2); /* a, last */
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_failed_replacement_leaves_the_old_one),
    cmocka_unit_test(any_end_leaves_a_whole_checkpoint),
    cmocka_unit_test(also_where_folders_cannot_be_exchanged),
};
FGT_MAIN(tests)
