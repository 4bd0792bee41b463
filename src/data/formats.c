/* formats.c - the data formats that exist: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_csv_row)                                                                               \
    ROW(fgi_idx_row)                                                                               \
    ROW(fgi_cifar10_row)                                                                           \
    ROW(fgi_cifar100_row)                                                                          \
    ROW(fgi_npy_row)                                                                               \
    ROW(fgi_images_row)                                                                            \
    ROW(fgi_pack_row)

#define DECLARE(name) extern const fg_format_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_format_rows[] = {ROWS(ADDRESS)};
const size_t fgi_format_row_count = sizeof fgi_format_rows / sizeof fgi_format_rows[0];

fg_status fgi_format_open_folder(const char *path, const fg_format_request *request,
                                 fgi_open_split *open, fg_format_data *out, fg_error *err)
{
    static const fg_data_split splits[] = {[FG_PART_TRAIN] = FG_TRAIN,
                                           [FG_PART_VAL] = FG_VAL,
                                           [FG_PART_TEST] = FG_TEST,
                                           [FG_PART_PREDICT] = FG_TEST};
    return open(path, splits[request->part], &out->samples, err);
}

void fgi_format_say(const fg_format_request *request, fg_log_level level, const char *line)
{
    if (request->say != NULL)
        request->say(request->say_self, level, line);
}
