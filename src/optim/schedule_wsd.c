/* schedule_wsd.c - warm-up, a stable learning rate, and a decay at the end.
 * Source: Hu et al. 2024, "MiniCPM: unveiling the potential of small language models"; decay by
 * 1 - sqrt: Hägele et al. 2024, "Scaling laws and compute-optimal training beyond fixed training
 * durations"; transformers' get_wsd_schedule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "optim/optimizer.h"

typedef struct wsd {
    fg_amount decay;
    const char *decay_type;
    double final;
} wsd;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const wsd *o = options;
    const int64_t length = fg_amount_of(o->decay, total_steps),
                  since = step - (total_steps - length);
    if (since <= 0)
        return lr;
    const double done = fgi_schedule_done(since, length);
    double left = 1 - done;
    if (strcmp(o->decay_type, "sqrt") == 0)
        left = 1 - sqrt(done);
    else if (strcmp(o->decay_type, "cos") == 0)
        left = (1 + cos(FGI_PI * done)) / 2;
    return fgi_schedule_between(lr, o->final, left);
}

static const fg_option options[] = {
    FG_OPTION(wsd, decay, AMOUNT, "0.2", NULL, "1000",
              "Steps of the decay at the end, or their fraction of the run."),
    FG_OPTION(wsd, decay_type, CHOICE, "sqrt", "sqrt|linear|cos", "linear",
              "Shape of the decay: 1 - sqrt, linear, or half a cosine.", .spellings = "cosine=cos"),
    FGI_OPTION_FINAL(wsd),
};

const fg_schedule_entry fgi_wsd_row = {
    .entry = {.name = "wsd",
              .help = "it is stable after the warm-up and decays at the end of the run",
              .spellings = "warmup_stable_decay",
              FG_OPTIONS(options, wsd)},
    .lr = lr_at};
