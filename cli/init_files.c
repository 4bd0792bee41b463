/* init_files.c - detects the format of a data file or folder from file names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "init_look.h"
#include "recipe/config/config.h"
#include "base/file.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "catalog/catalog_options.h"
#include "base/text.h"

static bool is_table(const char *name)
{
    return fgi_ends_in_one_of(name, FGI_CONFIG_TABLES "|.parquet"); /* refused with advice */
}

static char *join(const char *folder, const char *name)
{
    const bool has_slash = *folder != '\0' && folder[strlen(folder) - 1] == '/';
    fgi_buf path = {0};
    fgi_buf_printf(&path, "%s%s%s", folder, has_slash ? "" : "/", name);
    return fgi_buf_take(&path);
}

/* The first of these names ("a|b") that exists in the folder, owned; NULL: none. */
static char *find_name(const char *folder, const char *names)
{
    char list[256];
    (void)fgi_snprintf(list, sizeof(list), "%s", names);
    for (char *rest = list, *name; (name = strsep(&rest, "|")) != NULL;) {
        char *path = join(folder, name);
        if (path == NULL || fgi_file_exists(path))
            return path;
        fgi_free(path);
    }
    return NULL;
}

static bool look_at_npy(const char *folder, fgi_look_files *out)
{
    out->path = find_name(folder, "x.npy|X.npy|x_train.npy|X_train.npy|train_x.npy|inputs.npy");
    out->y = find_name(folder, "y.npy|Y.npy|y_train.npy|Y_train.npy|train_y.npy|targets.npy|"
                               "labels.npy");
    out->val = find_name(folder, "val_x.npy|x_val.npy|X_val.npy");
    out->val_y = find_name(folder, "val_y.npy|y_val.npy");
    out->test = find_name(folder, "test_x.npy|x_test.npy|X_test.npy");
    out->test_y = find_name(folder, "test_y.npy|y_test.npy");
    out->kind = &fgi_look_npy;
    return out->path != NULL && out->y != NULL;
}

/* The only table of the folder, owned; NULL: there is none, or several. */
static char *only_table(const char *folder)
{
    char *found = NULL;
    size_t count = 0;
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) { /* the stream is not shared */
        if (!is_table(entry->d_name) || strstr(entry->d_name, "submission") != NULL)
            continue;
        fgi_free(found);
        found = join(folder, entry->d_name);
        count++;
    }
    if (entries != NULL)
        (void)closedir(entries);
    if (count == 1)
        return found;
    fgi_free(found);
    return NULL;
}

/* The training table, or else the only one. */
static bool look_at_tables(const char *folder, bool is_only, fgi_look_files *out)
{
    out->path = is_only ? only_table(folder)
                        : find_name(folder, "train.csv|training.csv|train.csv.gz|train.tsv|"
                                            "metadata.csv|train/metadata.csv");
    out->val = find_name(folder, "val.csv|valid.csv|validation.csv|val.csv.gz|val.tsv|"
                                 "validation/metadata.csv|val/metadata.csv|valid/metadata.csv");
    out->test = find_name(folder, "test.csv|test.csv.gz|test.tsv|test/metadata.csv");
    out->kind = &fgi_look_csv;
    return out->path != NULL;
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool open_photos(const char *path, fgi_look_files *out, fg_error *err)
{
    fg_catalog_options options = {.skip_missing = true};
    void *texts = NULL;
    out->kind = &fgi_look_images;
    out->path = fgi_strdup(path);
    if (out->path == NULL)
        return cli_refuse_memory(err);
    fg_status status = fgi_catalog_options_read(out->source, &options, &texts, NULL, err);
    if (status == FG_OK)
        status = fg_catalog_open(path, &options, &out->photos, err);
    fgi_free(texts);
    return status == FG_OK;
}

/* The lists of a folder in the layout of Hugging Face. */
static bool look_at_jsonl(const char *folder, fgi_look_files *out, bool *out_is_good, fg_error *err)
{
    char *path = find_name(folder, "metadata.jsonl|train/metadata.jsonl");
    if (path == NULL)
        return false;
    *out_is_good = open_photos(path, out, err);
    fgi_free(path);
    out->val = find_name(folder, "validation/metadata.jsonl|val/metadata.jsonl|"
                                 "valid/metadata.jsonl");
    out->test = find_name(folder, "test/metadata.jsonl");
    return true;
}

static bool open_pack(const char *path, fgi_look_files *out, fg_error *err)
{
    out->kind = &fgi_look_pack;
    out->path = fgi_strdup(path);
    if (out->path == NULL)
        return cli_refuse_memory(err);
    return fg_pack_open(path, NULL, &out->pack, err) == FG_OK;
}

/* Whether a folder has a file with the extension of packs. */
static bool has_pack(const char *folder)
{
    bool has = false;
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && !has && (entry = readdir(entries)) != NULL)
        has = fgi_ends_in_one_of(entry->d_name, ".pack");
    if (entries != NULL)
        (void)closedir(entries);
    return has;
}

/* Whether it is a folder of images without classes, as the test images on Kaggle are. */
static bool is_unlabeled(const char *folder)
{
    fg_catalog *catalog = NULL;
    fg_error unused;
    const bool is = fg_catalog_open(folder, NULL, &catalog, &unused) == FG_OK &&
                    fg_catalog_class_count(catalog) == 0;
    fg_catalog_destroy(catalog);
    return is;
}

/* Folders with the usual names next to the folder that is given: photos/val of photos/train. */
static void look_for_splits(const char *folder, fgi_look_files *out)
{
    const size_t size = strlen(folder);
    const size_t end = size > 0 && folder[size - 1] == '/' ? size - 1 : size;
    static const char train[] = "/train";
    const size_t tail = sizeof(train) - 1;
    if (end <= tail || strncmp(folder + end - tail, train, tail) != 0)
        return;
    char *parent = fgi_strndup(folder, end - tail);
    if (parent == NULL)
        return;
    out->val = find_name(parent, "val|valid|validation");
    out->test = find_name(parent, "test");
    if (out->test != NULL && is_unlabeled(out->test)) {
        out->list.predict = out->test;
        out->test = NULL;
    }
    fgi_free(parent);
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool has_classes(const fg_catalog *catalog) { return fg_catalog_class_count(catalog) > 1; }

static bool refuse_folder(const char *folder, fg_error *err)
{
    return cli_refuse(
        err,
        "'%s' contains no data in a known format: expected one .csv file or train.csv, "
        "MNIST's files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin "
        "...), CIFAR-100's (fine_label_names.txt ...), x.npy and y.npy, or a folder of images for "
        "each class",
        folder);
}

/* Images, if they have classes; else the only table; else images without classes. */
static bool look_at_rest(const char *folder, fgi_look_files *out, fg_error *err)
{
    fg_error why = {0};
    fgi_look_files photos = {.source = out->source};
    if (open_photos(folder, &photos, &why) && has_classes(photos.photos)) {
        look_for_splits(folder, &photos);
        *out = photos;
        return true;
    }
    if (look_at_tables(folder, true, out)) {
        fgi_look_files_free(&photos);
        return fgi_look_at_list(out, err);
    }
    fgi_look_files_free(out);
    *out = photos;
    if (photos.photos != NULL)
        return true; /* refused with the reason by what reads them */
    if (why.status == FG_ENOTFOUND)
        return refuse_folder(folder, err);
    return fgi_fail(err, why.status, "%s", why.message) == FG_OK;
}

static bool look_at_folder(const char *folder, fgi_look_files *out, fg_error *err)
{
    static const struct {
        const char *names;
        const fgi_look_kind *kind;
    } published[] = {
        {"train-images-idx3-ubyte|train-images-idx3-ubyte.gz", &fgi_look_idx},
        {"data_batch_1.bin|data_batch_1.bin.gz", &fgi_look_cifar10},
        {"fine_label_names.txt", &fgi_look_cifar100}, /* train.bin could be tokens */
    };
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        char *mark = find_name(folder, published[i].names);
        if (mark == NULL)
            continue;
        fgi_free(mark);
        out->kind = published[i].kind;
        out->path = fgi_strdup(folder);
        return out->path != NULL || cli_refuse_memory(err);
    }
    if (look_at_npy(folder, out))
        return true;
    fgi_look_files_free(out);
    if (has_pack(folder))
        return open_pack(folder, out, err);
    if (look_at_tables(folder, false, out))
        return fgi_look_at_list(out, err);
    fgi_look_files_free(out);
    bool is_good = false;
    if (look_at_jsonl(folder, out, &is_good, err))
        return is_good;
    return look_at_rest(folder, out, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Finds the other file of an x/y pair of .npy files, whose names differ in one letter. */
static bool look_at_pair(const char *path, fgi_look_files *out)
{
    char *other = fgi_strdup(path);
    const size_t start = (size_t)(fgi_after_last(path, '/') - path);
    out->kind = &fgi_look_npy;
    for (size_t i = start; other != NULL && path[i] != '\0' && out->path == NULL; i++) {
        if (strchr("xXyY", path[i]) == NULL)
            continue;
        const bool is_x = path[i] == 'x' || path[i] == 'X';
        for (const char *letter = is_x ? "yY" : "xX"; *letter != '\0' && out->path == NULL;
             letter++) {
            other[i] = *letter;
            if (!fgi_file_exists(other))
                continue;
            out->path = fgi_strdup(is_x ? path : other);
            out->y = fgi_strdup(is_x ? other : path);
        }
        other[i] = path[i];
    }
    fgi_free(other);
    return out->path != NULL;
}

static bool look_at_file(const char *path, fgi_look_files *out, fg_error *err)
{
    fg_error why = {0};
    if (fgi_ends_in_one_of(path, ".npy"))
        return look_at_pair(path, out) ||
               cli_refuse(err,
                          "'%s': found no second .npy file with the targets: expected names such "
                          "as x.npy and y.npy",
                          path);
    if (fgi_ends_in_one_of(path, ".npz"))
        return cli_refuse(err,
                          "'%s' is an archive of arrays: set data.format to npy and data.x to one "
                          "of them, such as %s:x, or make a pack of it (fulgurite pack) and use "
                          "the pack",
                          path, path);
    if (fgi_ends_in_one_of(path, ".pack"))
        return open_pack(path, out, err);
    if (!is_table(path) && open_photos(path, out, &why))
        return true;
    const bool is_other = !is_table(path) && why.status != FG_EINVAL;
    fgi_look_files_free(out);
    if (is_other)
        return fgi_fail(err, why.status, "%s", why.message) == FG_OK;
    out->kind = &fgi_look_csv; /* whatever its extension */
    out->path = fgi_strdup(path);
    return out->path != NULL ? fgi_look_at_list(out, err) : cli_refuse_memory(err);
}

static bool look_at(const char *path, fgi_look_files *out, fg_error *err)
{
    struct stat info;
    const bool has_path = stat(path, &info) == 0;
    if (!has_path && fgi_ends_in_one_of(path, ".pack")) /* a set of files, or a pattern */
        return open_pack(path, out, err);
    if (!has_path && strpbrk(path, "{*?[") != NULL) /* of shards */
        return open_photos(path, out, err);
    if (!has_path)
        return cli_refuse_errno(err, "open", path);
    return S_ISDIR(info.st_mode) ? look_at_folder(path, out, err) : look_at_file(path, out, err);
}

bool fgi_look_at(const char *path, const char *source, fgi_look_files *out, fg_error *err)
{
    *out = (fgi_look_files){.source = source};
    if (look_at(path, out, err))
        return true;
    fgi_look_files_free(out);
    return false;
}

void fgi_look_files_free(fgi_look_files *files)
{
    fgi_look_list *l = &files->list;
    char *all[] = {files->path,   files->y,       files->val,      files->val_y, files->test,
                   files->test_y, l->path_column, l->label_column, l->root,      l->predict};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        fgi_free(all[i]);
    fg_catalog_destroy(files->photos);
    fg_pack_close(files->pack);
    *files = (fgi_look_files){.source = files->source};
}
