/* init_files.c - detects the format of a data file or folder from file names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "catalog/catalog_options.h"
#include "init.h"
#include "recipe/config/config.h"

#define TABLES FGI_CONFIG_TABLES "|.parquet" /* refused with advice */

static bool is_table(const char *name) { return fgi_ends_in_one_of(name, TABLES); }

static char *join(const char *folder, const char *name)
{
    return cli_printf("%s%s%s", folder, fgi_ends_with(folder, "/") ? "" : "/", name);
}

size_t init_count_names(const char *folder, const char *ends, char **out)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; (entry = fgi_folder_next(&entries)) != NULL;) {
        const char *name = entry->d_name;
        const bool is_other = is_table(name) && strstr(name, "submission") != NULL; /* Kaggle's */
        if (!fgi_ends_in_one_of(name, ends) || is_other)
            continue;
        if (out != NULL) {
            free(*out);
            *out = join(folder, name);
        }
        count++;
    }
    return count;
}

/* The first of these names ("a|b") that exists in the folder, owned; NULL: none. */
static char *find_name(const char *folder, const char *names)
{
    char *list = cli_strdup(names), *path = NULL;
    for (char *rest = list, *name; path == NULL && (name = strsep(&rest, "|")) != NULL;) {
        path = join(folder, name);
        if (!fgi_file_exists(path)) {
            free(path);
            path = NULL;
        }
    }
    free(list);
    return path;
}

static bool find_npy(const char *folder, init_files *out)
{
    out->path = find_name(folder, "x.npy|X.npy|x_train.npy|X_train.npy|train_x.npy|inputs.npy");
    out->y = find_name(folder, "y.npy|Y.npy|y_train.npy|Y_train.npy|train_y.npy|targets.npy|"
                               "labels.npy");
    out->val = find_name(folder, "val_x.npy|x_val.npy|X_val.npy");
    out->val_y = find_name(folder, "val_y.npy|y_val.npy");
    out->test = find_name(folder, "test_x.npy|x_test.npy|X_test.npy");
    out->test_y = find_name(folder, "test_y.npy|y_test.npy");
    out->kind = &init_npy;
    return out->path != NULL && out->y != NULL;
}

/* The training table, or else the only one. */
static bool find_tables(const char *folder, bool is_only, init_files *out)
{
    if (!is_only)
        out->path = find_name(folder, "train.csv|training.csv|train.csv.gz|train.tsv|"
                                      "metadata.csv|train/metadata.csv");
    else if (init_count_names(folder, TABLES, &out->path) != 1)
        return false;
    out->val = find_name(folder, "val.csv|valid.csv|validation.csv|val.csv.gz|val.tsv|"
                                 "validation/metadata.csv|val/metadata.csv|valid/metadata.csv");
    out->test = find_name(folder, "test.csv|test.csv.gz|test.tsv|test/metadata.csv");
    out->kind = &init_csv;
    return out->path != NULL;
}

/* ---- images ---------------------------------------------------------------------------------- */

static fg_status open_photos(const char *path, init_files *out, fg_error *err)
{
    fg_catalog_options options = {.skip_missing = true};
    void *texts = NULL;
    out->kind = &init_images;
    out->path = cli_strdup(path);
    fg_status status = fgi_catalog_options_read(out->source, NULL, &options, &texts, err);
    if (status == FG_OK)
        status = fg_catalog_open(path, &options, &out->photos, err);
    fgi_free(texts);
    return status;
}

/* The lists of a folder in the layout of Hugging Face. */
static fg_status open_jsonl(const char *folder, const char *list, init_files *out, fg_error *err)
{
    out->val = find_name(folder, "validation/metadata.jsonl|val/metadata.jsonl|"
                                 "valid/metadata.jsonl");
    out->test = find_name(folder, "test/metadata.jsonl");
    return open_photos(list, out, err);
}

static fg_status open_pack(const char *path, init_files *out, fg_error *err)
{
    out->kind = &init_pack;
    out->path = cli_strdup(path);
    return fg_pack_open(path, NULL, &out->pack, err);
}

/* Whether it is a folder of images without classes, as the test images on Kaggle are. */
static bool is_unlabeled(const char *folder)
{
    fg_catalog *catalog = NULL;
    fg_error unused;
    const bool is = fg_catalog_open(folder, NULL, &catalog, &unused) == FG_OK &&
                    fg_catalog_class_count(catalog) == 0;
    fg_catalog_close(catalog);
    return is;
}

/* Folders with the usual names next to the folder that is given: photos/val of photos/train. */
static void find_splits(const char *folder, init_files *out)
{
    const int size = (int)strlen(folder) - fgi_ends_with(folder, "/");
    static const char train[] = "/train";
    const int tail = (int)sizeof train - 1;
    if (size <= tail || strncmp(folder + size - tail, train, (size_t)tail) != 0)
        return;
    char *parent = cli_printf("%.*s", size - tail, folder);
    out->val = find_name(parent, "val|valid|validation");
    out->test = find_name(parent, "test");
    if (out->test != NULL && is_unlabeled(out->test)) {
        out->list.predict = out->test;
        out->test = NULL;
    }
    free(parent);
}

/* ---- folders --------------------------------------------------------------------------------- */

static fg_status refuse_folder(const char *folder, fg_error *err)
{
    return fgi_fail(
        err, FG_EINVAL,
        "'%s' contains no data in a known format: expected one .csv file or train.csv, "
        "MNIST's files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin "
        "...), CIFAR-100's (fine_label_names.txt ...), x.npy and y.npy, .txt files, or a folder of "
        "images for each class",
        folder);
}

/* Images, if they have classes; else the only table; else images without classes. */
static fg_status look_at_rest(const char *folder, init_files *out, fg_error *err)
{
    fg_error why = {0};
    init_files photos = {.source = out->source};
    const fg_status status = open_photos(folder, &photos, &why);
    if (status == FG_OK && fg_catalog_class_count(photos.photos) > 1) {
        find_splits(folder, &photos);
        *out = photos;
        return FG_OK;
    }
    if (find_tables(folder, true, out)) {
        init_files_free(&photos);
        return init_list_find(out, err);
    }
    init_files_free(out);
    *out = photos;
    if (status == FG_OK)
        return FG_OK; /* refused with the reason by what reads them */
    if (status == FG_ENOTFOUND) {
        init_files_free(out);
        return init_count_names(folder, TABLES, NULL) == 0 && init_text_find(folder, out)
                   ? FG_OK
                   : refuse_folder(folder, err);
    }
    return fgi_fail(err, status, "%s", why.message);
}

static fg_status look_at_folder(const char *folder, init_files *out, fg_error *err)
{
    static const struct {
        const char *names;
        const init_kind *kind;
    } published[] = {
        {"train-images-idx3-ubyte|train-images-idx3-ubyte.gz", &init_idx},
        {"data_batch_1.bin|data_batch_1.bin.gz", &init_cifar10},
        {"fine_label_names.txt", &init_cifar100}, /* train.bin could be tokens */
    };
    char *name;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        if ((name = find_name(folder, published[i].names)) == NULL)
            continue;
        free(name);
        out->kind = published[i].kind;
        out->path = cli_strdup(folder);
        return FG_OK;
    }
    if (find_npy(folder, out))
        return FG_OK;
    init_files_free(out);
    if (init_count_names(folder, ".pack", NULL) > 0)
        return open_pack(folder, out, err);
    if (find_tables(folder, false, out))
        return init_list_find(out, err);
    init_files_free(out);
    if ((name = find_name(folder, "metadata.jsonl|train/metadata.jsonl")) == NULL)
        return look_at_rest(folder, out, err);
    const fg_status status = open_jsonl(folder, name, out, err);
    free(name);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Finds the other file of an x/y pair of .npy files, whose names differ in one letter. */
static bool find_pair(const char *path, init_files *out)
{
    static const char letters[] = "xXyY";
    char *other = cli_strdup(path);
    out->kind = &init_npy;
    for (size_t i = (size_t)(fgi_after_last(path, '/') - path); path[i] != '\0'; i++) {
        const char *mine = strchr(letters, path[i]);
        for (int k = 0; mine != NULL && k < 2 && out->path == NULL; k++) {
            const bool is_x = mine < letters + 2;
            other[i] = (is_x ? "yY" : "xX")[k];
            if (!fgi_file_exists(other))
                continue;
            out->path = cli_strdup(is_x ? path : other);
            out->y = cli_strdup(is_x ? other : path);
        }
        other[i] = path[i];
    }
    free(other);
    return out->path != NULL;
}

/* Whether a .txt file has the form of a table. */
static bool is_table_text(const char *path)
{
    init_table table;
    fg_error unused;
    if (!fgi_ends_in_one_of(path, ".txt"))
        return false;
    const bool is = init_table_read(path, &table, &unused) == FG_OK;
    init_table_free(&table);
    return is;
}

static fg_status look_at_file(const char *path, init_files *out, fg_error *err)
{
    fg_error why = {0};
    if (fgi_ends_in_one_of(path, ".npy"))
        return find_pair(path, out)
                   ? FG_OK
                   : fgi_fail(err, FG_EINVAL,
                              "'%s': found no second .npy file with the targets: expected names "
                              "such as x.npy and y.npy",
                              path);
    if (fgi_ends_in_one_of(path, ".npz"))
        return fgi_fail(err, FG_EINVAL,
                        "'%s' is an archive of arrays: set data.format to npy and data.x to one "
                        "of them, such as %s:x, or make a pack of it (fulgurite pack) and use "
                        "the pack",
                        path, path);
    if (fgi_ends_in_one_of(path, ".pack"))
        return open_pack(path, out, err);
    if (!is_table_text(path) && init_text_find(path, out))
        return FG_OK;
    const fg_status status = is_table(path) ? FG_EINVAL : open_photos(path, out, &why);
    if (status == FG_OK)
        return FG_OK;
    if (status != FG_EINVAL)
        return fgi_fail(err, status, "%s", why.message);
    init_files_free(out);
    out->kind = &init_csv; /* whatever its extension */
    out->path = cli_strdup(path);
    return init_list_find(out, err);
}

fg_status init_files_find(const char *path, const char *source, init_files *out, fg_error *err)
{
    struct stat info;
    *out = (init_files){.source = source};
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? look_at_folder(path, out, err)
                                     : look_at_file(path, out, err);
    if (fgi_ends_in_one_of(path, ".pack")) /* a set of files, or a pattern */
        return open_pack(path, out, err);
    if (strpbrk(path, "{*?[") != NULL) /* of shards */
        return open_photos(path, out, err);
    return fgi_fail_errno(err, "open", path);
}

void init_files_free(init_files *files)
{
    init_list *l = &files->list;
    char *all[] = {files->path,   files->y,       files->val,      files->val_y,     files->test,
                   files->test_y, l->path_column, l->label_column, l->label_columns, l->root,
                   l->predict,    files->text,    files->label};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    fg_catalog_close(files->photos);
    fg_pack_close(files->pack);
    *files = (init_files){.source = files->source};
}
