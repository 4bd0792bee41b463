/* dist.h - shards the parameters of a module over the devices of a client: strategies and rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DIST_H
#define FULGURITE_DIST_H

#include <fulgurite/device.h>
#include <fulgurite/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fg_distribute_options {
    const char *strategy; /* "ddp": parameters are replicated, except as the rules say; "fsdp":
                             they are sharded over the mesh's fsdp axes as well         ["ddp"] */
    const fg_sharding_rule *rules; /* the first that matches a parameter's name applies  [none] */
    size_t rule_count;
    uint64_t reserved[4];
} fg_distribute_options;

/* Shards the parameters of a module over the client's mesh (mesh.h); gradients and the optimizer's
 * state have the sharding of their parameter. Call it after the layers are built and before the
 * first step; the Trainer does so by itself (fg_trainer_options). options may be NULL.
 *
 * Strategy fsdp shards each parameter of 1024 elements or more along the largest dimension that the
 * fsdp axes divide and no rule shards (the first one in memory of equal ones; a linear weight is
 * [in, out] there); others are replicated. A parameter is gathered along the batch and fsdp axes
 * where layers use it (fg_variable_value); each device updates its own shard. On a mesh of
 * data=2,fsdp=4 there are two copies of every shard, as in PyTorch's hybrid sharding. Source:
 * Rajbhandari et al. 2020, "ZeRO: Memory optimizations toward training trillion parameter models",
 * stage 3.
 *
 * An axis of size 1 shards nothing; files are the same for every sharding.
 * Errors, which leave the module as it was: FG_EINVAL (an unknown strategy or axis), FG_ENOTFOUND
 * (a rule that matches no parameter), FG_ESHAPE (a rule with more dimensions than a parameter it
 * matches, or a dimension that the devices do not divide). */
FG_API FG_MUST_USE fg_status fg_module_distribute(fg_module *root, fg_client *client,
                                                  const fg_distribute_options *options,
                                                  fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
