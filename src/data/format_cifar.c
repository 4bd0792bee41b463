/* format_cifar.c - the data formats cifar10 and cifar100: the binary files of CIFAR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

typedef struct cifar10 {
    const char *path;
} cifar10;

static fg_status open_10(const void *own, const fg_format_request *request, fg_format_data *out,
                         fg_error *err)
{
    const cifar10 *o = own;
    return fgi_format_open_folder(o->path, request, fg_cifar10_open, out, err);
}

static const fg_option options_10[] = {FGI_OPTION_FOLDER(cifar10)};

const fg_format_entry fgi_cifar10_row = {.entry = {.name = "cifar10",
                                                   .help = "CIFAR-10's binary files",
                                                   .spellings = "cifar",
                                                   FG_OPTIONS(options_10, cifar10)},
                                         .files = {.train = "path"},
                                         .open = open_10};

typedef struct cifar100 {
    const char *path;
    enum { FINE, COARSE } labels;
} cifar100;

static fg_status open_fine(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    return fg_cifar100_open(folder, split, false, out, err);
}

static fg_status open_coarse(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err)
{
    return fg_cifar100_open(folder, split, true, out, err);
}

static fg_status open_100(const void *own, const fg_format_request *request, fg_format_data *out,
                          fg_error *err)
{
    const cifar100 *o = own;
    return fgi_format_open_folder(o->path, request, o->labels == COARSE ? open_coarse : open_fine,
                                  out, err);
}

static const fg_option options_100[] = {
    FGI_OPTION_FOLDER(cifar100),
    FG_OPTION_ENUM(cifar100, labels, "fine", "fine|coarse", "coarse",
                   "Labels of CIFAR-100: fine, 100 classes, or coarse, 20 superclasses."),
};

const fg_format_entry fgi_cifar100_row = {.entry = {.name = "cifar100",
                                                    .help = "CIFAR-100's binary files",
                                                    FG_OPTIONS(options_100, cifar100)},
                                          .files = {.train = "path"},
                                          .open = open_100};
