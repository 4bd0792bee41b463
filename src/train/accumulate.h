/* accumulate.h - sums of gradients over the batches of a step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_ACCUMULATE_H
#define FGI_TRAIN_ACCUMULATE_H

#include <fulgurite/train.h>

#include "trace/program.h"
#include "train/callbacks.h"

typedef struct fgi_accumulator fgi_accumulator;

/* Sums of gradients over the batches of a step. The optimizer is borrowed. */
fg_status fgi_accumulator_create(fg_optimizer *optimizer, fgi_accumulator **out, fg_error *err);
void fgi_accumulator_destroy(fgi_accumulator *accumulator); /* NULL is allowed */
/* Whether a launch that failed has consumed sums. */
bool fgi_accumulator_is_lost(const fgi_accumulator *accumulator);
/* Traces the accumulation of a batch's gradients; weight, f32[], is the denominator of the loss. */
void fgi_accumulate(fgi_accumulator *accumulator, fg_tensor loss, fg_tensor weight);
/* Compiles the program of the update, with what callbacks add, after this step. */
fg_status fgi_accumulator_compile(fgi_accumulator *accumulator, fg_client *client,
                                  const fgi_callbacks *callbacks, int64_t step,
                                  fgi_history *history, fg_error *err);
/* A step starts; NULL is allowed. */
void fgi_accumulator_begin(fgi_accumulator *accumulator);
/* Sets the scalars of the next batch. */
void fgi_accumulator_add(fgi_accumulator *accumulator);
/* Batches of the step so far; 0 for NULL. */
int64_t fgi_accumulator_batches(const fgi_accumulator *accumulator);
/* Sets the scalars of the update: its random bits are keyed by seed and step. */
void fgi_accumulator_begin_update(fgi_accumulator *accumulator, uint64_t seed, int64_t step);
/* The program of the update. */
fgi_step_program *fgi_accumulator_update(const fgi_accumulator *accumulator);

#endif
