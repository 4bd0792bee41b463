/* run_folder.h - the run's folder and its lock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RUN_FOLDER_H
#define FGI_TRAIN_RUN_FOLDER_H

#include <fulgurite/train.h>

/* Makes the run's folder and takes its lock, for the time of a fit. Errors:
 * FG_EINVAL, which names the holder, when another process has it. */
fg_status fgi_run_claim(fg_trainer *trainer, fg_error *err);
void fgi_run_release(fg_trainer *trainer); /* also when it is not held */
/* Refuses a folder with the checkpoints of a run that is neither resumed nor to be overwritten; the
 * state has been restored. */
fg_status fgi_run_check(const fg_trainer *trainer, fg_error *err);
/* Deletes these checkpoints, where options.checkpoints.overwrite says so. */
fg_status fgi_run_clear(const fg_trainer *trainer, fg_error *err);

#endif
