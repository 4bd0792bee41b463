/* decode_gif.c - GIF, with giflib. Of an animation, the first frame. Pixels of the canvas that the
 * frame does not cover are transparent, as in browsers. Source: the GIF89a specification.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <gif_lib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"
#include "image/pixels.h"

enum { HEADER = 13, SCREEN_WIDTH = 6, SCREEN_HEIGHT = 8, FLAGS = 10 };

static bool matches(const fgi_image_file *file)
{
    return file->size >= 6 &&
           (memcmp(file->data, "GIF87a", 6) == 0 || memcmp(file->data, "GIF89a", 6) == 0);
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    const uint8_t *p = file->data;
    if (file->size < HEADER)
        return fgi_image_corrupt(file, file->size, err,
                                 "truncated GIF: the file ends within its header");
    out->width = p[SCREEN_WIDTH] | p[SCREEN_WIDTH + 1] << 8;
    out->height = p[SCREEN_HEIGHT] | p[SCREEN_HEIGHT + 1] << 8;
    out->channels = 3;
    out->bits = (p[FLAGS] & 7) + 1;
    if (out->width == 0 || out->height == 0)
        return fgi_image_corrupt(file, SCREEN_WIDTH, err, "the GIF has a width or height of 0");
    return FG_OK;
}

/* A decode in progress. */
typedef struct reader {
    const fgi_image_file *file;
    size_t offset;
    GifFileType *gif;
    int transparent; /* index, or -1 */
    fg_error *err;
} reader;

static int read_bytes(GifFileType *gif, GifByteType *out, int count)
{
    reader *r = gif->UserData;
    const size_t left = r->file->size - r->offset;
    const size_t size = (size_t)count < left ? (size_t)count : left;
    memcpy(out, r->file->data + r->offset, size);
    r->offset += size;
    return (int)size;
}

static fg_status failed(const reader *r, int code)
{
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM)
        return fgi_no_memory(r->err);
    if (r->offset == r->file->size)
        return fgi_image_corrupt(r->file, r->file->size, r->err,
                                 "truncated GIF: the file ends before the image does");
    const char *text = GifErrorString(code);
    return fgi_fail(r->err, FG_EFORMAT, "%s: byte %zu: giflib reports '%s'", r->file->name,
                    r->offset, text == NULL ? "unknown error" : text);
}

/* ---- up to the first frame ------------------------------------------------------------------- */

/* Reads an extension; the graphic control extension names the transparent color. */
static bool read_extension(reader *r)
{
    int code;
    GifByteType *block;
    if (DGifGetExtension(r->gif, &code, &block) != GIF_OK)
        return false;
    while (block != NULL) {
        GraphicsControlBlock control;
        if (code == GRAPHICS_EXT_FUNC_CODE &&
            DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
            r->transparent = control.TransparentColor;
        if (DGifGetExtensionNext(r->gif, &block) != GIF_OK)
            return false;
    }
    return true;
}

/* Reads the records in front of the first frame, and its header. */
static fg_status find_frame(reader *r)
{
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    while (record != IMAGE_DESC_RECORD_TYPE) {
        if (DGifGetRecordType(r->gif, &record) != GIF_OK)
            return failed(r, r->gif->Error);
        if (record == TERMINATE_RECORD_TYPE)
            return fgi_image_corrupt(r->file, r->offset, r->err, "the GIF has no image");
        if (record == EXTENSION_RECORD_TYPE && !read_extension(r))
            return failed(r, r->gif->Error);
    }
    return DGifGetImageHeader(r->gif) == GIF_OK ? FG_OK : failed(r, r->gif->Error);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Colors of all 256 indices as RGBA: those that are not in the palette are black. */
static void make_palette(const reader *r, uint8_t *rgba)
{
    const ColorMapObject *map =
        r->gif->Image.ColorMap != NULL ? r->gif->Image.ColorMap : r->gif->SColorMap;
    for (int i = 0; i < 256; i++) {
        const bool is_known = map != NULL && i < map->ColorCount;
        rgba[4 * i] = is_known ? map->Colors[i].Red : 0;
        rgba[4 * i + 1] = is_known ? map->Colors[i].Green : 0;
        rgba[4 * i + 2] = is_known ? map->Colors[i].Blue : 0;
        rgba[4 * i + 3] = i == r->transparent ? 0 : 255;
    }
}

/* The row in which line number `line` of an interlaced frame is. */
static int interlaced_row(int line, int height)
{
    static const int start[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; pass++) {
        const int lines = (height - start[pass] + step[pass] - 1) / step[pass];
        if (line < lines)
            return start[pass] + line * step[pass];
        line -= lines;
    }
    return 0;
}

/* Decodes the frame. `row` is one line of the canvas as RGBA, transparent on entry; `line` has room
 * for the indices of one line of the frame. */
static fg_status read_frame(const reader *r, const fgi_image_request *request, uint8_t *row,
                            uint8_t *line)
{
    const GifImageDesc *frame = &r->gif->Image;
    uint8_t palette[256 * 4];
    make_palette(r, palette);
    for (int i = 0; i < frame->Height; i++) {
        if (DGifGetLine(r->gif, line, frame->Width) != GIF_OK)
            return failed(r, r->gif->Error);
        const int y = frame->Interlace ? interlaced_row(i, frame->Height) : i;
        for (int x = 0; x < frame->Width; x++)
            memcpy(row + 4 * (size_t)(frame->Left + x), palette + 4 * (size_t)line[x], 4);
        fgi_put_row(request, frame->Top + y, FGI_RGBA, row);
    }
    GifRecordType record; /* the file must not end here */
    return DGifGetRecordType(r->gif, &record) == GIF_OK ? FG_OK : failed(r, r->gif->Error);
}

static fg_status decode_frame(fg_image_decoder *decoder, reader *r,
                              const fgi_image_request *request)
{
    FGI_TRY(find_frame(r));
    const GifFileType *gif = r->gif;
    const GifImageDesc *frame = &gif->Image;
    const bool is_inside = frame->Width > 0 && frame->Height > 0 && frame->Left >= 0 &&
                           frame->Top >= 0 && frame->Width <= gif->SWidth - frame->Left &&
                           frame->Height <= gif->SHeight - frame->Top;
    if (!is_inside)
        return fgi_image_corrupt(r->file, r->offset, r->err,
                                 "the first frame of the GIF is not inside its canvas");
    const size_t row_bytes = 4 * (size_t)gif->SWidth;
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, row_bytes + (size_t)frame->Width, r->err));
    uint8_t *row = decoder->rows.data;
    memset(row, 0, row_bytes);
    if (frame->Height < gif->SHeight)
        for (int y = 0; y < gif->SHeight; y++)
            fgi_put_row(request, y, FGI_RGBA, row);
    return read_frame(r, request, row, row + row_bytes);
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    reader r = {.file = file, .transparent = NO_TRANSPARENT_COLOR, .err = err};
    int code = D_GIF_ERR_NOT_ENOUGH_MEM;
    if (!fgi_alloc_fault())
        r.gif = DGifOpen(&r, read_bytes, &code);
    if (r.gif == NULL)
        return failed(&r, code);
    const fg_status status = decode_frame(decoder, &r, request);
    (void)DGifCloseFile(r.gif, &code);
    return status;
}

/* The trailer. */
static bool has_ends(const fgi_image_ends *ends)
{
    return ends->last[FGI_IMAGE_END_BYTES - 1] == ';';
}

static size_t table_bytes(int flags) { return flags & 0x80 ? (size_t)6 << (flags & 7) : 0; }

/* The end of a sequence of blocks, each with its size in front; at most the file's. */
static size_t skip_blocks(const fgi_image_file *file, size_t at)
{
    while (at < file->size && file->data[at] != 0)
        at += 1 + (size_t)file->data[at];
    return at < file->size ? at + 1 : file->size;
}

/* Whether the blocks of the first frame are complete, and something follows, as `decode` requires.
 * */
static fg_status check_end(const fgi_image_file *file, fg_error *err)
{
    enum { EXTENSION = '!', FRAME = ',', FRAME_BYTES = 10 };
    const uint8_t *data = file->data;
    size_t at = HEADER + table_bytes(data[FLAGS]);
    while (at < file->size && data[at] == EXTENSION)
        at = skip_blocks(file, at + 2);
    if (at < file->size && data[at] != FRAME)
        return FG_OK; /* `decode` says what is wrong */
    if (at + FRAME_BYTES < file->size)
        at = skip_blocks(file, at + FRAME_BYTES + table_bytes(data[at + FRAME_BYTES - 1]) + 1);
    else
        at = file->size;
    return at < file->size
               ? FG_OK
               : fgi_image_corrupt(file, file->size, err,
                                   "truncated GIF: the file ends before the image does");
}

const fgi_image_codec fgi_gif_codec = {
    .name = "GIF",
    .format = FG_IMAGE_GIF,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .check_end = check_end,
    .has_ends = has_ends,
};
