/* dist.h - what is split over the devices of a client: strategies and rules for parameters.
 *
 * The devices form a mesh of data_devices x model_devices (fg_client_get_info). A program is
 * written for the whole batch; what is split is a property of the arrays and variables it reads,
 * and XLA inserts the exchange between devices. So every way of splitting computes the same, up to
 * the order of sums.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DIST_H
#define FULGURITE_DIST_H

#include <fulgurite/device.h>
#include <fulgurite/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says how the parameters of some names are split. */
typedef struct fg_split_rule {
    const char *match; /* full names of parameters, as files have them ("fc1.weight"); * stands for
                          any text, dots included, ? for one character, [ab] for one of these */
    const char *split; /* "model,none": a word for each dimension in the order of files, which is
                          PyTorch's ([out, in] for a linear layer's weight): "data", "model" or
                          "none"; dimensions without a word are not split */
} fg_split_rule;

typedef struct fg_distribute_options {
    const char *strategy; /* "ddp": every device has all parameters, but for what the rules say;
                             "fsdp": they are split along the data axis as well     ["ddp"] */
    const fg_split_rule *rules; /* the first that matches a parameter's name holds for it  [none] */
    size_t rule_count;
    uint64_t reserved[4];
} fg_distribute_options;

/* Splits the parameters of a module over the client's mesh; what an optimizer keeps beside a
 * parameter, and its gradient, are split like it. Call it after the layers are built and before the
 * first step; the Trainer does so by itself (fg_trainer_options). options may be NULL.
 *
 * Strategy fsdp splits each parameter of 1024 elements or more along the largest of its dimensions
 * that the data axis divides and no rule splits (the first such one in memory, where a linear
 * weight is [in, out]); others stay whole. It is gathered where layers use it (fg_variable_value),
 * and a device updates its part only. Source: Rajbhandari et al. 2020, "ZeRO: Memory optimizations
 * toward training trillion parameter models", stage 3.
 *
 * On an axis of one device nothing is split; files are the same for every strategy.
 * Errors, which leave the module as it was: FG_EINVAL (an unknown strategy or axis), FG_ENOTFOUND
 * (a rule that matches no parameter), FG_ESHAPE (a rule with more words than a parameter it matches
 * has dimensions, or a dimension that the axis does not divide). */
FG_API FG_MUST_USE fg_status fg_module_distribute(fg_module *root, fg_client *client,
                                                  const fg_distribute_options *options,
                                                  fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
