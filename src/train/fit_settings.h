/* fit_settings.h - batches, steps and learning rates of a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FIT_SETTINGS_H
#define FGI_TRAIN_FIT_SETTINGS_H

#include <fulgurite/train.h>

/* In which steps. The client is open. */
fg_status fgi_settings_check(const fg_trainer_options *o, fg_error *err);
/* Samples of a batch on all devices together. */
fg_status fgi_batch_size(const fg_trainer *trainer, const fg_fit_data *data, int64_t *out,
                         fg_error *err);
/* A share of a source that does not tell its length is refused; name: "limit_val". */
fg_status fgi_fraction_check(const char *name, double fraction, const fg_dataset *dataset,
                             fg_error *err);
/* Batches that a limit leaves of `all`; 0: no limit. */
int64_t fgi_limit(int64_t batches, double fraction, int64_t all);
/* Sizes of a fit before anything is compiled or restored; gives the optimizer its schedule. */
fg_status fgi_settings_make(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* The same once it is known where training stands: what is left of it, and its learning rates. */
fg_status fgi_settings_settle(fg_trainer *trainer, fg_error *err);

/* Samples within which the training source is shuffled; 0 where there is none, or no shuffling. */
int64_t fgi_shuffle_buffer(const fg_fit_data *data);

#endif
