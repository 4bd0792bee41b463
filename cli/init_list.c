/* init_list.c - lists of image files for `fulgurite init`, as Kaggle and Hugging Face distribute
 * them: which column names the files, in which folder these are, which extension the cells lack,
 * and which column has the classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "data/csv_images.h"
#include "init.h"
#include "recipe/config/config.h"

enum { MOST_COLUMNS = 64, MOST_CLASSES = 100 };

/* ---- the column of the files ----------------------------------------------------------------- */

/* A folder with images to predict, owned: of the test, and without folders of classes. NULL: there
 * is none. */
static char *find_test(fgi_image_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const bool is_test = fgi_contains_nocase(places->list[i], "test");
        const char *folder = is_test ? fgi_image_place(places, places->list[i]) : NULL;
        if (folder != NULL && init_count_names(folder, FGI_CONFIG_IMAGE, NULL) > 0)
            return cli_strdup(folder);
    }
    return NULL;
}

/* Whether the table lists images, and where they are. Whole names are preferred to those that lack
 * a suffix: a number in another column may happen to be that of another file. */
static bool find_list(const fgi_csv *csv, fgi_image_places *places, init_list *out)
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
    out->root = best.root != NULL ? cli_strdup(best.root) : NULL;
    out->path_column = cli_strdup(csv->columns[column]);
    out->predict = find_test(places);
    return true;
}

static bool read_cells(const init_table *t, fgi_csv *out)
{
    const fgi_csv_layout layout = {.delimiter = t->delimiter, .no_header = !t->has_header};
    fgi_block block;
    return fgi_block_open(t->path, FGI_LARGEST_INFLATED_BYTES, &block, NULL) == FG_OK &&
           fgi_csv_parse(t->path, &block, &layout, out, NULL) == FG_OK;
}

/* The column whose cells are names of image files, NULL if there is none. */
static const fg_csv_column *find_images(const init_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const fg_csv_column *c = &table->columns[i];
        int64_t images = 0;
        while (images < c->category_count &&
               fgi_ends_in_one_of(c->categories[images], FGI_CONFIG_IMAGE))
            images++;
        if (c->category_count > 0 && images == c->category_count)
            return c;
    }
    return NULL;
}

static fg_status check_list(const init_table *t, const init_list *list, fg_error *err)
{
    const fg_csv_column *c = find_images(t);
    if (list->path_column == NULL && c != NULL)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' lists image files, such as '%s' in the column '%s', but they are "
                        "neither in its folder nor in one below it\nput them there; to train on "
                        "the other columns, remove this one",
                        t->path, c->categories[0], t->has_header ? c->name : "");
    if (list->path_column != NULL &&
        (!t->has_header || fgi_ends_in_one_of(list->path_column, FGI_CONFIG_IMAGE)))
        return fgi_fail(err, FG_EINVAL,
                        "'%s' lists image files, but has no header\nadd a first line with names "
                        "of the columns, such as image,label",
                        t->path);
    return FG_OK;
}

fg_status init_list_find(init_files *files, fg_error *err)
{
    init_table table;
    fgi_csv csv;
    fgi_image_places places = {0};
    fg_error later; /* what is wrong with a table is reported when it is read again */
    fg_status status = FG_OK;
    if (init_table_read(files->path, &table, &later) == FG_OK) {
        if (read_cells(&table, &csv)) {
            fgi_image_places_list(&places, files->path);
            if (find_list(&csv, &places, &files->list))
                files->kind = &init_images;
            fgi_csv_fini(&csv);
        }
        status = check_list(&table, &files->list, err);
    }
    fgi_image_places_fini(&places);
    init_table_free(&table);
    return status;
}

/* ---- the column of the classes --------------------------------------------------------------- */

static size_t find_column(const init_table *t, const char *name)
{
    size_t i = 0;
    while (i < t->column_count && fgi_compare_nocase(t->columns[i].name, name) != 0)
        i++;
    return i;
}

/* A column with a usual name; else the only other one; else the only one with few values. */
static size_t estimate_label(const init_table *t, size_t path, bool *out_is_sure)
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
        const fg_csv_column *c = &t->columns[i];
        const bool is_few = c->category_count > 1 && c->category_count <= MOST_CLASSES &&
                            2 * (size_t)c->category_count <= t->rows;
        if (i == path || !is_few)
            continue;
        found = i;
        count++;
    }
    return count == 1 ? found : t->column_count;
}

/* Columns of 0 and 1, if there are several, as "cat,dog", owned; NULL: there are not. */
static char *find_binary(const init_table *t, size_t path)
{
    fgi_buf names = {0};
    size_t count = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        const fg_csv_column *c = &t->columns[i];
        if (i == path || c->numbers == 0 || c->texts > 0 || c->missing > 0 || !c->is_integer ||
            c->min < 0 || c->max > 1 || strchr(c->name, ',') != NULL)
            continue;
        fgi_buf_printf(&names, "%s%s", count++ > 0 ? "," : "", c->name);
    }
    char *list = count > 1 ? cli_strdup(names.data) : NULL;
    fgi_buf_fini(&names);
    return list;
}

/* How many distinct parts the cells of a column have; *out_lists: cells with several. */
static size_t count_parts(const fg_csv_column *c, const char *separators, size_t *out_lists)
{
    static char there;
    fgi_map parts = {0};
    *out_lists = 0;
    for (int64_t i = 0; i < c->category_count; i++) {
        fgi_str rest = fgi_str_of(c->categories[i]), part;
        size_t here = 0;
        for (; fgi_str_next(&rest, separators, &part); here++)
            if (!fgi_map_put(&parts, fgi_hash_bytes(part.data, part.size), &there))
                break;
        *out_lists += here > 1;
    }
    const size_t count = parts.count;
    fgi_map_fini(&parts);
    return count;
}

/* What separates several labels in the cells: they have fewer different parts, with a space at
 * most half as many. NULL: cells have one label. */
static const char *find_separator(const fg_csv_column *c)
{
    static const char *const separators[] = {";|", ",", " "};
    for (size_t i = 0; i < sizeof(separators) / sizeof(separators[0]); i++) {
        size_t lists;
        const size_t parts = count_parts(c, separators[i], &lists);
        const size_t cells = (size_t)c->category_count;
        if (lists > 0 && (*separators[i] == ' ' ? 2 * parts <= cells : parts < cells))
            return separators[i];
    }
    return NULL;
}

/* files: the column with the names of the files. */
static fg_status refuse_label(const init_table *t, size_t files, const char *target, fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < t->column_count && i < 12; i++)
        if (i != files)
            fgi_buf_printf(&names, "%s%.40s", names.size > 0 ? ", " : "", t->columns[i].name);
    if (target != NULL)
        (void)fgi_fail(err, FG_EINVAL, "--target: '%s' has no column of classes '%s', only %s",
                       t->path, target, names.data);
    else
        (void)fgi_fail(err, FG_EINVAL,
                       "'%s' lists image files, but it is not clear which of its columns has the "
                       "classes: %s\nchoose it with --target=COLUMN",
                       t->path, names.data);
    fgi_buf_fini(&names);
    return FG_EINVAL;
}

static fg_status choose_label(init_list *list, const init_table *t, const char *target,
                              fg_error *err)
{
    const size_t path = find_column(t, list->path_column);
    const size_t label =
        target != NULL ? find_column(t, target) : estimate_label(t, path, &list->label_is_sure);
    list->label_is_given = target != NULL;
    list->delimiter = t->delimiter;
    if (target != NULL && init_table_has_columns(t, target))
        list->label_columns = cli_strdup(target);
    else if (target == NULL && (label == t->column_count || !list->label_is_sure))
        list->label_columns = find_binary(t, path);
    if (list->label_columns != NULL)
        return FG_OK;
    if (label >= t->column_count || label == path)
        return refuse_label(t, path, target, err);
    const fg_csv_column *c = &t->columns[label];
    if (c->texts == 0 && c->numbers == 0)
        return fgi_fail(err, FG_EINVAL,
                        "'%s': the column '%s' is empty: expected the class of each image", t->path,
                        c->name);
    if (c->texts == 0 && !c->is_integer)
        return fgi_fail(err, FG_EINVAL,
                        "'%s': the column '%s' has numbers, not classes, such as %g: data.format "
                        "images supports only classification",
                        t->path, c->name, c->max);
    list->label_column = cli_strdup(c->name);
    list->separator = find_separator(c);
    return FG_OK;
}

/* Drops another list that has no classes, such as Kaggle's test.csv. */
static void check_other(const init_list *list, char **path)
{
    init_table t;
    fg_error ignored;
    if (*path == NULL)
        return;
    const bool is_list =
        init_table_read(*path, &t, &ignored) == FG_OK && t.has_header &&
        find_column(&t, list->path_column) < t.column_count &&
        (list->label_columns != NULL ? init_table_has_columns(&t, list->label_columns)
                                     : find_column(&t, list->label_column) < t.column_count);
    init_table_free(&t);
    if (is_list)
        return;
    free(*path);
    *path = NULL;
}

/* The names in "cat,dog", cut in place. */
static fg_strings split_names(char *names)
{
    const char **list = cli_alloc(strlen(names) + 1, sizeof(*list));
    size_t count = 0;
    for (char *name; (name = strsep(&names, ",")) != NULL;)
        list[count++] = name;
    return (fg_strings){list, count};
}

static fg_status open_list(init_files *files, const char *target, fg_error *err)
{
    const init_list *l = &files->list;
    char *names = l->label_columns != NULL ? cli_strdup(l->label_columns) : NULL;
    const fg_strings columns = names != NULL ? split_names(names) : (fg_strings){0};
    const bool is_usual = names == NULL && strcmp(l->label_column, "labels") == 0 && target == NULL;
    const fg_catalog_options options = {
        .path_column = l->path_column,
        .label_column = is_usual || l->separator != NULL ? NULL : l->label_column,
        .labels_column = l->separator != NULL ? l->label_column : NULL,
        .label_separator = l->separator,
        .label_columns = columns,
        .root = l->root,
        .suffix = l->suffix,
        .skip_missing = true,
        .delimiter = l->delimiter};
    const fg_status status = fg_catalog_open(files->path, &options, &files->photos, err);
    free((void *)columns.at);
    free(names);
    return status;
}

fg_status init_list_open(init_files *files, const char *target, fg_error *err)
{
    init_table t;
    init_list *list = &files->list;
    fg_status status = init_table_read(files->path, &t, err);
    if (status == FG_OK)
        status = choose_label(list, &t, target, err);
    init_table_free(&t);
    FGI_TRY(status);
    check_other(list, &files->val);
    check_other(list, &files->test);
    return open_list(files, target, err);
}

/* ---- lines of the configuration -------------------------------------------------------------- */

void init_list_put(fgi_buf *out, const init_files *files)
{
    const init_list *l = &files->list;
    char options[] = "{delimiter: \";\"}";
    if (l->path_column == NULL)
        return;
    if (l->root != NULL)
        init_put_text(out, "root", l->root, "detected: the files are in this folder");
    if (*l->suffix != '\0')
        init_put_text(out, "suffix", l->suffix, "detected: the names in the list lack it");
    if (!fgi_is_one_of(l->path_column, "path|file_name")) /* else the catalog finds it */
        init_put_text(out, "path_column", l->path_column, "detected: the names of the files");
    const char *why = l->label_is_given  ? "given by --target"
                      : l->label_is_sure ? "detected: a common name of classes"
                                         : "inferred, check it: the classes";
    if (l->label_columns != NULL)
        init_put_names(out, "label_columns", l->label_columns,
                       l->label_is_given ? why : "inferred, check it: columns of 0 and 1");
    else if (l->separator != NULL && strcmp(l->label_column, "labels") != 0)
        init_put_text(out, "labels_column", l->label_column, why);
    else if (!fgi_is_one_of(l->label_column, "label|labels") || l->label_is_given)
        init_put_text(out, "label_column", l->label_column, why);
    if (l->separator != NULL && *l->separator != ';')
        init_put_text(out, "label_separator", l->separator,
                      "inferred, check it: cells have several classes");
    if (l->delimiter != ',' && l->delimiter != '\t') {
        *strchr(options, ';') = l->delimiter;
        init_put(out, "source_options", options, "detected");
    }
}

bool init_list_put_source(fgi_buf *out, const init_files *files)
{
    const init_list *l = &files->list;
    const struct {
        const char *name, *value;
    } options[] = {{"root", l->root},
                   {"suffix", l->suffix},
                   {"path_column", l->path_column},
                   {l->separator != NULL ? "labels_column" : "label_column", l->label_column}};
    if (l->label_columns != NULL || (l->separator != NULL && *l->separator != ';'))
        return false;
    if (files->source != NULL)
        fgi_buf_puts(out, files->source);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const char *value = options[i].value;
        if (value == NULL || *value == '\0')
            continue;
        if (strpbrk(value, ",'\"()[]{}") != NULL)
            return false;
        fgi_buf_printf(out, "%s%s: %s", out->size > 0 ? ", " : "{", options[i].name, value);
    }
    if (files->source == NULL && out->size > 0)
        fgi_buf_putc(out, '}');
    return true;
}
