/* log_model.h - the model for loggers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LOG_MODEL_H
#define FGI_TRAIN_LOG_MODEL_H

#include <fulgurite/nn.h>

struct fgi_logger;

/* Once per run, while the training step is traced up to its loss: logs a summary of the model as
 * text, and its graph, when the log is open. Out of memory: they are left out. */
void fgi_log_model(struct fgi_logger *logger, fg_module *root, int64_t step, fg_tensor loss);

#endif
