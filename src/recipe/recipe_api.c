/* recipe_api.c - the public functions of a recipe: open, run, results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <fulgurite/hub.h>

#include "recipe/published/published.h"
#include "recipe/run/run.h"
#include "recipe/plan/run_plan.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reserved.h"
#include "base/text.h"
#include "input/json_file.h"
#include "report/reports.h"
#include "base/thread.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* Renames old keys to their current names, with a message. */
static fg_status read_old_keys(fg_recipe *r, fg_error *err)
{
    bool was_old = false;
    FGI_TRY(fgi_config_modernize(r->c, &was_old, err));
    if (was_old)
        fgi_run_say(r, FG_LOG_INFO,
                    "note: trainer.tpu_cores is an old spelling: read as --trainer.accelerator=tpu "
                    "--trainer.devices=%s",
                    fgi_config_format(r->c, "trainer.devices"));
    return FG_OK;
}

static fg_status read_config(fg_recipe *r, fg_error *err)
{
    const fg_recipe_options *o = &r->options;
    r->config_path = o->config;
    if (r->config_path != NULL && fgi_run_is_evaluation(r) &&
        fgi_run_origin_is_named(r->config_path))
        r->config_path = NULL; /* fgi_run_adopt finds out what it is */
    if (r->config_path != NULL && fgi_run_is_evaluation(r) && fgi_config_is_data(r->config_path))
        return fgi_fail(err, FG_EINVAL,
                        "'%s' is data: name a trained model or a configuration first\n"
                        "fulgurite %s last %s uses the newest run in 'runs'; instead of last, name "
                        "any run's folder",
                        r->config_path, r->command, r->config_path);
    if (fg_hub_is_name(r->config_path))
        return fgi_run_name_published(r, r->config_path, err);
    if (r->config_path != NULL)
        FGI_TRY(fgi_config_read_file(r->c, r->config_path, err));
    for (size_t i = 0; i < o->override_count; i++)
        FGI_TRY(fgi_config_override(r->c, o->overrides[i], err));
    if (r->fit.overwrite && fgi_config_is_overridden(r->c, "trainer.resume"))
        return fgi_fail(
            err, FG_EINVAL,
            "--resume and --overwrite exclude each other: a run is either continued or deleted");
    if (fg_option_is_given(r->c->values, "trainer.batch_size") &&
        r->c->batches.global_batch_size != FG_AUTO)
        return fgi_fail(err, FG_EINVAL, "%s: trainer.batch_size is given too: set only one of them",
                        fgi_config_where(r->c, "trainer.global_batch_size"));
    if (r->config_path != NULL && r->evaluate.data != NULL)
        FGI_TRY(fgi_run_set_data(r, r->evaluate.data, err));
    if (r->config_path != NULL && fgi_run_is_evaluation(r))
        FGI_TRY(fgi_run_adopt_format(r, err));
    FGI_TRY(read_old_keys(r, err));
    return fgi_config_mesh(r->c, &r->mesh, err);
}

/* Takes the options of the kind. */
static fg_status take_command(fg_recipe *r, const fg_recipe_command *command, fg_error *err)
{
    r->kind = command->kind;
    if (r->kind == FG_RECIPE_FIT || r->kind == FG_RECIPE_SCHEDULE)
        r->fit = command->fit;
    else if (fgi_run_is_evaluation(r))
        r->evaluate = command->evaluate;
    else if (r->kind == FG_RECIPE_PLAN)
        r->plan_options = command->plan;
    else if (r->kind == FG_RECIPE_BENCH)
        r->bench_options = command->bench;
    FGI_TRY_RESERVED(fg_fit_options, &r->fit, err);
    FGI_TRY_RESERVED(fg_evaluate_options, &r->evaluate, err);
    FGI_TRY_RESERVED(fg_sample_options, &r->evaluate.sample, err);
    FGI_TRY_RESERVED(fg_plan_options, &r->plan_options, err);
    FGI_TRY_RESERVED(fg_bench_options, &r->bench_options, err);
    return r->kind == FG_RECIPE_PLAN ? fgi_run_plan_check(&r->plan_options, err) : FG_OK;
}

static fg_status open_recipe(fg_recipe *r, const fg_recipe_command *command, fg_error *err)
{
    static const char *const commands[] = {"fit",  "validate", "test",     "predict", "batch-find",
                                           "plan", "lr-find",  "schedule", "bench"};
    fgi_prediction_format format;
    if ((size_t)command->kind >= sizeof(commands) / sizeof(commands[0]))
        return fgi_fail(err, FG_EINVAL, "fg_recipe_command.kind is %d: expected at most %d",
                        (int)command->kind, FG_RECIPE_BENCH);
    FGI_TRY_RESERVED(fg_recipe_options, &r->options, err);
    FGI_TRY_RESERVED(fg_recipe_command, command, err);
    FGI_TRY(take_command(r, command, err));
    r->command = r->outcome.command = commands[r->kind];
    if (fgi_run_has_predict_file(r))
        FGI_TRY(fgi_prediction_format_of(r->evaluate.out, &format, NULL, err));
    r->c = fgi_config_create(r->options.registry, err);
    if (r->c == NULL)
        return err->status;
    FGI_TRY(read_config(r, err));
    return fgi_run_adopt(r, err);
}

fg_status fg_recipe_open(const fg_recipe_options *options, const fg_recipe_command *command,
                         fg_recipe **out, fg_error *err)
{
    static const fg_recipe_command fit;
    fg_error none;
    fg_recipe *r = fgi_calloc(1, sizeof(*r));
    *out = NULL;
    err = err != NULL ? err : &none;
    if (r == NULL)
        return fgi_no_memory(err);
    r->start_s = fgi_now_s();
    r->options = *options;
    r->outcome.error = r->error.message;
    r->outcome.damaged_error = "";
    const fg_status status = open_recipe(r, command != NULL ? command : &fit, err);
    if (status == FG_OK)
        *out = r;
    else
        fg_recipe_close(r);
    return status;
}

void fg_recipe_close(fg_recipe *r)
{
    if (r == NULL)
        return;
    fg_trainer_destroy(r->trainer);
    fg_client_close(r->client);
    fgi_run_task_fini(&r->task);
    fgi_run_schema_fini(&r->schema);
    fgi_run_data_close(&r->data);
    fgi_run_origin_close(&r->origin);
    fgi_free(r->attached_config);
    fgi_free(r->attached_data);
    fgi_free(r->attached_training);
    fgi_config_destroy(r->c);
    if (r->is_claimed)
        fgi_run_dir_give_back(r->folder);
    fgi_free(r->trainer_options);
    fgi_free(r->folder);
    fgi_free(r->predictions.data);
    fg_free((char *)r->outcome.text);
    fg_dataset_destroy(r->readable);
    json_decref(r->plan);
    json_decref(r->bench);
    json_decref(r->evaluation);
    json_decref(r->report_before);
    fg_lr_curve_destroy(r->lr_curve);
    fgi_buf_fini(&r->text);
    fgi_free(r);
}

/* ---- running --------------------------------------------------------------------------------- */

double fgi_run_seconds(const fg_recipe *r) { return fgi_now_s() - r->start_s; }

static void note(void *self, const char *line) { fgi_run_say(self, FG_LOG_INFO, "note: %s", line); }

static void warn(void *self, const char *line) { fgi_run_say(self, FG_LOG_WARNING, "%s", line); }

/* A fit whose report cannot be written has not failed. A fit that did not start has no report. */
static bool has_report(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_FIT && r->folder != NULL &&
           r->outcome.train.time_to_first_step_s > 0;
}

static void keep_report(fg_recipe *r, fg_status status)
{
    fg_error err = {0};
    if (!has_report(r))
        return;
    if (fgi_run_report_keep(r, status, &err) != FG_OK)
        fgi_run_say(r, FG_LOG_WARNING, "the report was not written: %s", err.message);
}

static fg_status bench(fg_recipe *r, fg_error *err)
{
    char *json;
    FGI_TRY(fg_bench_step(r->trainer, &r->task.task, &r->fit_data, &r->bench_options, &json, err));
    r->bench = fgi_json_load(json, strlen(json), 0, NULL);
    fg_free(json);
    return r->bench != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status go(fg_recipe *r, fg_error *err)
{
    fg_status status = FG_EINTERNAL;
    fg_error why = {0};
    const fg_task *task = &r->task.task;
    r->setup_s = fgi_run_seconds(r);
    switch (r->kind) {
    case FG_RECIPE_FIT:
        status = fgi_run_lr_apply(r, err);
        if (status == FG_OK)
            status = fgi_run_info_set(r, err);
        if (status == FG_OK)
            status = fg_trainer_fit(r->trainer, task, &r->fit_data, err);
        if (status == FG_EINVAL && fg_trainer_settings(r->trainer)->device_count > 0 &&
            !(fg_trainer_result(r->trainer)->time_to_first_step_s > 0))
            r->outcome.was_set_up = false; /* a metric that no step logs, for example */
        r->is_complete = status == FG_OK;
        if (status == FG_OK)
            status = fgi_run_record_check(r, err);
        break;
    case FG_RECIPE_VALIDATE:
        status = fg_trainer_validate(r->trainer, task, &r->fit_data, err);
        break;
    case FG_RECIPE_TEST: status = fg_trainer_test(r->trainer, task, &r->fit_data, err); break;
    case FG_RECIPE_PREDICT:
        status = fgi_run_is_sampling(r) ? fgi_run_sample(r, err) : fgi_run_predict(r, err);
        break;
    case FG_RECIPE_FIND_BATCH: status = fgi_run_batch_find(r, err); break;
    case FG_RECIPE_PLAN: status = fgi_run_plan(r, err); break;
    case FG_RECIPE_FIND_LR: status = fgi_run_lr_find(r, err); break;
    case FG_RECIPE_SCHEDULE: return fgi_run_schedule(r, err);
    case FG_RECIPE_BENCH: status = bench(r, err); break;
    }
    r->outcome.train = *fg_trainer_result(r->trainer);
    r->has_result = true;
    if (fgi_run_evaluation_make(r, status, &why) != FG_OK)
        fgi_run_say(r, FG_LOG_WARNING, "results by class and by sample are not available: %s",
                    why.message);
    keep_report(r, status);
    return status;
}

/* Warns about samples that were replaced because they are damaged. */
static void say_damage(const fg_recipe *r)
{
    const char *first;
    const int64_t count =
        r->fit_data.train != NULL ? fg_dataset_damaged(r->fit_data.train, &first) : 0;
    if (count > 0)
        fgi_run_note_damaged(r, count, first);
}

/* How many images were used although their decoder had a warning. */
static void say_flawed(const fg_recipe *r)
{
    const fg_dataset *const parts[] = {r->data.train, r->data.val, r->data.test};
    const char *first = "", *of_part;
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const int64_t count = parts[i] != NULL ? fg_dataset_flawed(parts[i], &of_part) : 0;
        if (sum == 0 && count > 0)
            first = of_part;
        sum += count;
    }
    if (sum > 0)
        fgi_run_note_flawed(r, sum, first);
}

/* Where the results are, and the command that shows them, unless no logger wrote what it reads. */
static void say_folder(const fg_recipe *r)
{
    char *metrics = fgi_path_join(r->folder, "metrics.jsonl");
    fgi_run_say(r, FG_LOG_INFO, "the run's folder: %s", r->folder);
    if (metrics != NULL && fgi_file_exists(metrics))
        fgi_run_say(r, FG_LOG_INFO, "to see its report: fulgurite report %s", r->folder);
    fgi_free(metrics);
}

/* The files of a profile, and what to open them with. */
static void say_profile(const fg_recipe *r)
{
    const fg_profile_info *p = r->trainer != NULL ? fg_trainer_profile(r->trainer) : NULL;
    if (p == NULL)
        return;
    fgi_run_say(r, FG_LOG_INFO,
                "profile of steps %" PRId64 " to %" PRId64
                ": %s (open it in ui.perfetto.dev); xprof --logdir %s/profile",
                p->first_step, p->last_step, p->trace, r->folder);
    if (!p->has_device)
        fgi_run_say(r, FG_LOG_INFO, "the profile has no operations of the devices: %s", p->note);
}

/* How long a step took and why. */
static void say_times(const fg_recipe *r)
{
    fg_error unused;
    fgi_buf lines = {0};
    json_t *report = NULL;
    if (has_report(r) && fgi_run_view_read_report(r->folder, &report, &unused) == FG_OK)
        fgi_run_brief_put(&lines, report);
    if (!lines.failed && lines.size > 0)
        fgi_run_say(r, FG_LOG_INFO, "%.*s", (int)(lines.size - 1), lines.data);
    json_decref(report);
    fgi_buf_fini(&lines);
}

/* After a fit: reports that the continued run was already complete, or how to continue an
 * interrupted one. */
static void say_end(const fg_recipe *r, fg_status status)
{
    const fg_result *train = &r->outcome.train;
    const int64_t most = r->c->trainer.limits.max_steps;
    const bool is_auto = r->c->run.dir == NULL;
    say_damage(r);
    if (status == FG_OK && train->nothing_to_do)
        fgi_run_say(r, FG_LOG_INFO,
                    "nothing left to do: the run is complete (step %lld, epoch %lld); to train "
                    "longer, raise %s",
                    (long long)train->steps, (long long)train->epochs,
                    most > 0 && train->steps >= most ? "trainer.max_steps" : "trainer.max_epochs");
    if (status == FG_OK && train->stop_reason[0] != '\0')
        fgi_run_say(r, FG_LOG_INFO, "ended at step %lld: %s", (long long)train->steps,
                    train->stop_reason);
    if (status == FG_OK || status == FG_ESTOPPED)
        say_times(r);
    say_profile(r);
    if (status == FG_OK && r->folder != NULL)
        say_folder(r);
    else if (status == FG_OK)
        fgi_run_say(r, FG_LOG_INFO, "fast dev run: no error; nothing was saved");
    else if (!r->is_complete && train->checkpoint[0] != '\0')
        fgi_run_say(r, FG_LOG_ERROR, "to continue: the same command with --resume%s%s",
                    is_auto ? " --trainer.run_dir=" : "", is_auto ? r->folder : "");
}

static void say_published(void *self, const char *line)
{
    fgi_run_say(self, FG_LOG_INFO, "%s", line);
}

/* Completes the configuration by the files of a published model. */
static fg_status complete(fg_recipe *r, fg_error *err)
{
    const fgi_published_say say = {say_published, r};
    if (fgi_run_is_sampling(r) && r->c->data.format == NULL)
        FGI_TRY(fgi_config_set(r->c, "data.format", "text", "--prompt", err));
    FGI_TRY(fgi_published_fetch(r->c, &say, err));
    FGI_TRY(fgi_published_model(r->c, &say, err));
    return fgi_published_input(r->c, &say, err);
}

fg_status fg_recipe_run(fg_recipe *r, fg_error *err)
{
    if (r->was_run)
        return fgi_fail(err, FG_EINVAL,
                        "fg_recipe_run: this recipe has already been run: open another one");
    r->was_run = true;
    fg_status status = complete(r, &r->error);
    if (status == FG_OK) {
        fgi_config_notes(r->c, note, r);
        fgi_config_warn(r->c, NULL, warn, r);
        status = fgi_run_set_up(r, &r->error);
    }
    r->outcome.was_set_up |= status == FG_OK;
    r->outcome.folder = r->folder;
    if (status != FG_OK) {
        fgi_run_explain_paths(r, &r->error);
    } else if (r->kind == FG_RECIPE_FIT) {
        fgi_run_warn_of_devices(r);
        fgi_run_note_batch(r);
        fgi_run_note_validation(r);
    }
    if (status == FG_OK)
        status = go(r, &r->error);
    if (status != FG_OK)
        fgi_run_explain_weights(r, &r->error);
    if (status != FG_OK && r->kind == FG_RECIPE_PLAN)
        fgi_run_plan_fail(r);
    r->outcome.status = r->error.status = status;
    say_flawed(r);
    if (r->kind == FG_RECIPE_FIT) {
        say_end(r, status);
        fgi_run_requeue(r);
    }
    if (status != FG_OK && err != NULL)
        *err = r->error;
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

const fg_recipe_result *fg_recipe_result_of(const fg_recipe *recipe) { return &recipe->outcome; }

const fg_lr_curve *fg_recipe_lr_curve(const fg_recipe *recipe) { return recipe->lr_curve; }

static fg_status not_there(const char *what, const char *when, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL, "this recipe has no %s: %s", what, when);
}

static fg_status put_plan(fg_recipe *r, bool is_json, fg_error *err)
{
    const json_t *machine = json_array_get(json_object_get(r->plan, "topologies"), 0);
    if (machine == NULL)
        return not_there("plan", "run one of kind FG_RECIPE_PLAN first", err);
    if (!is_json)
        fgi_plan_lines_put(&r->text, machine);
    else if (!fgi_json_write(r->plan, JSON_INDENT(2), &r->text))
        return fgi_no_memory(err);
    return FG_OK;
}

static fg_status put_bench(fg_recipe *r, bool is_json, fg_error *err)
{
    const int64_t rows = r->bench_options.rows > 0 ? r->bench_options.rows : 20;
    if (r->bench == NULL)
        return not_there("times of a step", "run one of kind FG_RECIPE_BENCH first", err);
    if (!is_json)
        fgi_bench_lines_put(&r->text, r->bench, (size_t)rows);
    else if (!fgi_json_write(r->bench, JSON_INDENT(2) | JSON_REAL_PRECISION(9), &r->text))
        return fgi_no_memory(err);
    return FG_OK;
}

static fg_status put_text(fg_recipe *r, fg_recipe_text which, fg_error *err)
{
    switch (which) {
    case FG_RECIPE_SUMMARY:
        if (r->schedule.name != NULL) {
            fgi_json_put(&r->text, fgi_schedule_json(&r->schedule),
                         JSON_INDENT(1) | JSON_REAL_PRECISION(9));
            return FG_OK;
        }
        return fgi_run_put_summary(r, &r->text) ? FG_OK : fgi_no_memory(err);
    case FG_RECIPE_METRICS: fgi_run_put_metrics(r, &r->text); return FG_OK;
    case FG_RECIPE_CONFIG:
    case FG_RECIPE_CONFIG_COMMENTED:
        fgi_config_print(r->c, &r->text, which == FG_RECIPE_CONFIG_COMMENTED);
        return FG_OK;
    case FG_RECIPE_PREDICTIONS:
        if (r->outcome.text != NULL) {
            fgi_buf_printf(&r->text, "%s\n", r->outcome.text);
            return FG_OK;
        }
        if (r->has_result && fgi_run_has_predict_file(r))
            return FG_OK; /* they are in the file */
        if (r->outcome.predictions_type.rank == 0)
            return not_there("predictions", "run one of kind FG_RECIPE_PREDICT first", err);
        fgi_run_put_predictions(r, FGI_PREDICTION_CSV, &r->text);
        return FG_OK;
    case FG_RECIPE_PLAN_JSON:
    case FG_RECIPE_PLAN_LINES: return put_plan(r, which == FG_RECIPE_PLAN_JSON, err);
    case FG_RECIPE_BENCH_JSON:
    case FG_RECIPE_BENCH_LINES: return put_bench(r, which == FG_RECIPE_BENCH_JSON, err);
    }
    return fgi_fail(err, FG_EINVAL, "fg_recipe_text_of: %d is not an fg_recipe_text", (int)which);
}

static fg_status give_text(fg_recipe *r, fg_status status, const char **out, fg_error *err)
{
    if (status == FG_OK)
        status = fgi_buf_status(&r->text, err);
    *out = status != FG_OK ? NULL : r->text.data != NULL ? r->text.data : "";
    return status;
}

fg_status fg_recipe_text_of(fg_recipe *recipe, fg_recipe_text which, const char **out,
                            fg_error *err)
{
    fgi_buf_clear(&recipe->text);
    return give_text(recipe, put_text(recipe, which, err), out, err);
}

fg_status fg_recipe_draw(fg_recipe *recipe, int columns, bool is_ascii, const char **out,
                         fg_error *err)
{
    fg_status status = FG_OK;
    columns = columns > 0 ? columns : 80;
    fgi_buf_clear(&recipe->text);
    if (recipe->kind == FG_RECIPE_FIND_LR && recipe->lr_curve != NULL)
        fgi_lr_draw(recipe->lr_curve, columns, is_ascii, &recipe->text);
    else if (recipe->schedule.name != NULL)
        fgi_schedule_draw(&recipe->schedule, columns, is_ascii, &recipe->text);
    else if (!recipe->has_result || recipe->outcome.status != FG_OK)
        status = not_there("result to draw", "run it first", err);
    else if (recipe->kind == FG_RECIPE_FIT)
        fgi_run_record_draw(recipe, columns, is_ascii, &recipe->text);
    if (status == FG_OK)
        fgi_run_put_matrix(recipe, columns, &recipe->text);
    if (status == FG_OK && recipe->kind != FG_RECIPE_FIT)
        fgi_run_put_classes(recipe, &recipe->text);
    return give_text(recipe, status, out, err);
}

fg_status fg_recipe_write_curve(fg_recipe *recipe, const char *path, fg_error *err)
{
    if (recipe->schedule.name != NULL)
        return fgi_schedule_write(&recipe->schedule, path, err);
    if (recipe->lr_curve != NULL)
        return fg_report_lr_write(recipe->lr_curve, path, err);
    return not_there("curve", "run one of kind FG_RECIPE_FIND_LR or FG_RECIPE_SCHEDULE first", err);
}

fg_status fg_recipe_write_predictions(fg_recipe *recipe, const char *path, fg_error *err)
{
    const fg_recipe_result *outcome = &recipe->outcome;
    fgi_prediction_format format;
    fg_error why = {0};
    const char *text = NULL;
    fg_status status = fgi_prediction_format_of(path, &format, NULL, &why);
    if (status == FG_OK && outcome->predictions_type.rank == 0)
        status = not_there("predictions", "run one of kind FG_RECIPE_PREDICT first", &why);
    if (status == FG_OK && format == FGI_PREDICTION_NPY) {
        status = fg_npy_write(path, &outcome->predictions_type, outcome->predictions, &why);
    } else if (status == FG_OK) {
        fgi_buf_clear(&recipe->text);
        fgi_run_put_predictions(recipe, format, &recipe->text);
        status = give_text(recipe, FG_OK, &text, &why);
        if (status == FG_OK)
            status = fg_file_write(path, text, recipe->text.size, &why);
    }
    if (status != FG_OK)
        recipe->error = why;
    if (status != FG_OK && err != NULL)
        *err = why;
    return status;
}
