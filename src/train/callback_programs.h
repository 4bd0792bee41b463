/* callback_programs.h - functions of callbacks that change programs: variables next to the model,
 * operations after the update, values that evaluations use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALLBACK_PROGRAMS_H
#define FGI_TRAIN_CALLBACK_PROGRAMS_H

#include <fulgurite/train.h>

/* Calls `build` of all callbacks, for a model that was just built. */
fg_status fgi_callbacks_build(const fg_trainer *trainer, fg_module *root, fg_error *err);
/* Calls `update` of all callbacks, in the trace of an update. */
void fgi_callbacks_update(const fg_trainer *trainer, fg_trace *trace);
/* Calls `step_start` of all callbacks, in a fit. */
void fgi_callbacks_step_start(const fg_trainer *trainer);
/* Lets the trace of an evaluation use the values of callbacks. */
void fgi_callbacks_substitute(fg_trainer *trainer, fg_trace *trace);

#endif
