/* run_folder.h - the run's folder and its lock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RUN_FOLDER_H
#define FGI_TRAIN_RUN_FOLDER_H

#include <fulgurite/train.h>

#include "train/callbacks.h"
#include "train/cursor.h"

struct fgi_logger;
typedef struct fgi_run fgi_run;

/* With the built-in loggers of the list (options.output.loggers). The options are borrowed. */
fg_status fgi_run_create(const fg_trainer_checkpoints *o, const fg_strings *loggers, fgi_run **out,
                         fg_error *err);
void fgi_run_destroy(fgi_run *run); /* NULL is allowed; the lock is not held */
/* The run's logger, which is one of the callbacks; NULL: none. */
struct fgi_logger *fgi_run_logger(const fgi_run *run);
/* The same before it is opened; NULL afterwards. */
struct fgi_logger *fgi_run_next_logger(const fgi_run *run);
/* Makes the run's folder and takes its lock, for the duration of a fit. Errors:
 * FG_EINVAL, which names the holder, when another process has it. */
fg_status fgi_run_claim(fgi_run *run, const fg_client *client, fg_error *err);
void fgi_run_release(fgi_run *run); /* also when it is not held */
/* Whether there is a request to stop in the folder; looks at most once a second, and only while the
 * lock is held. */
bool fgi_run_is_asked_to_stop(fgi_run *run);
/* Refuses a folder with the checkpoints of another run than that of `resumed` ("": none), unless
 * the options allow to overwrite them. */
fg_status fgi_run_check(const fgi_run *run, const char *resumed, fg_error *err);
/* Deletes these checkpoints, if the options allow it. */
fg_status fgi_run_clear(const fgi_run *run, const char *resumed, fg_error *err);
/* Opens the log again, which is open, for the position that the run has returned to. */
fg_status fgi_run_reopen(fgi_run *run, const fgi_cursor *cursor, fg_error *err);
/* Opens the log of the run, as the first of the callbacks, unless that is done. */
fg_status fgi_run_open(fgi_run *run, const fg_client *client, const fgi_cursor *cursor,
                       fgi_callbacks *callbacks, fg_error *err);

#endif
