/* launch_steps.c - how many steps a launch has: where it must end, and the choice of
 * steps_per_launch=auto.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/print.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

enum {
    MEASURED_STEPS = 64,     /* before the choice */
    MOST_CHOSEN = 64,        /* steps */
    MOST_BYTES = 64 << 20,   /* of the batches of a launch */
    FIRST_LAUNCH = 8,        /* steps of the first one of an epoch */
    GROWTH = 4,              /* launches by the number of steps before them in the epoch */
    WORTHWHILE_PERCENT = 10, /* of a step's time that launches take */
    LEFT_PERCENT = 5         /* of the rest of its time that they may take then */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t fgi_steps_to_launch(const fg_trainer *trainer)
{
    const fg_trainer_options *o = &trainer->options;
    const int64_t step = trainer->cursor.step;
    const int64_t every[] = {o->output.log_every, o->validation.val_every_steps,
                             o->checkpoints.ckpt_every_steps};
    int64_t steps = fgi_stage_launch_most(trainer->stage[FGI_TRAIN]);
    if (step == 0) /* its loss is the reference of divergence.c */
        return 1;
    /* The devices are idle when an epoch begins: few batches are needed to start them. */
    steps = smaller(steps, FIRST_LAUNCH + GROWTH * trainer->cursor.epoch_batches);
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++)
        if (every[i] > 0)
            steps = smaller(steps, every[i] - step % every[i]);
    if (o->limits.max_steps > 0)
        steps = smaller(steps, o->limits.max_steps - step);
    return smaller(steps, fgi_step_profile_next(trainer->step_profile) - step);
}

/* More steps than this have no effect, or their batches need much memory. */
static int64_t limit(const fg_trainer *trainer)
{
    const fg_trainer_options *o = &trainer->options;
    const fgi_stage *stage = trainer->stage[FGI_TRAIN];
    const int64_t batches = fgi_accumulation_most(&trainer->accumulation);
    int64_t bytes = 1, most = smaller(MOST_CHOSEN, o->output.log_every);
    for (int f = 0; f < stage->spec.field_count; f++)
        bytes += (int64_t)fg_type_bytes(&stage->spec.field_type[f]);
    if (stage->accumulator != NULL)
        most = smaller(MOST_CHOSEN, batches);
    return smaller(most, MOST_BYTES / bytes);
}

/* Steps such that launches take little of the time that remains; 1: they do so already. */
static int64_t choose(double launch_s, double step_s, int64_t most)
{
    const double rest = fmax(step_s - launch_s, step_s / MOST_CHOSEN);
    int64_t steps = 1;
    if (launch_s * 100 < step_s * WORTHWHILE_PERCENT)
        return 1;
    while (steps < most && launch_s * 100 > rest * LEFT_PERCENT * (double)steps)
        steps *= 2;
    return smaller(steps, most);
}

/* Whether compiling the step again takes less time than the rest of the run saves. */
static bool pays(const fg_trainer *trainer, double saved_s)
{
    const int64_t total = trainer->fit.settings.total_steps;
    const double compile_s =
        fg_client_stats_of(trainer->client).compile_s - trainer->call.stats_before.compile_s;
    return total < 0 || saved_s * (double)(total - trainer->cursor.step) > compile_s;
}

static void say(const fg_trainer *trainer, double launch_s, double step_s, bool is_short)
{
    char line[200];
    (void)fgi_snprintf(line, sizeof line,
                       "steps_per_launch: %" PRId64 " (auto: launching takes %.0f us of a step of "
                       "%.0f us%s)",
                       trainer->launch_steps, launch_s * 1e6, step_s * 1e6,
                       is_short ? "; the rest of the run is shorter than compiling" : "");
    fgi_progress_say(trainer->progress, line);
}

fg_status fgi_launch_steps_choose(fg_trainer *trainer, fg_error *err)
{
    fg_result measured = {0};
    if (trainer->launch_steps > 0 || trainer->ledger.steps < MEASURED_STEPS)
        return FG_OK;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    fgi_ledger_result(&trainer->ledger, &measured);
    const double launch_s = measured.host_overhead_s + measured.plugin_s;
    const double step_s = measured.step_median_s;
    const int64_t steps = choose(launch_s, step_s, limit(trainer));
    const bool is_chosen = steps > 1 && pays(trainer, launch_s * (1 - 1 / (double)steps));
    trainer->launch_steps = is_chosen ? steps : 1;
    say(trainer, launch_s, step_s, steps > 1 && !is_chosen);
    return fgi_stage_refresh(trainer, trainer->stage[FGI_TRAIN], err);
}
