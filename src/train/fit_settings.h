/* fit_settings.h - batches, steps and learning rates of a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FIT_SETTINGS_H
#define FGI_TRAIN_FIT_SETTINGS_H

#include <fulgurite/train.h>

/* Checks the options that determine steps and learning rates. */
/* Shards of a batch. The client is open, or it is a preview. */
int fgi_batch_shards(const fg_trainer *trainer);
/* Samples of a batch on all devices together. The client is open. */
fg_status fgi_batch_size(const fg_trainer *trainer, const fg_fit_data *data, int64_t *out,
                         fg_error *err);
/* Refuses a fraction of a source of unknown length; name: "limit_val". */
fg_status fgi_fraction_check(const char *name, fg_amount limit, const fg_dataset *dataset,
                             fg_error *err);
/* The limit on the batches, of `all`; 0: no limit. */
int64_t fgi_limit(fg_amount limit, int64_t all);
/* Determines the settings before anything is compiled or restored; sets the optimizer's schedule.
 */
fg_status fgi_settings_make(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* Completes them once the position is restored: the remaining steps, and the learning rates. */
fg_status fgi_settings_settle(fg_trainer *trainer, fg_error *err);

/* Warns if the schedule of a run that resumes was planned for another number of steps, and the
 * learning rate is therefore another one. */
void fgi_settings_compare(const fg_trainer *trainer);
/* Validations from here to the end of the fit, if there are any at all; -1: unknown, or no end. */
int64_t fgi_settings_validations(const fg_trainer *trainer);

#endif
