/* state.h - names in a checkpoint, shared by writer and reader.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STATE_H
#define FGI_TRAIN_STATE_H

/* Alternating sums and weights of the metrics: of the open window, f32, followed by the last health
 * values of the optimizer; and of the closed windows of the epoch, f64. */
#define FGI_SUMS_NAME       "trainer.sums"
#define FGI_EPOCH_SUMS_NAME "trainer.epoch_sums"

/* Prefix of the module's variables of kind FG_STATE, which are in one file with the variables of
 * the optimizer and the Trainer. */
#define FGI_MODULE_STATE "module."

/* Key in state.json: the last value of each metric, so that a complete run can report them. */
#define FGI_RESULTS_KEY "results"

/* Key in state.json: names of the frozen parameters, if there are any. Files of an optimizer, and
 * of loops without a Trainer, contain the list as JSON in the metadata. */
#define FGI_FROZEN_KEY  "frozen"
#define FGI_FROZEN_META "fulgurite.frozen"

/* Keys of the model file's __metadata__: steps and epochs done, in decimal. */
#define FGI_STEP_KEY  "fulgurite.step"
#define FGI_EPOCH_KEY "fulgurite.epoch"

#endif
