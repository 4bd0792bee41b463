/* strategy.h - which devices to use, and how to distribute the work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STRATEGY_H
#define FGI_TRAIN_STRATEGY_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

/* Checks the options for devices and strategy. */
fg_status fgi_strategy_check(const fg_trainer_devices *o, fg_error *err);
/* Opens the client that the options request, or takes theirs, unless *client is open. */
fg_status fgi_strategy_open(const fg_trainer_devices *o, fg_client **client, fg_error *err);
/* Refuses devices of several processes, for which programs can only be compiled. */
fg_status fgi_strategy_can_run(const fg_client *client, fg_error *err);
/* The strategy on that many devices: "single", "ddp" or "fsdp". */
const char *fgi_strategy_name(const fg_trainer_devices *o, int device_count);
/* Shards a module's parameters over the client's mesh. */
fg_status fgi_sharding_apply(const fg_trainer_devices *o, fg_client *client, fg_module *root,
                             fg_error *err);

#endif
