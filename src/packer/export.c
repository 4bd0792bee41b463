/* export.c - writes the records of a pack as files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_export.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "catalog/draft.h"
#include "data/npy.h"
#include "image/jpeg_segment_record.h"
#include "packer/export_folder.h"
#include "packer/export_manifest.h"
#include "packer/export_name.h"

static const char *const split_names[] = {"train", "val", "test"};
enum { SPLITS = 3 };

typedef struct exporter {
    fg_pack *pack;
    const fg_pack_info *info;
    fg_pack_export_options o;
    int64_t *records; /* those that are exported */
    int64_t count;
    bool has_splits; /* a record of the pack has one */
    fgi_export_folder folder;
    fg_image_decoder *decoder;
    fg_image image;
    fg_image_bytes encoded;
    fgi_buf path, array;
    fgi_export_manifest manifest;
    fg_pack_export_result result;
} exporter;

/* ---- options --------------------------------------------------------------------------------- */

static fg_status prepare(exporter *e, const fg_pack_export_options *options, fg_error *err)
{
    FGI_TRY_RESERVED(fg_pack_export_options, options, err);
    if (options != NULL)
        e->o = *options;
    if (e->o.quality < 0 || e->o.quality > 100)
        return fgi_fail(err, FG_EINVAL,
                        "fg_pack_export_options.quality is %d: expected a number from 1 to 100",
                        e->o.quality);
    e->records = fgi_alloc(((size_t)e->info->count + 1) * sizeof *e->records);
    if (e->records == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fg_pack_select(e->pack, &e->o.select, e->records, e->info->count, &e->count, err));
    for (int64_t i = 0; !e->has_splits && i < e->info->count; i++) {
        fg_pack_entry entry;
        FGI_TRY(fg_pack_entry_at(e->pack, i, &entry, err));
        e->has_splits = entry.split < SPLITS;
    }
    FGI_TRY(fgi_export_manifest_begin(&e->manifest, e->pack, e->records, e->count, err));
    return fg_image_decoder_create(&e->decoder, err);
}

/* ---- writing a file -------------------------------------------------------------------------- */

/* The class of a record: NULL if the pack has none. */
static const char *class_of(exporter *e, const fg_pack_entry *entry)
{
    if (e->info->class_count == 0)
        return NULL;
    const int64_t index = entry->label_count > 0 ? entry->labels[0] : entry->label;
    const char *name = fgi_export_manifest_class(&e->manifest, e->pack, index);
    return name != NULL ? name : "unlabeled";
}

static fg_status put_file(exporter *e, int64_t record, const fg_pack_entry *entry,
                          const char *field, const char *extension, const void *data, size_t size,
                          fg_error *err)
{
    fgi_export_name name = {.class_name = class_of(e, entry),
                            .name = fgi_export_manifest_name(&e->manifest, entry->name),
                            .field = field,
                            .extension = extension,
                            .keeps_extension = entry->codec == FG_PACK_FILE,
                            .record = record,
                            .variant = record % e->info->variant_count};
    if (e->has_splits)
        name.split = entry->split < SPLITS ? split_names[entry->split] : "none";
    const char *slash = strrchr(name.name, '/');
    bool is_taken = true;
    for (int i = 0; is_taken && i < 3; i++) {
        name.with_number = i > 0;
        if (i == 2 && slash != NULL) /* a folder in the name is a file */
            name.name = slash + 1;
        fgi_buf_clear(&e->path);
        fgi_export_path(&name, &e->path);
        FGI_TRY(fgi_buf_status(&e->path, err));
        FGI_TRY(fgi_export_write(&e->folder, e->path.data, data, size, &is_taken, err));
    }
    char shown[FGI_SHOWN_BYTES];
    if (is_taken)
        return fgi_fail(err, FG_EINVAL, "'%s/%s': a file or folder with this name exists",
                        e->folder.target, fgi_shown(e->path.data, shown));
    e->result.files++;
    e->result.size_bytes += size;
    return fgi_export_manifest_add(&e->manifest, e->pack, entry, name.variant, e->path.data, err);
}

/* ---- codecs ---------------------------------------------------------------------------------- */

/* The extension of a file's format; "" if it is not an image. */
static const char *extension_of(const void *data, size_t size)
{
    static const char *const extensions[] = {
        [FG_IMAGE_JPEG] = ".jpg", [FG_IMAGE_PNG] = ".png",  [FG_IMAGE_WEBP] = ".webp",
        [FG_IMAGE_GIF] = ".gif",  [FG_IMAGE_TIFF] = ".tif", [FG_IMAGE_BMP] = ".bmp",
        [FG_IMAGE_PNM] = ".ppm",
    };
    fg_image_info info;
    fg_error ignored;
    if (fg_image_probe("", data, size, &info, &ignored) != FG_OK || info.format == FG_IMAGE_UNKNOWN)
        return "";
    return extensions[info.format];
}

static fg_status export_pixels(exporter *e, int64_t record, const fg_pack_entry *entry,
                               fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const fg_image_jpeg_options options = {.quality = e->o.quality};
    FGI_TRY(fg_pack_image(e->pack, record, e->decoder, &e->image, err));
    if (e->o.as_jpeg)
        FGI_TRY_CTX(fg_image_encode_jpeg(&e->image, &options, &e->encoded, err), err, "%s",
                    fgi_shown(entry->name, shown));
    else
        FGI_TRY(fg_image_encode_png(&e->image, NULL, &e->encoded, err));
    return put_file(e, record, entry, NULL, e->o.as_jpeg ? ".jpg" : ".png", e->encoded.data,
                    e->encoded.size, err);
}

static fg_status export_arrays(exporter *e, int64_t record, const fg_pack_entry *entry,
                               const uint8_t *data, size_t size, fg_error *err)
{
    size_t offset = 0;
    for (int i = 0; i < e->info->field_count; i++) {
        const fg_field *field = &e->info->fields[i];
        const size_t bytes = fg_type_bytes(&field->type);
        if (bytes > size - offset)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: record %lld has only %zu bytes, fewer than its fields require",
                            fg_pack_path(e->pack, entry->shard), (long long)record, size);
        fgi_buf_clear(&e->array);
        FGI_TRY(fgi_npy_header(field->name, &field->type, &e->array, err));
        fgi_buf_add(&e->array, data + offset, bytes);
        FGI_TRY(fgi_buf_status(&e->array, err));
        FGI_TRY(put_file(e, record, entry, field->name, ".npy", e->array.data, e->array.size, err));
        offset += bytes;
    }
    return FG_OK;
}

static fg_status export_record(exporter *e, int64_t record, const fg_pack_entry *entry,
                               fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const void *data;
    size_t size;
    fgi_jpeg_record jpeg;
    FGI_TRY(fg_pack_record(e->pack, record, &data, &size, err));
    switch (entry->codec) {
    case FG_PACK_JPEG: return put_file(e, record, entry, NULL, ".jpg", data, size, err);
    case FG_PACK_JPEG_SEG:
        FGI_TRY(fgi_jpeg_record_split(fgi_shown(entry->name, shown), data, size, &jpeg, err));
        return put_file(e, record, entry, NULL, ".jpg", jpeg.bytes, jpeg.size, err);
    case FG_PACK_ARRAYS: return export_arrays(e, record, entry, data, size, err);
    case FG_PACK_FILE:
        return put_file(e, record, entry, NULL, extension_of(data, size), data, size, err);
    case FG_PACK_RAW_RGB:
    case FG_PACK_RAW_YCC420:
    case FG_PACK_DCT:
    default: return export_pixels(e, record, entry, err); /* which names an unknown codec */
    }
}

/* ---- all records ----------------------------------------------------------------------------- */

static fg_status export_all(exporter *e, fg_error *err)
{
    for (int64_t i = 0; i < e->count; i++) {
        fg_pack_entry entry;
        FGI_TRY(fg_pack_entry_at(e->pack, e->records[i], &entry, err));
        const fg_status status = export_record(e, e->records[i], &entry, err);
        const bool is_damaged = status == FG_EFORMAT && e->o.skip_damaged;
        e->result.damaged += is_damaged;
        e->result.records += status == FG_OK;
        if (status != FG_OK && !is_damaged)
            return status;
        FGI_TRY(fg_pack_intact(e->pack, err));
    }
    e->result.has_manifest = e->manifest.is_needed;
    return fgi_export_manifest_end(&e->manifest, &e->folder, err);
}

static void fini(exporter *e)
{
    fgi_free(e->records);
    fg_image_decoder_destroy(e->decoder);
    fg_image_fini(&e->image);
    fg_image_bytes_fini(&e->encoded);
    fgi_buf_fini(&e->path);
    fgi_buf_fini(&e->array);
    fgi_export_manifest_fini(&e->manifest);
}

fg_status fg_pack_export(fg_pack *pack, const char *out_path, const fg_pack_export_options *options,
                         fg_pack_export_result *out_result, fg_error *err)
{
    exporter e = {.pack = pack, .info = fg_pack_info_of(pack)};
    if (out_result != NULL)
        *out_result = (fg_pack_export_result){0};
    fg_status status = prepare(&e, options, err);
    if (status == FG_OK) {
        status = fgi_export_open(out_path, e.o.replace, &e.folder, err);
        if (status == FG_OK)
            status = export_all(&e, err);
        status = fgi_export_close(&e.folder, status, err);
    }
    if (out_result != NULL)
        *out_result = e.result;
    fini(&e);
    return status;
}
