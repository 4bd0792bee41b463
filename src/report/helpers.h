/* helpers.h - helpers for reports and recipes: JSON, the clock.
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
