/* jpeg_guard.c - calls of libjpeg with the error manager and the source of jpeg_common.c, for the
 * transcoder, the decoder of crops, and the coefficients. libjpeg reports errors by a function that
 * does not return: it jumps back to fgi_jpeg_guard_run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_guard.h"

#include <inttypes.h>
#include "base/alloc.h"
#include "base/error.h"

/* ---- calls ----------------------------------------------------------------------------------- */

_Noreturn void fgi_jpeg_guard_leave(fgi_jpeg_guard *guard, fg_status status)
{
    guard->errors.status = status;
    longjmp(guard->errors.jump, 1);
}

fg_status fgi_jpeg_guard_run(fgi_jpeg_guard *guard, const char *name, void (*fn)(void *),
                             void *self, fg_error *err)
{
    guard->errors.name = name;
    guard->errors.err = err;
    guard->errors.status = FG_OK;
    if (setjmp(guard->errors.jump) == 0)
        fn(self);
    return guard->errors.status;
}

static void create_reader(void *reader)
{
    jpeg_create_decompress((struct jpeg_decompress_struct *)reader);
}

static void create_writer(void *writer)
{
    jpeg_create_compress((struct jpeg_compress_struct *)writer);
}

fg_status fgi_jpeg_guard_reader(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader,
                                fg_error *err)
{
    if (fgi_alloc_fault())
        return fgi_no_memory(err);
    reader->err = fgi_jpeg_errors_init(&guard->errors);
    FGI_TRY(fgi_jpeg_guard_run(guard, "libjpeg", create_reader, reader, err));
    fgi_jpeg_limit_scans(reader, &guard->progress);
    return FG_OK;
}

fg_status fgi_jpeg_guard_writer(fgi_jpeg_guard *guard, struct jpeg_compress_struct *writer,
                                fg_error *err)
{
    if (fgi_alloc_fault())
        return fgi_no_memory(err);
    writer->err = fgi_jpeg_errors_init(&guard->errors);
    return fgi_jpeg_guard_run(guard, "libjpeg", create_writer, writer, err);
}

/* ---- input ----------------------------------------------------------------------------------- */

void fgi_jpeg_guard_input(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader,
                          const char *name, const void *bytes, size_t size)
{
    guard->file = (fgi_image_file){.name = name, .data = bytes, .size = size};
    fgi_jpeg_source_set(reader, &guard->source, &guard->file);
}

void fgi_jpeg_guard_header(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader)
{
    (void)jpeg_read_header(reader, TRUE);
    const int64_t pixels = (int64_t)reader->image_width * reader->image_height;
    if (pixels > FGI_JPEG_MAX_PIXELS)
        fgi_jpeg_guard_leave(guard, fgi_fail(guard->errors.err, FG_EFORMAT,
                                             "%s: the header claims %u x %u pixels; at most "
                                             "%" PRId64 " pixels are supported",
                                             guard->errors.name, reader->image_width,
                                             reader->image_height, FGI_JPEG_MAX_PIXELS));
}

/* ---- output ---------------------------------------------------------------------------------- */

static void start_chunk(j_compress_ptr writer)
{
    fgi_jpeg_guard *guard = (fgi_jpeg_guard *)writer->err;
    writer->dest->next_output_byte = guard->chunk;
    writer->dest->free_in_buffer = sizeof(guard->chunk);
}

static void add_bytes(fgi_jpeg_guard *guard, size_t count)
{
    fgi_buf_add(guard->out, guard->chunk, count);
    if (guard->out->failed)
        fgi_jpeg_guard_leave(guard, fgi_no_memory(guard->errors.err));
}

static boolean empty_output(j_compress_ptr writer)
{
    fgi_jpeg_guard *guard = (fgi_jpeg_guard *)writer->err;
    add_bytes(guard, sizeof(guard->chunk));
    start_chunk(writer);
    return TRUE;
}

static void finish_output(j_compress_ptr writer)
{
    fgi_jpeg_guard *guard = (fgi_jpeg_guard *)writer->err;
    add_bytes(guard, sizeof(guard->chunk) - writer->dest->free_in_buffer);
}

void fgi_jpeg_guard_output(fgi_jpeg_guard *guard, struct jpeg_compress_struct *writer, fgi_buf *out)
{
    guard->out = out;
    guard->destination = (struct jpeg_destination_mgr){.init_destination = start_chunk,
                                                       .empty_output_buffer = empty_output,
                                                       .term_destination = finish_output};
    writer->dest = &guard->destination;
}
