/* forms.h - how programs are written, as short lines for a golden file: a change of the form alone,
 * which computes the same in another time, shows there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMS_H
#define FORMS_H

#include <stdio.h>

/* Writes one line: the name, how many there are of each operation of the program's text, in the
 * order in which they first occur, and a checksum of the text without the operations' places. */
void forms_write(FILE *out, const char *name, const char *program);

#endif
