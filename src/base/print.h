/* print.h - text without the host program's locale. A program that links the library may have
 * called setlocale(LC_ALL, ""): from then on printf writes "0,5" and strtod stops at the point of
 * "0.5". Every number that the library writes or reads passes here, text.h, or ckpt/json_file.h.
 * `tools/check banned` refuses the libc calls that depend on a locale elsewhere in the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_PRINT_H
#define FGI_BASE_PRINT_H

#include <fulgurite/base.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

/* Between the two calls the calling thread, and no other, is in the locale "C". They nest, allocate
 * nothing and cannot fail. */
locale_t fgi_locale_enter(void);
void fgi_locale_leave(locale_t before);

/* As their namesakes of libc, in the locale "C". */
int fgi_snprintf(char *out, size_t size, const char *format, ...) FG_PRINTF(3, 4);
int fgi_vsnprintf(char *out, size_t size, const char *format, va_list args) FG_PRINTF(3, 0);
int fgi_fprintf(FILE *out, const char *format, ...) FG_PRINTF(2, 3);

/* strerror in the locale "C", so that messages are of one language and can be searched for. Valid
 * until the thread's next call. */
const char *fgi_errno_text(int number);

#endif
