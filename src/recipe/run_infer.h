/* run_infer.h - the task of a run whose configuration does not give it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_INFER_H
#define FGI_RECIPE_RUN_INFER_H

#include <fulgurite/format.h>

#include "recipe/run.h"

/* The task that the configuration names: its key, or the task that loss.name or model.classes
 * implies. "auto": none. */
const char *fgi_run_task_given(const fgi_config *c);
/* Whether the targets are class indices. */
bool fgi_run_has_classes(const fg_dataset *dataset);
/* If task is auto, sets it to that of the training samples, and data->inferred to the reason. */
fg_status fgi_run_task_infer(fgi_config *c, const fg_format_entry *format, fgi_run_data *data,
                             fg_error *err);
/* FG_EINVAL if the classes of a classification are probably numbers or names: most of them occur
 * once, or there are too many. Giving model.classes turns the check off. */
fg_status fgi_run_task_check(const fgi_config *c, const fgi_run_data *data, fg_error *err);

#endif
