/* json_file.h - JSON from files: the only code that handles jansson's errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_JSON_FILE_H
#define FGI_INPUT_JSON_FILE_H

#include <fulgurite/base.h>
#include <jansson.h>
#include "base/buf.h"

/* Parses a whole text; duplicate keys are an error. The caller owns *out (json_decref); it is NULL
 * on failure. Messages are "path: byte N: invalid JSON: ...", where N includes `offset`, the
 * position of the text in the file. Errors: FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_json_parse(const char *path, size_t offset, const char *text, size_t size,
                         json_t **out, fg_error *err);

/* json_loadb and json_dump_callback in the locale "C": jansson uses the locale's decimal point and
 * assumes that it is one byte, which is not always true. fault may be NULL. */
json_t *fgi_json_load(const char *text, size_t size, size_t flags, json_error_t *fault);
/* Appends to out; unless flags say otherwise, real numbers have 17 digits, which read back as the
 * same value. False when out of memory, or if a value cannot be represented in JSON. */
bool fgi_json_write(const json_t *root, size_t flags, fgi_buf *out);

/* null for a number that is not finite, and a count that is negative. */
json_t *fgi_json_real(double value);
json_t *fgi_json_count(int64_t value);
/* A name as a string: as it is if it is UTF-8, else escaped (fgi_text_escape). NULL without memory.
 */
json_t *fgi_json_name(const char *name);

/* The value as JSON text (fgi_free); NULL when out of memory, or if it cannot be represented. */
char *fgi_json_text(const json_t *value, size_t flags);
/* A string; null for NULL, "" and what is not UTF-8, which JSON cannot represent. A new reference.
 */
json_t *fgi_json_string(const char *text);
/* Appends a value, which is released, and a line end. out fails if it is NULL, out of memory, or
 * cannot be represented. */
void fgi_json_put(fgi_buf *out, json_t *take_root, size_t flags);
/* Numbers; null for one that is not finite. A new reference. */
json_t *fgi_json_reals(const double *values, size_t count);

/* A number of the object `o` (NULL is allowed); NaN if it is missing or null. */
double fgi_json_number(const json_t *o, const char *key);
/* The number of seconds in key_s, or in key. */
double fgi_json_seconds(const json_t *o, const char *key);
/* A string; "" if it is missing or null. */
const char *fgi_json_words(const json_t *o, const char *key);

#endif
