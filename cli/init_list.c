/* init_list.c - lists of image files for `fulgurite init`, as Kaggle and Hugging Face distribute
 * them: which column names the files, in which folder these are, which extension the cells lack,
 * and which column has the classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "data/csv_images.h"
#include "recipe/config/config.h"
#include "init_put.h"

enum { MOST_COLUMNS = 64, MOST_CLASSES = 100 };

/* ---- the column of the files ----------------------------------------------------------------- */

/* A folder with images to predict, owned: of the test, and without folders of classes. NULL: there
 * is none. */
static char *find_test(fgi_image_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const bool is_test = fgi_contains_nocase(places->list[i], "test");
        const char *folder = is_test ? fgi_image_place(places, places->list[i]) : NULL;
        DIR *entries = folder != NULL ? opendir(folder) : NULL;
        bool has = false;
        for (const struct dirent *e;
             entries != NULL && !has && (e = readdir(entries)) != NULL;) /* not shared */
            has = fgi_ends_in_one_of(e->d_name, FGI_CONFIG_IMAGE);
        if (entries != NULL)
            (void)closedir(entries);
        if (has)
            return fgi_strdup(folder);
    }
    return NULL;
}

static bool refuse_missing(const char *path, const fgi_look_column *c, fg_error *err)
{
    return cli_refuse(err,
                      "'%s' lists image files, such as '%s' in the column '%s', but they are "
                      "neither in its folder nor in one below it\nput them there; to train on the "
                      "other columns, remove this one",
                      path, c->distinct[0], c->name != NULL ? c->name : "");
}

/* Whether the table lists images, and where they are. Whole names are preferred to those that lack
 * a suffix: a number in another column may happen to be that of another file. */
static bool find_list(const fgi_csv *csv, fgi_image_places *places, fgi_look_list *out)
{
    fgi_listed_images found, best = {.suffix = NULL};
    size_t column = 0;
    for (size_t i = 0; i < csv->column_count && i < MOST_COLUMNS; i++) {
        if (!fgi_csv_lists_images(csv, i, places, &found))
            continue;
        if (best.suffix == NULL || *found.suffix == '\0') {
            best = found;
            column = i;
        }
        if (*best.suffix == '\0')
            break;
    }
    if (best.suffix == NULL)
        return false;
    out->suffix = best.suffix;
    out->root = best.root != NULL ? fgi_strdup(best.root) : NULL;
    out->path_column = fgi_strdup(csv->columns[column]);
    out->predict = find_test(places);
    return out->path_column != NULL;
}

static bool refuse_headless(const char *path, fg_error *err)
{
    return cli_refuse(err,
                      "'%s' lists image files, but has no header\nadd a first line with names of "
                      "the columns, such as image,label",
                      path);
}

static bool read_cells(const char *path, const fgi_look_table *t, fgi_csv *out)
{
    const fgi_csv_layout layout = {.delimiter = t->delimiter, .no_header = !t->has_header};
    fgi_block block;
    return fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, NULL) == FG_OK &&
           fgi_csv_parse(path, &block, &layout, out, NULL) == FG_OK;
}

bool fgi_look_at_list(fgi_look_files *out, fg_error *err)
{
    fgi_look_table table;
    fgi_csv csv;
    fgi_image_places places = {0};
    fgi_look_list *list = &out->list;
    fg_error later; /* what is wrong with a table is reported when it is read again */
    if (!fgi_look_table_read(out->path, &table, &later))
        return true;
    if (read_cells(out->path, &table, &csv)) {
        fgi_image_places_list(&places, out->path);
        if (find_list(&csv, &places, list))
            out->kind = &fgi_look_images;
        fgi_csv_fini(&csv);
    }
    const fgi_look_column *c = fgi_look_image_column(&table);
    bool is_good = true;
    if (list->path_column == NULL && c != NULL)
        is_good = refuse_missing(out->path, c, err);
    else if (list->path_column != NULL &&
             (!table.has_header || fgi_ends_in_one_of(list->path_column, FGI_CONFIG_IMAGE)))
        is_good = refuse_headless(out->path, err);
    fgi_image_places_fini(&places);
    fgi_look_table_free(&table);
    return is_good;
}

/* ---- the column of the classes --------------------------------------------------------------- */

static size_t find_column(const fgi_look_table *t, const char *name)
{
    size_t i = 0;
    while (i < t->column_count && fgi_compare_nocase(t->columns[i].name, name) != 0)
        i++;
    return i;
}

/* A column with a usual name; else the only other one; else the only one with few values. */
static size_t estimate_label(const fgi_look_table *t, size_t path, bool *out_is_sure)
{
    static const char *const names[] = {"label",      "labels",   "class",    "target",
                                        "category",   "species",  "breed",    "diagnosis",
                                        "class_name", "class_id", "class_idx"};
    size_t found = t->column_count, count = 0;
    *out_is_sure = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (find_column(t, names[i]) < t->column_count)
            return find_column(t, names[i]);
    *out_is_sure = false;
    if (t->column_count == 2)
        return 1 - path;
    for (size_t i = 0; i < t->column_count; i++) {
        const fgi_look_column *c = &t->columns[i];
        const bool is_few = c->distinct_count > 1 && c->distinct_count <= MOST_CLASSES &&
                            2 * c->distinct_count <= t->rows;
        if (i == path || !is_few)
            continue;
        found = i;
        count++;
    }
    return count == 1 ? found : t->column_count;
}

/* files: the column with the names of the files. */
static bool refuse_label(const char *path, const fgi_look_table *t, size_t files,
                         const char *target, fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < t->column_count && i < 12; i++)
        if (i != files)
            fgi_buf_printf(&names, "%s%.40s", names.size > 0 ? ", " : "", t->columns[i].name);
    if (target != NULL)
        (void)cli_refuse(err, "--target: '%s' has no column of classes '%s', only %s", path, target,
                         names.data);
    else
        (void)cli_refuse(err,
                         "'%s' lists image files, but it is not clear which of its columns has the "
                         "classes: %s\nchoose it with --target=COLUMN",
                         path, names.data);
    fgi_buf_fini(&names);
    return false;
}

static bool choose_label(fgi_look_files *files, const fgi_look_table *t, const char *target,
                         fg_error *err)
{
    fgi_look_list *list = &files->list;
    const size_t path = find_column(t, list->path_column);
    const size_t label =
        target != NULL ? find_column(t, target) : estimate_label(t, path, &list->label_is_sure);
    list->label_is_given = target != NULL;
    if (label >= t->column_count || label == path)
        return refuse_label(files->path, t, path, target, err);
    const fgi_look_column *c = &t->columns[label];
    if (c->texts == 0 && c->numbers == 0)
        return cli_refuse(err, "'%s': the column '%s' is empty: expected the class of each image",
                          files->path, c->name);
    if (c->texts == 0 && !c->is_integer)
        return cli_refuse(err,
                          "'%s': the column '%s' has numbers, not classes, such as %g: data.format "
                          "images supports only classification",
                          files->path, c->name, c->max);
    list->label_column = fgi_strdup(c->name);
    list->delimiter = t->delimiter;
    return list->label_column != NULL || cli_refuse_memory(err);
}

/* Drops another list that has no classes, such as Kaggle's test.csv. */
static void check_other(const fgi_look_list *list, char **path)
{
    fgi_look_table t;
    fg_error ignored;
    if (*path == NULL)
        return;
    const bool is_read = fgi_look_table_read(*path, &t, &ignored);
    const bool is_list = is_read && t.has_header &&
                         find_column(&t, list->path_column) < t.column_count &&
                         find_column(&t, list->label_column) < t.column_count;
    if (is_read)
        fgi_look_table_free(&t);
    if (is_list)
        return;
    fgi_free(*path);
    *path = NULL;
}

bool fgi_look_list_open(fgi_look_files *files, const char *target, fg_error *err)
{
    fgi_look_table t;
    fgi_look_list *list = &files->list;
    if (!fgi_look_table_read(files->path, &t, err))
        return false;
    const bool is_good = choose_label(files, &t, target, err);
    fgi_look_table_free(&t);
    if (!is_good)
        return false;
    check_other(list, &files->val);
    check_other(list, &files->test);
    const bool is_usual = strcmp(list->label_column, "labels") == 0 && target == NULL;
    const fg_catalog_options options = {.path_column = list->path_column,
                                        .label_column = is_usual ? NULL : list->label_column,
                                        .root = list->root,
                                        .suffix = list->suffix,
                                        .skip_missing = true,
                                        .delimiter = list->delimiter};
    return fg_catalog_open(files->path, &options, &files->photos, err) == FG_OK;
}

/* ---- lines of the configuration -------------------------------------------------------------- */

/* Whether the catalog would not find the column without its name. */
static bool needs_name(const char *column, const char *a, const char *b)
{
    return strcmp(column, a) != 0 && (b == NULL || strcmp(column, b) != 0);
}

void fgi_put_list(fgi_buf *out, const fgi_look_files *files)
{
    const fgi_look_list *l = &files->list;
    char delimiter[] = "delimiter=;";
    if (l->path_column == NULL)
        return;
    if (l->root != NULL)
        fgi_put_string(out, "root", l->root, "detected: the files are in this folder");
    if (*l->suffix != '\0')
        fgi_put_string(out, "suffix", l->suffix, "detected: the names in the list lack it");
    if (needs_name(l->path_column, "path", "file_name"))
        fgi_put_string(out, "path_column", l->path_column, "detected: the names of the files");
    if (needs_name(l->label_column, "label", "labels") || l->label_is_given)
        fgi_put_string(out, "label_column", l->label_column,
                       l->label_is_given  ? "given by --target"
                       : l->label_is_sure ? "detected: a common name of classes"
                                          : "inferred, check it: the classes");
    if (l->delimiter != ',' && l->delimiter != '\t') {
        delimiter[sizeof(delimiter) - 2] = l->delimiter;
        fgi_put_string(out, "source_options", delimiter, "detected");
    }
}

bool fgi_put_list_source(fgi_buf *out, const fgi_look_files *files)
{
    const fgi_look_list *l = &files->list;
    const struct {
        const char *name, *value;
    } options[] = {{"root", l->root},
                   {"suffix", l->suffix},
                   {"path_column", l->path_column},
                   {"label_column", l->label_column}};
    if (files->source != NULL)
        fgi_buf_puts(out, files->source);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const char *value = options[i].value;
        if (value == NULL || *value == '\0')
            continue;
        if (strpbrk(value, ",='\"") != NULL)
            return false;
        fgi_buf_printf(out, "%s%s=%s", out->size > 0 ? "," : "", options[i].name, value);
    }
    return true;
}
