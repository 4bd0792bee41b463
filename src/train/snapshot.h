/* snapshot.h - the state of training, copied to the host: taking, writing and loading it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SNAPSHOT_H
#define FGI_TRAIN_SNAPSHOT_H

#include <fulgurite/train.h>

/* The state of training between two steps, copied to the host. */
typedef struct fgi_snapshot fgi_snapshot;

typedef struct fgi_snapshot_info {
    const char *path;  /* of its folder; lives as long as the snapshot */
    const char *name;  /* the last part of the path */
    fg_progress at;    /* when it was taken */
    bool is_suspected; /* training may be diverging: not a checkpoint to go back to */
} fgi_snapshot_info;

/* Copies the state, between two steps. */
fg_status fgi_snapshot_take(fg_trainer *trainer, fgi_snapshot **out, fg_error *err);
/* Writes it and updates `last` and `best`; once, on any thread. */
fg_status fgi_snapshot_write(fgi_snapshot *snapshot, fg_error *err);
const fgi_snapshot_info *fgi_snapshot_get_info(const fgi_snapshot *snapshot);
void fgi_snapshot_destroy(fgi_snapshot *snapshot); /* NULL is allowed */
/* Removes old checkpoints of the run_dir, while no save is under way; a failure is a warning. */
void fgi_state_prune(const fg_trainer *trainer);

/* Loads options.checkpoints.weights and .resume, once. */
fg_status fgi_state_restore(fg_trainer *trainer, fg_error *err);
/* Loads the checkpoint at `path`, of this run, in the middle of a fit. */
fg_status fgi_state_go_back(fg_trainer *trainer, const char *path, fg_error *err);
/* The run continues from the checkpoint that was loaded last: removes those from the list of the
 * best that are not in its folder, or now hold another state, and makes `best` and `last` name a
 * checkpoint of this past, not of one that the run has left. */
fg_status fgi_state_settle(fg_trainer *trainer, fg_error *err);

#endif
