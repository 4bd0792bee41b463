/* jpeg_common.c - libjpeg's callbacks: errors become fg_error and longjmp, bytes come from memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_common.h"

#include "base/error.h"
#include "base/print.h"

/* The codes of libjpeg's messages, without the macros in that header, which use strncpy. */
#define JERROR_H
#define JMESSAGE(code, text) code,
enum {
#include <jerror.h>
    MESSAGE_COUNT
};

enum { MOST_SCANS = 500 };

size_t fgi_jpeg_offset(j_decompress_ptr info)
{
    const fgi_jpeg_source *source = (const fgi_jpeg_source *)info->src;
    const size_t size = source->file->size, left = source->base.bytes_in_buffer;
    return left <= size ? size - left : size;
}

/* ---- errors ---------------------------------------------------------------------------------- */

_Noreturn void fgi_jpeg_leave(fgi_jpeg_errors *errors, fg_status status)
{
    errors->status = status;
    longjmp(errors->jump, 1);
}

static void on_error(j_common_ptr info)
{
    fgi_jpeg_errors *errors = (fgi_jpeg_errors *)info->err;
    char text[JMSG_LENGTH_MAX];
    if (info->err->msg_code == JERR_OUT_OF_MEMORY)
        fgi_jpeg_leave(errors, fgi_no_memory(errors->err));
    info->err->format_message(info, text);
    if (!info->is_decompressor || ((j_decompress_ptr)info)->src == NULL)
        fgi_jpeg_leave(errors, fgi_fail(errors->err, FG_EINVAL, "%s: libjpeg reports '%s'",
                                        errors->name, text));
    fgi_jpeg_leave(errors, fgi_fail(errors->err, FG_EFORMAT, "%s: byte %zu: libjpeg reports '%s'",
                                    errors->name, fgi_jpeg_offset((j_decompress_ptr)info), text));
}

/* Warnings about files whose image is what their writer has encoded: bytes that do not belong there
 * are skipped, metadata are ignored. All viewers show such files without a word. */
static bool is_harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
           code == JWRN_NOT_SEQUENTIAL;
}

static void note(fgi_jpeg_errors *errors, const char *text)
{
    if (errors->warning[0] == '\0')
        (void)fgi_snprintf(errors->warning, sizeof errors->warning, "%s", text);
}

/* Levels below 0 are warnings: libjpeg can continue, in most cases with wrong pixels. */
static void on_message(j_common_ptr info, int level)
{
    fgi_jpeg_errors *errors = (fgi_jpeg_errors *)info->err;
    char text[JMSG_LENGTH_MAX];
    if (level >= 0)
        return;
    if (!errors->is_tolerant && !is_harmless(info->err->msg_code))
        on_error(info);
    errors->is_corrupt |= !is_harmless(info->err->msg_code);
    info->err->format_message(info, text);
    note(errors, text);
}

static void on_output(j_common_ptr info) {}

struct jpeg_error_mgr *fgi_jpeg_errors_init(fgi_jpeg_errors *errors)
{
    struct jpeg_error_mgr *base = jpeg_std_error(&errors->base);
    base->error_exit = on_error;
    base->emit_message = on_message;
    base->output_message = on_output;
    return base;
}

static void on_progress(j_common_ptr info)
{
    if (!info->is_decompressor || ((j_decompress_ptr)info)->input_scan_number <= MOST_SCANS)
        return;
    fgi_jpeg_errors *errors = (fgi_jpeg_errors *)info->err;
    fgi_jpeg_leave(
        errors, fgi_fail(errors->err, FG_EFORMAT,
                         "%s: byte %zu: the JPEG has more than %d scans, which takes too long to "
                         "decode",
                         errors->name, fgi_jpeg_offset((j_decompress_ptr)info), MOST_SCANS));
}

void fgi_jpeg_limit_scans(j_decompress_ptr info, struct jpeg_progress_mgr *progress)
{
    *progress = (struct jpeg_progress_mgr){.progress_monitor = on_progress};
    info->progress = progress;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void begin_or_end(j_decompress_ptr info) {}

/* Called when the file ends before the image does. */
static boolean at_end(j_decompress_ptr info)
{
    static const JOCTET end_of_image[] = {0xff, JPEG_EOI};
    fgi_jpeg_errors *errors = (fgi_jpeg_errors *)info->err;
    const fgi_jpeg_source *source = (const fgi_jpeg_source *)info->src;
    if (!errors->is_tolerant)
        fgi_jpeg_leave(errors,
                       fgi_image_corrupt(source->file, source->file->size, errors->err,
                                         "truncated JPEG: the file ends before the image does"));
    errors->is_corrupt = true;
    note(errors, "truncated JPEG: the file ends before the image does");
    info->src->next_input_byte = end_of_image;
    info->src->bytes_in_buffer = sizeof end_of_image;
    return TRUE;
}

static void skip(j_decompress_ptr info, long count)
{
    if (count <= 0)
        return;
    if ((size_t)count >= info->src->bytes_in_buffer) {
        info->src->bytes_in_buffer = 0;
        (void)at_end(info);
        return;
    }
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= (size_t)count;
}

void fgi_jpeg_source_set(j_decompress_ptr info, fgi_jpeg_source *source, const fgi_image_file *file)
{
    *source = (fgi_jpeg_source){
        .base = {.next_input_byte = file->data,
                 .bytes_in_buffer = file->size,
                 .init_source = begin_or_end,
                 .fill_input_buffer = at_end,
                 .skip_input_data = skip,
                 .resync_to_restart = jpeg_resync_to_restart,
                 .term_source = begin_or_end},
        .file = file,
    };
    info->src = &source->base;
}
