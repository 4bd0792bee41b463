/* adam.h - declarations shared by Adam and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTIM_ADAM_H
#define FGI_OPTIM_ADAM_H

#include "optim/optimizer.h"

/* Settings of both, with defaults filled in. */
typedef struct fgi_adam {
    double lr, beta1, beta2, eps, weight_decay;
} fgi_adam;

/* Fills in the defaults of unset members; FG_ZERO becomes 0. */
fgi_adam fgi_adam_resolved(double lr, double beta1, double beta2, double eps, double weight_decay);
/* The same from the values of the options that both rows have. */
fgi_adam fgi_adam_of(const fg_option_values *values);
/* Copies adam. */
fg_optimizer *fgi_adam_create(fg_module *root, const fg_optimizer_rule *rule, fgi_adam adam);

/* Functions of both rules. step: the update without weight decay. */
fg_status fgi_adam_check(const void *own, double momentum, fg_error *err);
void fgi_adam_prepare(fg_update *u);
fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g);

/* A rule with PyTorch's names of the moments. */
#define FGI_ADAM_RULE(rule_name, its_update)                                                       \
    {                                                                                              \
        .name = (rule_name), .moments = {"exp_avg", "exp_avg_sq"}, .check = fgi_adam_check,        \
        .prepare = fgi_adam_prepare, .update = (its_update)                                        \
    }

/* Rows of the options betas and eps. */
#define FGI_OPTION_BETAS                                                                           \
    {                                                                                              \
        .name = "betas", .kind = FG_OPTION_FLOATS, .initial = "[0.9, 0.999]", .range = "0..<1",    \
        .min_count = 2, .max_count = 2, .example = "[0.9, 0.95]",                                  \
        .help = "Exponential decay rates of the first-moment and second-moment estimates (beta1, " \
                "beta2)."                                                                          \
    }
#define FGI_OPTION_EPS                                                                             \
    {                                                                                              \
        .name = "eps", .kind = FG_OPTION_FLOAT, .initial = "1e-08", .range = "0..1",               \
        .example = "1e-6", .help = "Added to the denominator for numerical stability."             \
    }

#endif
