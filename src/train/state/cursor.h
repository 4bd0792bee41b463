/* cursor.h - the position of the training loop, exactly as a checkpoint holds it; with it, the best
 * checkpoints so far, and their names.
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
#include <fulgurite/base.h>
#include <fulgurite/train.h>
#include <fulgurite/result.h>

/* ---- the best checkpoints -------------------------------------------------------------------- */

struct json_t;

/* Key in state.json: the last value of each metric, so that a complete run can report them. */
#define FGI_RESULTS_KEY "results"

enum {
    FGI_BEST_MOST = 16,      /* of a list */
    FGI_BEST_WAITING = 8,    /* values */
    FGI_CKPT_NAME_SIZE = 192 /* of a checkpoint's name, including the NUL */
};

/* Which checkpoints a list has. */
typedef struct fgi_best_rule {
    const char *monitor; /* the name of the metric */
    bool is_max;         /* larger values are better */
    int most;            /* checkpoints, at most FGI_BEST_MOST */
} fgi_best_rule;

typedef struct fgi_best_entry {
    double value; /* of the metric */
    int64_t step;
    bool has_no_rank;              /* it waits, and counts only if a better one cannot be saved */
    char name[FGI_CKPT_NAME_SIZE]; /* of the checkpoint */
} fgi_best_entry;

/* The best is first. Zero-initialized, it is empty. */
typedef struct fgi_best_list {
    fgi_best_entry entry[FGI_BEST_MOST];
    int count;
    fgi_best_entry waiting[FGI_BEST_WAITING]; /* the earliest first; without names */
    int waiting_count;
} fgi_best_list;

typedef enum fgi_rank {
    FGI_RANK_NONE,
    FGI_RANK_TOP, /* among the rule's `most` best */
    FGI_RANK_BEST
} fgi_rank;

/* The rank of a step's value, among those of the list and those that wait; it waits too, without a
 * rank until the next value. Of equal values, the first one is better. */
fgi_rank fgi_best_list_offer(fgi_best_list *list, const fgi_best_rule *rule, double value,
                             int64_t step);
/* The checkpoint of a step is on the disk: it is in the list if its value waits and is among the
 * best. Values of this and earlier steps no longer wait. */
void fgi_best_list_enter(fgi_best_list *list, const fgi_best_rule *rule, int64_t step,
                         const char *name);
/* Whether no checkpoint of the list has a better value, nor any that waits. */
bool fgi_best_list_is_best(const fgi_best_list *list, const fgi_best_rule *rule, double value);
/* The state of a step will not be saved. */
void fgi_best_list_forget(fgi_best_list *list, int64_t step);

/* Adds monitor, mode, the list and the values that wait to the object; false: out of memory. */
bool fgi_best_list_save(const fgi_best_list *list, const fgi_best_rule *rule,
                        struct json_t *object);
/* Reads them; entries that are malformed are left out. The list of another metric or mode is
 * ignored: *list is empty. */
void fgi_best_list_load(fgi_best_list *list, const fgi_best_rule *rule,
                        const struct json_t *object);
/* Removes the entries whose checkpoint is not in `folder`, or is of another step or value. Errors:
 * FG_ENOMEM. */
fg_status fgi_best_list_verify(fgi_best_list *list, const fgi_best_rule *rule, const char *folder,
                               fg_error *err);

/* ---- the position ---------------------------------------------------------------------------- */

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

/* A member of a struct, as the value of a key of state.json. */
typedef struct fgi_member {
    const char *key;
    size_t offset;
    enum {
        FGI_MEMBER_INT,
        FGI_MEMBER_REAL,
        FGI_MEMBER_FLAG
    } kind;        /* a flag is only there if set */
    int64_t least; /* of an integer */
    bool is_needed;
} fgi_member;
/* Adds the members to the object; false: out of memory. */
bool fgi_members_save(const fgi_member *rows, size_t count, const void *from,
                      struct json_t *object);
/* Reads them; returns the first that is not valid or, if it is needed, missing. NULL: none. */
const fgi_member *fgi_members_load(const fgi_member *rows, size_t count,
                                   const struct json_t *object, void *out);

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

/* ---- names of checkpoints -------------------------------------------------------------------- */

#define FGI_CKPT_NAME_DEFAULT "step-{step:09d}"

/* Whether the template is valid. Errors: FG_EINVAL, which says where it is not. */
fg_status fgi_ckpt_name_check(const char *pattern, fg_error *err);

/* Finds the next field of a valid template that is a metric, and advances *at to after it; false:
 * there is none. */
bool fgi_ckpt_name_next_metric(const char **at, char *out, size_t size);

/* The name of a checkpoint by a valid template; "none" for a metric that has no value yet. */
void fgi_ckpt_name_make(const char *pattern, int64_t step, int64_t epoch, const fg_metric *metrics,
                        size_t count, char *out, size_t size);

#endif
