/* run_folder.h - the run's folder and its lock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RUN_FOLDER_H
#define FGI_TRAIN_RUN_FOLDER_H

#include <fulgurite/train.h>

struct fgi_logger;
typedef struct fgi_run fgi_run;

/* With the built-in loggers that `loggers` lists (options.output.loggers). */
fg_status fgi_run_create(const char *loggers, fgi_run **out, fg_error *err);
void fgi_run_destroy(fgi_run *run); /* NULL is allowed; the lock is not held */
/* The run's logger, which is one of the callbacks; NULL: none. */
struct fgi_logger *fgi_run_logger(const fgi_run *run);
/* The same, also before it is opened. */
struct fgi_logger *fgi_run_any_logger(const fgi_run *run);
/* Makes the run's folder and takes its lock, for the duration of a fit. Errors:
 * FG_EINVAL, which names the holder, when another process has it. */
fg_status fgi_run_claim(fg_trainer *trainer, fg_error *err);
void fgi_run_release(fg_trainer *trainer); /* also when it is not held */
/* Whether there is a request to stop in the folder; looks at most once a second, and only while the
 * lock is held. */
bool fgi_run_is_asked_to_stop(fg_trainer *trainer);
/* Refuses a folder with the checkpoints of another run, unless options.checkpoints.overwrite is
 * set. The state has been restored. */
fg_status fgi_run_check(const fg_trainer *trainer, fg_error *err);
/* Deletes these checkpoints, if options.checkpoints.overwrite is set. */
fg_status fgi_run_clear(const fg_trainer *trainer, fg_error *err);
/* Opens the log again, which is open, for the position that the run has returned to. */
fg_status fgi_run_reopen(fg_trainer *trainer, fg_error *err);
/* Opens the log of the run, as the first of the callbacks, unless that is done. */
fg_status fgi_run_open(fg_trainer *trainer, fg_error *err);

#endif
