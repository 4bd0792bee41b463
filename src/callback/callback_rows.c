/* callback_rows.c - the callbacks that a configuration can name: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "callback/callback_rows.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_checkpoint_row)                                                                        \
    ROW(fgi_early_stop_row)                                                                        \
    ROW(fgi_timer_row)                                                                             \
    ROW(fgi_ema_row)                                                                               \
    ROW(fgi_swa_row)                                                                               \
    ROW(fgi_gradient_accumulation_row)                                                             \
    ROW(fgi_freeze_row)                                                                            \
    ROW(fgi_lr_monitor_row)                                                                        \
    ROW(fgi_throughput_row)                                                                        \
    ROW(fgi_device_stats_row)                                                                      \
    ROW(fgi_host_stats_row)                                                                        \
    ROW(fgi_log_images_row)                                                                        \
    ROW(fgi_prediction_writer_row)

#define DECLARE(name) extern const fg_callback_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_callback_rows[] = {ROWS(ADDRESS)};
const size_t fgi_callback_row_count = sizeof fgi_callback_rows / sizeof fgi_callback_rows[0];
