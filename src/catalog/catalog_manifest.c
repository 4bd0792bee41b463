/* catalog_manifest.c - manifests: a row of CSV, or a JSON object in a line, for each sample. Turns
 * rows into samples and checks that their files exist.
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
#include "base/text.h"
#include "input/csv_table.h"
#include "input/block.h"
#include "input/json_file.h"

fg_status fgi_row_add_label(fgi_draft *b, fgi_manifest_row *row, fgi_str text, fgi_label_type type,
                            fg_error *err)
{
    fgi_label_ids *ids = &row->labels;
    FGI_TRY_GROW(ids->list, ids->count, ids->capacity, err);
    FGI_TRY(fgi_draft_label(b, text, type, &ids->list[ids->count], err));
    for (size_t i = 0; i < ids->count; i++)
        if (ids->list[i] == ids->list[ids->count])
            return fgi_fail(err, FG_EFORMAT, "the label '%.80s' occurs twice",
                            b->labels[ids->list[i]]->text);
    ids->count++;
    return FG_OK;
}

/* The names that the column of the paths may have, the first one that exists; returns how many. */
static size_t path_columns(const fg_catalog_options *options, const char *out[2])
{
    static const char *const usual[2] = {"path", "file_name"};
    out[0] = options->path_column != NULL ? options->path_column : usual[0];
    out[1] = usual[1];
    return options->path_column != NULL ? 1 : 2;
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
        const size_t count = path_columns(o, columns);
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

/* Opens the folder to which paths are relative: root, or that of the manifest. */
static fg_status manifest_begin(fgi_draft *b, const char *path, fg_error *err)
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
                    "(fulgurite pack --source='{root: FOLDER, suffix: .jpg}')",
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

/* Adds a row as a sample. unit and number ("row", 7) are for the list of skipped files. */
static fg_status manifest_add(fgi_draft *b, const fgi_manifest_row *row, const char *unit,
                              size_t number, fg_error *err)
{
    const fg_catalog *c = b->catalog;
    const char *reason;
    fgi_sample sample = {.split = FG_CATALOG_NO_SPLIT};
    if (row->path.size == 0) {
        const char *columns[2];
        (void)path_columns(b->options, columns);
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

/* After the last row: FG_ENOTFOUND if no file exists, also if missing ones are kept. */
static fg_status manifest_end(const fgi_draft *b, fg_error *err)
{
    const fg_catalog *c = b->catalog;
    if (b->missing_count == 0 || b->missing_count < c->count)
        return FG_OK;
    return fail_missing(b, c->samples[0].path, "no such file", err);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

enum { PATH, NAME, LABEL, LABELS, SPLIT, GROUP, COLUMNS };

/* Positions of the columns, -1: there is none; and of those of 0 and 1, for each class. */
typedef struct places {
    int of[COLUMNS];
    int *classes;
} places;

static bool is_tsv(const char *name)
{
    return fgi_ends_with(name, ".tsv") || fgi_ends_with(name, ".tsv.gz");
}

static bool is_csv(const char *name)
{
    return fgi_ends_with(name, ".csv") || fgi_ends_with(name, ".csv.gz") || is_tsv(name);
}

static int find_column(const fgi_csv *csv, const char *name)
{
    for (size_t k = csv->column_count; k > 0; k--)
        if (strcmp(csv->columns[k - 1], name) == 0)
            return (int)k - 1;
    return -1;
}

/* Notes the columns that have no meaning in a list. */
static fg_status note_columns(fgi_draft *b, const fgi_csv *csv, const places *columns,
                              fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    size_t count = 0;
    const char **names = fgi_alloc((csv->column_count + 1) * sizeof(*names));
    if (names == NULL)
        return fgi_no_memory(err);
    for (size_t k = 0; k < csv->column_count; k++) {
        bool is_used = false;
        for (int i = 0; i < COLUMNS; i++)
            is_used = is_used || columns->of[i] == (int)k;
        for (size_t i = 0; i < b->options->label_columns.count; i++)
            is_used = is_used || columns->classes[i] == (int)k;
        if (!is_used)
            names[count++] = csv->columns[k];
    }
    const fg_status status =
        count == 0
            ? FG_OK
            : fgi_draft_note(b, FG_LOG_INFO, err, "'%s': ignored column%s %s", csv->name,
                             fgi_s(count), fgi_shown_names(names, count, shown, sizeof(shown)));
    fgi_free((void *)names);
    return status;
}

/* "; did you mean 'file'?\n", or a line end. */
static const char *nearest_column(const fgi_csv *csv, const char *name, char out[128])
{
    const char *nearest = fgi_nearest(name, csv->columns, csv->column_count);
    const bool is_found = nearest != NULL;
    (void)fgi_snprintf(out, 128, "%s%.80s%s\n", is_found ? "; did you mean '" : "",
                       is_found ? nearest : "", is_found ? "'?" : "");
    return out;
}

static fg_status find_classes(const fgi_draft *b, const fgi_csv *csv, places *out, fg_error *err)
{
    char hint[128];
    const fg_strings *names = &b->options->label_columns;
    for (size_t i = 0; i < names->count; i++) {
        out->classes[i] = find_column(csv, names->at[i]);
        if (out->classes[i] < 0)
            return fgi_fail(err, FG_EFORMAT,
                            "%s:1: there is no column '%s'%sdata.label_columns lists the columns "
                            "of 0 and 1 that are labels",
                            csv->name, names->at[i], nearest_column(csv, names->at[i], hint));
    }
    return FG_OK;
}

static fg_status find_columns(fgi_draft *b, const fgi_csv *csv, places *out, fg_error *err)
{
    char hint[128];
    const fg_catalog_options *o = b->options;
    const char *paths[2];
    const size_t path_count = path_columns(o, paths);
    const char *const names[COLUMNS] = {paths[0],         o->name_column,  o->label_column,
                                        o->labels_column, o->split_column, o->group_column};
    for (int i = 0; i < COLUMNS; i++)
        out->of[i] = find_column(csv, names[i]);
    if (out->of[PATH] < 0 && path_count > 1)
        out->of[PATH] = find_column(csv, paths[1]);
    if (strcmp(o->label_column, o->labels_column) == 0)
        out->of[strcmp(o->labels_column, "labels") == 0 ? LABELS : LABEL] = -1; /* as given */
    if (o->label_columns.count > 0)
        out->of[LABEL] = out->of[LABELS] = -1;
    FGI_TRY(find_classes(b, csv, out, err));
    if (out->of[PATH] >= 0)
        return note_columns(b, csv, out, err);
    return fgi_fail(err, FG_EFORMAT,
                    "%s:1: there is no column '%s'%sset the name of the column of the files: "
                    "data.path_column, or fulgurite pack --source='{path_column: file}'",
                    csv->name, names[PATH], nearest_column(csv, names[PATH], hint));
}

/* "a;b" or "a|b" */
static fg_status add_list(fgi_draft *b, fgi_str cell, fgi_manifest_row *row, fg_error *err)
{
    fgi_str text;
    while (fgi_str_next(&cell, b->options->label_separator, &text))
        FGI_TRY(fgi_row_add_label(b, row, text, FGI_LABEL_TEXT, err));
    return FG_OK;
}

/* The classes whose columns have a 1. */
static fg_status add_classes(fgi_draft *b, const fgi_csv_row *cells, const places *columns,
                             fgi_manifest_row *row, fg_error *err)
{
    const fg_strings *names = &b->options->label_columns;
    for (size_t i = 0; i < names->count; i++) {
        const fgi_str cell = cells->cells[columns->classes[i]];
        double value;
        if (!fgi_parse_f64(cell, &value) || (value != 0 && value != 1))
            return fgi_fail(err, FG_EFORMAT, "column '%s': expected 0 or 1, got '%.*s'",
                            names->at[i], cell.size > 64 ? 64 : (int)cell.size, cell.data);
        if (value == 1)
            FGI_TRY(fgi_row_add_label(b, row, fgi_str_of(names->at[i]), FGI_LABEL_NAME, err));
    }
    return FG_OK;
}

static fg_status add_row(fgi_draft *b, const fgi_csv_row *cells, const places *columns,
                         size_t number, fgi_manifest_row *row, fg_error *err)
{
    fgi_str cell[COLUMNS] = {{0}};
    for (int i = 0; i < COLUMNS; i++)
        if (columns->of[i] >= 0)
            cell[i] = cells->cells[columns->of[i]];
    *row = (fgi_manifest_row){.path = cell[PATH],
                              .name = cell[NAME],
                              .split = cell[SPLIT],
                              .group = cell[GROUP],
                              .labels = {row->labels.list, 0, row->labels.capacity}};
    if (cell[LABEL].size > 0 && cell[LABELS].size > 0)
        return fgi_fail(err, FG_EFORMAT, "both '%s' and '%s' are given", b->options->label_column,
                        b->options->labels_column);
    if (cell[LABEL].size > 0)
        FGI_TRY(fgi_row_add_label(b, row, cell[LABEL], FGI_LABEL_TEXT, err));
    FGI_TRY(add_list(b, cell[LABELS], row, err));
    FGI_TRY(add_classes(b, cells, columns, row, err));
    return manifest_add(b, row, "row", number, err);
}

static fg_status add_rows(fgi_draft *b, const fgi_csv *csv, const places *columns, fg_error *err)
{
    fgi_csv_row cells;
    fgi_manifest_row row = {0};
    FGI_TRY(fgi_csv_row_init(csv, &cells, err));
    fg_status status = FG_OK;
    for (size_t i = 0; status == FG_OK && i < csv->row_count; i++) {
        fgi_csv_read(csv, i, &cells);
        b->line = fgi_csv_line(csv, i);
        status = add_row(b, &cells, columns, i + 1, &row, err);
        if (status != FG_OK && status != FG_ENOMEM)
            status = fgi_context(err, status, "%s:%zu", csv->name, b->line);
    }
    fgi_free(row.labels.list);
    fgi_csv_row_fini(&cells);
    return status;
}

static fg_status open_csv(fgi_draft *b, const char *path, fg_error *err)
{
    const char tab_or_comma = is_tsv(path) ? '\t' : ',';
    const fgi_csv_layout layout = {
        .delimiter = b->options->delimiter != '\0' ? b->options->delimiter : tab_or_comma,
        .delimiter_option = "delimiter"};
    fgi_block block;
    fgi_csv csv;
    FGI_TRY(manifest_begin(b, path, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(fgi_csv_parse(path, &block, &layout, &csv, err));
    places columns = {.classes = fgi_calloc(b->options->label_columns.count + 1, sizeof(int))};
    fg_status status =
        columns.classes != NULL ? find_columns(b, &csv, &columns, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = add_rows(b, &csv, &columns, err);
    fgi_free(columns.classes);
    fgi_csv_fini(&csv);
    return status == FG_OK ? manifest_end(b, err) : status;
}

const fgi_catalog_kind fgi_catalog_csv_row = {
    .name = "csv",
    .help = "CSV manifest: columns path, label or labels, split, group, name",
    .target = "a column 'label' (another one: data.label_column)",
    .is_file = is_csv,
    .open = open_csv,
    .read = fgi_read_sample_file,
};

/* ---- JSONL ----------------------------------------------------------------------------------- */

static bool is_jsonl(const char *name)
{
    return fgi_ends_in_one_of(name, ".jsonl|.ndjson|.jsonl.gz|.ndjson.gz");
}

typedef struct line {
    const char *path;
    size_t number; /* starting at 1 */
    size_t offset; /* bytes, in the file */
    fgi_str text;
} line;

/* The classes of the samples that follow, unless the caller has given them. */
static fg_status set_classes(fgi_draft *b, const json_t *classes, fg_error *err)
{
    fg_catalog *c = b->catalog;
    fg_catalog_options o = *b->options;
    const size_t count = json_array_size(classes);
    const char **names = fgi_arena_alloc(&c->arena, (count + 1) * sizeof(*names));
    if (b->label_count > 0 || c->count > 0 || count == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "member 'classes': expected a list of names, before the samples");
    if (names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(classes, i);
        if (!json_is_string(name))
            return fgi_fail(err, FG_EFORMAT, "member 'classes': expected a list of strings");
        const fgi_str text = {json_string_value(name), json_string_length(name)};
        FGI_TRY(fgi_draft_text(b, text, &names[i], err));
    }
    if (o.class_names != NULL)
        return FG_OK;
    o.class_names = names;
    o.class_count = (int64_t)count;
    b->options = fgi_arena_copy(&c->arena, &o, sizeof(o));
    return b->options != NULL ? FG_OK : fgi_no_memory(err);
}

/* Notes the members of the first line that have no meaning in a list. */
static fg_status note_members(fgi_draft *b, const line *l, const json_t *object, fg_error *err)
{
    const fg_catalog_options *o = b->options;
    const char *used[] = {"",
                          "",
                          o->name_column,
                          o->label_column,
                          o->labels_column,
                          o->split_column,
                          o->group_column};
    char shown[FGI_SHOWN_BYTES];
    const char *ignored[16], *name;
    size_t count = 0;
    json_t *value;
    (void)path_columns(o, used);
    json_object_foreach((json_t *)object, name, value)
    {
        bool is_used = count == sizeof(ignored) / sizeof(ignored[0]);
        for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
            is_used = is_used || strcmp(used[i], name) == 0;
        if (!is_used)
            ignored[count++] = name;
    }
    return count == 0 ? FG_OK
                      : fgi_draft_note(b, FG_LOG_INFO, err, "'%s': ignored member%s %s", l->path,
                                       fgi_s(count),
                                       fgi_shown_names(ignored, count, shown, sizeof(shown)));
}

static fg_status add_object(fgi_draft *b, const line *l, const json_t *object,
                            fgi_manifest_row *row, fg_error *err)
{
    const json_t *classes = json_object_get(object, "classes");
    const char *paths[2];
    const size_t path_count = path_columns(b->options, paths);
    bool is_sample = false;
    for (size_t i = 0; i < path_count; i++)
        is_sample = is_sample || json_object_get(object, paths[i]) != NULL;
    if (json_is_array(classes) && !is_sample)
        return set_classes(b, classes, err);
    if (b->catalog->count == 0 && b->catalog->skip_count == 0)
        FGI_TRY(note_members(b, l, object, err));
    FGI_TRY(fgi_row_from_json(b, object, FGI_ROW_FILES | FGI_ROW_LABELS, row, err));
    return manifest_add(b, row, "line", l->number, err);
}

static fg_status add_line(fgi_draft *b, const line *l, fgi_manifest_row *row, fg_error *err)
{
    json_t *object = NULL;
    char number[32];
    b->line = l->number;
    (void)fgi_snprintf(number, sizeof(number), ":%zu", l->number);
    char *place = fgi_alloc(strlen(l->path) + sizeof(number));
    if (place == NULL)
        return fgi_no_memory(err);
    (void)fgi_snprintf(place, strlen(l->path) + sizeof(number), "%s%s", l->path, number);
    fg_status status = fgi_json_parse(place, l->offset, l->text.data, l->text.size, &object, err);
    if (status == FG_OK) {
        status = add_object(b, l, object, row, err);
        if (status != FG_OK && status != FG_ENOMEM)
            status = fgi_context(err, status, "%s", place);
    }
    json_decref(object);
    fgi_free(place);
    return status;
}

static fg_status add_lines(fgi_draft *b, const char *path, const fgi_block *block, fg_error *err)
{
    fgi_manifest_row row = {0};
    fg_status status = FG_OK;
    const char *text = (const char *)block->data;
    size_t number = 1;
    for (size_t at = 0; status == FG_OK && at < block->size; number++) {
        const char *end = memchr(text + at, '\n', block->size - at);
        const size_t size = end == NULL ? block->size - at : (size_t)(end - text) - at;
        const line l = {path, number, at, {text + at, size}};
        if (fgi_str_trim(l.text).size > 0)
            status = add_line(b, &l, &row, err);
        at += size + 1;
    }
    fgi_free(row.labels.list);
    return status;
}

static fg_status open_jsonl(fgi_draft *b, const char *path, fg_error *err)
{
    fgi_block block;
    FGI_TRY(manifest_begin(b, path, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    const fg_status status = add_lines(b, path, &block, err);
    fgi_block_fini(&block);
    return status == FG_OK ? manifest_end(b, err) : status;
}

const fgi_catalog_kind fgi_catalog_jsonl_row = {
    .name = "jsonl",
    .help = "JSONL manifest: {\"path\": \"a.jpg\", \"label\": \"cat\"} on each line",
    .target = "a member 'label' in each line (another one: data.label_column)",
    .is_file = is_jsonl,
    .open = open_jsonl,
    .read = fgi_read_sample_file,
};
