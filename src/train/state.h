/* state.h - names in a checkpoint that its writer and its reader share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STATE_H
#define FGI_TRAIN_STATE_H

/* Sums and counts of the metrics, in turns: since the last window, f32, where one is open, with
 * what the optimizer told last behind them; and of
 * the windows of the epoch so far, f64. */
#define FGI_SUMS_NAME       "trainer.sums"
#define FGI_EPOCH_SUMS_NAME "trainer.epoch_sums"

/* Goes before the names of the module's variables of kind FG_STATE, which share a file with the
 * optimizer's variables and the Trainer's. */
#define FGI_MODULE_STATE "module."

/* Of state.json: the last value of each metric, so that a run that is complete can print them. */
#define FGI_RESULTS_KEY "results"

/* Of state.json: names of the frozen parameters, where there are any. Files of an optimizer, and of
 * loops without a Trainer, have the list as text in the metadata. */
#define FGI_FROZEN_KEY  "frozen"
#define FGI_FROZEN_META "fulgurite.frozen"

/* Keys of the model file's __metadata__: steps and epochs done, in decimal. */
#define FGI_STEP_KEY  "fulgurite.step"
#define FGI_EPOCH_KEY "fulgurite.epoch"

#endif
