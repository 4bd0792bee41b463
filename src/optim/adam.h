/* adam.h - declarations shared by Adam and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTIM_ADAM_H
#define FGI_OPTIM_ADAM_H

#include "optim/optimizer.h"

/* Functions of both rows. step: the update without weight decay. */
bool fgi_adam_counts_updates(const void *options);
void fgi_adam_prepare(fg_update *u);
fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g);

/* The members of both rows, with PyTorch's names of the moments, and their options. */
#define FGI_ADAM_MEMBERS                                                                           \
    .moments = {"exp_avg", "exp_avg_sq"}, .counts_updates = fgi_adam_counts_updates,               \
    .prepare = fgi_adam_prepare
#define FGI_ADAM_OPTIONS(auto_decay, text)                                                         \
    FGI_OPTION_LR(fg_adam_options, "0.001"),                                                       \
        FGI_OPTION_WEIGHT_DECAY(fg_adam_options, auto_decay, text),                                \
        FG_OPTION_PAIR(fg_adam_options, betas, FLOATS, "[0.9, 0.999]", "0..<1", "[0.9, 0.95]",     \
                       "Exponential decay rates of the first-moment and second-moment estimates "  \
                       "(beta1, beta2)."),                                                         \
        FG_OPTION(fg_adam_options, eps, FLOAT, "1e-08", "0..1", "1e-6",                            \
                  "Added to the denominator for numerical stability.")

#endif
