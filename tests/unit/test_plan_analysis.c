/* test_plan_analysis.c - the analysis of optimized programs that libtpu made (tests/golden/plan),
 * with expectations worked out by hand.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <zlib.h>

#include "input/json_file.h"
#include "golden.h"
#include "plan/analysis.h"
#include "plan/hlo_clocks.h"
#include "plan/hlo_work.h"

#define GOLDEN FGT_SOURCE_DIR "/tests/golden/plan/"

enum { PROGRAM_MAX = 1 << 20 };
static char program[PROGRAM_MAX];
static size_t program_size;

static void load(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, GOLDEN "%s.pb.gz", name);
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    const int size = gzread(file, program, sizeof program);
    assert_in_range(size, 1, PROGRAM_MAX - 1);
    program_size = (size_t)size;
    assert_int_equal(gzclose(file), Z_OK);
}

static fgi_plan_analysis analyze(const char *name, const fgi_plan_machine *machine)
{
    fg_error err = {0};
    fgi_plan_analysis analysis;
    load(name);
    fgt_ok(fgi_plan_analyze(program, program_size, machine, &analysis, &err));
    return analysis;
}

static const fgi_plan_layer *layer(const fgi_plan_analysis *a, const char *name)
{
    for (size_t i = 0; i < a->layer_count; i++)
        if (strcmp(a->layers[i].name, name) == 0)
            return &a->layers[i];
    fail_msg("no layer '%s' among %zu", name, a->layer_count);
    return NULL;
}

/* ---- a product ------------------------------------------------------------------------------- */

/* The compiler turns the array so that 129 lies along the 8 sublanes, not the 128 lanes: it is
 * padded to 136, where 256 would be by a rule of thumb. Its own estimate of cycles agrees. */
static void padding_is_the_layouts_and_not_a_rule(void **state)
{
    (void)state;
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v2"), .devices = 1};
    fgi_plan_analysis a = analyze("dot_129", &machine);
    const fgi_plan_layer *l = layer(&a, "fc");
    fgt_close("cycles", l->work.cycles, 151560, 0, 0);
    fgt_close("flops", l->work.flops, 2.0 * 4096 * 4096 * 129, 0, 0);
    fgt_close("padded", l->work.padded_flops, 2.0 * 4096 * 4096 * 136, 0, 1e-12);
    fgt_close("bytes", l->work.bytes, 2.0 * (4096 * 4096 + 2 * 4096 * 129), 0, 0);
    fgt_close("padded bytes", l->work.padded_bytes, 2.0 * (4096 * 4096 + 2 * 4096 * 136), 0, 0);
    fgt_close("16 bits", l->work.flops_16bit, l->work.flops, 0, 0);
    fgt_close("lost", l->lost_cycles, 151560 * 7.0 / 136, 0, 1e-9);
    assert_int_equal(l->worst.size, 129);
    assert_int_equal(l->worst.padded, 136);
    assert_int_equal(l->worst.unit, 8);
    assert_string_equal(l->file, "user.c");
    assert_int_equal(l->line, 7);
    fgi_plan_analysis narrow = analyze("dot_128", &machine);
    fgt_close("lost", narrow.layers[0].lost_cycles, 0, 0, 0);
    fgt_close("ratio", a.total.cycles / narrow.total.cycles, 136.0 / 128, 0.005, 0);
    fgi_plan_analysis_fini(&a);
    fgi_plan_analysis_fini(&narrow);
}

/* One core of a v2: 0.7 GHz, half of the chip's 700 GB/s and 46 TFLOP/s. */
static void seconds_are_cycles_by_clock_or_bytes_by_bandwidth(void **state)
{
    (void)state;
    const fgi_plan_machine machine = {
        .chip = fg_chip_find("TPU v2"), .devices = 1, .steps_per_epoch = 50};
    fgi_plan_analysis a = analyze("dot_129", &machine);
    fgt_close("compute", a.compute_s, 151560 / 0.7e9, 0, 1e-12);
    fgt_close("memory", a.memory_s, 2.0 * (4096 * 4096 + 2 * 4096 * 136) / 350e9, 0, 1e-12);
    fgt_close("collective", a.collective_s, 0, 0, 0);
    fgt_close("step", a.step_s, a.compute_s, 0, 0);
    fgt_close("epoch", a.epoch_s, 50 * a.compute_s, 0, 1e-12);
    fgt_close("fraction of peak", a.mxu_fraction, a.total.flops / (a.compute_s * 23e12), 0, 1e-9);
    fgi_plan_analysis_fini(&a);
}

static void nothing_is_said_in_seconds_of_an_unknown_chip(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze("mlp_x8", &(fgi_plan_machine){.devices = 8});
    assert_true(a.compute_s < 0 && a.memory_s < 0 && a.collective_s < 0 && a.step_s < 0);
    assert_true(a.epoch_s < 0 && a.mxu_fraction < 0);
    assert_true(a.total.cycles > 0);
    fgi_plan_analysis_fini(&a);
}

/* ---- a training step ------------------------------------------------------------------------- */

enum { BATCH = 128, IN = 784, WIDE = 512, NARROW = 129, OUT = 10 };

static const fgi_plan_machine v5e_x8 = {.devices = 8, .batch = BATCH, .steps_per_epoch = 100};

static fgi_plan_analysis analyze_mlp(void)
{
    fgi_plan_machine machine = v5e_x8;
    machine.chip = fg_chip_find("TPU v5 lite");
    return analyze("mlp_x8", &machine);
}

/* A ring has one link of four in a two-dimensional torus, and of six in a three-dimensional one. */
static void collectives_use_one_link_of_a_torus(void **state)
{
    (void)state;
    static const struct {
        const char *chip;
        double links;
    } rows[] = {{"TPU v5 lite", 4}, {"TPU v3", 4}, {"TPU v4", 6}, {"TPU v5", 6}, {"TPU7x", 6}};
    double first = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_plan_machine machine = v5e_x8;
        machine.chip = fg_chip_find(rows[i].chip);
        assert_non_null(machine.chip);
        fgi_plan_analysis a = analyze("mlp_x8", &machine);
        const double bytes = a.collective_s * machine.chip->ici_bandwidth / rows[i].links;
        first = i == 0 ? bytes : first;
        fgt_close(rows[i].chip, bytes, first, 0, 1e-9);
        fgi_plan_analysis_fini(&a);
    }
    assert_true(first > 0);
}

/* Forward, by the weights, and but for the first layer by the input. */
static void work_is_reported_by_layer(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze_mlp();
    const fgi_plan_layer *l = layer(&a, "fc1");
    fgt_close("fc1", l->work.flops, 2 * 2.0 * BATCH * IN * WIDE, 0, 0);
    fgt_close("fc2", layer(&a, "fc2")->work.flops, 3 * 2.0 * BATCH * WIDE * NARROW, 0, 0);
    fgt_close("fc3", layer(&a, "fc3")->work.flops, 3 * 2.0 * BATCH * NARROW * OUT, 0, 0);
    fgt_close("optimizer", layer(&a, "optimizer")->work.flops, 0, 0, 0);
    fgt_close("all", a.total.flops,
              2.0 * BATCH * (2 * IN * WIDE + 3 * WIDE * NARROW + 3 * NARROW * OUT), 0, 0);
    assert_true(layer(&a, "optimizer")->work.bytes > 0);
    double cycles = 0;
    for (size_t i = 0; i < a.layer_count; i++)
        cycles += a.layers[i].work.cycles;
    fgt_close("cycles", a.total.cycles, cycles, 0, 0);
    fgt_close("cycles", a.total.cycles, 54456, 0, 0); /* sum of all "estimated_cycles" */
    fgi_plan_analysis_fini(&a);
}

static void what_loses_most_comes_first(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze_mlp();
    /* 129 along the lanes: forward and back [128,129] x [129,10]; 10 along the sublanes */
    assert_string_equal(a.layers[0].name, "fc3");
    assert_int_equal(a.layers[0].worst.size, NARROW);
    assert_int_equal(a.layers[0].worst.padded, 256);
    assert_string_equal(a.layers[1].name, "fc2");
    assert_int_equal(a.layers[1].worst.padded, 136);
    assert_string_equal(a.layers[1].file, "perceptron.c");
    for (size_t i = 1; i < a.layer_count; i++)
        assert_true(a.layers[i - 1].lost_cycles >= a.layers[i].lost_cycles);
    fgi_plan_analysis_fini(&a);
}

/* All gradients and the loss in one sum over the ring of eight: 400 GB/s over four links. */
static void collectives_are_reported_with_bytes_and_algorithm(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze_mlp();
    const int64_t weights = IN * WIDE + WIDE + WIDE * NARROW + NARROW + NARROW * OUT + OUT;
    assert_int_equal(a.collective_count, 1);
    assert_int_equal(a.collectives[0].kind, FG_ALL_REDUCE);
    assert_int_equal(a.collectives[0].count, 1);
    assert_int_equal(a.collectives[0].group, 8);
    assert_int_equal(a.collectives[0].bytes, 4 * (weights + 1));
    assert_string_equal(a.collectives[0].algorithm,
                        "RotatedPincerEmitter, UniDirection1DRingStrategy");
    fgt_close("collective", a.collective_s, 2 * 7.0 / 8 * 4 * (double)(weights + 1) / 100e9, 0,
              1e-12);
    fgt_close("step", a.step_s, a.compute_s + a.collective_s, 0, 1e-12);
    a.total.cycles = 0; /* without cycles, no time is known */
    fgi_plan_estimate(&a);
    assert_true(a.compute_s == -1 && a.step_s == -1 && a.epoch_s == -1 && a.mxu_fraction == -1);
    fgi_plan_analysis_fini(&a);
}

/* Each device has an eighth of the large weights. They are gathered in bf16, in which they are
 * multiplied; one of the gathers overlaps with matmuls, in three fusions, and counts once. Their
 * gradients are scattered: 784 rows as eight times 104, cut off from a sum in a fusion. */
static void split_parameters_are_gathered_and_scattered(void **state)
{
    int64_t bytes[FG_COLLECTIVES] = {0};
    int count[FG_COLLECTIVES] = {0};
    (void)state;
    fgi_plan_analysis a = analyze("mlp_fsdp", &v5e_x8);
    for (size_t i = 0; i < a.collective_count; i++) {
        count[a.collectives[i].kind] += a.collectives[i].count;
        bytes[a.collectives[i].kind] += a.collectives[i].bytes;
        assert_int_equal(a.collectives[i].group, 8);
    }
    assert_int_equal(count[FG_ALL_GATHER], 3);
    assert_int_equal(bytes[FG_ALL_GATHER], 2 * (784 * 512 + 512 * 512 + 512 * 10));
    assert_int_equal(count[FG_REDUCE_SCATTER], 1);
    assert_int_equal(bytes[FG_REDUCE_SCATTER], 4 * (8 * 104 * 512 + 512 * 512));
    assert_true(bytes[FG_ALL_REDUCE] >= 4 * (512 + 512 + 512 * 10 + 10));
    /* what the compiler adds for gathering has an argument's name, and goes with its layer */
    for (size_t i = 0; i < a.layer_count; i++)
        assert_null(strstr(a.layers[i].name, "Arg_"));
    fgi_plan_analysis_fini(&a);
}

/* ---- loops and formats ----------------------------------------------------------------------- */

static void a_loop_counts_as_often_as_it_runs(void **state)
{
    (void)state;
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v5 lite"), .devices = 1};
    fgi_plan_analysis a = analyze("loop", &machine);
    const fgi_plan_layer *l = layer(&a, "cell");
    fgt_close("flops", l->work.flops, 12 * 2.0 * 512 * 512 * 512, 0, 0);
    fgt_close("cycles", l->work.cycles, 12 * 10312.0, 0, 0);
    assert_int_equal(a.unknown_loops, 0);
    fgi_plan_analysis_fini(&a);
}

/* The same program with a loop that runs while its counter equals the limit: its trip count is
 * unknown. */
static void a_loop_of_unknown_length_counts_once(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_plan_analysis a;
    char *at = program;
    fgi_buf buf = {0};
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v5 lite"), .devices = 1};
    load("loop");
    while ((at = memmem(at, program_size - (size_t)(at - program), "\2LT", 3)) != NULL)
        memcpy(at, "\2EQ", 3);
    fgt_ok(fgi_plan_analyze(program, program_size, &machine, &a, &err));
    assert_int_equal(a.unknown_loops, 1);
    fgt_close("flops", layer(&a, "cell")->work.flops, 2.0 * 512 * 512 * 512, 0, 0);
    fgt_close("cycles", layer(&a, "cell")->work.cycles, 10312.0, 0, 0);
    fgi_plan_put_json(&a, &buf);
    assert_non_null(strstr(buf.data, "\"unknown_loops\":1,"));
    fgi_buf_fini(&buf);
    fgi_plan_analysis_fini(&a);
}

/* The same program with a limit of 0 instead of 12: a loop that never runs is not one of unknown
 * length, and costs nothing. */
static void a_loop_that_never_runs_costs_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_plan_analysis a;
    static const char literal[] = {0x22, 1, 12}; /* LiteralProto.s32s */
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v5 lite"), .devices = 1};
    load("loop");
    char *at = memmem(program, program_size, literal, sizeof literal);
    assert_non_null(at);
    at[2] = 0;
    fgt_ok(fgi_plan_analyze(program, program_size, &machine, &a, &err));
    assert_int_equal(a.unknown_loops, 0);
    fgt_close("flops", layer(&a, "cell")->work.flops, 0, 0, 0);
    fgt_close("cycles", layer(&a, "cell")->work.cycles, 0, 0, 0);
    fgi_plan_analysis_fini(&a);
}

static void integers_of_64_bits_are_reported(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze(
        "wide_integers", &(fgi_plan_machine){.chip = fg_chip_find("TPU v5 lite"), .devices = 1});
    for (int k = 0; k < FGI_SLOW_KINDS; k++)
        assert_int_equal(a.slow[k].count > 0, k == FGI_SLOW_INT64);
    fgi_plan_analysis_fini(&a);
}

/* ---- from points and to text ----------------------------------------------------------------- */

static void the_smallest_batch_within_a_tenth_fills_the_units(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 8, 64, 128, 256};
    static const double cycles[] = {1000, 1600, 6700, 12900, 25600};
    /* a sample: 1000, 200, 104.7, 100.8, 100 */
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 5), 64);
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 2), 8);
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 0), 0);
    assert_int_equal(fg_plan_saturation_batch(&batches[1], &(double){0}, 1), 0);
    /* a tenth more is enough; a batch whose cycles are unknown is left out */
    const double close[] = {(double)NAN, 1776, 3520, 6400};
    assert_int_equal(fg_plan_saturation_batch((int64_t[]){8, 16, 32, 64}, close, 4), 32);
    /* 11 is a tenth more than 10 exactly; the order is of no importance */
    const double exact[] = {200, 640, 110, 440};
    assert_int_equal(fg_plan_saturation_batch((int64_t[]){20, 64, 10, 40}, exact, 4), 10);
}

/* One core of a v2 needs 1 ms for 700,000 cycles, and 2 ms for 0.7 GB. */
static void the_slower_of_compute_and_memory_counts(void **state)
{
    (void)state;
    fgi_plan_collective exchange = {.seconds = 0.25};
    fgi_plan_analysis a = {.machine = {.chip = fg_chip_find("TPU v2"), .devices = 1},
                           .total = {.cycles = 7e5, .bytes = 0.35e9, .padded_bytes = 0.7e9},
                           .collectives = &exchange,
                           .collective_count = 1};
    fgi_plan_estimate(&a);
    fgt_close("compute", a.compute_s, 1e-3, 0, 1e-12);
    fgt_close("memory", a.memory_s, 2e-3, 0, 1e-12);
    fgt_close("step", a.step_s, 0.25 + 2e-3, 0, 1e-12);
    a.total.padded_bytes = 0.35e8;
    fgi_plan_estimate(&a);
    fgt_close("step", a.step_s, 0.25 + 1e-3, 0, 1e-12);
    assert_true(a.epoch_s < 0); /* the number of steps is not known */
    fgi_buf text = {0};
    a.machine.batch = 1;
    a.collective_count = 0;
    fgi_plan_put_json(&a, &text);
    assert_non_null(strstr(text.data, "\"cycles_per_sample\":700000.0,"));
    fgi_buf_fini(&text);
}

static void json_says_that_it_is_an_estimate(void **state)
{
    (void)state;
    fgi_plan_analysis a = analyze_mlp();
    fgi_buf buf = {0};
    fgi_plan_put_json(&a, &buf);
    assert_false(buf.failed);
    json_t *all = fgi_json_load(buf.data, buf.size, 0, NULL);
    assert_non_null(all);
    assert_string_equal(json_string_value(json_object_get(all, "label")),
                        "compiler estimate, not measured");
    fgt_close("cycles", json_number_value(json_object_get(all, "cycles_per_sample")),
              54456.0 / BATCH, 0, 1e-8);
    assert_int_equal(json_array_size(json_object_get(all, "layers")), a.layer_count);
    const json_t *first = json_array_get(json_object_get(all, "layers"), 0);
    const json_t *worst = json_object_get(first, "worst_dimension");
    assert_int_equal(json_integer_value(json_object_get(worst, "padded")), 256);
    assert_string_equal(json_string_value(json_object_get(worst, "kind")), "width");
    assert_null(strstr(buf.data, "optimal_seconds"));
    json_decref(all);
    fgi_buf_fini(&buf);
    fgi_plan_analysis_fini(&a);
}

/* More layers than are printed, several with the same padding, and what is not known:
 * test_plan_print prints the objects. */
static fgi_plan_layer layers[7];
static fgi_plan_collective one = {
    .kind = 0, .count = 2, .group = 4, .bytes = 64, .seconds = 5e-4, .algorithm = "ring"};
static fgi_plan_analysis made = {.machine = {.batch = 4, .steps_per_epoch = 1},
                                 .total = {.cycles = 100,
                                           .flops = 1000,
                                           .padded_flops = 2000,
                                           .flops_16bit = 250,
                                           .bytes = 30,
                                           .padded_bytes = 40},
                                 .layers = layers,
                                 .layer_count = 7,
                                 .collectives = &one,
                                 .collective_count = 1,
                                 .slow = {[FGI_SLOW_F64] = {1, "a"}},
                                 .unknown_loops = 1,
                                 .compute_s = 9.994e-4,
                                 .memory_s = 1e-3,
                                 .collective_s = 1,
                                 .step_s = 0.25,
                                 .epoch_s = 100,
                                 .mxu_fraction = 0.125};

static void objects_of_an_analysis(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    const fgi_plan_dim worst[] = {{.size = 129, .padded = 256, .unit = 128},
                                  {.size = 3, .padded = 8, .unit = 8},
                                  {.size = 0}};
    fgi_buf text = {0};
    (void)state;
    for (int i = 0; i < 7; i++)
        layers[i] = (fgi_plan_layer){.name = names[i],
                                     .worst = worst[i == 3 ? 2 : i % 2],
                                     .work = {.cycles = 10, .flops = 50, .padded_flops = 200},
                                     .lost_cycles = 10 - i};
    layers[0].file = "n.c";
    layers[0].line = 7;
    layers[1].file = "no_line.c";
    fgi_plan_put_json(&made, &text);
    fgi_buf_putc(&text, '\n');
    made.unknown_loops = 2;
    made.slow[FGI_SLOW_F64] = (fgi_plan_slow){2, NULL};
    made.machine.steps_per_epoch = 2;
    made.machine.batch = 0;
    made.compute_s = made.mxu_fraction = -1;
    made.total.flops = made.total.padded_flops = 0;
    layers[2].lost_cycles = 0;
    one.algorithm = "";
    fgi_plan_put_json(&made, &text);
    fgi_buf_putc(&text, '\n');
    fgt_golden("plan/made.txt", text.data);
    fgi_buf_fini(&text);
}

/* All that is found in the recorded programs. */
static void analyses_are_as_they_were(void **state)
{
    (void)state;
    static const struct {
        const char *name, *chip;
        int devices;
        int64_t batch;
    } rows[] = {{"dot_128", "TPU v2", 1, 128},     {"dot_129", "TPU v2", 1, 129},
                {"loop", "TPU v5 lite", 1, 512},   {"wide_integers", "TPU v5 lite", 1, 0},
                {"mlp_x8", "TPU v5 lite", 8, 128}, {"mlp_fsdp", "TPU v5 lite", 8, 32},
                {"mlp_x8", "TPU v4", 8, 129},      {"mlp_fsdp", "NVIDIA H100 80GB HBM3", 8, 512}};
    fgi_buf buf = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgi_plan_machine machine = {.chip = fg_chip_find(rows[i].chip),
                                          .devices = rows[i].devices,
                                          .batch = rows[i].batch,
                                          .steps_per_epoch = 3 * (int64_t)i};
        fgi_plan_analysis a = analyze(rows[i].name, &machine);
        fgi_buf_printf(&buf, "%s on %d x %s\n", rows[i].name, rows[i].devices, rows[i].chip);
        fgi_plan_put_json(&a, &buf);
        fgi_buf_puts(&buf, "\n");
        fgi_plan_analysis_fini(&a);
    }
    assert_false(buf.failed);
    fgt_golden("plan/analyses.txt", buf.data);
    fgi_buf_fini(&buf);
}

static fg_status analyze_once(void *self, fg_error *err)
{
    fgi_plan_analysis a;
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v5 lite"), .devices = 8};
    (void)self;
    const fg_status status = fgi_plan_analyze(program, program_size, &machine, &a, err);
    fgi_plan_analysis_fini(&a);
    return status;
}

/* Unit 0 runs from 10 to 30, twice after 20; unit 1 from 15 to 20, from 40 to 50, and at 25 for no
 * time. */
static void units_that_overlap_share_the_time(void **state)
{
    (void)state;
    fgi_tick ticks[] = {{40, 2}, {10, 0}, {30, 1}, {15, 2}, {20, 3},
                        {30, 1}, {20, 0}, {50, 3}, {25, 3}, {25, 2}};
    double ns[2] = {0}, begins[2] = {0};
    fgi_unit_times sum = {.ns = ns, .begins = begins};
    fgi_ticks_add(ticks, sizeof ticks / sizeof ticks[0], &sum);
    fgt_close("unit 0", ns[0], 5 + 2.5 + 10, 1e-9, 0);
    fgt_close("unit 1", ns[1], 2.5 + 10, 1e-9, 0);
    assert_true(begins[0] == 2 && begins[1] == 3);
    assert_true(sum.step_ns == 40 && sum.between_ns == 10);
}

static fg_status time_once(void *self, fg_error *err)
{
    (void)self;
    fgi_hlo *hlo = NULL;
    fgi_hlo_units units = {0};
    fgi_buf module = {0};
    fg_status status = fgi_hlo_read(program, program_size, &hlo, err);
    if (status == FG_OK)
        status = fgi_hlo_units_make(hlo, &units, err);
    if (status == FG_OK)
        status = fgi_hlo_put_clocks(&units, 0, &module, err);
    fgi_buf_fini(&module);
    fgi_hlo_units_fini(&units);
    fgi_hlo_free(hlo);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    load("loop");
    fgt_fault_loop(analyze_once, NULL);
    fgt_fault_loop(time_once, NULL);
}

static void what_is_cut_short_is_an_error(void **state)
{
    (void)state;
    fg_error err = {0};
    load("loop");
    program_size /= 2;
    assert_int_equal(analyze_once(NULL, &err), FG_EFORMAT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_of_an_analysis),
        cmocka_unit_test(units_that_overlap_share_the_time),
        cmocka_unit_test(padding_is_the_layouts_and_not_a_rule),
        cmocka_unit_test(seconds_are_cycles_by_clock_or_bytes_by_bandwidth),
        cmocka_unit_test(nothing_is_said_in_seconds_of_an_unknown_chip),
        cmocka_unit_test(collectives_use_one_link_of_a_torus),
        cmocka_unit_test(work_is_reported_by_layer),
        cmocka_unit_test(what_loses_most_comes_first),
        cmocka_unit_test(collectives_are_reported_with_bytes_and_algorithm),
        cmocka_unit_test(split_parameters_are_gathered_and_scattered),
        cmocka_unit_test(a_loop_counts_as_often_as_it_runs),
        cmocka_unit_test(a_loop_of_unknown_length_counts_once),
        cmocka_unit_test(a_loop_that_never_runs_costs_nothing),
        cmocka_unit_test(integers_of_64_bits_are_reported),
        cmocka_unit_test(the_smallest_batch_within_a_tenth_fills_the_units),
        cmocka_unit_test(the_slower_of_compute_and_memory_counts),
        cmocka_unit_test(json_says_that_it_is_an_estimate),
        cmocka_unit_test(analyses_are_as_they_were),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(what_is_cut_short_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
