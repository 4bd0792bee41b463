/* plan_input.c - the input that a planned step wants, against what the loader does on this host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <unistd.h>

#include "plan.h"
#include "run.h"

static const double measured_for_s = 1;
enum { DEVICES_OF_A_HOST = 8 }; /* at most, of TPUs and of usual GPU machines */

static void put(json_t *o, const char *key, double value)
{
    (void)json_object_set_new(o, key, isfinite(value) ? json_real(value) : json_null());
}

/* As the Trainer's loader of training batches. The batch is that of one host's devices. */
static fg_loader_options loader_of(const run *r, const fg_plan *plan)
{
    const int workers = r->fit_data.workers;
    const int64_t all = plan->global_batch_size, one = DEVICES_OF_A_HOST * plan->batch_size;
    return (fg_loader_options){.batch_size = all < one ? all : one,
                               .shuffle = !r->fit_data.no_shuffle,
                               .shuffle_buffer = r->fit_data.shuffle_buffer,
                               .synchronous = workers<0, .workers = workers> 0 ? workers : 0};
}

/* What follows from the share, for people. */
static void put_verdict(json_t *o, const run *r, double share)
{
    char words[160], advice[64] = "smaller samples, a larger host or several would help";
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->fit_data.workers != 0 && r->fit_data.workers < processors)
        (void)snprintf(advice, sizeof advice, "trainer.workers can be up to %ld here", processors);
    if (share >= 1)
        (void)snprintf(words, sizeof words, "this host can feed %.3g times what they want", share);
    else
        (void)snprintf(words, sizeof words,
                       "this host can feed %.2g %% of it, and devices would wait: %s", 100 * share,
                       advice);
    (void)json_object_set_new(o, "input_verdict", json_string(words));
}

void plan_put_input(json_t *o, const run *r, const fg_plan *plan)
{
    fg_error err = {0};
    fg_input_rate rate;
    const double needed = (double)plan->global_batch_size / plan->step_s;
    if (!isfinite(needed))
        return;
    put(o, "input_needed_samples_per_s", needed);
    const fg_loader_options options = loader_of(r, plan);
    if (fg_input_rate_measure(r->data.train, &options, measured_for_s, &rate, &err) != FG_OK) {
        put(o, "input_measured_samples_per_s", (double)NAN);
        (void)json_object_set_new(o, "input_verdict", json_string(err.message));
        return;
    }
    put(o, "input_needed_bytes_per_s", needed * (double)rate.sample_bytes);
    put(o, "input_measured_samples_per_s", rate.samples_per_s);
    put(o, "input_measured_bytes_per_s", rate.bytes_per_s);
    put(o, "input_sample_bytes", (double)rate.sample_bytes);
    put(o, "input_share", rate.samples_per_s / needed);
    put_verdict(o, r, rate.samples_per_s / needed);
}
