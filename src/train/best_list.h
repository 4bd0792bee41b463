/* best_list.h - the best checkpoints of a run by a metric: the list of the Trainer, which is part
 * of the position of the loop (cursor.h), and that of the callback checkpoint. Both are in
 * checkpoints, so a resumed run continues them.
 *
 * A value waits until the checkpoint of its state is on the disk; only then is it in the list. The
 * list of a checkpoint describes the run up to it: a run that goes back to it continues with this
 * list, without the checkpoints that no longer exist or now hold another state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_BEST_LIST_H
#define FGI_TRAIN_BEST_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <fulgurite/base.h>

struct json_t;

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
    char name[FGI_CKPT_NAME_SIZE]; /* of the checkpoint */
} fgi_best_entry;

/* The best is first. Zero-initialized, it is empty. */
typedef struct fgi_best_list {
    fgi_best_entry entry[FGI_BEST_MOST];
    int count;
    struct {
        double value;
        int64_t step;
        bool has_no_rank;        /* counts only if a better one cannot be saved */
    } waiting[FGI_BEST_WAITING]; /* the earliest first */
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

#endif
