/* evaluate.h - passes over data without training, and the sanity check before a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_EVALUATE_H
#define FGI_TRAIN_EVALUATE_H

#include <fulgurite/train.h>

#include "train/stage.h"

/* Reads the first batch of the coming pass. */
fg_status fgi_evaluate_ahead(fg_trainer *trainer, fgi_stage_kind kind, fg_error *err);
/* A pass over the data of a stage that is prepared; the means go to out_metrics, which
 * has room for FG_MAX_METRICS, and to the result. A stop cuts it short: then is_stopping is set,
 * and they count for nothing. */
fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, int64_t limit,
                       fg_metric *out_metrics, size_t *out_count, fg_error *err);

/* The first options.validation.sanity_val_steps batches of validation, before a fit that starts
 * anew. */
fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* What fast_dev_run and overfit_batches mean for the other options. */
void fgi_trial_settle(fg_trainer_options *o);

#endif
