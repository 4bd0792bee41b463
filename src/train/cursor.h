/* cursor.h - the position of the training loop, exactly as a checkpoint holds it.
 *
 * The loop advances it, state.json is written from it and read back into it, in cursor.c and
 * nowhere else. What the loop needs beside it follows from options and data, or is of one call
 * only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CURSOR_H
#define FGI_TRAIN_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include <fulgurite/base.h>

struct json_t;

typedef struct fgi_cursor {
    int64_t step;           /* optimizer steps done */
    int64_t epoch;          /* whole epochs done */
    int64_t position;       /* samples done of this epoch */
    int64_t epoch_batches;  /* batches done of this epoch */
    int64_t sample_count;   /* of the data that position refers to; 0: none yet, -1: a source */
    int64_t batch_size;     /* likewise, of all devices */
    int64_t shuffle_buffer; /* likewise, of a source */
    bool has_read_epoch;    /* of a source: the last batch of the epoch was seen */
    int64_t validated_step; /* -1: none */
    bool owes_validation;   /* of this step, put off by a stop */
    bool has_best;          /* the monitored metric has had a finite value ... */
    double best;            /* ... of which this is the best */
    int64_t log_lines;      /* of metrics.jsonl that belong to the checkpoint, -1: not known */
} fgi_cursor;

/* Before the first step. */
fgi_cursor fgi_cursor_start(void);

/* Adds its members to state.json's object; false: out of memory. */
bool fgi_cursor_save(const fgi_cursor *cursor, struct json_t *object);
/* Reads them; the best value only if it is one of `monitor`. On failure *cursor is as before.
 * Errors: FG_EFORMAT, which names the file. */
fg_status fgi_cursor_load(fgi_cursor *cursor, const struct json_t *object, const char *monitor,
                          const char *path, fg_error *err);

#endif
