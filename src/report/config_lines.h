/* config_lines.h - the keys of a run's config.yaml, as this library writes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_CONFIG_LINES_H
#define FGI_REPORT_CONFIG_LINES_H

#include <jansson.h>

/* {"section.key": "value as written", ...}. The value of a key that continues on further, deeper
 * lines has these joined by spaces. Comments and empty lines are left out. Unlike the reader of
 * configurations, it accepts keys of other versions and of rows that this program lacks. NULL when
 * out of memory. */
json_t *fgi_config_lines(const char *yaml);

#endif
