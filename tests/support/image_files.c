/* image_files.c - golden images: reading, comparing, damaging.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/file.h"
#include "image/codec.h"
#include "image_files.h"

static fg_error err;

fgt_file fgt_file_read(const char *name)
{
    fgi_mapping mapping;
    fgt_ok(fgi_file_map(fgt_path(FGT_SOURCE_DIR "/tests/golden/image", name), &mapping, &err));
    fgt_file file = {name, malloc(mapping.size), mapping.size};
    assert_non_null(file.data);
    memcpy(file.data, mapping.data, mapping.size);
    fgi_file_unmap(&mapping);
    return file;
}

void fgt_file_free(fgt_file *file) { free(file->data); }

fg_status fgt_decode(fg_image_decoder *decoder, const fgt_file *file,
                     const fg_image_decode_options *options, fg_image *out, fg_error *error)
{
    return fg_image_decode(decoder, file->name, file->data, file->size, options, out, error);
}

static int largest(const uint8_t *a, const uint8_t *b, size_t size, size_t *where)
{
    int most = 0;
    *where = 0;
    for (size_t i = 0; i < size; i++) {
        const int difference = abs(a[i] - b[i]);
        if (difference > most) {
            most = difference;
            *where = i;
        }
    }
    return most;
}

void fgt_image_check(const fg_image *image, int64_t width, int64_t height, const char *expected,
                     int bound)
{
    assert_int_equal(image->width, width);
    assert_int_equal(image->height, height);
    fgt_file file = fgt_file_read(expected);
    assert_int_equal(file.size, (size_t)(width * height) * (size_t)image->channels);
    size_t where;
    const int most = largest(image->pixels, file.data, file.size, &where);
    if (most > bound)
        fail_msg("%s: byte %zu differs by %d, more than %d", expected, where, most, bound);
    fgt_file_free(&file);
}

int fgt_image_difference(const fg_image *a, const fg_image *b)
{
    if (a->width != b->width || a->height != b->height || a->channels != b->channels)
        return 256;
    size_t where;
    return largest(a->pixels, b->pixels, (size_t)(a->width * a->height * a->channels), &where);
}

void fgt_check_decode(const char *name, const fg_image_decode_options *options, int64_t width,
                      int64_t height, const char *expected, int bound)
{
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_file file = fgt_file_read(name);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, options, &image, &err));
    fgt_image_check(&image, width, height, expected, bound);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

/* The verdict depends neither on the crop nor, for most formats, on decoding. */
static void check_truncated(fg_image_decoder *decoder, const fgt_file *f, fg_image *image)
{
    const fg_image_decode_options corner = {.crop = {0, 0, 1, 1}};
    const fg_status status = fgt_decode(decoder, f, NULL, image, &err);
    if (status != FG_EFORMAT && status != FG_EUNSUPPORTED)
        fail_msg("%s: %zu bytes: status %d: %s", f->name, f->size, status, err.message);
    assert_int_equal(strncmp(err.message, f->name, strlen(f->name)), 0);
    if (fgt_decode(decoder, f, &corner, image, &err) != status)
        fail_msg("%s: %zu bytes: the verdict depends on the crop", f->name, f->size);
    if (strstr(".jpg.png.webp.gif", strrchr(f->name, '.')) != NULL)
        assert_int_equal(fgi_image_check(f->name, f->data, f->size, false, &err), status);
}

void fgt_check_truncations(const char *name, size_t optional)
{
    enum { MOST = 300 };
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_file file = fgt_file_read(name);
    const long live = fgi_alloc_live();
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgi_image_check(name, file.data, file.size, false, &err));
    const size_t cuts = file.size < MOST ? file.size : MOST;
    for (size_t i = 0; i < cuts; i++) {
        const size_t size = file.size - 1 - i * (file.size - 1) / cuts;
        if (size >= file.size - optional)
            continue;
        uint8_t *part = malloc(size == 0 ? 1 : size);
        assert_non_null(part);
        memcpy(part, file.data, size);
        err.message[0] = '\0';
        check_truncated(decoder, &(fgt_file){name, part, size}, &image);
        free(part);
    }
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    assert_int_equal(fgi_alloc_live(), live);
    fgt_file_free(&file);
}

void fgt_check_flips(const char *name)
{
    enum { COUNT = 200 };
    static const fg_image_decode_options tolerant = {
        .crop = {3, 2, 5, 4}, .max_pixels = 1 << 16, .tolerate_corruption = true};
    static const fg_image_decode_options strict = {.max_pixels = 1 << 16};
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_file file = fgt_file_read(name);
    const long live = fgi_alloc_live();
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < COUNT; i++) {
        const size_t bit = i < 64 ? i * 7 : i * 2654435761u % (file.size * 8);
        file.data[bit / 8 % file.size] ^= (uint8_t)(1u << bit % 8);
        (void)fgt_decode(decoder, &file, &strict, &image, &err);
        (void)fgt_decode(decoder, &file, &tolerant, &image, &err);
        file.data[bit / 8 % file.size] ^= (uint8_t)(1u << bit % 8);
    }
    fgt_ok(fgt_decode(decoder, &file, NULL, &image, &err));
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    assert_int_equal(fgi_alloc_live(), live);
    fgt_file_free(&file);
}

static fg_status decode_twice(void *self, fg_error *error)
{
    fg_image_decoder *decoder = NULL;
    fg_image image = {0};
    fg_status status = fg_image_decoder_create(&decoder, error);
    for (int i = 0; i < 2 && status == FG_OK; i++)
        status = fgt_decode(decoder, self, NULL, &image, error);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    return status;
}

void fgt_check_allocations(const char *name)
{
    fgt_file file = fgt_file_read(name);
    fgt_fault_loop(decode_twice, &file);
    fgt_file_free(&file);
}

/* ---- folders of images ----------------------------------------------------------------------- */

void fgt_image_put(const char *image, const char *folder, const char *name)
{
    fgt_file file = fgt_file_read(image);
    (void)mkdir(folder, 0755);
    fgt_write(fgt_path(folder, name), file.data, file.size);
    fgt_file_free(&file);
}

const char *fgt_image_folder(void)
{
    static char path[200] = "";
    if (path[0] == '\0')
        (void)snprintf(path, sizeof(path), "%s", fgt_temp_folder());
    return path;
}

const char *fgt_photos(void)
{
    static char root[256];
    (void)snprintf(root, sizeof(root), "%s/photos", fgt_image_folder());
    char cat[300], dog[300];
    (void)snprintf(cat, sizeof(cat), "%s/cat", root);
    (void)snprintf(dog, sizeof(dog), "%s/dog", root);
    (void)mkdir(root, 0755);
    fgt_image_put("baseline.jpg", cat, "a.jpg");
    fgt_image_put("progressive.jpg", cat, "b c.jpg");
    fgt_image_put("large.jpg", dog, "d.jpg");
    return root;
}

fg_dataset *fgt_photos_open(const fg_images_options *options)
{
    fg_catalog *catalog;
    fg_dataset *dataset;
    fgt_ok(fg_catalog_open(fgt_photos(), NULL, &catalog, &err));
    fgt_ok(fg_images_create(catalog, options, &dataset, &err));
    fg_catalog_close(catalog); /* it is kept alive */
    return dataset;
}
