/* init.h - a configuration for data, written by `fulgurite init`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INIT_H
#define INIT_H

#include "base/buf.h"
#include "cli.h"

/* All may be NULL. */
typedef struct init_options {
    const char *target; /* the column of a CSV file to predict, or of the classes of a list; NULL:
                           inferred */
    const char *source; /* options of a source of images as data.source_options has them, such as
                           "no_split_folders=true" */
} init_options;

/* Inspects data (a CSV or .npy file, a folder, a pack, or a source of images that fg_catalog_open
 * accepts) and appends a configuration that trains on them, with comments that say what was
 * detected and what was only inferred, and suggest a pack if the images are much larger than
 * training needs or many. For images, reads all names and labels, and the headers of up to 64
 * files. FG_EINVAL: options, also those that do not apply to the data; data of an unknown format.
 */
bool init_put(fgi_buf *out, const char *data, const init_options *options, fg_error *err);

/* The name of a new file for data: "homes.yaml" for "data/homes.csv.gz" or "data/homes/" and the
 * suffix ".yaml"; "run.yaml" for "." or "/". The caller frees it (fgi_free). */
char *init_name(const char *data, const char *suffix);

#endif
