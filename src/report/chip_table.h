/* chip_table.h - the table of accelerators, printed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_CHIP_TABLE_H
#define FGI_REPORT_CHIP_TABLE_H

#include <stdbool.h>

#include "base/buf.h"

/* As lines, or as one JSON object {"chips": [...]}. */
void fgi_chip_table_print(fgi_buf *out, bool as_json);

#endif
