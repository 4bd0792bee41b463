/* test_plan_process.c - planning in a separate process: what it is started with, how it can end,
 * and signals while it runs. Shell scripts take the place of the program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resources.h"
#include "input/json_file.h"
#include "pjrt/plugin.h"
#include "plan_process.h"
#include "recipe/run/run.h"
#include "recipe/plan/run_plan.h"
#include "report/run_view.h"
#include "train/trainer.h"

#define PLAN "echo '{\"topologies\": [{\"name\": \"v5e-8\", \"fits\": true}]}'\n"

/* A script that behaves as `body` says. */
static const char *script(const char *body)
{
    char text[1024];
    const char *path = fgt_path(fgt_temp_folder(), "program");
    const int size = snprintf(text, sizeof(text), "#!/bin/sh\n%s", body);
    fgt_write(path, text, (size_t)size);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

/* A plan as text, until the next one. */
static const char *text_of(json_t *take_plan)
{
    static fgi_buf text;
    fgi_buf_fini(&text);
    if (take_plan != NULL)
        assert_true(fgi_json_write(take_plan, 0, &text));
    json_decref(take_plan);
    return text.data;
}

static const char *plan_one(const plan_process *process)
{
    fg_error err = {0};
    json_t *plan = NULL;
    fgt_ok(plan_process_one(process, "v5e-8", &plan, &err));
    return text_of(plan);
}

static const char *plan_each(const plan_process *process, const char *machines)
{
    fg_error err = {0};
    json_t *plan = NULL;
    bool is_common;
    fgt_ok(plan_process_each(process, machines, &plan, &is_common, &err));
    return text_of(plan);
}

/* What the plan of such a process has; no process is left behind. */
static void expect(plan_process process, const char *part)
{
    const char *plan = plan_one(&process);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    if (strstr(plan, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, plan);
}

static void the_program_gets_the_options(void **state)
{
    (void)state;
    const char *const overrides[] = {"trainer.seed=3", "model.hidden=[8, 9]"};
    plan_process process = {.program = script("printf '{\"topologies\": [{\"args\": \"'\n"
                                              "printf '%s;' \"$@\"\nprintf '\"}]}'\n"),
                            .config = "run.yaml",
                            .overrides = overrides,
                            .override_count = 2,
                            .options = {.no_search = true, .sweep = {(int64_t[]){8, 16}, 2}},
                            .is_quiet = true};
    assert_non_null(strstr(plan_one(&process),
                           "\"plan;--in-process;--json;--topology=v5e-8;--quiet;--no-search;"
                           "--sweep=8;--sweep=16;run.yaml;--trainer.seed=3;"
                           "--model.hidden=[8, 9];\""));
    process.options = (fg_plan_options){.sweep = {(int64_t[]){1 << 24}, 1}};
    assert_non_null(strstr(plan_one(&process), ";--quiet;--sweep=16777216;run.yaml;"));
}

/* Also with as many overrides as a command line may have. */
static void no_option_is_lost(void **state)
{
    (void)state;
    static const char *overrides[CLI_MAX_OVERRIDES];
    const plan_process process = {
        .program = script("echo \"{\\\"topologies\\\": [$#]}\"\n"),
        .config = "run.yaml",
        .overrides = overrides,
        .override_count = CLI_MAX_OVERRIDES,
        .options = {.no_search = true, .sweep = {(int64_t[]){8}, 1}, .loader = {9, "decode", 0.5}},
        .is_quiet = true};
    for (int i = 0; i < CLI_MAX_OVERRIDES; i++)
        overrides[i] = "trainer.seed=3";
    assert_string_equal(plan_one(&process), "{\"topologies\": [267]}");
}

/* Whatever ends the process, the plan says it. */
static void ends_are_reported(void **state)
{
    (void)state;
    expect((plan_process){.program = script(PLAN)}, "\"fits\": true");
    expect((plan_process){.program = script("kill -SEGV $$")},
           "\"error\": \"the compiler crashed (signal 11)\"");
    expect((plan_process){.program = script("kill -SEGV $$")}, "\"every_machine\": false");
    expect((plan_process){.program = script("kill -HUP $$\nkill -INT $$\nkill -QUIT $$\n"
                                            "kill -TERM $$\n" PLAN)},
           "\"fits\": true");
    expect((plan_process){.program = script("echo '{\"topologies\": [{}, {}]}'")},
           "\"error\": \"the compiler's process ended without a result\"");
    expect((plan_process){.program = script("echo no plan")},
           "\"error\": \"the compiler's process ended without a result\"");
    expect((plan_process){.program = script("exec sleep 600"), .time_limit_s = 0.01},
           "\"error\": \"the compiler has not finished after 0.01 s (--time-limit)\"");
    expect((plan_process){.program = script("exec sleep 600"), .memory_limit_bytes = 1000},
           "used more than 1.0 kB of this host's memory");
    expect((plan_process){.program = "/no/such/program"},
           "\"error\": \"cannot start '/no/such/program': No such file or directory\"");
}

static void mistakes_are_errors(void **state)
{
    (void)state;
    fg_error err = {0};
    json_t *plan = NULL;
    const plan_process usage = {.program = script("exit 2")};
    assert_int_equal(plan_process_one(&usage, "v5e-8", &plan, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "': the planning process rejected the configuration or an "
                                        "option: see its message on standard error"));
    assert_null(plan);
}

/* The loader is the same for all machines: the first process measures it, unless its rate is given.
 */
static void the_loader_is_measured_once(void **state)
{
    (void)state;
    plan_process process = {
        .program = script("echo '{\"topologies\": [{\"input_measured_samples_per_s\": 700, "
                          "\"input_stage\": \"decode\", \"input_stage_fraction\": 0.5, "
                          "\"args\": \"'$*'\"}]}'\n")};
    const char *plan = plan_each(&process, "v5e-8,v3-8,v5e-4");
    assert_non_null(strstr(plan, "--topology=v5e-8\""));
    assert_non_null(strstr(
        plan, "--topology=v3-8 --input-rate=700 --input-stage=decode --input-fraction=0.5\""));
    assert_non_null(strstr(
        plan, "--topology=v5e-4 --input-rate=700 --input-stage=decode --input-fraction=0.5\""));
    process.options.loader.samples_per_s = 650;
    plan = plan_each(&process, "v5e-8,v3-8,v5e-4");
    assert_non_null(strstr(plan, "--topology=v5e-8 --input-rate=650\""));
    assert_non_null(strstr(plan, "--topology=v3-8 --input-rate=650\""));
}

static const struct {
    fg_loader_rate loader;
    bool is_good;
} loaders[] = {
    {{0}, true},
    {{0.5, NULL, 0}, true},
    {{1e300, "read", 0}, true},
    {{7, "copy", 1}, true},
    {{FG_ZERO, NULL, 0}, false},
    {{-1, NULL, 0}, false},
    {{(double)INFINITY, NULL, 0}, false},
    {{(double)NAN, NULL, 0}, false},
    {{7, "", 0.5}, false},
    {{7, "decode", 1.1}, false},
    {{7, "decode", -0.1}, false},
    {{7, "decode", (double)NAN}, false},
};

static void rates_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loaders / sizeof loaders[0]; i++) {
        fg_error err = {0};
        const fg_plan_options options = {.topology = "v5e-8", .loader = loaders[i].loader};
        if ((fgi_run_plan_check(&options, &err) == FG_OK) != loaders[i].is_good)
            fail_msg("%zu", i);
        assert_string_equal(err.message,
                            loaders[i].is_good
                                ? ""
                                : "loader: expected a number of samples per second above 0, the "
                                  "name of a stage, and a fraction from 0 to 1");
    }
}

static const struct {
    double fraction;
    bool is_alone;
    const char *stage;
    const char *verdict;
} verdicts[] = {
    {1000, true, NULL, "this host delivers more than 100 times the required rate"},
    {100.5, false, NULL, "a host like this one delivers more than 100 times the required rate"},
    {100, true, "decode", "this host delivers 100 times the required rate"},
    {1, true, "decode", "this host delivers 1 times the required rate"},
    {0.999, true, NULL,
     "this host delivers 99 % of the required rate, so the devices would wait: use smaller "
     "samples, a larger host or several hosts"},
    {0.125, false, "decode",
     "a host like this one delivers 12 % of the required rate and spends 25 % of the loader's time "
     "on decoding, so the devices would wait: use smaller samples or larger hosts"},
};

static void conclusions_from_rates(void **state)
{
    (void)state;
    char text[240];
    fg_recipe r = {.folder = NULL};
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        fgi_plan_put_verdict(o, &r, verdicts[i].fraction, verdicts[i].is_alone, verdicts[i].stage,
                             0.25);
        assert_string_equal(json_string_value(json_object_get(o, "input_verdict")),
                            verdicts[i].verdict);
    }
    for (int fewer = 0; fewer < 2; fewer++) { /* threads than processors, which are used all */
        r.fit_data.workers = fgi_cpu_count() - fewer;
        (void)snprintf(text, sizeof text, ": trainer.workers can be up to %d here",
                       fgi_cpu_count());
        fgi_plan_put_verdict(o, &r, 0.5, true, NULL, 0);
        const char *verdict = json_string_value(json_object_get(o, "input_verdict"));
        assert_int_equal(strstr(verdict, text) != NULL, fewer == 1 && r.fit_data.workers > 0);
    }
    json_decref(o);
}

/* 100 samples of 8 bytes in 0.1 s: 1000 per second, of which each of two hosts loads the half. If
 * both use the same samples, each loads all. */
static void a_host_loads_its_part(void **state)
{
    (void)state;
    static const float x[8] = {0};
    static const fg_field field = {"x", {.dtype = FG_F32, .rank = 1, .dim = {2}}};
    static fg_client client;
    static fg_trainer trainer = {.client = &client};
    const fg_plan plan = {.global_batch_size = 100, .step_s = 0.1};
    fg_error err = {0};
    fg_recipe r = {.plan_options.loader = {250, "decode", 0.5}, .trainer = &trainer};
    fgt_ok(
        fg_dataset_from_arrays(&(fg_dataset_spec){.count = 4, .fields = &field, .field_count = 1},
                               (const void *const[]){x}, FG_BORROW, &r.data.train, &err));
    for (int shards = 1; shards <= 2; shards++) {
        json_t *o = json_object();
        client.info.host_count = 2;
        client.info.mesh.batch_shards = shards;
        fgi_plan_put_input(o, &r, &plan);
        fgt_close("all", fgi_json_number(o, "input_needed_samples_per_s"), 1000, 1e-9, 0);
        fgt_close("host", fgi_json_number(o, "input_host_samples_per_s"), 1000 / shards, 1e-9, 0);
        fgt_close("bytes", fgi_json_number(o, "input_host_bytes_per_s"), 8000 / shards, 1e-9, 0);
        fgt_close("fraction", fgi_json_number(o, "input_fraction"), 0.25 * shards, 1e-9, 0);
        assert_memory_equal(fgi_json_words(o, "input_verdict"),
                            shards == 1 ? "a host like this one delivers 25 % of"
                                        : "a host like this one delivers 50 % of",
                            37);
        json_decref(o);
    }
    fg_dataset_destroy(r.data.train);
}

/* What planning the machines says and prints, in its order; valid until the next call. */
static const char *heard(plan_process process, const char *machines, bool *out_is_common)
{
    static char *text;
    size_t size;
    fg_error err = {0};
    json_t *plan = NULL;
    free(text);
    process.talk = process.results = open_memstream(&text, &size);
    fgt_ok(plan_process_each(&process, machines, &plan, out_is_common, &err));
    assert_int_equal(fclose(process.talk), 0);
    json_decref(plan);
    return text;
}

static const char *after(const char *text, const char *part)
{
    const char *at = text != NULL ? strstr(text, part) : NULL;
    if (at == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
    return at + strlen(part);
}

/* v5e-8 and v5e:2x4 are the same machine, which is planned once. */
static void machines_are_planned_once(void **state)
{
    (void)state;
    bool is_common = true;
    const plan_process process = {.program = script(PLAN)};
    const char *text = heard(process, "v5e-8,v3-8,v5e:2x4", &is_common);
    assert_false(is_common);
    text = after(text, "v5e-8: compiling the training step\nv5e-8");
    text = after(text, "v3-8: compiling the training step\nv3-8");
    assert_null(strstr(text, "compiling"));
    (void)after(text, "v5e:2x4");
    text = plan_each(&process, "v5e-8,v3-8,v5e:2x4");
    (void)after(text, "\"status\": \"done\"");
    (void)after(text, "\"same_as\": \"v5e-8\"");
    text = plan_each(&(plan_process){.program = script("kill -SEGV $$")}, "v5e-8,v3-8");
    (void)after(text, "\"status\": \"failed\"");
}

/* As many names as there are places for, all of one machine; and one more. */
static void machines_are_at_most_64(void **state)
{
    (void)state;
    const plan_process process = {.program = script(PLAN)};
    char names[65 * 6 + 1] = "v5e-8";
    for (int count = 2; count <= 65; count++) {
        fg_error err = {0};
        json_t *plan = NULL;
        bool is_common;
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), ",v5e-8");
        if (count < 64)
            continue;
        const fg_status status = plan_process_each(&process, names, &plan, &is_common, &err);
        assert_int_equal(status, count == 64 ? FG_OK : FG_EINVAL);
        assert_string_equal(err.message,
                            count == 64 ? "" : "expected 1 to 64 names separated by commas");
        assert_int_equal(json_array_size(json_object_get(plan, "topologies")), count % 65);
        json_decref(plan);
    }
}

/* From `first`, one less each. */
static const struct {
    int64_t first;
    size_t count;
    bool is_good;
} sweeps[] = {
    {0, 0, true},        {1, 1, true},         {64, 2, true},
    {1 << 24, 32, true}, {1 << 24, 33, false}, {(1 << 24) + 1, 1, false},
    {0, 1, false},       {1, 2, false},        {FG_NONE, 1, false},
};

static void batch_sizes_are_checked(void **state)
{
    fg_plan_options options = {.topology = "v5e-8"};
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        int64_t sizes[33];
        for (int k = 0; k < 33; k++)
            sizes[k] = sweeps[i].first > 0 ? sweeps[i].first - k : sweeps[i].first;
        options.sweep = (fg_ints){sizes, sweeps[i].count};
        err = (fg_error){0};
        if ((fgi_run_plan_check(&options, &err) == FG_OK) != sweeps[i].is_good)
            fail_msg("%zu", i);
        assert_string_equal(
            err.message,
            sweeps[i].is_good ? "" : "sweep: expected at most 32 batch sizes from 1 to 16777216");
    }
    options.topology = NULL;
    assert_int_not_equal(fgi_run_plan_check(&options, &err), FG_OK);
    assert_string_equal(err.message, "to plan, name a machine: set topology");
}

/* A reason that does not depend on the machine ends planning, and is the result for all. */
static void common_failures_are_reported_once(void **state)
{
    (void)state;
    bool is_common = false;
    const plan_process process = {.program =
                                      script("echo '{\"topologies\": [{\"error\": \"no data\"}], "
                                             "\"every_machine\": true}'\n")};
    assert_string_equal(heard(process, "v5e-8,v3-8", &is_common),
                        "v5e-8: compiling the training step\n");
    assert_true(is_common);
    assert_string_equal(plan_each(&process, "v5e-8,v3-8"),
                        "{\"status\": \"failed\", \"topologies\": ["
                        "{\"error\": \"no data\", \"name\": \"v5e-8\"}, "
                        "{\"error\": \"no data\", \"name\": \"v3-8\"}]}");
}

/* Also that of a later machine; and each copy names the first name of its machine. */
static void a_common_failure_replaces_plans(void **state)
{
    (void)state;
    fg_error err = {0};
    json_t *root = NULL;
    bool is_common = false;
    plan_process process = {
        .program =
            script("case \"$*\" in *v3-8*) echo '{\"topologies\": [{\"error\": \"no data\"}], "
                   "\"every_machine\": true}';;\n*)\n" PLAN ";;\nesac\n")};
    fgt_ok(plan_process_each(&process, "v5e-8,v3-8", &root, &is_common, &err));
    assert_true(is_common);
    const json_t *all = json_object_get(root, "topologies");
    assert_int_equal(json_array_size(all), 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(fgi_json_words(json_array_get(all, i), "error"), "no data");
    json_decref(root);
    process.program = script(PLAN);
    const char *plan = plan_each(&process, "v5e-8,v5e:2x4,v5e:2x4");
    assert_null(strstr(plan, "\"same_as\": \"v5e:2x4\""));
    (void)after(plan, "\"status\": \"done\"");
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* Signals arrive all the time, and system calls are not restarted after them: while the process is
 * started, before it writes, and between the end of its output and its own end. */
static void signals_change_nothing(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = count_signal}, before;
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    const char *program = script("sleep 0.1\n" PLAN "exec >&-\nsleep 0.1\n");
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    expect((plan_process){.program = program}, "\"fits\": true");
    expect((plan_process){.program = script("exec sleep 600"), .time_limit_s = 0.1},
           "has not finished");
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_true(signals > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_program_gets_the_options),
    cmocka_unit_test(no_option_is_lost),
    cmocka_unit_test(ends_are_reported),
    cmocka_unit_test(mistakes_are_errors),
    cmocka_unit_test(the_loader_is_measured_once),
    cmocka_unit_test(rates_are_checked),
    cmocka_unit_test(conclusions_from_rates),
    cmocka_unit_test(a_host_loads_its_part),
    cmocka_unit_test(machines_are_planned_once),
    cmocka_unit_test(machines_are_at_most_64),
    cmocka_unit_test(batch_sizes_are_checked),
    cmocka_unit_test(common_failures_are_reported_once),
    cmocka_unit_test(a_common_failure_replaces_plans),
    cmocka_unit_test(signals_change_nothing),
};

FGT_MAIN(tests)
