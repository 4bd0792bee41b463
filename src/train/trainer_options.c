/* trainer_options.c - the options of a Trainer: checked, copied, with their defaults.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_options.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/reserved.h"
#include "ckpt/attach.h"
#include "trace/precision.h"
#include "train/accumulation.h"
#include "train/ckpt_name.h"
#include "train/divergence.h"
#include "train/fit_settings.h"
#include "train/profile_steps.h"
#include "train/progress.h"
#include "train/strategy.h"

enum { MOST_S = 1000000000 }; /* of limits.max_time_s: about 32 years */

void fgi_trial_settle(fg_trainer_options *o)
{
    if (o->limits.overfit_batches > 0 || o->limits.overfit_fraction > 0) {
        o->limits.limit_train_batches = o->limits.limit_val_batches = o->limits.overfit_batches;
        o->limits.limit_train_fraction = o->limits.limit_val_fraction = o->limits.overfit_fraction;
    }
    if (!o->limits.fast_dev_run)
        return;
    o->limits.max_epochs = 1;
    o->limits.max_steps = 0;
    o->limits.limit_train_batches = o->limits.limit_val_batches = 1;
    o->limits.limit_train_fraction = o->limits.limit_val_fraction = 0;
    o->validation.val_every_epochs = 1;
    o->validation.val_every_steps = 0;
    o->output.log_every = 1;
    o->validation.sanity_val_steps = 0;
    o->checkpoints.run_dir = NULL;
    o->output.profile = NULL;
    if (o->checkpoints.resume != NULL &&
        (strcmp(o->checkpoints.resume, "last") == 0 || strcmp(o->checkpoints.resume, "best") == 0 ||
         strcmp(o->checkpoints.resume, "auto") == 0))
        o->checkpoints.resume = NULL; /* of the run folder */
}

static fg_status check_reserved(const fg_trainer_options *o, fg_error *err)
{
    FGI_TRY_RESERVED(fg_trainer_options, o, err);
    FGI_TRY_RESERVED(fg_trainer_devices, &o->devices, err);
    FGI_TRY_RESERVED(fg_trainer_limits, &o->limits, err);
    FGI_TRY_RESERVED(fg_trainer_validation, &o->validation, err);
    FGI_TRY_RESERVED(fg_trainer_lr, &o->lr, err);
    FGI_TRY_RESERVED(fg_trainer_checkpoints, &o->checkpoints, err);
    FGI_TRY_RESERVED(fg_trainer_numerics, &o->numerics, err);
    FGI_TRY_RESERVED(fg_trainer_output, &o->output, err);
    FGI_TRY_RESERVED(fg_trainer_hang, &o->hang, err);
    FGI_TRY_RESERVED(fg_trainer_divergence, &o->divergence, err);
    FGI_TRY_RESERVED(fg_mesh_options, &o->devices.mesh, err);
    FGI_TRY_RESERVED(fg_load_options, &o->checkpoints.weights_options, err);
    return FG_OK;
}

static fg_status check_clip(const fg_trainer_numerics *o, fg_error *err)
{
    const char *algorithm = o->gradient_clip_algorithm;
    if (!(o->gradient_clip_val >= 0 && isfinite(o->gradient_clip_val)))
        return fgi_fail(err, FG_EINVAL,
                        "trainer: gradient_clip_val is %g: expected more than 0, or 0 for no "
                        "clipping",
                        o->gradient_clip_val);
    if (algorithm != NULL && strcmp(algorithm, "norm") != 0 && strcmp(algorithm, "value") != 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer: gradient_clip_algorithm is '%s': expected norm or value",
                        algorithm);
    return FG_OK;
}

static fg_status check_saves(const fg_trainer_checkpoints *o, fg_error *err)
{
    if (!(o->save_every_s >= 0 && o->save_every_s <= MOST_S))
        return fgi_fail(err, FG_EINVAL, "trainer: save_every_s is %g: expected 0 to %g",
                        o->save_every_s, (double)MOST_S);
    if (o->save_top_k > FGI_BEST_MOST)
        return fgi_fail(err, FG_EINVAL, "trainer: save_top_k is %d: expected at most %d",
                        o->save_top_k, (int)FGI_BEST_MOST);
    if (o->name != NULL)
        FGI_TRY_CTX(fgi_ckpt_name_check(o->name, err), err, "trainer");
    return FG_OK;
}

static fg_status check_profile(const fg_trainer_options *o, fg_error *err)
{
    const char *profile = o->output.profile;
    fgi_profile_steps steps;
    if (!fgi_profile_steps_parse(profile, &steps))
        return fgi_fail(err, FG_EINVAL,
                        "trainer: profile is '%s': expected steps such as 10:20, or auto", profile);
    if ((steps.is_auto || steps.first > 0) && o->checkpoints.run_dir == NULL)
        return fgi_fail(err, FG_EINVAL, "trainer: profile is '%s', which needs a run_dir", profile);
    return FG_OK;
}

fg_status fgi_options_check(const fg_trainer_options *o, fg_error *err)
{
    const struct {
        const char *name;
        int64_t value, least;
    } rows[] = {
        {"max_epochs", o->limits.max_epochs, -1},
        {"max_steps", o->limits.max_steps, 0},
        {"limit_train_batches", o->limits.limit_train_batches, 0},
        {"limit_val_batches", o->limits.limit_val_batches, 0},
        {"overfit_batches", o->limits.overfit_batches, 0},
        {"sanity_val_steps", o->validation.sanity_val_steps, -1},
        {"val_every_epochs", o->validation.val_every_epochs, -1},
        {"val_every_steps", o->validation.val_every_steps, 0},
        {"log_every", o->output.log_every, 0},
        {"accumulate_grad_batches", o->numerics.accumulate_grad_batches, 0},
        {"save_every_epochs", o->checkpoints.save_every_epochs, -1},
        {"save_every_steps", o->checkpoints.save_every_steps, 0},
        {"keep_checkpoints", o->checkpoints.keep_checkpoints, -1},
        {"save_top_k", o->checkpoints.save_top_k, 0},
        {"base_batch_size", o->lr.base_batch_size, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value < rows[i].least)
            return fgi_fail(err, FG_EINVAL, "trainer: %s is %lld: expected at least %lld",
                            rows[i].name, (long long)rows[i].value, (long long)rows[i].least);
    if (!(o->limits.max_time_s >= 0 && o->limits.max_time_s <= MOST_S))
        return fgi_fail(err, FG_EINVAL, "trainer: max_time_s is %g: expected 0 to %g",
                        o->limits.max_time_s, (double)MOST_S);
    FGI_TRY(check_saves(&o->checkpoints, err));
    if (!fgi_progress_is_style(o->output.progress_style))
        return fgi_fail(err, FG_EINVAL,
                        "trainer: progress_style is '%s': expected auto, bar or plain",
                        o->output.progress_style);
    if (o->checkpoints.resume != NULL && o->checkpoints.run_dir == NULL &&
        (strcmp(o->checkpoints.resume, "last") == 0 || strcmp(o->checkpoints.resume, "best") == 0 ||
         strcmp(o->checkpoints.resume, "auto") == 0))
        return fgi_fail(err, FG_EINVAL, "trainer: resume is '%s', which needs a run_dir",
                        o->checkpoints.resume);
    if (fgi_precision_find(o->numerics.precision, err) == NULL)
        return fgi_context(err, FG_EINVAL, "trainer");
    if (!(o->hang.watchdog_s >= 0 && o->hang.watchdog_s <= 1e9))
        return fgi_fail(err, FG_EINVAL, "trainer: watchdog_s is %g: expected 0 or more seconds",
                        o->hang.watchdog_s);
    if (o->numerics.stochastic_rounding &&
        fgi_precision_find(o->numerics.precision, NULL)->parameter != FG_BF16)
        return fgi_fail(err, FG_EINVAL,
                        "trainer: stochastic_rounding is for precision 'bf16-true', not '%s'",
                        fgi_precision_find(o->numerics.precision, NULL)->name);
    FGI_TRY(check_clip(&o->numerics, err));
    FGI_TRY_CTX(fgi_accumulation_parse(&o->numerics, &(fgi_accumulation){0}, err), err, "trainer");
    FGI_TRY(check_reserved(o, err));
    FGI_TRY(check_profile(o, err));
    if (o->lr.schedule != NULL)
        FGI_TRY_CTX(fg_schedule_check(o->lr.schedule, err), err, "trainer");
    FGI_TRY(fgi_attach_check("trainer", o->checkpoints.attachments, o->checkpoints.attachment_count,
                             err));
    FGI_TRY_CTX(fgi_strategy_check(&o->devices, err), err, "trainer");
    FGI_TRY_CTX(fgi_settings_check(o, err), err, "trainer");
    FGI_TRY(fgi_divergence_options_check(o, err));
    return FG_OK;
}

/* Copies a string; false: out of memory. */
static bool keep(fgi_arena *strings, const char **text)
{
    if (*text == NULL)
        return true;
    *text = fgi_arena_strdup(strings, *text);
    return *text != NULL;
}

static bool keep_attachments(fgi_arena *strings, fg_trainer_options *o)
{
    const size_t bytes = o->checkpoints.attachment_count * sizeof *o->checkpoints.attachments;
    if (o->checkpoints.attachment_count == 0)
        return true;
    fg_attachment *own = fgi_arena_copy(strings, o->checkpoints.attachments, bytes);
    o->checkpoints.attachments = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->checkpoints.attachment_count; i++)
        ok = keep(strings, &own[i].name) && keep(strings, &own[i].text);
    return ok;
}

static bool keep_patterns(fgi_arena *strings, fg_load_options *o)
{
    const size_t bytes = o->skip_count * sizeof *o->skip;
    if (o->skip_count == 0)
        return true;
    const char **own = fgi_arena_copy(strings, o->skip, bytes);
    o->skip = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->skip_count; i++)
        ok = keep(strings, &own[i]);
    return ok;
}

static bool keep_rules(fgi_arena *strings, fg_trainer_devices *o)
{
    const size_t bytes = o->sharding_rule_count * sizeof *o->sharding_rules;
    if (o->sharding_rule_count == 0)
        return true;
    fg_sharding_rule *own = fgi_arena_copy(strings, o->sharding_rules, bytes);
    o->sharding_rules = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->sharding_rule_count; i++) {
        own[i].match = own[i].match != NULL ? own[i].match : "";
        own[i].spec = own[i].spec != NULL ? own[i].spec : "";
        ok = keep(strings, &own[i].match) && keep(strings, &own[i].spec);
    }
    return ok;
}

bool fgi_options_keep(fg_trainer_options *o, fgi_arena *strings)
{
    const char **text[] = {&o->devices.accelerator,
                           &o->devices.devices,
                           &o->devices.strategy,
                           &o->lr.lr_scaling,
                           &o->devices.cache_dir,
                           &o->checkpoints.run_dir,
                           &o->checkpoints.monitor,
                           &o->checkpoints.weights,
                           &o->checkpoints.resume,
                           &o->numerics.precision,
                           &o->output.progress_style,
                           &o->devices.mesh.batch_axes,
                           &o->devices.mesh.fsdp_axes,
                           &o->output.loggers,
                           &o->numerics.gradient_clip_algorithm,
                           &o->divergence.action,
                           &o->checkpoints.name,
                           &o->output.profile,
                           &o->numerics.accumulate_schedule};
    bool ok = keep_rules(strings, &o->devices) && keep_attachments(strings, o) &&
              keep_patterns(strings, &o->checkpoints.weights_options) &&
              keep(strings, &o->checkpoints.weights_options.prefix);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        ok &= keep(strings, text[i]);
    return ok;
}

void fgi_options_set_defaults(fg_trainer_options *o)
{
    if (o->limits.max_epochs == 0 && o->limits.max_steps == 0)
        o->limits.max_epochs = 1;
    if (o->validation.val_every_epochs == 0)
        o->validation.val_every_epochs = 1;
    if (o->output.log_every == 0)
        o->output.log_every = 50;
    if (o->numerics.accumulate_grad_batches == 0)
        o->numerics.accumulate_grad_batches = 1;
    if (o->checkpoints.save_every_epochs == 0)
        o->checkpoints.save_every_epochs = 1;
    if (o->checkpoints.keep_checkpoints == 0)
        o->checkpoints.keep_checkpoints = 1;
    if (o->checkpoints.save_top_k == 0)
        o->checkpoints.save_top_k = 1;
    if (o->checkpoints.name == NULL)
        o->checkpoints.name = FGI_CKPT_NAME_DEFAULT;
    if (o->checkpoints.monitor == NULL)
        o->checkpoints.monitor = "val_loss";
    fgi_divergence_set_defaults(o);
}
