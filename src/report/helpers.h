/* helpers.h - helpers for reports and recipes: errors in the user's input, JSON, the clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HELPERS_H
#define FGI_REPORT_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <fulgurite/base.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"
#include "base/buf.h"

/* Sets err to FG_EINVAL and returns false, for functions that return bool. */
bool fgi_refuse(fg_error *err, const char *format, ...) FG_PRINTF(2, 3);
/* The same from errno: "cannot open 'path': No such file or directory". */
bool fgi_refuse_errno(fg_error *err, const char *what, const char *path);

/* Sets err to FG_ENOMEM and returns false. */
bool fgi_refuse_memory(fg_error *err);
/* A copy of the first bytes of a string (fgi_free), or NULL. */
char *fgi_strndup(const char *text, size_t size);

/* Takes the text of a buffer (fgi_free), which is empty afterwards; NULL when out of memory. */
char *fgi_take_text(fgi_buf *buf);

/* The value as JSON text (fgi_free); NULL when out of memory, or if it cannot be represented. */
char *fgi_json_text(const json_t *value, size_t flags);
/* A string; null for NULL, "" and what is not UTF-8, which JSON cannot represent. A new reference.
 */
json_t *fgi_json_string(const char *text);
void fgi_json_print(fgi_buf *out, const json_t *value, size_t flags);
/* Numbers; null for one that is not finite. A new reference. */
json_t *fgi_json_reals(const double *values, size_t count);

/* A number of the object `o` (NULL is allowed); NaN if it is missing or null. */
double fgi_json_number(const json_t *o, const char *key);
/* The number of seconds in key_s, or in key. */
double fgi_json_seconds(const json_t *o, const char *key);
/* A string; "" if it is missing or null. */
const char *fgi_json_words(const json_t *o, const char *key);

/* Seconds of the monotonic clock. */
double fgi_now_s(void);

#endif
