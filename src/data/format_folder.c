/* format_folder.c - the data formats idx, cifar10 and cifar100: folders of published datasets,
 * whose files have their usual names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

typedef struct folder {
    const char *path;
    enum { FINE, COARSE } labels; /* of cifar100 */
} folder;

static fg_data_split split_of(const fg_format_request *request)
{
    static const fg_data_split splits[] = {[FG_PART_TRAIN] = FG_TRAIN,
                                           [FG_PART_VAL] = FG_VAL,
                                           [FG_PART_TEST] = FG_TEST,
                                           [FG_PART_PREDICT] = FG_TEST};
    return splits[request->part];
}

static fg_status load_idx(const void *own, const fg_format_request *request, fg_format_data *out,
                          fg_error *err)
{
    return fg_idx_load(((const folder *)own)->path, split_of(request), &out->samples, err);
}

static fg_status load_cifar10(const void *own, const fg_format_request *request,
                              fg_format_data *out, fg_error *err)
{
    return fg_cifar10_load(((const folder *)own)->path, split_of(request), &out->samples, err);
}

static fg_status load_cifar100(const void *own, const fg_format_request *request,
                               fg_format_data *out, fg_error *err)
{
    const folder *o = own;
    return fg_cifar100_load(o->path, split_of(request), o->labels == COARSE, &out->samples, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define OPTION_PATH                                                                                \
    FG_OPTION(folder, path, STRING, NULL, NULL, "data/mnist",                                      \
              "The folder with the usual file names.")

static const fg_option path_options[] = {OPTION_PATH};
static const fg_option cifar100_options[] = {
    OPTION_PATH,
    FG_OPTION_ENUM(folder, labels, "fine", "fine|coarse", "coarse",
                   "Labels of CIFAR-100: fine, 100 classes, or coarse, 20 superclasses."),
};

#define ROW(name_, spellings_, help_, options_)                                                    \
    const fg_format_entry fgi_##name_##_row = {.entry = {.name = #name_,                           \
                                                         .help = (help_),                          \
                                                         .spellings = (spellings_),                \
                                                         FG_OPTIONS(options_, folder)},            \
                                               .files = {.train = "path"},                         \
                                               .load = load_##name_}

ROW(idx, "mnist", "MNIST's files", path_options);
ROW(cifar10, "cifar", "CIFAR-10's binary files", path_options);
ROW(cifar100, NULL, "CIFAR-100's binary files", cifar100_options);
