/* format_cifar10.c - the data format cifar10: CIFAR-10's binary files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    return fgi_format_open_folder(values, request, fg_cifar10_open, out, err);
}

static const fg_option options[] = {FGI_OPTION_FOLDER};

const fg_format_entry fgi_cifar10_row = {
    .entry = {.name = "cifar10",
              .help = "CIFAR-10's binary files",
              .spellings = "cifar",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .files = {.train = "path"},
    .open = open_part};
