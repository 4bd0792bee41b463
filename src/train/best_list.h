/* best_list.h - the best checkpoints of a run by the monitored metric. The position of the loop
 * (cursor.h) contains the list, so a resumed run continues it.
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
    FGI_CKPT_NAME_SIZE = 192 /* of a checkpoint's name, including the NUL */
};

typedef struct fgi_best_entry {
    double value; /* of the metric */
    int64_t step;
    char name[FGI_CKPT_NAME_SIZE]; /* of the checkpoint; "": not saved yet */
} fgi_best_entry;

/* The best is first. Zero-initialized, it is empty. */
typedef struct fgi_best_list {
    fgi_best_entry entry[FGI_BEST_MOST];
    int count;
} fgi_best_list;

/* Adds the value of a step if it is among the `most` best, in place of an earlier one of the same
 * step; of equal values, the first one is better. Returns whether it was added. */
bool fgi_best_list_add(fgi_best_list *list, double value, int64_t step, int most, bool is_max);
void fgi_best_list_remove(fgi_best_list *list, int64_t step); /* if it is there */
/* The entry of a step, NULL if there is none. */
fgi_best_entry *fgi_best_list_find(fgi_best_list *list, int64_t step);

/* Adds the list to the object of state.json; false: out of memory. */
bool fgi_best_list_save(const fgi_best_list *list, struct json_t *object);
/* Reads it; entries that are malformed are left out. */
void fgi_best_list_load(fgi_best_list *list, const struct json_t *object);

#endif
