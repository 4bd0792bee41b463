/* jpeg_transcode.c - rewrites a JPEG as a baseline JPEG with restart markers: reads its quantized
 * coefficients, writes them with another entropy coding, then looks up where the segments are.
 * Called once per image when a pack is built.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_transcode.h"

#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "image/jpeg_guard.h"
#include "image/jpeg_segment_table.h"

enum { SMALL_ROW = 12, LARGE_PIXELS = 2000000, MARKER_LIMIT = 65535 };

/* Both ends of one transcode. On the heap: libjpeg keeps pointers into it. */
typedef struct transcoder {
    fgi_jpeg_guard guard;
    struct jpeg_decompress_struct reader;
    struct jpeg_compress_struct writer;
    int mcus_per_segment;
    fgi_buf *jpeg;
} transcoder;

/* Number of MCUs of a row in the single scan that is written. In a scan of one component, an MCU
 * is one block. */
static int mcus_per_row(const struct jpeg_decompress_struct *reader)
{
    if (reader->num_components == 1)
        return (int)reader->comp_info[0].width_in_blocks;
    const int width = reader->max_h_samp_factor * DCTSIZE;
    return ((int)reader->image_width + width - 1) / width;
}

/* The divisor of `row` nearest to `wanted`, so that no segment spans two rows; `wanted` if there is
 * none between half and one and a half times that. */
static int nearest_divisor(int row, int wanted)
{
    for (int distance = 0; distance <= wanted / 2; distance++) {
        if (row % (wanted + distance) == 0)
            return wanted + distance;
        if (row % (wanted - distance) == 0)
            return wanted - distance;
    }
    return wanted;
}

static int choose_interval(const struct jpeg_decompress_struct *reader, int mcus_per_segment)
{
    const int row = mcus_per_row(reader);
    const int64_t pixels = (int64_t)reader->image_width * reader->image_height;
    if (mcus_per_segment > 0)
        return mcus_per_segment;
    if (mcus_per_segment == FGI_JPEG_SEGMENTS_ROWS || row <= SMALL_ROW)
        return row;
    return nearest_divisor(row, pixels >= LARGE_PIXELS ? 4 : 8);
}

static bool is_kept(const struct jpeg_marker_struct *marker)
{
    return (marker->marker == JPEG_APP0 + 1 && marker->data_length >= 6 &&
            memcmp(marker->data, "Exif\0", 6) == 0) ||
           (marker->marker == JPEG_APP0 + 2 && marker->data_length >= 12 &&
            memcmp(marker->data, "ICC_PROFILE", 12) == 0);
}

static void copy_image(void *self)
{
    transcoder *t = self;
    jpeg_save_markers(&t->reader, JPEG_APP0 + 1, MARKER_LIMIT);
    jpeg_save_markers(&t->reader, JPEG_APP0 + 2, MARKER_LIMIT);
    fgi_jpeg_guard_header(&t->guard, &t->reader);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&t->reader);
    jpeg_copy_critical_parameters(&t->reader, &t->writer);
    t->writer.optimize_coding = TRUE;
    t->writer.restart_interval = (unsigned)choose_interval(&t->reader, t->mcus_per_segment);
    fgi_jpeg_guard_output(&t->guard, &t->writer, t->jpeg);
    jpeg_write_coefficients(&t->writer, coefficients);
    for (const struct jpeg_marker_struct *m = t->reader.marker_list; m != NULL; m = m->next) {
        if (is_kept(m))
            jpeg_write_marker(&t->writer, m->marker, m->data, m->data_length);
    }
    jpeg_finish_compress(&t->writer);
    (void)jpeg_finish_decompress(&t->reader);
}

static fg_status transcode(transcoder *t, const char *name, const void *bytes, size_t size,
                           fgi_buf *table, fg_error *err)
{
    FGI_TRY(fgi_jpeg_guard_reader(&t->guard, &t->reader, err));
    FGI_TRY(fgi_jpeg_guard_writer(&t->guard, &t->writer, err));
    fgi_jpeg_guard_input(&t->guard, &t->reader, name, bytes, size);
    FGI_TRY(fgi_jpeg_guard_run(&t->guard, name, copy_image, t, err));
    return fgi_jpeg_segment_table_write(name, (const uint8_t *)t->jpeg->data, t->jpeg->size, table,
                                        err);
}

fg_status fgi_jpeg_transcode_segments(const char *name, const void *bytes, size_t size,
                                      int mcus_per_segment, fgi_buf *jpeg, fgi_buf *table,
                                      fg_error *err)
{
    if (mcus_per_segment < FGI_JPEG_SEGMENTS_ROWS || mcus_per_segment > MARKER_LIMIT)
        return fgi_fail(err, FG_EINVAL, "%s: expected 1 to %d MCUs per segment, got %d", name,
                        MARKER_LIMIT, mcus_per_segment);
    transcoder *t = fgi_calloc(1, sizeof(*t));
    if (t == NULL)
        return fgi_no_memory(err);
    t->mcus_per_segment = mcus_per_segment;
    t->jpeg = jpeg;
    const fg_status status = transcode(t, name, bytes, size, table, err);
    jpeg_destroy_compress(&t->writer);
    jpeg_destroy_decompress(&t->reader);
    fgi_free(t);
    return status;
}
