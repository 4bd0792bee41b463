/* terminal.h - a pseudo-terminal to write to and to read back from.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdio.h>

/* A stream to a terminal of `columns`; *out_master is its other end. Fails the test on errors. The
 * caller closes both. */
FILE *terminal_open(unsigned short columns, int *out_master);
/* What was written so far, terminated, cut at `size`. The terminal itself makes "\r\n" of "\n". */
void terminal_read(int master, char *out, size_t size);

#endif
