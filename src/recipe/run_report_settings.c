/* run_report_settings.c - the object "settings" of report.json: what the verdicts and the readers
 * of a report need to know about the configuration of a run, as the Trainer used it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/json_file.h"
#include "recipe/run.h"
#include "recipe/run_format.h"

static json_t *known(int64_t value) { return value > 0 ? json_integer(value) : json_null(); }

static json_t *compile_of(const fg_result *f)
{
    return json_pack("{s:I, s:I, s:o}", "count", (json_int_t)f->compiles, "cache_hits",
                     (json_int_t)f->compile_cache_hits, "seconds", fgi_json_real(f->compile_s));
}

/* How the devices share the work; unknown if the fit has failed before. */
static json_t *sharing_of(const fg_fit_settings *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "strategy",
                     fgi_json_string(s->strategy), "batch_shards", known(s->batch_shards),
                     "batch_size", known(s->batch_size), "global_batch_size",
                     known(s->global_batch_size), "accumulate_grad_batches",
                     known(s->accumulate_grad_batches), "lr_scaling",
                     fgi_json_string(s->lr_scaling), "base_batch_size", known(s->base_batch_size),
                     "lr_given", fgi_json_real(s->lr_given), "lr_factor",
                     fgi_json_real(s->lr_factor), "lr", fgi_json_real(s->lr));
}

json_t *fgi_run_report_settings(const fg_recipe *r)
{
    const fg_result *f = &r->outcome.train;
    const fgi_config *c = r->c;
    const fg_format_entry *format = NULL;
    fg_error ignored;
    if (fgi_run_format_find(c, &format, &ignored) != FG_OK)
        return NULL;
    json_t *all = sharing_of(fg_trainer_settings(r->trainer));
    json_t *more = json_pack(
        "{s:o, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "monitor",
        fgi_json_string(fgi_run_monitor(r)), "batch_key",
        c->batches.global_batch_size == FG_AUTO ? "trainer.batch_size"
                                                : "trainer.global_batch_size",
        "precision", fgi_json_string(c->trainer.numerics.precision), "data_format",
        fgi_json_string(format->entry.name), "can_preload",
        fgi_run_format_offers(format, "preload"), "log_every", known(c->trainer.output.log_every),
        "ckpt_every_steps", known(c->trainer.checkpoints.ckpt_every_steps), "ckpt_every_epochs",
        known(c->trainer.checkpoints.ckpt_every_epochs), "max_epochs", known(fgi_run_max_epochs(c)),
        "max_steps", known(c->trainer.limits.max_steps), "launch_s",
        fgi_json_real(f->host_overhead_s + f->plugin_s), "nonfinite_steps",
        json_integer((json_int_t)f->nonfinite_steps), "compile", compile_of(f));
    if (all == NULL || more == NULL || json_object_update(all, more) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(more);
    return all;
}
