/* pack_read.h - what the subcommands of pack do with packs that exist. Texts are appended to `out`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PACK_READ_H
#define PACK_READ_H

#include <fulgurite/pack_export.h>

#include "base/buf.h"
#include "cli.h"

/* The subcommands (cmd_pack_read.c). */
extern const cli_command cli_pack_info, cli_pack_verify, cli_pack_rebuild, cli_pack_export,
    cli_pack_show;

/* What a pack contains: version, files, codecs, sizes, splits, classes and their balance, fields,
 * metadata; as lines, of more than 20 classes the 10 largest and the 10 smallest, or as one JSON
 * object with everything. Reads the index, not the records. */
fg_status pack_info(const char *path, bool as_json, fgi_buf *out, fg_error *err);

/* Reads all of a pack and verifies each byte: one line per fault, and what to do about them.
 * *out_is_damaged: there are faults, or the pack cannot be opened because it is damaged. */
fg_status pack_verify(const char *path, fgi_buf *out, bool *out_is_damaged, fg_error *err);

/* Rebuilds a file of a pack and reports what was lost. out_path NULL: `path` is replaced. */
fg_status pack_rebuild(const char *path, const char *out_path, fgi_buf *out, fg_error *err);

/* Exports records of a pack and reports how many files were written. */
fg_status pack_export(const char *path, const char *out_path, const fg_pack_export_options *options,
                      fgi_buf *out, fg_error *err);

/* What a contact sheet shows. */
typedef struct pack_sheet_options {
    int rows, columns; /* of images                                                 [6, 8] */
    int cell;          /* pixels: images are scaled to fit in a square of this size [128] */
    bool by_class;     /* one row per class instead, the first classes */
    fg_pack_select_options select; /* which records; its limit has no effect */
} pack_sheet_options;

/* Draws images of a pack into a grid and writes it as a PNG file, replaced atomically. Each image
 * has its class name below it, or its file name if it has no class. `out` gets one line per image:
 * row, column, number of the record, class and name, separated by tabs. Errors: FG_EINVAL,
 * FG_ENOTFOUND (no record is selected) ... */
fg_status pack_sheet(const char *path, const pack_sheet_options *options, const char *out_path,
                     fgi_buf *out, fg_error *err);

/* The same of `rows` images, each followed by columns - 1 [7] augmented versions with different
 * random numbers, which follow from the seed of the selection. `augment` is a list as in
 * data.augment, such as "random_flip, color_jitter: {brightness: 0.4}". Images that all have the
 * same size, up to 256 x 256, are augmented as they are; otherwise, the square in the middle of
 * each image, resized to `cell`. Computed on the CPU, with one compiled program. `out` gets one
 * line per image: row, number of the record and class. */
fg_status pack_augment(const char *path, const char *augment, const pack_sheet_options *options,
                       const char *out_path, fgi_buf *out, fg_error *err);

#endif
