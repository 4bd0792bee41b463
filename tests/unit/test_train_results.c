/* test_train_results.c - the results of a run: times and their units, rates, percentiles, and the
 * numbers of steps and samples in edge cases. Times are passed to the ledger by hand; on the fake
 * plugin, measured times are between its known delay and the elapsed time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "train/step/feed.h"
#include "train/watch/watch.h"
#include "train/state/metrics.h"
#include "train/watch/call.h"
#include "train/step/stage.h"
#include "train/trainer.h"

static fake_control fake;
static fg_client *client;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    return !fake_open(&fake) || fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                                                    .plugin_path = FAKE_PATH,
                                                                    .cache_dir = ""},
                                               &client, &err) != FG_OK;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* ---- the ledger with given times ------------------------------------------------------------- */

static const int64_t MS = 1000000;

/* A launch at this time, with the times at which its batch arrives and at which it ends. */
static void fly(fgi_ledger *ledger, int64_t number, bool is_step, bool is_part, int64_t samples,
                const int64_t at_ms[3])
{
    const fgi_flight flight = {.is_step = is_step,
                               .is_part = is_part,
                               .steps = is_part ? 0 : 1,
                               .samples = samples,
                               .launch_ns = at_ms[0] * MS,
                               .inputs_ns = at_ms[1] * MS,
                               .done_ns = at_ms[2] * MS};
    fgi_ledger_launched(ledger, number);
    fgi_ledger_retired(ledger, number, &flight);
}

/* The call starts at 1,000 ms; steps end at 1,100, 1,120, 1,150 and 1,250 ms. */
static void times_are_seconds(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 1000 * MS);
    fly(&ledger, 0, true, false, 8, (const int64_t[]){1010, 1010, 1100});
    fly(&ledger, 1, true, false, 8, (const int64_t[]){1020, 1020, 1120}); /* waits for the first */
    fgi_ledger_add(&ledger, FGI_INPUT, 1121 * MS, 1124 * MS);
    fgi_ledger_add(&ledger, FGI_CHECKPOINT, 1125 * MS, 1129 * MS);
    fly(&ledger, 2, true, false, 8, (const int64_t[]){1130, 1132, 1150});
    fly(&ledger, 3, true, false, 3, (const int64_t[]){1140, 1140, 1250});
    fgi_ledger_result(&ledger, &r);
    fgt_close("first step", r.time_to_first_step_s, 0.1, 1e-12, 0);
    fgt_close("median", r.step_median_s, 0.03, 1e-8, 0); /* of 20, 30 and 100 ms */
    fgt_close("95 %", r.step_p95_s, 0.1, 1e-8, 0);
    fgt_close("samples/s", r.samples_per_s, 19 / 0.15, 0, 1e-12);
    fgt_close("busy", r.idle.busy_s, 0.020 + 0.018 + 0.100, 1e-12, 0);
    fgt_close("idle", r.idle.idle_s, 0.012, 1e-12, 0);
    fgt_close("input", r.idle.input_s, 0.003, 1e-12, 0);
    fgt_close("checkpoint", r.idle.checkpoint_s, 0.004, 1e-12, 0);
    fgt_close("upload", r.idle.upload_s, 0.002, 1e-12, 0);
    fgt_close("other", r.idle.other_s, 0.003, 1e-12, 0);
    assert_true(r.idle.compile_s == 0 && r.idle.read_s == 0);
}

/* Between the ends of the steps at 100 and 200 ms: a save that begins with a read and contains a
 * compilation, input that began earlier and contains a read that ended then, and an upload. An
 * empty span counts as nothing. */
static void idle_time_belongs_to_the_innermost(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    fly(&ledger, 0, true, false, 8, (const int64_t[]){1, 1, 100});
    fgi_ledger_add(&ledger, FGI_READ, 91 * MS, 95 * MS);
    fgi_ledger_add(&ledger, FGI_INPUT, 90 * MS, 104 * MS);
    fgi_ledger_add(&ledger, FGI_READ, 110 * MS, 120 * MS);
    fgi_ledger_add(&ledger, FGI_COMPILE, 130 * MS, 135 * MS);
    fgi_ledger_add(&ledger, FGI_CHECKPOINT, 110 * MS, 140 * MS);
    fgi_ledger_add(&ledger, FGI_READ, 141 * MS, 141 * MS);
    fly(&ledger, 1, true, false, 8, (const int64_t[]){150, 160, 200});
    fgi_ledger_add(&ledger, FGI_READ, 180 * MS, 190 * MS); /* while the device was busy */
    fly(&ledger, 2, true, false, 8, (const int64_t[]){195, 196, 240});
    fly(&ledger, 3, true, false, 8, (const int64_t[]){198, 300, 250}); /* reported late */
    fgi_ledger_add(&ledger, FGI_READ, 300 * MS, 308 * MS);
    fly(&ledger, 4, true, false, 8, (const int64_t[]){310, 310, 305}); /* launched late, too */
    fgi_ledger_result(&ledger, &r);
    fgt_close("input", r.idle.input_s, 0.004, 1e-12, 0);
    fgt_close("read", r.idle.read_s, 0.010 + 0.005, 1e-12, 0);
    fgt_close("compile", r.idle.compile_s, 0.005, 1e-12, 0);
    fgt_close("checkpoint", r.idle.checkpoint_s, 0.015, 1e-12, 0);
    fgt_close("upload", r.idle.upload_s, 0.010 + 0.010, 1e-12, 0);
    fgt_close("other", r.idle.other_s, 0.016 + 0.050, 1e-12, 0);
    fgt_close("idle", r.idle.idle_s, 0.060 + 0.010 + 0.055, 1e-12, 0);
    fgt_close("busy", r.idle.busy_s, 0.040 + 0.040, 1e-12, 0);
    assert_int_equal(ledger.steps, 5);
    assert_int_equal(ledger.step_count, 4);
}

/* Spans beyond the room make earlier ones of their activity longer; without one, their time has no
 * cause. */
static void more_spans_than_there_is_room_for(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    fly(&ledger, 0, true, false, 1, (const int64_t[]){1, 1, 100});
    for (int i = 0; i < FGI_SPANS + 3; i++)
        fgi_ledger_add(&ledger, FGI_READ, (100 + 2 * i) * MS, (101 + 2 * i) * MS);
    fgi_ledger_add(&ledger, FGI_INPUT, 190 * MS, 195 * MS);
    fgi_ledger_add(&ledger, FGI_READ, 99 * MS, 189 * MS); /* contains the others */
    fly(&ledger, 1, true, false, 1, (const int64_t[]){200, 200, 201});
    fgi_ledger_result(&ledger, &r);
    fgt_close("read", r.idle.read_s, (FGI_SPANS + 3) * 0.001, 1e-12, 0);
    fgt_close("input", r.idle.input_s, 0, 1e-12, 0);
    fgt_close("other", r.idle.other_s, 0.1 - (FGI_SPANS + 3) * 0.001, 1e-12, 0);
}

/* Each step waits for 1 ms of input; a ledger that is off records nothing, in a second fit either.
 */
static void spans_belong_to_one_step(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    for (int off = 0; off < 3; off++) {
        fg_result r = {0};
        ledger.is_off = off > 0;
        fgi_ledger_start(&ledger, 0);
        for (int64_t i = 0; i <= 4 * FGI_SPANS; i++) {
            fgi_ledger_add(&ledger, FGI_INPUT, 10 * i * MS, (10 * i + 1) * MS);
            fly(&ledger, i, true, false, 1, (const int64_t[]){10 * i + 1, 10 * i + 1, 10 * i + 10});
        }
        fgi_ledger_result(&ledger, &r);
        fgt_close("input", r.idle.input_s, off > 0 ? 0 : 4 * FGI_SPANS * 1e-3, 1e-9, 0);
        assert_int_equal(r.step_times.count, off > 0 ? 0 : 4 * FGI_SPANS);
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

static double length_of(const fg_idle *t) { return t->busy_s + t->idle_s; }

/* The second window is closed while its last step is under way, the third one after it. */
static void windows_end_with_their_last_step(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    fly(&ledger, 0, true, false, 8, (const int64_t[]){1, 1, 100});
    fgi_ledger_close_window(&ledger, 0, 1); /* nothing is timed yet */
    fgi_ledger_add(&ledger, FGI_INPUT, 100 * MS, 105 * MS);
    fly(&ledger, 1, true, false, 8, (const int64_t[]){106, 106, 120});
    fgi_ledger_add(&ledger, FGI_READ, 120 * MS, 129 * MS);
    fgi_ledger_launched(&ledger, 2);
    fgi_ledger_close_window(&ledger, 2, 3);
    fgi_ledger_add(&ledger, FGI_COMPILE, 133 * MS, 143 * MS);
    fgi_ledger_launched(&ledger, 3);
    const fgi_flight two = {
        .is_step = true, .steps = 1, .samples = 8, .launch_ns = 130 * MS, .done_ns = 133 * MS};
    const fgi_flight three = {
        .is_step = true, .steps = 1, .samples = 3, .launch_ns = 143 * MS, .done_ns = 150 * MS};
    fgi_ledger_retired(&ledger, 2, &two);
    fgi_ledger_retired(&ledger, 3, &three);
    fgi_ledger_close_window(&ledger, 3, 4);
    fgi_ledger_result(&ledger, &r);
    assert_int_equal(r.window_count, 2);
    const fg_time_window *w = r.windows;
    assert_true(w[0].step == 3 && w[0].samples == 16 && w[1].step == 4 && w[1].samples == 3);
    fgt_close("length", length_of(&w[0].time), 0.033, 1e-12, 0);
    fgt_close("busy", w[0].time.busy_s, 0.014 + 0.003, 1e-12, 0);
    fgt_close("input", w[0].time.input_s, 0.005, 1e-12, 0);
    fgt_close("read", w[0].time.read_s, 0.009, 1e-12, 0);
    fgt_close("other", w[0].time.other_s, 0.002, 1e-12, 0);
    fgt_close("compile", w[1].time.compile_s, 0.010, 1e-12, 0);
    fgt_close("busy", w[1].time.busy_s, 0.007, 1e-12, 0);
    assert_true(w[0].time.compile_s == 0 && w[1].time.read_s == 0);
    fly(&ledger, 4, false, false, 5, (const int64_t[]){152, 152, 160}); /* a validation */
    fgi_ledger_close_window(&ledger, 4, 4);
    fgi_ledger_result(&ledger, &r);
    assert_true(r.window_count == 2 && w[1].step == 4 && w[1].samples == 3);
    fgt_close("busy", w[1].time.busy_s, 0.007 + 0.008, 1e-12, 0);
}

static void add_times(fg_idle *to, const fg_idle *t)
{
    to->input_s += t->input_s;
    to->upload_s += t->upload_s;
    to->compile_s += t->compile_s;
    to->read_s += t->read_s;
    to->checkpoint_s += t->checkpoint_s;
    to->other_s += t->other_s;
}

/* A launch of four steps within 8 ms is four steps of 2 ms. */
static void a_launch_of_several_steps(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    for (int64_t i = 0; i < 2; i++) {
        const fgi_flight flight = {.is_step = true,
                                   .steps = i == 0 ? 1 : 4,
                                   .samples = i == 0 ? 8 : 30,
                                   .launch_ns = i * 10 * MS,
                                   .done_ns = (10 + i * 8) * MS};
        fgi_ledger_launched(&ledger, i);
        fgi_ledger_retired(&ledger, i, &flight);
    }
    fgi_ledger_result(&ledger, &r);
    assert_int_equal(r.step_times.count, 4);
    fgt_close("median", r.step_median_s, 2e-3, 1e-9, 0);
    fgt_close("rate", r.samples_per_s, 30 / 8e-3, 1e-6, 0);
}

/* A window per step of 1 ms, idle for `step` microseconds, half of them for a known activity:
 * merging keeps the sums and the order. */
static void many_windows_are_merged(void **state)
{
    (void)state;
    static const int64_t counts[] = {500, 501, 502, 1000, 1001, 2500};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        static fgi_ledger ledger;
        fg_result r = {0};
        double sum = 0;
        fg_idle all = {0};
        int64_t samples = 0, now = 0;
        fgi_ledger_start(&ledger, 0);
        for (int64_t i = 0; i <= counts[k]; i++) {
            const fgi_flight flight = {.is_step = true,
                                       .steps = 1,
                                       .samples = i,
                                       .launch_ns = now + i * 1000,
                                       .done_ns = now + i * 1000 + MS};
            fgi_ledger_add(&ledger, (fgi_activity)(i % FGI_ACTIVITIES), now, now + i * 500);
            fgi_ledger_launched(&ledger, i);
            fgi_ledger_close_window(&ledger, i, i + 1);
            fgi_ledger_retired(&ledger, i, &flight);
            now = flight.done_ns;
        }
        fgi_ledger_result(&ledger, &r);
        assert_true(r.window_count > FG_MAX_TIME_WINDOWS / 2 - 1 &&
                    r.window_count <= FG_MAX_TIME_WINDOWS);
        for (size_t i = 0; i < r.window_count; i++) {
            const int64_t steps = r.windows[i].step - (i == 0 ? 1 : r.windows[i - 1].step);
            assert_true(steps == ledger.merged ||
                        (i + 1 == r.window_count && steps > 0 && steps < ledger.merged));
            fgt_close("busy", r.windows[i].time.busy_s, 1e-3 * (double)steps, 1e-9, 0);
            sum += length_of(&r.windows[i].time);
            add_times(&all, &r.windows[i].time);
            samples += r.windows[i].samples;
        }
        assert_int_equal(r.windows[r.window_count - 1].step, counts[k] + 1);
        fgt_close("all", sum, length_of(&r.idle), 1e-9, 0);
        fgt_close("input", all.input_s, r.idle.input_s, 1e-9, 0);
        fgt_close("upload", all.upload_s, r.idle.upload_s, 1e-9, 0);
        fgt_close("compile", all.compile_s, r.idle.compile_s, 1e-9, 0);
        fgt_close("read", all.read_s, r.idle.read_s, 1e-9, 0);
        fgt_close("checkpoint", all.checkpoint_s, r.idle.checkpoint_s, 1e-9, 0);
        fgt_close("other", all.other_s, r.idle.other_s, 1e-9, 0);
        assert_true(r.idle.checkpoint_s > 0 && r.idle.read_s > 0 && r.idle.compile_s > 0);
        assert_int_equal(samples, counts[k] * (counts[k] + 1) / 2);
    }
}

/* ---- what limits the rate -------------------------------------------------------------------- */

/* Validation within a fit does not count: the device's rate is that of training. */
static void the_required_rate_is_that_of_busy_steps(void **state)
{
    static fgi_ledger ledger;
    fg_result r = {.input = {.stages = {.copy_s = 2}, .samples = 100}};
    (void)state;
    fgi_ledger_start(&ledger, 0);
    fly(&ledger, 0, true, false, 8, (const int64_t[]){0, 0, 100});
    fly(&ledger, 1, true, false, 8, (const int64_t[]){150, 150, 170});
    fly(&ledger, 2, false, false, 5, (const int64_t[]){170, 170, 570});
    fly(&ledger, 3, true, false, 4, (const int64_t[]){580, 580, 600});
    fgi_ledger_result(&ledger, &r);
    fgt_close("required", r.input.required_samples_per_s, 12 / 0.04, 1e-9, 0);
    fgt_close("delivered", r.input.delivered_samples_per_s, 50, 1e-9, 0);
}

/* A step of two batches is one interval with the samples of both; validations do not count. */
static void accumulated_batches_are_one_step(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {.input = {.stages = {.copy_s = 2}, .samples = 100}};
    fgi_ledger_start(&ledger, 0);
    fly(&ledger, 0, false, true, 4, (const int64_t[]){1, 1, 10});
    fly(&ledger, 1, false, true, 4, (const int64_t[]){1, 1, 20});
    fly(&ledger, 2, true, false, 0, (const int64_t[]){1, 1, 21}); /* the first is not timed */
    fly(&ledger, 3, false, true, 4, (const int64_t[]){1, 1, 40});
    fly(&ledger, 4, false, true, 2, (const int64_t[]){1, 1, 60});
    fly(&ledger, 5, true, false, 0, (const int64_t[]){1, 1, 61});
    fly(&ledger, 6, false, false, 5, (const int64_t[]){1, 1, 90}); /* validation */
    fgi_ledger_result(&ledger, &r);
    fgt_close("first step", r.time_to_first_step_s, 0.021, 1e-12, 0);
    fgt_close("median", r.step_median_s, 0.04, 1e-8, 0);
    fgt_close("samples/s", r.samples_per_s, 6 / 0.04, 0, 1e-9);
    fgt_close("required", r.input.required_samples_per_s, 10 / 0.051, 1e-9, 0);
}

static void percentiles_of_a_hundred_steps(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    int64_t now = 5;
    for (int64_t i = 0; i <= 100; i++) { /* lasting 1 to 100 ms, in another order */
        now += i == 0 ? 7 : 1 + i * 37 % 101 - 1;
        fly(&ledger, i, true, false, 1, (const int64_t[]){1, 1, now});
    }
    fgi_ledger_result(&ledger, &r);
    fgt_close("median", r.step_median_s, 0.050, 1e-8, 0);
    fgt_close("95 %", r.step_p95_s, 0.095, 1e-8, 0);
    const fg_step_times *s = &r.step_times;
    assert_int_equal(s->count, 100);
    fgt_close("mean", s->mean_s, 0.0505, 1e-12, 0);
    fgt_close("5 %", s->p5_s, 0.005, 1e-8, 0);
    fgt_close("90 %", s->p90_s, 0.090, 1e-8, 0);
    fgt_close("99 %", s->p99_s, 0.099, 1e-8, 0);
    fgt_close("max", s->max_s, 0.100, 1e-12, 0);
}

/* Of few steps, percentiles are still in order: nearest rank. */
static void percentiles_of_few_steps(void **state)
{
    static const int rank[][5] = {{1, 1, 1, 1, 1}, {1, 1, 2, 2, 2}, {1, 2, 3, 3, 3},
                                  {1, 2, 4, 4, 4}, {1, 3, 5, 5, 5}, {1, 3, 6, 6, 6}};
    static fgi_ledger ledger;
    (void)state;
    for (int count = 1; count <= 6; count++) {
        fg_result r = {0};
        const fg_step_times *s = &r.step_times;
        fgi_ledger_start(&ledger, 0);
        for (int i = 0, now = 0; i <= count; now += ++i) /* lasting 1 to `count` ms */
            fly(&ledger, i, true, false, 1, (const int64_t[]){now, now, now});
        fgi_ledger_result(&ledger, &r);
        const double got[] = {s->p5_s, s->p50_s, s->p90_s, s->p95_s, s->p99_s};
        for (int i = 0; i < 5; i++)
            fgt_close("percentile", got[i], 1e-3 * rank[count - 1][i], 1e-8, 0);
        assert_true(s->p99_s <= s->max_s); /* equal, but for rounding */
    }
}

/* Of many steps, a sample is kept: not just the first or the last ones. Times increase from 1 us to
 * 100 ms; the standard error of a percentile p of 4096 values is sqrt(p (1 - p) / 4096) < 0.8 %. */
static void percentiles_of_a_long_run(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    int64_t now = 0;
    enum { STEPS = 100000 };
    fgi_ledger_start(&ledger, 0);
    for (int64_t i = 0; i <= STEPS; i++) {
        now += i * 1000;
        const fgi_flight flight = {.is_step = true, .steps = 1, .done_ns = now};
        fgi_ledger_launched(&ledger, i);
        fgi_ledger_retired(&ledger, i, &flight);
    }
    fgi_ledger_result(&ledger, &r);
    const fg_step_times *s = &r.step_times;
    const double got[] = {s->p5_s, s->p50_s, s->p90_s, s->p95_s, s->p99_s};
    const double expected[] = {0.005, 0.050, 0.090, 0.095, 0.099};
    for (int i = 0; i < 5; i++)
        fgt_close("percentile", got[i], expected[i], 0.003, 0);
    assert_int_equal(s->count, STEPS);
    fgt_close("max", s->max_s, 0.1, 1e-12, 0);
    fgt_close("mean", s->mean_s, 0.0500005, 1e-12, 0);
}

/* Fewer than two steps: there is nothing to measure. */
static void what_is_not_known_is_nan(void **state)
{
    (void)state;
    static fgi_ledger ledger;
    fg_result r = {0};
    fgi_ledger_start(&ledger, 0);
    fgi_ledger_result(&ledger, &r);
    assert_true(isnan(r.time_to_first_step_s) && isnan(r.samples_per_s) && isnan(r.step_median_s));
    assert_true(isnan(r.host_overhead_s) && isnan(r.plugin_s));
    assert_true(r.step_times.count == 0 && isnan(r.step_times.max_s) && isnan(r.step_times.mean_s));
    assert_true(r.windows == NULL && r.window_count == 0);
    fly(&ledger, 0, true, false, 1, (const int64_t[]){1, 1, 2});
    fgi_ledger_result(&ledger, &r);
    assert_true(!isnan(r.time_to_first_step_s) && isnan(r.samples_per_s) && isnan(r.step_p95_s));
    ledger.work_measured = 4;
    ledger.work_ns = 6 * MS;
    ledger.plugin_ns = 2 * MS;
    fgi_ledger_result(&ledger, &r);
    fgt_close("host", r.host_overhead_s, 0.0015, 1e-15, 0);
    fgt_close("plugin", r.plugin_s, 0.0005, 1e-15, 0);
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct rates {
    int64_t samples;
    double seconds; /* summed over windows, from their rates */
    int count;
} rates;

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    rates *r = self;
    (void)err;
    const int64_t samples = at->step * 4 < 126 ? at->step * 4 : 126; /* the last batch has 2 */
    assert_true(at->samples_per_s > 0);
    r->seconds += (double)(samples - r->samples) / at->samples_per_s;
    r->samples = samples;
    r->count++;
    return FG_OK;
}

/* A step takes at least 10 ms, at most FGI_IN_FLIGHT of them are in flight, and compiling takes
 * 40 ms. */
static void measured_times_are_between_the_delay_and_the_clock(void **state)
{
    (void)state;
    enum { DELAY_MS = 10, COMPILE_MS = 40, STEPS = 32, SAMPLES = 126 };
    static const fg_callback_ops ops = {.log = on_log};
    static rates seen;
    fg_error err = {0};
    fg_dataset *train = toy_data(SAMPLES, 1);
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1, .output.log_every = 8});
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &seen, &err));
    const fg_fit_data data = {.train = train, .batch_size = 4, .workers = FG_NONE};
    fake.set("delay_ms", DELAY_MS);
    fake.set("compile_ms", COMPILE_MS);
    const int64_t begin = fgi_now_ns();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    const double least = (STEPS / FGI_IN_FLIGHT - 1) * 0.9 * DELAY_MS * 1e-3;
    const double wall = (double)(fgi_now_ns() - begin) * 1e-9;
    fake.reset();
    const fg_result *r = fg_trainer_result(trainer);
    assert_int_equal(r->steps, STEPS);
    assert_true(r->time_to_first_step_s > COMPILE_MS * 1e-3 && r->time_to_first_step_s < wall);
    assert_true(r->step_median_s > 0 && r->step_median_s < wall);
    assert_true(r->step_p95_s >= r->step_median_s && r->step_p95_s < wall);
    /* all but the first step's */
    assert_true(r->samples_per_s > (SAMPLES - 4) / wall);
    assert_true(r->samples_per_s < (SAMPLES - 4) / least);
    assert_true(r->compiles > 0);
    assert_true(r->compile_s > (double)r->compiles * COMPILE_MS * 1e-3 && r->compile_s < wall);
    assert_true(r->host_overhead_s > 1e-8 && r->host_overhead_s < wall);
    assert_true(r->plugin_s > 1e-9 && r->plugin_s < wall);
    assert_true(r->idle.busy_s > 0 && r->idle.busy_s + r->idle.idle_s > least);
    assert_true(r->idle.busy_s + r->idle.idle_s < wall);
    assert_non_null(r->input.bound_by); /* the Trainer's thread read all batches */
    assert_true(r->input.samples == STEPS * 4 && r->input.workers == 0);
    assert_true(r->input.waited >= 0 && r->input.waited < 1);
    assert_int_equal(seen.count, 4);
    assert_true(seen.seconds < wall && seen.seconds > least);
    for (int i = 0; i < 2; i++) { /* the second one compiles nothing */
        fgt_ok(fg_trainer_validate(trainer, &task, &(fg_fit_data){.val = train, .batch_size = 4},
                                   &err));
        assert_true((r->compiles > 0) == (i == 0) && (r->compile_s > 0) == (i == 0));
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
}

/* ---- counts at the edges --------------------------------------------------------------------- */

typedef struct sizes {
    int64_t samples, batch, limit, accumulate;
    double share;
    bool drop_last;
    int64_t batches, steps; /* per epoch, computed by hand */
} sizes;

/* 10 samples, with and without a partial batch. */
static const sizes table[] = {
    {10, 4, 0, 0, 0, false, 3, 3},    {10, 4, 0, 0, 0, true, 2, 2},
    {10, 5, 0, 0, 0, false, 2, 2},    {10, 5, 0, 0, 0, true, 2, 2},
    {10, 10, 0, 0, 0, true, 1, 1},    {10, 1, 0, 0, 0, false, 10, 10},
    {10, 4, 1, 0, 0, false, 1, 1},    {10, 4, 2, 0, 0, false, 2, 2},
    {10, 4, 3, 0, 0, false, 3, 3},    {10, 4, 4, 0, 0, false, 3, 3}, /* more than there are */
    {10, 4, 3, 0, 0, true, 2, 2},     {10, 1, 0, 0, 0.5, false, 5, 5},
    {10, 1, 0, 0, 0.59, false, 5, 5}, /* rounded down */
    {10, 1, 0, 0, 0.01, false, 1, 1}, /* but at least one */
    {10, 4, 0, 2, 0, false, 3, 2},    /* the last step of an epoch has fewer batches */
    {10, 4, 0, 3, 0, false, 3, 1},    {10, 4, 0, 4, 0, false, 3, 1},
    {10, 1, 0, 5, 0, false, 10, 2},   {10, 1, 7, 3, 0, false, 7, 3},
};

static void check_epochs(const sizes *s, fg_dataset *train, bool is_known)
{
    static recorder r;
    fg_error err = {0};
    fg_trainer *trainer = toy_trainer(
        client, &(fg_trainer_options){.limits.max_epochs = 2,
                                      .limits.limit_train_batches.count = s->limit,
                                      .limits.limit_train_batches.fraction = s->share,
                                      .numerics.accumulate_grad_batches = s->accumulate});
    r = (recorder){0};
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    const fg_fit_data data = {
        .train = train, .batch_size = s->batch, .drop_last = s->drop_last, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    const fg_result *result = fg_trainer_result(trainer);
    const fg_fit_settings *settings = fg_trainer_settings(trainer);
    if (result->steps != 2 * s->steps)
        fail_msg("row %td: %lld steps, expected %lld", s - table, (long long)result->steps,
                 (long long)(2 * s->steps));
    assert_int_equal(result->epochs, 2);
    assert_int_equal(recorder_count(&r, "batch_end"), 2 * s->batches);
    assert_int_equal(recorder_count(&r, "epoch_end"), 2);
    if (is_known) {
        assert_int_equal(settings->steps_per_epoch, s->steps);
        assert_int_equal(settings->total_steps, 2 * s->steps);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
}

static void steps_of_an_epoch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        check_epochs(&table[i], toy_data(table[i].samples, 1), true);
        check_epochs(&table[i], toy_source(table[i].samples, 1, true), true);
        if (table[i].share == 0)
            check_epochs(&table[i], toy_source(table[i].samples, 1, false), false);
    }
}

static const struct {
    int64_t samples, limit;
    double share;
    int batches;
} validations[] = {{9, 0, 0, 3}, {8, 0, 0, 2},   {9, 2, 0, 2},
                   {9, 5, 0, 3}, {9, 0, 0.5, 1}, {20, 0, 0.5, 2}};

/* The same for validation: batches per pass. */
static void batches_of_a_validation(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(validations) / sizeof(validations[0]); i++) {
        static recorder r;
        fg_error err = {0};
        const size_t row = i / 2;
        if (i % 2 == 1 && validations[row].share > 0)
            continue;
        fg_dataset *val = i % 2 == 0 ? toy_data(validations[row].samples, 1)
                                     : toy_source(validations[row].samples, 1, false);
        fg_trainer *trainer = toy_trainer(
            client,
            &(fg_trainer_options){.limits.limit_val_batches.count = validations[row].limit,
                                  .limits.limit_val_batches.fraction = validations[row].share});
        r = (recorder){0};
        fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
        const fg_fit_data data = {.val = val, .batch_size = 4, .workers = FG_NONE};
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        assert_int_equal(recorder_count(&r, "batch_end"), validations[row].batches);
        const fg_evaluation *e = NULL;
        trainer->cursor.step = 9; /* training has gone on */
        trainer->stage[FGI_VAL]->rows.samples = 1;
        fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
        assert_int_equal(e->step, 0);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(val);
    }
}

/* Batches of a step, validations within the fit, and updates are no steps; only the first batch is
 * not timed. */
static void a_fit_times_its_steps(void **state)
{
    static const struct {
        int64_t accumulate, every, steps;
        size_t windows;
    } rows[] = {{1, 1, 8, 7}, {1, 2, 8, 4}, {2, 1, 4, 4}, {3, 2, 3, 2}};
    (void)state;
    const fg_fit_data data = {
        .train = toy_data(32, 1), .val = toy_data(9, 2), .batch_size = 4, .workers = FG_NONE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        int64_t samples = 0;
        fg_trainer *trainer = toy_trainer(
            client, &(fg_trainer_options){.limits.max_epochs = 1,
                                          .numerics.accumulate_grad_batches = rows[i].accumulate,
                                          .validation.val_every_steps = 2,
                                          .output.log_every = rows[i].every});
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        const fg_result *r = fg_trainer_result(trainer);
        for (size_t k = 0; k < r->window_count; k++)
            samples += r->windows[k].samples;
        assert_int_equal(r->step_times.count, rows[i].steps - 1);
        assert_int_equal(samples, 32 - 4);
        assert_int_equal(r->window_count, rows[i].windows);
        assert_int_equal(r->windows[r->window_count - 1].step, rows[i].steps);
        for (int kind = FGI_TRAIN; kind <= FGI_PREDICT; kind++)
            assert_int_equal(fgi_feed_under_way(trainer->feed, (fgi_stage_kind)kind), 0);
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_result(trainer)->step_times.count, 3 - 1);
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(data.train);
    fg_dataset_destroy(data.val);
}

/* ---- rows of samples ------------------------------------------------------------------------- */

static fg_tensor classify(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    fg_step_log_classification(step, logits, fg_batch_field(batch, "y"));
    return fg_cross_entropy(logits, fg_batch_field(batch, "y"), NULL);
}

/* Not of training, but of a test as well. */
static void a_test_counts_classes_and_rows(void **state)
{
    fg_task_ops ops = toy_ops;
    const fg_task classifies = {.name = "toy", .self = &model, .ops = &ops};
    const fg_evaluation *e = NULL;
    fg_error err = {0};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    const fg_fit_data data = {.test = toy_data(9, 1), .batch_size = 4, .workers = FG_NONE};
    (void)state;
    ops.val_step = classify;
    fgt_ok(fg_trainer_test(trainer, &classifies, &data, &err));
    const fg_result *r = fg_trainer_result(trainer);
    assert_true(fgi_metric_find(r->metrics, r->metric_count, "test_f1") < r->metric_count);
    fgt_ok(fg_trainer_evaluation(trainer, true, &e, &err));
    assert_true(e != NULL && e->samples == 9);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.test);
}

/* The first validation is stopped after its first batch, and the second one fails there. */
static void a_part_of_a_validation_has_no_rows(void **state)
{
    fg_task_ops ops = toy_ops;
    const fg_task classifies = {.name = "toy", .self = &model, .ops = &ops};
    static const fg_status statuses[] = {FG_ESTOPPED, FG_EIO, FG_OK};
    static recorder r;
    const fg_evaluation *e = NULL;
    fg_error err = {0};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    const fg_fit_data data = {.val = toy_data(9, 1), .batch_size = 4, .workers = FG_NONE};
    (void)state;
    ops.val_step = classify;
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    for (int i = 0; i < 3; i++) {
        r = (recorder){.at_event = "batch_end", .at_count = 1, .status = statuses[i]};
        assert_int_equal(fg_trainer_validate(trainer, &classifies, &data, &err), statuses[i]);
        fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
        assert_int_equal(e != NULL ? e->samples : 0, i < 2 ? 0 : 9);
        assert_int_equal(e != NULL ? e->step : -1, i < 2 ? -1 : 7);
        trainer->cursor.step = 7;
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.val);
}

enum { ROWS = 2, BATCHES = 200 };

/* The batch i of rows (target, prediction, loss): losses are i and i + 1/2, but i - 1/2 in the
 * first row of the last batch. Row 6 is NaN; the second row of batch 7 is padding, and those of
 * batches 9 and 11 have no class. */
static void add_batch(fgi_sample_rows *rows, int i, int64_t classes)
{
    const float odd = i == 3 ? NAN : (float)i - (i == BATCHES - 1 ? 0.5F : 0);
    const float values[ROWS][FGI_ROW_VALUES] = {{1, (float)(i % 3), odd},
                                                {i == 9 ? 3 : 0, i == 11 ? 3 : 2, (float)i + 0.5F}};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {ROWS, FGI_ROW_VALUES}};
    fg_array *array = NULL;
    fg_error err = {0};
    fgt_ok(fgi_array_upload(client, &type, NULL, values, FGI_UPLOAD_COPY, &array, NULL, &err));
    fgt_ok(fgi_sample_rows_reserve(rows, classes, &err));
    fgi_sample_rows_add(rows, array, i == 7 ? 1 : ROWS);
    assert_true(rows->held <= FGI_ROWS_HELD);
}

/* In more batches than wait on the device, each sample counts once. */
static void rows_are_counted_while_they_arrive(void **state)
{
    static const int64_t counts[] = {0, 0, 197, 67, 67, 66, 0, 0, 0}, last = ROWS * BATCHES - 2;
    fgi_sample_rows rows = {.client = client};
    fg_error err = {0};
    (void)state;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < BATCHES; i++)
            add_batch(&rows, i, 3);
        fgt_ok(fgi_sample_rows_count(&rows, &err));
        assert_int_equal(rows.samples, last + 1);
        assert_memory_equal(rows.confusion, counts, sizeof counts);
        assert_int_equal(rows.worst_count, FGI_ROWS_WORST);
        assert_true(isnan(rows.worst[0].loss));
        assert_int_equal(rows.worst[0].index, 6);
        for (int i = 1; i < FGI_ROWS_WORST; i++) /* the last ones, counted without padding */
            assert_int_equal(rows.worst[i].index, last + 1 - (i == 2 || i == 3 ? 5 - i : i));
        fgi_sample_rows_clear(&rows);
    }
    add_batch(&rows, 0, 0); /* a regression */
    add_batch(&rows, 1, FGI_ROWS_CLASSES + 1);
    fgt_ok(fgi_sample_rows_count(&rows, &err));
    assert_null(rows.confusion);
    assert_int_equal(rows.samples, 4);
    add_batch(&rows, 2, FGI_ROWS_CLASSES); /* the most */
    assert_non_null(rows.confusion);
    fgi_sample_rows_clear(&rows);
    for (int i = 30; i > 20; i--) /* each is smaller than those before */
        add_batch(&rows, i, 0);
    fgt_ok(fgi_sample_rows_count(&rows, &err));
    assert_int_equal(rows.worst_count, FGI_ROWS_WORST);
    assert_true(rows.worst[FGI_ROWS_WORST - 1].loss == 25);
    assert_int_equal(rows.worst[FGI_ROWS_WORST - 1].index, 10);
    add_batch(&rows, 31, 0); /* 26.5 and 26 are now the last; then there is another 26.5 */
    add_batch(&rows, 26, 0);
    fgt_ok(fgi_sample_rows_count(&rows, &err));
    assert_true(rows.worst[FGI_ROWS_WORST - 1].loss == 26.5F);
    fgi_sample_rows_fini(&rows);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_part_of_a_validation_has_no_rows),
    cmocka_unit_test(a_fit_times_its_steps),
    cmocka_unit_test(a_test_counts_classes_and_rows),
    cmocka_unit_test(rows_are_counted_while_they_arrive),
    cmocka_unit_test(times_are_seconds),
    cmocka_unit_test(idle_time_belongs_to_the_innermost),
    cmocka_unit_test(more_spans_than_there_is_room_for),
    cmocka_unit_test(spans_belong_to_one_step),
    cmocka_unit_test(windows_end_with_their_last_step),
    cmocka_unit_test(a_launch_of_several_steps),
    cmocka_unit_test(many_windows_are_merged),
    cmocka_unit_test(the_required_rate_is_that_of_busy_steps),
    cmocka_unit_test(accumulated_batches_are_one_step),
    cmocka_unit_test(percentiles_of_a_hundred_steps),
    cmocka_unit_test(percentiles_of_few_steps),
    cmocka_unit_test(percentiles_of_a_long_run),
    cmocka_unit_test(what_is_not_known_is_nan),
    cmocka_unit_test(measured_times_are_between_the_delay_and_the_clock),
    cmocka_unit_test(steps_of_an_epoch),
    cmocka_unit_test(batches_of_a_validation),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
