/* jpeg_segment.c - decodes a rectangle of a JPEG: our entropy decoder for the segments that the
 * rectangle needs, libjpeg-turbo for everything after that (inverse DCT, upsampling, color).
 * libjpeg has no function that accepts coefficients for decoding, but its entropy decoder is a
 * function pointer in a documented structure (jpegint.h): we replace it after
 * jpeg_start_decompress. libjpeg then never reads the entropy-coded bytes; it asks for each MCU, in
 * order, and MCUs outside the rectangle are only counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_segment.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "image/jpeg_entropy.h"
#include "image/jpeg_guard.h"
#include "image/jpeg_scan.h"
#include "image/jpeg_segment_table.h"

#include <jpegint.h>

enum {
    BAND_ROWS = 2, /* MCU rows that are decoded at once, so that two segments are available even
                      if a row has only one */
    READ_ROWS = 16 /* rows that libjpeg returns at most in one call */
};

/* A growing block of memory whose content need not be kept. */
typedef struct block {
    void *data;
    size_t size;
} block;

struct fgi_jpeg_cropper {
    fgi_jpeg_guard guard;
    struct jpeg_decompress_struct jpeg;
    fgi_jpeg_tables tables;
    fgi_jpeg_segment_table table;
    block coefficients, rows, jobs, scratch[2];

    /* the image being decoded */
    const fgi_jpeg_record *source;
    fgi_jpeg_crop crop;
    uint8_t *pixels;
    size_t stride;
    fgi_huffman_scan scan;
    fgi_huffman_window wanted; /* MCUs of the rectangle and the pixels around it */
    fgi_huffman_window band;   /* the rows of `wanted` that are decoded now */
    int row, column;           /* the MCU that libjpeg asks for next */
    int64_t band_ns;           /* time of our entropy decoder */
    fgi_jpeg_entropy entropy;  /* of libjpeg's, where ours does not apply */
};

/* ---- create ---------------------------------------------------------------------------------- */

fg_status fgi_jpeg_cropper_create(fgi_jpeg_cropper **out, fg_error *err)
{
    *out = NULL;
    fgi_jpeg_cropper *cropper = fgi_calloc(1, sizeof(*cropper));
    if (cropper == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_jpeg_guard_reader(&cropper->guard, &cropper->jpeg, err);
    if (status != FG_OK) {
        fgi_jpeg_cropper_destroy(cropper);
        return status;
    }
    *out = cropper;
    return FG_OK;
}

void fgi_jpeg_cropper_destroy(fgi_jpeg_cropper *cropper)
{
    if (cropper == NULL)
        return;
    jpeg_destroy_decompress(&cropper->jpeg);
    fgi_jpeg_segment_table_fini(&cropper->table);
    fgi_free_aligned(cropper->coefficients.data);
    fgi_free_aligned(cropper->rows.data);
    fgi_free_aligned(cropper->jobs.data);
    fgi_free_aligned(cropper->scratch[0].data);
    fgi_free_aligned(cropper->scratch[1].data);
    fgi_free(cropper);
}

/* Memory of at least `size` bytes; leaves the guard if there is none. */
static void *reserve(fgi_jpeg_cropper *cropper, block *b, size_t size)
{
    if (size > b->size) {
        fgi_free_aligned(b->data);
        b->size = 0;
        b->data = fgi_alloc_aligned(size);
        if (b->data == NULL)
            fgi_jpeg_guard_leave(&cropper->guard, fgi_no_memory(cropper->guard.errors.err));
        b->size = size;
    }
    return b->data;
}

/* ---- our entropy decoder --------------------------------------------------------------------- */

/* Adds the segments that contain MCUs [begin, end) of the scan. */
static int add_segments(const fgi_jpeg_cropper *c, int64_t begin, int64_t end, int64_t mcus,
                        fgi_huffman_segment *jobs, int count)
{
    const int64_t interval = c->table.interval;
    for (int64_t i = begin / interval; i * interval < end; i++) {
        const int64_t first = i * interval;
        const int64_t whole = (first + interval < mcus ? first + interval : mcus) - first;
        const int64_t needed = (end - first < whole ? end - first : whole);
        fgi_huffman_segment *last = count > 0 ? &jobs[count - 1] : NULL;
        if (last != NULL && last->mcu == first) { /* the segment continues the previous row's */
            last->count = (int)needed;
            last->is_whole = needed == whole;
            continue;
        }
        const size_t at = c->table.begin[i];
        jobs[count++] = (fgi_huffman_segment){.bytes = (const uint8_t *)c->source->bytes + at,
                                              .size = c->table.begin[i + 1] - 2 - at,
                                              .mcu = first,
                                              .count = (int)needed,
                                              .is_whole = needed == whole};
    }
    return count;
}

static _Noreturn void segment_failed(const fgi_jpeg_cropper *c, const fgi_huffman_segment *segment)
{
    fgi_jpeg_cropper *cropper = (fgi_jpeg_cropper *)c->jpeg.client_data;
    const int64_t index = segment->mcu / c->table.interval;
    fgi_jpeg_guard_leave(&cropper->guard,
                         fgi_fail(c->guard.errors.err, FG_EFORMAT,
                                  "%s: byte %zu: segment %" PRId64 " of %zu is damaged: invalid "
                                  "Huffman code or wrong length",
                                  c->source->name, c->table.begin[index], index, c->table.count));
}

/* Decodes the coefficients of the band. */
static void decode_band(fgi_jpeg_cropper *c)
{
    fgi_huffman_window *band = &c->band;
    const int64_t per_row = c->scan.mcus_per_row, mcus = per_row * c->jpeg.MCU_rows_in_scan;
    const int columns = band->column_end - band->column;
    const size_t size = sizeof(int16_t) * FGI_HUFFMAN_STRIDE * (size_t)c->scan.blocks *
                        (size_t)columns * (size_t)(band->row_end - band->row);
    band->coefficients = reserve(c, &c->coefficients, size);
    memset(band->coefficients, 0, size);

    const size_t most = BAND_ROWS * ((size_t)columns / (size_t)c->table.interval + 2);
    fgi_huffman_segment *jobs = reserve(c, &c->jobs, most * sizeof(*jobs));
    int count = 0;
    for (int64_t row = band->row; row < band->row_end; row++)
        count = add_segments(c, row * per_row + band->column, row * per_row + band->column_end,
                             mcus, jobs, count);
    size_t largest = 0;
    for (int i = 0; i < count; i++)
        largest = jobs[i].size > largest ? jobs[i].size : largest;
    const fgi_huffman_scratch scratch = {{reserve(c, &c->scratch[0], largest + FGI_HUFFMAN_PAD),
                                          reserve(c, &c->scratch[1], largest + FGI_HUFFMAN_PAD)}};
    const int failed = fgi_huffman_decode(&c->scan, band, jobs, count, &scratch);
    if (failed >= 0)
        segment_failed(c, &jobs[failed]);
}

/* Makes the next rows of the rectangle the band. */
static void next_band(fgi_jpeg_cropper *c)
{
    c->band = c->wanted;
    c->band.row = c->row;
    if (c->band.row_end - c->row > BAND_ROWS)
        c->band.row_end = c->row + BAND_ROWS;
    const int64_t begin = fgi_now_ns();
    decode_band(c);
    c->band_ns += fgi_now_ns() - begin;
}

static void copy_mcu(const fgi_jpeg_cropper *c, JBLOCKROW *blocks)
{
    const fgi_huffman_window *band = &c->band;
    const size_t index = (size_t)(c->row - band->row) * (size_t)(band->column_end - band->column) +
                         (size_t)(c->column - band->column);
    const int16_t *from = band->coefficients + index * (size_t)c->scan.blocks * FGI_HUFFMAN_STRIDE;
    for (int i = 0; i < c->scan.blocks; i++)
        memcpy(blocks[i], from + (size_t)i * FGI_HUFFMAN_STRIDE, sizeof(JBLOCK));
}

/* Called by libjpeg for each MCU, in order. blocks is NULL for rows that it skips; otherwise the
 * blocks are zero. */
static boolean decode_mcu(j_decompress_ptr jpeg, JBLOCKROW *blocks)
{
    fgi_jpeg_cropper *c = jpeg->client_data;
    const fgi_huffman_window *wanted = &c->wanted;
    if (blocks != NULL && c->row >= wanted->row && c->row < wanted->row_end &&
        c->column >= wanted->column && c->column < wanted->column_end) {
        if (c->row >= c->band.row_end)
            next_band(c);
        copy_mcu(c, blocks);
    }
    if (++c->column == c->scan.mcus_per_row) {
        c->column = 0;
        c->row++;
    }
    return TRUE;
}

/* ---- preparing it ---------------------------------------------------------------------------- */

static void describe_scan(fgi_jpeg_cropper *c)
{
    const int number = fgi_jpeg_scan_describe(&c->scan, &c->tables, &c->jpeg);
    if (number >= 0)
        fgi_jpeg_guard_leave(&c->guard, fgi_fail(c->guard.errors.err, FG_EFORMAT,
                                                 "%s: Huffman table %d is missing or invalid",
                                                 c->guard.errors.name, number));
}

/* Whether our decoder applies: a baseline scan of all components, without several MCU rows per row
 * of blocks (which a single component with sampling factors has). */
static bool is_usual(const struct jpeg_decompress_struct *jpeg)
{
    return !jpeg->progressive_mode && !jpeg->arith_code && jpeg->data_precision == 8 &&
           jpeg->comps_in_scan == jpeg->num_components && jpeg->restart_interval > 0 &&
           (jpeg->num_components > 1 || jpeg->comp_info[0].v_samp_factor == 1);
}

/* Reads the table and checks it against the image. */
static void read_table(fgi_jpeg_cropper *c)
{
    const fgi_jpeg_record *source = c->source;
    const fg_status status =
        fgi_jpeg_segment_table_read(&c->table, source->name, source->table, source->table_size,
                                    source->size, c->guard.errors.err);
    if (status != FG_OK)
        fgi_jpeg_guard_leave(&c->guard, status);
    const uint64_t mcus = (uint64_t)c->jpeg.MCUs_per_row * c->jpeg.MCU_rows_in_scan;
    const uint64_t interval = (uint64_t)c->table.interval;
    if (interval != c->jpeg.restart_interval || (mcus + interval - 1) / interval != c->table.count)
        fgi_jpeg_guard_leave(
            &c->guard, fgi_fail(c->guard.errors.err, FG_EFORMAT,
                                "%s: segment table: %zu segments of %d MCUs, the image has %" PRIu64
                                " MCUs and a restart interval of %u",
                                source->name, c->table.count, c->table.interval, mcus,
                                c->jpeg.restart_interval));
}

/* The MCUs that the pixels [begin - 1, end + 1) of one dimension need: smooth upsampling mixes each
 * chroma sample with its neighbors. */
static void needed_mcus(int begin, int end, int pixels_per_mcu, int mcus, int *out, int *out_end)
{
    *out = (begin > 0 ? begin - 1 : 0) / pixels_per_mcu;
    *out_end = end / pixels_per_mcu + 1;
    if (*out_end > mcus)
        *out_end = mcus;
}

/* Replaces libjpeg's entropy decoder. */
static void use_segments(fgi_jpeg_cropper *c)
{
    struct jpeg_decompress_struct *jpeg = &c->jpeg;
    const bool is_single = jpeg->num_components == 1;
    const int scaled = jpeg->min_DCT_scaled_size;
    const int width = scaled * (is_single ? 1 : jpeg->max_h_samp_factor);
    const int height = scaled * (is_single ? 1 : jpeg->max_v_samp_factor);
    read_table(c);
    describe_scan(c);
    needed_mcus(c->crop.x, c->crop.x + c->crop.width, width, (int)jpeg->MCUs_per_row,
                &c->wanted.column, &c->wanted.column_end);
    needed_mcus(c->crop.y, c->crop.y + c->crop.height, height, (int)jpeg->MCU_rows_in_scan,
                &c->wanted.row, &c->wanted.row_end);
    c->band = (fgi_huffman_window){0};
    c->row = c->column = 0;
    jpeg->client_data = c;
    jpeg->entropy->decode_mcu = decode_mcu;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Reads rows [crop.y, crop.y + crop.height) with libjpeg and copies the columns of the crop. */
static void read_rows(fgi_jpeg_cropper *c, JDIMENSION column)
{
    struct jpeg_decompress_struct *jpeg = &c->jpeg;
    const size_t row_bytes = (size_t)jpeg->output_width * 3;
    uint8_t *rows = reserve(c, &c->rows, row_bytes * READ_ROWS);
    JSAMPROW row[READ_ROWS];
    for (int i = 0; i < READ_ROWS; i++)
        row[i] = rows + row_bytes * (size_t)i;
    const size_t offset = ((size_t)c->crop.x - column) * 3;
    const int end = c->crop.y + c->crop.height;
    while ((int)jpeg->output_scanline < end) {
        const int y = (int)jpeg->output_scanline;
        const int wanted = end - y < READ_ROWS ? end - y : READ_ROWS;
        const int count = (int)jpeg_read_scanlines(jpeg, row, (JDIMENSION)wanted);
        for (int i = 0; i < count; i++) {
            if (y + i >= c->crop.y)
                memcpy(c->pixels + c->stride * (size_t)(y + i - c->crop.y), row[i] + offset,
                       (size_t)c->crop.width * 3);
        }
    }
}

/* Limits libjpeg to the columns and rows around the crop. It starts a new picture there, so the
 * first column, row and the last column are not smoothed with their neighbors: one more of each is
 * decoded. */
static void decode_crop(fgi_jpeg_cropper *c)
{
    struct jpeg_decompress_struct *jpeg = &c->jpeg;
    const fgi_jpeg_crop *crop = &c->crop;
    const int end = crop->x + crop->width + 1;
    JDIMENSION column = crop->x > 0 ? (JDIMENSION)crop->x - 1 : 0;
    JDIMENSION width =
        (end < (int)jpeg->output_width ? (JDIMENSION)end : jpeg->output_width) - column;
    if (width < jpeg->output_width)
        jpeg_crop_scanline(jpeg, &column, &width);
    if (crop->y > 1)
        (void)jpeg_skip_scanlines(jpeg, (JDIMENSION)crop->y - 1);
    read_rows(c, column);
}

static void check_crop(fgi_jpeg_cropper *c)
{
    const fgi_jpeg_crop *crop = &c->crop;
    const int64_t width = c->jpeg.output_width, height = c->jpeg.output_height;
    if (crop->x >= 0 && crop->y >= 0 && crop->width > 0 && crop->height > 0 &&
        crop->x <= width - crop->width && crop->y <= height - crop->height)
        return;
    fgi_jpeg_guard_leave(&c->guard,
                         fgi_fail(c->guard.errors.err, FG_EINVAL,
                                  "%s: crop of %d x %d pixels at (%d, %d) is not inside the "
                                  "image of %" PRId64 " x %" PRId64 " pixels",
                                  c->source->name, crop->width, crop->height, crop->x, crop->y,
                                  width, height));
}

static void decode(void *self)
{
    fgi_jpeg_cropper *c = self;
    struct jpeg_decompress_struct *jpeg = &c->jpeg;
    fgi_jpeg_guard_header(&c->guard, jpeg);
    if (jpeg->num_components == 4)
        fgi_jpeg_guard_leave(&c->guard,
                             fgi_fail(c->guard.errors.err, FG_EUNSUPPORTED,
                                      "%s: crops of CMYK images are not supported: convert the "
                                      "image to RGB",
                                      c->source->name));
    jpeg->out_color_space = JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->scale_num = 1;
    jpeg->scale_denom = (unsigned)c->crop.divisor;
    jpeg_calc_output_dimensions(jpeg);
    check_crop(c);
    fgi_jpeg_entropy_start(jpeg, &c->entropy);
    if (c->source->table != NULL && is_usual(jpeg))
        use_segments(c);
    decode_crop(c);
}

fg_status fgi_jpeg_segment_decode(fgi_jpeg_cropper *cropper, const fgi_jpeg_record *source,
                                  const fgi_jpeg_crop *crop, uint8_t *pixels, size_t stride,
                                  fg_error *err)
{
    cropper->source = source;
    cropper->crop = *crop;
    if (crop->divisor == 0)
        cropper->crop.divisor = 1;
    const int divisor = cropper->crop.divisor;
    if (divisor != 1 && divisor != 2 && divisor != 4 && divisor != 8)
        return fgi_fail(err, FG_EINVAL, "%s: expected a divisor of 1, 2, 4 or 8, got %d",
                        source->name, divisor);
    cropper->band_ns = 0;
    cropper->entropy = (fgi_jpeg_entropy){0};
    cropper->pixels = pixels;
    cropper->stride = stride;
    fgi_jpeg_guard_input(&cropper->guard, &cropper->jpeg, source->name, source->bytes,
                         source->size);
    const fg_status status =
        fgi_jpeg_guard_run(&cropper->guard, source->name, decode, cropper, err);
    jpeg_abort_decompress(&cropper->jpeg);
    return status;
}

int64_t fgi_jpeg_cropper_entropy_ns(const fgi_jpeg_cropper *cropper)
{
    return cropper->band_ns + fgi_jpeg_entropy_ns(&cropper->entropy);
}
