/* accumulation.h - how many batches an optimizer step has, by epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_ACCUMULATION_H
#define FGI_TRAIN_ACCUMULATION_H

#include <fulgurite/train.h>

enum { FGI_ACCUMULATION_PARTS = 32 };

/* Starting at epoch[i], a step has batches[i] batches; epoch[0] is 0. */
typedef struct fgi_accumulation {
    int count;
    int64_t epoch[FGI_ACCUMULATION_PARTS], batches[FGI_ACCUMULATION_PARTS];
} fgi_accumulation;

/* Of numerics.accumulate_grad_batches (0: 1) and .accumulate_schedule. Errors: FG_EINVAL. */
fg_status fgi_accumulation_init(const fg_trainer_numerics *numerics, fgi_accumulation *out,
                                fg_error *err);
/* Batches of a step in this epoch. */
int64_t fgi_accumulation_at(const fgi_accumulation *a, int64_t epoch);
/* The most batches that a step has in any epoch. */
int64_t fgi_accumulation_most(const fgi_accumulation *a);
/* Steps of the epochs [first, last), each of this many batches. The last step of an epoch may have
 * fewer. The caller makes sure that the number of batches does not overflow. */
int64_t fgi_accumulation_steps(const fgi_accumulation *a, int64_t first, int64_t last,
                               int64_t batches);

#endif
