/* init_list.c - lists of image files for `fulgurite init`, as Kaggle and Hugging Face distribute
 * them: which column names the files, in which folder these are, which extension the cells lack,
 * and which column has the classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "recipe/config.h"
#include "recipe/init_put.h"

enum { MOST_FOLDERS = 64, MOST_COLUMNS = 64, PROBES = 8, MOST_CLASSES = 100 };

/* Folders in that of the list, relative to it; "" is the first. */
typedef struct places {
    const char *base;
    char *list[MOST_FOLDERS]; /* owned */
    size_t count;
} places;

/* ---- folders --------------------------------------------------------------------------------- */

static char *join(const char *a, const char *b, const char *suffix)
{
    fgi_buf path = {0};
    const char *from = strcmp(a, ".") == 0 && *b != '\0' ? "" : a;
    const bool is_plain = *from == '\0' || *b == '\0' || from[strlen(from) - 1] == '/';
    fgi_buf_printf(&path, "%s%s%s%s", from, is_plain ? "" : "/", b, suffix);
    return fgi_take_text(&path);
}

static bool is_type(const char *path, mode_t type)
{
    struct stat info;
    return path != NULL && stat(path, &info) == 0 && (info.st_mode & S_IFMT) == type;
}

/* Adds the folders in `inner`, and those in them if `levels` is above 1. */
static void add_folders(places *p, const char *inner, int levels)
{
    char *folder = join(p->base, inner, "");
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    const size_t first = p->count;
    for (const struct dirent *e; entries != NULL && p->count < MOST_FOLDERS &&
                                 (e = readdir(entries)) != NULL;) { /* not shared */
        char *name = e->d_name[0] != '.' && strcmp(e->d_name, "__MACOSX") != 0
                         ? join(inner, e->d_name, "")
                         : NULL;
        char *path = name != NULL ? join(p->base, name, "") : NULL;
        if (is_type(path, S_IFDIR))
            p->list[p->count++] = name;
        else
            fgi_free(name);
        fgi_free(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
    fgi_free(folder);
    for (size_t i = first, end = p->count; levels > 1 && i < end; i++)
        add_folders(p, p->list[i], levels - 1);
}

static bool has_word(const char *text, const char *word)
{
    for (; *text != '\0'; text++)
        if (fgi_begins_nocase(text, word))
            return true;
    return false;
}

/* Folders of training images come first: files with the same names may be in those of the test. */
static int rank_of(const char *folder)
{
    return *folder == '\0' ? 0 : has_word(folder, "train") ? 1 : has_word(folder, "test") ? 3 : 2;
}

static int by_rank(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const int difference = rank_of(x) - rank_of(y);
    return difference != 0 ? difference : strcmp(x, y);
}

static void find_folders(const char *base, places *out)
{
    *out = (places){.base = base};
    if ((out->list[0] = fgi_strdup("")) != NULL)
        out->count = 1;
    add_folders(out, "", 2);
    qsort(out->list, out->count, sizeof(out->list[0]), by_rank);
}

static void free_folders(places *p)
{
    for (size_t i = 0; i < p->count; i++)
        fgi_free(p->list[i]);
}

/* ---- the column of the files ----------------------------------------------------------------- */

static bool is_image(const char *folder, const char *cell, const char *suffix)
{
    char *path = join(folder, cell, suffix);
    const bool is =
        path != NULL && fgi_config_ends_in(path, FGI_CONFIG_IMAGE) && is_type(path, S_IFREG);
    fgi_free(path);
    return is;
}

/* Cell `i` of those that are looked at: a string, or the least and the greatest integer. */
static const char *cell_at(const fgi_look_column *c, size_t i, size_t probes, char number[32])
{
    if (c->distinct_count > 0)
        return c->distinct[i * c->distinct_count / probes];
    (void)fgi_snprintf(number, 32, "%.0f", i == 0 ? c->min : c->max);
    return number;
}

/* Whether cells of the column name images in the folder: most of a few that are looked at, so that
 * a missing file is reported later. */
static bool names_images(const fgi_look_column *c, const char *folder, const char *suffix)
{
    char number[32];
    const size_t cells = c->distinct_count > 0             ? c->distinct_count
                         : c->numbers > 0 && c->is_integer ? 2
                                                           : 0;
    const size_t probes = cells < PROBES ? cells : PROBES;
    size_t found = 0;
    for (size_t i = 0; i < probes && (i < 2 || found > 0); i++)
        found += is_image(folder, cell_at(c, i, probes, number), suffix);
    return found > 0 && 2 * found >= probes;
}

/* Sets root and suffix if the column names images in one of the folders. */
static bool find_images(const fgi_look_column *c, const places *p, fgi_look_list *out)
{
    static const char *const suffixes[] = {"",      ".jpg", ".jpeg", ".png", ".JPG",
                                           ".JPEG", ".PNG", ".webp", ".tif", ".tiff",
                                           ".bmp",  ".gif", ".ppm",  ".pgm"};
    for (size_t i = 0; i < p->count; i++) {
        char *folder = join(p->base, p->list[i], "");
        for (size_t k = 0; folder != NULL && k < sizeof(suffixes) / sizeof(suffixes[0]); k++) {
            if (!names_images(c, folder, suffixes[k]))
                continue;
            out->suffix = suffixes[k];
            out->root = *p->list[i] != '\0' ? folder : NULL;
            if (out->root == NULL)
                fgi_free(folder);
            return true;
        }
        fgi_free(folder);
    }
    return false;
}

/* A folder with images to predict: of the test, and without folders of classes. */
static char *find_test(const places *p)
{
    for (size_t i = 0; i < p->count; i++) {
        char *folder = has_word(p->list[i], "test") ? join(p->base, p->list[i], "") : NULL;
        DIR *entries = folder != NULL ? opendir(folder) : NULL;
        bool has = false;
        for (const struct dirent *e;
             entries != NULL && !has && (e = readdir(entries)) != NULL;) /* not shared */
            has = fgi_config_ends_in(e->d_name, FGI_CONFIG_IMAGE);
        if (entries != NULL)
            (void)closedir(entries);
        if (has)
            return folder;
        fgi_free(folder);
    }
    return NULL;
}

static bool refuse_missing(const char *path, const fgi_look_column *c, fg_error *err)
{
    return fgi_refuse(err,
                      "'%s' lists image files, such as '%s' in the column '%s', but they are "
                      "neither in its folder nor in one below it\nput them there; to train on the "
                      "other columns, remove this one",
                      path, c->distinct[0], c->name != NULL ? c->name : "");
}

/* Whether the table lists images, and where they are. */
static bool find_list(const fgi_look_table *t, const places *p, fgi_look_list *out)
{
    for (size_t i = 0; i < t->column_count && i < MOST_COLUMNS; i++) {
        const fgi_look_column *c = &t->columns[i];
        if (c->name == NULL || !find_images(c, p, out))
            continue;
        out->path_column = fgi_strdup(c->name);
        return out->path_column != NULL;
    }
    return false;
}

bool fgi_look_at_list(fgi_look_files *out, fg_error *err)
{
    fgi_look_table table;
    fg_error later; /* what is wrong with a table is reported when it is read again */
    if (!fgi_look_table_read(out->path, &table, &later))
        return true;
    places folders;
    char *base = fgi_path_parent(out->path);
    find_folders(base != NULL ? base : ".", &folders);
    const fgi_look_column *c = fgi_look_image_column(&table);
    bool is_good = true;
    if (find_list(&table, &folders, &out->list)) {
        out->kind = &fgi_look_images;
        out->list.predict = find_test(&folders);
    } else if (c != NULL)
        is_good = refuse_missing(out->path, c, err);
    free_folders(&folders);
    fgi_free(base);
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

static bool refuse_label(const char *path, const fgi_look_table *t, const char *target,
                         fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < t->column_count && i < 12; i++)
        fgi_buf_printf(&names, "%s%.40s", i > 0 ? ", " : "", t->columns[i].name);
    if (target != NULL)
        (void)fgi_refuse(err, "--target: '%s' has no column '%s', only %s", path, target,
                         names.data);
    else
        (void)fgi_refuse(err,
                         "'%s' lists image files, but which of its columns has the classes is not "
                         "clear: %s\nchoose it with --target=COLUMN",
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
        return refuse_label(files->path, t, target, err);
    const fgi_look_column *c = &t->columns[label];
    if (c->texts == 0 && !c->is_integer)
        return fgi_refuse(err,
                          "'%s': the column '%s' has numbers, not classes, such as %g: data.format "
                          "images trains classifiers",
                          files->path, c->name, c->max);
    list->label_column = fgi_strdup(c->name);
    list->delimiter = t->delimiter;
    return list->label_column != NULL || fgi_refuse_memory(err);
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
