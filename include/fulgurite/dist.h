/* dist.h - shard the parameters of a module across devices: strategies and rules.
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
    const char *strategy; /* "ddp": replicate parameters that no rule shards; "fsdp": also shard
                             parameters along the mesh's fsdp axes                      ["ddp"] */
    const fg_sharding_rule *rules; /* the first rule that matches a parameter applies   [none] */
    size_t rule_count;
    uint64_t reserved[4];
} fg_distribute_options;

/* Shards the parameters of a module over the client's mesh (mesh.h). Gradients and optimizer state
 * have the same sharding as their parameter. Call it after the layers are built and before the
 * first step; the Trainer calls it for you (fg_trainer_options). options may be NULL.
 *
 * Strategy "fsdp" shards each parameter of 1024 elements or more along its largest dimension that
 * is divisible by the fsdp axes and not sharded by a rule. If several are equal, the first one in
 * memory order is used, where a linear weight is [in, out]. Other parameters are replicated. A
 * parameter is gathered along the batch and fsdp axes where layers use it (fg_variable_value); each
 * device updates its own shard. On the mesh {data: 2, fsdp: 4} there are two copies of every shard,
 * as in PyTorch's hybrid sharding. Source: Rajbhandari et al. 2020, "ZeRO: Memory optimizations
 * toward training trillion parameter models", stage 3.
 *
 * An axis of size 1 has no effect. Files do not depend on the sharding.
 * Errors, which leave the module unchanged: FG_EINVAL (unknown strategy or axis), FG_ENOTFOUND (a
 * rule matches no parameter), FG_ESHAPE (a rule has more dimensions than a parameter it matches, or
 * a dimension is not divisible by the number of devices). */
FG_API FG_MUST_USE fg_status fg_module_distribute(fg_module *root, fg_client *client,
                                                  const fg_distribute_options *options,
                                                  fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
