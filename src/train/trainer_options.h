/* trainer_options.h - the options of a Trainer: checked, copied, with their defaults.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_OPTIONS_H
#define FGI_TRAIN_TRAINER_OPTIONS_H

#include <fulgurite/train.h>

#include "base/arena.h"

/* Applies fast_dev_run and overfit_batches to the other options. */
void fgi_trial_settle(fg_trainer_options *o);
fg_status fgi_options_check(const fg_trainer_options *o, fg_error *err);
void fgi_options_set_defaults(fg_trainer_options *o);
/* Copies all that the options point to; false: out of memory. */
bool fgi_options_keep(fg_trainer_options *o, fgi_arena *strings);

#endif
