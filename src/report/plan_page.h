/* plan_page.h - the object of `fulgurite plan --json` as one page for people.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLAN_PAGE_H
#define FGI_REPORT_PLAN_PAGE_H

#include <jansson.h>

#include "report/helpers.h"

/* Writes root's figures as a page of HTML that needs nothing else: no script, no other file, no
 * network. What the object lacks, the page leaves out. Curves need gnuplot; without it their
 * figures stand in the tables only, which the page says. config_path may be NULL. The file is
 * replaced at once and as a whole. */
bool fgi_plan_page_write(const char *path, const char *config_path, const json_t *root,
                         fg_error *err);

/* One machine's object as lines for people. */
void fgi_plan_print(FILE *out, const json_t *o);

#endif
