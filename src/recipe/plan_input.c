/* plan_input.c - the input rate that a planned step requires, and the loader's rate on this host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <unistd.h>

#include "recipe/run.h"
#include "base/print.h"

static const double measured_for_s = 1;

static void put(json_t *o, const char *key, double value)
{
    (void)json_object_set_new(o, key, isfinite(value) ? json_real(value) : json_null());
}

/* The number of parts into which hosts divide a batch for loading: the number of hosts, unless the
 * devices of several hosts use the same samples. */
static int parts_of(const fg_client_info *info)
{
    const int shards = info->mesh.batch_shards;
    return info->host_count < shards ? info->host_count : shards;
}

/* A loader like the Trainer's for training. The batch is that of one host's devices. */
static fg_loader_options loader_of(const fg_recipe *r, const fg_plan *plan, int parts)
{
    const int workers = r->fit_data.workers;
    return (fg_loader_options){.batch_size = (plan->global_batch_size + parts - 1) / parts,
                               .shuffle = !r->fit_data.no_shuffle,
                               .shuffle_buffer = r->fit_data.shuffle_buffer,
                               .synchronous = workers<0, .workers = workers> 0 ? workers : 0};
}

/* The conclusion from the ratio of delivered to required rate, as text. */
static void put_verdict(json_t *o, const fg_recipe *r, double fraction, bool is_alone,
                        const fg_loader_stages *stages)
{
    char words[240], advice[64];
    double spent;
    const char *stage = fg_loader_slowest_stage(stages, &spent);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const char *host = is_alone ? "this host" : "a host like this one";
    (void)fgi_snprintf(advice, sizeof advice, "use %s",
                       is_alone ? "smaller samples, a larger host or several hosts"
                                : "smaller samples or larger hosts");
    if (r->fit_data.workers != 0 && r->fit_data.workers < processors)
        (void)fgi_snprintf(advice, sizeof advice, "trainer.workers can be up to %ld here",
                           processors);
    if (fraction >= 1)
        (void)fgi_snprintf(words, sizeof words, "%s delivers %.3g times the required rate", host,
                           fraction);
    else
        (void)fgi_snprintf(
            words, sizeof words,
            "%s delivers %.2g %% of the required rate and spends %.0f %% of the loader's time on "
            "%s, so the devices would wait: %s",
            host, 100 * fraction, 100 * spent, stage != NULL ? stage : "nothing", advice);
    (void)json_object_set_new(o, "input_verdict", json_string(words));
}

void fgi_plan_put_input(json_t *o, const fg_recipe *r, const fg_plan *plan)
{
    fg_error err = {0};
    fg_input_rate rate;
    const fg_client_info *info = fg_client_get_info(fg_trainer_client(r->trainer));
    const int parts = parts_of(info);
    const double needed = (double)plan->global_batch_size / plan->step_s, host = needed / parts;
    if (!isfinite(needed))
        return;
    put(o, "input_needed_samples_per_s", needed);
    put(o, "input_host_samples_per_s", host);
    const fg_loader_options options = loader_of(r, plan, parts);
    if (fg_input_rate_measure(r->data.train, &options, measured_for_s, &rate, &err) != FG_OK) {
        put(o, "input_measured_samples_per_s", (double)NAN);
        (void)json_object_set_new(o, "input_verdict", json_string(err.message));
        return;
    }
    put(o, "input_needed_bytes_per_s", needed * (double)rate.sample_bytes);
    put(o, "input_host_bytes_per_s", host * (double)rate.sample_bytes);
    put(o, "input_measured_samples_per_s", rate.samples_per_s);
    put(o, "input_measured_bytes_per_s", rate.bytes_per_s);
    put(o, "input_sample_bytes", (double)rate.sample_bytes);
    put(o, "input_fraction", rate.samples_per_s / host);
    put_verdict(o, r, rate.samples_per_s / host, info->host_count == 1, &rate.stages);
}
