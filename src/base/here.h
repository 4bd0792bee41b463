/* here.h - the line of the user's program that called the library, by thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_HERE_H
#define FGI_BASE_HERE_H

#include <stddef.h>

/* The calling thread's last fg_here; file NULL: none. */
void fgi_here_get(const char **out_file, int *out_line);
/* The same for the current call only: file NULL if nothing was recorded since the last get or take,
 * because the caller has no macro that does it. */
void fgi_here_take(const char **out_file, int *out_line);
/* Writes "file:line", with the end of the path if it is too long. */
void fgi_format_place(char *out, size_t size, const char *file, int line);

#endif
