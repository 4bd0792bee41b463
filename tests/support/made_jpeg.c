/* made_jpeg.c - see made_jpeg.h. libjpeg's errors end the test program: the JPEGs are valid.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "made_jpeg.h"

#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>
#include "fgt.h"

/* ---- make ------------------------------------------------------------------------------------ */

static void fill_row(const fgt_jpeg_spec *spec, int y, uint32_t *noise, uint8_t *row)
{
    for (int x = 0; x < spec->width; x++) {
        for (int c = 0; c < 3; c++) {
            *noise = *noise * 1664525 + 1013904223;
            const int wave = (x * (3 + c) + y * (5 - c)) % 256;
            const int edge = ((x / 11 + y / 7) % 3 == c) * 120;
            const int value =
                spec->smooth ? (x + y + 40 * c) % 200 : wave / 2 + edge + (int)(*noise >> 27);
            row[3 * x + c] = (uint8_t)(value > 255 ? 255 : value);
        }
    }
}

static void write_metadata(struct jpeg_compress_struct *writer)
{
    static const uint8_t exif[] = {'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                                   1,   18,  0,   3,   0, 0, 0,   1,   0, 6,  0, 0, 0, 0, 0, 0};
    static const uint8_t icc[] = "ICC_PROFILE\0\1\1profile";
    jpeg_write_marker(writer, JPEG_APP0 + 1, exif, sizeof(exif));
    jpeg_write_marker(writer, JPEG_APP0 + 2, icc, sizeof(icc));
    jpeg_write_marker(writer, JPEG_COM, (const uint8_t *)"a comment", 9);
}

static void configure(struct jpeg_compress_struct *writer, const fgt_jpeg_spec *spec)
{
    writer->image_width = (JDIMENSION)spec->width;
    writer->image_height = (JDIMENSION)spec->height;
    writer->input_components = 3;
    writer->in_color_space = JCS_RGB;
    jpeg_set_defaults(writer);
    if (spec->components == 1)
        jpeg_set_colorspace(writer, JCS_GRAYSCALE);
    jpeg_set_quality(writer, spec->quality == 0 ? 90 : spec->quality, TRUE);
    if (spec->h > 0) {
        writer->comp_info[0].h_samp_factor = spec->h;
        writer->comp_info[0].v_samp_factor = spec->v;
    }
    writer->restart_interval = (unsigned)spec->restart;
    writer->optimize_coding = spec->optimized;
    if (spec->progressive)
        jpeg_simple_progression(writer);
}

uint8_t *fgt_jpeg_make(const fgt_jpeg_spec *spec, size_t *size)
{
    struct jpeg_compress_struct writer;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long out_size = 0;
    uint32_t noise = 1;
    uint8_t *row = malloc((size_t)spec->width * 3);
    assert_non_null(row);
    writer.err = jpeg_std_error(&errors);
    jpeg_create_compress(&writer);
    jpeg_mem_dest(&writer, &out, &out_size);
    configure(&writer, spec);
    jpeg_start_compress(&writer, TRUE);
    if (spec->metadata)
        write_metadata(&writer);
    for (int y = 0; y < spec->height; y++) {
        fill_row(spec, y, &noise, row);
        jpeg_write_scanlines(&writer, &row, 1);
    }
    jpeg_finish_compress(&writer);
    jpeg_destroy_compress(&writer);
    free(row);
    *size = out_size;
    return out;
}

/* ---- read ------------------------------------------------------------------------------------ */

typedef struct opened {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    jvirt_barray_ptr *arrays;
} opened;

static void open_jpeg(opened *o, const uint8_t *jpeg, size_t size)
{
    o->reader.err = jpeg_std_error(&o->errors);
    jpeg_create_decompress(&o->reader);
    jpeg_mem_src(&o->reader, jpeg, size);
    (void)jpeg_read_header(&o->reader, TRUE);
}

static void open_coefficients(opened *o, const uint8_t *jpeg, size_t size)
{
    open_jpeg(o, jpeg, size);
    o->arrays = jpeg_read_coefficients(&o->reader);
}

uint8_t *fgt_jpeg_pixels(const uint8_t *jpeg, size_t size, int divisor, int *width, int *height)
{
    opened o;
    open_jpeg(&o, jpeg, size);
    o.reader.out_color_space = JCS_RGB;
    o.reader.scale_num = 1;
    o.reader.scale_denom = (unsigned)divisor;
    (void)jpeg_start_decompress(&o.reader);
    *width = (int)o.reader.output_width;
    *height = (int)o.reader.output_height;
    const size_t stride = (size_t)*width * 3;
    uint8_t *pixels = malloc(stride * (size_t)*height);
    assert_non_null(pixels);
    while (o.reader.output_scanline < o.reader.output_height) {
        JSAMPROW row = pixels + stride * o.reader.output_scanline;
        jpeg_read_scanlines(&o.reader, &row, 1);
    }
    jpeg_finish_decompress(&o.reader);
    jpeg_destroy_decompress(&o.reader);
    return pixels;
}

static JBLOCKROW block_row(opened *o, int component, int row)
{
    return o->reader.mem->access_virt_barray((j_common_ptr)&o->reader, o->arrays[component],
                                             (JDIMENSION)row, 1, FALSE)[0];
}

static void same_component(opened *a, opened *b, int i)
{
    const jpeg_component_info *x = &a->reader.comp_info[i], *y = &b->reader.comp_info[i];
    assert_int_equal(x->h_samp_factor, y->h_samp_factor);
    assert_int_equal(x->v_samp_factor, y->v_samp_factor);
    assert_memory_equal(a->reader.quant_tbl_ptrs[x->quant_tbl_no]->quantval,
                        b->reader.quant_tbl_ptrs[y->quant_tbl_no]->quantval, sizeof(UINT16) * 64);
    for (JDIMENSION row = 0; row < x->height_in_blocks; row++)
        assert_memory_equal(block_row(a, i, (int)row), block_row(b, i, (int)row),
                            sizeof(JBLOCK) * x->width_in_blocks);
}

void fgt_jpeg_same_coefficients(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    opened x, y;
    open_coefficients(&x, a, a_size);
    open_coefficients(&y, b, b_size);
    assert_int_equal(x.reader.image_width, y.reader.image_width);
    assert_int_equal(x.reader.image_height, y.reader.image_height);
    assert_int_equal(x.reader.num_components, y.reader.num_components);
    assert_int_equal(x.reader.jpeg_color_space, y.reader.jpeg_color_space);
    for (int i = 0; i < x.reader.num_components; i++)
        same_component(&x, &y, i);
    jpeg_destroy_decompress(&x.reader);
    jpeg_destroy_decompress(&y.reader);
}

int fgt_jpeg_coefficient(const uint8_t *jpeg, size_t size, int component, int row, int column,
                         int z)
{
    opened o;
    open_coefficients(&o, jpeg, size);
    const int value = block_row(&o, component, row)[column][z];
    jpeg_destroy_decompress(&o.reader);
    return value;
}
