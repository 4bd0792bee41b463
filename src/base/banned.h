/* banned.h - makes libc functions that this project does not use compile errors. The build includes
 * it before every file of the library and the program. It includes the headers that declare the
 * functions first, because a poisoned name is an error there too.
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

/* unbounded write: use fgi_buf, or snprintf with a known size */
#pragma GCC poison strcpy strcat stpcpy sprintf vsprintf gets wcscpy wcscat
/* may omit the NUL, or pads: use memcpy with a known size, or snprintf */
#pragma GCC poison strncpy strncat stpncpy
/* no error reporting: use fgi_parse_i64, fgi_parse_f64 */
#pragma GCC poison atoi atol atoll atof
/* hidden state shared by threads: use fgi_rng, localtime_r, strerror_r */
#pragma GCC poison rand srand random srandom drand48 lrand48 mrand48
#pragma GCC poison localtime gmtime ctime asctime strerror strtok tmpnam tempnam mktemp
/* the program stays in the locale "C"; a host program chooses its own locale */
#pragma GCC poison setlocale
/* unbounded stack use (alloca itself is rejected by -Walloca, because libfyaml.h mentions it) */
#pragma GCC poison strdupa strndupa

#endif
