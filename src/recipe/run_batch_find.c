/* run_batch_find.c - the largest batch that fits: each that is tried on standard error, what was
 * found on standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "recipe/run.h"
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
    const fgi_run *r = self;
    if (r->options->is_quiet)
        return;
    if (need_bytes >= 0)
        (void)fgi_fprintf(stderr, "batch_size %" PRId64 ": needs %s per device, %s\n", batch_size,
                          bytes_text(need_bytes), fits ? "fits" : "too much");
    else
        (void)fgi_fprintf(stderr, "batch_size %" PRId64 ": the compiler runs out of memory\n",
                          batch_size);
}

fg_status fgi_run_batch_find(fgi_run *r, fg_error *err)
{
    fg_batch_fit fit;
    const fg_status status =
        fg_trainer_find_batch(r->trainer, &r->task.task, &r->fit_data, on_tried, r, &fit, err);
    if (status != FG_OK)
        return status;
    if (fit.batch_size == 0) {
        (void)fgi_refuse(err,
                         "not even a batch of 1 per device fits into %s: use a smaller model, "
                         "trainer.strategy=fsdp or a 16-bit precision",
                         bytes_text(fit.limit_bytes));
        return FG_EDEVMEM;
    }
    (void)printf("batch_size\t%" PRId64 "\nglobal_batch_size\t%" PRId64 "\nneed_bytes\t%" PRId64
                 "\nlimit_bytes\t%" PRId64 "\n",
                 fit.batch_size, fit.global_batch_size, fit.need_bytes, fit.limit_bytes);
    if (fit.all_fit && !r->options->is_quiet)
        (void)fgi_fprintf(stderr, "all training samples fit into one batch\n");
    return FG_OK;
}
