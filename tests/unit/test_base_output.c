/* test_base_output.c - writing through a path: files, also behind links, are replaced atomically;
 * devices, FIFOs and descriptors are written to directly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/temporary.h"

static void assert_content(const char *path, const char *expected)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_string_equal(data, expected);
    fgi_free(data);
}

static mode_t kind_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & S_IFMT;
}

static void bad_arguments_are_refused(void **state)
{
    fg_error err = {0};
    assert_int_equal(fg_file_write(NULL, "x", 1, &err), FG_EINVAL);
    assert_int_equal(fg_file_write("", "x", 1, &err), FG_EINVAL);
    assert_int_equal(fg_file_write("/nowhere/x", NULL, 1, &err), FG_EINVAL);
    assert_int_equal(fg_file_write("/nowhere/at/all/x", "x", 1, &err), FG_ENOTFOUND);
}

/* The target is replaced in its folder, and the links remain links. */
static void links_are_followed(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *there = fgt_path(folder, "there");
    const char *direct = fgt_path(folder, "direct"), *far = fgt_path(folder, "far");
    fgt_ok(fgi_folder_make(there, &err));
    fgt_write(fgt_path(there, "target"), "old", 3);
    assert_int_equal(symlink("there/target", direct), 0);
    assert_int_equal(symlink(direct, far), 0);
    fgt_ok(fg_file_write(far, "new", 3, &err));
    assert_true(S_ISLNK(kind_of(far)) && S_ISLNK(kind_of(direct)));
    assert_content(fgt_path(there, "target"), "new");
    assert_int_equal(fgt_count_entries(there), 1);
    assert_int_equal(fgt_count_entries(folder), 3);
    /* a link to a file that does not exist yet */
    assert_int_equal(unlink(fgt_path(there, "target")), 0);
    fgt_ok(fg_file_write(direct, "next", 4, &err));
    assert_true(S_ISLNK(kind_of(direct)));
    assert_content(fgt_path(there, "target"), "next");
    const char *loop = fgt_path(folder, "loop");
    assert_int_equal(symlink("loop", loop), 0);
    assert_int_equal(fg_file_write(loop, "x", 1, &err), FG_EIO);
    fgt_message_is(err.message, "cannot write '~/loop': Too many levels of symbolic links");
}

/* "29" leads to "28", and so on to "0", which is a file. */
static void many_links_are_followed(void **state)
{
    fg_error err = {0};
    char first[300], from[320], to[16];
    (void)snprintf(first, sizeof first, "%s/0", fgt_temp_folder());
    fgt_write(first, "old", 3);
    for (int i = 1; i < 30; i++) {
        (void)snprintf(to, sizeof to, "%d", i - 1);
        (void)snprintf(from, sizeof from, "%.*s%d", (int)strlen(first) - 1, first, i);
        assert_int_equal(symlink(to, from), 0);
    }
    fgt_ok(fg_file_write(from, "new", 3, &err));
    assert_content(first, "new");
    assert_true(S_ISLNK(kind_of(from)) && S_ISREG(kind_of(first)));
}

static void the_mode_is_kept(void **state)
{
    fg_error err = {0};
    struct stat info;
    const char *path = fgt_path(fgt_temp_folder(), "private");
    fgt_write(path, "old", 3);
    for (mode_t special = 0; special <= 01000; special += 01000) {
        assert_int_equal(chmod(path, special | 0640), 0);
        fgt_ok(fg_file_write(path, "new", 3, &err));
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 07777, special | 0640);
        assert_content(path, "new");
    }
}

static void a_device_stays_a_device(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *full = fgt_path(folder, "full");
    const char *null = fgt_path(folder, "null");
    const float value = 1;
    const fg_type f32 = {.dtype = FG_F32};
    const fg_ckpt_tensor tensor = {"w", f32, &value};
    assert_int_equal(symlink("/dev/full", full), 0);
    assert_int_equal(symlink("/dev/null", null), 0);
    assert_int_equal(fg_file_write(full, "x", 1, &err), FG_EIO);
    fgt_message_is(err.message, "cannot write '~/full': No space left on device");
    fgt_ok(fg_file_write(null, "x", 1, &err));
    assert_int_equal(fg_safetensors_write(full, &tensor, 1, NULL, &err), FG_EIO);
    fgt_ok(fg_safetensors_write(null, &tensor, 1, NULL, &err));
    assert_int_equal(fg_npy_write(full, &f32, &value, &err), FG_EIO);
    fgt_ok(fg_npy_write(null, &f32, &value, &err));
    assert_true(S_ISLNK(kind_of(full)) && S_ISLNK(kind_of(null)));
    assert_true(kind_of("/dev/full") == S_IFCHR && kind_of("/dev/null") == S_IFCHR);
    assert_int_equal(fgt_count_entries(folder), 2);
}

static void *read_fifo(void *path)
{
    static char text[64];
    const int fd = open(path, O_RDONLY);
    const ssize_t got = read(fd, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    (void)close(fd);
    return text;
}

static void a_fifo_passes_it_on(void **state)
{
    fg_error err = {0};
    char path[512];
    pthread_t reader;
    void *text = NULL;
    (void)snprintf(path, sizeof path, "%s/fifo", fgt_temp_folder());
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_fifo, path), 0);
    fgt_ok(fg_file_write(path, "through", 7, &err));
    assert_int_equal(pthread_join(reader, &text), 0);
    assert_string_equal(text, "through");
    assert_true(kind_of(path) == S_IFIFO);
}

/* `{ first; program --out=/dev/stdout; last; } > file`: all three are in it. */
static void descriptors_are_written_where_they_are(void **state)
{
    static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (int i = 0; i < 3; i++) {
        const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "file");
        const pid_t child = fork();
        if (child == 0) {
            const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            if (dup2(fd, 1) != 1 || write(1, "first ", 6) != 6)
                _exit(1);
            if (fg_file_write(names[i], "middle", 6, NULL) != FG_OK || write(1, " last", 5) != 5)
                _exit(2);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_content(path, "first middle last");
        assert_int_equal(fgt_count_entries(folder), 1);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names_are_taken_apart_again(void **state)
{
    static const struct {
        const char *name;
        size_t length;
    } rows[] = {
        {"a.tmp.0123456789abcdef-12-0", 1},
        {"step-1.tmp.77", 6},
        {"a.old.0123456789abcdef-12-0", 0},
        {"a.tmp.0123456789abcde-12-0", 0},
        {"a.tmp.0123456789abcdef-0-0", 0},
        {"a.tmp.0123456789abcdef-12", 0},
        {"a.tmp.0123456789abcdef-12-x", 0},
        {".tmp.0123456789abcdef-12-0", 0},
        {"a.tmp.notes", 0},
        {"a.tmp.-3", 0},
        {"a.tmp.0", 0},
        {"tmp.3", 0},
        {"a", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (fgi_temporary_base(rows[i].name, "tmp") != rows[i].length)
            fail_msg("'%s': %zu", rows[i].name, fgi_temporary_base(rows[i].name, "tmp"));
    char *first = fgi_temporary_name("x/abc", "tmp"), *second = fgi_temporary_name("x/abc", "tmp");
    assert_int_equal(fgi_temporary_base(first + 2, "tmp"), 3);
    assert_string_not_equal(first, second);
    assert_true(fgi_temporary_is_abandoned("x", first + 2)); /* this process writes no such file */
    fgi_free(first);
    fgi_free(second);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    fg_error err = {0};
    void *data = &err;
    size_t size;
    const char *path = fgt_path(fgt_temp_folder(), "bytes");
    fgt_ok(fg_file_write(path, "a\0b", 3, &err));
    fgt_ok(fg_file_read(path, &data, &size, &err));
    assert_int_equal(size, 3);
    assert_memory_equal(data, "a\0b", 4); /* and a NUL */
    fg_free(data);
    assert_int_equal(fg_file_read("/nowhere/x", &data, &size, &err), FG_ENOTFOUND);
    assert_null(data);
    fg_free(NULL);
}

/* What fg_file_write could replace or write to; nothing is changed. */
static void files_are_checked_before_they_are_written(void **state)
{
    static const struct {
        const char *path, *reason; /* NULL: it can be written */
    } rows[] = {{"", "No such file or directory"},
                {"/", "Is a directory"},
                {"/tmp", "Is a directory"},
                {"/nowhere/x", "No such file or directory"},
                {"/dev/null", NULL}};
    fg_error err = {0};
    char message[128];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_status status = fgi_file_check(rows[i].path, &err);
        assert_int_equal(status, rows[i].reason == NULL ? FG_OK : FG_EIO);
        (void)snprintf(message, sizeof message, "cannot write '%s': %s", rows[i].path,
                       rows[i].reason);
        if (status != FG_OK)
            assert_string_equal(err.message, message);
    }
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "new");
    fgt_ok(fgi_file_check(path, &err));
    assert_int_equal(fgt_count_entries(folder), 0);
    fgt_ok(fg_file_write(path, NULL, 0, &err)); /* no content */
    fgt_ok(fgi_file_check(path, &err));
    assert_content(path, "");
}

static void errors_of_callers_are_set(void **state)
{
    (void)state;
    fg_error err = {.line = 7, .file = "x"};
    assert_int_equal(fg_error_set(&err, FG_EFORMAT, "%s %d", "record", 3), FG_EFORMAT);
    assert_true(err.status == FG_EFORMAT && err.line == 0 && err.file == NULL);
    assert_string_equal(err.message, "record 3");
    assert_int_equal(fg_error_set(NULL, FG_EIO, "%500d", 3), FG_EIO);
    assert_int_equal(fg_error_set(&err, FG_EIO, "%600d", 3), FG_EIO);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_written_is_read),
    cmocka_unit_test(files_are_checked_before_they_are_written),
    cmocka_unit_test(errors_of_callers_are_set),
    cmocka_unit_test(bad_arguments_are_refused),
    cmocka_unit_test(links_are_followed),
    cmocka_unit_test(many_links_are_followed),
    cmocka_unit_test(the_mode_is_kept),
    cmocka_unit_test(a_device_stays_a_device),
    cmocka_unit_test(a_fifo_passes_it_on),
    cmocka_unit_test(descriptors_are_written_where_they_are),
    cmocka_unit_test(names_are_taken_apart_again),
};
FGT_MAIN(tests)
