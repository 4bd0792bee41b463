/* test_pjrt_cache.c - compiled programs on disk: the components of the key, detection of damaged
 * files, eviction when the folder is full, location of the folder. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fulgurite/device.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fakepjrt/fake_control.h"
#include "pjrt/plugin.h"

static fake_control fake;

static const char text[] = "module @toy {\n"
                           "  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {\n"
                           "    return %arg0 : tensor<4xf32>\n"
                           "  }\n"
                           "}\n";

/* Opens a client, compiles, closes it; whether the program was loaded. */
static bool is_loaded(const char *cache, const char *program, const char *key)
{
    fg_error err = {0};
    fg_client *client;
    fgi_executable *e;
    const fg_client_options opt = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = cache};
    fgt_ok(fg_client_open(&opt, &client, &err));
    fgt_ok(fgi_compile(client, program, strlen(program), key, key != NULL ? strlen(key) : 0, NULL,
                       &e, &err));
    const fg_client_stats stats = fg_client_stats_of(client);
    assert_int_equal(stats.compiles + stats.compile_cache_hits, 1);
    fgi_executable_destroy(e);
    fg_client_close(client);
    return stats.compile_cache_hits == 1;
}

/* The only program file in the folder. */
static const char *only_file(const char *cache)
{
    static char path[512];
    int count = 0;
    DIR *folder = opendir(fgt_path(cache, "programs"));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/programs/%s", cache, entry->d_name);
            count++;
        }
    (void)closedir(folder);
    assert_int_equal(count, 1);
    return path;
}

static void all_that_goes_into_a_program_is_in_its_key(void **state)
{
    (void)state;
    static const char *const variables[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "PJRT_NPROC", "NPROC"};
    char other[512];
    const char *cache = fgt_temp_folder();
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        assert_int_equal(unsetenv(variables[i]),
                         0); /* also those that this test was started with */
    assert_false(is_loaded(cache, text, "key"));
    assert_true(is_loaded(cache, text, "key"));
    assert_false(is_loaded(cache, text, "kez"));
    assert_false(is_loaded(cache, text, "keyy"));
    (void)snprintf(other, sizeof(other), "%s\n", text);
    assert_true(is_loaded(cache, other, "key")); /* an explicit key is trusted */
    assert_false(is_loaded(cache, text, NULL));
    assert_false(is_loaded(cache, other, NULL));
    assert_true(is_loaded(cache, text, NULL));
    fake.set("devices", 2);
    assert_false(is_loaded(cache, text, "key"));
    fake.set("devices", 0);
    fake.set("kind", 1);
    assert_false(is_loaded(cache, text, "key"));
    fake.set("kind", 0);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        assert_int_equal(setenv(variables[i], "7", 1), 0);
        assert_false(is_loaded(cache, text, "key"));
        assert_true(is_loaded(cache, text, "key"));
        assert_int_equal(unsetenv(variables[i]), 0);
    }
    assert_true(is_loaded(cache, text, "key"));
}

/* After flipping any bit, or removing or adding a byte, the program is compiled again and the file
 * is intact afterwards. */
static void damage_is_found(void **state)
{
    (void)state;
    fg_error err = {0};
    char *data;
    size_t size;
    const char *cache = fgt_temp_folder();
    assert_false(is_loaded(cache, text, "key"));
    const char *path = only_file(cache);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    for (size_t i = 0; i < size; i += i < 64 ? 1 : size / 8) {
        data[i] ^= 4;
        fgt_write(path, data, size);
        data[i] ^= 4;
        if (is_loaded(cache, text, "key"))
            fail_msg("byte %zu of %zu is not looked at", i, size);
        assert_true(is_loaded(cache, text, "key"));
    }
    fgt_write(path, data, size - 1);
    assert_false(is_loaded(cache, text, "key"));
    fgt_write(path, data, 10);
    assert_false(is_loaded(cache, text, "key"));
    data[size] = '\0';
    fgt_write(path, data, size + 1);
    assert_false(is_loaded(cache, text, "key"));
    assert_true(is_loaded(cache, text, "key"));
    fgi_free(data);
}

/* A loaded program is executed, so files of other users are not loaded. */
static void a_file_of_another_user_is_not_loaded(void **state)
{
    (void)state;
    const char *cache = fgt_temp_folder();
    assert_false(is_loaded(cache, text, "key"));
    if (geteuid() != 0)
        return; /* only root can change the owner of files */
    assert_int_equal(chown(only_file(cache), 12345, -1), 0);
    assert_false(is_loaded(cache, text, "key"));
    assert_true(is_loaded(cache, text, "key")); /* replaced by our file */
}

/* ---- the folder's limit ---------------------------------------------------------------------- */

/* A sparse file of the given size, last used that long ago. */
static void place(const char *folder, const char *name, long long bytes, time_t seconds_ago)
{
    const char *path = fgt_path(folder, name);
    fgt_write(path, "", 0);
    assert_int_equal(truncate(path, bytes), 0);
    const time_t then = time(NULL) - seconds_ago;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_least_recently_used_go_first(void **state)
{
    (void)state;
    const long long mega = 1 << 20;
    fg_error err = {0};
    char folder[512];
    const char *cache = fgt_temp_folder();
    (void)snprintf(folder, sizeof(folder), "%s/programs", cache);
    fgt_ok(fgi_folder_make(folder, &err));
    place(folder, "b", 400 * mega, 200);
    place(folder, "a", 10 * mega, 300);
    place(folder, "c", 500 * mega, 100);
    place(folder, "d", 400 * mega, 50);
    assert_false(is_loaded(cache, text, "key")); /* 1,310 MB: without a and b they are few enough */
    assert_false(fgi_file_exists(fgt_path(folder, "a")));
    assert_false(fgi_file_exists(fgt_path(folder, "b")));
    assert_true(fgi_file_exists(fgt_path(folder, "c")));
    assert_true(fgi_file_exists(fgt_path(folder, "d")));
    assert_true(is_loaded(cache, text, "key"));
}

/* Up to 2^30 bytes are kept; one more byte is too much. A loaded program counts as used. */
static void the_limit_is_a_gibibyte(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char folder[512];
        struct stat st;
        const char *cache = fgt_temp_folder();
        assert_false(is_loaded(cache, text, "key"));
        const char *path = only_file(cache);
        const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_true(is_loaded(cache, text, "key"));
        (void)snprintf(folder, sizeof(folder), "%s/programs", cache);
        place(folder, "old", (1LL << 30) - 2 * st.st_size + more, 3600);
        assert_false(is_loaded(cache, text, "kez"));
        assert_int_equal(fgi_file_exists(fgt_path(folder, "old")), more == 0);
        assert_true(is_loaded(cache, text, "key"));
    }
}

/* ---- location -------------------------------------------------------------------------------- */

static void the_folder_follows_the_environment(void **state)
{
    (void)state;
    const char *home = fgt_temp_folder(), *xdg = fgt_temp_folder();
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", xdg, 1), 0);
    assert_false(is_loaded(NULL, text, "key"));
    assert_true(fgi_file_exists(fgt_path(xdg, "fulgurite/programs")));
    assert_int_equal(setenv("XDG_CACHE_HOME", "", 1), 0);
    assert_false(is_loaded(NULL, text, "key"));
    assert_true(fgi_file_exists(fgt_path(home, ".cache/fulgurite/programs")));
    assert_true(is_loaded(NULL, text, "key"));
    assert_int_equal(setenv("HOME", "", 1), 0); /* no home, no cache */
    assert_false(is_loaded(NULL, text, "key"));
    assert_false(is_loaded("", text, "key")); /* nor if it is turned off */
    assert_false(is_loaded("", text, "key"));
    const char *cache = fgt_temp_folder(); /* nor if the compiler is to write dumps */
    assert_int_equal(setenv("XLA_FLAGS", "--xla_dump_to=/dev/null", 1), 0);
    assert_false(is_loaded(cache, text, "key"));
    assert_false(is_loaded(cache, text, "key"));
    assert_int_equal(unsetenv("XLA_FLAGS"), 0);
}

/* A folder that cannot be created is not an error: programs are compiled each time. */
static void no_place_for_a_cache(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "file"), "", 0);
    char cache[512];
    (void)snprintf(cache, sizeof(cache), "%s/file/cache", folder);
    assert_false(is_loaded(cache, text, "key"));
    assert_false(is_loaded(cache, text, "key"));
}

static int nothing_is_alive(void **state)
{
    (void)state;
    const bool alive = fgi_alloc_live() != 0 || fake.get("programs") != 0;
    fake.reset();
    return alive;
}

#define CASE(test) cmocka_unit_test_teardown(test, nothing_is_alive)

static const struct CMUnitTest tests[] = {
    CASE(all_that_goes_into_a_program_is_in_its_key),
    CASE(damage_is_found),
    CASE(a_file_of_another_user_is_not_loaded),
    CASE(the_least_recently_used_go_first),
    CASE(the_limit_is_a_gibibyte),
    CASE(no_place_for_a_cache),
    CASE(the_folder_follows_the_environment),
};

int main(void) { return fake_open(&fake) ? cmocka_run_group_tests(tests, NULL, NULL) != 0 : 1; }
