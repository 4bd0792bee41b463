/* arrays_source.c - finds the arrays in a folder and packs them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_arrays.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "data/npy.h"
#include "packer/packer.h"

enum { SPLITS = 3, PATH = 4096 };

/* Writes the path of the file "x.npy" of a folder, or of the array "x" of an archive. */
static void put_path(const char *source, const char *name, char out[PATH])
{
    const int size = (int)strlen(name) - (fgi_ends_with(name, ".npy") ? 4 : 0);
    if (fgi_ends_with(source, ".npz"))
        (void)fgi_snprintf(out, PATH, "%s:%.*s", source, size, name);
    else
        (void)fgi_snprintf(out, PATH, "%s/%s", source, name);
}

static bool has_file(const char *source, const char *name)
{
    char path[PATH];
    put_path(source, name, path);
    if (strlen(path) + 1 >= PATH)
        return false;
    return fgi_ends_with(source, ".npz") ? fgi_npz_has(source, path + strlen(source) + 1)
                                         : fgi_file_exists(path);
}

static bool has_any(const char *folder, const char *const *names)
{
    for (; *names != NULL; names++)
        if (has_file(folder, *names))
            return true;
    return false;
}

static const char *const idx_names[] = {"train-images-idx3-ubyte", "train-images.idx3-ubyte",
                                        "train-images-idx3-ubyte.gz", "train-images.idx3-ubyte.gz",
                                        NULL};
static const char *const cifar_names[] = {"data_batch_1.bin",
                                          "cifar-10-batches-bin/data_batch_1.bin", NULL};
static const char *const cifar100_names[] = {"fine_label_names.txt",
                                             "cifar-100-binary/fine_label_names.txt", NULL};
static const char *const npy_names[] = {"x.npy", "x_train.npy", NULL};

bool fg_pack_arrays_accepts(const char *source)
{
    return fgi_ends_with(source, ".npy") || fgi_npz_is(source) || has_any(source, idx_names) ||
           has_any(source, cifar_names) || has_any(source, cifar100_names) ||
           has_any(source, npy_names);
}

bool fgi_packer_is_tokens(const char *source)
{
    static const char *const names[] = {"train.bin", "train.txt", "train.npy", NULL};
    return fgi_is_file(source) ? fgi_ends_with(source, ".txt") || fgi_ends_with(source, ".bin")
                               : has_any(source, names);
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef fg_status open_split(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err);

/* A published dataset; a missing file of validation samples is not an error. */
static fg_status open_published(const char *folder, open_split *open, fg_dataset *out[SPLITS],
                                fg_error *err)
{
    fg_error missing;
    FGI_TRY(open(folder, FG_TRAIN, &out[FG_TRAIN], err));
    const fg_status status = open(folder, FG_VAL, &out[FG_VAL], &missing);
    if (status == FG_OK || status == FG_ENOTFOUND)
        return FG_OK;
    if (err != NULL)
        *err = missing;
    return status;
}

static fg_status open_fine(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    return fg_cifar100_open(folder, split, false, out, err);
}

/* One split of a folder of .npy files, if its inputs exist. */
static fg_status open_npy(const char *folder, const char *x_name, const char *y_name,
                          fg_dataset **out, fg_error *err)
{
    char x[PATH], y[PATH];
    if (*out != NULL || !has_file(folder, x_name))
        return FG_OK;
    put_path(folder, x_name, x);
    put_path(folder, y_name, y);
    return fg_npy_open(x, has_file(folder, y_name) ? y : NULL, NULL, out, err);
}

static fg_status open_npy_folder(const char *folder, fg_dataset *out[SPLITS], fg_error *err)
{
    static const char *const names[SPLITS][4] = {
        {"x.npy", "y.npy", "x_train.npy", "y_train.npy"},
        {"val_x.npy", "val_y.npy", "x_val.npy", "y_val.npy"},
        {"test_x.npy", "test_y.npy", "x_test.npy", "y_test.npy"},
    };
    for (int i = 0; i < SPLITS; i++)
        for (int k = 0; k < 4; k += 2)
            FGI_TRY(open_npy(folder, names[i][k], names[i][k + 1], &out[i], err));
    return FG_OK;
}

static fg_status open_token_folder(const char *folder, int64_t sequence, fg_dataset *out[SPLITS],
                                   fg_error *err)
{
    static const char *const splits[SPLITS] = {"train", "val", "test"};
    static const char *const extensions[] = {".npy", ".bin", ".txt"};
    for (int i = 0; i < SPLITS; i++)
        for (size_t k = 0; k < 3; k++) {
            char path[PATH], name[16];
            (void)fgi_snprintf(name, sizeof name, "%s%s", splits[i], extensions[k]);
            (void)fgi_snprintf(path, sizeof path, "%s/%s", folder, name);
            if (out[i] == NULL && has_file(folder, name))
                FGI_TRY(fg_tokens_open(path, sequence, &out[i], err));
        }
    if (out[FG_TRAIN] != NULL)
        return FG_OK;
    /* not a folder of tokens: one file, or an error that names it */
    return fg_tokens_open(folder, sequence, &out[FG_TRAIN], err);
}

static fg_status open_source(const char *source, int64_t sequence, fg_dataset *out[SPLITS],
                             fg_error *err)
{
    if (sequence != 0)
        return open_token_folder(source, sequence, out, err);
    if (fgi_npz_is(source) && !has_any(source, npy_names))
        return fg_npy_open(source, NULL, NULL, &out[FG_TRAIN], err);
    if (has_any(source, idx_names))
        return open_published(source, fg_idx_open, out, err);
    if (has_any(source, cifar_names))
        return open_published(source, fg_cifar10_open, out, err);
    if (has_any(source, cifar100_names))
        return open_published(source, open_fine, out, err);
    if (has_any(source, npy_names))
        return open_npy_folder(source, out, err);
    if (fgi_ends_with(source, ".npy"))
        return fg_npy_open(source, NULL, NULL, &out[FG_TRAIN], err);
    return fgi_fail(
        err, FG_ENOTFOUND,
        "'%s' has no arrays: expected a folder with the files of MNIST or CIFAR, "
        "with x.npy or x_train.npy, or a file .npy or .npz; for tokens, set the sequence length",
        source);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static fg_status hold_out(const fg_pack_arrays_options *o, fg_dataset *datasets[SPLITS],
                          fg_error *err)
{
    fg_dataset *train = NULL, *val = NULL;
    if (o->val_fraction == 0 || datasets[FG_VAL] != NULL)
        return FG_OK;
    FGI_TRY(fg_dataset_split(datasets[FG_TRAIN],
                             &(fg_split_options){.val_fraction = o->val_fraction, .seed = o->seed},
                             &train, &val, err));
    fg_dataset_destroy(datasets[FG_TRAIN]);
    datasets[FG_TRAIN] = train;
    datasets[FG_VAL] = val;
    return FG_OK;
}

/* The source with the options that determine its samples: for messages, the metadata and the
 * fingerprint. */
static void describe(const char *source, const fg_pack_arrays_options *o, char out[PATH + 128])
{
    char sequence[48] = "", split[80] = "";
    if (o->sequence != 0)
        (void)fgi_snprintf(sequence, sizeof sequence, ", sequence %lld", (long long)o->sequence);
    if (o->val_fraction != 0)
        (void)fgi_snprintf(split, sizeof split, ", val_fraction %.17g, seed %llu", o->val_fraction,
                           (unsigned long long)o->seed);
    (void)fgi_snprintf(out, PATH + 128, "%s%s%s", source, sequence, split);
}

fg_status fg_pack_arrays(const char *source, const char *out_path,
                         const fg_pack_arrays_options *options, int64_t *out_count, fg_error *err)
{
    char text[PATH + 128];
    fg_pack_arrays_options o = {0};
    fg_dataset *datasets[SPLITS] = {NULL, NULL, NULL};
    if (out_count != NULL)
        *out_count = 0;
    FGI_TRY_RESERVED(fg_pack_arrays_options, options, err);
    if (options != NULL)
        o = *options;
    describe(source, &o, text);
    fg_status status = open_source(source, o.sequence, datasets, err);
    if (status == FG_OK)
        status = hold_out(&o, datasets, err);
    if (status == FG_OK)
        status = fg_pack_datasets(datasets, text, out_path, &o, out_count, err);
    for (int i = 0; i < SPLITS; i++)
        fg_dataset_destroy(datasets[i]);
    return status;
}
