/* log_values.c - what callbacks log besides numbers: texts, images, histograms.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "log/log_item.h"
#include "log/logger.h"
#include "train/run_folder.h"
#include "train/trainer.h"

enum { NAME_MAX_BYTES = 255, SIDE_MAX = 16384 };

/* Whether the item is to be logged; *out_status is then FG_OK. */
static bool is_wanted(const fg_trainer *trainer, const char *name, fg_status *out_status,
                      fg_error *err)
{
    const size_t size = name != NULL ? strlen(name) : 0;
    *out_status = FG_OK;
    if (!trainer->call.is_running || trainer->call.is_search)
        *out_status = fgi_fail(err, FG_EINVAL,
                               "texts, images and histograms can only be logged "
                               "during a fit");
    else if (size == 0 || size > NAME_MAX_BYTES || !fgi_text_is_utf8((fgi_str){name, size}))
        *out_status =
            fgi_fail(err, FG_EINVAL, "the name of a logged item: expected 1 to %d bytes of UTF-8",
                     NAME_MAX_BYTES);
    return *out_status == FG_OK && fgi_logger_takes_items(fgi_run_logger(trainer->run));
}

static void log_item(const fg_trainer *trainer, fg_log_item item)
{
    item.step = trainer->cursor.step;
    item.wall_time = fgi_wall_time();
    fgi_logger_item(fgi_run_logger(trainer->run), &item);
}

fg_status fg_trainer_log_text(const fg_trainer *trainer, const char *name, const char *text,
                              fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (!fgi_text_is_utf8(fgi_str_of(text)))
        return fgi_fail(err, FG_EINVAL, "the text '%s': expected UTF-8", name);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_TEXT, .name = name, .text = text});
    return FG_OK;
}

fg_status fg_trainer_log_image(const fg_trainer *trainer, const char *name, const uint8_t *pixels,
                               int64_t height, int64_t width, int64_t channels, fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (height < 1 || height > SIDE_MAX || width < 1 || width > SIDE_MAX ||
        (channels != 1 && channels != 3))
        return fgi_fail(err, FG_EINVAL,
                        "the image '%s' has %lld x %lld pixels with %lld channel%s: expected sides "
                        "from 1 to %d, and 1 or 3 channels",
                        name, (long long)width, (long long)height, (long long)channels,
                        fgi_s(channels), SIDE_MAX);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_IMAGE,
                                    .name = name,
                                    .pixels = pixels,
                                    .height = height,
                                    .width = width,
                                    .channels = channels});
    return FG_OK;
}

fg_status fg_trainer_log_histogram(const fg_trainer *trainer, const char *name, const float *values,
                                   size_t count, fg_error *err)
{
    fg_status status;
    fgi_histogram histogram;
    if (is_wanted(trainer, name, &status, err) &&
        fgi_histogram_make(FG_F32, values, count, &histogram))
        log_item(trainer, fgi_histogram_item(&histogram, name));
    return status;
}
