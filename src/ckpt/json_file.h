/* json_file.h - JSON out of files: one place that knows how jansson reports what went wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_JSON_FILE_H
#define FGI_CKPT_JSON_FILE_H

#include <fulgurite/base.h>
#include <jansson.h>
#include "base/buf.h"

/* Parses a whole text, duplicate keys refused; *out is the caller's (json_decref), NULL on failure.
 * Messages say "path: byte N: not JSON: ...", N counted from `offset`, which is where the text
 * stands in the file. Errors: FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_json_parse(const char *path, size_t offset, const char *text, size_t size,
                         json_t **out, fg_error *err);

/* json_loadb and json_dump_callback in the locale "C": jansson asks the locale for its decimal
 * point and assumes that it is one byte, which it isn't everywhere. fault may be NULL. */
json_t *fgi_json_load(const char *text, size_t size, size_t flags, json_error_t *fault);
/* Appends to out; false when out of memory, or when a value has no JSON. */
bool fgi_json_write(const json_t *root, size_t flags, fgi_buf *out);

#endif
