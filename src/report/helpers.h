/* helpers.h - small things that reports and recipes share: errors of the user's input, sizes in
 * words, the clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HELPERS_H
#define FGI_REPORT_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <fulgurite/base.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/buf.h"

/* FG_EINVAL in err, and false, for functions that return bool. */
bool fgi_refuse(fg_error *err, const char *format, ...) FG_PRINTF(2, 3);
/* The same from errno: "cannot open 'path': No such file or directory". */
bool fgi_refuse_errno(fg_error *err, const char *what, const char *path);

/* FG_ENOMEM in err, and false. */
bool fgi_refuse_memory(fg_error *err);
/* The first bytes of a text as a text of its own (fgi_free), or NULL. */
char *fgi_strndup(const char *text, size_t size);

/* The text of a buffer (fgi_free), which is empty afterwards; NULL when out of memory. */
char *fgi_take_text(fgi_buf *buf);
/* Whether two words are equal but for the case of ASCII letters: 0, as strcasecmp. */
int fgi_compare_nocase(const char *a, const char *b);

/* The value as JSON (fgi_free); NULL when out of memory, or when it has none. */
char *fgi_json_text(const json_t *value, size_t flags);
void fgi_json_print(fgi_buf *out, const json_t *value, size_t flags);

/* Seconds of the monotonic clock. */
double fgi_now_s(void);

/* "12 B", "3.4 kB", "1.2 GB" in a static buffer of the thread; valid until its next call. */
const char *fgi_bytes_words(double bytes);

#endif
