/* decode_jpeg.c - JPEG, with libjpeg-turbo and, for baseline files, our entropy decoder.
 *
 * The decompressor is created once per fg_image_decoder and reused. Of an area, only the rows and
 * the columns of iMCUs (blocks of up to 16x16 pixels) that it needs are transformed; rows above it
 * are entropy-decoded, rows below it are not read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"
#include "image/jpeg_blocks.h"
#include "image/jpeg_common.h"
#include "image/jpeg_markers.h"
#include "image/jpeg_segment.h"
#include "image/jpeg_sequential.h"
#include "image/pixels.h"

/* Upsampling of chroma uses neighbors, which at the edge of what libjpeg decodes are missing: so
 * this many more pixels are decoded on each side. */
enum { MARGIN = 2, ROWS = 8 };

struct fgi_jpeg_state {
    struct jpeg_decompress_struct info; /* first: see decode_mcu */
    struct jpeg_progress_mgr progress;
    fgi_jpeg_errors errors;
    fgi_jpeg_source source;
    fgi_jpeg_client client;
    fgi_jpeg_sequential *sequential;
    bool is_given_up; /* by our entropy decoder: libjpeg's is used */
};

static bool matches(const fgi_image_file *file)
{
    return file->size >= 3 && file->data[0] == 0xff && file->data[1] == 0xd8 &&
           file->data[2] == 0xff;
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    fgi_jpeg_header header;
    FGI_TRY(fgi_jpeg_header_read(file, &header, err));
    out->width = header.width;
    out->height = header.height;
    out->channels = header.components;
    out->bits = header.bits;
    out->orientation = header.orientation;
    out->is_progressive = header.is_progressive;
    return FG_OK;
}

static bool has_ends(const fgi_image_ends *ends)
{
    const uint8_t *last = ends->last + FGI_IMAGE_END_BYTES - 2;
    return last[0] == 0xff && last[1] == JPEG_EOI;
}

/* Whether there is an end of image (EOI) after the headers, at the end or, as in photos of phones
 * with other data after the image, in front of it. Entropy-coded data cannot contain one, but a
 * thumbnail in the headers has its own. So a crop of a truncated file is an error, even if the
 * decoder would not reach its end. */
static fg_status check_end(const fgi_image_file *file, fg_error *err)
{
    fgi_jpeg_header header;
    const uint8_t *at = file->data + file->size - 2;
    if (at[0] == 0xff && at[1] == JPEG_EOI)
        return FG_OK;
    FGI_TRY(fgi_jpeg_header_read(file, &header, err));
    const uint8_t *begin = file->data + header.scan_offset;
    while ((at = memrchr(begin, 0xff, (size_t)(at - begin))) != NULL)
        if (at[1] == JPEG_EOI)
            return FG_OK;
    return fgi_image_corrupt(file, file->size, err,
                             "truncated JPEG: the file ends before the image does");
}

/* The coefficients, two bytes each, of all scans. */
static size_t memory(const fgi_image_file *file, const fg_image_info *info)
{
    fgi_jpeg_header header;
    if (!info->is_progressive || fgi_jpeg_header_read(file, &header, NULL) != FG_OK)
        return 0;
    return (size_t)header.samples * sizeof(JCOEF);
}

static fg_status create(fg_image_decoder *decoder, fg_error *err)
{
    struct fgi_jpeg_state *s = decoder->jpeg = fgi_calloc(1, sizeof *s);
    if (s == NULL)
        return fgi_no_memory(err);
    s->info.err = fgi_jpeg_errors_init(&s->errors);
    s->errors.name = "libjpeg";
    s->errors.err = err;
    if (setjmp(s->errors.jump) != 0)
        return s->errors.status;
    jpeg_create_decompress(&s->info);
    s->sequential = fgi_jpeg_sequential_create();
    if (s->sequential == NULL)
        return fgi_no_memory(err);
    s->client.memory = &decoder->coefficients;
    fgi_jpeg_blocks_use(&s->info, &s->client);
    fgi_jpeg_limit_scans(&s->info, &s->progress);
    return FG_OK;
}

static void close_jpeg(fg_image_decoder *decoder)
{
    if (decoder->jpeg != NULL) {
        jpeg_destroy_decompress(&decoder->jpeg->info);
        fgi_jpeg_sequential_destroy(decoder->jpeg->sequential);
    }
    fgi_free(decoder->jpeg);
    decoder->jpeg = NULL;
    fgi_jpeg_cropper_destroy(decoder->cropper);
    decoder->cropper = NULL;
}

/* libjpeg's function for an MCU, with our entropy decoder. */
static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW *blocks)
{
    struct fgi_jpeg_state *s = (struct fgi_jpeg_state *)(void *)info; /* its first member */
    if (fgi_jpeg_sequential_decode(s->sequential, info, blocks))
        return TRUE;
    s->is_given_up = true;
    fgi_jpeg_leave(&s->errors, FG_EFORMAT);
}

static void start(struct fgi_jpeg_state *s, const fgi_image_request *request)
{
    j_decompress_ptr info = &s->info;
    (void)jpeg_read_header(info, TRUE);
    const bool is_cmyk = info->num_components == 4;
    info->out_color_space =
        is_cmyk ? JCS_CMYK : (request->image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    info->scale_num = 1;
    info->scale_denom = (unsigned)request->scale;
    fgi_jpeg_entropy_start(info, &s->client.entropy);
    if (!s->is_given_up && s->client.entropy.decode_mcu != NULL &&
        fgi_jpeg_sequential_start(s->sequential, info))
        s->client.entropy.decode_mcu = decode_mcu;
}

/* Columns that are decoded: a range of iMCUs around those of the request. */
typedef struct columns {
    JDIMENSION first, count;
} columns;

static columns choose_columns(j_decompress_ptr info, const fgi_image_request *request)
{
    const JDIMENSION x = (JDIMENSION)request->x, width = (JDIMENSION)request->image->width;
    columns c = {0, info->output_width};
    if (width == info->output_width)
        return c;
    c.first = x < MARGIN ? 0 : x - MARGIN;
    c.count = x + width + MARGIN - c.first;
    if (c.count > info->output_width - c.first)
        c.count = info->output_width - c.first;
    jpeg_crop_scanline(info, &c.first, &c.count);
    return c;
}

/* Decodes the next rows and copies the requested ones. */
static void read_rows(j_decompress_ptr info, const fgi_image_request *request, columns c,
                      uint8_t *memory)
{
    const fg_image *image = request->image;
    const size_t stride = (size_t)info->output_width * (size_t)info->output_components;
    const bool is_direct = c.count == (JDIMENSION)image->width && info->out_color_space != JCS_CMYK;
    const int64_t y = info->output_scanline, end = request->y + image->height;
    JSAMPROW rows[ROWS];
    JDIMENSION most = end - y < ROWS ? (JDIMENSION)(end - y) : ROWS;
    if (y < request->y)
        most = 1;
    for (JDIMENSION i = 0; i < most; i++)
        rows[i] = is_direct && y >= request->y
                      ? image->pixels + (size_t)(y - request->y + i) * stride
                      : memory + i * stride;
    const JDIMENSION count = jpeg_read_scanlines(info, rows, most);
    fgi_image_request shifted = *request;
    shifted.x -= c.first;
    for (JDIMENSION i = 0; i < count && !is_direct; i++)
        fgi_put_row(&shifted, y + i,
                    info->out_color_space == JCS_CMYK        ? FGI_CMYK_INVERTED
                    : info->out_color_space == JCS_GRAYSCALE ? FGI_GRAY
                                                             : FGI_RGB,
                    rows[i]);
}

static fg_status read_area(fg_image_decoder *decoder, const fgi_image_request *request,
                           fg_error *err)
{
    j_decompress_ptr info = &decoder->jpeg->info;
    const columns c = choose_columns(info, request);
    const size_t stride = (size_t)info->output_width * (size_t)info->output_components;
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, stride * ROWS, err));
    if (request->y > MARGIN)
        (void)jpeg_skip_scanlines(info, (JDIMENSION)request->y - MARGIN);
    const JDIMENSION end = (JDIMENSION)(request->y + request->image->height);
    while (info->output_scanline < end)
        read_rows(info, request, c, decoder->rows.data);
    if (end == info->output_height)
        (void)jpeg_finish_decompress(info); /* reads the end of the file */
    else
        jpeg_abort_decompress(info);
    return FG_OK;
}

/* Reads only the segments of the area. */
static fg_status decode_segments(fg_image_decoder *decoder, const fgi_image_file *file,
                                 const fgi_image_request *request, fg_error *err)
{
    const fg_image *image = request->image;
    const fgi_jpeg_record record = {file->name, file->data, file->size, file->segments,
                                    file->segments_size};
    const fgi_jpeg_crop crop = {.x = (int)request->x,
                                .y = (int)request->y,
                                .width = (int)image->width,
                                .height = (int)image->height,
                                .divisor = request->scale};
    if (decoder->cropper == NULL)
        FGI_TRY(fgi_jpeg_cropper_create(&decoder->cropper, err));
    const fg_status status = fgi_jpeg_segment_decode(decoder->cropper, &record, &crop,
                                                     image->pixels, (size_t)image->width * 3, err);
    decoder->entropy_ns += fgi_jpeg_cropper_entropy_ns(decoder->cropper);
    return status;
}

/* Decodes with our entropy decoder unless s->is_given_up. */
static fg_status decode_once(fg_image_decoder *decoder, const fgi_image_file *file,
                             const fgi_image_request *request, fg_error *err)
{
    struct fgi_jpeg_state *s = decoder->jpeg;
    s->errors.name = file->name;
    s->errors.err = err;
    s->errors.is_tolerant = request->is_tolerant;
    s->errors.warning[0] = '\0';
    s->errors.is_corrupt = false;
    s->errors.status = FG_OK;
    s->client.entropy = (fgi_jpeg_entropy){0};
    s->client.arrays = NULL;
    if (setjmp(s->errors.jump) == 0) {
        fgi_jpeg_source_set(&s->info, &s->source, file);
        start(s, request);
        s->errors.status = read_area(decoder, request, err);
    }
    if (s->errors.status != FG_OK)
        jpeg_abort_decompress(&s->info);
    decoder->entropy_ns += fgi_jpeg_entropy_ns(&s->client.entropy);
    decoder->is_corrupt = s->errors.is_corrupt;
    memcpy(decoder->warning, s->errors.warning, sizeof decoder->warning);
    return s->errors.status;
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    if (file->segments != NULL && request->image->channels == 3 && !request->is_tolerant)
        return decode_segments(decoder, file, request, err);
    if (decoder->jpeg == NULL) {
        const fg_status status = create(decoder, err);
        if (status != FG_OK) {
            close_jpeg(decoder);
            return status;
        }
    }
    decoder->jpeg->is_given_up = false;
    const fg_status status = decode_once(decoder, file, request, err);
    return decoder->jpeg->is_given_up ? decode_once(decoder, file, request, err) : status;
}

const fgi_image_codec fgi_jpeg_codec = {
    .name = "JPEG",
    .format = FG_IMAGE_JPEG,
    .max_scale = 8,
    .can_tolerate = true,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .check_end = check_end,
    .has_ends = has_ends,
    .memory = memory,
    .close = close_jpeg,
};
