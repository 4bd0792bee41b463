/* banned.h - functions of libc that this project does not use, made compile errors. The build
 * includes it in front of every file of the library and the program; the headers that declare the
 * functions come first, since a poisoned name is refused there too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_BANNED_H
#define FGI_BASE_BANNED_H

#include <libgen.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#undef basename
#undef strdupa
#undef strndupa

/* no bound on what is written: fgi_buf, or snprintf with a known size */
#pragma GCC poison strcpy strcat stpcpy sprintf vsprintf gets wcscpy wcscat
/* leave text without its NUL, or pad: memcpy with a known size, or snprintf */
#pragma GCC poison strncpy strncat stpncpy
/* no way to see an error: fgi_parse_i64, fgi_parse_f64 */
#pragma GCC poison atoi atol atoll atof
/* hidden state, shared by threads: fgi_rng, localtime_r, strerror_r */
#pragma GCC poison rand srand random srandom drand48 lrand48 mrand48
#pragma GCC poison localtime gmtime ctime asctime strerror strtok tmpnam tempnam mktemp
/* the program stays in the locale "C"; the locale of a program that links the library is its own */
#pragma GCC poison setlocale
/* stack without bound (alloca itself is refused by -Walloca, since libfyaml.h names it) */
#pragma GCC poison strdupa strndupa

#endif
