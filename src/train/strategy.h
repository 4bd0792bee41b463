/* strategy.h - which devices to use, and how to distribute the work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STRATEGY_H
#define FGI_TRAIN_STRATEGY_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

/* The sharding of a batch: the first dimension over the batch axes of the mesh. */
fgi_sharding fgi_batch_sharding(const fg_trainer *trainer);
/* Shards of a batch. */
int fgi_batch_shards(const fg_trainer *trainer);
/* All devices of the client, or of a preview. */
int fgi_device_count(const fg_trainer *trainer);

/* Checks the options for devices and strategy. */
fg_status fgi_strategy_check(const fg_trainer_options *o, fg_error *err);
/* Opens the client that the options request, once. */
fg_status fgi_strategy_open(fg_trainer *trainer, fg_error *err);
/* The strategy in force, once the client is open: "single", "ddp" or "fsdp". */
const char *fgi_strategy_name(const fg_trainer *trainer);
/* Copies options.devices.sharding_rules into the Trainer's memory; false: out of memory. */
bool fgi_sharding_keep(fg_trainer *trainer);
/* Shards a module's parameters over the client's mesh, according to the options. */
fg_status fgi_sharding_apply(const fg_trainer *trainer, fg_module *root, fg_error *err);

#endif
