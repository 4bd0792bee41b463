/* schedule_plateau.c - the learning rate drops when a metric of the validations has stopped
 * improving. Source: PyTorch's ReduceLROnPlateau, with a relative threshold.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct plateau {
    double gamma, threshold, final;
    int64_t patience;
} plateau;

enum { FACTOR, BEST, WITHOUT_IMPROVEMENT };

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    (void)options, (void)step, (void)total_steps;
    return lr;
}

static void observe(const void *options, double *state, double value, bool higher)
{
    const plateau *o = options;
    const double best = state[BEST];
    const bool is_better = isnan(best) ? !isnan(value)
                           : higher    ? value > best * (1 + o->threshold)
                                       : value < best * (1 - o->threshold);
    state[BEST] = is_better ? value : best;
    state[WITHOUT_IMPROVEMENT] = is_better ? 0 : state[WITHOUT_IMPROVEMENT] + 1;
    if (state[WITHOUT_IMPROVEMENT] <= (double)o->patience)
        return;
    state[FACTOR] = fmax(state[FACTOR] * o->gamma, o->final);
    state[WITHOUT_IMPROVEMENT] = 0;
}

static const fg_option options[] = {
    FGI_OPTION_GAMMA(plateau, "0.1"),
    FG_OPTION(plateau, patience, INT, "10", "0..", "3",
              "Validations without an improvement of trainer.monitor before a drop."),
    FG_OPTION(plateau, threshold, FLOAT, "0.0001", "0..<1", "0.01",
              "Smallest change that is an improvement, as a fraction of the best value."),
    FGI_OPTION_FINAL(plateau),
};

const fg_schedule_entry fgi_plateau_row = {
    .entry = {.name = "plateau",
              .help = "it drops when trainer.monitor has stopped improving",
              .spellings = "ReduceLROnPlateau",
              FG_OPTIONS(options, plateau)},
    .is_endless = true,
    .lr = lr_at,
    .observe = observe};
