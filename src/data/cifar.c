/* cifar.c - CIFAR-10 in its binary version: a label byte, then 1,024 bytes each of red, green and
 * blue. Images are converted to channels-last once, when the files are opened. Source: Krizhevsky,
 * "The CIFAR-10 dataset", binary version.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/cifar.h"

#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/memory.h"

enum { PLANE = 32 * 32, CLASSES = 10, MOST_FILES = 5, LARGEST_META_BYTES = 65536 };

fg_status fgi_cifar_decode(const char *name, const unsigned char *data, size_t size,
                           unsigned char *out_images, int32_t *out_labels, fg_error *err)
{
    if (size == 0 || size % FGI_CIFAR_RECORD_BYTES != 0)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte %zu: the file ends within a record: %zu bytes are not a multiple of %d", name,
            size, size, FGI_CIFAR_RECORD_BYTES);
    const size_t count = size / FGI_CIFAR_RECORD_BYTES;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *record = data + i * FGI_CIFAR_RECORD_BYTES, *plane = record + 1;
        unsigned char *pixel = out_images + i * FGI_CIFAR_IMAGE_BYTES;
        if (record[0] >= CLASSES)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: byte %zu: label %d of record %zu: expected 0 to 9", name,
                            i * FGI_CIFAR_RECORD_BYTES, record[0], i);
        out_labels[i] = record[0];
        for (size_t p = 0; p < PLANE; p++, pixel += 3) {
            pixel[0] = plane[p];
            pixel[1] = plane[p + PLANE];
            pixel[2] = plane[p + (size_t)2 * PLANE];
        }
    }
    return FG_OK;
}

/* The files of one split, mapped. */
typedef struct batches {
    int count;
    char *paths[MOST_FILES];
    fgi_block files[MOST_FILES];
} batches;

static void close_batches(batches *b)
{
    for (int i = 0; i < b->count; i++) {
        fgi_free(b->paths[i]);
        fgi_block_fini(&b->files[i]);
    }
}

static fg_status open_batches(const char *folder, fg_data_split split, batches *b, fg_error *err)
{
    const int count = split == FG_TRAIN ? MOST_FILES : 1;
    for (int i = 0; i < count; i++) {
        char name[32] = "test_batch.bin";
        if (split == FG_TRAIN)
            (void)snprintf(name, sizeof(name), "data_batch_%d.bin", i + 1);
        if ((b->paths[i] = fgi_path_join(folder, name)) == NULL)
            return fgi_no_memory(err);
        b->count = i + 1;
        FGI_TRY(fgi_block_open(b->paths[i], FGI_LARGEST_INFLATED_BYTES, &b->files[i], err));
    }
    return FG_OK;
}

static fg_status decode_batches(const batches *b, fgi_block blocks[2], int64_t *out_count,
                                fg_error *err)
{
    size_t total = 0;
    for (int i = 0; i < b->count; i++)
        total += b->files[i].size / FGI_CIFAR_RECORD_BYTES;
    *out_count = (int64_t)total;
    FGI_TRY(fgi_block_alloc(total * FGI_CIFAR_IMAGE_BYTES, &blocks[0], err));
    FGI_TRY(fgi_block_alloc(total * sizeof(int32_t), &blocks[1], err));
    unsigned char *images = blocks[0].owned;
    int32_t *labels = blocks[1].owned;
    for (int i = 0; i < b->count; i++) {
        const fgi_block *file = &b->files[i];
        const size_t count = file->size / FGI_CIFAR_RECORD_BYTES;
        FGI_TRY(fgi_cifar_decode(b->paths[i], file->data, file->size, images, labels, err));
        images += count * FGI_CIFAR_IMAGE_BYTES;
        labels += count;
    }
    return FG_OK;
}

/* The first ten lines of batches.meta.txt, NUL-terminated in place within `text`. False if there
 * are fewer; the names are optional, so this is not an error. */
static bool split_names(char *text, const char *names[CLASSES])
{
    for (int i = 0; i < CLASSES; i++) {
        char *end = strchr(text, '\n');
        if (end == NULL)
            return false;
        const fgi_str name = fgi_str_trim((fgi_str){text, (size_t)(end - text)});
        if (name.size == 0)
            return false;
        names[i] = name.data;
        text[(size_t)(name.data - text) + name.size] = '\0';
        text = end + 1;
    }
    return true;
}

static fg_status create(const char *folder, const batches *b, fg_dataset **out, fg_error *err)
{
    const fg_field fields[2] = {{"image", {FG_U8, 3, {32, 32, 3}}}, {"label", {.dtype = FG_S32}}};
    const char *names[CLASSES];
    fgi_block blocks[2] = {{0}};
    fg_dataset_spec spec = {.fields = fields, .field_count = 2, .class_count = CLASSES};
    char *meta_path = fgi_path_join(folder, "batches.meta.txt"), *meta = NULL;
    size_t meta_size;
    fg_status status = meta_path == NULL ? fgi_no_memory(err) : FG_OK;
    if (status == FG_OK)
        status = decode_batches(b, blocks, &spec.count, err);
    if (status == FG_OK) {
        status = fgi_file_read(meta_path, LARGEST_META_BYTES, &meta, &meta_size, err);
        if (status == FG_OK && split_names(meta, names))
            spec.class_names = names;
        if (status != FG_ENOMEM) /* other errors with the names are ignored */
            status = FG_OK;
    }
    if (status == FG_OK)
        status = fgi_memory_create(&spec, blocks, out, err);
    fgi_block_fini(&blocks[0]);
    fgi_block_fini(&blocks[1]);
    fgi_free(meta);
    fgi_free(meta_path);
    return status;
}

fg_status fg_cifar10_open(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    batches b = {0};
    char *inner = fgi_path_join(folder, "cifar-10-batches-bin");
    if (inner == NULL)
        return fgi_no_memory(err);
    const char *where = fgi_file_exists(inner) ? inner : folder;
    fg_status status = open_batches(where, split, &b, err);
    if (status == FG_OK)
        status = create(where, &b, out, err);
    close_batches(&b);
    fgi_free(inner);
    return status;
}
