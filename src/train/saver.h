/* saver.h - checkpoints written beside training. What a saver holds is known to saver.c alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAVER_H
#define FGI_TRAIN_SAVER_H

#include <fulgurite/train.h>

enum { FGI_SAVES_FAILED = 3 }; /* in a row, after which a run ends */

typedef struct fgi_saver fgi_saver;

fg_status fgi_saver_create(fgi_saver **out, fg_error *err);
void fgi_saver_destroy(fgi_saver *saver); /* NULL is allowed */
/* A fit begins: failures count anew. */
void fgi_saver_forget_failures(fgi_saver *saver);
/* Whether the checkpoint that was loaded knows a best value, and which. */
void fgi_saver_set_best(fgi_saver *saver, bool has_best, double best);
/* The run's last checkpoint is this one: result, watchdog. */
void fgi_checkpoint_remember(fg_trainer *trainer, const char *path);
/* Begins to save the present state, after the save before it has ended. */
fg_status fgi_saver_begin(fg_trainer *trainer, bool is_best, fg_error *err);
/* Takes note of a save that has ended: `saved` is called, or a warning is given. An error when
 * FGI_SAVES_FAILED have failed in a row. wait: also of one that has not ended yet. */
fg_status fgi_saver_collect(fg_trainer *trainer, bool wait, fg_error *err);
/* At the end of a fit: saves the state unless that has been done, and waits. What cannot be written
 * is tried once more before it is an error. */
fg_status fgi_saver_finish(fg_trainer *trainer, bool is_best, fg_error *err);
/* After a failure that has left the weights whole: saves them where that makes sense, and adds to
 * the error where they are. */
void fgi_saver_rescue(fg_trainer *trainer, fg_error *err);
/* After a failure: waits for the save under way, and forgets what became of it but for its path. */
void fgi_saver_abandon(fg_trainer *trainer);

#endif
