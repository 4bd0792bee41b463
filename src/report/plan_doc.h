/* plan_doc.h - the object of `fulgurite plan --json` as readable text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLAN_DOC_H
#define FGI_REPORT_PLAN_DOC_H

#include <jansson.h>

#include "base/buf.h"

/* All machines as a page. Values that the object lacks are omitted. */
void fgi_plan_page_put(fgi_buf *out, const char *config_path, const json_t *root);
/* One machine's object as lines of a terminal. */
void fgi_plan_lines_put(fgi_buf *out, const json_t *machine);

#endif
