/* published_rules.h - the values of the rules of a form (fg_config_rule), for reading and writing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_PUBLISHED_RULES_H
#define FGI_RECIPE_PUBLISHED_RULES_H

#include <fulgurite/nn.h>
#include <jansson.h>

/* Any JSON value; NULL: it is none. A new reference. */
json_t *fgi_published_parse(const char *text);
/* The only value of the rule that fits, NULL: any. A new reference. */
json_t *fgi_published_expected(json_t *config, const fg_published *form,
                               const fg_config_rule *rule);

#endif
