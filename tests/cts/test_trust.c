/* test_trust.c - a plugin that computes wrong results is found and refused; a correct one is
 * checked once. The wrong plugin (tests/wrongpjrt) changes what is read from the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "pjrt/pjrt.h"
#include "trust/trust.h"
#include "wrongpjrt/wrong_control.h"

#define WRONG FGT_BINARY_DIR "/wrongpjrt.so"

/* Programs of cases, updates, and communication. */
enum { UPDATES = FGI_CHECK_PROGRAMS, DEVICES, PROGRAMS };
#ifdef __SANITIZE_ADDRESS__ /* which makes the loops on the host slow */
enum { MUTATIONS = 20, LEAST_FOUND = 19 };
#else
enum { MUTATIONS = 200, LEAST_FOUND = 190 };
#endif

static char said[800], before[800]; /* the last line, and the one before */

static void hear(void *self, const char *line)
{
    (void)self;
    memcpy(before, said, sizeof before);
    (void)snprintf(said, sizeof said, "%s", line);
}

static int find_plugin(void **state)
{
    static fg_plugin_candidate places[16];
    size_t count = 0;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_plugin_search(&(fg_client_options){.accelerator = "cpu"}, places, 16, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (places[i].exists)
            return setenv("WRONGPJRT_PLUGIN", places[i].path, 1) +
                   setenv("FULGURITE_PLUGIN_CHECK", "on", 1);
    return 1;
}

static fg_client *open_plugin(const char *plugin, const char *cache, const char *devices)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fgt_ok(fg_client_open(
        &(fg_client_options){
            .accelerator = "cpu", .plugin_path = plugin, .cache_dir = cache, .devices = devices},
        &client, &err));
    return client;
}

/* ---- mutations ------------------------------------------------------------------------------- */

static fgi_check_report check_program(fg_trace **traces, int program)
{
    fgi_check_report report = {0};
    fg_error err = {0};
    if (program == UPDATES)
        fgt_ok(fgi_check_updates(traces[program], &report, &err));
    else if (program == DEVICES)
        fgt_ok(fgi_check_devices(traces[program], &report, &err));
    else
        fgt_ok(fgi_check_cases(traces[program], &fgi_check_programs[program], &report, &err));
    return report;
}

/* Reads of each program, without a change. */
static int64_t count_reads(fg_trace **traces, int64_t *reads)
{
    int64_t total = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        wrong_set(WRONG, WRONG_NEVER, 0, 0);
        const fgi_check_report r = check_program(traces, i);
        if (r.wrong > 0 || r.unchecked[0])
            fail_msg("program %d: %s %g %s", i, r.worst, r.worst_error, r.unchecked);
        assert_true(r.checked > 0);
        total += reads[i] = wrong_reads(WRONG);
    }
    return total;
}

static void most_mutations_are_found(void **state)
{
    static const char *const kinds[] = {"scale", "negate", "swap", "zeros", "nan"};
    fg_error err = {0};
    fg_trace *traces[PROGRAMS];
    int64_t reads[PROGRAMS];
    int found = 0;
    (void)state;
    fg_client *one = open_plugin(WRONG, "", "1"), *four = open_plugin(WRONG, "", "4");
    for (int i = 0; i < PROGRAMS; i++)
        fgt_ok(fg_trace_create(i == DEVICES ? four : one, &traces[i], &err));
    const int64_t total = count_reads(traces, reads);
    srand48(2711);
    for (int i = 0; i < MUTATIONS; i++) {
        int64_t read = lrand48() % total;
        int program = 0;
        for (; read >= reads[program]; program++)
            read -= reads[program];
        const int kind = i % WRONG_KINDS;
        wrong_set(WRONG, read, kind, (uint64_t)lrand48());
        const fgi_check_report r = check_program(traces, program);
        found += r.wrong > 0;
        if (r.wrong == 0)
            print_message("not found: %s of read %lld of program %d\n", kinds[kind],
                          (long long)read, program);
    }
    wrong_set(WRONG, WRONG_NEVER, 0, 0);
    print_message("%d of %d mutations of %lld results were found\n", found, MUTATIONS,
                  (long long)total);
    assert_true(found >= LEAST_FOUND);
    for (int i = 0; i < PROGRAMS; i++)
        fg_trace_destroy(traces[i]);
    fg_client_close(one);
    fg_client_close(four);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Opens the plugin, and whether the check ran. */
static bool runs(const char *plugin, const char *cache, const char *devices,
                 fg_check_result *result)
{
    fg_error err = {0};
    fg_client *client = open_plugin(plugin, cache, devices);
    said[0] = '\0';
    fgt_ok(fg_client_check(client, &(fg_check_options){.say = hear}, result, &err));
    const fg_client_stats stats = fg_client_stats_of(client);
    assert_int_equal(stats.compiles + stats.executions + stats.host_reads, 0);
    assert_int_equal(fg_client_compiles(client, NULL, 0), 0);
    assert_int_equal(stats.uploaded_bytes, 0);
    fg_client_close(client);
    return result->was_run;
}

/* The line that was said about `plugin` starts with its verdict, and ends so. */
static void assert_said(const char *plugin, const char *end)
{
    char start[200];
    int operations = 0;
    assert_int_equal(sscanf(said, "checked %d operations", &operations), 1);
    (void)snprintf(start, sizeof start,
                   "checked %d operations of plugin '%s': all results are correct (", operations,
                   plugin);
    if (strncmp(said, start, strlen(start)) != 0 || strstr(said, end) == NULL)
        fail_msg("%s", said);
}

/* A copy of the wrong plugin, which changes nothing, with some bytes behind it. A file that is
 * loaded must be replaced, not written to. */
static const char *copy_plugin(const char *folder, const char *more)
{
    char command[2000];
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/copied_cpu.so", folder);
    (void)snprintf(command, sizeof command,
                   "cp '%s' '%s.new' && printf '%s' >>'%s.new' && mv '%s.new' '%s'", WRONG, path,
                   more, path, path, path);
    assert_int_equal(system(command), 0);
    return path;
}

static void right_plugin_is_checked_once(void **state)
{
    char cache[300], programs[320];
    fg_check_result r;
    (void)state;
    (void)snprintf(cache, sizeof cache, "%s", fgt_temp_folder());
    (void)snprintf(programs, sizeof programs, "%s/programs", cache);
    const char *plugin = copy_plugin(cache, "");
    assert_true(runs(plugin, cache, "1", &r));
    assert_int_equal(r.wrong, 0);
    assert_string_equal(r.worst, "");
    assert_said("copied_cpu.so", " s)");
    assert_null(strstr(said, "every start"));
    assert_false(fgi_file_exists(programs)); /* its programs are not kept */
    const int operations = r.operations;
    assert_true(operations > 60);
    assert_false(runs(plugin, cache, "1", &r));
    assert_string_equal(said, "");
    /* with several devices, only the communication is new */
    assert_true(runs(plugin, cache, "2", &r));
    assert_true(r.operations > 0 && r.operations < 10);
    assert_false(runs(plugin, cache, "2", &r));
    /* the same content in another file is known, another content is not */
    (void)copy_plugin(cache, "");
    assert_false(runs(plugin, cache, "1", &r));
    (void)copy_plugin(cache, "x");
    assert_true(runs(plugin, cache, "1", &r));
}

/* As if the process had ended during the check. */
static void plugin_that_crashed_is_named(void **state)
{
    char cache[300];
    fg_error err = {0};
    fg_check_result r;
    (void)state;
    (void)snprintf(cache, sizeof cache, "%s", fgt_temp_folder());
    fg_client *client = open_plugin(WRONG, cache, "1");
    fgt_ok(fgi_verdict_record(client, fgi_check_mark, &err));
    assert_true(runs(WRONG, cache, "1", &r));
    assert_said("wrongpjrt.so", " s)");
    assert_string_equal(before, "an earlier check of plugin 'wrongpjrt.so' has not ended: if it "
                                "crashes again, use another plugin (fulgurite setup), or skip the "
                                "check with FULGURITE_PLUGIN_CHECK=off");
    assert_false(fgi_verdict_is_known(client, fgi_check_mark));
    fg_client_close(client);
}

static void unwritable_folder_is_said(void **state)
{
    const char *file = fgt_path(fgt_temp_folder(), "file");
    fg_check_result r;
    (void)state;
    fgt_write(file, "", 0);
    char cache[300];
    (void)snprintf(cache, sizeof cache, "%s", file);
    assert_true(runs(WRONG, cache, "1", &r));
    assert_said("wrongpjrt.so", " s); repeated at every start: ");
    assert_non_null(strstr(said, "/file"));
}

/* ---- refusal --------------------------------------------------------------------------------- */

static void wrong_plugin_is_refused(void **state)
{
    char cache[300];
    fg_error err = {0};
    fg_check_result r;
    (void)state;
    (void)snprintf(cache, sizeof cache, "%s", fgt_temp_folder());
    fg_client *client = open_plugin(WRONG, cache, "1");
    wrong_set(WRONG, WRONG_ALWAYS, WRONG_NAN, 1);
    assert_int_equal(fg_client_check(client, NULL, &r, &err), FG_EPLUGIN);
    wrong_set(WRONG, WRONG_NEVER, 0, 0);
    assert_non_null(strstr(err.message, "/wrongpjrt.so' computes wrong results: "));
    assert_non_null(strstr(err.message, " operations are wrong\n"
                                        "use another plugin (fulgurite setup); "
                                        "FULGURITE_PLUGIN_CHECK=off skips this check"));
    assert_non_null(strstr(err.message, ": NaN or infinite; "));
    assert_true(r.was_run && r.wrong > 50 && r.wrong <= r.operations);
    fg_client_close(client);
    /* that is not kept: the plugin may have been right, and the memory wrong */
    assert_true(runs(WRONG, cache, "1", &r));
}

static void variable_disables_it(void **state)
{
    fg_error err = {0};
    fg_check_result r;
    (void)state;
    fg_client *client = open_plugin(WRONG, "", "1");
    wrong_set(WRONG, WRONG_ALWAYS, WRONG_NEGATE, 1);
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "off", 1), 0);
    fgt_ok(fg_client_check(client, &(fg_check_options){.repeat = true}, &r, &err));
    assert_false(r.was_run);
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "no", 1), 0);
    assert_int_equal(fg_client_check(client, NULL, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "FULGURITE_PLUGIN_CHECK is 'no': expected on or off");
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "on", 1), 0);
    wrong_set(WRONG, WRONG_NEVER, 0, 0);
    fg_client_close(client);
    assert_int_equal(fg_client_check(NULL, NULL, NULL, &err), FG_EINVAL);
}

/* By an error that needs no run of the check. */
static void trainer_checks_the_plugin(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    const fg_trainer_options options = {.devices.cache_dir = "", .devices.accelerator = "cpu"};
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "no", 1), 0);
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    assert_int_equal(fg_trainer_connect(trainer, &err), FG_EINVAL);
    assert_string_equal(err.message, "FULGURITE_PLUGIN_CHECK is 'no': expected on or off");
    assert_null(fg_trainer_client(trainer));
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "off", 1), 0);
    fgt_ok(fg_trainer_connect(trainer, &err));
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "on", 1), 0);
    fg_trainer_destroy(trainer);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return fgi_alloc_live() == 0 ? 0 : 1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(most_mutations_are_found, nothing_is_left),
    cmocka_unit_test_teardown(right_plugin_is_checked_once, nothing_is_left),
    cmocka_unit_test_teardown(plugin_that_crashed_is_named, nothing_is_left),
    cmocka_unit_test_teardown(unwritable_folder_is_said, nothing_is_left),
    cmocka_unit_test_teardown(wrong_plugin_is_refused, nothing_is_left),
    cmocka_unit_test_teardown(variable_disables_it, nothing_is_left),
    cmocka_unit_test_teardown(trainer_checks_the_plugin, nothing_is_left),
};

int main(void) { return cmocka_run_group_tests(tests, find_plugin, NULL) == 0 ? 0 : 1; }
