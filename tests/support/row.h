/* row.h - the struct of a row of a callback or logger, from options as in a configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_ROW_H
#define FGT_ROW_H

#include <fulgurite/callback.h>

#include "option/option.h"

/* The rows of the built-in callbacks. */
extern const fg_callback_entry fgi_timer_row, fgi_early_stop_row, fgi_checkpoint_row, fgi_ema_row,
    fgi_swa_row, fgi_gradient_accumulation_row, fgi_freeze_row, fgi_lr_monitor_row,
    fgi_throughput_row, fgi_device_stats_row, fgi_host_stats_row, fgi_log_images_row,
    fgi_prediction_writer_row;

/* text: "{patience: 3, mode: max}", or NULL. On failure *out is NULL. */
static inline fg_status fgt_row_begin(const fg_entry *entry, fgi_row_init *init,
                                      void (*destroy)(void *self), const char *text, void **out,
                                      fg_error *err)
{
    fg_option_values *values = NULL;
    *out = NULL;
    fg_status status =
        fg_option_values_create(entry->name, entry->options, entry->option_count, &values, err);
    if (status == FG_OK)
        status = fg_option_set_all(values, text, NULL, err);
    if (status == FG_OK)
        status = fgi_row_begin(entry, values, init, destroy, out, err);
    fg_option_values_destroy(values);
    return status;
}

#define FGT_ROW_BEGIN(row, text, out, err)                                                         \
    fgt_row_begin(&(row)->entry, (row)->init, (row)->ops->destroy, (text), (out), (err))

#endif
