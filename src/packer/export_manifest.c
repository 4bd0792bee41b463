/* export_manifest.c - see export_manifest.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "packer/export_manifest.h"

#include <fulgurite/catalog.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"

#define FILE_NAME "manifest.jsonl"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *escape(const fgi_export_manifest *m, const char *text, char *out, size_t size)
{
    if (!m->is_needed || fgi_text_is_utf8(fgi_str_of(text)))
        return text;
    (void)fg_catalog_escape(text, out, size);
    return out;
}

const char *fgi_export_manifest_name(fgi_export_manifest *m, const char *name)
{
    return escape(m, name, m->name, sizeof(m->name));
}

const char *fgi_export_manifest_class(fgi_export_manifest *m, const fg_pack *pack, int64_t index)
{
    const char *name = fg_pack_class_name(pack, index);
    return name != NULL ? escape(m, name, m->class_name, sizeof(m->class_name)) : NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Appends the object, which is released, as a line. */
static fg_status put_line(fgi_export_manifest *m, json_t *object, fg_error *err)
{
    const bool is_written = object != NULL && fgi_json_write(object, JSON_COMPACT, &m->text);
    json_decref(object);
    fgi_buf_putc(&m->text, '\n');
    return is_written ? fgi_buf_status(&m->text, err) : fgi_no_memory(err);
}

fg_status fgi_export_manifest_begin(fgi_export_manifest *m, fg_pack *pack, const int64_t *records,
                                    int64_t count, fg_error *err)
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
        (void)json_array_append_new(names, json_string(fgi_export_manifest_class(m, pack, i)));
    if (json_array_size(names) != (size_t)classes) {
        json_decref(names);
        return fgi_no_memory(err);
    }
    return put_line(m, json_pack("{s:o}", "classes", names), err);
}

/* The names of several labels; NULL: out of memory. */
static json_t *labels_of(fgi_export_manifest *m, const fg_pack *pack, const fg_pack_entry *entry)
{
    json_t *labels = json_array();
    for (uint32_t i = 0; i < entry->label_count; i++) {
        const char *name = fgi_export_manifest_class(m, pack, entry->labels[i]);
        if (name != NULL && json_array_append_new(labels, json_string(name)) != 0) {
            json_decref(labels);
            return NULL;
        }
    }
    return labels;
}

fg_status fgi_export_manifest_add(fgi_export_manifest *m, const fg_pack *pack,
                                  const fg_pack_entry *entry, int64_t variant, const char *path,
                                  fg_error *err)
{
    static const char *const splits[] = {"train", "val", "test"};
    const bool is_named = variant == 0 && *entry->name != '\0', has_list = entry->label_count > 0;
    char group[24];
    if (!m->is_needed || entry->codec == FG_PACK_ARRAYS)
        return FG_OK;
    (void)fgi_snprintf(group, sizeof(group), "%" PRId64, entry->group);
    json_t *object =
        json_pack("{s:s, s:s*, s:s*, s:s*, s:s*}", "path", path, "name",
                  is_named ? fgi_export_manifest_name(m, entry->name) : NULL, "split",
                  entry->split < sizeof(splits) / sizeof(splits[0]) ? splits[entry->split] : NULL,
                  "group", entry->group != 0 ? group : NULL, "label",
                  has_list ? NULL : fgi_export_manifest_class(m, pack, entry->label));
    if (has_list && json_object_set_new(object, "labels", labels_of(m, pack, entry)) != 0) {
        json_decref(object);
        return fgi_no_memory(err);
    }
    return put_line(m, object, err);
}

fg_status fgi_export_manifest_end(fgi_export_manifest *m, fgi_export_folder *folder, fg_error *err)
{
    bool is_taken = false;
    if (!m->is_needed)
        return FG_OK;
    FGI_TRY(fgi_export_write(folder, FILE_NAME, m->text.data, m->text.size, &is_taken, err));
    return is_taken ? fgi_fail(err, FG_EINVAL, "'%s/%s': a file with this name exists",
                               folder->target, FILE_NAME)
                    : FG_OK;
}

void fgi_export_manifest_fini(fgi_export_manifest *m) { fgi_buf_fini(&m->text); }
