/* run_command.c - creates a Trainer from a configuration: data, task, options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "base/error.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/text.h"
#include "train/state/metrics.h"

/* ---- the Trainer ----------------------------------------------------------------------------- */

int64_t fgi_run_max_epochs(const fgi_config *c)
{
    const int64_t steps = c->trainer.limits.max_steps;
    int64_t epochs = c->trainer.limits.max_epochs;
    if (epochs == FG_AUTO)
        epochs = steps >= 0 ? -1 : 10;
    if (epochs >= 0)
        return epochs;
    return steps >= 0 ? 0 : -1;
}

bool fgi_run_validation_is_off(const fg_recipe *r)
{
    return r->c->trainer.validation.val_every_epochs == 0 &&
           r->c->trainer.validation.val_every_steps == 0;
}

const char *fgi_run_monitor(const fg_recipe *r)
{
    const char *monitor = r->c->trainer.checkpoints.monitor;
    if (monitor != NULL)
        return monitor;
    return r->fit_data.val != NULL && !fgi_run_validation_is_off(r) ? "val_loss" : "train_loss";
}

bool fgi_run_monitor_is_max(const fg_recipe *r)
{
    const fg_metric_mode mode = r->c->trainer.checkpoints.monitor_mode;
    return mode == FG_MODE_AUTO ? fgi_metric_is_max(fgi_run_monitor(r)) : mode == FG_MODE_MAX;
}

/* What the keys of a configuration do not say. */
static void set_others(fg_recipe *r, const char *resume, fg_trainer_options *o)
{
    static const char *const none[] = {NULL};
    o->devices.client = r->client;
    if (r->client == NULL)
        o->devices.mesh = r->mesh;
    else
        o->devices.devices = NULL;
    o->limits.fast_dev_run = r->fit.fast_dev_run;
    if (r->kind != FG_RECIPE_FIT)
        memset(o->output.profile, 0, sizeof o->output.profile);
    o->output.loggers = (fg_strings){.at = none}; /* they are added later, with their rows */
    o->output.progress = r->options.progress;
    o->output.progress_style = r->options.progress_style;
    o->output.progress_color = r->options.progress_color;
    o->lr.schedule = &r->task.schedule;
    o->checkpoints.run_dir = r->folder;
    o->checkpoints.monitor = fgi_run_monitor(r);
    o->checkpoints.weights = r->is_start ? fg_ckpt_path(r->origin.ckpt) : NULL;
    o->checkpoints.resume = resume;
    o->checkpoints.overwrite = r->fit.overwrite;
    o->handle_signals = r->fit.handle_signals;
    o->stops_on_usr1 = fgi_run_requeues(r);
    o->hang.report = fgi_run_hang;
    o->hang.report_self = r;
}

fg_status fgi_run_trainer_options(fg_recipe *r, const char *resume, fg_trainer_options *out,
                                  fg_error *err)
{
    fgi_free(r->trainer_options);
    FGI_TRY(fgi_config_fill(r->c, "trainer", fg_trainer_options_row(), &r->trainer_options, err));
    *out = *(const fg_trainer_options *)r->trainer_options;
    set_others(r, resume, out);
    return FG_OK;
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Runs training steps, or computes their schedule. */
static bool is_training(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_FIT || r->kind == FG_RECIPE_FIND_LR ||
           r->kind == FG_RECIPE_SCHEDULE || r->kind == FG_RECIPE_BENCH;
}

/* Compiles programs without running them. */
static bool is_dry(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_FIND_BATCH || r->kind == FG_RECIPE_PLAN;
}

/* The data to evaluate: test files if there are any, else the validation samples. */
static fg_status choose_data(fg_recipe *r, fg_error *err)
{
    const bool is_other = r->kind == FG_RECIPE_TEST || r->kind == FG_RECIPE_PREDICT;
    r->fit_data = r->c->batches;
    if (r->fit_data.global_batch_size != FG_AUTO)
        r->fit_data.batch_size = 0;
    if (r->fit_data.workers == 0)
        r->fit_data.workers = FG_NONE;
    r->fit_data.train = r->data.train;
    r->fit_data.val = is_other && r->data.test != NULL ? r->data.test : r->data.val;
    if (r->fit_data.val != NULL && r->kind == FG_RECIPE_FIT &&
        (fg_dataset_count(r->fit_data.val) == 0 ||
         fg_amount_of(r->c->trainer.limits.limit_val_batches, 1) == 0))
        r->fit_data.val = NULL;
    r->fit_data.test = r->fit_data.predict = r->fit_data.val;
    if (is_training(r) || is_dry(r) || r->fit_data.val != NULL || fgi_run_is_sampling(r))
        return FG_OK;
    const fg_format_entry *format = NULL;
    FGI_TRY(fgi_run_format_find(r->c, &format, err));
    return fgi_run_format_missing(format, r->kind, r->command, err);
}

static fg_status check_limits(const fg_recipe *r, fg_error *err)
{
    const fgi_config *c = r->c;
    const int64_t *profile = c->trainer.output.profile;
    FGI_TRY(fgi_run_lr_check(c, err));
    FGI_TRY(fgi_run_requeue_check(r, err));
    if (profile[0] != FG_AUTO && profile[0] > profile[1])
        return fgi_fail(err, FG_EINVAL,
                        "%s: steps %" PRId64 " to %" PRId64
                        ": expected the first one before the last",
                        fgi_config_where(c, "trainer.profile"), profile[0], profile[1]);
    if (fg_amount_of(c->trainer.limits.limit_train_batches, 1) == 0)
        (void)fgi_fail(err, FG_EINVAL, "%s: expected at least one batch, got 0",
                       fgi_config_where(c, "trainer.limit_train_batches"));
    else if (c->trainer.limits.max_steps == 0 || c->trainer.limits.max_epochs == 0)
        (void)fgi_fail(err, FG_EINVAL,
                       "trainer.max_epochs and trainer.max_steps: expected 1 or more, or -1 "
                       "(no limit), got 0");
    else if (fgi_run_max_epochs(c) < 0 && !r->task.schedule.row->is_endless)
        (void)fgi_fail(err, FG_EINVAL,
                       "%s: a schedule requires trainer.max_epochs or trainer.max_steps",
                       fgi_config_where(c, "schedule.name"));
    else
        return FG_OK;
    return FG_EINVAL;
}

/* Opens a client for a machine that is not present. */
static fg_status open_topology(fg_recipe *r, fg_error *err)
{
    const fg_client_options options = {.topology = r->plan_options.topology,
                                       .devices = r->c->trainer.devices.devices,
                                       .mesh = r->mesh};
    return r->kind == FG_RECIPE_PLAN ? fg_client_open(&options, &r->client, err) : FG_OK;
}

static void warn(void *self, const char *line) { fgi_run_say(self, FG_LOG_WARNING, "%s", line); }

/* A task that is auto is the checkpoint's. */
static fg_status take_task(fg_recipe *r, const json_t *data, fg_error *err)
{
    const char *task = json_string_value(json_object_get(data, "task"));
    if (task == NULL || strcmp(r->c->task, "auto") != 0)
        return FG_OK;
    return fgi_config_set(r->c, "task", task, NULL, err);
}

fg_status fgi_run_keep_geometry(const fg_recipe *r, fg_error *err)
{
    const fg_type *input = &r->schema.input;
    const bool is_whole = r->data_format != NULL && strcmp(r->data_format, "images") == 0 &&
                          input->rank == 3 &&
                          input->dim[0] != fg_option_int(r->c->values, "data.size") &&
                          !fgi_config_is_overridden(r->c, "data.center_fraction");
    return is_whole ? fgi_config_override(r->c, "data.center_fraction=1", err) : FG_OK;
}

/* Whether the option (NULL: no) names data. */
static bool is_given(const fgi_config *c, const char *option)
{
    char key[FGI_RUN_KEY_SIZE];
    return option != NULL && fg_option_string(c->values, fgi_run_format_key(option, key)) != NULL;
}

void fgi_run_note_default_data(const fg_recipe *r)
{
    static const char *const what[] = {
        [FG_PART_TRAIN] = "validation ", [FG_PART_VAL] = "validation ", [FG_PART_TEST] = "test "};
    char key[FGI_RUN_KEY_SIZE];
    const fg_format_entry *format = NULL;
    fg_error unused;
    fg_data_part part = FG_PART_PREDICT;
    if (r->kind != FG_RECIPE_PREDICT || fgi_run_format_find(r->c, &format, &unused) != FG_OK)
        return;
    while (part > FG_PART_TRAIN && !is_given(r->c, fgi_run_format_input(format, part)))
        part--;
    if (part == FG_PART_PREDICT)
        return;
    const char *option = fgi_run_format_input(format, part);
    fgi_run_say(r, FG_LOG_INFO,
                "note: the predictions are for the %ssamples of %s; to predict others: "
                "fulgurite predict RUN DATA",
                fgi_run_format_is_folder(format) ? "" : what[part],
                fgi_run_format_key(option != NULL ? option : "format", key));
}

/* data: what data.json says. */
static fg_status open_eval(fg_recipe *r, const json_t *data, fg_error *err)
{
    FGI_TRY(take_task(r, data, err));
    FGI_TRY(fgi_run_sample_check(r, err));
    FGI_TRY(fgi_run_schema_of_json(fg_ckpt_path(r->origin.ckpt), data, &r->schema, err));
    if (fgi_run_is_sampling(r))
        return fgi_run_schema_tokenizer(&r->schema, "the checkpoint's tokenizer",
                                        &r->data.tokenizer, err);
    FGI_TRY(fgi_run_keep_geometry(r, err));
    fgi_run_note_default_data(r);
    return fgi_run_data_open_eval(r, &r->data, err);
}

/* The task was auto until the data were opened. */
static void say_task(fg_recipe *r)
{
    if (r->data.inferred[0] != '\0')
        fgi_run_say(r, FG_LOG_INFO, "%s", r->data.inferred);
    fgi_config_warn(r->c, "task", warn, r);
}

/* Published weights say what their tokens, or images and classes are: predictions need no training
 * data. */
static fg_status describe_published(const fg_recipe *r, json_t **out, fg_error *err)
{
    const fg_format_entry *format = NULL;
    *out = NULL;
    if (r->kind != FG_RECIPE_PREDICT || !r->is_start)
        return FG_OK;
    if (fgi_run_is_sampling(r) && fgi_is_one_of(r->c->task, "auto|language"))
        return fgi_published_language(r->c, out, err);
    const fg_entry *model = fgi_config_entry(r->c, FG_REGISTRY_MODEL, "model.name", NULL);
    if (r->c->data.format == NULL && model != NULL && ((const fg_model_entry *)model)->takes_tokens)
        return fgi_fail(err, FG_EINVAL,
                        "expected --prompt=TEXT, which a language model continues, or data.format "
                        "and data.predict: texts to classify");
    FGI_TRY(fgi_run_format_find(r->c, &format, err));
    return is_given(r->c, format->files.train) ? FG_OK : fgi_published_data(r->c, out, err);
}

/* Opens the data and their schema. If the checkpoint has the schema, no training data are read. */
static fg_status open_data(fg_recipe *r, fg_error *err)
{
    json_t *published = NULL;
    FGI_TRY(describe_published(r, &published, err));
    if (fgi_run_is_evaluation(r) && (published != NULL || r->origin.data != NULL)) {
        const fg_status status = open_eval(r, published != NULL ? published : r->origin.data, err);
        json_decref(published);
        return status;
    }
    const bool was_auto = strcmp(r->c->task, "auto") == 0;
    const fg_status status = fgi_run_data_open(r->c, r, &r->data, err);
    if (status == FG_OK && was_auto)
        say_task(r);
    if (status != FG_OK || fgi_run_schema_of_data(r->c->data.format, r->data.train, r->data.val,
                                                  r->data.schema, &r->schema, err) != FG_OK)
        return status != FG_OK ? status : err->status;
    r->schema.is_stratified = strcmp(r->c->task, "classification") == 0 &&
                              r->c->data.val_fraction > 0 && r->c->data.stratify;
    FGI_TRY(fgi_run_schema_keep_tokenizer(&r->schema, r->data.tokenizer, err));
    r->schema.bytes_per_token = r->data.bytes_per_token;
    r->schema.target_mean = r->data.target_mean;
    r->schema.target_deviation = r->data.target_deviation;
    if (r->data.target_deviation > 0 && r->kind == FG_RECIPE_FIT)
        fgi_run_say(r, FG_LOG_INFO, "target: mean %g, deviation %g (standardized for training)",
                    r->data.target_mean, r->data.target_deviation);
    return FG_OK;
}

static fg_status look_at_targets(fg_recipe *r, fg_error *err)
{
    const fg_dataset *dataset = r->fit_data.train != NULL ? r->fit_data.train : r->fit_data.val;
    return dataset != NULL ? fgi_run_task_find_center(&r->task, dataset, err) : FG_OK;
}

/* A Trainer for the run, with a callback that records metrics for plots, and those of the
 * configuration. */
static fg_status make_trainer(fg_recipe *r, const char *resume, fg_error *err)
{
    fg_attachment attachments[3];
    fg_trainer_options options;
    FGI_TRY(fgi_run_trainer_options(r, resume, &options, err));
    FGI_TRY(fgi_config_rules(r->c, &options.devices, err));
    options.checkpoints.weights_options = fgi_run_weights_options(r);
    FGI_TRY(fgi_run_attach(r, attachments, &options, err));
    FGI_TRY(fg_trainer_create(&options, &r->trainer, err));
    FGI_TRY(fgi_run_record_add(r, err));
    FGI_TRY(fgi_run_callbacks_add(r, err));
    return fg_trainer_connect(r->trainer, err);
}

fg_status fgi_run_set_up(fg_recipe *r, fg_error *err)
{
    const char *resume = NULL;
    const bool is_evaluation = fgi_run_is_evaluation(r);
    if (is_evaluation && !fgi_run_is_sampling(r))
        FGI_TRY(fgi_run_data_check_eval(r->c, r->kind, err));
    if (is_evaluation)
        FGI_TRY(fgi_run_find_origin(r, &resume, err));
    FGI_TRY(open_data(r, err));
    FGI_TRY(fgi_run_task_init(r->c, &r->schema, &r->task, err));
    r->task.owner = r;
    FGI_TRY(fgi_run_task_check_tokens(&r->task, &r->data, err));
    FGI_TRY(fgi_run_sample_check(r, err));
    fgi_run_task_set_encodings(&r->task, &r->data);
    if (r->kind == FG_RECIPE_FIT)
        fgi_run_augment_note(r);
    FGI_TRY(choose_data(r, err));
    if (r->kind == FG_RECIPE_SCHEDULE)
        return check_limits(r, err);
    FGI_TRY(look_at_targets(r, err));
    FGI_TRY(fgi_run_task_balance(&r->task, r->fit_data.train, err));
    FGI_TRY(fgi_run_task_choose_metrics(&r->task, r->c, &r->data, err));
    if (is_training(r))
        FGI_TRY(check_limits(r, err));
    if (!is_evaluation && !is_dry(r))
        FGI_TRY(fgi_run_find_origin(r, &resume, err));
    FGI_TRY(fgi_run_check_origin(r, err));
    r->is_data_ready = true;
    FGI_TRY(open_topology(r, err));
    return make_trainer(r, resume, err);
}
