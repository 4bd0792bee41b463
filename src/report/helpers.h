/* helpers.h - small things that reports and recipes share: errors of the user's input, sizes in
 * words, the clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HELPERS_H
#define FGI_REPORT_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <fulgurite/base.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/text.h"

/* FG_EINVAL in err, and false, for functions that return bool. */
bool fgi_refuse(fg_error *err, const char *format, ...) FG_PRINTF(2, 3);
/* The same from errno: "cannot open 'path': No such file or directory". */
bool fgi_refuse_errno(fg_error *err, const char *what, const char *path);

/* Memory or the end of the program. */
void *fgi_must_alloc(size_t count, size_t size); /* cleared */
void *fgi_must_realloc(void *block, size_t count, size_t size);
char *fgi_must_strdup(const char *text);
char *fgi_must_strndup(const char *text, size_t size);

/* Whether two words are equal but for the case of ASCII letters: 0, as strcasecmp. */
int fgi_compare_nocase(const char *a, const char *b);

/* The value as JSON (fgi_free); NULL when out of memory, or when it has none. */
char *fgi_json_text(const json_t *value, size_t flags);
void fgi_json_print(FILE *out, const json_t *value, size_t flags);

/* Seconds of the monotonic clock. */
double fgi_now_s(void);

/* "12 B", "3.4 kB", "1.2 GB" in a static buffer of the thread; valid until its next call. */
const char *fgi_bytes_words(double bytes);

#endif
