/* verdict.h - what slows a run down, what to do about it, and what that would gain: rules, each of
 * which looks at the numbers of report.json. A rule whose numbers are unknown gives no verdict.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_VERDICT_VERDICT_H
#define FGI_VERDICT_VERDICT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/* The array "verdicts" of report.json, a new reference, the most important one first; empty if
 * nothing is wrong. NULL: out of memory. */
json_t *fgi_run_verdicts(const json_t *report);

/* What the wall time is spent on; the first is busy, the others are idle. */
typedef struct fgi_run_part {
    const char *key, *name, *what;
} fgi_run_part;
enum { FGI_RUN_PARTS = 7 };
extern const fgi_run_part fgi_run_parts[FGI_RUN_PARTS];
/* The seconds of each part of a report (NULL is allowed); NaN if unknown. False if none is known.
 */
bool fgi_run_split(const json_t *report, double out[FGI_RUN_PARTS]);

/* "input 0 'image', dimension 0: 32, before 64 (train.c:31)"; nothing without a cause. */
void fgi_run_cause_words(fgi_buf *out, const json_t *cause);

#endif
