/* evaluate.h - passes over data without training, and the sanity check before a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_EVALUATE_H
#define FGI_TRAIN_EVALUATE_H

#include <fulgurite/train.h>

#include "train/stage.h"

/* Reads the first batch of the next pass in advance. */
fg_status fgi_evaluate_ahead(fg_trainer *trainer, fgi_stage_kind kind, fg_error *err);
/* Makes a pass over the data of a stage that is prepared. Writes the metrics, at most
 * FG_MAX_METRICS, to out_metrics and to the result. If it is stopped, is_stopping is set and they
 * are not valid. */
fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, int64_t limit,
                       fg_metric *out_metrics, size_t *out_count, fg_error *err);

/* Validates on the first options.validation.sanity_val_steps batches, before a fit that starts at
 * step 0. */
fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);

#endif
