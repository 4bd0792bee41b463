/* plan_page.h - the object of `fulgurite plan --json` as an HTML page.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLAN_PAGE_H
#define FGI_REPORT_PLAN_PAGE_H

#include <jansson.h>

#include "report/helpers.h"
#include "base/buf.h"

/* Adds root's contents as a self-contained HTML report: no scripts, no other files, no network.
 * Values that the object lacks are omitted. */
void fgi_plan_page_put(fgi_buf *out, const char *config_path, const json_t *root);

/* One machine's object as readable text. */
void fgi_plan_print(fgi_buf *out, const json_t *o);

#endif
