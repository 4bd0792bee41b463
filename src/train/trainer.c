/* trainer.c - creates and destroys a Trainer: options, parts, the model, the client.
 *
 * A Trainer owns its parts, the module that its task built, its callbacks, and the client unless
 * one was given.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/chip.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/here.h"
#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "base/thread.h"
#include "ckpt/attach.h"
#include "log/log_item.h"
#include "log/logger.h"
#include "pjrt/pjrt.h"
#include "trace/precision.h"
#include "train/callbacks.h"
#include "train/ckpt_name.h"
#include "train/divergence.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/fit_settings.h"
#include "train/health.h"
#include "train/ledger.h"
#include "train/progress.h"
#include "train/call.h"
#include "train/run_folder.h"
#include "train/saver.h"
#include "train/signals.h"
#include "train/stage.h"
#include "train/step_profile.h"
#include "train/strategy.h"
#include "train/trainer.h"
#include "train/watchdog.h"
#include "optim/optimizer.h"
#include "train/windows.h"

enum { MOST_S = 1000000000 }; /* of limits.max_time_s: about 32 years */

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

static fg_status check_options(const fg_trainer_options *o, fg_error *err)
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

/* Copies a string into the Trainer's memory; false: out of memory. */
static bool keep(fg_trainer *trainer, const char **text)
{
    if (*text == NULL)
        return true;
    *text = fgi_arena_strdup(&trainer->strings, *text);
    return *text != NULL;
}

static bool keep_attachments(fg_trainer *trainer)
{
    fg_trainer_options *o = &trainer->options;
    const size_t bytes = o->checkpoints.attachment_count * sizeof *o->checkpoints.attachments;
    if (o->checkpoints.attachment_count == 0)
        return true;
    fg_attachment *own = fgi_arena_copy(&trainer->strings, o->checkpoints.attachments, bytes);
    o->checkpoints.attachments = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->checkpoints.attachment_count; i++)
        ok = keep(trainer, &own[i].name) && keep(trainer, &own[i].text);
    return ok;
}

static bool keep_patterns(fg_trainer *trainer)
{
    fg_load_options *o = &trainer->options.checkpoints.weights_options;
    const size_t bytes = o->skip_count * sizeof *o->skip;
    if (o->skip_count == 0)
        return true;
    const char **own = fgi_arena_copy(&trainer->strings, o->skip, bytes);
    o->skip = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->skip_count; i++)
        ok = keep(trainer, &own[i]);
    return ok;
}

static bool keep_rules(fg_trainer *trainer)
{
    fg_trainer_devices *o = &trainer->options.devices;
    const size_t bytes = o->sharding_rule_count * sizeof *o->sharding_rules;
    if (o->sharding_rule_count == 0)
        return true;
    fg_sharding_rule *own = fgi_arena_copy(&trainer->strings, o->sharding_rules, bytes);
    o->sharding_rules = own;
    bool ok = own != NULL;
    for (size_t i = 0; ok && i < o->sharding_rule_count; i++) {
        own[i].match = own[i].match != NULL ? own[i].match : "";
        own[i].spec = own[i].spec != NULL ? own[i].spec : "";
        ok = keep(trainer, &own[i].match) && keep(trainer, &own[i].spec);
    }
    return ok;
}

static bool keep_options(fg_trainer *trainer)
{
    fg_trainer_options *o = &trainer->options;
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
    bool ok = keep_rules(trainer) && keep_attachments(trainer) && keep_patterns(trainer) &&
              keep(trainer, &o->checkpoints.weights_options.prefix);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        ok &= keep(trainer, text[i]);
    if (o->lr.schedule == NULL)
        return ok;
    fg_schedule *schedule =
        fgi_arena_copy(&trainer->strings, o->lr.schedule, sizeof *o->lr.schedule);
    o->lr.schedule = schedule;
    return ok && schedule != NULL;
}

static void set_defaults(fg_trainer_options *o)
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

/* Before divergence is reported: the last good checkpoint may be under way. */
static void end_save(void *self)
{
    fg_error local = {0};
    if (fgi_saver_collect(self, true, &local) != FG_OK)
        fgi_log(FG_LOG_ERROR, "%s", local.message);
}

static fg_status create_parts(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    for (int i = 0; i < 4; i++)
        FGI_TRY(fgi_stage_create((fgi_stage_kind)i, &trainer->stage[i], err));
    FGI_TRY(fgi_feed_create(&trainer->feed, err));
    FGI_TRY(fgi_windows_create(&trainer->windows, err));
    FGI_TRY(fgi_health_create(&(fgi_health_uses){.options = o,
                                                 .precision = trainer->precision,
                                                 .client = &trainer->client,
                                                 .optimizer = &trainer->model.optimizer},
                              &trainer->health, err));
    FGI_TRY(fgi_divergence_create(&(fgi_divergence_uses){.options = o,
                                                         .call = &trainer->call,
                                                         .cursor = &trainer->cursor,
                                                         .optimizer = &trainer->model.optimizer,
                                                         .stage = trainer->stage[FGI_TRAIN],
                                                         .health = trainer->health,
                                                         .settle = end_save,
                                                         .self = trainer},
                                  &trainer->divergence, err));
    FGI_TRY(fgi_ledger_create(&trainer->ledger, err));
    FGI_TRY(fgi_saver_create(&trainer->saver, err));
    FGI_TRY(fgi_step_profile_create(o->output.profile, o->checkpoints.run_dir, &trainer->cursor,
                                    &trainer->step_profile, err));
    FGI_TRY(fgi_run_create(&o->checkpoints, o->output.loggers, &trainer->run, err));
    FGI_TRY(fgi_watchdog_create(o, &trainer->watchdog, err));
    FGI_TRY(fgi_callbacks_create(&trainer->call, &trainer->callbacks, err));
    fgi_spans_listen(&trainer->spans, fgi_watchdog_listener(trainer->watchdog));
    fgi_spans_listen(&trainer->spans, fgi_ledger_listener(trainer->ledger));
    fgi_spans_listen(&trainer->spans, fgi_signals_listener());
    if (o->output.progress == NULL)
        return FG_OK;
    fgi_progress *progress = NULL;
    const fgi_progress_sources sources = {.trainer = trainer,
                                          .cursor = &trainer->cursor,
                                          .feed = trainer->feed,
                                          .val = trainer->stage[FGI_VAL],
                                          .checkpoints = &o->checkpoints};
    FGI_TRY(fgi_progress_create(&o->output, &sources, &progress, err));
    FGI_TRY(fg_trainer_add_callback(trainer, &fgi_progress_ops, progress, err));
    trainer->progress = progress;
    fgi_spans_listen(&trainer->spans, fgi_progress_listener(progress));
    return FG_OK;
}

fg_status fg_trainer_create(const fg_trainer_options *options, fg_trainer **out, fg_error *err)
{
    *out = NULL;
    fg_trainer_options o = options != NULL ? *options : (fg_trainer_options){0};
    fgi_trial_settle(&o);
    FGI_TRY(check_options(&o, err));
    fg_trainer *trainer = fgi_calloc(1, sizeof *trainer);
    if (trainer == NULL)
        return fgi_no_memory(err);
    trainer->options = o;
    trainer->cursor = fgi_cursor_start();
    trainer->precision = fgi_precision_find(o.numerics.precision, NULL);     /* checked above */
    (void)fgi_accumulation_parse(&o.numerics, &trainer->accumulation, NULL); /* checked above */
    set_defaults(&trainer->options);
    const fg_status status =
        keep_options(trainer) ? create_parts(trainer, err) : fgi_no_memory(err);
    if (status == FG_OK)
        *out = trainer;
    else
        fg_trainer_destroy(trainer);
    return status;
}

void fg_trainer_destroy(fg_trainer *trainer)
{
    if (trainer == NULL)
        return;
    fgi_callbacks_destroy(trainer->callbacks);
    fgi_watchdog_destroy(trainer->watchdog);
    fgi_run_destroy(trainer->run);
    fgi_windows_destroy(trainer->windows);
    for (int i = 0; i < 4; i++)
        fgi_stage_destroy(trainer->stage[i]);
    fgi_feed_destroy(trainer->feed);
    fgi_health_destroy(trainer->health);
    fgi_divergence_destroy(trainer->divergence);
    fgi_saver_destroy(trainer->saver);
    fgi_step_profile_destroy(trainer->step_profile);
    fgi_ledger_destroy(trainer->ledger);
    fg_load_report_fini(&trainer->model.load_report);
    fg_module_destroy(trainer->model.root);
    if (trainer->client != trainer->options.devices.client)
        fg_client_close(trainer->client);
    fgi_arena_fini(&trainer->strings);
    fgi_free(trainer);
}

fg_status fg_trainer_set_accumulation(fg_trainer *trainer, const char *schedule, fg_error *err)
{
    fg_trainer_numerics numerics = trainer->options.numerics;
    fgi_accumulation parsed;
    const char *have = numerics.accumulate_schedule;
    if (have != NULL && *have != '\0')
        return fgi_fail(err, FG_EINVAL, "the Trainer has the accumulate_schedule '%s' already",
                        have);
    if (trainer->model.root != NULL)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer has been used: set the batches per step before the first fit");
    numerics.accumulate_schedule = schedule;
    FGI_TRY(fgi_accumulation_parse(&numerics, &parsed, err));
    if (!keep(trainer, &schedule))
        return fgi_no_memory(err);
    trainer->options.numerics.accumulate_schedule = schedule;
    trainer->accumulation = parsed;
    return FG_OK;
}

const fg_profile_info *fg_trainer_profile(const fg_trainer *trainer)
{
    return fgi_step_profile_info(trainer->step_profile);
}

fg_module *fg_trainer_module(const fg_trainer *trainer) { return trainer->model.root; }

const fg_load_report *fg_trainer_load_report(const fg_trainer *trainer)
{
    return &trainer->model.load_report;
}

fg_client *fg_trainer_client(const fg_trainer *trainer) { return trainer->client; }

const fg_result *fg_trainer_result(const fg_trainer *trainer) { return &trainer->call.result; }

fgi_fit_facts fgi_fit_facts_of(const fg_trainer *trainer)
{
    const fgi_stage *stage = trainer->stage[FGI_TRAIN];
    return (fgi_fit_facts){.options = &trainer->options,
                           .stages = trainer->stage,
                           .optimizer = trainer->model.optimizer,
                           .train = stage != NULL ? fgi_stage_dataset(stage) : NULL,
                           .validations = trainer->fit.validations,
                           .is_extra = trainer->fit.is_extra};
}

bool fgi_trainer_stops(fg_trainer *trainer)
{
    return fgi_stop_requested(&trainer->options, &trainer->call, trainer->run);
}

fg_progress fgi_progress_at(const fg_trainer *trainer)
{
    const fg_optimizer *optimizer = trainer->model.optimizer;
    return (fg_progress){
        .step = trainer->cursor.step,
        .epoch = trainer->cursor.epoch,
        .batch = trainer->cursor.epoch_batches,
        .batches = trainer->fit.batches_per_epoch,
        .total_steps = trainer->fit.settings.total_steps,
        .lr = optimizer != NULL ? fg_optimizer_get_lr(optimizer) : 0,
        .momentum = optimizer != NULL ? fg_optimizer_get_momentum(optimizer) : (double)NAN,
        .weight_decay = optimizer != NULL ? fg_optimizer_get_weight_decay(optimizer) : (double)NAN,
        .trainer = trainer,
    };
}

fg_status fg_trainer_add_callback(fg_trainer *trainer, const fg_callback_ops *ops, void *take_self,
                                  fg_error *err)
{
    fg_status status = FG_OK;
    if (ops->build != NULL && trainer->model.root != NULL)
        status = fgi_fail(err, FG_EINVAL,
                          "callback '%s' changes the model: add it before the first fit or "
                          "evaluation",
                          ops->name != NULL ? ops->name : "");
    if (status == FG_OK)
        status = fgi_callbacks_add(trainer->callbacks, ops, take_self, err);
    if (status == FG_OK && ops->setup != NULL) {
        status = ops->setup(take_self, trainer, err);
        if (status != FG_OK)
            fgi_callbacks_remove_last(trainer->callbacks);
    }
    if (status != FG_OK && ops->destroy != NULL)
        ops->destroy(take_self);
    return status;
}

void fgi_trainer_step_start(fg_trainer *trainer)
{
    if (!trainer->call.is_running || trainer->call.is_search)
        return;
    fg_progress at = fgi_progress_at(trainer);
    at.is_epoch_end = trainer->fit.ends_epoch;
    fgi_callbacks_step_start(trainer->callbacks, &at, trainer->model.optimizer);
}

static fg_status build_module(fg_trainer *trainer, const fg_task *task, fg_error *err)
{
    if (trainer->model.root != NULL)
        return FG_OK;
    if (task->ops->build == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no build function",
                        task->name != NULL ? task->name : "");
    fg_module *root = NULL;
    const char *name = task->name != NULL ? task->name : "";
    if (!keep(trainer, &name))
        return fgi_no_memory(err);
    FGI_TRY(fg_module_create(NULL, trainer->options.seed, &root, err));
    fg_module_set_precision(root, trainer->precision->name);
    task->ops->build(task->self, root);
    fg_status status = fg_module_error(root, err);
    if (status == FG_OK)
        status = fgi_sharding_apply(&trainer->options.devices, trainer->client, root, err);
    if (status == FG_OK)
        status = fgi_callbacks_build(trainer->callbacks, root, err);
    if (status != FG_OK) {
        fg_module_destroy(root);
        return status;
    }
    trainer->model.root = root;
    trainer->model.task = *task;
    trainer->model.task.name = name;
    return FG_OK;
}

static void report_frozen(const fg_trainer *trainer)
{
    const int64_t frozen = fg_module_frozen_count(trainer->model.root);
    if (frozen > 0)
        fgi_log(FG_LOG_INFO, "%lld of %lld parameters are frozen", (long long)frozen,
                (long long)fg_module_parameter_count(trainer->model.root));
}

static fg_clip clip_of(const fg_trainer_options *o)
{
    const char *algorithm = o->numerics.gradient_clip_algorithm;
    return algorithm != NULL && strcmp(algorithm, "value") == 0 ? FG_CLIP_VALUE : FG_CLIP_NORM;
}

/* Loss scaling, stochastic rounding, clipping, and the detection of anomalies. */
static fg_status prepare_optimizer(fg_trainer *trainer, fg_error *err)
{
    fg_optimizer *optimizer = trainer->model.optimizer;
    if (trainer->precision->scales_loss && !fgi_optimizer_scales_loss(optimizer))
        FGI_TRY(fg_optimizer_set_loss_scale(optimizer, NULL, err));
    if (trainer->options.numerics.stochastic_rounding)
        fg_optimizer_set_stochastic_rounding(optimizer, true);
    if (trainer->options.numerics.gradient_clip_val > 0)
        FGI_TRY(fg_optimizer_set_clip(optimizer, clip_of(&trainer->options),
                                      trainer->options.numerics.gradient_clip_val, err));
    return fgi_optimizer_watch(optimizer, trainer->options.numerics.detect_anomaly, err);
}

static fg_status build_optimizer(fg_trainer *trainer, fg_error *err)
{
    if (trainer->model.optimizer != NULL)
        return FG_OK;
    const fg_task *task = &trainer->model.task;
    if (task->ops->optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no optimizer function", task->name);
    trainer->model.optimizer = task->ops->optimizer(task->self, trainer->model.root);
    FGI_TRY(fg_module_error(trainer->model.root, err));
    if (trainer->model.optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s': its optimizer function returned NULL",
                        task->name);
    report_frozen(trainer);
    return prepare_optimizer(trainer, err);
}

static void warn_of_precision(const fg_trainer *trainer)
{
    const fg_dtype matmul = trainer->precision->matmul;
    if (matmul == FG_F16 && fgi_client_support(trainer->client, matmul) == FGI_WIDENED)
        fgi_log(
            FG_LOG_WARNING,
            "precision '%s': the device rounds to f16 but computes in f32, slower than '32-true': "
            "use it only to test what a device that computes in f16 will do",
            trainer->precision->name);
}

fg_status fg_trainer_open(fg_trainer *trainer, fg_error *err)
{
    return fgi_strategy_open(&trainer->options.devices, &trainer->client, err);
}

fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err)
{
    if (trainer->model.root != NULL &&
        (task->ops != trainer->model.task.ops || task->self != trainer->model.task.self))
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer has task '%s' already: create another one for '%s'",
                        trainer->model.task.name, task->name != NULL ? task->name : "");
    if (trainer->model.lost_step != 0)
        return fgi_fail(err, FG_EDEVICE,
                        "the weights were lost when training step %lld failed: continue in another "
                        "Trainer, from a checkpoint if there is one",
                        (long long)trainer->model.lost_step);
    FGI_TRY(fg_trainer_open(trainer, err));
    fgi_watch_client(trainer->watchdog, trainer->client);
    FGI_TRY(fgi_precision_check(trainer->precision, trainer->client, err));
    if (trainer->model.root == NULL)
        warn_of_precision(trainer);
    FGI_TRY(build_module(trainer, task, err));
    return with_optimizer ? build_optimizer(trainer, err) : FG_OK;
}

/* ---- calls and their results ----------------------------------------------------------------- */

/* The index of a metric: that of its name, or else after those of its kind. Training precedes
 * validation, so that the order does not depend on where a run was interrupted. */
static size_t place_of(const fg_result *result, const char *name)
{
    const bool is_train = strncmp(name, "train_", 6) == 0;
    size_t first_val = result->metric_count;
    for (size_t k = 0; k < result->metric_count; k++) {
        if (strcmp(result->metrics[k].name, name) == 0)
            return k;
        if (first_val == result->metric_count && strncmp(result->metrics[k].name, "val_", 4) == 0)
            first_val = k;
    }
    return is_train ? first_val : result->metric_count;
}

void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t k = place_of(result, metrics[i].name);
        fg_metric *at = &result->metrics[k];
        if (k == result->metric_count || strcmp(at->name, metrics[i].name) != 0) {
            if (result->metric_count == FG_MAX_RESULTS)
                continue;
            memmove(at + 1, at, (result->metric_count - k) * sizeof *at);
            result->metric_count++;
        }
        *at = metrics[i];
    }
}

/* The counters of the client, which may not be open yet. */
static fg_client_stats stats_of(const fg_trainer *trainer)
{
    const fg_client *client =
        trainer->client != NULL ? trainer->client : trainer->options.devices.client;
    return client != NULL ? fg_client_get_stats(client) : (fg_client_stats){0};
}

/* A callback, or whoever else runs on this thread, waited for a value. */
static void on_read(void *ledger, int64_t begin_ns, int64_t end_ns)
{
    fgi_ledger_add(ledger, FGI_READ, begin_ns, end_ns);
}

fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err)
{
    if (trainer == NULL || task == NULL || task->ops == NULL || data == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s given",
                        trainer == NULL ? "Trainer was"
                        : data == NULL  ? "data were"
                                        : "task, or one without ops, was");
    FGI_TRY_RESERVED(fg_task, task, err);
    FGI_TRY_RESERVED(fg_task_ops, task->ops, err);
    FGI_TRY_RESERVED(fg_fit_data, data, err);
    if (trainer->call.is_busy)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer is running: a callback must not start it again");
    FGI_TRY(fgi_watchdog_start(trainer->watchdog, err));
    fgi_watch_checkpoint(trainer->watchdog, fgi_saver_last(trainer->saver));
    trainer->call = (fgi_call){.is_busy = true, .stats_before = stats_of(trainer)};
    fgi_here_take(&trainer->call.file, &trainer->call.line);
    trainer->call.reads_before =
        fgi_watch_reads((fgi_read_watch){.fn = on_read, .self = trainer->ledger});
    fgi_ledger_start(trainer->ledger, fgi_now_ns());
    return FG_OK;
}

/* Google Cloud, "System architecture of Cloud TPU": matrix units multiply bf16 and, of some
 * generations, int8; f32 takes several passes. */
static bool is_emulated(const fg_chip *chip, fg_dtype dtype)
{
    static const fg_dtype list[] = {FG_F64, FG_S16, FG_S32, FG_S64, FG_U16, FG_U32, FG_U64};
    bool is_listed = false;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        is_listed = is_listed || dtype == list[i];
    return is_listed && chip != NULL && chip->generation != NULL;
}

static fg_step_cost cost_of(const fg_trainer *trainer, const fgi_stage *stage)
{
    const double unknown = (double)NAN;
    fg_step_cost cost = {
        .flops = unknown, .seconds = unknown, .flops_16bit = unknown, .bytes = unknown};
    fgi_program_cost reported;
    fg_device_info device = {0};
    if (fgi_stage_program(stage) == NULL ||
        fg_device_get_info(trainer->client, 0, &device, NULL) != FG_OK)
        return cost;
    const fgi_matmul_flops *flops = fgi_step_program_flops(fgi_stage_program(stage));
    const int count = fg_client_get_info(trainer->client)->device_count;
    cost.samples = fgi_stage_batch_size(stage);
    cost.flops = cost.seconds = 0;
    const fg_chip *chip = fg_chip_find(device.kind);
    for (int i = 0; i <= FG_F64; i++) {
        const double rate = fg_chip_matmul_rate(chip, (fg_dtype)i);
        cost.flops += flops->of[i];
        if (is_emulated(chip, (fg_dtype)i))
            cost.flops_emulated += flops->of[i];
        if (flops->of[i] > 0)
            cost.seconds += rate > 0 ? flops->of[i] / (rate * count) : (double)NAN;
    }
    cost.flops_16bit = flops->of[FG_BF16] + flops->of[FG_F16];
    if (fgi_step_program_cost(fgi_stage_program(stage), &reported, NULL) == FG_OK &&
        reported.bytes_accessed > 0)
        cost.bytes = reported.bytes_accessed * count;
    return cost;
}

fg_step_cost fg_trainer_step_cost(const fg_trainer *trainer)
{
    return cost_of(trainer, trainer->stage[FGI_TRAIN]);
}

/* Compares the FLOPs of the train program with the peak rate of the devices. */
static void count_mxu(const fg_trainer *trainer, const fgi_stage *stage, fg_result *result)
{
    const fg_step_cost cost = cost_of(trainer, stage);
    result->step_flops = cost.flops;
    result->mxu_use = cost.seconds * result->samples_per_s / (double)cost.samples;
}

static void fill(const fg_trainer *trainer, fgi_stage_kind kind, fg_result *result)
{
    const fg_client_stats now = stats_of(trainer), before = trainer->call.stats_before;
    const fgi_stage *stage = trainer->stage[kind];
    fgi_program_cost cost;
    fgi_stage_report_input(stage, &result->input);
    fgi_ledger_result(trainer->ledger, result);
    result->epochs = trainer->cursor.epoch;
    result->steps = trainer->cursor.step;
    fgi_health_result(trainer->health, result);
    fgi_divergence_result(trainer->divergence, result);
    result->device_peak_bytes = -1;
    const fgi_step_program *program = fgi_stage_program(stage);
    if (program != NULL && fgi_step_program_cost(program, &cost, NULL) == FG_OK)
        result->device_peak_bytes = cost.peak_bytes;
    count_mxu(trainer, stage, result);
    result->compiles = now.compiles - before.compiles;
    result->compile_cache_hits = now.compile_cache_hits - before.compile_cache_hits;
    result->compile_s = now.compile_s - before.compile_s;
    result->host_reads = now.host_reads - before.host_reads;
}

void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind)
{
    (void)fgi_plugin_unwatch(); /* a step that failed did not reset it */
    if (kind == FGI_TRAIN)
        fgi_feed_close_window(trainer, trainer->cursor.step);
    fill(trainer, kind, &trainer->call.result);
}

void fg_trainer_result_so_far(const fg_trainer *trainer, fg_result *out)
{
    *out = trainer->call.result;
    fill(trainer, FGI_TRAIN, out);
}

fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err)
{
    (void)fgi_watch_reads(trainer->call.reads_before);
    fgi_watchdog_stop(trainer->watchdog);
    fgi_progress_stop(trainer->progress);
    trainer->call.result.status = status;
    trainer->call.is_busy = false;
    if (status != FG_OK && err != NULL)
        *err = *error;
    return status;
}

/* ---- the log --------------------------------------------------------------------------------- */

fg_status fg_trainer_add_logger(fg_trainer *trainer, const fg_logger_ops *ops, void *take_self,
                                fg_error *err)
{
    fgi_logger *logger = fgi_run_next_logger(trainer->run);
    if (logger != NULL)
        return fgi_logger_add(logger, ops, take_self, err);
    if (ops->destroy != NULL)
        ops->destroy(take_self);
    return fgi_fail(err, FG_EINVAL, "logger '%s': the log is open already: add it before the fit",
                    ops->name != NULL ? ops->name : "");
}

fg_status fg_trainer_set_run_info(fg_trainer *trainer, const fg_run_info *info, fg_error *err)
{
    fgi_logger *logger = fgi_run_next_logger(trainer->run);
    if (logger != NULL)
        return fgi_logger_set_info(logger, info, err);
    return fgi_fail(err, FG_EINVAL,
                    "fg_trainer_set_run_info: the log is open already: call it before the fit");
}

enum { NAME_MAX_BYTES = 255, SIDE_MAX = 16384 };

/* Whether the item is to be logged; *out_status is then FG_OK. */
static bool is_wanted(const fg_trainer *trainer, const char *name, fg_status *out_status,
                      fg_error *err)
{
    const size_t size = name != NULL ? strlen(name) : 0;
    *out_status = FG_OK;
    if (!trainer->call.is_running || trainer->call.is_search)
        *out_status = fgi_fail(err, FG_EINVAL,
                               "texts, images and histograms can only be logged "
                               "during a fit");
    else if (size == 0 || size > NAME_MAX_BYTES || !fgi_text_is_utf8((fgi_str){name, size}))
        *out_status =
            fgi_fail(err, FG_EINVAL, "the name of a logged item: expected 1 to %d bytes of UTF-8",
                     NAME_MAX_BYTES);
    return *out_status == FG_OK && fgi_logger_takes_items(fgi_run_logger(trainer->run));
}

static void log_item(const fg_trainer *trainer, fg_log_item item)
{
    item.step = trainer->cursor.step;
    item.wall_time = fgi_wall_time();
    fgi_logger_item(fgi_run_logger(trainer->run), &item);
}

fg_status fg_trainer_log_text(const fg_trainer *trainer, const char *name, const char *text,
                              fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (!fgi_text_is_utf8(fgi_str_of(text)))
        return fgi_fail(err, FG_EINVAL, "the text '%s': expected UTF-8", name);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_TEXT, .name = name, .text = text});
    return FG_OK;
}

fg_status fg_trainer_log_image(const fg_trainer *trainer, const char *name, const uint8_t *pixels,
                               int64_t height, int64_t width, int64_t channels, fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (height < 1 || height > SIDE_MAX || width < 1 || width > SIDE_MAX ||
        (channels != 1 && channels != 3))
        return fgi_fail(err, FG_EINVAL,
                        "the image '%s' has %lld x %lld pixels with %lld channel%s: expected sides "
                        "from 1 to %d, and 1 or 3 channels",
                        name, (long long)width, (long long)height, (long long)channels,
                        fgi_s(channels), SIDE_MAX);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_IMAGE,
                                    .name = name,
                                    .pixels = pixels,
                                    .height = height,
                                    .width = width,
                                    .channels = channels});
    return FG_OK;
}

fg_status fg_trainer_log_histogram(const fg_trainer *trainer, const char *name, const float *values,
                                   size_t count, fg_error *err)
{
    fg_status status;
    fgi_histogram histogram;
    if (is_wanted(trainer, name, &status, err) &&
        fgi_histogram_make(FG_F32, values, count, &histogram))
        log_item(trainer, fgi_histogram_item(&histogram, name));
    return status;
}
