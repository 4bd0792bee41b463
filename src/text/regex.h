/* regex.h - regular expressions over UTF-8, by PCRE2, which is loaded when the first one is
 * compiled.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TEXT_REGEX_H
#define FGI_TEXT_REGEX_H

#include <fulgurite/base.h>

#include "base/text.h"

typedef struct fgi_regex fgi_regex;
/* What matching needs besides the expression: one per thread and expression. */
typedef struct fgi_regex_work fgi_regex_work;

/* Compiles an expression in the syntax of Oniguruma as far as PCRE2 shares it; \w and \s are the
 * Unicode properties, as there. is_literal: the text itself. `where` begins messages. Errors:
 * FG_EFORMAT, FG_EUNSUPPORTED (PCRE2 is not installed, or too old), FG_ENOMEM. */
fg_status fgi_regex_create(const char *where, const char *pattern, bool is_literal, fgi_regex **out,
                           fg_error *err);
void fgi_regex_destroy(fgi_regex *regex);

/* Finds the first match that is not empty in valid UTF-8, starting at `from`. False: there is none,
 * or, with *status changed, an error: FG_EINVAL (a limit is exceeded), FG_ENOMEM. *work is created
 * if it is NULL. */
bool fgi_regex_find(const fgi_regex *regex, fgi_regex_work **work, fgi_str text, size_t from,
                    size_t *out_start, size_t *out_end, fg_status *status, fg_error *err);
void fgi_regex_work_destroy(fgi_regex_work *work);

#endif
