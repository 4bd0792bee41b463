/* test_run_verdicts.c - the rules of the verdicts on reports made here: from which number on each
 * one applies, what it says, what to do, and what that gains, computed by hand.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "golden.h"
#include "input/json_file.h"
#include "recipe/config/config.h"
#include "report/reports.h"
#include "verdict/verdict.h"

/* A run of 100 steps in 10 s with nothing wrong. Texts here have ' instead of ". */
static const char healthy[] =
    "{'seconds': 12, 'steps': 100, 'samples_per_s': 320, 'step_time': {'p50_s': 0.1, 'p95_s': 0.13,"
    " 'count': 100},"
    " 'time': {'busy_s': 9.9, 'idle': {'input_s': 0.02, 'upload_s': 0.02, 'compile_s': 0,"
    " 'read_s': 0.01, 'checkpoint_s': 0.03, 'other_s': 0.02}},"
    " 'loader': {'workers': 2, 'bound_by': 'device', 'delivered_samples_per_s': 1000,"
    " 'required_samples_per_s': 323, 'stages': {'read_s': 3, 'decode_s': 1, 'copy_s': 0}},"
    " 'host': {'cpus': 4}, 'utilization': {'mxu': null},"
    " 'settings': {'batch_size': 32, 'global_batch_size': 32, 'batch_shards': 1,"
    " 'lr_scaling': 'none', 'base_batch_size': 32, 'lr_given': 0.1, 'lr_factor': 1, 'lr': 0.1,"
    " 'precision': '32-true', 'data_format': 'images', 'log_every': 50, 'ckpt_every_epochs': 1,"
    " 'launch_s': 1e-4, 'nonfinite_steps': 0,"
    " 'compile': {'count': 2, 'cache_hits': 0, 'seconds': 0.5}}}";

static json_t *read(const char *text)
{
    char json[4096];
    json_error_t fault;
    (void)snprintf(json, sizeof json, "%s", text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *value = fgi_json_load(json, strlen(json), 0, &fault);
    if (value == NULL)
        fail_msg("%s: %s", text, fault.text);
    return value;
}

/* The verdicts of the healthy run with these members replaced. */
static json_t *judge(const char *changes)
{
    json_t *report = read(healthy), *more = read(changes);
    assert_int_equal(json_object_update_recursive(report, more), 0);
    json_t *list = fgi_run_verdicts(report);
    assert_non_null(list);
    json_decref(more);
    json_decref(report);
    return list;
}

static const char *member(const json_t *verdict, const char *name)
{
    const char *text = json_string_value(json_object_get(verdict, name));
    return text != NULL ? text : "";
}

/* "=TEXT": it is the whole text. */
static void has(const char *text, const char *words)
{
    if (*words == '=' ? strcmp(text, words + 1) != 0 : strstr(text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, text);
}

typedef struct row {
    const char *changes;
    const char *id, *severity;   /* NULL: no verdict */
    const char *detail, *action; /* as `has` reads them */
    double gain;                 /* NaN: unknown */
} row;

#define TIME(busy, more) "{'time': {'busy_s': " busy ", 'idle': {" more "}}"
#define BOUND(stage, wait)                                                                         \
    TIME("6", "'input_s': " wait)                                                                  \
    ", 'loader': {'bound_by': '" stage "', 'delivered_samples_per_s': 170.9,"                      \
    " 'stages': {'read_s': 0.5, 'decode_s': 0.5, '" stage "_s': 3}}}"

/* The configuration accepts each "SECTION.KEY=VALUE" of an action. */
static void can_be_followed(const char *action)
{
    char words[512], *rest = NULL;
    fgi_config *c = fgi_config_create(NULL, NULL);
    assert_non_null(c);
    (void)snprintf(words, sizeof(words), "%s", action);
    for (char *word = strtok_r(words, " ;:()", &rest); word != NULL;
         word = strtok_r(NULL, " ;:()", &rest)) {
        fg_error err = {0};
        word += strspn(word, "-");
        const char *dot = strchr(word, '.'), *equals = strchr(word, '=');
        if (dot != NULL && equals != NULL && dot < equals &&
            fgi_config_override(c, word, &err) != FG_OK)
            fail_msg("'%s': %s", action, err.message);
    }
    fgi_config_destroy(c);
}

/* Only time of the steps changes the rate of 320 samples/s. */
static void check_rate(const json_t *verdict, const row *r)
{
    const json_t *rate = json_object_get(verdict, "samples_per_s");
    const bool is_of_run = strcmp(r->id, "compile") == 0 || strcmp(r->id, "shapes") == 0;
    assert_true(json_is_null(rate) == (is_of_run || !(r->gain < 1)));
    if (json_is_null(rate))
        return;
    fgt_close("from", json_number_value(json_object_get(rate, "from")), 320, 0, 0);
    fgt_close("to", json_number_value(json_object_get(rate, "to")), 320 / (1 - r->gain), 1e-6, 0);
}

/* All verdicts of all rows, for the golden file. */
static fgi_buf all;

static void remember(const char *changes, const json_t *list)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const json_t *gain = json_object_get(one, "gain");
        fgi_buf_printf(&all, "%s%s%s %s: %s\n  %s\n  do: %s\n", i == 0 ? changes : "",
                       i == 0 ? "\n" : "", member(one, "severity"), member(one, "id"),
                       member(one, "title"), member(one, "detail"), member(one, "action"));
        if (json_is_number(gain))
            fgi_buf_printf(&all, "  gain %.6g\n", json_number_value(gain));
        can_be_followed(member(one, "action"));
    }
}

static void check(const row *r)
{
    json_t *list = judge(r->changes);
    remember(r->changes, list);
    const json_t *verdict = json_array_get(list, 0);
    if (json_array_size(list) != (r->id != NULL))
        fail_msg("%s: %zu verdicts, the first one is '%s'", r->changes, json_array_size(list),
                 member(verdict, "id"));
    if (r->id != NULL) {
        const json_t *gain = json_object_get(verdict, "gain");
        assert_string_equal(member(verdict, "id"), r->id);
        assert_string_equal(member(verdict, "severity"), r->severity);
        has(member(verdict, "detail"), r->detail);
        has(member(verdict, "action"), r->action);
        assert_true(json_is_null(gain) == isnan(r->gain));
        if (!isnan(r->gain))
            fgt_close(r->id, json_number_value(gain), r->gain, 1e-9, 0);
        check_rate(verdict, r);
    }
    json_decref(list);
}

static void check_all(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
}
#define CHECK(rows) check_all(rows, sizeof(rows) / sizeof(rows)[0])

static void a_healthy_run_has_none(void **state)
{
    static const row rows[] = {
        {"{}", NULL, NULL, NULL, NULL, 0},
        {"{'time': null, 'loader': null, 'settings': null, 'host': null}", NULL, NULL, NULL, NULL,
         0},
        {"{'time': {'busy_s': 0, 'idle': null}, 'samples_per_s': null, 'step_time': null}", NULL,
         NULL, NULL, NULL, 0},
    };
    (void)state;
    CHECK(rows);
    json_t *nothing = json_object(), *list = fgi_run_verdicts(nothing);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    json_decref(nothing);
}

/* 6 s busy; 4 s waited of 10.08. */
static const row input_rows[] = {
    {BOUND("read", "0.29"), NULL, NULL, NULL, NULL, 0},
    {BOUND("read", "0.31"), "input", "medium", "bound by reading", "fulgurite pack",
     (0.31 + 0.02) / 6.39},
    {BOUND("read", "1.46"), "input", "medium", "spends 86 % of its time on reading", "pack",
     1.48 / 7.54},
    {BOUND("read", "1.6"), "input", "high", "0.53x the required rate", "trainer.workers=4; or",
     1.62 / 7.68},
    {BOUND("decode", "4"), "input", "high", "(input 40 %, upload 0 %); 2 loader threads",
     "--presize, --codec", 4.02 / 10.08},
    {BOUND("entropy", "4"), "input", "high", "bound by entropy decoding", "--codec", 4.02 / 10.08},
    {BOUND("resize", "4"), "input", "high", "bound by resizing", "of the size that training needs",
     4.02 / 10.08},
    {BOUND("copy", "4"), "input", "high", "bound by copying", "trainer.workers=4", 4.02 / 10.08},
    {TIME("6", "'upload_s': 4") ", 'loader': {'bound_by': 'host'}}", "input", "high",
     "bound by the host", "u8 images", 4.02 / 10.08},
    {TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'workers': 4, 'stages': "
                               "{'copy_s': 5}}}",
     "input", "high", "4 loader threads", "a host with more processors than 4", 4.02 / 10.08},
    {TIME("6", "'input_s': 4") ", 'host': {'cpus': 64, 'cpu_fraction': 0.031},"
                               " 'loader': {'bound_by': 'read',"
                               " 'delivered_samples_per_s': 100}}",
     "input", "high", "processors are busy 3 % of the time", "trainer.workers=7; or", 4.02 / 10.08},
    {TIME("6", "'input_s': 4") ", 'settings': {'data_format': 'ours', 'can_preload': true},"
                               " 'loader': {'bound_by': 'read'}}",
     "input", "high", "bound by reading", "data.preload", 4.02 / 10.08},
    /* not more threads than processors, and none if all are in use or fewer suffice */
    {TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'stages': {'copy_s': 5},"
                               " 'delivered_samples_per_s': 10}}",
     "input", "high", "bound by copying", "=use more threads: trainer.workers=4", 4.02 / 10.08},
    {TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'stages': {'copy_s': 5},"
                               " 'delivered_samples_per_s': 100, 'workers': 4}}",
     "input", "high", "bound by copying",
     "=make samples cheaper to read, or use a host with more processors than 4", 4.02 / 10.08},
    {TIME("6", "'input_s': 2.5, 'upload_s': 1.5") ", 'loader': {'bound_by': 'read'}}", "input",
     "high", "(input 25 %, upload 15 %)", "=store the samples in one file: fulgurite pack",
     4 / 10.06},
    {BOUND("device", "4"), NULL, NULL, NULL, NULL, 0},
};

static void input(void **state)
{
    (void)state;
    CHECK(input_rows);
}

static const row many_files_rows[] = {
    {"{'loader': {'opens': 3200, 'open_seconds': 0.59}}", NULL, NULL, NULL, NULL, 0},
    {"{'loader': {'opens': 99, 'open_seconds': 2}}", NULL, NULL, NULL, NULL, 0},
    {"{'loader': {'opens': 3200, 'open_seconds': 0.61}}", "many_files", "note",
     "3200 files were opened, which took 610 ms (191 us each) on 2 threads: 20 % of the reading "
     "time",
     "fulgurite pack", 0.002 * 0.61 / 4},
    {"{'loader': {'opens': 100, 'open_seconds': 5}}", "many_files", "note",
     "100 files were opened, which took 5 s (50 ms each) on 2 threads: 100 % of the reading",
     "fulgurite pack", 0.002},
    {"{'loader': {'opens': 3200, 'open_seconds': 0.61, 'stages': {'copy_s': 4}}}", "many_files",
     "note", "20 % of", "fulgurite pack", 0.002 * 0.61 / 8},
    {TIME("8", "'input_s': 2") ", 'loader': {'opens': 3200, 'open_seconds': 2}}", "many_files",
     "medium", "67 % of", "fulgurite pack", 2 / 10.08 / 2},
};

static void many_files(void **state)
{
    (void)state;
    CHECK(many_files_rows);
}

#define LOG_IN_STEP "log values in the step (fg_step_log) instead of reading arrays in callbacks"
static const row host_rows[] = {
    {TIME("9", "'read_s': 0.09") "}", NULL, NULL, NULL, NULL, 0},
    {TIME("9", "'read_s': 0.1") "}", "host_reads", "note", "waits 1.1 % of the time",
     "=" LOG_IN_STEP, 0.1 / 9.19},
    {TIME("9", "'read_s': 0.1") ", 'settings': {'log_every': 0}}", "host_reads", "note",
     "waits 1.1 % of the time", "=" LOG_IN_STEP, 0.1 / 9.19},
    /* more than every second step, if that is waited for */
    {"{'host_reads': [{'at': 'a.c:7', 'count': 100, 'wait_s': 0.01}]}", NULL, NULL, NULL, NULL, 0},
    {TIME("9", "'read_s': 0.05") ", 'host_reads': [{'at': 'a.c:7', 'count': 50}]}", NULL, NULL,
     NULL, NULL, 0},
    {TIME("9", "'read_s': 0.05") ", 'host_reads': [{'at': 'a.c:7', 'count': 80}]}", "host_reads",
     "note", ": 0.800 reads per step", "=" LOG_IN_STEP, 0.05 / 9.14},
    {TIME("9", "'read_s': 0.05") ", 'settings': {'log_every': 1},"
                                 " 'host_reads': [{'at': 'metrics', 'count': 100,"
                                 " 'wait_s': 0.01}, {'at': 'a.c:7', 'count': 50,"
                                 " 'wait_s': 0.04}]}",
     "host_reads", "note", ": 1.50 reads per step; most time at a.c:7, 50 reads, 40 ms",
     "trainer.log_every=50 instead of 1", 0.05 / 9.14},
    {TIME("9", "'read_s': 0.05") ", 'host_reads': [{'at': 'a.c:7', 'count': 1230}]}", "host_reads",
     "note", ": 12.3 reads per step", "=" LOG_IN_STEP, 0.05 / 9.14},
    {TIME("6", "'read_s': 4") "}", "host_reads", "high", "waits 39.6 % of the time", "fg_step_log",
     4 / 10.09},
    {TIME("9", "'checkpoint_s': 0.48") "}", "checkpoint", "medium",
     "waits 480 ms for checkpoints to be saved, 5", "trainer.ckpt_every_epochs=6", 0.48 / 9.55},
    {TIME("5", "'checkpoint_s': 5") ", 'settings': {'ckpt_every_steps': 10}}", "checkpoint", "high",
     "saved every 10 steps", "trainer.ckpt_every_steps=497", 5 / 10.07},
    /* no interval is longer than the run: 4 epochs of 50 steps, or max_steps */
    {TIME("5", "'checkpoint_s': 5") ", 'settings': {'max_epochs': 51}}", "checkpoint", "high",
     "for checkpoints to be saved", "trainer.ckpt_every_epochs=50", 5 / 10.07},
    {TIME("5", "'checkpoint_s': 5") ", 'settings': {'max_epochs': 50}}", "checkpoint", "high",
     "for checkpoints to be saved", "trainer.ckpt_every_epochs=0 (the final state is always saved)",
     5 / 10.07},
    {TIME("5", "'checkpoint_s': 5") ", 'epochs': 2, 'settings': {'ckpt_every_steps': 4,"
                                    " 'max_epochs': 4, 'max_steps': -1}}",
     "checkpoint", "high", "saved every 4 steps", "trainer.ckpt_every_steps=199", 5 / 10.07},
    {TIME("5", "'checkpoint_s': 5") ", 'epochs': 2, 'settings': {'ckpt_every_steps': 5,"
                                    " 'max_epochs': 4, 'max_steps': -1}}",
     "checkpoint", "high", "saved every 5 steps", "trainer.ckpt_every_steps=0 (the final",
     5 / 10.07},
    {TIME("5", "'checkpoint_s': 5") ", 'settings': {'ckpt_every_steps': 10, 'max_epochs': 0,"
                                    " 'max_steps': 497}}",
     "checkpoint", "high", "saved every 10 steps", "trainer.ckpt_every_steps=0 (the final",
     5 / 10.07},
    {TIME("8", "'other_s': 2.5") ", 'settings': {'batch_key': 'trainer.global_batch_size'}}",
     "host", "high", "24.9 ms per step of 106 ms", "a larger trainer.global_batch_size gives",
     2.49 / 10.58},
    {TIME("8", "'other_s': 2.5") "}", "host", "high", "for callbacks", "a larger batch gives",
     2.49 / 10.58},
};

static void host(void **state)
{
    (void)state;
    CHECK(host_rows);
}

static const char *const many =
    "{'compiles': [{'program': 'train_step', 'seconds': 1, 'cause': null},"
    " {'program': 'train_step', 'seconds': 1.2, 'cause': {'what': 'shape', 'name': "
    "'image',"
    " 'old': 'f32[64]', 'new': 'f32[32]', 'at': 'a.c:7'}}]}";
static const row compilation_rows[] = {
    {"{'settings': {'compile': {'seconds': 1.19}}}", NULL, NULL, NULL, NULL, 0},
    {"{'seconds': 5, 'settings': {'compile': {'seconds': 0.99}}}", NULL, NULL, NULL, NULL, 0},
    {"{'settings': {'compile': {'seconds': 6, 'count': 0, 'cache_hits': 2}}}", NULL, NULL, NULL,
     NULL, 0},
    {"{'settings': {'compile': {'seconds': 6, 'cache_hits': 2}}}", "compile", "note",
     "compiling 2 programs took 6 s, 50 % of the run; 2 more came from the cache", "XDG_CACHE_HOME",
     0.5},
    {"{'settings': {'compile': {'seconds': 6, 'count': 1, 'cache_hits': 3}}}", "compile", "note",
     "compiling 1 program took 6 s, 50 % of the run; 3 more came from the cache", "keep", 0.5},
    {"{'seconds': 1000, 'settings': {'compile': {'seconds': 300}}}", "compile", "note",
     "took 5 min", "keep the compile cache", 0.3},
    {"{'seconds': 10000, 'settings': {'compile': {'seconds': 301}}}", "compile", "medium",
     "5 min 1 s", "keep the compile cache", 0.0301},
    {many, "shapes", "medium",
     "1 more compilation, 1.2 s; the last one: shape of image was f32[64], is f32[32] (a.c:7)",
     "pad or crop", 0.1},
    {"{'compiles': [{'seconds': 1, 'cause': {'what': 'constant', 'old': '1', 'new': '2'}},"
     " {'seconds': 2, 'cause': {'what': 'constant', 'old': '2', 'new': '3'}}]}",
     "shapes", "high", "2 more compilations, 3 s; the last one: constant was 2, is 3",
     "as an input", 0.25},
    {"{'compiles': [{'seconds': 1, 'cause': {'what': 'trainable', 'name': 'fc1.weight'}}]}", NULL,
     NULL, NULL, NULL, 0},
};

static void compilation(void **state)
{
    (void)state;
    CHECK(compilation_rows);
}

static const row operations_and_precision_rows[] = {
    {"{'utilization': {'emulated': 0.05}}", "ops", "high", "5 % of the multiplications", "fg_cast",
     (double)NAN},
    {"{'utilization': {'emulated': 0.049}}", "ops", "medium", "4.9 %", "fg_cast", (double)NAN},
    {"{'utilization': {'mxu': 0.6, 'sixteen_bit': 0.1}}", NULL, NULL, NULL, NULL, 0},
    {"{'utilization': {'mxu': 0.6, 'sixteen_bit': 0.09}}", "16bit", "note", "9 % of", "bf16-mixed",
     (double)NAN},
    {"{'utilization': {'mxu': 0.6, 'bytes_per_second': 50, 'peak_bytes': 100}}", "16bit", "note",
     "used at 50 % of its rate", "bf16-mixed", 0.99 * 0.25},
    {"{'utilization': {'mxu': 0.6, 'bytes_per_second': 120, 'peak_bytes': 100}}", "16bit", "medium",
     "used at 120 % of its rate", "bf16-mixed", 0.99 * 0.5},
    {"{'utilization': {'mxu': 0.6}}", "16bit", "note",
     "precision 32-true: 0 % of the matmuls are in 16 bits", "bf16-mixed", (double)NAN},
    {"{'utilization': {'mxu': 0.6, 'bytes_per_second': 80, 'peak_bytes': 100}}", "16bit", "medium",
     "used at 80 % of its rate", "bf16-mixed", 0.99 * 0.4},
    {"{'settings': {'precision': '16-mixed', 'nonfinite_steps': 1}}", NULL, NULL, NULL, NULL, 0},
    {"{'settings': {'precision': '16-mixed', 'nonfinite_steps': 2}}", "fp16", "note",
     "2 of 100 steps", "bf16-mixed", 0.02},
    {"{'settings': {'precision': '16-mixed', 'nonfinite_steps': 7}}", "fp16", "medium",
     "7 of 100 steps", "bf16-mixed", 0.07},
};

static void operations_and_precision(void **state)
{
    (void)state;
    CHECK(operations_and_precision_rows);
}

static const row the_batch_rows[] = {
    {"{'utilization': {'mxu': 0.6}, 'settings': {'precision': 'bf16-mixed'}}", NULL, NULL, NULL,
     NULL, 0},
    {"{'utilization': {'mxu': 0.2}, 'settings': {'precision': 'bf16-mixed'}}", "batch", "medium",
     "32 samples per device: the matrix units reach 20.0 % of their peak",
     "trainer.batch_size=128; fulgurite batch-find", 0.6},
    {"{'utilization': {'mxu': 0.04, 'bytes_per_second': 5, 'peak_bytes': 100, 'padding': 0.75},"
     " 'memory': {'peak_bytes': 100, 'limit_bytes': 250},"
     " 'settings': {'precision': 'bf16-mixed'}}",
     "batch", "high", "the memory 5.0 %, although",
     "trainer.batch_size=80; the memory of a device holds at least 80 samples", 0.9},
    {"{'utilization': {'mxu': 0.04}, 'memory': {'peak_bytes': 100, 'limit_bytes': 255},"
     " 'settings': {'precision': 'bf16-mixed'}}",
     "batch", "high", "reach 4.0 % of their peak, although",
     "trainer.batch_size=81; the memory of a device holds at least 81 samples", 0.92},
    {"{'utilization': {'mxu': 0.2}, 'memory': {'peak_bytes': 300, 'limit_bytes': 250},"
     " 'settings': {'precision': 'bf16-mixed'}}", /* the limit is not that of the peak */
     "batch", "medium", "20.0 %", "trainer.batch_size=128; fulgurite batch-find", 0.6},
    {"{'utilization': {'mxu': 0.04, 'bytes_per_second': 40, 'peak_bytes': 100},"
     " 'settings': {'precision': 'bf16-mixed'}}",
     "batch", "medium", "the memory 40.0 %", "trainer.batch_size=64; fulgurite", 0.2},
    {"{'utilization': {'mxu': 0.11}, 'settings': {'precision': 'bf16-mixed'}}", "batch", "medium",
     "11.0 %", "trainer.batch_size=256; fulgurite", 0.78},
    {"{'utilization': {'mxu': 0.04}, 'settings': {'precision': 'bf16-mixed'}}", "batch", "high",
     "4.0 %", "trainer.batch_size=512; fulgurite", 0.92},
    {"{'utilization': {'mxu': 0.0001}, 'settings': {'precision': 'bf16-mixed'}}", "batch", "high",
     "0.0 %", "trainer.batch_size=2048; fulgurite", 0.9998},
    {TIME("9.5", "'input_s': 0.2, 'checkpoint_s': 0.2") /* it waits for other things */
     ", 'utilization': {'mxu': 0.2}, 'settings': {'precision': 'bf16-mixed'}}",
     NULL, NULL, NULL, NULL, 0},
    {"{'utilization': {'mxu': 0.04, 'bytes_per_second': 51, 'peak_bytes': 100},"
     " 'settings': {'precision': 'bf16-mixed'}}",
     NULL, NULL, NULL, NULL, 0}, /* memory-bound */
    {TIME("5", "'other_s': 5") ", 'settings': {'launch_s': 0.05}}", "batch", "high",
     "a step of 101 ms computes for 50 ms; launching it takes 50 ms, so the device waits 50 % "
     "of the time",
     "trainer.batch_size=1024", 5 / 10.08 * (1 - 1.0 / 32)},
    /* of a launch, what the device waits for */
    {TIME("8", "'other_s': 2") ", 'settings': {'launch_s': 0.05}}", "batch", "medium",
     "so the device waits 20 % of the time", "trainer.batch_size=256; fulgurite",
     2 / 10.08 * (1 - 1.0 / 8)},
    /* not more than the samples: 100 steps in 4 epochs; and by the key that was set */
    {TIME("5", "'other_s': 5") ", 'epochs': 4, 'settings': {'launch_s': 0.05}}", "batch", "high",
     "launching it", "trainer.batch_size=800; fulgurite", 5 / 10.08 * (1 - 1.0 / 32)},
    {TIME("5", "'other_s': 5") ", 'epochs': 4, 'settings': {'launch_s': 0.05,"
                               " 'accumulate_grad_batches': 2}}",
     "batch", "high", "launching it", "trainer.batch_size=1024; fulgurite",
     5 / 10.08 * (1 - 1.0 / 32)},
    /* 14.3 batches of an epoch, of which the last has fewer samples */
    {TIME("5", "'other_s': 5") ", 'epochs': 7, 'settings': {'launch_s': 0.05}}", "batch", "high",
     "launching it", "trainer.batch_size=458; fulgurite", 5 / 10.08 * (1 - 1.0 / 32)},
    {TIME("5", "'other_s': 5") ", 'settings': {'launch_s': 0.05,"
                               " 'batch_key': 'trainer.global_batch_size'}}",
     "batch", "high", "launching it", "trainer.global_batch_size=1024; fulgurite",
     5 / 10.08 * (1 - 1.0 / 32)},
};

static void the_batch(void **state)
{
    (void)state;
    CHECK(the_batch_rows);
}

/* The largest batch is that of all devices, or of each one. */
static void several_devices(void **state)
{
    static const char *const rows[][2] = {
        {"", "use a larger batch: trainer.batch_size=1024 per device; fulgurite"},
        {", 'batch_key': 'trainer.global_batch_size'",
         "trainer.global_batch_size=2048; fulgurite"}};
    char text[256];
    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       TIME("5", "'other_s': 5") ", 'settings': {'launch_s': 0.05,"
                                                 " 'batch_shards': 2%s}}",
                       rows[i][0]);
        json_t *list = judge(text);
        assert_int_equal(json_array_size(list), 2); /* and the learning rate */
        has(member(json_array_get(list, 0), "action"), rows[i][1]);
        json_decref(list);
    }
}

static const row the_learning_rate_rows[] = {
    {"{'settings': {'batch_shards': 8, 'global_batch_size': 256}}", "lr", "note",
     "8 devices share a batch of 256 samples; lr 0.1, scaling none: the peak is 0.1",
     "lr_scaling=linear", (double)NAN},
    {"{'settings': {'batch_shards': 8, 'global_batch_size': 256, 'lr_scaling': 'linear',"
     " 'lr_factor': 8, 'lr': 0.8}}",
     "lr", "note",
     "scaling linear: the peak is 0.8, 8 times as high, for a batch that is 8 times the base "
     "of 32",
     "schedule.name=onecycle", (double)NAN},
};

static void the_learning_rate(void **state)
{
    (void)state;
    CHECK(the_learning_rate_rows);
}

/* By severity, then by gain; the rate without the wait. */
static void the_most_important_comes_first(void **state)
{
    (void)state;
    json_t *list =
        judge("{'time': {'busy_s': 5, 'idle': {'read_s': 1, 'input_s': 2.5, 'checkpoint_s': 1.5,"
              " 'upload_s': 0, 'other_s': 0}}, 'loader': {'bound_by': 'copy'},"
              " 'settings': {'batch_shards': 2}}");
    static const char *const ids[] = {"input", "checkpoint", "host_reads", "lr"};
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(member(json_array_get(list, i), "id"), ids[i]);
    const json_t *rate = json_object_get(json_array_get(list, 0), "samples_per_s");
    fgt_close("from", json_number_value(json_object_get(rate, "from")), 320, 0, 0);
    fgt_close("to", json_number_value(json_object_get(rate, "to")), 320 / 0.75, 1e-9, 0);
    assert_true(json_is_null(json_object_get(json_array_get(list, 3), "samples_per_s")));
    json_decref(list);
    /* of equal severity, a known gain precedes an unknown one */
    list = judge("{'utilization': {'emulated': 0.04, 'mxu': 0.6, 'bytes_per_second': 80,"
                 " 'peak_bytes': 100}}");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(member(json_array_get(list, 0), "id"), "16bit");
    assert_string_equal(member(json_array_get(list, 1), "severity"), "medium");
    json_decref(list);
}

/* ---- the end of a fit ------------------------------------------------------------------------ */

static const struct {
    const char *changes, *lines;
} ends[] = {
    {"{}", "time: 100 ms per step (p95 130 ms); devices busy 99 %\n"},
    {"{'time': {'busy_s': 6, 'idle': {'checkpoint_s': 1, 'input_s': 2.9, 'other_s': 0.1, "
     "'read_s': 0, 'upload_s': 0}},"
     " 'verdicts': [{'severity': 'high', 'title': 'Slow\\u001b', 'action': 'a', 'gain': 0.29,"
     " 'samples_per_s': {'from': 71, 'to': 100}},"
     " {'severity': 'high', 'title': 'Little', 'action': 'b', 'gain': 0.08},"
     " {'severity': 'medium', 'title': 'Unknown', 'action': 'c', 'gain': null},"
     " {'severity': 'medium', 'title': 'Third', 'action': 'd', 'gain': 0.5}]}",
     "time: 100 ms per step (p95 130 ms); devices busy 60 %; idle: input 29 %, checkpoint 10 "
     "%, other 1 %\n"
     "high: Slow? (would save up to 29 % of the time: from 71 to 100 samples/s): a\n"
     "medium: Unknown: c\n"},
    {"{'verdicts': [{'severity': 'note', 'title': 'Note', 'action': 'a', 'gain': 0.5}]}",
     "time: 100 ms per step (p95 130 ms); devices busy 99 %\n"},
    {"{'time': null}", NULL},
    {"{'step_time': null}", NULL},
    {"{'time': {'busy_s': 6, 'idle': {'input_s': 1, 'upload_s': 0, 'read_s': 1, 'checkpoint_s': 1,"
     " 'other_s': 1}}}", /* equal parts in their order */
     "time: 100 ms per step (p95 130 ms); devices busy 60 %; idle: input 10 %, host reads 10 %, "
     "checkpoint 10 %, other 10 %\n"},
    /* parts of one percent, none of less; verdicts that save a second, none of less */
    {"{'seconds': 10, 'time': {'busy_s': 93, 'idle': {'input_s': 1, 'upload_s': 0.99, 'read_s': 4,"
     " 'checkpoint_s': 0, 'other_s': -1, 'compile_s': 1.01}},"
     " 'verdicts': [{'severity': 'high', 'title': 'A', 'action': 'a', 'gain': 0.0999},"
     " {'severity': 'high', 'title': 'B', 'action': 'b', 'gain': 0.1},"
     " {'severity': 'note', 'title': 'C', 'action': 'c', 'gain': 0.5},"
     " {'severity': 'high', 'title': 'D', 'action': 'd', 'gain': 0.5}]}",
     "time: 100 ms per step (p95 130 ms); devices busy 93 %; idle: host reads 4 %, compile 1 %, "
     "input 1 %\nhigh: B (would save up to 10 % of the time): b\n"},
};

static void the_end_of_a_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        fgi_buf lines = {0};
        json_t *report = read(healthy), *more = read(ends[i].changes);
        assert_int_equal(json_object_update_recursive(report, more), 0);
        fgi_run_brief_put(&lines, report);
        if (ends[i].lines == NULL)
            assert_int_equal(lines.size, 0);
        else
            assert_string_equal(lines.data, ends[i].lines);
        fgi_buf_fini(&lines);
        json_decref(more);
        json_decref(report);
    }
}

static const struct {
    double gain, from, to; /* NaN: unknown */
    const char *words;
} gains[] = {
    {0.29, 71, 100, "up to 29 % of the time: from 71 to 100 samples/s"},
    {0.0994, 71.25, 79, "up to 9.9 % of the time: from 71.25 to 79 samples/s"},
    {0.0995, 999.5, 1000.25, "up to 10 % of the time: from 999.5 to 1000 samples/s"},
    {0.95, 900, 18000, "up to 95 % of the time: from 900 to 18000 samples/s"},
    {0.5, 123456, 246912, "up to 50 % of the time: from 123456 to 246912 samples/s"},
    {0.5, (double)NAN, 246912, "up to 50 % of the time"},
    {0.5, 123456, (double)NAN, "up to 50 % of the time"},
};

/* In lines and on the page. */
static void gains_have_no_exponents(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
        char words[160], folder[] = "run";
        fgi_buf out = {0};
        json_t *rate = json_object(), *verdict = json_object();
        if (!isnan(gains[i].from))
            (void)json_object_set_new(rate, "from", json_real(gains[i].from));
        if (!isnan(gains[i].to))
            (void)json_object_set_new(rate, "to", json_real(gains[i].to));
        (void)json_object_set_new(verdict, "samples_per_s", rate);
        (void)json_object_set_new(verdict, "gain", json_real(gains[i].gain));
        fgi_run_gain_words(&out, verdict);
        (void)snprintf(words, sizeof words, "would save %s", gains[i].words);
        assert_string_equal(out.data, words);
        json_t *report = json_pack("{s:[o]}", "verdicts", verdict);
        fgi_buf_clear(&out);
        fgi_run_report_put(&out, &(fgi_run_view){.folder = folder, .report = report},
                           FG_REPORT_HTML);
        (void)snprintf(words, sizeof words, "<p class=\"note\">Would save %s.</p>\n",
                       gains[i].words);
        has(out.data, words);
        json_decref(report);
        fgi_buf_fini(&out);
    }
}

/* With the summary of a plan, the gain is what the plan estimates for the measured busy time. */
#define SWEEP(best, other)                                                                         \
    ", 'plan': {'saturation_batch': " best ", 'analysis': {'useful_fraction': 0.25},"              \
    " 'sweep': [{'batch_size': 32, 'cycles_per_sample': 800},"                                     \
    " {'batch_size': " best ", 'cycles_per_sample': " other "}]}"
static const struct {
    const char *plan, *by_plan; /* NULL: nothing is said */
    double gain;
} plans[] = {
    {"", NULL, 0.9},
    {SWEEP("256", "200"), "a batch of 256 per device saturates them and takes 75 % less", 0.7425},
    {SWEEP("16", "200"), NULL, 0.9},  /* this batch saturates them */
    {SWEEP("64", "1000"), NULL, 0.9}, /* a larger one is slower */
};

static void a_plan_refines_the_batch(void **state)
{
    char text[1024];
    (void)state;
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans)[0]; i++) {
        (void)snprintf(
            text, sizeof text,
            "{'utilization': {'mxu': 0.05, 'bytes_per_second': 1e10, 'peak_bytes': 1e12},"
            " 'settings': {'batch_size': 32, 'precision': 'bf16-mixed'}%s}",
            plans[i].plan);
        json_t *list = judge(text);
        const json_t *verdict = json_array_get(list, 0);
        const char *detail = member(verdict, "detail");
        assert_string_equal(member(verdict, "id"), "batch");
        assert_int_equal(
            strstr(detail, "75 % of what the matrix units multiply is padding") != NULL, i > 0);
        assert_int_equal(strstr(detail, "according to the plan") != NULL, plans[i].by_plan != NULL);
        if (plans[i].by_plan != NULL)
            has(detail, plans[i].by_plan);
        fgt_close("gain", json_number_value(json_object_get(verdict, "gain")), plans[i].gain, 1e-6,
                  0);
        json_decref(list);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Numbers on both sides of each limit, and settings that change what is said: their verdicts are in
 * the golden file, and those that have none are listed as such. */
static const char *const limits[] = {
    /* input: 5 %, 20 %; workers and processors */
    TIME("9.5", "'input_s': 0.499, 'upload_s': 0") ", 'loader': {'bound_by': 'read'}}",
    TIME("9.5", "'input_s': 0.52, 'upload_s': 0") ", 'loader': {'bound_by': 'read'}}",
    TIME("8", "'input_s': 1.99, 'upload_s': 0") ", 'loader': {'bound_by': 'read', 'workers': 1}}",
    TIME("8", "'input_s': 2.1, 'upload_s': 0") ", 'loader': {'bound_by': 'read', 'workers': 0}}",
    TIME("6", "'input_s': 2, 'upload_s': 2") ", 'loader': {'bound_by': 'read'}}",
    TIME("6", "'input_s': 2, 'upload_s': 2.1") ", 'loader': {'bound_by': 'read'}}",
    TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'delivered_samples_per_s': 323}}",
    TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'delivered_samples_per_s': 322,"
                              " 'stages': {'read_s': 0, 'decode_s': 0}}}",
    TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'read', 'workers': 4,"
                              " 'delivered_samples_per_s': 100}, 'host': {'cpus': 5}}",
    TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'decode', 'stages': {'read_s': 0}},"
                              " 'settings': {'can_preload': true}}",
    TIME("6", "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'delivered_samples_per_s': 1,"
                              " 'stages': {'copy_s': 9}}, 'host': {'cpus': null}}",
    /* many files */
    "{'loader': {'opens': 100, 'open_seconds': 0.6}}",
    "{'loader': {'opens': 100, 'open_seconds': 0.6001, 'workers': 0}}",
    "{'loader': {'opens': 100, 'open_seconds': 3.01}}",
    TIME("6", "'input_s': 4, 'upload_s': 0") ", 'loader': {'opens': 100, 'open_seconds': 2,"
                                             " 'stages': {'entropy_s': 4, 'resize_s': 8}}}",
    /* host reads: 1 %; 0.2 % with more than one in two steps */
    TIME("9.9", "'read_s': 0.1, 'input_s': 0, 'upload_s': 0, 'checkpoint_s': 0, 'other_s': 0") "}",
    TIME("9.9",
         "'read_s': 0.101, 'input_s': 0, 'upload_s': 0, 'checkpoint_s': 0, 'other_s': 0") "}",
    "{'time': {'idle': {'read_s': 0.0201}}, 'host_reads': [{'count': 50}]}",
    "{'time': {'idle': {'read_s': 0.0201}}, 'host_reads': [{'count': 51}]}",
    "{'time': {'idle': {'read_s': 0.0199}}, 'host_reads': [{'count': 51}]}",
    TIME("8", "'read_s': 2.2") ", 'host_reads': [{'at': 'a.c:1', 'count': 20, 'wait_s': 0.5},"
                               " {'at': 'b.c:2', 'count': 30, 'wait_s': 0.5}, {'count': -3},"
                               " {'at': 'c.c:3', 'count': 7, 'wait_s': 0.25}],"
                               " 'settings': {'log_every': 49}}",
    TIME("8", "'read_s': 1") ", 'settings': {'log_every': 50}}",
    TIME("8", "'read_s': 1") ", 'settings': {'log_every': 0}}",
    /* compilations */
    "{'seconds': 10, 'settings': {'compile': {'seconds': 1}}}",
    "{'seconds': 10, 'settings': {'compile': {'seconds': 1.01, 'cache_hits': 1}}}",
    "{'seconds': 11, 'settings': {'compile': {'seconds': 1.01}}}",
    "{'seconds': 4000, 'settings': {'compile': {'seconds': 300}}}",
    "{'seconds': 4000, 'settings': {'compile': {'seconds': 300.5, 'count': 1}}}",
    "{'seconds': null, 'compiles': [{'seconds': 2, 'cause': {'what': 'dtype', 'name': 'x'}}]}",
    "{'compiles': [{'seconds': -1, 'cause': {'what': 'shape'}}, {'seconds': 0.5,"
    " 'cause': {'what': 'structure'}}, {'seconds': 0.5, 'cause': {'what': 'number', 'name': "
    "'k'}}]}",
    /* checkpoints */
    TIME("9.4", "'checkpoint_s': 0.52") "}",
    TIME("9.4", "'checkpoint_s': 0.45") "}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_epochs': 2, 'max_epochs': 41}}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_epochs': 2, 'max_epochs': 39}}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_epochs': 2, 'max_epochs': 40}}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_steps': 1, 'max_steps': 21}}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_steps': 1, 'max_steps': 20}}",
    TIME("8", "'checkpoint_s': 2") ", 'epochs': 4, 'settings': {'ckpt_every_steps': 10,"
                                   " 'max_steps': 900, 'max_epochs': 8}}",
    TIME("8", "'checkpoint_s': 2") ", 'epochs': 4, 'settings': {'ckpt_every_steps': 10,"
                                   " 'max_epochs': 7}}",
    TIME("8", "'checkpoint_s': 2") ", 'epochs': 4, 'settings': {'ckpt_every_steps': 10,"
                                   " 'max_steps': 100, 'max_epochs': 40}}",
    TIME("8", "'checkpoint_s': 2") ", 'settings': {'ckpt_every_epochs': 0}}",
    /* other work of the host */
    TIME("9.3", "'other_s': 0.5") "}",
    TIME("9.3", "'other_s': 0.53") "}",
    TIME("8", "'other_s': 2.5") ", 'step_time': {'count': null, 'p50_s': 0.2}}",
    TIME("8", "'other_s': 2.5") ", 'settings': {'launch_s': 0.01}}",
    /* the batch */
    TIME("9.4", "'other_s': 0.53") ", 'settings': {'launch_s': 1}}",
    TIME("8", "'other_s': 2") ", 'settings': {'launch_s': 1, 'batch_shards': 4}}",
    TIME("8", "'other_s': 2") ", 'settings': {'launch_s': 1, 'batch_shards': 4,"
                              " 'batch_key': 'trainer.global_batch_size'},"
                              " 'memory': {'peak_bytes': 100, 'limit_bytes': 199}}",
    TIME("8", "'other_s': 2") ", 'settings': {'launch_s': 1, 'batch_size': 3}, 'epochs': 8,"
                              " 'memory': {'peak_bytes': 100, 'limit_bytes': 100}}",
    TIME("8", "'other_s': 2") ", 'epochs': 100, 'settings': {'launch_s': 1}}",
    "{'utilization': {'mxu': 0.5}, 'settings': {'precision': 'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.499}, 'settings': {'precision': 'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.1}, 'settings': {'precision': 'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.099}, 'settings': {'precision': 'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.3, 'bytes_per_second': 49.9, 'peak_bytes': 100},"
    " 'settings': {'precision': 'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.3, 'bytes_per_second': 50, 'peak_bytes': 100},"
    " 'settings': {'precision': 'bf16-mixed'}}",
    TIME("9.7",
         "'input_s': 0.2, 'other_s': 0, 'upload_s': 0, 'read_s': 0") ", 'utilization': {'mxu': "
                                                                     "0.3}, 'settings': "
                                                                     "{'precision': "
                                                                     "'bf16-mixed'}}",
    TIME("9.7", "'input_s': 0.28, 'other_s': 0, 'upload_s': 0, 'read_s': 0, 'checkpoint_s': "
                "0.03") ", 'utilization': {'mxu': 0.3}, 'settings': {'precision': "
                        "'bf16-mixed'}}",
    "{'utilization': {'mxu': 0.3}, 'settings': {'precision': 'bf16-mixed'}, 'plan':"
    " {'saturation_batch': 32, 'analysis': {'useful_fraction': 1}, 'sweep': [{'batch_size': 32,"
    " 'cycles_per_sample': 8}]}}",
    "{'utilization': {'mxu': 0.3}, 'settings': {'precision': 'bf16-mixed'}, 'plan':"
    " {'saturation_batch': 64, 'analysis': {'useful_fraction': 0.99}, 'sweep': [{'batch_size': "
    "32,"
    " 'cycles_per_sample': 8}, {'batch_size': 64, 'cycles_per_sample': 7}]}}",
    /* operations, precision */
    "{'utilization': {'emulated': 0}}",
    "{'utilization': {'emulated': 0.00001}, 'device': {'kind': 'TPU v4'}}",
    "{'utilization': {'mxu': 0.6, 'sixteen_bit': 0.0999}}",
    "{'utilization': {'mxu': 0.6, 'bytes_per_second': 51, 'peak_bytes': 100}}",
    "{'utilization': {'mxu': 0.6}, 'settings': {'precision': '32'}}",
    "{'utilization': {'mxu': 0.6, 'sixteen_bit': 0.05}, 'settings': {'precision': 'f64'}}",
    "{'utilization': {'mxu': 0.6, 'sixteen_bit': 0.05}, 'settings': {'precision': ''}}",
    "{'settings': {'precision': '16-true', 'nonfinite_steps': 5}}",
    "{'settings': {'precision': '16-mixed', 'nonfinite_steps': 4}}",
    "{'settings': {'precision': '16-mixed', 'nonfinite_steps': 300}}",
    "{'settings': {'precision': 'bf16-mixed', 'nonfinite_steps': 50}}",
    /* the learning rate */
    "{'settings': {'batch_shards': 1, 'lr_scaling': 'sqrt', 'lr_factor': 2, 'lr': 0.2,"
    " 'global_batch_size': 128}}",
    "{'settings': {'batch_shards': 2, 'lr_scaling': ''}}",
    /* a run that was resumed has more steps than were timed */
    TIME("5", "'other_s': 5") ", 'epochs': 4, 'steps': 400, 'settings': {'launch_s': 0.05}}",
    TIME("8",
         "'checkpoint_s': 2") ", 'epochs': 4, 'steps': 400, 'settings': {'ckpt_every_steps': 10,"
                              " 'max_epochs': 7}}",
    /* more threads than processors */
    TIME("6",
         "'input_s': 4") ", 'loader': {'bound_by': 'copy', 'workers': 8, 'stages': {'copy_s': 5}}}",
    /* of equal severity and gain, the order of the table */
    TIME("8", "'input_s': 1, 'checkpoint_s': 1, 'read_s': 1") ", 'loader': {'bound_by': 'read'}}",
};

static void every_word_of_a_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        json_t *list = judge(limits[i]);
        if (json_array_size(list) == 0)
            fgi_buf_printf(&all, "%s\nnone\n", limits[i]);
        remember(limits[i], list);
        json_decref(list);
    }
    fgt_golden("report/verdicts.txt", all.data);
    fgi_buf_fini(&all);
}

/* Of the time: 5 % is medium, and 20 % high. */
static void limits_are_inclusive(void **state)
{
    static const struct {
        double wait_s; /* of 10000 */
        const char *severity;
    } rows[] = {{499, ""}, {500, "medium"}, {1990, "medium"}, {2000, "high"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char changes[256];
        size_t k;
        json_t *verdict;
        const char *severity = "";
        (void)snprintf(changes, sizeof changes,
                       "{'time':{'busy_s':%g,'idle':{'input_s':0,'upload_s':0,'compile_s':0,"
                       "'read_s':0,'checkpoint_s':%g,'other_s':0}}}",
                       10000 - rows[i].wait_s, rows[i].wait_s);
        json_t *list = judge(changes);
        json_array_foreach(list, k, verdict)
        {
            if (strcmp(member(verdict, "id"), "checkpoint") == 0)
                severity = member(verdict, "severity");
        }
        assert_string_equal(severity, rows[i].severity);
        json_decref(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_inclusive),
        cmocka_unit_test(a_plan_refines_the_batch),
        cmocka_unit_test(a_healthy_run_has_none),
        cmocka_unit_test(input),
        cmocka_unit_test(many_files),
        cmocka_unit_test(host),
        cmocka_unit_test(compilation),
        cmocka_unit_test(the_batch),
        cmocka_unit_test(operations_and_precision),
        cmocka_unit_test(several_devices),
        cmocka_unit_test(the_learning_rate),
        cmocka_unit_test(the_most_important_comes_first),
        cmocka_unit_test(the_end_of_a_fit),
        cmocka_unit_test(gains_have_no_exponents),
        cmocka_unit_test(every_word_of_a_verdict), /* the last one: it has those of all rows */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
