/* formats.h - the rows of data formats, and what they share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_FORMATS_H
#define FGI_DATA_FORMATS_H

#include <fulgurite/format.h>

/* The built-in rows (formats.c). */
extern const fg_entry *const fgi_format_rows[];
extern const size_t fgi_format_row_count;
extern const fg_format_entry fgi_csv_row, fgi_idx_row, fgi_cifar10_row, fgi_cifar100_row,
    fgi_npy_row, fgi_images_row, fgi_pack_row, fgi_text_row;

/* Passes a line to the request, if anyone listens. */
void fgi_format_say(const fg_format_request *request, fg_log_level level, const char *line);

/* Rows of several formats: `type` is the format's struct. */
#define FGI_OPTION_PREDICT(type)                                                                   \
    FG_OPTION_AS("predict", type, paths[FG_PART_PREDICT], STRING, NULL, NULL, "data/new.csv",      \
                 "New samples for `predict`; targets are not read. Default: the test data, or "    \
                 "else the validation data.")
#define FGI_OPTION_LABEL_SEPARATOR(type, member)                                                   \
    FG_OPTION_AS("label_separator", type, member, STRING, "\";|\"", NULL, "\" \"",                 \
                 "What separates the labels of a sample in one cell, as in cat;dog: any of these " \
                 "characters.")
#define FGI_OPTION_IMAGE(type)                                                                     \
    FG_OPTION(type, image, INTS, "[]", "1..65536", "[28, 28, 1]",                                  \
              "The columns of a csv, or the numbers of a flat npy sample, are the pixels of an "   \
              "image: [height, width, channels].")
#define FGI_OPTION_NORMALIZE(type, member)                                                         \
    FG_OPTION_NOT("normalize", type, member, "false",                                              \
                  "Subtract the mean and divide by the standard deviation, both over the "         \
                  "training rows: each numeric column of a csv, and the target of a regression. "  \
                  "Metrics and predictions remain in the target's own unit. Images and the "       \
                  "inputs of npy are not normalized.")

#endif
