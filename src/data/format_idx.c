/* format_idx.c - the data format idx: MNIST and datasets in its files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

typedef struct idx {
    const char *path;
} idx;

static fg_status open_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    const idx *o = own;
    return fgi_format_open_folder(o->path, request, fg_idx_open, out, err);
}

static const fg_option options[] = {FGI_OPTION_FOLDER(idx)};

const fg_format_entry fgi_idx_row = {.entry = {.name = "idx",
                                               .help = "MNIST's files",
                                               .spellings = "mnist",
                                               FG_OPTIONS(options, idx)},
                                     .files = {.train = "path"},
                                     .open = open_part};
