/* test_doctor.c - fulgurite doctor as a program: its report, its exit status, its self-test, and
 * programs run with a corrected environment.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"
#include "machine.h"
#include "run_program.h"
#include "server.h"

#include <fulgurite/device.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

static machine m;

static const outcome *doctor_of(const char *name, int status, const char *more)
{
    char arguments[1200];
    machine_load(&m, fgt_path(fgt_temp_folder(), name), name);
    (void)snprintf(arguments, sizeof arguments, "doctor --root='%s' %s", m.root, more);
    const outcome *o = program_gives(status, NULL, arguments);
    machine_fini(&m);
    return o;
}

static void report_of_a_good_machine(void **state)
{
    (void)state;
    const outcome *o = doctor_of("kaggle_v5e-8", 0, "");
    contains(o->out, "platform  Kaggle notebook\n"
                     "tpu       TPU v5e, 8 chips = 8 devices of 17.2 GB; v5litepod-8, 2x4\n"
                     "host      40 processors, AMD EPYC 7B13, memory 402.7 GB (389.1 GB free), "
                     "/dev/shm 17.2 GB, /tmp ?");
    contains(o->out, "warning   TPU_PROCESS_ADDRESSES is 'local': here one process uses all chips "
                     "[stale-variable]\n          -> unset TPU_PROCESS_ADDRESSES\n");
    contains(o->out, "\nnothing is wrong\n");
    assert_string_equal(o->err, "");
}

static void exit_status_says_what_is_wrong(void **state)
{
    (void)state;
    const outcome *o = doctor_of("gce_v4-32", 1, "");
    contains(o->out, "host 2 of 4");
    contains(o->out, "wrong     this is host 2 of 4 in a slice of 16 chips (v4-32)");
    contains(o->out, "-> export TPU_VISIBLE_CHIPS=0,1,2,3 TPU_CHIPS_PER_PROCESS_BOUNDS=2,2,1 "
                     "TPU_PROCESS_BOUNDS=1,1,1\n");
}

static void report_as_json(void **state)
{
    (void)state;
    const outcome *o = doctor_of("kaggle_no_tpu", 1, "--json");
    json_t *root = json_loads(o->out, 0, NULL);
    assert_non_null(root);
    assert_true(json_is_true(json_object_get(root, "wrong")));
    assert_string_equal(json_string_value(json_object_get(root, "place")), "kaggle");
    assert_true(json_is_null(json_object_get(root, "tpu")));
    assert_true(json_is_null(json_object_get(root, "test")));
    const json_t *first = json_array_get(json_object_get(root, "findings"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "severity")), "wrong");
    assert_string_equal(json_string_value(json_object_get(first, "code")), "tpu-missing");
    json_decref(root);
    o = doctor_of("kaggle_v3-8", 0, "--json");
    root = json_loads(o->out, 0, NULL);
    const json_t *tpu = json_object_get(root, "tpu"), *fix = json_object_get(root, "fix");
    assert_int_equal(json_integer_value(json_object_get(tpu, "devices")), 8);
    assert_string_equal(json_string_value(json_object_get(tpu, "generation")), "v3");
    assert_true(json_is_null(json_object_get(fix, "CLOUD_TPU_TASK_ID")));
    assert_int_equal(json_object_size(fix), 3);
    json_decref(root);
}

static void fix_runs_with_fixed_variables(void **state)
{
    (void)state;
    char command[1200];
    /* the child has this process's variables with the changes that the findings suggest */
    assert_int_equal(setenv("TPU_PROCESS_ADDRESSES", "local", 1), 0);
    assert_int_equal(setenv("CLOUD_TPU_TASK_ID", "0", 1), 0);
    assert_int_equal(setenv("TPU_WORKER_ID", "7", 1), 0);
    const outcome *o =
        doctor_of("kaggle_v3-8", 5,
                  "--fix -- sh -c 'echo ${TPU_PROCESS_ADDRESSES-gone} ${CLOUD_TPU_TASK_ID-gone} "
                  "$TPU_WORKER_ID; exit 5'");
    assert_string_equal(o->out, "gone gone 7\n");
    contains(o->err, "fulgurite doctor: TPU_PROCESS_ADDRESSES is unset\n");
    (void)snprintf(command, sizeof command,
                   "--fix -- sh -c 'echo $TPU_ACCELERATOR_TYPE $TPU_CHIPS_PER_HOST_BOUNDS'");
    o = doctor_of("bare_v6e", 0, command);
    assert_string_equal(o->out, "v6e-4 2,2,1\n");
    assert_int_equal(unsetenv("TPU_PROCESS_ADDRESSES"), 0);
    assert_int_equal(unsetenv("CLOUD_TPU_TASK_ID"), 0);
    assert_int_equal(unsetenv("TPU_WORKER_ID"), 0);
    o = doctor_of("laptop", 127, "--fix -- /no/such/program");
    contains(o->err, "fulgurite doctor: cannot run '/no/such/program': No such file or directory");
}

static void mistakes_are_usage(void **state)
{
    (void)state;
    contains(program_gives(2, NULL, "doctor --fix")->err, "--fix requires a command");
    contains(program_gives(2, NULL, "doctor ls")->err, "a command requires --fix");
}

/* The report of each recorded machine, as text and as JSON. */
static void reports_are_as_they_were(void **state)
{
    (void)state;
    static const char *const names[] = {
        "bare_v6e",  "colab_v5e-1",   "gce_7x-16",   "gce_v4-32",    "gce_v5p-16",
        "gce_v5p-8", "kaggle_no_tpu", "kaggle_v3-8", "kaggle_v5e-8", "laptop"};
    char *all = NULL, arguments[1200];
    size_t size;
    FILE *out = open_memstream(&all, &size);
    assert_non_null(out);
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        const char *more = i % 2 == 0 ? "" : "--json";
        machine_load(&m, fgt_path(fgt_temp_folder(), names[i / 2]), names[i / 2]);
        (void)snprintf(arguments, sizeof arguments, "doctor --root='%s' %s", m.root, more);
        const outcome *o = program(NULL, arguments);
        (void)fprintf(out, "$ fulgurite doctor --root=%s %s # status %d\n%s\n", names[i / 2], more,
                      o->status, o->out);
        machine_fini(&m);
    }
    assert_int_equal(fclose(out), 0);
    fgt_golden("hosts/doctor.out", all);
    free(all);
}

/* On three devices: each multiplies its rows, and the mean requires all of them. */
static void devices_are_tested(void **state)
{
    (void)state;
    const outcome *o = program(
        NULL, "doctor --no-network --accelerator=cpu --devices=3 --json --data=" FGT_SOURCE_DIR
              "/share/data");
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *test = json_object_get(root, "test"), *data = json_object_get(root, "data");
    assert_true(json_is_true(json_object_get(test, "good")));
    assert_int_equal(json_integer_value(json_object_get(test, "devices")), 3);
    assert_string_equal(json_string_value(json_object_get(test, "kind")), "cpu");
    assert_true(json_integer_value(json_object_get(data, "files")) >= 2);
    assert_true(json_real_value(json_object_get(data, "seconds")) > 0);
    const json_t *plugins = json_object_get(root, "plugins");
    const json_t *cpu = json_array_get(plugins, 2);
    assert_string_equal(json_string_value(json_object_get(cpu, "accelerator")), "cpu");
    contains(json_string_value(json_object_get(cpu, "path")), "xla_cpu_pjrt.so");
    json_decref(root);
}

/* The CPU plugin, with programs as users compile them. */
static void plugin_is_checked(void **state)
{
    (void)state;
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "on", 1), 0);
    const outcome *o =
        program_gives(0, NULL, "doctor --no-network --accelerator=cpu --devices=2 --json");
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "off", 1), 0);
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *check = json_object_get(json_object_get(root, "test"), "check");
    assert_true(json_integer_value(json_object_get(check, "operations")) > 60);
    assert_int_equal(json_integer_value(json_object_get(check, "wrong")), 0);
    assert_true(json_is_null(json_object_get(check, "worst")));
    json_decref(root);
    contains(program_gives(0, NULL, "doctor --no-network --accelerator=cpu")->out,
             "check     skipped (FULGURITE_PLUGIN_CHECK=off)\n");
}

/* A plugin that negates one value (tests/wrongpjrt). */
static void plugin_that_computes_wrongly_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    size_t count = 0;
    static fg_plugin_candidate places[8];
    fgt_ok(fg_plugin_search(&(fg_client_options){.accelerator = "cpu"}, places, 8, &count, &err));
    size_t i = 0;
    while (i < count && i < 8 && !places[i].exists)
        i++;
    assert_true(i < count && i < 8);
    assert_int_equal(setenv("WRONGPJRT_PLUGIN", places[i].path, 1), 0);
    /* doctor's own test reads less than 20 arrays */
    assert_int_equal(setenv("WRONGPJRT", "20 1 3", 1), 0);
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/wrongpjrt.so", 1), 0);
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "on", 1), 0);
    assert_int_equal(setenv("XLA_FLAGS", "--xla_backend_optimization_level=0", 1), 0);
    const outcome *o = program_gives(1, NULL, "doctor --no-network --accelerator=cpu");
    assert_int_equal(setenv("FULGURITE_PLUGIN_CHECK", "off", 1), 0);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN") + unsetenv("WRONGPJRT") + unsetenv("XLA_FLAGS"),
                     0);
    contains(o->out, " operations in f32, bf16 and f64: FAILED (");
    contains(o->out, "wrong     plugin '" FGT_BINARY_DIR "/wrongpjrt.so' computes wrong results: ");
    contains(o->out, "; 1 of ");
    contains(o->out, "[wrong-results]\n"
                     "          -> export FULGURITE_PLUGIN=FILE.so\n");
}

/* The fake plugin computes nothing: its matmuls return zeros. */
static void device_that_computes_wrongly_is_named(void **state)
{
    (void)state;
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1), 0);
    const outcome *o = program_gives(1, NULL, "doctor --no-network");
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    contains(o->out, "FAILED");
    contains(o->out,
             "wrong     device 0 of fake device computes a matmul incorrectly [bad-matmul]");
}

/* The fake plugin blocks all work. */
static void device_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1), 0);
    assert_int_equal(setenv("FAKEPJRT", "hold=1", 1), 0);
    const outcome *o = program_gives(1, NULL, "doctor --no-network --timeout=0.5");
    assert_int_equal(unsetenv("FAKEPJRT"), 0);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    contains(o->out, "platform ");
    contains(o->out, "[test-hangs]");
    contains(program_gives(2, NULL, "doctor --timeout=soon")->err,
             "--timeout: expected a number greater than 0");
}

static void plugin_that_fails_is_a_finding(void **state)
{
    (void)state;
    assert_int_equal(setenv("FULGURITE_PLUGIN", "/nowhere/plugin.so", 1), 0);
    const outcome *o = program_gives(1, NULL, "doctor --no-network --json");
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    contains(o->out, "\"code\": \"test-failed\"");
    contains(o->out, "/nowhere/plugin.so");
}

/* The recorded server of tests/golden/tpu_metrics, asked by the program. */
static void counters_of_a_running_program(void **state)
{
    (void)state;
    static const char *const names[] = {"usage", "total", "duty"};
    static const char *const asks[] = {"hbm.memory.usage.bytes", "hbm.memory.total.bytes",
                                       "tensorcore.dutycycle.percent"};
    fg_error err = {0};
    fgi_mapping files[3];
    server s = {0};
    char path[512], arguments[128];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/tpu_metrics/%s.bin",
                       names[i]);
        fgt_ok(fgi_file_map(path, &files[i], &err));
        s.lines[i] = (server_line){asks[i], files[i].data, files[i].size};
    }
    server_start(&s);
    (void)snprintf(arguments, sizeof arguments, "devices --metrics=%s", s.address);
    const outcome *o = program_gives(0, NULL, arguments);
    contains(o->out, "  3  4.3 GB of 17.2 GB          87.2 %\n");
    (void)snprintf(arguments, sizeof arguments, "devices --json --metrics=%s", s.address);
    o = program_gives(0, NULL, arguments);
    contains(o->out, "\"duty_cycle\": 0.125");
    server_stop(&s);
    o = program_gives(1, NULL, arguments);
    contains(o->err, "fulgurite devices: http://127.0.0.1:");
    for (int i = 0; i < 3; i++)
        fgi_file_unmap(&files[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(report_of_a_good_machine),
    cmocka_unit_test(exit_status_says_what_is_wrong),
    cmocka_unit_test(report_as_json),
    cmocka_unit_test(reports_are_as_they_were),
    cmocka_unit_test(fix_runs_with_fixed_variables),
    cmocka_unit_test(mistakes_are_usage),
    cmocka_unit_test(devices_are_tested),
    cmocka_unit_test(plugin_is_checked),
    cmocka_unit_test(plugin_that_computes_wrongly_is_refused),
    cmocka_unit_test(device_that_computes_wrongly_is_named),
    cmocka_unit_test(device_that_does_not_answer_is_given_up),
    cmocka_unit_test(plugin_that_fails_is_a_finding),
    cmocka_unit_test(counters_of_a_running_program),
};
FGT_MAIN(tests)
