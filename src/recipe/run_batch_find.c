/* run_batch_find.c - finds the largest batch that fits, with a message for each batch that is
 * tried.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "recipe/run.h"
#include "base/error.h"
#include "base/print.h"

/* "1.234 GB" in a static buffer, valid until the next call. */
static const char *bytes_text(int64_t bytes)
{
    static _Thread_local char text[32];
    const bool is_large = bytes >= 1000000000;
    (void)fgi_snprintf(text, sizeof text, "%.3f %s", (double)bytes * (is_large ? 1e-9 : 1e-6),
                       is_large ? "GB" : "MB");
    return text;
}

static void on_tried(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    const fg_recipe *r = self;
    if (need_bytes >= 0)
        fgi_run_say(r, FG_LOG_INFO, "batch_size %" PRId64 ": needs %s per device, %s", batch_size,
                    bytes_text(need_bytes), fits ? "fits" : "too much");
    else
        fgi_run_say(r, FG_LOG_INFO, "batch_size %" PRId64 ": the compiler runs out of memory",
                    batch_size);
}

fg_status fgi_run_batch_find(fg_recipe *r, fg_error *err)
{
    fg_batch_fit *fit = &r->outcome.batch;
    FGI_TRY(fg_trainer_find_batch(r->trainer, &r->task.task, &r->fit_data, on_tried, r, fit, err));
    if (fit->batch_size == 0)
        return fgi_fail(err, FG_EDEVMEM,
                        "not even a batch of 1 per device fits into %s: use a smaller model, "
                        "trainer.strategy=fsdp or a 16-bit precision",
                        bytes_text(fit->limit_bytes));
    if (fit->all_fit)
        fgi_run_say(r, FG_LOG_INFO, "all training samples fit into one batch");
    return FG_OK;
}
