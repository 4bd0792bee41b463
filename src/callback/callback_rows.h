/* callback_rows.h - the rows of callbacks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CALLBACK_CALLBACK_ROWS_H
#define FGI_CALLBACK_CALLBACK_ROWS_H

#include <fulgurite/callback.h>

/* The built-in rows (callback_rows.c). */
extern const fg_entry *const fgi_callback_rows[];
extern const size_t fgi_callback_row_count;
extern const fg_callback_entry fgi_checkpoint_row;
extern const fg_callback_entry fgi_early_stop_row;
extern const fg_callback_entry fgi_ema_row;
extern const fg_callback_entry fgi_swa_row;
extern const fg_callback_entry fgi_freeze_row;
extern const fg_callback_entry fgi_gradient_accumulation_row;
extern const fg_callback_entry fgi_host_stats_row;
extern const fg_callback_entry fgi_device_stats_row;
extern const fg_callback_entry fgi_log_images_row;
extern const fg_callback_entry fgi_lr_monitor_row;
extern const fg_callback_entry fgi_prediction_writer_row;
extern const fg_callback_entry fgi_throughput_row;
extern const fg_callback_entry fgi_timer_row;

/* Options that several rows have. */
#define FGI_OPTION_MODE(type)                                                                      \
    FG_OPTION_ENUM(type, mode, "auto", "auto|min|max", "max",                                      \
                   "Whether a smaller or a larger value is better. auto: max for names that end "  \
                   "in acc, f1, precision, recall or r2, otherwise min.",                          \
                   .spellings = "minimize=min|maximize=max")
#define FGI_OPTION_USE_BUFFERS(type)                                                               \
    FG_OPTION(type, use_buffers, BOOL, "true", NULL, "false",                                      \
              "Also average buffers, such as the running statistics of batch norm. false: "        \
              "evaluations use their current values.")

#endif
