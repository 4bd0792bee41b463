/* run_schedule.c - the learning rate and the momentum of every step of a fit, before it runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "base/text.h"
#include "recipe/run/run.h"

/* The momentum of the optimizer, or Adam's beta1; NaN if it has neither option. */
static double momentum_of(const fg_optimizer_entry *row, const fg_option_values *values)
{
    const char *name = row->momentum != NULL ? row->momentum : "momentum";
    if (fg_option_find(values, name) != NULL)
        return fabs(fg_option_number(values, name));
    const fg_option *betas = fg_option_find(values, "betas");
    if (betas == NULL)
        return (double)NAN;
    if (fg_option_is_auto(values, "betas") && betas->automatic != NULL)
        return fgi_strtod(betas->automatic + 1, NULL); /* "[0.9, 0.999]" */
    return fg_option_float_at(values, "betas", 0);
}

/* The settings of a fit with the callbacks of the configuration. */
static fg_status preview(fg_recipe *r, const fg_trainer_options *options, double lr,
                         fg_fit_settings *out, fg_error *err)
{
    FGI_TRY(fg_trainer_create(options, &r->trainer, err));
    fg_status status = fgi_run_callbacks_add(r, err);
    if (status == FG_OK)
        status = fg_trainer_preview_fit(r->trainer, &r->fit_data, lr, out, err);
    fg_trainer_destroy(r->trainer);
    r->trainer = NULL;
    return status;
}

fg_status fgi_run_schedule(fg_recipe *r, fg_error *err)
{
    fg_trainer_options options;
    FGI_TRY(fgi_run_trainer_options(r, NULL, &options, err));
    fgi_schedule_view view = {.name = r->c->schedule.name,
                              .schedule = &r->task.schedule,
                              .momentum =
                                  momentum_of(r->task.optimizer_entry, r->task.optimizer_values)};
    const double lr = fgi_run_task_lr(&r->task);
    FGI_TRY(preview(r, &options, lr, &view.settings, err));
    r->schedule = view;
    if (r->c->lr_find)
        fgi_run_say(r, FG_LOG_INFO,
                    "note: tuner.lr_find replaces optimizer.lr: the schedule has the same shape, "
                    "with other learning rates");
    return FG_OK;
}
