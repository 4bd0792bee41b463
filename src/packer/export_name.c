/* export_name.c - names of records, which are any bytes, to safe relative paths.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "packer/export_name.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "catalog/draft.h"

enum { LONGEST_COMPONENT = 200, LONGEST_NAME = 1024 };

/* ---- components ------------------------------------------------------------------------------ */

/* At most LONGEST_COMPONENT bytes: a longer one is cut between UTF-8 characters and gets a hash. */
static void put_bytes(fgi_buf *out, fgi_str text)
{
    char hash[33];
    size_t size = text.size;
    if (size <= LONGEST_COMPONENT) {
        fgi_buf_add(out, text.data, size);
        return;
    }
    size = LONGEST_COMPONENT - 33;
    while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    fgi_hash_format(fgi_hash_bytes(text.data, text.size), hash);
    fgi_buf_add(out, text.data, size);
    fgi_buf_printf(out, "-%s", hash);
}

/* A folder or the stem of a file: no "." or "..", nothing hidden, not empty. */
static void put_component(fgi_buf *out, fgi_str text)
{
    const size_t begin = out->size;
    if (text.size == 0)
        fgi_buf_putc(out, '_');
    put_bytes(out, text);
    if (!out->failed && text.size > 0 && out->data[begin] == '.')
        out->data[begin] = '_';
}

static void put_class(fgi_buf *out, const char *class_name)
{
    const size_t begin = out->size;
    put_component(out, fgi_str_of(class_name));
    for (size_t i = begin; !out->failed && i < out->size; i++)
        if (out->data[i] == '/')
            out->data[i] = '_';
    fgi_buf_putc(out, '/');
}

/* Takes the first component from *path; false if it is the last one. */
static bool take_folder(fgi_str *path, fgi_str *out)
{
    const char *slash = memchr(path->data, '/', path->size);
    if (slash == NULL)
        return false;
    *out = (fgi_str){path->data, (size_t)(slash - path->data)};
    path->size -= out->size + 1;
    path->data = slash + 1;
    return true;
}

/* ---- folders that the name begins with ------------------------------------------------------- */

/* Whether a folder has one of the names of this split in image folders. */
static bool is_split(fgi_str folder, const char *name)
{
    const uint8_t split = fgi_split_of_name(folder);
    return split != FG_CATALOG_NO_SPLIT && split == fgi_split_of_name(fgi_str_of(name));
}

static fgi_str without_folders(const fgi_export_name *name)
{
    fgi_str path = fgi_str_of(name->name), rest = path, folder;
    if (name->split != NULL && take_folder(&rest, &folder) && is_split(folder, name->split))
        path = rest;
    rest = path;
    if (name->class_name != NULL && take_folder(&rest, &folder) &&
        fgi_str_equal(folder, name->class_name))
        path = rest;
    return path;
}

/* ---- extensions ------------------------------------------------------------------------------ */

/* The length of the stem: without the extension of an image format. */
static size_t stem_of(fgi_str file)
{
    size_t stem = file.size;
    if (fgi_is_image_name(file))
        while (file.data[--stem] != '.')
            ;
    return stem;
}

static bool is_same(fgi_str have, const char *expected)
{
    if (have.size == strlen(expected) && fgi_begins_nocase(have.data, expected))
        return true;
    return strcmp(expected, ".jpg") == 0 && have.size == 5 && fgi_begins_nocase(have.data, ".jpeg");
}

static void put_file(fgi_buf *out, const fgi_export_name *name, fgi_str file)
{
    const size_t stem = stem_of(file);
    const fgi_str have = {file.data + stem, file.size - stem};
    const bool keeps = have.size > 0 && (name->keeps_extension || name->extension[0] == '\0' ||
                                         is_same(have, name->extension));
    if (file.size == 0)
        fgi_buf_printf(out, "record-%09" PRId64, name->record);
    else
        put_component(out, (fgi_str){file.data, stem});
    if (name->variant > 0)
        fgi_buf_printf(out, "-v%" PRId64, name->variant);
    if (name->with_number && file.size > 0)
        fgi_buf_printf(out, "-%" PRId64, name->record);
    if (name->field != NULL) {
        fgi_buf_putc(out, '.');
        put_component(out, fgi_str_of(name->field));
    }
    if (keeps)
        fgi_buf_add(out, have.data, have.size);
    else
        fgi_buf_puts(out, name->extension);
}

/* ---- the path -------------------------------------------------------------------------------- */

static bool is_left_out(fgi_str folder) { return folder.size == 0 || fgi_str_equal(folder, "."); }

static void put_folders(fgi_buf *out, fgi_str *path)
{
    fgi_str folder;
    while (take_folder(path, &folder)) {
        if (is_left_out(folder))
            continue;
        put_component(out, folder);
        fgi_buf_putc(out, '/');
    }
}

void fgi_export_path(const fgi_export_name *name, fgi_buf *out)
{
    char hash[33];
    fgi_str path = without_folders(name);
    if (name->split != NULL)
        fgi_buf_printf(out, "%s/", name->split);
    if (name->class_name != NULL)
        put_class(out, name->class_name);
    if (path.size > LONGEST_NAME) {
        fgi_hash_format(fgi_hash_bytes(path.data, path.size), hash);
        fgi_buf_printf(out, "long-%s%s", hash, name->with_number ? "-" : "");
        if (name->with_number)
            fgi_buf_printf(out, "%" PRId64, name->record);
        if (name->variant > 0)
            fgi_buf_printf(out, "-v%" PRId64, name->variant);
        fgi_buf_puts(out, name->extension);
        return;
    }
    put_folders(out, &path);
    put_file(out, name, path);
}
