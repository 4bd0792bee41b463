/* format_cifar.c - the data formats cifar10 and cifar100: the binary files of CIFAR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "data/formats.h"

static fg_status open_10(const fg_option_values *values, const fg_format_request *request,
                         fg_format_data *out, fg_error *err)
{
    return fgi_format_open_folder(values, request, fg_cifar10_open, out, err);
}

static const fg_option options_10[] = {FGI_OPTION_FOLDER};

const fg_format_entry fgi_cifar10_row = {
    .entry = {.name = "cifar10",
              .help = "CIFAR-10's binary files",
              .spellings = "cifar",
              .options = options_10,
              .option_count = sizeof options_10 / sizeof options_10[0]},
    .files = {.train = "path"},
    .open = open_10};

static fg_status open_fine(const char *folder, fg_data_split split, fg_dataset **out, fg_error *err)
{
    return fg_cifar100_open(folder, split, false, out, err);
}

static fg_status open_coarse(const char *folder, fg_data_split split, fg_dataset **out,
                             fg_error *err)
{
    return fg_cifar100_open(folder, split, true, out, err);
}

static fg_status open_100(const fg_option_values *values, const fg_format_request *request,
                          fg_format_data *out, fg_error *err)
{
    const bool is_coarse = strcmp(fg_option_string(values, "labels"), "coarse") == 0;
    return fgi_format_open_folder(values, request, is_coarse ? open_coarse : open_fine, out, err);
}

static const fg_option options_100[] = {
    FGI_OPTION_FOLDER,
    {.name = "labels",
     .kind = FG_OPTION_CHOICE,
     .initial = "fine",
     .range = "fine|coarse",
     .example = "coarse",
     .help = "Labels of CIFAR-100: fine, 100 classes, or coarse, 20 superclasses."},
};

const fg_format_entry fgi_cifar100_row = {
    .entry = {.name = "cifar100",
              .help = "CIFAR-100's binary files",
              .options = options_100,
              .option_count = sizeof options_100 / sizeof options_100[0]},
    .files = {.train = "path"},
    .open = open_100};
