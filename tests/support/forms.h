/* forms.h - summaries of program texts, as short lines for a golden file: they show changes that
 * affect only performance, not results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMS_H
#define FORMS_H

#include <stdio.h>

/* Writes one line: the name, the count of each operation in the program's text, in the order of
 * first occurrence, and a checksum of the text without locations. */
void forms_write(FILE *out, const char *name, const char *program);

#endif
