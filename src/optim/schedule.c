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

/* The row of the schedule's name, and its options. */
static fg_status find_named(fg_schedule *s, void **out_options, fg_error *err)
{
    fg_option_values *values = NULL;
    const fg_entry *entry =
        fgi_entry_find(fgi_schedule_rows, fgi_schedule_row_count, "schedule", s->name, err);
    if (entry == NULL)
        return FG_ENOTFOUND;
    FGI_TRY(fgi_entry_values(entry, s->text, &values, err));
    const fg_status status = fgi_row_create(entry, values, out_options, err);
    fg_option_values_destroy(values);
    s->row = (const fg_schedule_entry *)entry;
    s->options = *out_options;
    s->is_complete = true;
    s->name = s->text = NULL;
    return status;
}

fg_status fgi_schedule_complete(const fg_schedule *schedule, fg_schedule *out, void **out_options,
                                fg_error *err)
{
    *out = schedule != NULL ? *schedule : (fg_schedule){0};
    *out_options = NULL;
    FGI_TRY_RESERVED(fg_schedule, out, err);
    if (out->row == NULL && out->name != NULL)
        FGI_TRY(find_named(out, out_options, err));
    const fg_schedule_entry *row = out->row;
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

static const fg_schedule_entry *row_of(const fg_schedule *s)
{
    if (s->row != NULL || s->name == NULL)
        return s->row;
    return (const fg_schedule_entry *)fgi_entry_find(fgi_schedule_rows, fgi_schedule_row_count,
                                                     "schedule", s->name, NULL);
}

bool fgi_schedule_has_end(const fg_schedule *schedule)
{
    const fg_schedule_entry *row = schedule != NULL ? row_of(schedule) : NULL;
    return (row != NULL && !row->is_endless) || (schedule != NULL && schedule->warmup.fraction > 0);
}

fg_status fgi_schedule_check_steps(const fg_schedule *schedule, int64_t total_steps, fg_error *err)
{
    FGI_TRY(fg_schedule_check(schedule, err));
    if (!fgi_schedule_has_end(schedule) || total_steps >= 1)
        return FG_OK;
    const char *name = row_of(schedule) != NULL ? row_of(schedule)->entry.name : "constant";
    if (total_steps < 0)
        return fgi_fail(err, FG_EINVAL, "schedule '%s': the number of steps is not known", name);
    return fgi_fail(err, FG_EINVAL,
                    "schedule '%s' over 0 steps: expected a number of steps greater than 0", name);
}

double fgi_schedule_done(int64_t step, int64_t steps)
{
    return fmin((double)step / (double)(steps > 1 ? steps : 1), 1);
}

double fgi_schedule_between(double lr, double final, double at)
{
    return lr * (final + (1 - final) * at);
}

/* The steps of the warm-up, which come before those of the row. */
static int64_t warmup_of(const fg_schedule *schedule, int64_t total_steps)
{
    return total_steps < 0 ? schedule->warmup.count : fg_amount_of(schedule->warmup, total_steps);
}

double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step, int64_t total_steps)
{
    fg_schedule complete;
    void *options;
    if (fgi_schedule_complete(schedule, &complete, &options, NULL) != FG_OK)
        return (double)NAN;
    const int64_t warmup = warmup_of(&complete, total_steps);
    if (total_steps > 0 && step >= total_steps && fgi_schedule_has_end(&complete))
        step = total_steps - 1;
    if (step < warmup)
        lr *= (double)step / (double)warmup;
    else if (complete.row != NULL)
        lr = complete.row->lr(complete.options, lr, step - warmup, total_steps - warmup);
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
    const int64_t warmup = warmup_of(&complete, total_steps), since = step - warmup;
    if (complete.row != NULL && complete.row->momentum != NULL)
        now = complete.row->momentum(complete.options, momentum, since > 0 ? since : 0,
                                     total_steps - warmup);
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
