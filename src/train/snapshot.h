/* snapshot.h - the state of training, copied to the host and written to a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SNAPSHOT_H
#define FGI_TRAIN_SNAPSHOT_H

#include <fulgurite/train.h>

#include "train/best_list.h"
#include "train/callbacks.h"
#include "train/host_copy.h"
#include "train/stage.h"

struct fgi_logger;

/* The state of training between two steps. */
typedef struct fgi_snapshot {
    fg_progress at;    /* when it was taken */
    bool is_suspected; /* training may be diverging: not a checkpoint to go back to */
    fgi_host_copy copy;
    float sums[FGI_MOST_SUMS]; /* of the open window */
    double epoch_sums[2 * FG_MAX_METRICS];
    fgi_callback_state *callbacks;
    size_t callback_count;
    char *folder, *path, *json; /* of the checkpoints, of this one; state.json */
    char name[FGI_CKPT_NAME_SIZE], step[24], epoch[24]; /* the last part of the path */
    fgi_best_list top;               /* whose checkpoints are kept: with this one, ... */
    fgi_best_list before;            /* ... and without it, if training may go back to before it */
    const struct fgi_logger *logger; /* whose rows so far belong to the checkpoint; borrowed */
    fg_error log_failure;            /* why some of them could not be written, or FG_OK */
    const fg_attachment *attachments;
    size_t attachment_count;
    int process_index, process_count, keep;
} fgi_snapshot;

/* Sets the path by folder and name. A damaged checkpoint with the same name is not replaced:
 * "NAME-v1", "NAME-v2" ... */
fg_status fgi_snapshot_place(fgi_snapshot *snapshot, fg_error *err);
/* Writes it and updates `last` and `best`; once, on any thread. */
fg_status fgi_snapshot_write(fgi_snapshot *snapshot, fg_error *err);
void fgi_snapshot_destroy(fgi_snapshot *snapshot); /* NULL is allowed */
/* Removes old checkpoints but the last `keep` and those of the lists; a failure is a warning. */
void fgi_snapshot_prune(const char *folder, int keep, const fgi_best_list *top,
                        const fgi_best_list *before);

#endif
