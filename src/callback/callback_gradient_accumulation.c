/* callback_gradient_accumulation.c - the callback gradient_accumulation: how many batches an
 * optimizer step has, by epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/train.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"

typedef struct accumulation {
    fg_int_map schedule;
} accumulation;

static fg_status on_setup(void *self, fg_trainer *trainer, fg_error *err)
{
    const accumulation *a = self;
    FGI_TRY_CTX(fg_trainer_set_accumulation(trainer, a->schedule, err), err, "%s",
                "gradient_accumulation");
    return FG_OK;
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    const accumulation *a = self;
    if (a->schedule.count > 0)
        return FG_OK;
    return fg_option_fail(values, "schedule", FG_EINVAL, err,
                          "expected batches for some epochs, such as {0: 1, 4: 2}");
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(
        accumulation, schedule, MAP, "{}", "1..1048576", "{0: 1, 4: 2, 8: 4}",
        "Batches per step, by epoch, as in trainer.accumulate_schedule: 1 in epochs 0 to 3, 2 "
        "in 4 to 7, then 4."),
};

static const fg_callback_ops ops = {
    .name = "gradient_accumulation", .destroy = fg_free, .setup = on_setup};

const fg_callback_entry fgi_gradient_accumulation_row = {
    .entry = {.name = "gradient_accumulation",
              .help = "accumulate gradients over more batches per step in later epochs",
              .spellings = "GradientAccumulationScheduler",
              FG_OPTIONS(options, accumulation)},
    .ops = &ops,
    .init = init};
