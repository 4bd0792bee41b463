/* test_plan.c - the metrics of a compiled step, on the CPU plugin, whose programs keep each matmul
 * and each argument as written; and invalid optimized programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/plan.h>
#include <math.h>

#include "base/alloc.h"
#include "plan/hlo_counts.h"
#include "toy.h"

/* 6 features, 8 hidden, 3 classes, with biases; Adam has two moments, a step's number, and
 * six numbers that change from step to step. */
enum { NUMBERS = 6 * 8 + 8 + 8 * 3 + 3, ROWS = 16, NUMBERS_OF_A_STEP = 6 * 4 };

static fg_client *open_cpu(int devices)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .cpu_devices = devices,
                                               .cache_dir = fgt_cache("")},
                          &client, &err));
    return client;
}

static void plan_toy(int devices, const char *precision, fg_plan *out)
{
    fg_error err = {0};
    toy model = {.has_norm = false};
    fg_trainer *trainer = NULL;
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_client *client = open_cpu(devices);
    fg_dataset *data = toy_data(ROWS * devices, 1);
    fgt_ok(
        toy_create(&(fg_trainer_options){.devices.client = client, .numerics.precision = precision},
                   &trainer, &err));
    fgt_ok(
        fg_plan_step(trainer, &task, &(fg_fit_data){.train = data, .batch_size = ROWS}, out, &err));
    fg_plan_fini(out); /* there is no analysis of CPU programs, which have no cycle counts */
    assert_null(out->analysis_json);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
}

static void memory_is_taken_apart(void **state)
{
    fg_plan plan;
    (void)state;
    plan_toy(1, NULL, &plan);
    assert_true(plan.fits);
    assert_int_equal(plan.parameter_bytes, 4 * NUMBERS);
    assert_int_equal(plan.optimizer_bytes, 8 * NUMBERS + 4 + NUMBERS_OF_A_STEP);
    /* x f32[16,6], y s32[16], four words of sums, and the packed scalars */
    const int64_t least = ROWS * (6 * 4 + 4) + 4 * 4;
    assert_true(plan.batch_bytes > least && plan.batch_bytes < least + 100);
    assert_int_equal(plan.hbm_needed_bytes, plan.parameter_bytes + plan.optimizer_bytes +
                                                plan.batch_bytes + plan.padding_bytes +
                                                plan.activation_bytes + plan.program_bytes);
    assert_int_equal(plan.matmuls, 5); /* two forward, two by weights, one by the hidden */
    assert_true(plan.flops >= 2.0 * ROWS * (2 * 6 * 8 + 3 * 8 * 3) && plan.flops < 1e5);
    assert_int_equal(plan.matmuls_16bit, 0);
    assert_int_equal(plan.batch_size, ROWS);
    assert_int_equal(plan.partitions, 1);
    for (int k = 0; k < FG_COLLECTIVES; k++)
        assert_int_equal(plan.collectives[k], 0);
    assert_true(plan.step_s != plan.step_s); /* no estimate for a CPU */
    assert_string_equal(plan.reason, "");
}

static void collectives_are_counted(void **state)
{
    fg_plan plan;
    (void)state;
    plan_toy(4, NULL, &plan);
    assert_int_equal(plan.partitions, 4);
    assert_int_equal(plan.batch_size, ROWS);
    assert_int_equal(plan.global_batch_size, 4 * ROWS);
    /* each gradient once, and the sums of two metrics */
    assert_int_equal(plan.collective_bytes[FG_ALL_REDUCE], 4 * NUMBERS + 2 * 4);
    assert_int_equal(plan.collectives[FG_ALL_GATHER], 0);
    assert_string_equal(fg_collective_name(FG_ALL_REDUCE), "all-reduce");
    assert_string_equal(fg_collective_name(FG_COLLECTIVE_PERMUTE), "collective-permute");
    assert_string_equal(fg_collective_name((fg_collective)9), "");
}

static void filling_batch_is_found(void **state)
{
    const int64_t batches[] = {8, 16, 32, 64};
    const double cycles[] = {8000, 8400, 9600, (double)NAN}; /* 1000, 525, 300 a sample */
    const double flat[] = {8000, 16000, 31000, 60000};       /* 1000, 1000, 969, 938 */
    const double gaps[] = {(double)NAN, 8400, 8400, 0};      /* only the second and the third */
    (void)state;
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 4), 32);
    assert_int_equal(fg_plan_saturation_batch(batches, gaps, 4), 32);
    assert_int_equal(fg_plan_saturation_batch(batches, gaps, 2), 16);
    assert_int_equal(fg_plan_saturation_batch(batches, gaps, 1), 0);
    assert_int_equal(fg_plan_saturation_batch(batches, flat, 4), 8);
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 0), 0);
}

/* Their number has no limit. */
static void batches_may_be_many(void **state)
{
    int64_t batches[100];
    double cycles[100];
    (void)state;
    for (int i = 0; i < 100; i++) {
        batches[i] = i + 1;
        cycles[i] = 1000.0 * (i + 1) * (i < 98 ? 8 : i < 99 ? 4 : 1);
    }
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 98), 1);
    assert_int_equal(fg_plan_saturation_batch(batches, cycles, 100), 100);
}

static void damaged_programs_are_refused(void **state)
{
    static const char *const damaged[] = {"", "\x0a", "\x0a\x03xyz", "module {",
                                          "\xff\xff\xff\xff"};
    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        fg_error err = {0};
        fgi_hlo *hlo = NULL;
        assert_int_equal(fgi_hlo_read(damaged[i], strlen(damaged[i]), &hlo, &err), FG_EFORMAT);
        assert_null(hlo);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_is_taken_apart),        cmocka_unit_test(collectives_are_counted),
    cmocka_unit_test(filling_batch_is_found),       cmocka_unit_test(batches_may_be_many),
    cmocka_unit_test(damaged_programs_are_refused),
};
FGT_MAIN(tests)
