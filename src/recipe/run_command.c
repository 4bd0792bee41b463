/* run_command.c - one run from its configuration to its report. The order: configuration, data,
 * task, Trainer, the run itself, what is printed and drawn, the summary.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/draw.h"
#include "report/out_file.h"
#include "base/print.h"
#include "base/alloc.h"

static int complain(int status, const char *command, const char *text)
{
    (void)fgi_fprintf(stderr, "fulgurite %s: %s\n", command, text);
    return status;
}

double fgi_run_seconds(const fgi_run *r) { return fgi_now_s() - r->start_s; }

/* ---- configuration --------------------------------------------------------------------------- */

/* Keys of old take their new names, which is told. */
static bool read_old_keys(fgi_run *r, fg_error *err)
{
    bool was_old = false;
    if (!fgi_config_modernize(r->c, &was_old, err))
        return false;
    if (was_old && !r->options->is_quiet)
        (void)fgi_fprintf(
            stderr,
            "note: trainer.tpu_cores is an old spelling: read as --trainer.accelerator=tpu "
            "--trainer.devices=%s\n",
            fgi_config_format(r->c, fgi_config_find("trainer.devices")));
    return true;
}

/* --resume is short for a key. */
static bool read_resume(fgi_run *r, fg_error *err)
{
    char text[4096];
    const char *which = r->options->resume;
    if (which == NULL)
        return true;
    if (r->options->overwrite)
        return fgi_refuse(
            err,
            "--resume and --overwrite exclude each other: a run is either continued or deleted");
    (void)fgi_snprintf(text, sizeof(text), "trainer.resume=%s", *which != '\0' ? which : "last");
    return fgi_config_override(r->c, text, err);
}

static bool read_config(fgi_run *r, const fgi_run_input *call, fg_error *err)
{
    r->c = fgi_config_create();
    r->config_path = call->count > 0 ? call->args[0] : NULL;
    if (r->config_path != NULL && fgi_run_is_evaluation(r) &&
        fgi_run_origin_is_named(r->config_path))
        r->config_path = NULL; /* fgi_run_adopt knows what it is */
    if (r->config_path != NULL && !fgi_config_read_file(r->c, r->config_path, err))
        return false;
    for (int i = 0; i < call->override_count; i++)
        if (!fgi_config_override(r->c, call->overrides[i], err))
            return false;
    if (!read_resume(r, err))
        return false;
    if (fgi_config_is_given(r->c, "trainer.batch_size") &&
        !fgi_config_is_auto(r->c, "trainer.global_batch_size"))
        return fgi_refuse(err, "%s: trainer.batch_size is given too: set only one of them",
                          fgi_config_where(r->c, "trainer.global_batch_size"));
    if (r->config_path != NULL && call->count > 1 && !fgi_run_set_data(r, call->args[1], err))
        return false;
    return fgi_out_file_check("--summary", r->options->summary, err) &&
           fgi_out_file_check("--out", r->options->out, err) && read_old_keys(r, err) &&
           fgi_config_mesh(r->c, &r->mesh, err);
}

static void warn(void *self, const char *line)
{
    (void)self;
    (void)fgi_fprintf(stderr, "warning: %s\n", line);
}

static void note(void *self, const char *line)
{
    (void)self;
    (void)fgi_fprintf(stderr, "note: %s\n", line);
}

static void log_line(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_WARNING)
        warn(NULL, line);
}

/* Of a quiet run: only what may lose work. */
static void log_failure(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_ERROR)
        warn(NULL, line);
}

/* ---- the Trainer ----------------------------------------------------------------------------- */

/* "Never" and "no limit", where the Trainer's 0 means its default. */
static const int64_t NEVER = INT64_C(1) << 40;

/* "auto", "8", "[0, 2]" */
static const char *devices(const fgi_config *c)
{
    return fgi_config_is_auto(c, "trainer.devices") ? "auto"
                                                    : fgi_config_text(c, "trainer.devices");
}

/* A limit of batches, as a count or a share; all of them are no limit. */
static int64_t limit_count(const fgi_config *c, const char *key)
{
    return fgi_config_fraction(c, key) >= 0 ? 0 : fgi_config_amount(c, key, INT64_MAX);
}

static double limit_fraction(const fgi_config *c, const char *key)
{
    const double fraction = fgi_config_fraction(c, key);
    return fraction > 0 && fraction < 1 ? fraction : 0;
}

/* All batches, too, without shuffling. */
static double overfit_fraction(const fgi_config *c)
{
    const double fraction = fgi_config_fraction(c, "trainer.overfit_batches");
    return fraction > 0 ? fraction : 0;
}

static int64_t max_epochs(const fgi_config *c)
{
    const int64_t steps = fgi_config_int(c, "trainer.max_steps");
    int64_t epochs = fgi_config_int(c, "trainer.max_epochs");
    if (fgi_config_is_auto(c, "trainer.max_epochs"))
        epochs = steps >= 0 ? -1 : 10;
    if (epochs >= 0)
        return epochs;
    return steps >= 0 ? 0 : NEVER;
}

/* The figure by which "best" goes. */
static const char *monitor(const fgi_run *r)
{
    if (!fgi_config_is_auto(r->c, "trainer.monitor"))
        return fgi_config_text(r->c, "trainer.monitor");
    return r->fit_data.val != NULL ? "val_loss" : "train_loss";
}

static bool is_max_best(const fgi_run *r)
{
    const char *mode = fgi_config_text(r->c, "trainer.monitor_mode"), *name = monitor(r);
    const size_t size = strlen(name);
    if (strcmp(mode, "auto") != 0)
        return strcmp(mode, "max") == 0;
    return size >= 3 && strcmp(name + size - 3, "acc") == 0;
}

static int64_t or_never(int64_t every) { return every > 0 ? every : NEVER; }

static bool has_progress(const fgi_run_options *o)
{
    return !o->is_quiet && (o->progress == NULL || strcmp(o->progress, "none") != 0);
}

static fg_trainer_options trainer_options(fgi_run *r, const char *resume)
{
    const fgi_config *c = r->c;
    const int64_t steps = fgi_config_int(c, "trainer.max_steps");
    const int64_t save_epochs = fgi_config_int(c, "trainer.ckpt_every_epochs");
    const int64_t keep = fgi_config_int(c, "trainer.keep_checkpoints");
    const bool is_fit = r->options->kind == FGI_RUN_FIT;
    return (fg_trainer_options){
        .devices.client = r->client,
        .devices.accelerator = fgi_config_text(c, "trainer.accelerator"),
        .devices.devices = r->client != NULL ? NULL : devices(c),
        .devices.strategy = fgi_config_text(c, "trainer.strategy"),
        .devices.mesh = r->client != NULL ? (fg_mesh_options){.batch_axes = NULL} : r->mesh,
        .lr.lr_scaling = fgi_config_text(c, "trainer.lr_scaling"),
        .lr.base_batch_size = fgi_config_is_auto(c, "trainer.base_batch_size")
                                  ? 0
                                  : fgi_config_int(c, "trainer.base_batch_size"),
        .limits.max_epochs = max_epochs(c),
        .limits.max_steps = steps > 0 ? steps : 0,
        .limits.limit_train_batches = limit_count(c, "trainer.limit_train_batches"),
        .limits.limit_val_batches = limit_count(c, "trainer.limit_val_batches"),
        .limits.limit_train_fraction = limit_fraction(c, "trainer.limit_train_batches"),
        .limits.limit_val_fraction = limit_fraction(c, "trainer.limit_val_batches"),
        .limits.overfit_batches = limit_count(c, "trainer.overfit_batches"),
        .limits.overfit_fraction = overfit_fraction(c),
        .validation.sanity_val_steps = fgi_config_int(c, "trainer.sanity_val_steps"),
        .limits.fast_dev_run = r->options->fast_dev_run,
        .validation.val_every_epochs = or_never(fgi_config_int(c, "trainer.val_every_epochs")),
        .validation.val_every_steps = fgi_config_int(c, "trainer.val_every_steps"),
        .output.log_every = fgi_config_int(c, "trainer.log_every"),
        .numerics.accumulate_grad_batches = fgi_config_int(c, "trainer.accumulate_grad_batches"),
        .numerics.precision = fgi_config_text(c, "trainer.precision"),
        .numerics.stochastic_rounding = fgi_config_bool(c, "trainer.stochastic_rounding"),
        .numerics.detect_anomaly = fgi_config_bool(c, "trainer.detect_anomaly"),
        .lr.schedule = &r->task.schedule,
        .seed = (uint64_t)fgi_config_int(c, "trainer.seed"),
        .checkpoints.run_dir = r->folder,
        .checkpoints.save_every_epochs = save_epochs > 0 ? save_epochs : -1,
        .checkpoints.save_every_steps = fgi_config_int(c, "trainer.ckpt_every_steps"),
        .checkpoints.keep_checkpoints = keep > 0 ? (int)keep : -1,
        .checkpoints.monitor = monitor(r),
        .checkpoints.monitor_max = is_max_best(r),
        .checkpoints.weights = r->is_start ? fg_ckpt_path(r->origin.ckpt) : NULL,
        .checkpoints.resume = resume,
        .checkpoints.overwrite = r->options->overwrite,
        .handle_signals = is_fit,
        .output.progress = has_progress(r->options) ? stderr : NULL,
        .output.progress_style = has_progress(r->options) ? r->options->progress : NULL,
        .hang.watchdog_s = fgi_config_float(c, "trainer.watchdog_s"),
        .hang.report = fgi_run_hang,
        .hang.report_self = r,
    };
}

/* ---- before ---------------------------------------------------------------------------------- */

/* Nothing is run: programs are compiled only. */
static bool is_dry(const fgi_run *r)
{
    return r->options->kind == FGI_RUN_BATCH_FIND || r->options->kind == FGI_RUN_PLAN;
}

/* What is evaluated: test files where there are any, else the validation part. */
static fg_status choose_data(fgi_run *r, fg_error *err)
{
    const int64_t global = fgi_config_int(r->c, "trainer.global_batch_size");
    const bool is_global = !fgi_config_is_auto(r->c, "trainer.global_batch_size");
    const bool is_other = r->options->kind == FGI_RUN_TEST || r->options->kind == FGI_RUN_PREDICT;
    r->fit_data.train = r->data.train;
    r->fit_data.val = is_other && r->data.test != NULL ? r->data.test : r->data.val;
    r->fit_data.batch_size = is_global ? 0 : fgi_config_int(r->c, "trainer.batch_size");
    r->fit_data.global_batch_size = is_global ? global : 0;
    r->fit_data.workers = fgi_config_is_auto(r->c, "trainer.workers")
                              ? 0
                              : (int)fgi_config_int(r->c, "trainer.workers");
    if (r->fit_data.val != NULL && r->options->kind == FGI_RUN_FIT &&
        (fg_dataset_count(r->fit_data.val) == 0 ||
         fgi_config_amount(r->c, "trainer.limit_val_batches", 1) == 0))
        r->fit_data.val = NULL;
    if (r->options->kind == FGI_RUN_FIT || is_dry(r) || r->fit_data.val != NULL)
        return FG_OK;
    (void)fgi_refuse(err, "no data to %s: set %s", r->options->command,
                     strcmp(fgi_config_text(r->c, "data.format"), "npy") == 0
                         ? "data.val_x and data.val_y, or data.val_fraction"
                         : "data.val or data.val_fraction");
    return FG_EINVAL;
}

static fg_status check_limits(const fgi_run *r, fg_error *err)
{
    const fgi_config *c = r->c;
    if (fgi_config_amount(c, "trainer.limit_train_batches", 1) == 0)
        (void)fgi_refuse(err, "%s: expected at least one batch, got 0",
                         fgi_config_where(c, "trainer.limit_train_batches"));
    else if (fgi_config_int(c, "trainer.max_steps") == 0 ||
             (!fgi_config_is_auto(c, "trainer.max_epochs") &&
              fgi_config_int(c, "trainer.max_epochs") == 0))
        (void)fgi_refuse(err, "trainer.max_epochs and trainer.max_steps: expected 1 or more, or -1 "
                              "(no limit), got 0");
    else if (max_epochs(c) == NEVER && strcmp(fgi_config_text(c, "schedule.name"), "constant") != 0)
        (void)fgi_refuse(err, "%s: a schedule requires trainer.max_epochs or trainer.max_steps",
                         fgi_config_where(c, "schedule.name"));
    else
        return FG_OK;
    return FG_EINVAL;
}

/* The client of a machine that is not there. */
static fg_status open_topology(fgi_run *r, fg_error *err)
{
    const fg_client_options options = {
        .topology = r->options->topology, .devices = devices(r->c), .mesh = r->mesh};
    return r->options->kind == FGI_RUN_PLAN ? fg_client_open(&options, &r->client, err) : FG_OK;
}

/* The data and what is known of them: where the checkpoint says that, no training data are read. */
static fg_status open_data(fgi_run *r, fg_error *err)
{
    if (fgi_run_is_evaluation(r) && r->origin.data != NULL) {
        const char *path = fg_ckpt_path(r->origin.ckpt);
        const fg_status status = fgi_run_schema_of_json(path, r->origin.data, &r->schema, err);
        return status == FG_OK
                   ? fgi_run_data_open_eval(r->c, r->options->kind, &r->schema, &r->data, err)
                   : status;
    }
    const fg_status status = fgi_run_data_open(r->c, &r->data, err);
    if (status == FG_OK && r->data.schema != NULL && r->options->kind == FGI_RUN_FIT &&
        !r->options->is_quiet)
        (void)fputs(fg_csv_schema_report(r->data.schema), stderr);
    if (status != FG_OK ||
        fgi_run_schema_of_data(fgi_config_text(r->c, "data.format"), r->data.train, r->data.val,
                               r->data.schema, &r->schema, err) != FG_OK)
        return status != FG_OK ? status : FG_EINVAL;
    r->schema.target_mean = r->data.target_mean;
    r->schema.target_deviation = r->data.target_deviation;
    if (r->data.target_deviation > 0 && r->options->kind == FGI_RUN_FIT && !r->options->is_quiet)
        (void)fgi_fprintf(stderr, "target: mean %g, deviation %g (standardised for training)\n",
                          r->data.target_mean, r->data.target_deviation);
    return FG_OK;
}

static fg_status look_at_targets(fgi_run *r, fg_error *err)
{
    const fg_dataset *dataset = r->fit_data.train != NULL ? r->fit_data.train : r->fit_data.val;
    return dataset != NULL ? fgi_run_task_find_center(&r->task, dataset, err) : FG_OK;
}

static fg_status set_up(fgi_run *r, fg_error *err)
{
    const char *resume = NULL;
    fg_attachment attachments[2];
    fg_status status = FG_OK;
    if (fgi_run_is_evaluation(r))
        status = fgi_run_data_check_eval(r->c, r->options->kind, err);
    if (status == FG_OK && fgi_run_is_evaluation(r))
        status = fgi_run_find_origin(r, &resume, err);
    if (status == FG_OK)
        status = open_data(r, err);
    if (status == FG_OK)
        status = fgi_run_task_init(r->c, &r->schema, &r->task, err);
    if (status == FG_OK)
        status = choose_data(r, err);
    if (status == FG_OK)
        status = look_at_targets(r, err);
    if (status == FG_OK && r->options->kind == FGI_RUN_FIT)
        status = check_limits(r, err);
    if (status == FG_OK && !fgi_run_is_evaluation(r) && !is_dry(r))
        status = fgi_run_find_origin(r, &resume, err);
    if (status == FG_OK)
        status = fgi_run_check_origin(r, err);
    if (status == FG_OK)
        status = open_topology(r, err);
    if (status != FG_OK)
        return status;
    fg_trainer_options options = trainer_options(r, resume);
    fg_sharding_rule *rules =
        fgi_config_rules(r->c, "trainer.sharding", &options.devices.sharding_rule_count);
    options.devices.sharding_rules = rules;
    const char **skip = fgi_run_weights_options(r->c, &options.checkpoints.weights_options);
    fgi_run_attach(r, attachments, &options);
    status = fg_trainer_create(&options, &r->trainer, err);
    fgi_config_rules_free(rules, options.devices.sharding_rule_count);
    fgi_free(skip);
    if (status == FG_OK)
        status = fg_trainer_open(r->trainer, err);
    return status == FG_OK ? fgi_run_record_add(r, err) : status;
}

/* ---- the run and after ----------------------------------------------------------------------- */

static fg_status go(fgi_run *r, fg_error *err)
{
    fg_status status = FG_EINTERNAL;
    const fg_task *task = &r->task.task;
    r->setup_s = fgi_run_seconds(r);
    switch (r->options->kind) {
    case FGI_RUN_FIT: status = fg_trainer_fit(r->trainer, task, &r->fit_data, err); break;
    case FGI_RUN_VALIDATE: status = fg_trainer_validate(r->trainer, task, &r->fit_data, err); break;
    case FGI_RUN_TEST: status = fg_trainer_test(r->trainer, task, &r->fit_data, err); break;
    case FGI_RUN_PREDICT: status = fgi_run_predict(r, err); break;
    case FGI_RUN_BATCH_FIND: status = fgi_run_batch_find(r, err); break;
    case FGI_RUN_PLAN: status = fgi_run_plan(r, err); break;
    }
    r->result = *fg_trainer_result(r->trainer);
    r->has_result = true;
    return status;
}

static bool is_drawing(const fgi_run *r)
{
    const char *draw = r->options->draw;
    if (r->options->kind == FGI_RUN_PREDICT || r->options->fast_dev_run ||
        strcmp(draw, "never") == 0)
        return false;
    return strcmp(draw, "always") == 0 || isatty(STDOUT_FILENO) == 1;
}

/* A picture that fails is no failure of the run. */
static void draw(fgi_run *r)
{
    fg_error err = {0};
    if (r->options->kind == FGI_RUN_FIT)
        fgi_run_record_draw(r, stdout);
    if (!r->task.is_classification || r->fit_data.val == NULL)
        return;
    int64_t *counts = fgi_run_confusion(r, &err);
    if (counts == NULL) {
        warn(NULL, err.message);
        return;
    }
    const size_t classes = (size_t)r->task.outputs;
    const char **names = fgi_must_alloc(classes, sizeof(*names));
    for (size_t i = 0; i < classes; i++)
        names[i] = r->schema.class_names != NULL ? r->schema.class_names[i] : NULL;
    const fgi_draw_options options = {.columns = fgi_draw_columns(stdout),
                                      .is_ascii = !fgi_draw_is_utf8()};
    fgi_draw_confusion(stdout, counts, classes, names, &options);
    fgi_free(names);
    fgi_free(counts);
}

/* Asked to go on with a run that has come to its end. */
static void print_completion(const fgi_run *r)
{
    if (r->options->is_quiet)
        return;
    (void)fgi_fprintf(stderr,
                      "nothing left to do: the run is complete (step %" PRId64 ", epoch %" PRId64
                      "); to train longer, raise %s\n",
                      r->result.steps, r->result.epochs,
                      fgi_config_int(r->c, "trainer.max_steps") > 0 &&
                              r->result.steps >= fgi_config_int(r->c, "trainer.max_steps")
                          ? "trainer.max_steps"
                          : "trainer.max_epochs");
}

/* After a fit that has ended early and left a state. */
static void tell_how_to_go_on(const fgi_run *r, fg_status status)
{
    if (r->options->kind != FGI_RUN_FIT || status == FG_OK || !r->has_result ||
        r->result.checkpoint[0] == '\0' || r->folder == NULL)
        return;
    (void)fgi_fprintf(stderr, "to continue: the same command with --resume%s%s\n",
                      fgi_config_is_auto(r->c, "trainer.run_dir") ? " --trainer.run_dir=" : "",
                      fgi_config_is_auto(r->c, "trainer.run_dir") ? r->folder : "");
}

static int report(fgi_run *r, fg_status status, const fg_error *error)
{
    fg_error err = {0};
    int exit_status = FGI_RUN_DONE;
    if (status == FG_OK && is_drawing(r))
        draw(r);
    if (r->has_result && r->options->kind != FGI_RUN_PREDICT &&
        (status == FG_OK || status == FG_ESTOPPED))
        fgi_run_print_metrics(r, stdout);
    if (status == FG_OK && r->result.nothing_to_do)
        print_completion(r);
    if (r->options->kind == FGI_RUN_FIT && status == FG_OK && !r->options->is_quiet)
        (void)fgi_fprintf(stderr, r->folder != NULL ? "the run's folder: %s\n" : "%s\n",
                          r->folder != NULL ? r->folder
                                            : "fast dev run: no error; nothing was saved");
    if (status != FG_OK)
        exit_status = status == FG_ESTOPPED                       ? FGI_RUN_STOPPED
                      : r->trainer == NULL && status == FG_EINVAL ? FGI_RUN_USAGE
                                                                  : FGI_RUN_FAILED;
    /* a failed plan's object holds the reason */
    if (r->options->topology_json && exit_status == FGI_RUN_FAILED)
        fgi_run_plan_fail(r, error);
    else if (exit_status != FGI_RUN_DONE)
        (void)complain(exit_status, r->options->command, error->message);
    tell_how_to_go_on(r, status);
    if (!fgi_run_summary_write(r, status == FG_OK ? NULL : error, &err))
        exit_status = complain(FGI_RUN_FAILED, r->options->command, err.message);
    return exit_status;
}

static void tear_down(fgi_run *r)
{
    fg_trainer_destroy(r->trainer);
    fg_client_close(r->client);
    fgi_run_task_fini(&r->task);
    fgi_run_schema_fini(&r->schema);
    fgi_run_data_close(&r->data);
    fgi_run_origin_close(&r->origin);
    free(r->attached_config);
    fgi_free(r->attached_data);
    fgi_config_destroy(r->c);
    if (r->is_claimed)
        fgi_run_dir_give_back(r->folder);
    fgi_free(r->folder);
    fgi_free(r);
}

int fgi_run_command(const fgi_run_input *call, const fgi_run_options *options)
{
    fg_error err = {0};
    int status;
    fg_status adopted = FG_OK;
    fgi_run *r = fgi_must_alloc(1, sizeof(*r));
    r->options = options;
    r->start_s = fgi_now_s();
    if (options->kind == FGI_RUN_FIT) /* a reader that is gone is no reason to lose a training */
        (void)signal(SIGPIPE, SIG_IGN);
    if (!read_config(r, call, &err)) {
        status = complain(FGI_RUN_USAGE, options->command, err.message);
    } else if ((adopted = fgi_run_adopt(r, call, &err)) != FG_OK) {
        status = complain(adopted == FG_EINVAL ? FGI_RUN_USAGE : FGI_RUN_FAILED, options->command,
                          err.message);
    } else if (options->print_config != NULL) {
        fgi_config_print(r->c, stdout, strcmp(options->print_config, "plain") != 0);
        status = FGI_RUN_DONE;
    } else {
        if (!options->is_quiet) {
            fgi_config_notes(r->c, note, NULL);
            fgi_config_warn(r->c, warn, NULL);
        }
        fg_log_set(options->is_quiet ? log_failure : log_line, NULL);
        fg_status outcome = set_up(r, &err);
        if (outcome != FG_OK)
            fgi_run_explain_paths(r, &err);
        else if (options->kind == FGI_RUN_FIT && !options->is_quiet)
            fgi_run_note_batch(r, note);
        if (outcome == FG_OK)
            outcome = go(r, &err);
        if (outcome != FG_OK)
            fgi_run_explain_weights(r, &err);
        status = report(r, outcome, &err);
    }
    tear_down(r);
    return status;
}
