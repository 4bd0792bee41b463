/* cifar.c - CIFAR-10 and CIFAR-100 in their binary versions: one label byte, or a coarse and a fine
 * one, then 1,024 bytes each of red, green and blue. Images are converted to channels-last once,
 * when the files are opened. Source: Krizhevsky, "The CIFAR-10 dataset", binary version.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/cifar.h"

#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/memory.h"

enum { PLANE = 32 * 32, MOST_CLASSES = 100, LARGEST_META_BYTES = 65536 };

const fgi_cifar fgi_cifar10 = {.label_bytes = 1,
                               .classes = 10,
                               .folder = "cifar-10-batches-bin",
                               .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                         "data_batch_4.bin", "data_batch_5.bin"},
                               .test = "test_batch.bin",
                               .names = "batches.meta.txt"};
const fgi_cifar fgi_cifar100_fine = {.label_bytes = 2,
                                     .label_at = 1,
                                     .classes = 100,
                                     .folder = "cifar-100-binary",
                                     .train = {"train.bin"},
                                     .test = "test.bin",
                                     .names = "fine_label_names.txt"};
const fgi_cifar fgi_cifar100_coarse = {.label_bytes = 2,
                                       .classes = 20,
                                       .folder = "cifar-100-binary",
                                       .train = {"train.bin"},
                                       .test = "test.bin",
                                       .names = "coarse_label_names.txt"};

size_t fgi_cifar_record(const fgi_cifar *kind) { return kind->label_bytes + FGI_CIFAR_IMAGE_BYTES; }

fg_status fgi_cifar_decode(const fgi_cifar *kind, const char *name, const unsigned char *data,
                           size_t size, unsigned char *out_images, int32_t *out_labels,
                           fg_error *err)
{
    const size_t bytes = fgi_cifar_record(kind), count = size / bytes;
    if (count == 0 || size % bytes != 0)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte %zu: the file ends within a record: %zu bytes are not a multiple of %zu",
            name, size, size, bytes);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *record = data + i * bytes, *plane = record + kind->label_bytes;
        unsigned char *pixel = out_images + i * FGI_CIFAR_IMAGE_BYTES;
        const int label = record[kind->label_at];
        if (label >= kind->classes)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: byte %zu: label %d of record %zu: expected 0 to %d", name,
                            i * bytes + kind->label_at, label, i, kind->classes - 1);
        out_labels[i] = label;
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
    char *paths[FGI_CIFAR_MOST_FILES];
    fgi_block files[FGI_CIFAR_MOST_FILES];
} batches;

static void close_batches(batches *b)
{
    for (int i = 0; i < b->count; i++) {
        fgi_free(b->paths[i]);
        fgi_block_fini(&b->files[i]);
    }
}

static fg_status open_batches(const fgi_cifar *kind, const char *folder, fg_data_split split,
                              batches *b, fg_error *err)
{
    const char *const *names = split == FG_TRAIN ? kind->train : &kind->test;
    const int most = split == FG_TRAIN ? FGI_CIFAR_MOST_FILES : 1;
    for (int i = 0; i < most && names[i] != NULL; i++) {
        if ((b->paths[i] = fgi_path_join(folder, names[i])) == NULL)
            return fgi_no_memory(err);
        b->count = i + 1;
        FGI_TRY(fgi_block_open(b->paths[i], FGI_LARGEST_INFLATED_BYTES, &b->files[i], err));
    }
    return FG_OK;
}

static fg_status decode_batches(const fgi_cifar *kind, const batches *b, fgi_block blocks[2],
                                int64_t *out_count, fg_error *err)
{
    size_t total = 0;
    for (int i = 0; i < b->count; i++)
        total += b->files[i].size / fgi_cifar_record(kind);
    *out_count = (int64_t)total;
    FGI_TRY(fgi_block_alloc(total * FGI_CIFAR_IMAGE_BYTES, &blocks[0], err));
    FGI_TRY(fgi_block_alloc(total * sizeof(int32_t), &blocks[1], err));
    unsigned char *images = blocks[0].owned;
    int32_t *labels = blocks[1].owned;
    for (int i = 0; i < b->count; i++) {
        const fgi_block *file = &b->files[i];
        const size_t count = file->size / fgi_cifar_record(kind);
        FGI_TRY(fgi_cifar_decode(kind, b->paths[i], file->data, file->size, images, labels, err));
        images += count * FGI_CIFAR_IMAGE_BYTES;
        labels += count;
    }
    return FG_OK;
}

/* The first lines of the file of names, NUL-terminated in place within `text`. False if there are
 * fewer; the names are optional, so this is not an error. */
static bool split_names(char *text, int classes, const char *names[MOST_CLASSES])
{
    for (int i = 0; i < classes; i++) {
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

static fg_status create(const fgi_cifar *kind, const char *folder, const batches *b,
                        fg_dataset **out, fg_error *err)
{
    const fg_field fields[2] = {{"image", {FG_U8, 3, {32, 32, 3}}}, {"label", {.dtype = FG_S32}}};
    const char *names[MOST_CLASSES];
    fgi_block blocks[2] = {{0}};
    fg_dataset_spec spec = {.fields = fields, .field_count = 2, .class_count = kind->classes};
    char *meta_path = fgi_path_join(folder, kind->names), *meta = NULL;
    size_t meta_size;
    fg_status status = meta_path == NULL ? fgi_no_memory(err) : FG_OK;
    if (status == FG_OK)
        status = decode_batches(kind, b, blocks, &spec.count, err);
    if (status == FG_OK) {
        status = fgi_file_read(meta_path, LARGEST_META_BYTES, &meta, &meta_size, err);
        if (status == FG_OK && split_names(meta, kind->classes, names))
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

static fg_status open_kind(const fgi_cifar *kind, const char *folder, fg_data_split split,
                           fg_dataset **out, fg_error *err)
{
    *out = NULL;
    batches b = {0};
    char *inner = fgi_path_join(folder, kind->folder);
    if (inner == NULL)
        return fgi_no_memory(err);
    const char *where = fgi_file_exists(inner) ? inner : folder;
    fg_status status = open_batches(kind, where, split, &b, err);
    if (status == FG_OK)
        status = create(kind, where, &b, out, err);
    close_batches(&b);
    fgi_free(inner);
    return status;
}

fg_status fg_cifar10_load(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    return open_kind(&fgi_cifar10, folder, split, out, err);
}

fg_status fg_cifar100_load(const char *folder, fg_data_split split, bool is_coarse,
                           fg_dataset **out, fg_error *err)
{
    return open_kind(is_coarse ? &fgi_cifar100_coarse : &fgi_cifar100_fine, folder, split, out,
                     err);
}
