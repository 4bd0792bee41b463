/* encode_jpeg.c - writes baseline JPEG files with libjpeg-turbo.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "image/encoded.h"
#include "image/jpeg_common.h"

enum { DEFAULT_QUALITY = 90 };

/* Writes to an fg_image_bytes; base.free_in_buffer is what its capacity has left. */
typedef struct destination {
    struct jpeg_destination_mgr base; /* first: libjpeg passes a pointer to it */
    fg_image_bytes *out;
    fgi_jpeg_errors *errors;
} destination;

typedef struct encoder {
    struct jpeg_compress_struct info;
    fgi_jpeg_errors errors;
    destination to;
} encoder;

static void make_room(j_compress_ptr info)
{
    destination *to = (destination *)info->dest;
    to->errors->status = fgi_image_bytes_grow(to->out, to->errors->err);
    if (to->errors->status != FG_OK)
        longjmp(to->errors->jump, 1);
    to->base.next_output_byte = to->out->data + to->out->size;
    to->base.free_in_buffer = to->out->capacity - to->out->size;
}

/* The buffer is full. */
static boolean on_full(j_compress_ptr info)
{
    destination *to = (destination *)info->dest;
    to->out->size = to->out->capacity;
    make_room(info);
    return TRUE;
}

static void on_end(j_compress_ptr info)
{
    destination *to = (destination *)info->dest;
    to->out->size = to->out->capacity - to->base.free_in_buffer;
}

static void set_parameters(j_compress_ptr info, const fg_image *image,
                           const fg_image_jpeg_options *options)
{
    info->image_width = (JDIMENSION)image->width;
    info->image_height = (JDIMENSION)image->height;
    info->input_components = image->channels;
    info->in_color_space = image->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, options->quality == 0 ? DEFAULT_QUALITY : options->quality, TRUE);
    if (options->full_chroma)
        info->comp_info[0].h_samp_factor = info->comp_info[0].v_samp_factor = 1;
}

static void write_rows(j_compress_ptr info, const fg_image *image)
{
    const size_t stride = (size_t)image->width * (size_t)image->channels;
    jpeg_start_compress(info, TRUE);
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = image->pixels + info->next_scanline * stride;
        (void)jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
}

static void run(encoder *e, const fg_image *image, const fg_image_jpeg_options *options)
{
    if (setjmp(e->errors.jump) != 0)
        return;
    jpeg_create_compress(&e->info);
    e->info.dest = &e->to.base;
    set_parameters(&e->info, image, options);
    write_rows(&e->info, image);
}

fg_status fg_image_encode_jpeg(const fg_image *image, const fg_image_jpeg_options *options,
                               fg_image_bytes *out, fg_error *err)
{
    static const fg_image_jpeg_options defaults = {0};
    const fg_image_jpeg_options *o = options == NULL ? &defaults : options;
    FGI_TRY_RESERVED(fg_image_jpeg_options, o, err);
    FGI_TRY(fgi_image_check_encoding("fg_image_encode_jpeg", image, out, err));
    if (o->quality < 0 || o->quality > 100)
        return fgi_fail(err, FG_EINVAL,
                        "fg_image_encode_jpeg: expected a quality of 1 to 100, got %d", o->quality);
    encoder e = {.to = {.base = {.init_destination = make_room,
                                 .empty_output_buffer = on_full,
                                 .term_destination = on_end},
                        .out = out}};
    e.to.errors = &e.errors;
    e.info.err = fgi_jpeg_errors_init(&e.errors);
    e.errors.name = "fg_image_encode_jpeg";
    e.errors.err = err;
    e.errors.status = FG_OK;
    run(&e, image, o);
    jpeg_destroy_compress(&e.info);
    return e.errors.status;
}
