/* init_files.c - detects the format of a data file or folder from file names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "recipe/init_look.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/buf.h"

static bool ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), tail = strlen(end);
    return size >= tail && fgi_compare_nocase(name + size - tail, end) == 0;
}

static bool is_table(const char *name)
{
    static const char *const ends[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ends_in(name, ends[i]))
            return true;
    return false;
}

static char *join(const char *folder, const char *name)
{
    const bool has_slash = *folder != '\0' && folder[strlen(folder) - 1] == '/';
    fgi_buf path = {0};
    fgi_buf_printf(&path, "%s%s%s", folder, has_slash ? "" : "/", name);
    return fgi_take_text(&path);
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The first of these names ("a|b") that exists in the folder, owned; NULL: none. */
static char *find_name(const char *folder, const char *names)
{
    char list[256];
    (void)fgi_snprintf(list, sizeof(list), "%s", names);
    for (char *rest = list, *name; (name = strsep(&rest, "|")) != NULL;) {
        char *path = join(folder, name);
        if (path == NULL || is_there(path))
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
    out->format = "npy";
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
        if (!is_table(entry->d_name))
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

static bool look_at_tables(const char *folder, fgi_look_files *out)
{
    out->path = find_name(folder, "train.csv|training.csv|train.csv.gz|train.tsv");
    if (out->path == NULL)
        out->path = only_table(folder);
    out->val = find_name(folder, "val.csv|valid.csv|validation.csv|val.csv.gz|val.tsv");
    out->test = find_name(folder, "test.csv|test.csv.gz|test.tsv");
    out->format = "csv";
    return out->path != NULL;
}

static bool look_at_folder(const char *folder, fgi_look_files *out)
{
    char *mark = find_name(folder, "train-images-idx3-ubyte|train-images-idx3-ubyte.gz");
    out->format = "idx";
    if (mark == NULL) {
        mark = find_name(folder, "data_batch_1.bin|data_batch_1.bin.gz");
        out->format = "cifar10";
    }
    if (mark != NULL) {
        fgi_free(mark);
        out->path = fgi_strdup(folder);
        return true;
    }
    if (look_at_npy(folder, out))
        return true;
    fgi_look_files_free(out);
    if (look_at_tables(folder, out))
        return true;
    fgi_look_files_free(out);
    return false;
}

/* Finds the other file of an x/y pair of .npy files, whose names differ in one letter. */
static bool look_at_pair(const char *path, fgi_look_files *out)
{
    char *other = fgi_strdup(path);
    const char *slash = strrchr(path, '/');
    const size_t start = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    out->format = "npy";
    for (size_t i = start; other != NULL && path[i] != '\0' && out->path == NULL; i++) {
        if (strchr("xXyY", path[i]) == NULL)
            continue;
        const bool is_x = path[i] == 'x' || path[i] == 'X';
        for (const char *letter = is_x ? "yY" : "xX"; *letter != '\0' && out->path == NULL;
             letter++) {
            other[i] = *letter;
            if (!is_there(other))
                continue;
            out->path = fgi_strdup(is_x ? path : other);
            out->y = fgi_strdup(is_x ? other : path);
        }
        other[i] = path[i];
    }
    fgi_free(other);
    return out->path != NULL;
}

bool fgi_look_at(const char *path, fgi_look_files *out, fg_error *err)
{
    struct stat info;
    *out = (fgi_look_files){0};
    if (stat(path, &info) != 0)
        return fgi_refuse_errno(err, "open", path);
    if (S_ISDIR(info.st_mode) && !look_at_folder(path, out))
        return fgi_refuse(
            err,
            "'%s' contains no data in a known format: expected one .csv file or train.csv, "
            "MNIST's files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin "
            "...), or x.npy and y.npy",
            path);
    if (S_ISDIR(info.st_mode))
        return out->path != NULL || fgi_refuse_memory(err);
    if (ends_in(path, ".npy") && !look_at_pair(path, out))
        return fgi_refuse(
            err,
            "'%s': found no second .npy file with the targets: expected names such as "
            "x.npy and y.npy",
            path);
    if (out->path == NULL) { /* whatever its extension */
        out->format = "csv";
        out->path = fgi_strdup(path);
    }
    return out->path != NULL || fgi_refuse_memory(err);
}

void fgi_look_files_free(fgi_look_files *files)
{
    char *all[] = {files->path, files->y, files->val, files->val_y, files->test, files->test_y};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        fgi_free(all[i]);
    *files = (fgi_look_files){0};
}
