/* manifest.c - reads, writes and verifies manifest.json.
 *
 * Because of the manifest, a damaged checkpoint is an error that names the file, and training does
 * not continue with wrong values. The manifest itself is small; damage to it shows as invalid JSON
 * or as a file that does not match.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "input/json_file.h"

static const char *const needed[] = {FGI_CKPT_MODEL_FILE, FGI_CKPT_STATE_FILE, FGI_CKPT_JSON_FILE};

/* Copies a string of at most size - 1 bytes from an object. */
static bool get_text(const json_t *object, const char *key, char *out, size_t size)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value) || json_string_length(value) >= size)
        return false;
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
    return true;
}

static bool get_count(const json_t *object, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = json_integer_value(value);
    return true;
}

/* Such a name cannot leave the folder. Only ASCII letters are allowed, in any locale. */
bool fgi_manifest_is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t size = strlen(name);
    return size > 0 && size < FGI_MANIFEST_NAME_BYTES && name[0] != '.' &&
           strspn(name, allowed) == size;
}

/* Sixteen hexadecimal digits in lower case. */
static bool parse_checksum(const char *text, uint64_t *out)
{
    uint64_t sum = 0;
    for (int i = 0; i < 16; i++) {
        const char c = text[i];
        const bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
        if (!is_digit && !is_letter)
            return false;
        sum = sum << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    *out = sum;
    return text[16] == '\0';
}

static fg_status read_file_entry(const char *path, const json_t *entry, size_t index,
                                 fgi_manifest *out, fg_error *err)
{
    char checksum[17];
    int64_t bytes;
    fgi_manifest_file *file = &out->files[out->file_count];
    if (!get_text(entry, "name", file->name, sizeof(file->name)) ||
        !fgi_manifest_is_name(file->name))
        return fgi_fail(err, FG_EFORMAT, "%s: files[%zu]: expected a plain file name", path, index);
    if (!get_count(entry, "bytes", &bytes) ||
        !get_text(entry, "xxh3_64", checksum, sizeof(checksum)) ||
        !parse_checksum(checksum, &file->checksum))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: files[%zu]: expected bytes and xxh3_64 (16 hexadecimal digits)", path,
                        index);
    if (fgi_manifest_find(out, file->name))
        return fgi_fail(err, FG_EFORMAT, "%s: '%s' is listed twice", path, file->name);
    file->bytes = (uint64_t)bytes;
    out->file_count++;
    return FG_OK;
}

static fg_status read_files(const char *path, const json_t *files, fgi_manifest *out, fg_error *err)
{
    const size_t count = json_array_size(files);
    if (!json_is_array(files) || count > FGI_MANIFEST_MAX_FILES)
        return fgi_fail(err, FG_EFORMAT, "%s: expected 'files' to be a list of at most %d entries",
                        path, (int)FGI_MANIFEST_MAX_FILES);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(read_file_entry(path, json_array_get(files, i), i, out, err));
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!fgi_manifest_find(out, needed[i]))
            return fgi_fail(err, FG_EFORMAT, "%s: '%s' is missing in 'files'", path, needed[i]);
    return FG_OK;
}

static fg_status read_root(const char *path, const json_t *root, fgi_manifest *out, fg_error *err)
{
    char format[32];
    int64_t version;
    if (!get_text(root, "format", format, sizeof(format)) ||
        strcmp(format, "fulgurite-checkpoint") != 0 ||
        !get_count(root, "format_version", &version) ||
        !get_text(root, "library_version", out->library_version, sizeof(out->library_version)))
        return fgi_fail(err, FG_EFORMAT, "%s is not the manifest of a fulgurite checkpoint", path);
    if (version != FGI_CKPT_FORMAT_VERSION)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: checkpoint format version %" PRId64
                        ", written by fulgurite %s: expected version %d",
                        path, version, out->library_version, FGI_CKPT_FORMAT_VERSION);
    if (!get_count(root, "sequence", &out->sequence))
        return fgi_fail(err, FG_EFORMAT, "%s: expected 'sequence' to be a nonnegative integer",
                        path);
    out->processes = 1;
    if (json_object_get(root, "processes") != NULL &&
        (!get_count(root, "processes", &out->processes) ||
         !get_count(root, "writer", &out->writer) || out->writer >= out->processes))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: expected 'writer' to be an integer from 0 to 'processes' - 1", path);
    return read_files(path, json_object_get(root, "files"), out, err);
}

fg_status fgi_manifest_parse(const char *path, const char *text, size_t size, fgi_manifest *out,
                             fg_error *err)
{
    json_t *root;
    memset(out, 0, sizeof(*out));
    FGI_TRY(fgi_json_parse(path, 0, text, size, &root, err));
    const fg_status status = read_root(path, root, out, err);
    json_decref(root);
    return status;
}

fg_status fgi_manifest_read(const char *folder, fgi_manifest *out, fg_error *err)
{
    char path[FGI_PATH_BYTES], *text = NULL;
    size_t size;
    FGI_TRY(fgi_path_put(folder, FGI_CKPT_MANIFEST_FILE, path, err));
    if (!fgi_file_exists(path))
        return fgi_fail(err, FG_EFORMAT, "'%s' is not a checkpoint: it has no %s", folder,
                        FGI_CKPT_MANIFEST_FILE);
    FGI_TRY(fgi_file_read(path, FGI_MANIFEST_MAX_BYTES, &text, &size, err));
    const fg_status status = fgi_manifest_parse(path, text, size, out, err);
    fgi_free(text);
    return status;
}

char *fgi_manifest_format(const fgi_manifest *manifest)
{
    fgi_buf out = {0};
    fgi_buf_printf(&out,
                   "{\n  \"format\": \"fulgurite-checkpoint\",\n  \"format_version\": %d,\n"
                   "  \"library_version\": \"%s\",\n  \"sequence\": %" PRId64 ",\n",
                   FGI_CKPT_FORMAT_VERSION, manifest->library_version, manifest->sequence);
    if (manifest->processes > 1)
        fgi_buf_printf(&out, "  \"processes\": %" PRId64 ",\n  \"writer\": %" PRId64 ",\n",
                       manifest->processes, manifest->writer);
    fgi_buf_puts(&out, "  \"files\": [");
    for (size_t i = 0; i < manifest->file_count; i++) {
        const fgi_manifest_file *file = &manifest->files[i];
        fgi_buf_printf(&out,
                       "%s\n    {\"name\": \"%s\", \"bytes\": %" PRIu64
                       ", \"xxh3_64\": \"%016" PRIx64 "\"}",
                       i > 0 ? "," : "", file->name, file->bytes, file->checksum);
    }
    fgi_buf_puts(&out, "\n  ]\n}\n");
    char *text = fgi_buf_take(&out);
    fgi_buf_fini(&out);
    return text;
}

const fgi_manifest_file *fgi_manifest_find(const fgi_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->file_count; i++)
        if (strcmp(manifest->files[i].name, name) == 0)
            return &manifest->files[i];
    return NULL;
}

fg_status fgi_manifest_check_file(const char *folder, const fgi_manifest_file *file,
                                  bool with_checksum, fg_error *err)
{
    fgi_mapping mapping;
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, file->name, path, err));
    if (!fgi_file_exists(path))
        return fgi_fail(err, FG_EFORMAT, "%s is missing, but listed in %s", path,
                        FGI_CKPT_MANIFEST_FILE);
    FGI_TRY(fgi_file_map(path, &mapping, err));
    const size_t size = mapping.size;
    const bool is_summed = with_checksum && size == file->bytes;
    const uint64_t sum = is_summed ? fgi_checksum64(mapping.data, size) : file->checksum;
    fgi_file_unmap(&mapping);
    if (size != file->bytes)
        return fgi_fail(err, FG_EFORMAT, "%s has %zu bytes: expected %" PRIu64, path, size,
                        file->bytes);
    if (sum != file->checksum)
        return fgi_fail(err, FG_EFORMAT,
                        "%s is damaged: its checksum is %016" PRIx64 ": expected %016" PRIx64, path,
                        sum, file->checksum);
    return FG_OK;
}
