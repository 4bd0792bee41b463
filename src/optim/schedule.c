/* schedule.c - learning rate and momentum as pure functions of the step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/reserved.h"
#include "optim/optimizer.h"

fg_status fg_schedule_check(const fg_schedule *schedule, fg_error *err)
{
    if (schedule == NULL)
        return FG_OK;
    FGI_TRY_RESERVED(fg_schedule, schedule, err);
    const fg_schedule_ops *ops = schedule->ops;
    if (ops == NULL)
        return FG_OK;
    FGI_TRY_RESERVED(fg_schedule_ops, ops, err);
    return ops->check != NULL ? ops->check(schedule->settings, err) : FG_OK;
}

double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step, int64_t total_steps)
{
    if (schedule == NULL || schedule->ops == NULL)
        return lr;
    return schedule->ops->lr(schedule->settings, lr, step, total_steps);
}

double fg_schedule_momentum(const fg_schedule *schedule, double momentum, int64_t step,
                            int64_t total_steps)
{
    if (schedule == NULL || schedule->ops == NULL || schedule->ops->momentum == NULL)
        return momentum;
    return schedule->ops->momentum(schedule->settings, momentum, step, total_steps);
}
