/* callback_rows.c - the callbacks that a configuration can name, and what several of them do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "callback/callback_rows.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

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

size_t fgi_state_save(const void *state, size_t state_size, void *bytes, size_t size)
{
    if (size >= state_size)
        memcpy(bytes, state, state_size);
    return state_size;
}

fg_status fgi_state_load(void *state, size_t state_size, const void *bytes, size_t size,
                         fg_error *err)
{
    if (size != state_size)
        return fgi_fail(err, FG_EFORMAT, "expected %zu byte%s, got %zu", state_size,
                        fgi_s((int64_t)state_size), size);
    memcpy(state, bytes, size);
    return FG_OK;
}
