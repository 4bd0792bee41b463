/* schedule_cosine.c - the learning rate falls along half a cosine, once or several times.
 * Source: Loshchilov and Hutter 2017, "SGDR: stochastic gradient descent with warm restarts";
 * PyTorch's CosineAnnealingLR and CosineAnnealingWarmRestarts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct cosine {
    double final, cycle_mult;
    int64_t cycles;
} cosine;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const cosine *o = options;
    double lengths = 0, done = fgi_schedule_done(step, total_steps);
    for (int64_t i = 0; i < o->cycles; i++)
        lengths += pow(o->cycle_mult, (double)i);
    double length = 1 / lengths; /* of a cycle */
    for (int64_t i = 1; i < o->cycles && done >= length * (1 - 1e-12); i++) {
        done -= length;
        length *= o->cycle_mult;
    }
    return fgi_schedule_between(lr, o->final, (1 + cos(FGI_PI * fmin(done / length, 1))) / 2);
}

static const fg_option options[] = {
    FGI_OPTION_FINAL(cosine),
    FG_OPTION(cosine, cycles, INT, "1", "1..1000", "3",
              "Number of cycles: each but the first is a warm restart at the full learning rate."),
    FG_OPTION(cosine, cycle_mult, FLOAT, "1", "1..100", "2",
              "Length of each cycle, as a multiple of the one before."),
};

const fg_schedule_entry fgi_cosine_row = {
    .entry = {.name = "cosine",
              .help = "it falls along half a cosine, once or with restarts",
              .spellings = "CosineAnnealingLR|CosineAnnealingWarmRestarts",
              FG_OPTIONS(options, cosine)},
    .lr = lr_at};
