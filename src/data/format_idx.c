/* format_idx.c - the data format idx: MNIST and datasets in its files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    return fgi_format_open_folder(values, request, fg_idx_open, out, err);
}

static const fg_option options[] = {FGI_OPTION_FOLDER};

const fg_format_entry fgi_idx_row = {.entry = {.name = "idx",
                                               .help = "MNIST's files",
                                               .spellings = "mnist",
                                               .options = options,
                                               .option_count = sizeof options / sizeof options[0]},
                                     .files = {.train = "path"},
                                     .open = open_part};
