/* GIF: frames that do not cover their canvas, interlaced rows, palettes, the transparent color,
 * large sizes. The files are written here, with codes that all have 9 bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "image/codec.h"

static fg_error err;

/* A GIF of 4x3 pixels whose frame of 2x1 pixels is at (1, 1); colors: red, green. */
static void frames_smaller_than_the_canvas_are_placed(void **state)
{
    static const uint8_t gif[] = {'G', 'I', 'F', '8', '9', 'a', 4, 0,    3,    0, 0x80, 0,
                                  0,   255, 0,   0,   0,   255, 0, ',',  1,    0, 1,    0,
                                  2,   0,   1,   0,   0,   2,   2, 0x44, 0x0a, 0, ';'};
    const uint8_t white[] = {255, 255, 255}, red[] = {255, 0, 0}, green[] = {0, 255, 0};
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "small.gif", gif, sizeof gif, NULL, &image, &err));
    assert_true(image.width == 4 && image.height == 3);
    for (int i = 0; i < 12; i++)
        assert_memory_equal(image.pixels + 3 * i, i == 5 ? red : i == 6 ? green : white, 3);
    assert_int_equal(
        fg_image_decode(decoder, "f", "GIF89a\x02\0\x02\0\0\0\0;", 14, NULL, &image, &err),
        FG_EFORMAT);
    assert_string_equal(err.message, "f: byte 14: the GIF has no image");
    enum { FLAGS = 28 };
    uint8_t own[sizeof gif + 6] = {0}; /* the frame has its own colors: green, red */
    memcpy(own, gif, FLAGS);
    own[FLAGS] = 0x80;
    own[FLAGS + 2] = own[FLAGS + 4] = 255;
    memcpy(own + FLAGS + 7, gif + FLAGS + 1, sizeof gif - FLAGS - 1);
    fgt_ok(fg_image_decode(decoder, "own.gif", own, sizeof own, NULL, &image, &err));
    for (int i = 0; i < 12; i++)
        assert_memory_equal(image.pixels + 3 * i, i == 5 ? green : i == 6 ? red : white, 3);
    own[6] = 2; /* the width of the canvas */
    assert_int_equal(fg_image_decode(decoder, "f", own, sizeof own, NULL, &image, &err),
                     FG_EFORMAT);
    assert_string_equal(err.message,
                        "f: byte 36: the first frame of the GIF is not inside its canvas");
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

/* ---- written files --------------------------------------------------------------------------- */

/* An image of one frame, which has the indices of its rows from top to bottom; index i has color
 * (i, 255 - i, 7). */
typedef struct gif {
    int width, height;          /* of the canvas */
    int left, top, frame_width; /* of the frame */
    int frame_height, transparent;
    bool is_interlaced;
} gif;

enum { LARGEST = 2048, NONE = -1 };

static int index_at(const gif *g, int x, int y) { return (x + y * g->frame_width) % 256; }

/* Position in the file of line number `line`: every eighth row, those in between, and so on. */
static int row_of(const gif *g, int line)
{
    static const int begin[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    if (!g->is_interlaced)
        return line;
    for (int pass = 0; pass < 4; pass++)
        for (int y = begin[pass]; y < g->frame_height; y += step[pass])
            if (line-- == 0)
                return y;
    return -1;
}

static size_t put_code(uint8_t *bits, size_t at, unsigned code)
{
    for (int i = 0; i < 9; i++, at++)
        bits[at / 8] |= (uint8_t)((code >> i & 1) << at % 8);
    return at;
}

/* Codes of the pixels; the table is cleared before codes would have 10 bits. */
static size_t put_pixels(const gif *g, uint8_t *out)
{
    enum { CLEAR = 256, END = 257, MOST = 200 };
    uint8_t bits[LARGEST / 2] = {0};
    size_t at = 0, size = 0;
    int count = 0;
    for (int line = 0; line < g->frame_height; line++)
        for (int x = 0; x < g->frame_width; x++) {
            if (count++ % MOST == 0)
                at = put_code(bits, at, CLEAR);
            at = put_code(bits, at, (unsigned)index_at(g, x, row_of(g, line)));
        }
    at = (put_code(bits, at, END) + 7) / 8;
    for (size_t done = 0; done < at; done += 255) {
        const size_t bytes = at - done < 255 ? at - done : 255;
        out[size++] = (uint8_t)bytes;
        memcpy(out + size, bits + done, bytes);
        size += bytes;
    }
    out[size++] = 0;
    return size;
}

static size_t put_gif(const gif *g, uint8_t out[LARGEST])
{
    enum { PALETTE = 13, AFTER = PALETTE + 256 * 3 };
    size_t size = AFTER;
    memset(out, 0, LARGEST);
    memcpy(out, "GIF89a", 6);
    out[6] = (uint8_t)g->width, out[7] = (uint8_t)(g->width >> 8);
    out[8] = (uint8_t)g->height, out[9] = (uint8_t)(g->height >> 8);
    out[10] = 0x87;
    for (int i = 0; i < 256; i++) {
        const uint8_t color[] = {(uint8_t)i, (uint8_t)(255 - i), 7};
        memcpy(out + PALETTE + 3 * i, color, 3);
    }
    if (g->transparent != NONE) {
        const uint8_t control[] = {'!', 0xf9, 4, 1, 0, 0, (uint8_t)g->transparent, 0};
        memcpy(out + size, control, sizeof control);
        size += sizeof control;
    }
    const uint8_t frame[] = {',',
                             (uint8_t)g->left,
                             (uint8_t)(g->left >> 8),
                             (uint8_t)g->top,
                             (uint8_t)(g->top >> 8),
                             (uint8_t)g->frame_width,
                             0,
                             (uint8_t)g->frame_height,
                             (uint8_t)(g->frame_height >> 8),
                             g->is_interlaced ? 0x40 : 0,
                             8};
    memcpy(out + size, frame, sizeof frame);
    size += sizeof frame;
    size += put_pixels(g, out + size);
    out[size++] = ';';
    return size;
}

static void check_pixel(const gif *g, const fg_image *image, int x, int y)
{
    const bool is_inside =
        x >= g->left && x < g->left + g->frame_width && y >= g->top && y < g->top + g->frame_height;
    const int index = is_inside ? index_at(g, x - g->left, y - g->top) : NONE;
    const uint8_t color[] = {(uint8_t)index, (uint8_t)(255 - index), 7}, white[] = {255, 255, 255};
    const uint8_t *pixel = image->pixels + 3 * (y * g->width + x);
    if (memcmp(pixel, !is_inside || index == g->transparent ? white : color, 3) != 0)
        fail_msg("%dx%d at (%d, %d): %d %d %d", g->width, g->height, x, y, pixel[0], pixel[1],
                 pixel[2]);
}

static void check_gif(const gif *g)
{
    uint8_t data[LARGEST];
    fg_image_decoder *decoder;
    fg_image image = {0};
    fg_image_info info;
    const size_t size = put_gif(g, data);
    fgt_ok(fg_image_probe("f", data, size, &info, &err));
    assert_true(info.width == g->width && info.height == g->height && info.bits == 8);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "f", data, size, NULL, &image, &err));
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++)
            check_pixel(g, &image, x, y);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

static void written_files_are_decoded(void **state)
{
    static const gif rows[] = {
        {3, 4, 0, 0, 3, 2, NONE, false},     /* the frame ends above the canvas */
        {3, 4, 0, 2, 3, 2, NONE, false},     /* and begins below its top */
        {300, 2, 299, 1, 1, 1, NONE, false}, /* a size and a place of two bytes */
        {2, 300, 1, 299, 1, 1, NONE, false}, {1, 300, 0, 0, 1, 300, NONE, false},
        {16, 16, 0, 0, 16, 16, 200, false}, /* index 72 is not transparent */
        {16, 16, 0, 0, 16, 16, 255, false},  {16, 16, 0, 0, 16, 16, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_gif(&rows[i]);
    for (int height = 1; height < 20; height++)
        check_gif(&(gif){2, height, 0, 0, 2, height, NONE, true});
}

static void the_last_byte_of_a_file_is_checked(void **state)
{
    fgi_image_ends ends = {0};
    memcpy(ends.first, "GIF89a\2\0\2\0\0\0\0", 13);
    ends.last[FGI_IMAGE_END_BYTES - 1] = ';';
    assert_true(fgi_image_has_ends(&ends));
    ends.last[FGI_IMAGE_END_BYTES - 1] = '.';
    assert_false(fgi_image_has_ends(&ends));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(frames_smaller_than_the_canvas_are_placed),
    cmocka_unit_test(written_files_are_decoded),
    cmocka_unit_test(the_last_byte_of_a_file_is_checked),
};
FGT_MAIN(tests)
