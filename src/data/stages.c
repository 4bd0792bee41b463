/* stages.c - the clock of a loader's thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/stages.h"

#include <stddef.h>

#include "base/thread.h"
#include "base/timeline.h"

static _Thread_local fgi_load_clock *running;
static const char *const stage_name[] = {"read", "entropy", "decode", "resize", "copy"};

void fgi_load_begin_at(fgi_load_clock *clock, fgi_load_stage stage, int64_t now_ns)
{
    *clock = (fgi_load_clock){
        .outer = running, .stage = stage, .since_ns = now_ns, .times.opened = fgi_opened_here()};
    running = clock;
}

fgi_load_stage fgi_load_enter_at(fgi_load_stage stage, int64_t now_ns)
{
    fgi_load_clock *clock = running;
    if (clock == NULL)
        return stage;
    const fgi_load_stage before = clock->stage;
    clock->times.ns[before] += now_ns - clock->since_ns;
    if (fgi_timeline_is_on() && now_ns > clock->since_ns)
        fgi_timeline_add("loader", stage_name[before], -1, clock->since_ns, now_ns);
    clock->since_ns = now_ns;
    clock->stage = stage;
    return before;
}

int64_t fgi_load_end_at(fgi_load_clock *clock, int64_t now_ns)
{
    int64_t sum = 0;
    (void)fgi_load_enter_at(clock->stage, now_ns);
    running = clock->outer;
    const fgi_opened before = clock->times.opened, now = fgi_opened_here();
    clock->times.opened = (fgi_opened){.count = now.count - before.count, .ns = now.ns - before.ns};
    for (int i = 0; i < FGI_LOAD_STAGES; i++)
        sum += clock->times.ns[i];
    return sum;
}

void fgi_load_begin(fgi_load_clock *clock, fgi_load_stage stage)
{
    fgi_load_begin_at(clock, stage, fgi_now_ns());
}

fgi_load_stage fgi_load_enter(fgi_load_stage stage)
{
    return running != NULL ? fgi_load_enter_at(stage, fgi_now_ns()) : stage;
}

int64_t fgi_load_end(fgi_load_clock *clock) { return fgi_load_end_at(clock, fgi_now_ns()); }

int64_t fgi_load_move(fgi_load_stage from, fgi_load_stage to, int64_t ns)
{
    if (running == NULL)
        return ns;
    int64_t *counted = running->times.ns;
    const int64_t moved = ns < counted[from] ? ns : counted[from];
    counted[from] -= moved;
    counted[to] += moved;
    return moved;
}

fg_loader_stages fgi_load_seconds(const fgi_load_times *times)
{
    return (fg_loader_stages){.read_s = (double)times->ns[FGI_LOAD_READ] * 1e-9,
                              .decode_s = (double)times->ns[FGI_LOAD_DECODE] * 1e-9,
                              .resize_s = (double)times->ns[FGI_LOAD_RESIZE] * 1e-9,
                              .copy_s = (double)times->ns[FGI_LOAD_COPY] * 1e-9,
                              .entropy_s = (double)times->ns[FGI_LOAD_ENTROPY] * 1e-9,
                              .open_s = (double)times->opened.ns * 1e-9,
                              .opens = times->opened.count};
}

const char *fg_loader_slowest_stage(const fg_loader_stages *stages, double *out_fraction)
{
    const double seconds[] = {stages->read_s, stages->entropy_s, stages->decode_s, stages->resize_s,
                              stages->copy_s};
    double sum = 0;
    int most = 0;
    for (int i = 0; i < FGI_LOAD_STAGES; i++) {
        sum += seconds[i];
        if (seconds[i] > seconds[most])
            most = i;
    }
    *out_fraction = sum > 0 ? seconds[most] / sum : 0;
    return sum > 0 ? stage_name[most] : NULL;
}
