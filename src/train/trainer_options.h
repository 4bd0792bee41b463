/* trainer_options.h - the options of a Trainer, with their defaults, and what follows from some of
 * them: batches per step by epoch, and which devices to use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_OPTIONS_H
#define FGI_TRAIN_TRAINER_OPTIONS_H

#include <fulgurite/check.h>
#include <fulgurite/train.h>

#include "base/arena.h"

/* Completes and checks the options that a program gives (NULL: none): no member is left out, and
 * strings of the table belong to *out; free it with fg_free. Other pointers are the caller's.
 * Errors: FG_EINVAL, FG_ENOMEM. */
fg_status fgi_trainer_options_create(const fg_trainer_options *given, fg_trainer_options **out,
                                     fg_error *err);
/* Applies options that replace others: fast_dev_run, overfit_batches. */
void fgi_trainer_options_settle(fg_trainer_options *o);
/* Copies what the options point to besides; false: out of memory. */
bool fgi_options_keep(fg_trainer_options *o, fgi_arena *strings);

/* ---- batches of a step (accumulation.c) ------------------------------------------------------ */

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

/* ---- devices (strategy.c) -------------------------------------------------------------------- */

/* Checks the options for devices and strategy. */
fg_status fgi_strategy_check(const fg_trainer_devices *o, fg_error *err);
/* Opens the client that the options request and checks its plugin, or takes theirs, unless *client
 * is open. */
fg_status fgi_strategy_open(const fg_trainer_devices *o, const fg_check_options *check,
                            fg_client **client, fg_error *err);
/* Refuses devices of several processes, for which programs can only be compiled. */
fg_status fgi_strategy_can_run(const fg_client *client, fg_error *err);
/* The strategy on that many devices: "single", "ddp" or "fsdp". */
const char *fgi_strategy_name(const fg_trainer_devices *o, int device_count);
/* Shards a module's parameters over the client's mesh. */
fg_status fgi_sharding_apply(const fg_trainer_devices *o, fg_client *client, fg_module *root,
                             fg_error *err);

#endif
