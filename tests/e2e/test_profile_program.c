/* test_profile_program.c - fit --profile: what it prints and writes, mistakes, several devices, and
 * a run that is killed during a profile; bench --profile. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trace_file.h"

static const char digits[] =
    "model: {name: mlp, hidden: [16]}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_epochs: 1, log_every: 5, run_dir: run, profile: [12, 14]}\n";

static const char *workplace(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    return folder;
}

static const char *in_run(const char *folder) { return fgt_path(folder, "run"); }

static void a_key_or_an_option_takes_a_profile(void **state)
{
    (void)state;
    const char *folder = workplace();
    const outcome *o = program_gives(0, folder, "fit digits.yaml");
    contains(o->err, "profile of steps 12 to 14: run/profile/host.trace.json (open it in "
                     "ui.perfetto.dev); xprof --logdir run/profile\n");
    contains(o->err, "the profile has no operations of the devices: the plugin xla_cpu_pjrt.so "
                     "has no profiler\n");
    json_t *root = trace_read(in_run(folder));
    trace_expect_steps(root, "trainer", "train step", "12 13 14");
    trace_check_nesting(root);
    json_decref(root);
    assert_int_equal(shell(folder, "test -s run/profile/plugins/profile/step-12/*.xplane.pb"), 0);
    (void)program_gives(0, folder,
                        "fit digits.yaml --overwrite -q --profile=1,1000 --trainer.devices=4");
    root = trace_read(in_run(folder));
    trace_check_nesting(root);
    const char *steps = trace_steps(root, "cpu:3", "train step");
    assert_memory_equal(steps, "1 2 3 4 5 ", 10);
    json_decref(root);
    (void)program_gives(0, folder,
                        "fit digits.yaml --overwrite -q --profile --trainer.max_steps=4");
    root = trace_read(in_run(folder));
    trace_expect_steps(root, "trainer", "train step", "1 2 3 4");
    json_decref(root);
}

static void mistakes_name_the_place(void **state)
{
    (void)state;
    const char *folder = workplace();
    contains(program_gives(2, folder, "fit digits.yaml --profile=4,2")->err,
             "--trainer.profile: steps 4 to 2: expected the first one before the last");
    contains(program_gives(2, folder, "fit digits.yaml --trainer.profile=soon")->err,
             "--trainer.profile: expected a list of 2 integers, 1 or greater, or auto (for example "
             "[100, 110]), got 'soon'");
    assert_false(is_there(folder, "run"));
    (void)program_gives(0, folder, "fit digits.yaml --fast-dev-run --profile");
    assert_false(is_there(folder, "run"));
    contains(program_gives(0, folder, "fit digits.yaml --profile=1000,1010")->err,
             "no profile was taken: training ended at step ");
    assert_false(is_there(folder, "run/profile"));
}

/* The files are written at the end, so there are none; the run resumes. */
static void a_killed_run_leaves_no_profile(void **state)
{
    (void)state;
    const char *folder = workplace();
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const char *const words[] = {"fit",
                                 "digits.yaml",
                                 "--profile=1,1000000",
                                 "--trainer.max_epochs=100000",
                                 "--trainer.ckpt_every_steps=5",
                                 NULL};
    const pid_t child = program_start(folder, null, null, words);
    for (int ms = 0; ms < 60000 && !is_there(folder, "run/checkpoints/last"); ms += 5)
        sleep_ms(5);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(program_wait(child), -SIGKILL);
    (void)close(null);
    assert_false(is_there(folder, "run/profile"));
    char line[128];
    (void)snprintf(line, sizeof line,
                   "fit digits.yaml -q --resume --profile --trainer.max_epochs=-1 "
                   "--trainer.max_steps=%d",
                   last_step(folder) + 20);
    (void)program_gives(0, folder, line);
    json_t *root = trace_read(in_run(folder));
    trace_check_nesting(root);
    json_decref(root);
}

/* ---- bench ----------------------------------------------------------------------------------- */

static json_t *bench(const char *options)
{
    char line[256];
    const char *folder = workplace();
    (void)snprintf(line, sizeof line, "bench digits.yaml -q --profile --json --steps=2 %s",
                   options);
    json_t *root = json_loads(program_gives(0, folder, line)->out, 0, NULL);
    assert_non_null(root);
    assert_false(is_there(folder, "run"));
    return root;
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

/* The sum over the rows of a kind; NULL: all. */
static double sum(const json_t *root, const char *list, const char *kind, const char *key)
{
    size_t i;
    json_t *row;
    double all = 0;
    json_array_foreach(json_object_get(json_object_get(root, "profile"), list), i,
                       row) if (kind == NULL ||
                                strcmp(json_string_value(json_object_get(row, "kind")), kind) == 0)
        all += number(row, key);
    return all;
}

static const json_t *row_of(const json_t *root, const char *operation, const char *layer)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(json_object_get(root, "profile"), "operations"), i, row)
    {
        const char *of_layer = json_string_value(json_object_get(row, "layer"));
        if (strcmp(json_string_value(json_object_get(row, "operation")), operation) == 0 &&
            of_layer != NULL && strcmp(of_layer, layer) == 0)
            return row;
    }
    fail_msg("no operation %s of %s", operation, layer);
    return NULL;
}

static void check_profile(const json_t *root)
{
    const double between = number(json_object_get(root, "profile"), "between_fraction");
    assert_true(number(root, "step_ms") > 0 && between >= 0);
    fgt_close("kinds", sum(root, "kinds", NULL, "fraction") + between, 1, 1e-6, 0);
    fgt_close("operations", sum(root, "operations", NULL, "fraction") + between, 1, 1e-6, 0);
    fgt_close("one kind", sum(root, "operations", "convolutions", "ms"),
              sum(root, "kinds", "convolutions", "ms"), 1e-6, 1e-6);
}

/* The layers are those of the model, the file and line those of its name. */
static void a_bench_names_layers_and_lines(void **state)
{
    (void)state;
    json_t *root = bench("--model.name=lenet");
    check_profile(root);
    for (int i = 1; i <= 2; i++) {
        const json_t *conv = row_of(root, "conv", i == 1 ? "conv1" : "conv2");
        assert_true(number(conv, "calls") == 1 && number(conv, "gflops") > 0);
        assert_string_equal(json_string_value(json_object_get(conv, "kind")), "convolutions");
    }
    assert_string_equal(
        json_string_value(json_object_get(row_of(root, "fulgurite.matmul.3", "fc2"), "kind")),
        "matmuls");
    assert_string_equal(
        json_string_value(json_object_get(row_of(root, "fulgurite.adam.1", "optimizer"), "kind")),
        "optimizer");
    assert_true(sum(root, "kinds", "matmuls", "calls") == 9);
    json_decref(root);
}

static void a_bench_of_loops_and_devices(void **state)
{
    (void)state;
    json_t *root = bench("--trainer.devices=2 --trainer.steps_per_launch=2");
    check_profile(root);
    assert_true(sum(root, "kinds", "collectives", "calls") >= 1);
    json_decref(root);
    root = bench("--trainer.accumulate_grad_batches=2");
    check_profile(root);
    assert_true(sum(root, "kinds", "optimizer", "calls") > 0);
    json_decref(root);
}

static void a_bench_prints_a_table(void **state)
{
    (void)state;
    const outcome *o = program_gives(0, workplace(), "bench digits.yaml -q --profile --rows=1");
    contains(o->out, "  GFLOP/s  kind\n");
    contains(o->out, "between operations\n");
    contains(o->out, " more: --rows=");
    o = program_gives(0, workplace(), "bench digits.yaml -q");
    contains(o->out, "\n--profile shows the time of each operation\n");
    assert_null(strstr(o->out, "of step"));
}

/* Page faults of a bench with that many steps. */
static long faults(const char *folder, int steps)
{
    struct rusage before, after;
    char line[128];
    (void)snprintf(line, sizeof line,
                   "bench digits.yaml -q -n %d --model.hidden=[16384] --trainer.batch_size=1024",
                   steps);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &before), 0);
    (void)program_gives(0, folder, line);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &after), 0);
    return after.ru_minflt - before.ru_minflt;
}

/* The temporaries of a step, 64 MB and more, are those of the step before. */
static void steps_share_their_memory(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* has another allocator */
#endif
    const char *folder = workplace();
    (void)faults(folder, 2); /* compiles the program */
    const long few = faults(folder, 2), many = faults(folder, 22);
    fgt_close("page faults of 20 steps", (double)(many - few) * 4096, 0, 20 * (32 << 20), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_key_or_an_option_takes_a_profile),
    cmocka_unit_test(mistakes_name_the_place),
    cmocka_unit_test(a_killed_run_leaves_no_profile),
    cmocka_unit_test(a_bench_names_layers_and_lines),
    cmocka_unit_test(a_bench_of_loops_and_devices),
    cmocka_unit_test(a_bench_prints_a_table),
    cmocka_unit_test(steps_share_their_memory),
};
TRAINING_MAIN(tests)
