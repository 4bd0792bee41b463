/* log_model.h - the model for loggers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LOG_MODEL_H
#define FGI_TRAIN_LOG_MODEL_H

#include <fulgurite/train.h>

/* Once per run, while the training step is traced up to its loss: logs a summary of the model as
 * text, and its graph, when the log is open. Out of memory: they are left out. */
void fgi_log_model(const fg_trainer *trainer, fg_tensor loss);

#endif
