/* callback_gradient_accumulation.c - the callback gradient_accumulation: how many batches an
 * optimizer step has, by epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/train.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"

/* self is the text of the schedule. */
static fg_status on_setup(void *self, fg_trainer *trainer, fg_error *err)
{
    FGI_TRY_CTX(fg_trainer_set_accumulation(trainer, self, err), err, "%s",
                "gradient_accumulation");
    return FG_OK;
}

static void destroy(void *self) { fgi_free(self); }

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    const char *schedule = fg_option_string(values, "schedule");
    if (*schedule == '\0')
        return fg_option_fail(values, "schedule", FG_EINVAL, err,
                              "expected EPOCH=BATCHES for some epochs, such as 0=1,4=2");
    *out_self = fgi_strdup(schedule);
    return *out_self != NULL ? FG_OK : fgi_no_memory(err);
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "schedule",
     .kind = FG_OPTION_STRING,
     .initial = "",
     .example = "\"0=1,4=2,8=4\"",
     .help = "Batches per step, by epoch, as in trainer.accumulate_schedule: 1 in epochs 0 to 3, 2 "
             "in 4 to 7, then 4."},
};

static const fg_callback_ops ops = {
    .name = "gradient_accumulation", .destroy = destroy, .setup = on_setup};

const fg_callback_entry fgi_gradient_accumulation_row = {
    .entry = {.name = "gradient_accumulation",
              .help = "accumulate gradients over more batches per step in later epochs",
              .spellings = "GradientAccumulationScheduler",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
