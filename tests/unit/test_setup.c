/* test_setup.c - `fulgurite setup` with a pip of the test's own: a shell script that is called as
 * Python would be, and provides what the test needs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "setup.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

static char home[512], share[512], python[512], script_log[512];

/* Finds the argument after --target, notes the call, then does `body` with $target set. */
static void write_python(const char *body)
{
    char script[2048];
    snprintf(script, sizeof script,
             "#!/bin/sh\n"
             "echo \"$@\" >>'%s'\n"
             "while [ $# -gt 0 ]; do [ \"$1\" = --target ] && target=$2; shift; done\n"
             "folder=$target/xla_plugins/xla_cpu_pjrt\n"
             "%s\n",
             script_log, body);
    fgt_write(python, script, strlen(script));
    assert_int_equal(chmod(python, 0755), 0);
}

static const char good_body[] = "mkdir -p \"$folder\"\n"
                                "cp '" FGT_BINARY_DIR "/fakepjrt.so' \"$folder/xla_cpu_pjrt.so\"\n"
                                "echo Successfully installed";

static void write_pins(const char *text)
{
    fgt_write(fgt_path(share, "plugins/cpu.txt"), text, strlen(text));
}

static int begin(void **state)
{
    (void)state;
    fg_error err = {0};
    static int number;
    char folder[600];
    const char *root = fgt_temp_folder();
    snprintf(home, sizeof home, "%.400s/home%d", root, number++);
    snprintf(share, sizeof share, "%.400s/share", root);
    snprintf(python, sizeof python, "%.400s/python", root);
    snprintf(script_log, sizeof script_log, "%.400s/calls", root);
    snprintf(folder, sizeof folder, "%s/plugins", share);
    fgt_ok(fgi_folder_make(folder, &err));
    fgt_write(script_log, "", 0);
    write_pins("xla-cpu-pjrt==1 --hash=sha256:00\n");
    write_python(good_body);
    setenv("FULGURITE_SHARE", share, 1);
    return 0;
}

static fg_status install(setup_result *out, bool again, fg_error *err)
{
    const setup_options opt = {.home = home, .python = python, .again = again};
    return setup_install("cpu", &opt, out, err);
}

/* How often the script was called, and that the last call was as it must be. */
static int calls(void)
{
    fg_error err = {0};
    char *text;
    size_t size;
    int lines = 0;
    fgt_ok(fgi_file_read(script_log, 1 << 16, &text, &size, &err));
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (lines > 0) {
        assert_non_null(strstr(text, "-m pip install "));
        assert_non_null(strstr(text, "--no-deps --require-hashes --only-binary :all: --target "));
        assert_non_null(strstr(text, "/pins.txt"));
    }
    fgi_free(text);
    return lines;
}

/* The names in home/plugins: nothing but "cpu" may remain, whatever happened. */
static bool is_tidy(void)
{
    char command[700];
    snprintf(command, sizeof command, "test -z \"$(ls -A '%s/plugins' | grep -v '^cpu$')\"", home);
    return system(command) == 0;
}

static void plugin_is_installed_once(void **state)
{
    (void)state;
    fg_error err = {0};
    setup_result result;
    char path[700];
    snprintf(path, sizeof path, "%s/plugins/cpu/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", home);
    fgt_ok(install(&result, false, &err));
    assert_string_equal(result.plugin_path, path);
    assert_false(result.was_there);
    assert_true(fgi_file_exists(path));
    fgt_ok(install(&result, false, &err));
    assert_true(result.was_there);
    assert_string_equal(result.plugin_path, path);
    assert_int_equal(calls(), 1);
    fgt_ok(install(&result, true, &err));
    assert_false(result.was_there);
    assert_int_equal(calls(), 2);
    assert_true(is_tidy());
    struct stat st;
    snprintf(path, sizeof path, "%s/plugins/cpu", home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
}

static void new_pins_replace_the_old_plugin(void **state)
{
    (void)state;
    fg_error err = {0};
    setup_result result;
    char old_file[700];
    snprintf(old_file, sizeof old_file, "%s/plugins/cpu/old", home);
    fgt_ok(install(NULL, false, &err));
    fgt_write(old_file, "x", 1);
    write_pins("xla-cpu-pjrt==2 --hash=sha256:00\n");
    fgt_ok(install(&result, false, &err));
    assert_false(result.was_there);
    assert_false(fgi_file_exists(old_file));
    assert_true(is_tidy());
}

/* The list that pip was given, as the script saw it. */
static void assert_pins(const char *wanted)
{
    fg_error err = {0};
    char *text, path[700];
    size_t size;
    snprintf(path, sizeof path, "%s/plugins/cpu/pins.txt", home);
    fgt_ok(fgi_file_read(path, 1 << 16, &text, &size, &err));
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(text, wanted, size);
    fgi_free(text);
}

static void compiler_alone_leaves_out_what_runs(void **state)
{
    (void)state;
    static const char compiler[] = "# License: A\nxla-cpu-pjrt==1 --hash=sha256:00\n";
    static const char all[] = "# License: A\nxla-cpu-pjrt==1 --hash=sha256:00\n"
                              "# To run. License: B\nlibraries==1 --hash=sha256:00\n";
    fg_error err = {0};
    setup_result result;
    setup_options opt = {.home = home, .python = python, .compiler_only = true};
    write_pins(all);
    fgt_ok(setup_install("cpu", &opt, &result, &err));
    assert_pins(compiler);
    fgt_ok(setup_install("cpu", &opt, &result, &err));
    assert_true(result.was_there);
    opt.compiler_only = false; /* more than is there */
    fgt_ok(setup_install("cpu", &opt, &result, &err));
    assert_false(result.was_there);
    assert_pins(all);
    opt.compiler_only = true; /* less than is there */
    fgt_ok(setup_install("cpu", &opt, &result, &err));
    assert_true(result.was_there);
    assert_pins(all);
    assert_true(is_tidy());
}

/* libtpu's wheel does not depend on the version of Python; its terms are printed before. */
static void license_heard_first(void *self, fg_log_level level, const char *line)
{
    (void)level;
    int *heard = self;
    if (strstr(line, "Google Cloud Platform") && *heard == 0)
        *heard = 1;
    if (strncmp(line, "pip: ", 5) == 0 && *heard == 1)
        *heard = 2;
}

static void libtpu_comes_for_any_python(void **state)
{
    (void)state;
    fg_error err = {0};
    int heard = 0;
    char *text;
    size_t size;
    const setup_options opt = {.home = home, .python = python};
    setenv("FULGURITE_SHARE", FGT_SOURCE_DIR "/share", 1); /* the real list */
    write_python("mkdir -p \"$target/libtpu\"; echo Collecting libtpu\n"
                 "cp '" FGT_BINARY_DIR "/fakepjrt.so' \"$target/libtpu/libtpu.so\"");
    fg_log_set(license_heard_first, &heard);
    const fg_status status = setup_install("tpu", &opt, NULL, &err);
    fg_log_set(NULL, NULL);
    fgt_ok(status);
    assert_int_equal(heard, 2);
    fgt_ok(fgi_file_read(script_log, 1 << 16, &text, &size, &err));
    assert_non_null(strstr(text, "--python-version 3.11 --implementation cp --abi cp311"));
    fgi_free(text);
}

static void failed_download_leaves_the_old_plugin(void **state)
{
    (void)state;
    fg_error err = {0};
    setup_result result;
    fgt_ok(install(&result, false, &err));
    const char *plugin = result.plugin_path;
    write_python("mkdir -p \"$folder\"; echo Collecting; echo 'ERROR: THESE PACKAGES DO NOT MATCH "
                 "THE HASHES'; echo '    Got 11'; exit 1");
    assert_int_equal(install(&result, true, &err), FG_EPLUGIN);
    assert_string_equal(err.message, "pip could not install the plugin 'cpu': ERROR: THESE "
                                     "PACKAGES DO NOT MATCH THE HASHES");
    assert_string_equal(plugin, "");
    assert_true(is_tidy());
    fgt_ok(install(&result, false, &err));
    assert_true(result.was_there);
}

static void what_came_is_looked_at(void **state)
{
    (void)state;
    fg_error err = {0};
    write_python("true");
    assert_int_equal(install(NULL, false, &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "after installing 'cpu' with pip: plugin '"));
    assert_non_null(strstr(err.message, "does not exist"));
    write_python("mkdir -p \"$folder\"; head -c 1000 '" FGT_BINARY_DIR
                 "/fakepjrt.so' >\"$folder/xla_cpu_pjrt.so\"");
    assert_int_equal(install(NULL, false, &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "is truncated"));
    write_python("kill -9 $$");
    assert_int_equal(install(NULL, false, &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "no output from pip"));
    assert_true(is_tidy());
}

static void missing_pip_says_what_to_do(void **state)
{
    (void)state;
    fg_error err = {0};
    write_python("echo '/usr/bin/python3: No module named pip' >&2; exit 1");
    assert_int_equal(install(NULL, false, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "python3 has no pip: pip is required"));
    assert_non_null(strstr(err.message, "apt-get install python3-pip"));
    assert_int_equal(unlink(python), 0);
    assert_int_equal(install(NULL, false, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "python3 was not found: pip is required"));
    assert_true(is_tidy());
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    static const char *const names[] = {"", "abacus", "../cpu", "cpu.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(setup_install(names[i], &(setup_options){0}, NULL, &err), FG_ENOTFOUND);
    assert_string_equal(err.message,
                        "unknown plugin 'cpu.txt': expected cpu, tpu, cuda12 or cuda13");
    assert_int_equal(setup_install("cuda12", &(setup_options){0}, NULL, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "no plugin 'cuda12': '"));
    assert_int_equal(calls(), 0);
}

static void unusable_home_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fgt_write(home, "a file", 6);
    assert_int_equal(install(NULL, false, &err), FG_EIO);
    assert_int_equal(calls(), 0);
}

static void pip_is_heard_in_the_log(void *self, fg_log_level level, const char *line)
{
    (void)level;
    if (strcmp(line, "pip: Successfully installed") == 0)
        ++*(int *)self;
}

static void log_reports_what_pip_says(void **state)
{
    (void)state;
    fg_error err = {0};
    int heard = 0;
    fg_log_set(pip_is_heard_in_the_log, &heard);
    const fg_status status = install(NULL, false, &err);
    fg_log_set(NULL, NULL);
    fgt_ok(status);
    assert_int_equal(heard, 1);
}

static fg_status install_anew(void *self, fg_error *err)
{
    (void)self;
    return install(NULL, true, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(install_anew, NULL);
    assert_true(is_tidy());
}

/* FULGURITE_PLUGIN names a plugin that is used for all accelerators; elsewhere nothing is found. */
static void missing_compilers_are_listed_once(void **state)
{
    fg_error err = {0};
    const setup_missing *missing[SETUP_COMPILERS];
    size_t count = 9;
    (void)state;
    setenv("FULGURITE_HOME", home, 1);
    setenv("FULGURITE_PLUGIN", "nowhere.so", 1);
    fgt_ok(setup_find_missing("v5e-8,h100", missing, &count, &err));
    assert_int_equal(count, 0);
    unsetenv("FULGURITE_PLUGIN");
    memset(missing, 0xff, sizeof missing);
    fgt_ok(setup_find_missing("h100:8,h100,h200", missing, &count, &err));
    assert_true(count <= 1); /* a plugin may be installed in Python's folders */
    if (count == 1) {
        assert_string_equal(missing[0]->name, "cuda13");
        assert_string_equal(missing[0]->command, "fulgurite setup --compile-only cuda13");
        assert_true(missing[0]->compiler_only);
    }
    unsetenv("FULGURITE_HOME");
    static const char *const bad[] = {"", "v5e-8,", ",h100", "h100,,v5e-8", "h100,nothing"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(setup_find_missing(bad[i], missing, &count, &err), FG_OK);
        assert_int_equal(count, 0);
    }
    assert_int_equal(setup_find_missing("", missing, &count, &err), FG_EINVAL);
    assert_string_equal(err.message, "expected 1 to 64 names separated by commas");
}

static void machines_are_at_most_64(void **state)
{
    const setup_missing *missing[SETUP_COMPILERS];
    size_t count;
    fg_error err = {0};
    (void)state;
    char names[65 * 5] = "h100";
    for (int named = 1; named < 64; named++)
        memcpy(names + strlen(names), ",h100", sizeof ",h100");
    fgt_ok(setup_find_missing(names, missing, &count, &err));
    memcpy(names + strlen(names), ",h100", sizeof ",h100");
    assert_int_equal(setup_find_missing(names, missing, &count, &err), FG_EINVAL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(plugin_is_installed_once, begin),
    cmocka_unit_test_setup(new_pins_replace_the_old_plugin, begin),
    cmocka_unit_test_setup(compiler_alone_leaves_out_what_runs, begin),
    cmocka_unit_test_setup(libtpu_comes_for_any_python, begin),
    cmocka_unit_test_setup(failed_download_leaves_the_old_plugin, begin),
    cmocka_unit_test_setup(what_came_is_looked_at, begin),
    cmocka_unit_test_setup(missing_pip_says_what_to_do, begin),
    cmocka_unit_test_setup(unknown_names_are_refused, begin),
    cmocka_unit_test_setup(unusable_home_is_reported, begin),
    cmocka_unit_test_setup(log_reports_what_pip_says, begin),
    cmocka_unit_test_setup(every_allocation_may_fail, begin),
    cmocka_unit_test_setup(missing_compilers_are_listed_once, begin),
    cmocka_unit_test_setup(machines_are_at_most_64, begin),
};
FGT_MAIN(tests)
