/* export.c - writes the records of a pack as files: in a folder that is written as a whole or file
 * by file, with a list of labels and groups if folders cannot express them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_export.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "catalog/draft.h"
#include "data/npy.h"
#include "image/jpeg_segment_record.h"
#include "packer/export_name.h"
#include "base/file.h"
#include "base/temporary.h"
#include "base/text.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "base/buf.h"
#include "base/map.h"

static const char *const split_names[] = {"train", "val", "test"};
enum { SPLITS = 3 };
#define SUFFIX    "export"
#define FILE_NAME "manifest.jsonl"

/* A folder that files are written to: all of them or none, or file by file. */
typedef struct out_folder {
    char *target;
    char *work;         /* the folder that is written; not `target` if that is new */
    char *temporary;    /* where a file is written before it replaces another one */
    fgi_map used;       /* hashes of the paths that were written */
    fgi_buf path, made; /* the current path; the folder that was made last */
} out_folder;

/* The list of the files, if folders cannot express their labels. */
typedef struct file_list {
    bool is_needed;
    fgi_buf text;
    char name[4096], class_name[1024]; /* escaped */
} file_list;

typedef struct exporter {
    fg_pack *pack;
    const fg_pack_info *info;
    fg_pack_export_options o;
    int64_t *records; /* those that are exported */
    int64_t count;
    bool has_splits; /* a record of the pack has one */
    out_folder folder;
    fg_image_decoder *decoder;
    fg_image image;
    fg_image_bytes encoded;
    fgi_buf path, array;
    file_list manifest;
    fg_pack_export_result result;
} exporter;

/* ---- opening the folder ---------------------------------------------------------------------- */

static fg_status check_empty(const char *path, fg_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return errno == ENOTDIR ? fgi_fail(err, FG_EINVAL, "'%s' exists and is not a folder", path)
                                : fgi_fail_errno(err, "open", path);
    bool is_empty = true;
    for (const struct dirent *entry; is_empty && (entry = readdir(folder)) != NULL;)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(folder);
    if (is_empty)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' is not empty: give a new folder, or --force (replace) to write into it "
                    "and to replace files with the same names",
                    path);
}

/* Removes what a killed process has left: TARGET.export.MACHINE-PID-COUNT. */
static void remove_abandoned(const char *target)
{
    const char *name = fgi_after_last(target, '/');
    char *parent = fgi_path_parent(target);
    DIR *folder = parent != NULL ? opendir(parent) : NULL;
    fg_error ignored;
    for (const struct dirent *entry; (entry = fgi_folder_next(&folder)) != NULL;) {
        if (fgi_temporary_base(entry->d_name, SUFFIX) != strlen(name) ||
            strncmp(entry->d_name, name, strlen(name)) != 0 ||
            !fgi_temporary_is_abandoned(parent, entry->d_name))
            continue;
        char *path = fgi_path_join(parent, entry->d_name);
        if (path != NULL)
            (void)fgi_folder_remove(path, &ignored);
        fgi_free(path);
    }
    fgi_free(parent);
}

static fg_status open_new(out_folder *f, fg_error *err)
{
    remove_abandoned(f->target);
    f->work = fgi_temporary_name(f->target, SUFFIX);
    if (f->work == NULL)
        return fgi_no_memory(err);
    if (mkdir(f->work, 0777) == 0)
        return FG_OK;
    const fg_status status = fgi_fail_errno(err, "create the folder", f->work);
    fgi_free(f->work);
    f->work = NULL;
    return status;
}

static fg_status open_existing(out_folder *f, fg_error *err)
{
    f->work = fgi_strdup(f->target);
    char *file = f->work != NULL ? fgi_path_join(f->work, "fulgurite") : NULL;
    f->temporary = file != NULL ? fgi_temporary_name(file, SUFFIX) : NULL;
    fgi_free(file);
    return f->temporary != NULL ? FG_OK : fgi_no_memory(err);
}

/* If the folder does not exist, files are written to a temporary one next to it. Otherwise it must
 * be empty, or `replace` set. */
static fg_status open_folder(const char *path, bool replace, out_folder *out, fg_error *err)
{
    struct stat info;
    *out = (out_folder){.target = fgi_strdup(path)};
    if (out->target == NULL)
        return fgi_no_memory(err);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        out->target[end - 1] = '\0';
    if (out->target[0] == '\0')
        return fgi_fail(err, FG_EINVAL, "the path of the folder is empty");
    if (lstat(out->target, &info) != 0 && errno == ENOENT)
        return open_new(out, err);
    fg_error inside;
    const fg_status status = check_empty(out->target, &inside);
    const bool is_folder = stat(out->target, &info) == 0 && S_ISDIR(info.st_mode);
    if (status != FG_OK && !(replace && is_folder && inside.status == FG_EINVAL)) {
        if (err != NULL)
            *err = inside;
        return status;
    }
    return open_existing(out, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_conflict(int number)
{
    return number == EEXIST || number == EISDIR || number == ENOTDIR;
}

/* Makes the folders of `path`, starting after the first `begin` bytes. */
static fg_status make_folders(out_folder *f, size_t begin, bool *out_is_taken, fg_error *err)
{
    const char *last = strrchr(f->path.data, '/');
    const size_t size = (size_t)(last - f->path.data);
    struct stat info;
    if (f->made.size == size && memcmp(f->made.data, f->path.data, size) == 0)
        return FG_OK;
    for (size_t i = begin; i <= size; i++) {
        if (f->path.data[i] != '/')
            continue;
        f->path.data[i] = '\0';
        int number = mkdir(f->path.data, 0777) == 0 ? 0 : errno;
        if (number == EEXIST && stat(f->path.data, &info) == 0 && S_ISDIR(info.st_mode))
            number = 0;
        const fg_status status =
            number == 0 || is_conflict(number)
                ? FG_OK
                : (errno = number, fgi_fail_errno(err, "create the folder", f->path.data));
        f->path.data[i] = '/';
        *out_is_taken = is_conflict(number);
        if (number != 0)
            return status;
    }
    fgi_buf_clear(&f->made);
    fgi_buf_add(&f->made, f->path.data, size);
    return fgi_buf_status(&f->made, err);
}

/* Creates a file that does not exist yet. */
static fg_status create(const char *path, const void *data, size_t size, bool *out_is_taken,
                        fg_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *out_is_taken = fd < 0 && is_conflict(errno);
    if (fd < 0)
        return *out_is_taken ? FG_OK : fgi_fail_errno(err, "create", path);
    fg_status status = fgi_write_all(fd, path, data, size, err);
    if (close(fd) != 0 && status == FG_OK)
        status = fgi_fail_errno(err, "write", path);
    if (status != FG_OK)
        (void)unlink(path);
    return status;
}

static fg_status replace_file(out_folder *f, const void *data, size_t size, bool *out_is_taken,
                              fg_error *err)
{
    if (f->temporary == NULL)
        return create(f->path.data, data, size, out_is_taken, err);
    FGI_TRY(create(f->temporary, data, size, out_is_taken, err));
    if (*out_is_taken || rename(f->temporary, f->path.data) == 0)
        return FG_OK;
    const int number = errno;
    (void)unlink(f->temporary);
    errno = number;
    *out_is_taken = is_conflict(number);
    return *out_is_taken ? FG_OK : fgi_fail_errno(err, "replace", f->path.data);
}

/* Writes a file at a relative path. *out_is_taken, without writing: another file has the path, or a
 * part of it. */
static fg_status write_file(out_folder *folder, const char *relative, const void *data, size_t size,
                            bool *out_is_taken, fg_error *err)
{
    const fgi_hash key = fgi_hash_text(relative);
    *out_is_taken = fgi_map_get(&folder->used, key) != NULL;
    if (*out_is_taken)
        return FG_OK;
    fgi_buf_clear(&folder->path);
    fgi_buf_printf(&folder->path, "%s/%s", folder->work, relative);
    FGI_TRY(fgi_buf_status(&folder->path, err));
    FGI_TRY(make_folders(folder, strlen(folder->work) + 1, out_is_taken, err));
    if (!*out_is_taken)
        FGI_TRY(replace_file(folder, data, size, out_is_taken, err));
    if (*out_is_taken || fgi_map_put(&folder->used, key, folder))
        return FG_OK;
    return fgi_no_memory(err);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* All files at once: an fsync of each would take far longer. */
static fg_status sync_all(const out_folder *f, fg_error *err)
{
    const int fd = f->work != NULL ? open(f->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const bool is_synced = fd >= 0 && syncfs(fd) == 0;
    const fg_status status = is_synced ? FG_OK : fgi_fail_errno(err, "sync", f->work);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static fg_status give_name(const out_folder *f, fg_error *err)
{
    if (rename(f->work, f->target) != 0)
        return fgi_fail_errno(err, "create", f->target);
    char *parent = fgi_path_parent(f->target);
    const fg_status status = parent != NULL ? fgi_folder_sync(parent, err) : fgi_no_memory(err);
    fgi_free(parent);
    return status;
}

/* With FG_OK, makes everything durable and gives the folder its name; with any other status,
 * removes a temporary folder. Frees the memory. Returns status, or the error that occurred. */
static fg_status close_folder(out_folder *folder, fg_status status, fg_error *err)
{
    fg_error ignored;
    const bool is_new = folder->work != NULL && folder->temporary == NULL;
    if (status == FG_OK)
        status = sync_all(folder, err);
    if (status == FG_OK && is_new)
        status = give_name(folder, err);
    if (status != FG_OK && is_new)
        (void)fgi_folder_remove(folder->work, &ignored);
    fgi_map_fini(&folder->used);
    fgi_buf_fini(&folder->path);
    fgi_buf_fini(&folder->made);
    fgi_free(folder->temporary);
    fgi_free(folder->work);
    fgi_free(folder->target);
    return status;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *escape(const file_list *m, const char *text, char *out, size_t size)
{
    if (!m->is_needed || fgi_text_is_utf8(fgi_str_of(text)))
        return text;
    (void)fg_catalog_escape(text, out, size);
    return out;
}

/* The name of a record or a class; escaped if a manifest is needed and it is not UTF-8. A class is
 * NULL if there is none. Valid until the next call. */
static const char *manifest_name(file_list *m, const char *name)
{
    return escape(m, name, m->name, sizeof(m->name));
}

static const char *manifest_class(file_list *m, const fg_pack *pack, int64_t index)
{
    const char *name = fg_pack_class_name(pack, index);
    return name != NULL ? escape(m, name, m->class_name, sizeof(m->class_name)) : NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Appends the object, which is released, as a line. */
static fg_status put_line(file_list *m, json_t *object, fg_error *err)
{
    const bool is_written = object != NULL && fgi_json_write(object, JSON_COMPACT, &m->text);
    json_decref(object);
    fgi_buf_putc(&m->text, '\n');
    return is_written ? fgi_buf_status(&m->text, err) : fgi_no_memory(err);
}

/* Needed if one of the records has a list of labels or a group; starts with the classes. */
static fg_status begin_manifest(file_list *m, fg_pack *pack, const int64_t *records, int64_t count,
                                fg_error *err)
{
    const int64_t classes = fg_pack_info_of(pack)->class_count;
    for (int64_t i = 0; !m->is_needed && i < count; i++) {
        fg_pack_entry entry;
        FGI_TRY(fg_pack_entry_at(pack, records[i], &entry, err));
        m->is_needed = (entry.label_count > 0 || entry.group != 0) && entry.codec != FG_PACK_ARRAYS;
    }
    if (!m->is_needed || classes == 0)
        return FG_OK;
    json_t *names = json_array();
    for (int64_t i = 0; names != NULL && i < classes; i++)
        (void)json_array_append_new(names, json_string(manifest_class(m, pack, i)));
    if (json_array_size(names) != (size_t)classes) {
        json_decref(names);
        return fgi_no_memory(err);
    }
    return put_line(m, json_pack("{s:o}", "classes", names), err);
}

/* The names of several labels; NULL: out of memory. */
static json_t *labels_of(file_list *m, const fg_pack *pack, const fg_pack_entry *entry)
{
    json_t *labels = json_array();
    for (uint32_t i = 0; i < entry->label_count; i++) {
        const char *name = manifest_class(m, pack, entry->labels[i]);
        if (name != NULL && json_array_append_new(labels, json_string(name)) != 0) {
            json_decref(labels);
            return NULL;
        }
    }
    return labels;
}

/* Adds a file. The variants of a sample after the first have no name. */
static fg_status add_to_manifest(file_list *m, const fg_pack *pack, const fg_pack_entry *entry,
                                 int64_t variant, const char *path, fg_error *err)
{
    const bool is_named = variant == 0 && *entry->name != '\0', has_list = entry->label_count > 0;
    char group[24];
    if (!m->is_needed || entry->codec == FG_PACK_ARRAYS)
        return FG_OK;
    (void)fgi_snprintf(group, sizeof(group), "%" PRId64, entry->group);
    json_t *object = json_pack("{s:s, s:s*, s:s*, s:s*, s:s*}", "path", path, "name",
                               is_named ? manifest_name(m, entry->name) : NULL, "split",
                               entry->split < SPLITS ? split_names[entry->split] : NULL, "group",
                               entry->group != 0 ? group : NULL, "label",
                               has_list ? NULL : manifest_class(m, pack, entry->label));
    if (has_list && json_object_set_new(object, "labels", labels_of(m, pack, entry)) != 0) {
        json_decref(object);
        return fgi_no_memory(err);
    }
    return put_line(m, object, err);
}

/* Writes manifest.jsonl. */
static fg_status end_manifest(file_list *m, out_folder *folder, fg_error *err)
{
    bool is_taken = false;
    if (!m->is_needed)
        return FG_OK;
    FGI_TRY(write_file(folder, FILE_NAME, m->text.data, m->text.size, &is_taken, err));
    return is_taken ? fgi_fail(err, FG_EINVAL, "'%s/%s': a file with this name exists",
                               folder->target, FILE_NAME)
                    : FG_OK;
}

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
    FGI_TRY(begin_manifest(&e->manifest, e->pack, e->records, e->count, err));
    return fg_image_decoder_create(&e->decoder, err);
}

/* ---- writing a file -------------------------------------------------------------------------- */

/* The class of a record: NULL if the pack has none. */
static const char *class_of(exporter *e, const fg_pack_entry *entry)
{
    if (e->info->class_count == 0)
        return NULL;
    const int64_t index = entry->label_count > 0 ? entry->labels[0] : entry->label;
    const char *name = manifest_class(&e->manifest, e->pack, index);
    return name != NULL ? name : "unlabeled";
}

static fg_status put_file(exporter *e, int64_t record, const fg_pack_entry *entry,
                          const char *field, const char *extension, const void *data, size_t size,
                          fg_error *err)
{
    fgi_export_name name = {.class_name = class_of(e, entry),
                            .name = manifest_name(&e->manifest, entry->name),
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
        FGI_TRY(write_file(&e->folder, e->path.data, data, size, &is_taken, err));
    }
    char shown[FGI_SHOWN_BYTES];
    if (is_taken)
        return fgi_fail(err, FG_EINVAL, "'%s/%s': a file or folder with this name exists",
                        e->folder.target, fgi_shown(e->path.data, shown));
    e->result.files++;
    e->result.size_bytes += size;
    return add_to_manifest(&e->manifest, e->pack, entry, name.variant, e->path.data, err);
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
    return end_manifest(&e->manifest, &e->folder, err);
}

static void fini(exporter *e)
{
    fgi_free(e->records);
    fg_image_decoder_destroy(e->decoder);
    fg_image_fini(&e->image);
    fg_image_bytes_fini(&e->encoded);
    fgi_buf_fini(&e->path);
    fgi_buf_fini(&e->array);
    fgi_buf_fini(&e->manifest.text);
}

fg_status fg_pack_export(fg_pack *pack, const char *out_path, const fg_pack_export_options *options,
                         fg_pack_export_result *out_result, fg_error *err)
{
    exporter e = {.pack = pack, .info = fg_pack_info_of(pack)};
    if (out_result != NULL)
        *out_result = (fg_pack_export_result){0};
    fg_status status = prepare(&e, options, err);
    if (status == FG_OK) {
        status = open_folder(out_path, e.o.replace, &e.folder, err);
        if (status == FG_OK)
            status = export_all(&e, err);
        status = close_folder(&e.folder, status, err);
    }
    if (out_result != NULL)
        *out_result = e.result;
    fini(&e);
    return status;
}
