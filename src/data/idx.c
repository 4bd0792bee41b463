/* idx.c - MNIST's IDX files. u8 images stay in the mapped (or decompressed) file; everything else
 * is converted once, since the format is big-endian. Source: LeCun, Cortes, Burges, "The MNIST
 * database of handwritten digits", section on formats.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/idx.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/elements.h"
#include "data/memory.h"

static fg_dtype dtype_of(unsigned code)
{
    switch (code) {
    case 0x08: return FG_U8;
    case 0x09: return FG_S8;
    case 0x0b: return FG_S16;
    case 0x0c: return FG_S32;
    case 0x0d: return FG_F32;
    case 0x0e: return FG_F64;
    default: return FG_DTYPE_NONE;
    }
}

/* Checks that the dimensions in the header match the size of the file. */
static fg_status parse_dims(const char *name, const unsigned char *data, size_t size, fgi_idx *idx,
                            fg_error *err)
{
    size_t bytes = fg_dtype_size(idx->type.dtype);
    for (int i = 0; i < idx->type.rank; i++) {
        const unsigned char *at = data + 4 + (size_t)4 * (size_t)i;
        const uint32_t dim =
            (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
        idx->type.dim[i] = dim;
        if (dim == 0 && i > 0)
            return fgi_fail(err, FG_EFORMAT, "%s: byte %d: dimension %d is 0", name, 4 + 4 * i, i);
        if (__builtin_mul_overflow(bytes, (size_t)dim, &bytes))
            return fgi_fail(err, FG_EFORMAT, "%s: byte %d: the size %" PRIu32 " is too large", name,
                            4 + 4 * i, dim);
    }
    if (bytes != size - idx->offset)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte %zu: the header specifies %zu bytes of data, but the file has %zu", name,
            idx->offset, bytes, size - idx->offset);
    return FG_OK;
}

fg_status fgi_idx_parse(const char *name, const unsigned char *data, size_t size, fgi_idx *out,
                        fg_error *err)
{
    *out = (fgi_idx){0};
    if (size < 4)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: unexpected end of file in the IDX header",
                        name, size);
    if (data[0] != 0 || data[1] != 0)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 0: not an IDX file: it starts with %02x %02x",
                        name, data[0], data[1]);
    out->type.dtype = dtype_of(data[2]);
    out->type.rank = data[3];
    if (out->type.dtype == FG_DTYPE_NONE)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 2: unknown element type 0x%02x", name, data[2]);
    if (out->type.rank < 1 || out->type.rank > FG_MAX_RANK)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 3: %d dimensions: expected 1 to %d", name,
                        out->type.rank, FG_MAX_RANK);
    out->offset = 4 + 4 * (size_t)out->type.rank;
    if (size < out->offset)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: unexpected end of file in the IDX header",
                        name, size);
    return parse_dims(name, data, size, out, err);
}

/* The file's elements as a block for a field; takes ownership of the file if it can be used as it
 * is. */
static fg_status take_images(const char *name, fgi_block *file, const fgi_idx *idx,
                             fg_field *out_field, fgi_block *out, fg_error *err)
{
    fg_type *sample = &out_field->type;
    *sample = (fg_type){.dtype = idx->type.dtype, .rank = idx->type.rank - 1};
    for (int i = 0; i < sample->rank; i++)
        sample->dim[i] = idx->type.dim[i + 1];
    if (sample->rank == 2) { /* grayscale images: one channel */
        sample->rank = 3;
        sample->dim[2] = 1;
    }
    const fgi_elements elements = {.name = name,
                                   .file = file->data,
                                   .offset = idx->offset,
                                   .count = fg_type_count(&idx->type),
                                   .dtype = idx->type.dtype,
                                   .is_big_endian = true};
    if (fg_dtype_size(sample->dtype) == 1) {
        *out = *file;
        out->data += idx->offset;
        *file = (fgi_block){0};
        return FG_OK;
    }
    if (sample->dtype != FG_F64)
        return fgi_elements_to_host(&elements, out, err);
    sample->dtype = FG_F32;
    return fgi_elements_to_f32(&elements, out, err);
}

static fg_status read_labels(const char *const names[2], const fgi_block *file, int64_t count,
                             fgi_block *out, fg_error *err)
{
    fgi_idx idx;
    FGI_TRY(fgi_idx_parse(names[1], file->data, file->size, &idx, err));
    if (idx.type.rank != 1 || fg_dtype_is_float(idx.type.dtype))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 2: labels are %s of rank %d: expected integers of rank 1",
                        names[1], fg_dtype_name(idx.type.dtype), idx.type.rank);
    if (idx.type.dim[0] != count)
        return fgi_fail(
            err, FG_EFORMAT, "%s: byte 4: %" PRId64 " label%s, but '%s' has %" PRId64 " image%s",
            names[1], idx.type.dim[0], fgi_s(idx.type.dim[0]), names[0], count, fgi_s(count));
    return fgi_elements_to_s32(&(fgi_elements){.name = names[1],
                                               .file = file->data,
                                               .offset = idx.offset,
                                               .count = count,
                                               .dtype = idx.type.dtype,
                                               .is_big_endian = true},
                               out, err);
}

fg_status fgi_idx_dataset(const char *const names[2], fgi_block *images, fgi_block *labels,
                          fg_dataset **out, fg_error *err)
{
    *out = NULL;
    fg_field fields[2] = {{"image", {0}}, {"label", {.dtype = FG_S32}}};
    fgi_block blocks[2] = {{0}};
    fg_dataset_spec spec = {.fields = fields, .field_count = labels == NULL ? 1 : 2};
    fgi_idx idx;
    fg_status status = fgi_idx_parse(names[0], images->data, images->size, &idx, err);
    if (status == FG_OK)
        status = take_images(names[0], images, &idx, &fields[0], &blocks[0], err);
    spec.count = idx.type.dim[0];
    if (status == FG_OK && labels != NULL)
        status = read_labels(names, labels, spec.count, &blocks[1], err);
    if (status == FG_OK && labels != NULL)
        spec.class_count = fgi_count_classes(blocks[1].owned, spec.count);
    if (status == FG_OK)
        status = fgi_memory_create(&spec, blocks, out, err);
    for (int i = 0; i < 2; i++)
        fgi_block_fini(&blocks[i]);
    fgi_block_fini(images);
    if (labels != NULL)
        fgi_block_fini(labels);
    return status;
}

fg_status fg_idx_load_files(const char *images, const char *labels, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    fgi_block image_file, label_file;
    FGI_TRY(fgi_block_open(images, FGI_LARGEST_INFLATED_BYTES, &image_file, err));
    if (labels != NULL) {
        const fg_status status =
            fgi_block_open(labels, FGI_LARGEST_INFLATED_BYTES, &label_file, err);
        if (status != FG_OK) {
            fgi_block_fini(&image_file);
            return status;
        }
    }
    return fgi_idx_dataset((const char *const[]){images, labels}, &image_file,
                           labels == NULL ? NULL : &label_file, out, err);
}

/* The path of the first spelling of "folder/train-images-idx3-ubyte" that exists (fgi_free). */
static fg_status find_file(const char *folder, fg_data_split split, bool is_labels, char **out,
                           fg_error *err)
{
    const char *part = split == FG_TRAIN ? "train" : "t10k";
    const char *kind = is_labels ? "labels" : "images";
    const int rank = is_labels ? 1 : 3;
    for (int i = 0; i < 4; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%s-%s%cidx%d-ubyte%s", part, kind, i < 2 ? '-' : '.',
                       rank, i % 2 == 0 ? "" : ".gz");
        if ((*out = fgi_path_join(folder, name)) == NULL)
            return fgi_no_memory(err);
        if (fgi_file_exists(*out))
            return FG_OK;
        fgi_free(*out);
    }
    *out = NULL;
    return fgi_fail(
        err, FG_ENOTFOUND,
        "cannot find '%s-%s-idx%d-ubyte' in '%s', with or without .gz, nor '%s-%s.idx%d-ubyte'",
        part, kind, rank, folder, part, kind, rank);
}

fg_status fg_idx_load(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    char *images = NULL, *labels = NULL;
    fg_status status = find_file(folder, split, false, &images, err);
    if (status == FG_OK)
        status = find_file(folder, split, true, &labels, err);
    if (status == FG_OK)
        status = fg_idx_load_files(images, labels, out, err);
    fgi_free(images);
    fgi_free(labels);
    return status;
}

fg_status fg_mnist_load(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    FGI_TRY(fg_idx_load(folder, split, out, err));
    const fg_type *type = &fg_dataset_field(*out, 0)->type;
    const bool is_mnist = type->dtype == FG_U8 && type->rank == 3 && type->dim[0] == 28 &&
                          type->dim[1] == 28 && type->dim[2] == 1;
    fg_status status = FG_OK;
    if (!is_mnist) {
        char text[64];
        status = fgi_fail(err, FG_EFORMAT, "the images in '%s' are %s: MNIST requires u8[28,28,1]",
                          folder, fg_type_format(type, text, sizeof(text)));
    } else if (fg_dataset_class_count(*out) > 10) {
        status = fgi_fail(err, FG_EFORMAT,
                          "the largest label in '%s' is %" PRId64 ": MNIST requires 0 to 9", folder,
                          fg_dataset_class_count(*out) - 1);
    }
    (*out)->class_count = 10; /* also if this split lacks the last classes */
    return fgi_dataset_finish(out, status);
}
