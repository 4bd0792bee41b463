/* ledger.h - what the devices spent their time on. What a ledger holds is in ledger_parts.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LEDGER_H
#define FGI_TRAIN_LEDGER_H

#include <fulgurite/train.h>

#include "train/activity.h"
#include "train/feed.h"

typedef struct fgi_ledger fgi_ledger;

fg_status fgi_ledger_create(fgi_ledger **out, fg_error *err);
void fgi_ledger_destroy(fgi_ledger *ledger); /* NULL is allowed */
void fgi_ledger_start(fgi_ledger *ledger, int64_t now_ns);
/* Records the spans that the devices may have waited for. */
fgi_span_listener fgi_ledger_listener(fgi_ledger *ledger);
/* Whether nothing is recorded; also sets it. */
bool fgi_ledger_set_off(fgi_ledger *ledger, bool is_off);
void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns);
/* Measure the processor time of a step on the Trainer's thread; only every 16th step, because
 * reading the clocks costs system calls. begin returns a time, or -1 for a step that is not
 * measured. */
int64_t fgi_work_begin(fgi_ledger *ledger);
void fgi_work_end(fgi_ledger *ledger, int64_t begin);
/* A step was launched: the host activities so far preceded it. */
void fgi_ledger_launched(fgi_ledger *ledger, int64_t number);
/* Flight `number` has finished. */
void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight);
/* Ends a window with flight `number`, the last one that was launched, which may be under way. */
void fgi_ledger_close_window(fgi_ledger *ledger, int64_t number, int64_t step);
/* Fills in the times of a result, which then borrows the windows. */
void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out);

#endif
