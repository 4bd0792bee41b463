/* update.c - what the functions of a row can read: the update of one parameter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

fg_tensor fg_update_lr(const fg_update *update) { return update->lr; }

fg_tensor fg_update_momentum(const fg_update *update) { return update->momentum; }

fg_tensor fg_update_weight_decay(const fg_update *update) { return update->weight_decay; }

fg_tensor fg_update_step(const fg_update *update) { return update->step; }

const void *fg_update_options(const fg_update *update) { return update->optimizer->options; }

const char *fg_update_name(const fg_update *update)
{
    return fg_variable_name(update->optimizer->parameters[update->index]);
}

bool fg_update_has_moment(const fg_update *update, int moment)
{
    return update->optimizer->moment[moment] != NULL;
}

fg_tensor fg_update_moment(const fg_update *update, int moment)
{
    return fg_variable_value(update->trace, update->optimizer->moment[moment][update->index]);
}

void fg_update_set_moment(const fg_update *update, int moment, fg_tensor value)
{
    fg_assign(update->optimizer->moment[moment][update->index],
              fgi_guard_keep(update, value, fg_update_moment(update, moment)));
}

void fg_update_set_shared(fg_update *update, int index, fg_tensor value)
{
    update->shared[index] = value;
}

fg_tensor fg_update_shared(const fg_update *update, int index) { return update->shared[index]; }
