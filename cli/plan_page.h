/* plan_page.h - the object of `fulgurite plan --json` as one page for people.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_PAGE_H
#define PLAN_PAGE_H

#include <jansson.h>

#include "cli.h"

/* Writes root's figures as a page of HTML that needs nothing else: no script, no other file, no
 * network. What the object lacks, the page leaves out. Curves need gnuplot; without it their
 * figures stand in the tables only, which the page says. config_path may be NULL. The file is
 * replaced at once and as a whole. */
bool plan_page_write(const char *path, const char *config_path, const json_t *root, fg_error *err);

#endif
