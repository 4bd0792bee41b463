/* trainer_options.c - the options of a Trainer: their names, defaults, ranges and help, in a
 * configuration and in C, and what they mean together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_options.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/reserved.h"
#include "ckpt/attach.h"
#include "option/option.h"
#include "trace/precision.h"
#include "train/progress/progress.h"
#include "train/state/cursor.h"

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(name, member, kind, initial, range, example, ...)                                      \
    FG_OPTION_AS(#name, fg_trainer_options, member, kind, initial, range, example, __VA_ARGS__)

/* In the order of --print-config. */
static const fg_option options[] = {
    ROW(accelerator, devices.accelerator, CHOICE, "auto", "auto|tpu|cuda|cpu", "cuda",
        "Where to train; `fulgurite devices` lists what is available. auto: a TPU if there is "
        "one, otherwise an NVIDIA GPU (cuda), otherwise the CPU. A named accelerator never falls "
        "back to another.",
        .spellings = "gpu=cuda|nvidia=cuda"),
    ROW(devices, devices.devices, DEVICES, "auto", "auto", "8",
        "Devices of the accelerator to use: 8 uses the first eight, [1] only the second, \"0,2\" "
        "or [0, 2] those two; auto and -1 use all (on the CPU: one). On the CPU a number creates "
        "that many virtual devices, for development."),
    ROW(strategy, devices.strategy, CHOICE, "auto", "auto|single|ddp|fsdp", "fsdp",
        "How devices share the work. single: one device; ddp: each device has the whole model and "
        "a part of every batch; fsdp: large parameters, their gradients and their optimizer state "
        "are sharded across the devices too. auto: ddp on several devices.",
        .spellings = "dp=ddp"),
    ROW(precision, numerics.precision, CHOICE, "32-true",
        "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true", "bf16-mixed",
        "32-true: f32; bf16-mixed: matmuls and convolutions in bf16, everything else in f32; "
        "bf16-true: the parameters in bf16 too; 16-mixed and 16-true: the same in f16, with loss "
        "scaling; 64-true: f64. TPUs do not support f16 and f64.",
        .spellings = "32=32-true|fp32=32-true|f32=32-true|float32=32-true|bf16=bf16-mixed|"
                     "bfloat16=bf16-mixed|16=16-mixed|fp16=16-mixed|f16=16-mixed|float16=16-mixed|"
                     "64=64-true|fp64=64-true|f64=64-true|float64=64-true"),
    ROW(stochastic_rounding, numerics.stochastic_rounding, BOOL, "false", NULL, "true",
        "Round updated parameters stochastically, so that small updates are not lost.",
        .only = "precision=bf16-true"),
    ROW(detect_anomaly, numerics.detect_anomaly, BOOL, "false", NULL, "true",
        "End the run at the first gradient that is not finite, and name the step and the "
        "parameter."),
    ROW(on_divergence, divergence.on_divergence, CHOICE, "stop", "stop|rollback|ignore", "rollback",
        "What to do if a loss or a gradient is not finite, or the loss has risen too far: end the "
        "run; continue from the last good checkpoint with a smaller learning rate; or continue."),
    ROW(divergence_factor, divergence.divergence_factor, FLOAT, "4", "0..", "10",
        "The loss has risen too far if it is above this multiple of its lowest smoothed value, "
        "and above the middle between the first and the lowest, or if it explodes to 25 times "
        "this multiple of the loss of the first step. 0: only values that are not finite count."),
    ROW(divergence_patience, divergence.divergence_patience, INT, "5", "1..", "10",
        "Number of consecutive log lines (trainer.log_every) in which the loss must be too high "
        "before training counts as diverged."),
    ROW(rollback_lr_factor, divergence.rollback_lr_factor, FLOAT, "0.5", "1e-6..1", "0.3",
        "Multiply the learning rate by this at each rollback.", .only = "on_divergence=rollback"),
    ROW(max_rollbacks, divergence.max_rollbacks, INT, "3", "1..", "5",
        "Maximum number of rollbacks, including those before a resume. The next divergence ends "
        "the run.",
        .only = "on_divergence=rollback"),
    ROW(lr_scaling, lr.lr_scaling, CHOICE, "none", "none|linear|sqrt", "linear",
        "Scale optimizer.lr with the batch: linear: multiply by k; sqrt: by the square root of k. "
        "k is the number of samples per step divided by base_batch_size."),
    ROW(base_batch_size, lr.base_batch_size, INT, "auto", "auto|1..", "256",
        "The batch size that optimizer.lr is meant for. auto: one device's batch, so that k is "
        "the number of devices times accumulate_grad_batches.",
        .only = "lr_scaling=linear|sqrt"),
    ROW(accumulate_grad_batches, numerics.accumulate_grad_batches, INT, "1", "1..1048576", "4",
        "Batches per optimizer step: the optimizer gets the mean gradient over all their samples, "
        "with the memory use of one batch."),
    ROW(accumulate_schedule, numerics.accumulate_schedule, MAP, "{}", "1..1048576", "{0: 1, 4: 2}",
        "Batches per optimizer step that change by epoch: {4: 2, 8: 4} is 2 in epochs 4 to 7, then "
        "4. Before the first of them, accumulate_grad_batches applies. lr_scaling uses the number "
        "of epoch 0."),
    ROW(kernels, devices.kernels, CHOICE, "auto", "auto|own|none", "none",
        "Functions in C that programs call on the CPU where XLA's code is slower. own: those of "
        "this "
        "library; auto: also oneDNN's, if libdnnl is installed (`fulgurite devices` shows them); "
        "none: only XLA's code."),
    ROW(steps_per_launch, devices.steps_per_launch, INT, "1", "auto|1..256", "32",
        "Training steps per launch of the device program; steps of a small model take less time "
        "than launching them. The results are the same. A launch ends where metrics are logged, "
        "the model is validated or saved, or the epoch ends; a run stops between launches. auto: "
        "chosen from the times of the first steps."),
    ROW(gradient_clip_val, numerics.gradient_clip_val, FLOAT, "0", "0..", "1",
        "Limit the gradient of each optimizer step to this: its norm, or each element. 0: no "
        "limit."),
    ROW(gradient_clip_algorithm, numerics.gradient_clip_algorithm, CHOICE, "norm", "norm|value",
        "value",
        "norm: scale the whole gradient down if its L2 norm, over all parameters, is larger than "
        "gradient_clip_val. value: limit each element to the range -gradient_clip_val to "
        "gradient_clip_val."),
    ROW(max_epochs, limits.max_epochs, INT, "auto", "auto|-1..", "30",
        "Number of epochs; -1: no limit. auto: 10, or no limit if max_steps is given."),
    ROW(max_steps, limits.max_steps, INT, "-1", "-1..", "10000",
        "Number of optimizer steps; -1: no limit."),
    ROW(max_time, limits.max_time, DURATION, "auto", "auto", "8h30m",
        "End training after this time, even in the middle of an epoch. The state is saved, the "
        "last weights are validated, which takes further time, and --resume continues from there, "
        "with the full time again. Numbers with the units d, h, m and s, or DD:HH:MM:SS. "
        "Compilation counts. auto: no limit."),
    ROW(limit_train_batches, limits.limit_train_batches, AMOUNT, "1.0", NULL, "0.1",
        "Use this many batches of each epoch: a fraction (0.1) or a count (100)."),
    ROW(limit_val_batches, limits.limit_val_batches, AMOUNT, "1.0", NULL, "20",
        "Use this many batches of each validation: a fraction (0.1) or a count (100); 0: do not "
        "validate."),
    ROW(overfit_batches, limits.overfit_batches, AMOUNT, "0", NULL, "10",
        "Train on the first batches only, a fraction (0.1) or a count (10), the same ones in "
        "every epoch without shuffling, and validate on as many: a correct model overfits them; "
        "0: off."),
    ROW(sanity_val_steps, validation.sanity_val_steps, INT, "2", "-1..", "0",
        "Validation batches to run before training starts, to catch errors early. Their metrics "
        "are discarded. 0: none; -1: all."),
    ROW(val_every_epochs, validation.val_every_epochs, INT, "1", "0..", "5",
        "Validate every n epochs, and after the last one; 0: not by epochs."),
    ROW(val_every_steps, validation.val_every_steps, INT, "0", "0..", "500",
        "Validate every n optimizer steps, and after the last one; 0: not by steps."),
    ROW(log_every, output.log_every, INT, "50", "1..", "10",
        "Log training metrics every n optimizer steps."),
    ROW(loggers, output.loggers, ENTRIES, "[csv, jsonl]", NULL, "[jsonl]",
        "Loggers of `fit`: where the metrics are written; []: nowhere."),
    FG_OPTION_PAIR_AS(
        "profile", fg_trainer_options, output.profile, INTS, NULL, "auto|1..", "[100, 110]",
        "Take a profile of these steps, the first and the last, starting at 1: when each thread "
        "and device "
        "did what, written to profile in the run's folder for Perfetto, XProf and TensorBoard. "
        "auto: ten steps after the first ten of this fit, or its last ten. null: none."),
    ROW(seed, seed, INT, "0", "0..", "42",
        "Seed of the initial weights, the order of samples and dropout. Two runs with the same "
        "seed give the same results."),
    ROW(watchdog_s, hang.watchdog_s, FLOAT, "1800", "0..1e9", "600",
        "Stop the run after this many seconds without progress on a device or from the data: "
        "print what it waited for, write the stacks of all threads to hang.txt in the run's "
        "folder, exit with status 3. Compilation is not counted; 0: wait forever."),
    ROW(ckpt_every_epochs, checkpoints.ckpt_every_epochs, INT, "auto", "auto|0..", "10",
        "Save a checkpoint every n epochs; 0: not by epochs. auto: after each epoch that ends at "
        "least a second after the last save began. The final state is always saved."),
    ROW(ckpt_every_steps, checkpoints.ckpt_every_steps, INT, "0", "0..", "1000",
        "Save a checkpoint every n optimizer steps; 0: not by steps."),
    ROW(ckpt_every_time, checkpoints.ckpt_every_time, DURATION, "auto", "auto", "30m",
        "Save a checkpoint when this time has passed since the last save: numbers with the units "
        "d, h, m and s. auto: not by time."),
    ROW(ckpt_name, checkpoints.ckpt_name, STRING, "auto", "auto",
        "epoch={epoch:02d}-val_loss={val_loss:.3f}",
        "Names of checkpoints: {step}, {epoch} (whole epochs done) and names of metrics, with "
        "formats as in Python, between letters, digits, '.', '_', '=' and '-'. Without {step}, it "
        "is appended. auto: step-{step:09d}."),
    ROW(save_top_k, checkpoints.save_top_k, INT, "1", "1..16", "3",
        "Save and keep this many of the best checkpoints by trainer.monitor, in addition to the "
        "newest."),
    ROW(keep_checkpoints, checkpoints.keep_checkpoints, INT, "2", "0..1048576", "5",
        "Keep this many of the newest checkpoints, in addition to the best; 0: all."),
    ROW(monitor, checkpoints.monitor, STRING, "auto", "auto", "val_acc",
        "The metric that decides which checkpoint is the best. auto: val_loss, or train_loss "
        "without validation."),
    FG_OPTION_ENUM_AS("monitor_mode", fg_trainer_options, checkpoints.monitor_mode, "auto",
                      "auto|min|max", "max",
                      "Whether a smaller or a larger value is better. auto: max for names that "
                      "end in acc, f1, precision, recall or r2, otherwise min.",
                      .spellings = "minimize=min|maximize=max"),
};

static const fg_entry row = {
    .name = "trainer", .help = "the training loop", FG_OPTIONS(options, fg_trainer_options)};

const fg_entry *fg_trainer_options_row(void) { return &row; }

/* ---- what they mean together ----------------------------------------------------------------- */

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

/* Whether it names a checkpoint in run_dir. */
static bool is_of_run(const char *resume)
{
    return resume != NULL && (strcmp(resume, "last") == 0 || strcmp(resume, "best") == 0 ||
                              strcmp(resume, "auto") == 0);
}

/* fast_dev_run and overfit_batches replace other options. */
void fgi_trainer_options_settle(fg_trainer_options *o)
{
    fg_trainer_limits *l = &o->limits;
    if (l->overfit_batches.count > 0 || l->overfit_batches.fraction > 0)
        l->limit_train_batches = l->limit_val_batches = l->overfit_batches;
    if (l->max_epochs == FG_AUTO)
        l->max_epochs = l->max_steps > 0 ? -1 : 10;
    if (o->checkpoints.ckpt_name == NULL)
        o->checkpoints.ckpt_name = FGI_CKPT_NAME_DEFAULT;
    if (!l->fast_dev_run)
        return;
    l->max_epochs = 1;
    l->max_steps = -1;
    l->limit_train_batches = l->limit_val_batches = (fg_amount){.count = 1};
    o->validation = (fg_trainer_validation){.val_every_epochs = 1};
    o->output.log_every = 1;
    memset(o->output.profile, 0, sizeof o->output.profile);
    o->checkpoints.run_dir = NULL;
    if (is_of_run(o->checkpoints.resume))
        o->checkpoints.resume = NULL;
    if (strcmp(o->divergence.on_divergence, "rollback") == 0)
        o->divergence.on_divergence = "stop"; /* there are no checkpoints to go back to */
}

static fg_status check_files(const fg_trainer_options *o, fg_error *err)
{
    const fg_trainer_checkpoints *c = &o->checkpoints;
    const int64_t *profile = o->output.profile;
    if (profile[0] != FG_AUTO && profile[0] > profile[1])
        return fgi_fail(err, FG_EINVAL,
                        "trainer.profile: steps %lld to %lld: expected the first one "
                        "before the last",
                        (long long)profile[0], (long long)profile[1]);
    if (c->run_dir == NULL && profile[0] != 0)
        return fgi_fail(err, FG_EINVAL, "trainer.profile is given, which needs a run_dir");
    if (c->run_dir == NULL && is_of_run(c->resume))
        return fgi_fail(err, FG_EINVAL, "trainer.resume is '%s', which needs a run_dir", c->resume);
    if (c->run_dir == NULL && strcmp(o->divergence.on_divergence, "rollback") == 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.on_divergence is rollback, which needs a run_dir: there are no "
                        "checkpoints to go back to");
    FGI_TRY_CTX(fgi_ckpt_name_check(c->ckpt_name, err), err, "trainer");
    return fgi_attach_check("trainer", c->attachments, c->attachment_count, err);
}

static fg_status check_numerics(const fg_trainer_options *o, fg_error *err)
{
    const fg_trainer_numerics *n = &o->numerics;
    const double factor = o->divergence.divergence_factor;
    if (n->stochastic_rounding && fgi_precision_find(n->precision, NULL)->parameter != FG_BF16)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.stochastic_rounding is for precision bf16-true, not %s",
                        n->precision);
    if (factor != 0 && factor <= 1)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.divergence_factor: expected more than 1, or 0, got %g", factor);
    if (n->detect_anomaly && strcmp(o->divergence.on_divergence, "ignore") == 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.detect_anomaly stops at the first gradient that is not finite, "
                        "but on_divergence is ignore: set only one of them");
    FGI_TRY_CTX(fgi_accumulation_init(n, &(fgi_accumulation){0}, err), err, "trainer");
    return FG_OK;
}

static fg_status check_limits(const fg_trainer_limits *l, fg_error *err)
{
    if (l->max_epochs == 0 || l->max_steps == 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.max_epochs and trainer.max_steps: expected 1 or more, or -1 (no "
                        "limit), got 0");
    if (l->limit_train_batches.count == 0 && l->limit_train_batches.fraction == 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.limit_train_batches: expected at least one batch, got 0");
    return FG_OK;
}

static fg_status check(const fg_trainer_options *o, fg_error *err)
{
    FGI_TRY(check_limits(&o->limits, err));
    FGI_TRY(check_numerics(o, err));
    FGI_TRY(check_files(o, err));
    if (!fgi_progress_is_style(o->output.progress_style))
        return fgi_fail(err, FG_EINVAL,
                        "trainer: progress_style is '%s': expected auto, bar or plain",
                        o->output.progress_style);
    if (o->lr.schedule != NULL)
        FGI_TRY_CTX(fg_schedule_check(o->lr.schedule, err), err, "trainer");
    FGI_TRY_CTX(fgi_strategy_check(&o->devices, err), err, "trainer");
    return FG_OK;
}

fg_status fgi_trainer_options_create(const fg_trainer_options *given, fg_trainer_options **out,
                                     fg_error *err)
{
    void *made = NULL;
    *out = NULL;
    if (given != NULL)
        FGI_TRY(check_reserved(given, err));
    FGI_TRY(fgi_row_of(&row, given, &made, err));
    fgi_trainer_options_settle(made);
    const fg_status status = check(made, err);
    if (status == FG_OK)
        *out = made;
    else
        fg_free(made);
    return status;
}

/* ---- what the options point to --------------------------------------------------------------- */

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
    const char **text[] = {&o->devices.cache_dir, &o->checkpoints.run_dir, &o->checkpoints.weights,
                           &o->checkpoints.resume, &o->output.progress_style};
    bool ok = keep_rules(strings, &o->devices) && keep_attachments(strings, o) &&
              keep_patterns(strings, &o->checkpoints.weights_options) &&
              keep(strings, &o->checkpoints.weights_options.prefix);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        ok &= keep(strings, text[i]);
    return ok;
}
