/* clip.c - gradient clipping: limits the gradients before an update.
 *
 * The gradients of a trace are those of the whole batch, whatever the number of devices and however
 * they are sharded: the compiler adds the communication that the norm needs. Sources: Pascanu et
 * al. 2013, "On the difficulty of training recurrent neural networks", in the form of PyTorch's
 * torch.nn.utils.clip_grad_norm_ and clip_grad_value_.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "op/op.h"
#include "optim/optimizer.h"
#include "trace/trace.h"

static const double MORE = 1e-6; /* added to the norm that the limit is divided by */

fg_status fg_optimizer_set_clip(fg_optimizer *optimizer, fg_clip clip, double limit, fg_error *err)
{
    if (clip != FG_CLIP_NONE && clip != FG_CLIP_NORM && clip != FG_CLIP_VALUE)
        return fgi_fail(err, FG_EINVAL, "gradient clipping: %d is not an fg_clip", (int)clip);
    if (clip != FG_CLIP_NONE && !(limit > 0 && isfinite(limit)))
        return fgi_fail(err, FG_EINVAL, "gradient clipping: the limit is %g: expected more than 0",
                        limit);
    optimizer->clip = clip;
    fgi_number_set(&optimizer->clip_limit, limit);
    return FG_OK;
}

/* The norm of all gradients together, in the update's dtype. */
static fg_tensor norm_of(const fg_update *u, const fg_tensor *gradients)
{
    fg_tensor sum = fg_zeros(u->trace, u->dtype, FG_SCALAR);
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        if (gradients[i].handle != 0)
            sum = fg_add(sum, fg_cast(fg_sum(fg_square(gradients[i]), 0, NULL), u->dtype));
    return fg_sqrt(sum);
}

/* min(1, limit / (norm + 1e-6)); NaN if the norm is. */
static fg_tensor factor_of(const fg_update *u, const fg_tensor *gradients)
{
    const fg_tensor limit = fgi_launch_value(u, &u->optimizer->clip_limit);
    const fg_tensor one = fg_ones(u->trace, u->dtype, FG_SCALAR);
    return fg_minimum(one, fg_div(limit, fg_add_scalar(norm_of(u, gradients), MORE)));
}

static fg_tensor between_limits(const fg_update *u, fg_tensor gradient)
{
    const fg_tensor limit =
        fg_cast(fgi_launch_value(u, &u->optimizer->clip_limit), fg_tensor_type(gradient)->dtype);
    return fg_maximum(fg_minimum(gradient, limit), fg_neg(limit));
}

void fgi_clip(const fg_update *u, fg_tensor *gradients)
{
    const fg_clip clip = u->optimizer->clip;
    if (clip == FG_CLIP_NONE)
        return;
    fg_scope_push(u->trace, "clip");
    const fg_tensor factor = clip == FG_CLIP_NORM ? factor_of(u, gradients) : (fg_tensor){0};
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        if (gradients[i].handle != 0)
            gradients[i] = clip == FG_CLIP_NORM ? fgi_times(gradients[i], factor)
                                                : between_limits(u, gradients[i]);
    fg_scope_pop(u->trace);
}
