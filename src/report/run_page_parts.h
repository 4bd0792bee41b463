/* run_page_parts.h - sections of a run's page (run_page_details.c, run_page_evaluation.c). Each
 * appends nothing if the report, which may be NULL, has no numbers for it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_RUN_PAGE_PARTS_H
#define FGI_REPORT_RUN_PAGE_PARTS_H

#include "report/run_view.h"

/* A card with words, or with a number ("%": a percentage; NULL: 4 digits); none if unknown. */
void fgi_page_card(fgi_buf *out, const char *name, const char *words);
void fgi_page_number(fgi_buf *out, const char *name, const char *format, double value);

/* The confusion matrix and the worst samples of the last validation. */
void fgi_page_put_evaluation(fgi_buf *out, const json_t *report);
/* How well the devices are used, with a plot of the roofline. */
void fgi_page_put_use(fgi_buf *out, const json_t *report);
void fgi_page_put_loader(fgi_buf *out, const json_t *report);
void fgi_page_put_compiles(fgi_buf *out, const json_t *report);
void fgi_page_put_reads(fgi_buf *out, const json_t *report);
/* The parts of a run that was resumed. */
void fgi_page_put_history(fgi_buf *out, const json_t *report);
void fgi_page_put_machine(fgi_buf *out, const fgi_run_view *view);

#endif
