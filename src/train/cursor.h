/* cursor.h - the position of the training loop, exactly as a checkpoint holds it.
 *
 * The loop advances it; only cursor.c writes it to state.json and reads it back. The history of the
 * loss, by which divergence is noticed, is next to it (divergence.c). Everything else that the loop
 * needs follows from options and data, or is only valid during one call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CURSOR_H
#define FGI_TRAIN_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include <fulgurite/train.h>

#include "train/best_list.h"

struct json_t;

typedef struct fgi_cursor {
    int64_t step;           /* optimizer steps done */
    int64_t epoch;          /* whole epochs done */
    int64_t position;       /* samples of this epoch done */
    int64_t epoch_batches;  /* batches of this epoch done */
    int64_t sample_count;   /* of the data that position refers to; 0: none yet, -1: a source */
    int64_t batch_size;     /* of the same data, on all devices */
    int64_t shuffle_buffer; /* of the same data, if it is a source */
    bool has_read_epoch;    /* of a source: the last batch of the epoch has been read */
    int64_t validated_step; /* -1: none */
    bool owes_validation;   /* of this step, postponed by a stop */
    fgi_best_list top;      /* the best checkpoints by the monitored metric */
    int64_t total_steps;    /* that the schedule was planned for; 0: none, or no end */
    int64_t log_lines;      /* of the log that belong to the checkpoint, -1: unknown */
} fgi_cursor;

/* The position before the first step. */
fgi_cursor fgi_cursor_start(void);

/* Adds the members to the object of state.json; false: out of memory. */
bool fgi_cursor_save(const fgi_cursor *cursor, const fgi_best_rule *rule, struct json_t *object);
/* Reads them; the best checkpoints only if they are of this rule. On failure, *cursor is unchanged.
 * Errors: FG_EFORMAT, which names the file. */
fg_status fgi_cursor_load(fgi_cursor *cursor, const struct json_t *object,
                          const fgi_best_rule *rule, const char *path, fg_error *err);

/* ---- the position in the data ---------------------------------------------------------------- */

/* Size of the training source's shuffle buffer; 0: not a source, or not shuffled. */
int64_t fgi_shuffle_buffer(const fg_fit_data *data);
/* Finds the position in the given data. If their batches have another size than before, a warning
 * has the name of the checkpoint ("": none). Errors: FG_EINVAL for other data, or another order of
 * samples. */
fg_status fgi_cursor_place(fgi_cursor *cursor, const fg_fit_data *data, int64_t batch_size,
                           const char *checkpoint, fg_error *err);
/* Whether the epoch, of at most `limit` batches (0: no limit), is over at this position. */
bool fgi_cursor_ends_epoch(const fgi_cursor *cursor, int64_t limit, bool drop_last);
/* The position after this batch. */
fgi_cursor fgi_cursor_after(const fgi_cursor *cursor, const fg_host_batch *batch);

#endif
