/* The stages of loading: each moment belongs to one stage, so that the stages sum to the loader's
 * time. Also run with ThreadSanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <fulgurite/data.h>
#include <unistd.h>
#include "base/file_open.h"
#include "base/thread.h"
#include "data/stages.h"

static fg_error err;

/* ---- the clock ------------------------------------------------------------------------------- */

static void each_moment_belongs_to_one_stage(void **state)
{
    fgi_load_clock clock;
    fgi_load_begin_at(&clock, FGI_LOAD_COPY, 1000);
    assert_int_equal(fgi_load_enter_at(FGI_LOAD_READ, 1001), FGI_LOAD_COPY);
    assert_int_equal(fgi_load_enter_at(FGI_LOAD_DECODE, 1011), FGI_LOAD_READ);
    assert_int_equal(fgi_load_enter_at(FGI_LOAD_RESIZE, 1111), FGI_LOAD_DECODE);
    assert_int_equal(fgi_load_enter_at(FGI_LOAD_DECODE, 2111), FGI_LOAD_RESIZE);
    assert_int_equal(fgi_load_enter_at(FGI_LOAD_COPY, 2211), FGI_LOAD_DECODE);
    assert_int_equal(fgi_load_end_at(&clock, 2213), 1213);
    assert_int_equal(clock.times.ns[FGI_LOAD_READ], 10);
    assert_int_equal(clock.times.ns[FGI_LOAD_DECODE], 200);
    assert_int_equal(clock.times.ns[FGI_LOAD_RESIZE], 1000);
    assert_int_equal(clock.times.ns[FGI_LOAD_COPY], 3);
}

static void an_inner_clock_belongs_to_the_outer_stage(void **state)
{
    fgi_load_clock outer, inner;
    fgi_load_begin_at(&outer, FGI_LOAD_READ, 0);
    fgi_load_begin_at(&inner, FGI_LOAD_COPY, 10);
    (void)fgi_load_enter_at(FGI_LOAD_DECODE, 11);
    assert_int_equal(fgi_load_end_at(&inner, 30), 20);
    (void)fgi_load_enter_at(FGI_LOAD_RESIZE, 40);
    assert_int_equal(fgi_load_end_at(&outer, 100), 100);
    assert_int_equal(inner.times.ns[FGI_LOAD_COPY], 1);
    assert_int_equal(inner.times.ns[FGI_LOAD_DECODE], 19);
    assert_int_equal(outer.times.ns[FGI_LOAD_READ], 40);
    assert_int_equal(outer.times.ns[FGI_LOAD_DECODE], 0);
    assert_int_equal(outer.times.ns[FGI_LOAD_RESIZE], 60);
}

static void a_stage_without_a_clock_has_no_effect(void **state)
{
    fgi_load_clock clock;
    (void)fgi_load_enter(FGI_LOAD_RESIZE);
    (void)fgi_load_enter_at(FGI_LOAD_DECODE, 5);
    fgi_load_begin_at(&clock, FGI_LOAD_COPY, 100);
    assert_int_equal(fgi_load_end_at(&clock, 107), 7);
    assert_int_equal(clock.times.ns[FGI_LOAD_COPY], 7);
    (void)fgi_load_enter(FGI_LOAD_RESIZE); /* after the end, the clock is not touched */
    assert_int_equal(clock.stage, FGI_LOAD_COPY);
}

/* Files that the thread has opened before are not those of a clock. */
static void files_are_those_of_the_clock(void **state)
{
    fgi_load_clock clock;
    for (int files = 2; files >= 0; files -= 2) {
        fgi_load_begin(&clock, FGI_LOAD_READ);
        for (int i = 0; i < files; i++)
            (void)close(fgi_open_counted(AT_FDCWD, "/dev/null"));
        (void)fgi_load_end(&clock);
        const fg_loader_stages stages = fgi_load_seconds(&clock.times);
        assert_int_equal(stages.opens, files);
        assert_true(files > 0 || stages.open_s == 0);
    }
}

static void time_can_be_moved_to_another_stage(void **state)
{
    fgi_load_clock clock;
    assert_int_equal(fgi_load_move(FGI_LOAD_DECODE, FGI_LOAD_ENTROPY, 5), 5); /* no clock */
    fgi_load_begin_at(&clock, FGI_LOAD_DECODE, 0);
    (void)fgi_load_enter_at(FGI_LOAD_RESIZE, 100);
    assert_int_equal(fgi_load_move(FGI_LOAD_DECODE, FGI_LOAD_ENTROPY, 70), 70);
    assert_int_equal(clock.times.ns[FGI_LOAD_ENTROPY], 70);
    assert_int_equal(fgi_load_move(FGI_LOAD_DECODE, FGI_LOAD_ENTROPY, 31), 30); /* too many */
    assert_int_equal(clock.times.ns[FGI_LOAD_ENTROPY], 100);
    assert_int_equal(clock.times.ns[FGI_LOAD_DECODE], 0);
    assert_int_equal(fgi_load_end_at(&clock, 130), 130);
}

static void the_slowest_stage_is_named(void **state)
{
    double fraction = -1;
    const fgi_load_times times = {.ns = {100, 50, 600, 150, 100}};
    fg_loader_stages stages = fgi_load_seconds(&times);
    assert_string_equal(fg_loader_slowest_stage(&stages, &fraction), "decode");
    fgt_close("fraction", fraction, 0.6, 1e-12, 0);
    stages.entropy_s = 0.5;
    assert_string_equal(fg_loader_slowest_stage(&stages, &fraction), "entropy");
    stages.copy_s = 0.5; /* the first one of equal ones */
    assert_string_equal(fg_loader_slowest_stage(&stages, &fraction), "entropy");
    stages.copy_s = 1;
    assert_string_equal(fg_loader_slowest_stage(&stages, &fraction), "copy");
    assert_null(fg_loader_slowest_stage(&(fg_loader_stages){0}, &fraction));
    assert_true(fraction == 0);
}

/* ---- loaders --------------------------------------------------------------------------------- */

enum { COUNT = 203 };
static const fg_field fields[] = {{"x", {FG_S32, 0, {0}}}};
static const fg_dataset_spec spec = {.count = COUNT, .fields = fields, .field_count = 1};

/* Moves time on, so that the stage is not empty. */
static void pass_time(void)
{
    const int64_t begin = fgi_now_ns();
    while (fgi_now_ns() == begin)
        ;
}

static fg_status read_in_stages(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    (void)fgi_load_enter(FGI_LOAD_READ);
    pass_time();
    (void)fgi_load_enter(FGI_LOAD_RESIZE);
    pass_time();
    *(int32_t *)out_fields[0] = (int32_t)index;
    if (index == 100) /* the stage is not left on failure */
        return FG_EIO;
    (void)fgi_load_enter(FGI_LOAD_COPY);
    return FG_OK;
}

static fg_status read_simply(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    pass_time();
    *(int32_t *)out_fields[0] = (int32_t)index;
    return FG_OK;
}

static fg_status next_simply(void *reader, void *const *out_fields, bool *out_end, fg_error *e)
{
    int32_t *next = reader;
    *out_end = *next >= COUNT;
    *(int32_t *)out_fields[0] = (*next)++;
    return FG_OK;
}

static fg_status open_simply(void *self, int64_t epoch, void **out_reader, fg_error *e)
{
    *(int32_t *)self = 0;
    *out_reader = self;
    return FG_OK;
}

/* The statistics after an epoch. */
static fg_loader_stats run(fg_dataset *take_dataset, int workers)
{
    fg_loader *loader;
    const fg_host_batch *batch;
    const fg_loader_options options = {.batch_size = 10,
                                       .workers = workers == 0 ? FG_NONE : workers};
    fgt_ok(fg_loader_create(take_dataset, &options, &loader, &err));
    fg_dataset_destroy(take_dataset);
    for (;;) {
        const fg_status status = fg_loader_next(loader, &batch, &err);
        if (status == FG_OK && batch == NULL)
            break;
        fg_loader_recycle(loader, batch); /* NULL after a failure */
    }
    const fg_loader_stats stats = fg_loader_stats_of(loader);
    fg_loader_destroy(loader);
    return stats;
}

static void check_sum(const fg_loader_stats *s, int workers)
{
    const fg_loader_stages *t = &s->stages;
    const double sum = t->read_s + t->entropy_s + t->decode_s + t->resize_s + t->copy_s;
    assert_int_equal(s->workers, workers);
    fgt_close("the stages", sum, workers == 0 ? s->wait_s : s->work_s, 1e-9, 1e-12);
    assert_true(t->decode_s == 0 && t->entropy_s == 0 && sum > 0);
}

static void stages_sum_to_the_loaders_time(void **state)
{
    const fg_dataset_ops ops = {.read = read_in_stages};
    for (int workers = 0; workers <= 3; workers++) {
        fg_dataset *dataset;
        fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
        const fg_loader_stats s = run(dataset, workers);
        check_sum(&s, workers);
        assert_true(s.rows >= 200 && s.rows < 210);
        assert_true(s.stages.read_s > 0 && s.stages.resize_s > 0);
    }
}

static void a_dataset_that_says_nothing_reads(void **state)
{
    const fg_dataset_ops ops = {.read = read_simply};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    const fg_loader_stats s = run(dataset, 2);
    check_sum(&s, 2);
    assert_int_equal(s.rows, 210);
    fgt_close("reading", s.stages.read_s, s.work_s, 1e-9, 1e-12);
}

static void a_source_reads(void **state)
{
    int32_t next = 0;
    const fg_source_ops ops = {.open = open_simply, .next = next_simply};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_source(&ops, &next, &spec, &dataset, &err));
    const fg_loader_stats s = run(dataset, 1);
    check_sum(&s, 1);
    assert_int_equal(s.rows, COUNT);
    assert_true(s.stages.copy_s == 0 && s.stages.resize_s == 0);
}

static void samples_in_memory_are_copied(void **state)
{
    static int32_t xs[COUNT];
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){xs}, FG_BORROW, &dataset, &err));
    const fg_loader_stats s = run(dataset, 2);
    check_sum(&s, 2);
    assert_true(s.stages.read_s == 0 && s.stages.resize_s == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_moment_belongs_to_one_stage),
    cmocka_unit_test(an_inner_clock_belongs_to_the_outer_stage),
    cmocka_unit_test(a_stage_without_a_clock_has_no_effect),
    cmocka_unit_test(files_are_those_of_the_clock),
    cmocka_unit_test(time_can_be_moved_to_another_stage),
    cmocka_unit_test(the_slowest_stage_is_named),
    cmocka_unit_test(stages_sum_to_the_loaders_time),
    cmocka_unit_test(a_dataset_that_says_nothing_reads),
    cmocka_unit_test(a_source_reads),
    cmocka_unit_test(samples_in_memory_are_copied),
};
FGT_MAIN(tests)
