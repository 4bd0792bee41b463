/* trainer_options.h - the options of a Trainer, with their defaults.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_OPTIONS_H
#define FGI_TRAIN_TRAINER_OPTIONS_H

#include <fulgurite/train.h>

#include "base/arena.h"

/* Completes and checks the options that a program gives (NULL: none): no member is left out, and
 * strings of the table belong to *out; free it with fg_free. Other pointers are the caller's.
 * Errors: FG_EINVAL, FG_ENOMEM. */
fg_status fgi_trainer_options_create(const fg_trainer_options *given, fg_trainer_options **out,
                                     fg_error *err);
/* Applies options that replace others: fast_dev_run, overfit_batches. */
void fgi_trainer_options_settle(fg_trainer_options *o);
/* Copies what the options point to besides; false: out of memory. */
bool fgi_options_keep(fg_trainer_options *o, fgi_arena *strings);

#endif
