/* rmsprop.c - gradients divided by a running average of their magnitude.
 * Source: Tieleman and Hinton 2012, lecture 6.5 of "Neural networks for machine learning"; Graves
 * 2013, "Generating sequences with recurrent neural networks" (centered); PyTorch's RMSprop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

typedef struct rmsprop {
    double lr, alpha, momentum, weight_decay, eps;
    bool centered;
} rmsprop;

enum { BUFFER, SQUARE, MEAN };

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const rmsprop *o = fg_update_options(u);
    const fg_tensor rest = fg_full(u->trace, u->dtype, 1 - o->alpha, FG_SCALAR);
    g = fgi_add_decay(u, p, g);
    fg_tensor square = fgi_move_moment(u, SQUARE, fg_square(g), rest);
    if (o->centered)
        square = fg_relu(fg_sub(square, fg_square(fgi_move_moment(u, MEAN, g, rest))));
    fg_tensor step = fg_div(g, fg_add_scalar(fg_sqrt(square), o->eps));
    if (fg_update_has_moment(u, BUFFER)) {
        step = fg_add(fgi_times(fg_update_moment(u, BUFFER), u->momentum), step);
        fg_update_set_moment(u, BUFFER, step);
    }
    return fg_sub(p, fgi_times(step, u->lr));
}

static bool moment_type(const void *options, int moment, fg_type *type)
{
    (void)type;
    return moment != MEAN || ((const rmsprop *)options)->centered;
}

static const fg_option options[] = {
    FGI_OPTION_LR(rmsprop, "0.01"),
    FG_OPTION(rmsprop, alpha, FLOAT, "0.99", "0..<1", "0.9",
              "Exponential decay rate of the average of squared gradients."),
    FGI_OPTION_MOMENTUM(rmsprop, "0"),
    FG_OPTION(rmsprop, centered, BOOL, "false", NULL, "true",
              "Divide by the standard deviation of the gradients: subtract the square of their "
              "average."),
    FGI_OPTION_WEIGHT_DECAY(rmsprop, "0", FGI_DECAY_L2),
    FGI_OPTION_EPS(rmsprop, "1e-8"),
};

const fg_optimizer_entry fgi_rmsprop_row = {
    .entry = {.name = "rmsprop",
              .help = "gradients divided by a running average of their magnitude",
              FG_OPTIONS(options, rmsprop)},
    .moments = {"momentum_buffer", "square_avg", "grad_avg"},
    .moment_type = moment_type,
    .has_optional_momentum = true,
    .update = update};
