/* sharing.c - what the Trainer's options say about splitting parameters over the devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/dist.h>
#include "train/trainer.h"

bool fgi_sharing_keep(fg_trainer *trainer)
{
    fg_trainer_options *o = &trainer->options;
    if (o->split_rule_count == 0)
        return true;
    fg_split_rule *rules = fgi_arena_copy(&trainer->strings, o->split_rules,
                                          o->split_rule_count * sizeof *o->split_rules);
    for (size_t i = 0; rules != NULL && i < o->split_rule_count; i++) {
        const char *match = rules[i].match != NULL ? rules[i].match : "";
        const char *split = rules[i].split != NULL ? rules[i].split : "";
        rules[i].match = fgi_arena_strdup(&trainer->strings, match);
        rules[i].split = fgi_arena_strdup(&trainer->strings, split);
        if (rules[i].match == NULL || rules[i].split == NULL)
            return false;
    }
    o->split_rules = rules;
    return rules != NULL;
}

fg_status fgi_sharing_apply(const fg_trainer *trainer, fg_module *root, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    const bool is_fsdp = strcmp(fgi_strategy_name(trainer), "fsdp") == 0;
    const fg_distribute_options options = {.strategy = is_fsdp ? "fsdp" : "ddp",
                                           .rules = o->split_rules,
                                           .rule_count = o->split_rule_count};
    return fg_module_distribute(root, trainer->client, &options, err);
}
