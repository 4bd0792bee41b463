/* schedule.c - learning rate and momentum as pure functions of the step.
 *
 * The options of a C program, where 0 means the default, are completed once, by those who keep a
 * schedule: the optimizer and the Trainer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "optim/optimizer.h"
#include "option/option.h"

fg_status fgi_schedule_complete(const fg_schedule *schedule, fg_schedule *out, void **out_options,
                                fg_error *err)
{
    const fg_schedule_entry *row = schedule != NULL ? schedule->row : NULL;
    *out = schedule != NULL ? *schedule : (fg_schedule){0};
    *out_options = NULL;
    FGI_TRY_RESERVED(fg_schedule, out, err);
    FGI_TRY_RESERVED(fg_schedule_entry, row, err);
    if (row == NULL)
        return FG_OK;
    if (!out->is_complete) {
        FGI_TRY(fgi_row_of(&row->entry, out->options, out_options, err));
        out->options = *out_options;
        out->is_complete = true;
    }
    const fg_status status = row->check != NULL ? row->check(out->options, err) : FG_OK;
    if (status == FG_OK)
        return FG_OK;
    fgi_free(*out_options);
    *out_options = NULL;
    return fgi_context(err, status, "%s", row->entry.name);
}

fg_status fg_schedule_check(const fg_schedule *schedule, fg_error *err)
{
    fg_schedule complete;
    void *options;
    FGI_TRY(fgi_schedule_complete(schedule, &complete, &options, err));
    fgi_free(options);
    return FG_OK;
}

fg_status fgi_schedule_check_steps(const fg_schedule *schedule, int64_t total_steps, fg_error *err)
{
    FGI_TRY(fg_schedule_check(schedule, err));
    if (schedule == NULL || schedule->row == NULL || schedule->row->is_endless || total_steps >= 1)
        return FG_OK;
    if (total_steps < 0)
        return fgi_fail(err, FG_EINVAL, "schedule '%s': the number of steps is not known",
                        schedule->row->entry.name);
    return fgi_fail(err, FG_EINVAL,
                    "schedule '%s' over 0 steps: expected a number of steps greater than 0",
                    schedule->row->entry.name);
}

double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step, int64_t total_steps)
{
    fg_schedule complete;
    void *options;
    if (fgi_schedule_complete(schedule, &complete, &options, NULL) != FG_OK)
        return (double)NAN;
    if (complete.row != NULL)
        lr = complete.row->lr(complete.options, lr, step, total_steps);
    fgi_free(options);
    return lr;
}

double fg_schedule_momentum(const fg_schedule *schedule, double momentum, int64_t step,
                            int64_t total_steps)
{
    fg_schedule complete;
    void *options;
    if (fgi_schedule_complete(schedule, &complete, &options, NULL) != FG_OK)
        return (double)NAN;
    double now = (double)NAN;
    if (complete.row != NULL && complete.row->momentum != NULL)
        now = complete.row->momentum(complete.options, momentum, step, total_steps);
    fgi_free(options);
    return isnan(now) ? momentum : now;
}

bool fgi_schedule_sets_momentum(const fg_schedule *schedule)
{
    return !isnan(fg_schedule_momentum(schedule, (double)NAN, 0, 1));
}

/* ---- the row of constant --------------------------------------------------------------------- */

static double constant_lr(const void *options, double lr, int64_t step, int64_t total_steps)
{
    (void)options, (void)step, (void)total_steps;
    return lr;
}

const fg_schedule_entry fgi_constant_row = {
    .entry = {.name = "constant", .help = "the learning rate does not change", .spellings = "none"},
    .is_endless = true,
    .lr = constant_lr};
