/* manifest_row.c - turns rows of manifests into samples and checks that their files exist.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/manifest_row.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"

fg_status fgi_row_add_label(fgi_draft *b, fgi_manifest_row *row, fgi_str text, fgi_label_type type,
                            fg_error *err)
{
    fgi_label_ids *ids = &row->labels;
    FGI_TRY_GROW(ids->list, ids->count, ids->capacity, err);
    FGI_TRY(fgi_draft_label(b, text, type, &ids->list[ids->count], err));
    ids->count++;
    return FG_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static fg_status fail_member(const char *name, const char *expected, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "member '%s': expected %s", name, expected);
}

static fg_status add_json_label(fgi_draft *b, const char *member, const json_t *value,
                                fgi_manifest_row *row, fg_error *err)
{
    char number[32];
    if (json_is_string(value)) {
        const fgi_str text = {json_string_value(value), json_string_length(value)};
        return fgi_row_add_label(b, row, text, FGI_LABEL_NAME, err);
    }
    if (!json_is_integer(value))
        return fail_member(member, "an integer or a string", err);
    const long long integer = json_integer_value(value);
    const int size = fgi_snprintf(number, sizeof(number), "%lld", integer);
    return fgi_row_add_label(b, row, (fgi_str){number, (size_t)size}, FGI_LABEL_INDEX, err);
}

static fg_status get_labels(fgi_draft *b, const json_t *object, fgi_manifest_row *row,
                            fg_error *err)
{
    const fg_catalog_options *o = b->options;
    const json_t *label = json_object_get(object, o->label_column);
    const json_t *labels = strcmp(o->labels_column, o->label_column) == 0
                               ? NULL
                               : json_object_get(object, o->labels_column);
    if (json_is_array(label) && labels == NULL) {
        labels = label;
        label = NULL;
    }
    if (label != NULL && !json_is_null(label))
        FGI_TRY(add_json_label(b, o->label_column, label, row, err));
    if (labels == NULL || json_is_null(labels))
        return FG_OK;
    if (!json_is_array(labels))
        return fail_member(o->labels_column, "a list", err);
    if (row->labels.count > 0)
        return fgi_fail(err, FG_EFORMAT, "both '%s' and '%s' are given", o->label_column,
                        o->labels_column);
    for (size_t i = 0; i < json_array_size(labels); i++)
        FGI_TRY(add_json_label(b, o->labels_column, json_array_get(labels, i), row, err));
    return FG_OK;
}

static fg_status get_text(const json_t *object, const char *name, fgi_str *out, fg_error *err)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL || json_is_null(value))
        return FG_OK;
    if (!json_is_string(value))
        return fail_member(name, "a string", err);
    *out = (fgi_str){json_string_value(value), json_string_length(value)};
    return FG_OK;
}

/* A group is a string or an integer, like a label. */
static fg_status get_group(const json_t *object, const char *name, fgi_manifest_row *row,
                           fg_error *err)
{
    const json_t *value = json_object_get(object, name);
    if (value != NULL && !json_is_null(value) && !json_is_string(value) && !json_is_integer(value))
        return fail_member(name, "an integer or a string", err);
    if (!json_is_integer(value))
        return get_text(object, name, &row->group, err);
    const long long integer = json_integer_value(value);
    const int size = fgi_snprintf(row->number, sizeof(row->number), "%lld", integer);
    row->group = (fgi_str){row->number, (size_t)size};
    return FG_OK;
}

fg_status fgi_row_from_json(fgi_draft *b, const json_t *object, int what, fgi_manifest_row *row,
                            fg_error *err)
{
    const fg_catalog_options *o = b->options;
    if (!json_is_object(object))
        return fgi_fail(err, FG_EFORMAT, "expected a JSON object");
    *row = (fgi_manifest_row){.labels = {row->labels.list, 0, row->labels.capacity}};
    if ((what & FGI_ROW_FILES) != 0) {
        const char *columns[2];
        const size_t count = fgi_path_columns(o, columns);
        for (size_t i = 0; i < count && row->path.size == 0; i++)
            FGI_TRY(get_text(object, columns[i], &row->path, err));
        FGI_TRY(get_text(object, o->name_column, &row->name, err));
    }
    FGI_TRY(get_text(object, o->split_column, &row->split, err));
    FGI_TRY(get_group(object, o->group_column, row, err));
    return (what & FGI_ROW_LABELS) != 0 ? get_labels(b, object, row, err) : FG_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

fg_status fgi_row_apply(fgi_draft *b, const fgi_manifest_row *row, fgi_sample *sample,
                        fg_error *err)
{
    if (row->split.size > 0) {
        sample->split = fgi_split_of_name(row->split);
        if (sample->split == FG_CATALOG_NO_SPLIT)
            return fgi_fail(err, FG_EFORMAT, "unknown split '%.*s': expected train, val or test",
                            (int)(row->split.size < 64 ? row->split.size : 64), row->split.data);
    }
    FGI_TRY(fgi_draft_group(b, row->group, &sample->group, err));
    return fgi_draft_set_labels(b, sample, row->labels.list, row->labels.count, err);
}

size_t fgi_path_columns(const fg_catalog_options *options, const char *out[2])
{
    static const char *const usual[2] = {"path", "file_name"};
    out[0] = options->path_column != NULL ? options->path_column : usual[0];
    out[1] = usual[1];
    return options->path_column != NULL ? 1 : 2;
}

fg_status fgi_manifest_begin(fgi_draft *b, const char *path, fg_error *err)
{
    fg_catalog *c = b->catalog;
    const char *root = b->options->root;
    char *folder = root != NULL && *root != '\0' ? fgi_strdup(root) : fgi_path_parent(path);
    if (folder == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    c->folder = fgi_arena_strdup(&c->arena, folder);
    c->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->folder_fd < 0)
        status = fgi_fail_errno(err, "open the folder", folder);
    else if (c->folder == NULL)
        status = fgi_no_memory(err);
    fgi_free(folder);
    return status;
}

/* *out_reason is NULL if the file exists. */
static fg_status find_file(const fg_catalog *c, const char *path, const char **out_reason,
                           fg_error *err)
{
    struct stat info;
    char shown[FGI_SHOWN_BYTES];
    *out_reason = NULL;
    if (fstatat(c->folder_fd, path, &info, 0) == 0) {
        if (!S_ISREG(info.st_mode))
            *out_reason = "not a regular file";
        return FG_OK;
    }
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR) {
        *out_reason = "no such file";
        return FG_OK;
    }
    return fgi_fail(err, FG_EIO, "cannot access '%s': %s", fgi_shown(path, shown),
                    fgi_errno_text(number));
}

static fg_status skip_row(fgi_draft *b, const char *path, const char *reason, const char *unit,
                          size_t number, fg_error *err)
{
    reason = fgi_arena_printf(&b->catalog->arena, "%s %zu: %s", unit, number, reason);
    return reason == NULL ? fgi_no_memory(err) : fgi_draft_skip(b, path, reason, err);
}

/* If other files exist, the folder is the right one. */
static fg_status fail_missing(const fgi_draft *b, const char *path, const char *reason,
                              fg_error *err)
{
    const fg_catalog *c = b->catalog;
    char shown[FGI_SHOWN_BYTES];
    if (c->count > b->missing_count)
        return fgi_fail(
            err, FG_ENOTFOUND,
            "'%s' in '%s': %s\nadd the file, or remove the row; to leave such rows out, "
            "set data.damaged to skip (fulgurite pack --bad=skip)",
            fgi_shown(path, shown), c->folder, reason);
    return fgi_fail(err, FG_ENOTFOUND,
                    "'%s' in '%s': %s\npaths are relative to %s; for files in another folder or "
                    "without an extension in the list, set data.root and data.suffix "
                    "(fulgurite pack --source root=FOLDER,suffix=.jpg)",
                    fgi_shown(path, shown), c->folder, reason,
                    b->options->root != NULL ? "root" : "the folder of the list");
}

/* With the suffix, if it lacks it. */
static fg_status copy_path(fgi_draft *b, fgi_str path, const char **out, fg_error *err)
{
    const char *suffix = b->options->suffix;
    const size_t tail = strlen(suffix);
    if (path.size >= tail && memcmp(path.data + path.size - tail, suffix, tail) == 0)
        return fgi_draft_text(b, path, out, err);
    char *copy = fgi_arena_alloc(&b->catalog->arena, path.size + tail + 1);
    if (copy == NULL)
        return fgi_no_memory(err);
    memcpy(copy, path.data, path.size);
    memcpy(copy + path.size, suffix, tail + 1);
    *out = copy;
    return FG_OK;
}

fg_status fgi_manifest_add(fgi_draft *b, const fgi_manifest_row *row, const char *unit,
                           size_t number, fg_error *err)
{
    const fg_catalog *c = b->catalog;
    const char *reason;
    fgi_sample sample = {.split = FG_CATALOG_NO_SPLIT};
    if (row->path.size == 0) {
        const char *columns[2];
        (void)fgi_path_columns(b->options, columns);
        return fgi_fail(err, FG_EFORMAT, "the %s is missing", columns[0]);
    }
    FGI_TRY(copy_path(b, row->path, &sample.path, err));
    FGI_TRY(find_file(c, sample.path, &reason, err));
    if (reason != NULL && b->options->skip_missing)
        return skip_row(b, sample.path, reason, unit, number, err);
    if (reason != NULL && !b->options->keep_missing)
        return fail_missing(b, sample.path, reason, err);
    b->missing_count += reason != NULL;
    sample.name = sample.path;
    if (row->name.size > 0)
        FGI_TRY(fgi_draft_text(b, row->name, &sample.name, err));
    FGI_TRY(fgi_draft_unique(b, sample.name, err));
    FGI_TRY(fgi_row_apply(b, row, &sample, err));
    return fgi_draft_add(b, &sample, err);
}

fg_status fgi_manifest_end(const fgi_draft *b, fg_error *err)
{
    const fg_catalog *c = b->catalog;
    if (b->missing_count == 0 || b->missing_count < c->count)
        return FG_OK;
    return fail_missing(b, c->samples[0].path, "no such file", err);
}
