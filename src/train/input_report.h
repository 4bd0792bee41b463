/* input_report.h - which part of a run limits its rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_INPUT_REPORT_H
#define FGI_TRAIN_INPUT_REPORT_H

#include <fulgurite/train.h>

/* The use of a loader between two moments. */
void fgi_input_report_load(fg_input_report *out, const fg_loader_stats *before,
                           const fg_loader_stats *after);
/* Sets the remaining members by what the device waited for, and by its rate while it was busy. */
void fgi_input_report_judge(fg_input_report *out, const fg_idle *idle, double samples_per_busy_s);
/* The words for a loader stage or a value of bound_by in a sentence: "entropy decoding" for
 * "entropy". Constant; an unknown name is returned as it is. */
const char *fgi_input_words(const char *name);

#endif
