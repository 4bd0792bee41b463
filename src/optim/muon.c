/* muon.c - the momentum of each matrix, orthogonalized; AdamW for all other parameters.
 * Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks", with
 * Nesterov momentum and the learning rate of Liu et al. 2025, "Muon is scalable for LLM training":
 * a step has the root mean square of AdamW's. torch.optim.Muon.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct muon {
    double lr, momentum, weight_decay, betas[2], eps;
    bool adamw;
} muon;

enum { BUFFER, ADAM };

static bool is_matrix(const muon *o, const fg_type *type) { return !o->adamw && type->rank >= 2; }

/* Five Newton-Schulz iterations: the singular values of X[m,n] become about 1. */
static fg_tensor orthogonalize(fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    const bool is_tall = type->dim[0] > type->dim[1];
    const fg_tensor least = fg_full(fg_tensor_trace(x), type->dtype, 1e-7, FG_SCALAR);
    x = fg_div(is_tall ? fg_transpose(x) : x, fg_maximum(fgi_norm(x), least));
    for (int i = 0; i < 5; i++) {
        const fg_tensor a = fg_matmul(x, fg_transpose(x));
        const fg_tensor b =
            fg_add(fg_mul_scalar(a, -4.7750), fg_mul_scalar(fg_matmul(a, a), 2.0315));
        x = fg_add(fg_mul_scalar(x, 3.4445), fg_matmul(b, x));
    }
    return is_tall ? fg_transpose(x) : x;
}

static void prepare(fg_update *u)
{
    const muon *o = fg_update_options(u);
    fgi_adam_prepare(u, fg_full(u->trace, u->dtype, -log(o->betas[0]) / 2, FG_SCALAR));
}

/* A convolution is a matrix with a column for each output channel. */
static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const muon *o = fg_update_options(u);
    const fg_type *type = fg_tensor_type(p);
    if (!is_matrix(o, type)) {
        const fg_tensor rest = fg_full(u->trace, u->dtype, 1 - o->betas[0], FG_SCALAR);
        const fgi_adam how = {.first = ADAM,
                              .rest = rest,
                              .beta2 = o->betas[1],
                              .eps = o->eps,
                              .decay = FGI_DECOUPLED};
        return fgi_adam_step(u, p, g, &how);
    }
    const fg_tensor v = fgi_move_moment(u, BUFFER, g, u->rest);
    const fg_tensor ahead = fg_add(g, fgi_times(fg_sub(v, g), u->momentum));
    const int64_t columns = type->dim[type->rank - 1];
    const fg_tensor matrix = fg_reshape(ahead, FG_DIMS(-1, columns));
    const int64_t rows = fg_tensor_type(matrix)->dim[0];
    const fg_tensor step = fg_reshape(orthogonalize(matrix), type->rank, type->dim);
    const double size = 0.2 * sqrt((double)(rows > columns ? rows : columns));
    return fg_sub(fgi_decay(u, p), fgi_times(fg_mul_scalar(step, size), u->lr));
}

static bool moment_type(const void *options, int moment, fg_type *type)
{
    return is_matrix(options, type) == (moment == BUFFER);
}

static const fg_option options[] = {
    FGI_OPTION_LR(muon, "0.001"),
    FGI_OPTION_MOMENTUM(muon, "0.95"),
    FGI_OPTION_WEIGHT_DECAY(muon, "0.1", FGI_DECAY_DECOUPLED),
    FGI_OPTION_BETAS(muon, "[0.9, 0.999]"),
    FGI_OPTION_EPS(muon, "1e-8"),
    FG_OPTION(muon, adamw, BOOL, "false", NULL, "true",
              "Update matrices by AdamW too: for groups of embeddings and output layers."),
};

const fg_optimizer_entry fgi_muon_row = {
    .entry = {.name = "muon",
              .help = "matrices by their orthogonalized momentum, other parameters by AdamW",
              FG_OPTIONS(options, muon)},
    .moments = {"momentum_buffer", "exp_avg", "exp_avg_sq"},
    .moment_type = moment_type,
    .counts_updates = fgi_always_counts,
    .prepare = prepare,
    .update = update};
