/* test_plan_program.c - fulgurite plan as a program: invalid arguments, compilers that are missing,
 * crash or hang, and, if libtpu is installed, a real one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <dirent.h>
#include <fulgurite/device.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resources.h"

#define PLAN "plan " FGT_SOURCE_DIR "/examples/digits_mlp.yaml --quiet "
#define FAKE "FULGURITE_PLUGIN=" FGT_BINARY_DIR "/fakepjrt.so"

/* The only machine's object of a run that printed JSON. */
static json_t *only(const outcome *o, json_t **out_root)
{
    json_error_t where;
    *out_root = json_loads(o->out, 0, &where);
    if (*out_root == NULL)
        fail_msg("%s in: %s", where.text, o->out);
    json_t *list = json_object_get(*out_root, "topologies");
    assert_int_equal(json_array_size(list), 1);
    return json_array_get(list, 0);
}

static void mistakes_are_reported(void **state)
{
    (void)state;
    contains(program_gives(2, NULL, PLAN)->err,
             "no machine was named: add --topology=NAME[,NAME], for example --topology=v5e-8");
    contains(program_gives(2, NULL, PLAN "--topology=v5e-8,")->err, "names separated by commas");
    contains(program_gives(2, NULL, PLAN "--topology=v9-8")->err,
             "topology 'v9-8': unknown name\nexpected v2, v3, ");
    contains(program_gives(2, NULL, PLAN "--topology=v5e-8 --time-limit=soon")->err,
             "--time-limit: expected a number greater than 0");
    contains(program_gives(2, NULL, PLAN "--topology=v5e-8 --sweep=8,x")->err,
             "--sweep: expected an integer from 1 to 16777216 (for example "
             "8,16,32,64,128,"
             "256,512,1024), got 'x'");
    contains(program_gives(2, NULL, "plan /no/such.yaml --topology=v5e-8")->err, "/no/such.yaml");
}

/* A compiler that crashes, one that hangs, one that needs too much memory: each is reported, and
 * the other machines are planned. */
static void compilers_that_fail_are_contained(void **state)
{
    (void)state;
    json_t *root;
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", "platform=2,compile_signal=6", 1);
    const outcome *o = program_gives(1, NULL, PLAN "--topology=v5e-8,v3-8 --no-search");
    contains(o->out, "v5e-8: no verdict\n  the compiler crashed (signal 6)\n"
                     "v3-8: no verdict\n  the compiler crashed (signal 6)\n");
    setenv("FAKEPJRT", "platform=2,compile_wait_ms=60000", 1);
    o = program_gives(1, NULL, PLAN "--topology=v5e-8 --time-limit=1 --json");
    json_t *one = only(o, &root);
    assert_string_equal(json_string_value(json_object_get(one, "error")),
                        "the compiler has not finished after 1 s (--time-limit)");
    json_decref(root);
    o = program_gives(1, NULL, PLAN "--topology=v5e-8 --memory-limit=0.000001");
    contains(o->out, "the compiler used more than 1.0 kB of this host's memory (--memory-limit)");
    setenv("FAKEPJRT", "platform=2,compile_error=8", 1);
    o = program_gives(0, NULL, PLAN "--topology=v5e-8 --no-search");
    contains(o->out, "v5e-8 (8 x fake device), batch 32 per device: does not fit\n");
    unsetenv("FAKEPJRT");
    unsetenv("FULGURITE_PLUGIN");
}

/* Whether process `name` is a child of `parent` that runs with --in-process. */
static bool is_compiling(const char *name, pid_t parent)
{
    char path[300], text[4096] = "";
    int its_parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return false;
    const bool is_read = fscanf(in, "%*d (%*[^)]) %*c %d", &its_parent) == 1;
    (void)fclose(in);
    if (!is_read || its_parent != parent)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%s/cmdline", name);
    in = fopen(path, "re");
    if (in == NULL)
        return false;
    const size_t size = fread(text, 1, sizeof text, in);
    (void)fclose(in);
    return memmem(text, size, "--in-process", strlen("--in-process")) != NULL;
}

static bool has_compiling_child(pid_t parent)
{
    bool found = false;
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (struct dirent *e = readdir(processes); e != NULL && !found; e = readdir(processes))
        found = e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_compiling(e->d_name, parent);
    assert_int_equal(closedir(processes), 0);
    return found;
}

/* A run of the program for two machines with a compiler that takes long, in a separate process
 * group, as a shell starts it. */
typedef struct running {
    pid_t pid;
    int out, err; /* what it and its compilers write */
} running;

static running start(const char *fake, const char *limit)
{
    int out[2], err[2];
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", fake, 1);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        for (int i = 0; i < 2; i++)
            if (close(out[i]) != 0 || close(err[i]) != 0)
                _exit(127);
        (void)execl(FGT_BINARY_DIR "/fulgurite", "fulgurite", "plan",
                    FGT_SOURCE_DIR "/examples/digits_mlp.yaml", "--quiet", "--topology=v5e-8,v3-8",
                    limit, NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    assert_int_equal(close(out[1]), 0);
    assert_int_equal(close(err[1]), 0);
    unsetenv("FAKEPJRT");
    unsetenv("FULGURITE_PLUGIN");
    return (running){pid, out[0], err[0]};
}

static void wait_for_compiler(pid_t pid)
{
    int status, waited_ms = 0;
    while (!has_compiling_child(pid)) {
        assert_true((waited_ms += 10) < 60000);
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        (void)usleep(10000);
    }
}

/* All that is written there until everybody who could has closed it, which must happen soon. */
static void read_to_the_end(int from, char *out, size_t size)
{
    size_t used = 0;
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 60000), 1);
        const ssize_t n = read(from, out + used, size - 1 - used);
        assert_true(n >= 0);
        if (n == 0)
            break;
        used += (size_t)n;
    }
    out[used] = '\0';
    assert_int_equal(close(from), 0);
}

/* The program is stopped while its compiler is busy, by its terminal, by whoever runs it, or by
 * force: the compiler ends, too, long before it is ready, and says nothing of it. Both hold the
 * writing ends of the pipes, whose end is therefore theirs. */
static void the_compiler_does_not_outlive_the_program(void **state)
{
    static const struct {
        int signal;
        bool is_to_all; /* as Ctrl-C is */
    } rows[] = {
        {SIGINT, true}, {SIGTERM, true}, {SIGTERM, false}, {SIGHUP, true}, {SIGKILL, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[4096], err[4096];
        int status;
        const running r = start("platform=2,compile_wait_ms=300000,stop_trace=1", NULL);
        wait_for_compiler(r.pid);
        (void)usleep(300000); /* so that the plugin is loaded, most likely */
        assert_int_equal(kill(rows[i].is_to_all ? -r.pid : r.pid, rows[i].signal), 0);
        assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == rows[i].signal);
        read_to_the_end(r.out, out, sizeof out);
        read_to_the_end(r.err, err, sizeof err);
        assert_string_equal(out, "");
        assert_string_equal(err, "");
    }
}

/* Where no process can be started for the compiler, the machine's error says so. */
static void a_process_that_cannot_start_is_reported(void **state)
{
    (void)state;
    assert_int_equal(shell(".", "(ulimit -n 5; exec fulgurite " PLAN "--topology=v5e-8 --json) | "
                                "grep -q \"cannot start '/proc/self/exe': Too many open files\""),
                     0);
}

/* A failure that does not depend on the machine is reported once, and no other machine is
 * planned. */
static void an_error_of_the_data_is_reported_once(void **state)
{
    (void)state;
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", "platform=2", 1);
    const outcome *o =
        program_gives(1, NULL, PLAN "--topology=v5e-8,v3-8 --data.path=/no/such.csv");
    const char *message = strstr(o->err, "cannot open '/no/such.csv'");
    assert_non_null(message);
    assert_null(strstr(message + 1, "cannot open"));
    assert_null(strstr(o->err, "v3-8"));
    assert_string_equal(o->out, "");
    o = program_gives(1, NULL,
                      PLAN "--topology=v5e-8,v3-8 --data.path=/no/such.csv --json --quiet");
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *all = json_object_get(root, "topologies");
    assert_int_equal(json_array_size(all), 2);
    for (size_t i = 0; i < 2; i++)
        contains(json_string_value(json_object_get(json_array_get(all, i), "error")),
                 "cannot open '/no/such.csv'");
    assert_string_equal(json_string_value(json_object_get(json_array_get(all, 1), "name")), "v3-8");
    json_decref(root);
}

/* The first machine's line is there while the second one's compiler works. */
static void verdicts_come_one_by_one(void **state)
{
    (void)state;
    char line[4096] = "";
    int status;
    const running r = start("platform=2,compile_wait_ms=300000", "--time-limit=3");
    struct pollfd ready = {.fd = r.out, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1);
    assert_true(read(r.out, line, sizeof line - 1) > 0);
    contains(line, "v5e-8: no verdict\n");
    assert_null(strstr(line, "v3-8"));
    wait_for_compiler(r.pid);
    assert_int_equal(kill(r.pid, SIGKILL), 0);
    assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
    assert_int_equal(close(r.out), 0);
    assert_int_equal(close(r.err), 0);
}

/* Several names of one machine are compiled once. */
static void equal_machines_are_one(void **state)
{
    (void)state;
    json_t *root;
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", "platform=2,compile_error=8", 1);
    const outcome *o =
        program_gives(0, NULL, PLAN "--topology=kaggle,v3-8,v5e-8,v5litepod-8 --no-search");
    contains(o->out, "kaggle (8 x fake device), batch 32 per device: does not fit\n");
    contains(o->out, "v5e-8: the same machine as kaggle: does not fit\n"
                     "v5litepod-8: the same machine as kaggle: does not fit\n");
    o = program_gives(0, NULL, PLAN "--topology=kaggle,v5e-8 --no-search --json");
    root = json_loads(o->out, 0, NULL);
    json_t *list = json_object_get(root, "topologies"), *again = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(again, "name")), "v5e-8");
    assert_string_equal(json_string_value(json_object_get(again, "same_as")), "kaggle");
    assert_int_equal(json_object_del(again, "same_as"), 0);
    (void)json_object_set_new(again, "name", json_string("kaggle"));
    assert_true(json_equal(json_array_get(list, 0), again));
    json_decref(root);
    unsetenv("FAKEPJRT");
    unsetenv("FULGURITE_PLUGIN");
}

/* Whether a file holds these words; a page of a plan is far below the limit. */
static bool file_has(const char *path, const char *words)
{
    static char text[1 << 20];
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    return strstr(text, words) != NULL;
}

/* Runs PLAN with these words and --html=path. */
static const outcome *page_gives(int status, const char *words, const char *path)
{
    char line[2000];
    (void)snprintf(line, sizeof line, PLAN "%s --html=%s", words, path);
    return program_gives(status, NULL, line);
}

/* The HTML report, also of a step that does not fit. */
static void page_is_written(void **state)
{
    (void)state;
    char path[600];
    (void)snprintf(path, sizeof path, "%s/plan.html", fgt_temp_folder());
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", "platform=2,compile_error=8", 1);
    (void)page_gives(0, "--topology=v5e-8,v3-8 --no-search", path);
    assert_true(file_has(path, "<h2>v5e-8: <span class=\"bad\">does not fit</span></h2>"));
    assert_true(file_has(path, "<h2>v3-8: "));
    assert_true(file_has(path, "examples/digits_mlp.yaml"));
    assert_int_equal(remove(path), 0);
    contains(page_gives(2, "--topology=v5e-8 --no-search", "/no/such")->err, "'/no/such'");
    contains(page_gives(2, "--topology=v5e-8 --in-process", path)->err,
             "cannot be used with --in-process");
    unsetenv("FAKEPJRT");
    unsetenv("FULGURITE_PLUGIN");
}

/* More workers are suggested as long as they have processors. */
static void idle_processors_are_pointed_out(void **state)
{
    const int processors = fgi_cpu_count(), workers[] = {0, 1, processors};
    const char *folder = fgt_temp_folder();
    char words[1000], number[16] = "auto", advice[64];
    (void)state;
    assert_int_equal(
        shell(folder, "gunzip -c " FGT_SOURCE_DIR "/tests/golden/plan/mlp_x8.pb.gz >mlp_x8.pb"), 0);
    setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1);
    setenv("FAKEPJRT", "platform=2,kind=3", 1);
    setenv("FAKEPJRT_HLO", fgt_path(folder, "mlp_x8.pb"), 1);
    (void)snprintf(advice, sizeof advice, ": trainer.workers can be up to %d here", processors);
    for (int i = 0; i < 3; i++) {
        json_t *root;
        if (workers[i] > 0)
            (void)snprintf(number, sizeof number, "%d", workers[i]);
        (void)snprintf(words, sizeof words,
                       PLAN "--topology=v5e-4 --in-process --json --no-search --input-rate=9 "
                            "--trainer.workers=%s",
                       number);
        const json_t *one = only(program_gives(0, NULL, words), &root);
        const bool is_few = workers[i] > 0 && workers[i] < processors;
        contains(json_string_value(json_object_get(one, "input_verdict")),
                 is_few ? advice : ": use smaller samples, ");
        json_decref(root);
    }
    unsetenv("FAKEPJRT_HLO");
    unsetenv("FAKEPJRT");
    unsetenv("FULGURITE_PLUGIN");
}

static bool has_libtpu(void)
{
    static fg_plugin_candidate places[64];
    fg_error err;
    size_t count = 0;
    if (fg_plugin_search(&(fg_client_options){.accelerator = "tpu"}, places, 64, &count, &err) ==
        FG_OK)
        for (size_t i = 0; i < count && i < 64; i++)
            if (places[i].exists)
                return true;
    return false;
}

static double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The rate required by the devices of one host is compared with the loader of one host. */
static void check_input(const json_t *one, int hosts)
{
    /* a sample is 64 numbers of f32 and a class */
    const double all = number_of(one, "global_batch_size") / number_of(one, "estimated_step_s");
    const double wanted = all / hosts;
    assert_int_equal(number_of(one, "hosts"), hosts);
    assert_true(fabs(number_of(one, "input_needed_samples_per_s") / all - 1) < 1e-9);
    assert_true(fabs(number_of(one, "input_host_samples_per_s") / wanted - 1) < 1e-9);
    assert_true(fabs(number_of(one, "input_host_bytes_per_s") / (260 * wanted) - 1) < 1e-9);
    assert_int_equal(number_of(one, "input_sample_bytes"), 4 * 64 + 4);
    assert_true(number_of(one, "input_measured_samples_per_s") > 0);
    assert_true(fabs(number_of(one, "input_fraction") * wanted /
                         number_of(one, "input_measured_samples_per_s") -
                     1) < 1e-9);
    contains(json_string_value(json_object_get(one, "input_verdict")),
             hosts == 1 ? "this host delivers " : "a host like this one delivers ");
}

/* The number of the configuration's line that has the text. */
static int line_with(const char *text)
{
    FILE *in = fopen(FGT_SOURCE_DIR "/examples/digits_mlp.yaml", "re");
    char line[512];
    int number = 1;
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL && strstr(line, text) == NULL)
        number++;
    assert_int_equal(fclose(in), 0);
    return number;
}

/* 64-128-64-10 with biases: 17,226 numbers; Adam has two more of each, and seven more. */
static void real_compiler_reports_a_step(void **state)
{
    (void)state;
    enum { NUMBERS = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10 };
    json_t *root;
    if (!has_libtpu()) {
        print_message("skipped: libtpu is not installed (fulgurite setup tpu)\n");
        skip();
    }
    const outcome *o =
        program_gives(0, NULL, PLAN "--topology=kaggle --json --no-search --sweep=1,64");
    json_t *one = only(o, &root);
    assert_true(json_is_true(json_object_get(one, "fits")));
    assert_int_equal(number_of(one, "devices"), 8);
    assert_int_equal(number_of(one, "parameter_bytes"), 4 * NUMBERS);
    assert_int_equal(number_of(one, "optimizer_bytes"), 8 * NUMBERS + 7 * 4);
    assert_int_equal(number_of(one, "matmuls"), 8);
    double sum = 0;
    static const char *const parts[] = {"parameter_bytes", "optimizer_bytes",  "batch_bytes",
                                        "padding_bytes",   "activation_bytes", "program_bytes"};
    for (int i = 0; i < 6; i++)
        sum += number_of(one, parts[i]);
    assert_int_equal(number_of(one, "hbm_needed_bytes"), sum);
    assert_true(number_of(one, "estimated_step_s") > 0);
    assert_string_equal(json_string_value(json_object_get(one, "estimate")),
                        "compiler estimate, not measured");
    const json_t *sweep = json_object_get(one, "sweep"),
                 *analysis = json_object_get(one, "analysis");
    assert_int_equal(json_array_size(sweep), 2);
    assert_int_equal(number_of(json_array_get(sweep, 1), "batch_size"), 64);
    assert_true(number_of(json_array_get(sweep, 0), "cycles_per_sample") >
                number_of(json_array_get(sweep, 1), "cycles_per_sample"));
    assert_int_equal(number_of(one, "saturation_batch"), 64);
    /* only three linear layers have matmuls */
    int layers = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(analysis, "layers")); i++) {
        const json_t *layer = json_array_get(json_object_get(analysis, "layers"), i);
        if (number_of(layer, "flops") == 0)
            continue;
        layers++; /* its place is where the configuration names the model */
        contains(json_string_value(json_object_get(layer, "file")), "examples/digits_mlp.yaml");
        assert_int_equal(number_of(layer, "line"), line_with("name: mlp"));
    }
    assert_int_equal(layers, 3);
    assert_true(number_of(analysis, "cycles") == number_of(one, "estimated_cycles"));
    check_input(one, 1);
    json_decref(root);
}

/* A slice of sixteen v5e chips has four hosts with four each (Google Cloud, "TPU v5e"). */
static void a_pod_has_several_hosts(void **state)
{
    (void)state;
    char path[600], line[2000], words[100];
    if (!has_libtpu())
        skip();
    (void)snprintf(path, sizeof path, "%s/pod.json", fgt_temp_folder());
    (void)snprintf(line, sizeof line, PLAN "--topology=v5litepod-16 --no-search --summary=%s",
                   path);
    const outcome *o = program_gives(0, NULL, line);
    contains(o->out, "v5litepod-16 (16 x TPU v5 lite on 4 hosts), batch 32 per device: fits\n");
    json_t *root = json_load_file(path, 0, NULL);
    const json_t *one = json_array_get(json_object_get(root, "topologies"), 0);
    check_input(one, 4);
    const char *host = strstr(o->out, "\n    of that, each of 4 hosts ");
    assert_non_null(host);
    (void)snprintf(words, sizeof words, " %.0f ", number_of(one, "input_host_samples_per_s"));
    assert_ptr_equal(memchr(host + 1, '\n', strlen(host + 1)), strchr(strstr(host, words), '\n'));
    json_decref(root);
}

/* Two layers of 60,000: their weights alone take 14.4 GB, and Adam's moments twice that. */
static void step_that_does_not_fit_is_an_answer(void **state)
{
    (void)state;
    json_t *root;
    if (!has_libtpu())
        skip();
    const outcome *o =
        program_gives(0, NULL,
                      "plan " FGT_SOURCE_DIR "/examples/digits_mlp.yaml --topology=v5e-1 --json "
                      "--model.hidden=[60000,60000]");
    contains(o->err, "v5e-1: batch_size 1 is too large");
    assert_null(strstr(o->err, " fits"));
    json_t *one = only(o, &root);
    assert_true(json_is_false(json_object_get(one, "fits")));
    assert_true(number_of(one, "hbm_needed_bytes") > 3 * 14.4e9);
    assert_true(number_of(one, "hbm_available_bytes") < 17e9);
    assert_int_equal(number_of(one, "max_batch"), 0);
    contains(json_string_value(json_object_get(one, "reason")), "GB of device memory");
    json_decref(root);
}

/* A home and a PATH in which nothing is installed; the last test in this process that needs any. */
static void install_nothing(void)
{
    char home[600];
    (void)snprintf(home, sizeof home, "%s", fgt_temp_folder());
    setenv("FULGURITE_HOME", home, 1);
    setenv("XDG_DATA_HOME", home, 1);
    setenv("HOME", home, 1);
    setenv("PATH", "/nowhere", 1);
}

/* Of the compiler that is missing, and nothing of this machine, which has no part in it. */
static void missing_compiler_says_what_to_type(void **state)
{
    (void)state;
    json_t *root;
    install_nothing();
    const outcome *o = program_gives(1, NULL, PLAN "--topology=v5e-8 --json");
    json_t *one = only(o, &root);
    const char *error = json_string_value(json_object_get(one, "error"));
    assert_string_equal(json_string_value(json_object_get(one, "name")), "v5e-8");
    assert_true(json_is_null(json_object_get(one, "fits")));
    contains(error, "the compiler for TPUs (libtpu) is not installed; `fulgurite setup tpu`");
    assert_null(strstr(error, "this machine"));
    assert_null(strstr(error, "accelerator=cpu"));
    json_decref(root);
    o = program_gives(1, NULL, PLAN "--topology=h100");
    contains(o->out, "h100: no verdict\n  the compiler for NVIDIA GPUs (XLA's CUDA plugin) is not "
                     "installed; `fulgurite setup --compile-only cuda13` downloads it\n");
    assert_null(strstr(o->err, "[y/N]")); /* nobody is there to answer */
}

static void missing_compiler_is_offered_on_a_terminal(void **state)
{
    (void)state;
    static char out[16384];
    install_nothing();
    assert_int_equal(
        program_on_terminal(NULL, 80, "n\n", PLAN "--topology=v5e-8,v3-8", out, sizeof out), 1);
    contains(out, "The compiler for TPUs (libtpu) is not installed; `fulgurite setup tpu` "
                  "downloads it.\r\nDownload it now? [y/N] ");
    assert_null(strstr(strstr(out, "[y/N]") + 1, "[y/N]")); /* asked once */
    contains(out, "v5e-8: no verdict");
    contains(out, "v3-8: no verdict");
    assert_int_equal(program_on_terminal(NULL, 80, "\n", PLAN "--topology=h100", out, sizeof out),
                     1);
    contains(out, "`fulgurite setup --compile-only cuda13` downloads it");
    /* there is no Python here, which the answer's work finds out */
    assert_int_equal(program_on_terminal(NULL, 80, "y\n", PLAN "--topology=v5e-8", out, sizeof out),
                     1);
    contains(out, "fulgurite setup tpu:");
    contains(out, "python3");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mistakes_are_reported),
    cmocka_unit_test(real_compiler_reports_a_step),
    cmocka_unit_test(a_pod_has_several_hosts),
    cmocka_unit_test(step_that_does_not_fit_is_an_answer),
    cmocka_unit_test(compilers_that_fail_are_contained),
    cmocka_unit_test(the_compiler_does_not_outlive_the_program),
    cmocka_unit_test(page_is_written),
    cmocka_unit_test(idle_processors_are_pointed_out),
    cmocka_unit_test(a_process_that_cannot_start_is_reported),
    cmocka_unit_test(an_error_of_the_data_is_reported_once),
    cmocka_unit_test(verdicts_come_one_by_one),
    cmocka_unit_test(equal_machines_are_one),
    cmocka_unit_test(missing_compiler_says_what_to_type),
    cmocka_unit_test(missing_compiler_is_offered_on_a_terminal),
};
FGT_MAIN(tests)
