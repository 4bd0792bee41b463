/* formats.c - the data formats that exist: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/formats.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_csv_row)                                                                               \
    ROW(fgi_text_row)                                                                              \
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

void fgi_format_say(const fg_format_request *request, fg_log_level level, const char *line)
{
    if (request->say != NULL)
        request->say(request->say_self, level, line);
}
