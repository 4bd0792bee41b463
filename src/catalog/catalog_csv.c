/* catalog_csv.c - CSV manifests: a row per sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "catalog/manifest_row.h"
#include "input/csv_table.h"

enum { PATH, NAME, LABEL, LABELS, SPLIT, GROUP, COLUMNS };

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
static fg_status note_ignored(fgi_draft *b, const fgi_csv *csv, const int columns[COLUMNS],
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
            is_used = is_used || columns[i] == (int)k;
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

/* Positions of the columns; -1: there is none. */
static fg_status find_columns(fgi_draft *b, const fgi_csv *csv, int out[COLUMNS], fg_error *err)
{
    const fg_catalog_options *o = b->options;
    const char *paths[2];
    const size_t path_count = fgi_path_columns(o, paths);
    const char *const names[COLUMNS] = {paths[0],         o->name_column,  o->label_column,
                                        o->labels_column, o->split_column, o->group_column};
    for (int i = 0; i < COLUMNS; i++)
        out[i] = find_column(csv, names[i]);
    if (out[PATH] < 0 && path_count > 1)
        out[PATH] = find_column(csv, paths[1]);
    if (strcmp(o->label_column, o->labels_column) == 0)
        out[LABELS] = -1;
    if (out[PATH] >= 0)
        return note_ignored(b, csv, out, err);
    const char *nearest = fgi_nearest(names[PATH], csv->columns, csv->column_count);
    return fgi_fail(err, FG_EFORMAT,
                    "%s:1: there is no column '%s'%s%s%s\nset the name of the column of the files: "
                    "data.path_column, or fulgurite pack --source path_column=file",
                    csv->name, names[PATH], nearest == NULL ? "" : "; did you mean '",
                    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

/* "a;b" or "a|b" */
static fg_status add_list(fgi_draft *b, fgi_str cell, fgi_manifest_row *row, fg_error *err)
{
    while (cell.size > 0) {
        size_t size = 0;
        while (size < cell.size && cell.data[size] != ';' && cell.data[size] != '|')
            size++;
        const fgi_str text = fgi_str_trim((fgi_str){cell.data, size});
        if (text.size > 0)
            FGI_TRY(fgi_row_add_label(b, row, text, FGI_LABEL_TEXT, err));
        cell.data += size;
        cell.size -= size;
        if (cell.size > 0) {
            cell.data++;
            cell.size--;
        }
    }
    return FG_OK;
}

static fg_status add_row(fgi_draft *b, const fgi_csv_row *cells, const int columns[COLUMNS],
                         size_t number, fgi_manifest_row *row, fg_error *err)
{
    fgi_str cell[COLUMNS] = {{0}};
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i] >= 0)
            cell[i] = cells->cells[columns[i]];
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
    return fgi_manifest_add(b, row, "row", number, err);
}

static fg_status add_rows(fgi_draft *b, const fgi_csv *csv, fg_error *err)
{
    int columns[COLUMNS];
    fgi_csv_row cells;
    fgi_manifest_row row = {0};
    FGI_TRY(find_columns(b, csv, columns, err));
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
    FGI_TRY(fgi_manifest_begin(b, path, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(fgi_csv_parse(path, &block, &layout, &csv, err));
    const fg_status status = add_rows(b, &csv, err);
    fgi_csv_fini(&csv);
    return status == FG_OK ? fgi_manifest_end(b, err) : status;
}

const fgi_catalog_kind fgi_catalog_csv_row = {
    .name = "csv",
    .help = "CSV manifest: columns path, label or labels, split, group, name",
    .target = "a column 'label' (another one: data.label_column)",
    .is_file = is_csv,
    .open = open_csv,
    .read = fgi_read_sample_file,
};
