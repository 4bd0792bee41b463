/* published_rules.h - the values of the rules of a form (fg_config_rule), for reading and writing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_PUBLISHED_RULES_H
#define FGI_RECIPE_PUBLISHED_RULES_H

#include <fulgurite/nn.h>
#include <jansson.h>

#include "base/buf.h"
#include "recipe/published/published.h"

/* Any JSON value; NULL: it is none. A new reference. */
json_t *fgi_published_parse(const char *text);
/* The only value of the rule that fits, NULL: any. A new reference. */
json_t *fgi_published_expected(json_t *config, const fg_published *form,
                               const fg_config_rule *rule);

/* Which keys of a file need no mention, and what can be done about others. */
typedef struct fgi_published_unused {
    const fg_config_rule *rules; /* that read keys                                       [none] */
    const char *no_effect;       /* a pattern (fnmatch) of keys */
    const char *usual;           /* values, as JSON, "2|true" */
    const char *instead;
} fgi_published_unused;

/* Says in one line which keys that may matter are not used. */
fg_status fgi_published_say_unused(json_t *config, const fgi_published_unused *u, const char *path,
                                   const fgi_published_say *say, fg_error *err);
/* "path: line (more)" */
fg_status fgi_published_say_line(const char *path, const char *line, const char *more,
                                 const fgi_published_say *say, fg_error *err);

#endif
