/* print.h - locale-independent text. A program that links the library may have called
 * setlocale(LC_ALL, ""): then printf may write "0,5", and strtod may stop at the point of "0.5".
 * Every number that the library writes or reads uses this file, text.h or input/json_file.h.
 * `tools/check banned` rejects locale-dependent libc calls elsewhere in the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_PRINT_H
#define FGI_BASE_PRINT_H

#include <fulgurite/base.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

/* Between the two calls the calling thread (only) uses the locale "C". They can be nested, allocate
 * nothing and cannot fail. */
locale_t fgi_locale_enter(void);
void fgi_locale_leave(locale_t before);

/* Like the libc functions with the same name, in the locale "C". */
int fgi_snprintf(char *out, size_t size, const char *format, ...) FG_PRINTF(3, 4);
int fgi_vsnprintf(char *out, size_t size, const char *format, va_list args) FG_PRINTF(3, 0);
int fgi_fprintf(FILE *out, const char *format, ...) FG_PRINTF(2, 3);

/* strerror in the locale "C", so that messages are always in English and searchable. Valid until
 * the thread's next call. */
const char *fgi_errno_text(int number);

/* Whether it is a terminal that can return to the start of the line, and the current number of its
 * columns; `otherwise` if that is unknown. */
bool fgi_is_terminal(FILE *out);
size_t fgi_terminal_columns(FILE *out, size_t otherwise);

/* A size in decimal units, "12 B", "3.4 kB", "1.2 GB"; "?" if it is negative or NaN (unknown). In a
 * buffer of the thread that its next seven calls do not overwrite. */
const char *fgi_bytes_words(double bytes);
/* A count, "12,800"; below 10 with one decimal. In a buffer like that of fgi_bytes_words. */
const char *fgi_count_words(double value);

#endif
