/* chip_table.h - the table of accelerators, printed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHIP_TABLE_H
#define CHIP_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/* As lines, or as one JSON object {"chips": [...]}. */
void chip_table_print(FILE *out, bool as_json);

#endif
