/* schedule.c - learning rate and momentum as pure functions of the step.
 *
 * One-cycle is a list of phases, each going from one value to another up to its last step; where a
 * phase ends may be a fraction, as in PyTorch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/reserved.h"
#include "optim/optimizer.h"

static const char *const names[] = {"constant", "onecycle"};
static const char *const anneals[] = {"cos", "linear"};
enum { ONECYCLE = 1, NAMES = 2, COS = 0, ANNEALS = 2 };

static int place(const char *name, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (name == NULL || strcmp(name, list[i]) == 0)
            return i;
    return -1;
}

static fg_status unknown(const char *what, const char *name, const char *const list[2],
                         fg_error *err)
{
    return fgi_fail(err, FG_EINVAL, "unknown %s '%s': expected '%s' or '%s'", what, name, list[0],
                    list[1]);
}

fg_schedule fgi_schedule_resolved(const fg_schedule *schedule)
{
    fg_schedule s = schedule != NULL ? *schedule : (fg_schedule){0};
    const int name = place(s.name, names, NAMES), anneal = place(s.anneal, anneals, ANNEALS);
    s.name = names[name > 0 ? name : 0];
    s.anneal = anneals[anneal > 0 ? anneal : 0];
    s.pct_start = s.pct_start != 0 ? s.pct_start : 0.3;
    s.div_factor = s.div_factor != 0 ? s.div_factor : 25;
    s.final_div_factor = s.final_div_factor != 0 ? s.final_div_factor : 1e4;
    s.base_momentum = s.base_momentum != 0 ? s.base_momentum : 0.85;
    s.max_momentum = s.max_momentum != 0 ? s.max_momentum : 0.95;
    return s;
}

fg_status fg_schedule_check(const fg_schedule *schedule, fg_error *err)
{
    if (schedule == NULL)
        return FG_OK;
    FGI_TRY_RESERVED(fg_schedule, schedule, err);
    if (place(schedule->name, names, NAMES) < 0)
        return unknown("schedule", schedule->name, names, err);
    if (place(schedule->anneal, anneals, ANNEALS) < 0)
        return unknown("anneal", schedule->anneal, anneals, err);
    const fg_schedule s = fgi_schedule_resolved(schedule);
    if (!(s.pct_start > 0 && s.pct_start <= 1))
        return fgi_fail(err, FG_EINVAL, "pct_start is %g: expected a fraction of the steps, 0 to 1",
                        s.pct_start);
    if (!(s.div_factor > 0 && s.final_div_factor > 0))
        return fgi_fail(err, FG_EINVAL,
                        "div_factor is %g and final_div_factor %g: expected numbers greater than 0",
                        s.div_factor, s.final_div_factor);
    if (!(s.base_momentum >= 0 && s.base_momentum < 1 && s.max_momentum >= 0 && s.max_momentum < 1))
        return fgi_fail(err, FG_EINVAL,
                        "base_momentum is %g and max_momentum %g: expected 0 <= momentum < 1",
                        s.base_momentum, s.max_momentum);
    return FG_OK;
}

static double blend(const char *anneal, double from, double to, double share)
{
    if (share <= 0 || share >= 1)
        return share <= 0 ? from : to; /* exactly */
    if (anneal == anneals[COS])
        return to + (from - to) / 2 * (cos(3.14159265358979323846 * share) + 1);
    return from + (to - from) * share;
}

/* A one-cycle value at a step: from `start` to `top`, and down to `end`. */
static double cycle(const fg_schedule *s, double start, double top, double end, int64_t step,
                    int64_t total)
{
    const double last = (double)(total > 1 ? total - 1 : 0), t = fmin((double)step, last);
    const double turn = s->pct_start * (double)total;
    const struct {
        double to, until; /* the phase's last step */
    } phase[] = {{top, turn - 1}, {s->three_phase ? start : end, 2 * turn - 2}, {end, last}};
    double from = start, since = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 1 && !s->three_phase)
            continue;
        if (t <= phase[i].until || i == 2) {
            const double length = phase[i].until - since;
            const double share = length > 0 ? (t - since) / length : 1;
            return blend(s->anneal, from, phase[i].to, share);
        }
        from = phase[i].to;
        since = phase[i].until;
    }
    return end;
}

double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step, int64_t total_steps)
{
    const fg_schedule s = fgi_schedule_resolved(schedule);
    if (s.name != names[ONECYCLE])
        return lr;
    const double start = lr / s.div_factor;
    return cycle(&s, start, lr, start / s.final_div_factor, step, total_steps);
}

double fg_schedule_momentum(const fg_schedule *schedule, double momentum, int64_t step,
                            int64_t total_steps)
{
    const fg_schedule s = fgi_schedule_resolved(schedule);
    if (s.name != names[ONECYCLE] || s.no_cycle_momentum)
        return momentum;
    return cycle(&s, s.max_momentum, s.base_momentum, s.max_momentum, step, total_steps);
}
