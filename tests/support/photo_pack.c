/* photo_pack.c - see photo_pack.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "photo_pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fgt.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_transcode.h"

/* Most tests end processes, not machines: what was written need not be on the disk. */
__attribute__((weak)) int fsync(int fd) { return fcntl(fd, F_GETFD) < 0 ? -1 : 0; }

static fg_error err;

void photo_make(const photo_spec *spec, int i, fg_image *out)
{
    const int width = (spec->width != 0 ? spec->width : 48) + (spec->is_equal ? 0 : i);
    const int height = spec->height != 0 ? spec->height : 40;
    fgt_ok(fg_image_reserve(out, width, height, 3, &err));
    uint8_t *at = out->pixels;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, at += 3) {
            at[0] = (uint8_t)(4 * x + 17 * i);
            at[1] = (uint8_t)(3 * y + x + 40 * i);
            at[2] = (uint8_t)((x / 7 + y / 5) % 2 * 120 + (x * y * 13 + i * 31) % 50);
        }
}

static int samples_of(const photo_spec *spec, int i)
{
    return spec->variants > 1 ? i / spec->variants : i;
}

static bool is_png(const photo_spec *spec)
{
    return spec->codec == FG_PACK_RAW_RGB || spec->as_png;
}

const char *photo_name(const photo_spec *spec, int i)
{
    static char name[64];
    const int label = spec->classes > 0 ? samples_of(spec, i) % spec->classes : 0;
    (void)snprintf(name, sizeof name, "%c/photo %03d.%s", 'a' + label, i,
                   is_png(spec) ? "png" : "jpg");
    return name;
}

static void encode(const photo_spec *spec, int i, fg_image_bytes *out)
{
    fg_image image = {0};
    photo_make(spec, i, &image);
    if (is_png(spec))
        fgt_ok(fg_image_encode_png(&image, NULL, out, &err));
    else
        fgt_ok(fg_image_encode_jpeg(&image, NULL, out, &err));
    fg_image_fini(&image);
}

/* Planes of 4:2:0, each chroma sample from the upper left one of its four pixels. */
static void to_ycc(const fg_image *image, fgi_buf *out)
{
    for (int plane = 0; plane < 3; plane++)
        for (int64_t y = 0; y < image->height; y += plane == 0 ? 1 : 2)
            for (int64_t x = 0; x < image->width; x += plane == 0 ? 1 : 2)
                fgi_buf_add(out, &image->pixels[(y * image->width + x) * 3 + plane], 1);
}

static void add_record(fg_pack_writer *writer, const photo_spec *spec, int i, const void *data,
                       size_t size)
{
    fg_image image = {0};
    photo_make(spec, i, &image);
    const int sample = samples_of(spec, i);
    const fg_pack_entry entry = {.name = photo_name(spec, i),
                                 .codec = spec->codec,
                                 .width = (uint32_t)image.width,
                                 .height = (uint32_t)image.height,
                                 .label =
                                     spec->classes > 0 ? sample % spec->classes : FG_PACK_NO_LABEL,
                                 .split = !spec->has_splits ? FG_PACK_NO_SPLIT
                                          : sample % 3 == 2 ? FG_VAL
                                                            : FG_TRAIN};
    fgt_ok(fg_pack_writer_add(writer, &entry, data, size, &err));
    fg_image_fini(&image);
}

static void add_photo(fg_pack_writer *writer, const photo_spec *spec, int i)
{
    fg_image image = {0};
    fg_image_bytes file = {0};
    fgi_buf bytes = {0}, table = {0};
    photo_make(spec, i, &image);
    if (spec->codec == FG_PACK_RAW_RGB) {
        add_record(writer, spec, i, image.pixels, (size_t)(image.width * image.height * 3));
    } else if (spec->codec == FG_PACK_RAW_YCC420) {
        to_ycc(&image, &bytes);
        add_record(writer, spec, i, bytes.data, bytes.size);
    } else {
        encode(spec, i, &file);
        if (spec->codec == FG_PACK_JPEG_SEG) {
            fgt_ok(fgi_jpeg_transcode_segments("photo", file.data, file.size,
                                               FGI_JPEG_SEGMENTS_AUTO, &bytes, &table, &err));
            fgi_jpeg_record_append(&bytes, &table);
            add_record(writer, spec, i, bytes.data, bytes.size);
        } else {
            add_record(writer, spec, i, file.data, file.size);
        }
    }
    fgi_buf_fini(&bytes);
    fgi_buf_fini(&table);
    fg_image_bytes_fini(&file);
    fg_image_fini(&image);
}

void photo_pack_write(const char *path, const photo_spec *spec)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    fg_pack_writer *writer;
    fgt_ok(fg_pack_writer_create(path,
                                 &(fg_pack_writer_options){.class_names = names,
                                                           .class_count = spec->classes,
                                                           .variant_count = spec->variants,
                                                           .shard_bytes = spec->shard_bytes,
                                                           .replace = true},
                                 &writer, NULL, &err));
    for (int i = 0; i < spec->count; i++)
        add_photo(writer, spec, i);
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}

void photo_files_write(const char *folder, const photo_spec *spec)
{
    fg_image_bytes file = {0};
    char parent[600]; /* fgt_path soon reuses its memory */
    (void)snprintf(parent, sizeof parent, "%s", folder);
    (void)mkdir(parent, 0755);
    for (int i = 0; i < spec->count; i++) {
        const char label[2] = {photo_name(spec, i)[0], '\0'};
        (void)mkdir(fgt_path(parent, label), 0755);
        encode(spec, i, &file);
        fgt_write(fgt_path(parent, photo_name(spec, i)), file.data, file.size);
    }
    fg_image_bytes_fini(&file);
}
