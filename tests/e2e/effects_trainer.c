/* effects_trainer.c - length of a run, steps, and checkpoints: two epochs of three steps, and the
 * resulting files in the run's folder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "trace_file.h"

/* ---- the contents of the run's folder -------------------------------------------------------- */

/* Steps at which metrics.jsonl has a metric, as "3 6", and its values. */
static const char *steps_with(const char *folder, const char *metric, double *out_values)
{
    static char text[2][256];
    static int turn;
    char line[1024], *out = text[turn ^= 1];
    size_t used = 0, count = 0;
    FILE *file = fopen(fgt_path(folder, "run/metrics.jsonl"), "rb");
    assert_non_null(file);
    out[0] = '\0';
    while (fgets(line, sizeof(line), file) != NULL) {
        json_t *row = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(row, metric);
        if (value != NULL) {
            used += (size_t)snprintf(out + used, 256 - used, "%s%d", used > 0 ? " " : "",
                                     (int)json_integer_value(json_object_get(row, "step")));
            if (out_values != NULL)
                out_values[count++] = json_number_value(value);
        }
        json_decref(row);
    }
    (void)fclose(file);
    return out;
}

/* Steps of the existing checkpoints, as "3 6". */
static const char *kept(const char *folder)
{
    static char text[256];
    bool is_there[64] = {false};
    size_t used = 0;
    DIR *stream = opendir(fgt_path(folder, "run/checkpoints"));
    text[0] = '\0';
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        int step;
        if (sscanf(entry->d_name, "step-%d", &step) == 1 && step < 64)
            is_there[step] = true;
    }
    if (stream != NULL)
        (void)closedir(stream);
    for (int i = 0; i < 64; i++)
        if (is_there[i])
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", used > 0 ? " " : "", i);
    return text;
}

/* The step that a file names: checkpoints/last, checkpoints/best. */
static int named(const char *folder, const char *file)
{
    int step = -1;
    FILE *in = fopen(fgt_path(fgt_path(folder, "run/checkpoints"), file), "rb");
    if (in == NULL)
        return -1;
    if (fscanf(in, "step-%d", &step) != 1)
        step = -1;
    (void)fclose(in);
    return step;
}

/* ---- checks ---------------------------------------------------------------------------------- */

#define EPOCHS                                                                                     \
    EFFECTS_NPY EFFECTS_VAL "--trainer.max_epochs=2 --trainer.batch_size=4 "                       \
                            "--trainer.keep_checkpoints=0 "

static void check_text(const char *what, const char *is, const char *expected)
{
    if (expected != NULL && strcmp(is, expected) != 0)
        fail_msg("%s: '%s', expected '%s'", what, is, expected);
}

/* Steps of the run, of its lines, of its checkpoints; a part of its summary. */
static void steps(const effect *e, const char *folder)
{
    const json_t *summary = effects_fit(e->status, folder, EPOCHS "%s", e->arguments);
    if (e->count > 0)
        assert_int_equal((int)effects_number(summary, "steps"), e->count);
    if (e->train != NULL)
        check_text(e->arguments, steps_with(folder, "train_loss", NULL), e->train);
    if (e->val != NULL)
        check_text(e->arguments, steps_with(folder, "val_loss", NULL), e->val);
    if (e->kept != NULL)
        check_text(e->arguments, kept(folder), e->kept);
    if (e->says != NULL) {
        char *text = json_dumps(summary, 0);
        contains(text, e->says);
        free(text);
    }
}

/* "best" is the step whose value is least, or most. The learning rate is such that neither is the
 * last, and that loss and accuracy do not agree. */
static void best(const effect *e, const char *folder)
{
    double values[64];
    const char *metric = e->best;
    const bool is_max = e->count > 0;
    (void)effects_fit(0, folder,
                      EPOCHS "--optimizer.lr=6 --trainer.max_epochs=8 --trainer.seed=3 %s",
                      e->arguments);
    const char *at = steps_with(folder, metric, values);
    int number = 0, found = -1;
    double least = 0;
    for (char *end; *at != '\0'; at = end, number++) {
        const int step = (int)strtol(at, &end, 10);
        const double value = is_max ? -values[number] : values[number];
        if (found < 0 || value < least) {
            found = step;
            least = value;
        }
    }
    assert_int_equal(number, 8);
    assert_int_not_equal(found, 24);
    assert_int_equal(named(folder, "best"), found);
    assert_int_equal(named(folder, "last"), 24);
}

/* Only the newest and the best checkpoint are kept. */
static void pruned(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder,
                      EPOCHS "--optimizer.lr=6 --trainer.max_epochs=8 --trainer.seed=3 %s",
                      e->arguments);
    const int found = named(folder, "best");
    char expected[64];
    assert_true(found > 0 && found < 21);
    (void)snprintf(expected, sizeof(expected), "%d %s", found, e->kept);
    check_text(e->arguments, kept(folder), expected);
}

/* The e->count best checkpoints and the newest one are kept. */
static void top(const effect *e, const char *folder)
{
    double values[64];
    char expected[64] = "";
    (void)effects_fit(0, folder,
                      EPOCHS "--optimizer.lr=6 --trainer.max_epochs=8 --trainer.seed=3 "
                             "--trainer.keep_checkpoints=1 %s",
                      e->arguments);
    assert_int_equal(strlen(steps_with(folder, "val_loss", values)),
                     strlen("3 6 9 12 15 18 21 24"));
    for (int i = 0; i < 8; i++) {
        int better = 0;
        for (int k = 0; k < 8; k++)
            better += values[k] < values[i];
        if (better < e->count || i == 7)
            (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%d",
                           expected[0] != '\0' ? " " : "", 3 * (i + 1));
    }
    check_text(e->arguments, kept(folder), expected);
}

/* What it does in a SLURM job: test_interrupted.c. */
static void requeue(const effect *e, const char *folder)
{
    char line[512];
    (void)snprintf(line, sizeof line, "fit -q --draw=never --trainer.run_dir=run " EPOCHS "%s",
                   e->arguments);
    const outcome *o = program_gives(e->status, folder, line);
    if (e->says != NULL)
        contains(o->err, e->says);
}

/* There is a checkpoint with that name. */
static void ckpt_name(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    if (!is_there(fgt_path(folder, "run/checkpoints"), e->says))
        fail_msg("%s: no checkpoint %s", e->arguments, e->says);
}

/* The initial weights only depend on the seed. */
static void seed(const effect *e, const char *folder)
{
    double weight[3][6], bias[3];
    static const int seeds[] = {1, 2, 2};
    for (int i = 0; i < 3; i++) {
        (void)effects_fit(0, folder,
                          "--model.name=linear --data.format=npy --data.x=x.npy --data.y=y.npy "
                          "--trainer.batch_size=4 " EFFECTS_STILL "--trainer.seed=%d",
                          seeds[i]);
        effects_tensor(folder, "fc.weight", 6, weight[i]);
        effects_tensor(folder, "fc.bias", 3, bias);
    }
    assert_memory_equal(weight[1], weight[2], sizeof(weight[1]));
    for (int i = 0; i < 6; i++)
        assert_true(weight[0][i] != weight[1][i]);
}

/* After a resume, the weights are those of an uninterrupted run. */
static void resume(const effect *e, const char *folder)
{
    double whole[6], parts[6];
    (void)effects_fit(0, folder, EPOCHS);
    effects_tensor(folder, "fc.weight", 6, whole);
    (void)effects_fit(0, folder, EPOCHS "--trainer.max_epochs=1 --trainer.ckpt_every_steps=1");
    const json_t *summary = effects_fit(0, folder, EPOCHS "%s", e->arguments);
    assert_int_equal((int)effects_number(summary, "steps"), 6);
    assert_string_equal(steps_with(folder, "train_loss", NULL), e->train);
    effects_tensor(folder, "fc.weight", 6, parts);
    assert_memory_equal(whole, parts, sizeof(whole));
}

/* The programs that the run compiles: training, and validation before it if requested. */
static void programs(const effect *e, const char *folder)
{
    const json_t *summary =
        effects_fit(0, folder, EPOCHS "--trainer.val_every_epochs=0 %s", e->arguments);
    assert_int_equal(
        (int)(effects_number(summary, "compiles") + effects_number(summary, "compile_cache_hits")),
        e->count);
}

/* The best checkpoint is that of an uninterrupted run, even if it is from before the resume, and it
 * is kept. With a different metric, only those from the resume on are considered. */
static void best_after_resume(const effect *e, const char *folder)
{
    char expected[64];
    static const char eight[] = EPOCHS "--optimizer.lr=6 --trainer.max_epochs=8 --trainer.seed=3 "
                                       "--trainer.keep_checkpoints=1 ";
    (void)effects_fit(0, folder, "%s", eight);
    const int found = named(folder, "best");
    assert_true(found > 0 && found <= 18);
    (void)effects_fit(0, folder, "%s --trainer.max_epochs=6", eight);
    assert_int_equal(named(folder, "best"), found);
    (void)effects_fit(0, folder, "%s --trainer.resume=last %s", eight, e->arguments);
    assert_int_equal(named(folder, "last"), 24);
    if (e->best != NULL)
        assert_true(named(folder, "best") >= 18);
    else
        assert_int_equal(named(folder, "best"), found);
    const int best = named(folder, "best");
    (void)snprintf(expected, sizeof(expected), best < 24 ? "%d 24" : "24", best);
    check_text("kept", kept(folder), expected);
}

/* The dtype of the saved weights. */
static void precision(const effect *e, const char *folder)
{
    char line[256];
    const json_t *summary = effects_fit(0, folder, EPOCHS "%s", e->arguments);
    assert_string_equal(json_string_value(json_object_get(summary, "precision")),
                        strchr(e->arguments, '=') + 1);
    (void)snprintf(line, sizeof(line), "show run/checkpoints/step-000000006");
    contains(program_gives(0, folder, line)->out, e->says);
}

/* What programs may call: with auto, also what is installed. */
static void kernels(const effect *e, const char *folder)
{
    const json_t *summary = effects_fit(0, folder, EPOCHS "%s", e->arguments);
    const char *used = json_string_value(json_object_get(summary, "kernels"));
    if (used == NULL || strncmp(used, e->says, strlen(e->says)) != 0)
        fail_msg("kernels: %s, expected %s", used != NULL ? used : "", e->says);
    if (strstr(e->arguments, "auto") == NULL)
        assert_string_equal(used, e->says);
}

/* Updates smaller than half a unit in bf16's last place: with rounding to nearest, only weights
 * that are 0 change; with stochastic rounding, others do too. */
static void rounding(const effect *e, const char *folder)
{
    double weight[6];
    bool has_moved = false;
    const reference_model start = reference_start(2);
    (void)effects_fit(0, folder, EPOCHS "--trainer.precision=bf16-true --optimizer.lr=0.001 %s",
                      e->arguments);
    effects_tensor(folder, "fc.weight", 6, weight);
    for (int i = 0; i < 6; i++)
        has_moved |= start.weight[i / 2][i % 2] != 0 && weight[i] != start.weight[i / 2][i % 2];
    assert_int_equal(has_moved, e->count);
}

/* A learning rate that overflows: the run ends, or continues with NaN. */
static void anomaly(const effect *e, const char *folder)
{
    const json_t *summary =
        effects_fit(e->status, folder, EPOCHS "--optimizer.lr=1e30 --optimizer.weight_decay=1e6 %s",
                    e->arguments);
    if (e->says != NULL)
        contains(json_string_value(json_object_get(summary, "error")), e->says);
    if (e->value > 0)
        fgt_close("factor", effects_number(summary, "rollback_lr_factor"), e->value, 0, 0);
}

/* A learning rate that is too large for the loss to stay low. */
static void high_loss(const effect *e, const char *folder)
{
    const char *patience =
        strstr(e->arguments, "patience") != NULL ? "" : "--trainer.divergence_patience=2 ";
    const json_t *summary =
        effects_fit(e->status, folder, EPOCHS "--optimizer.lr=1e3 --trainer.log_every=1 %s%s",
                    patience, e->arguments);
    if (e->says != NULL)
        contains(json_string_value(json_object_get(summary, "error")), e->says);
}

/* Any number of threads gives the same numbers. */
static void workers(const effect *e, const char *folder)
{
    double weight[2][6];
    (void)effects_fit(0, folder, EPOCHS);
    effects_tensor(folder, "fc.weight", 6, weight[0]);
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    effects_tensor(folder, "fc.weight", 6, weight[1]);
    assert_memory_equal(weight[0], weight[1], sizeof(weight[0]));
}

static void run_dir(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    assert_int_equal(access(fgt_path(folder, e->says), F_OK), 0);
    assert_int_not_equal(access(fgt_path(folder, "run"), F_OK), 0);
}

/* A device that never responds ends the run after that many seconds, with a separate exit
 * status. */
static void watchdog(const effect *e, const char *folder)
{
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1), 0);
    assert_int_equal(setenv("FAKEPJRT", "hold=1", 1), 0);
    const outcome *o =
        program(folder, "fit -q --trainer.run_dir=run --trainer.watchdog_s=0.2 " EFFECTS_NPY);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN") + unsetenv("FAKEPJRT"), 0);
    assert_int_equal(o->status, 3);
}

/* With learning rate 0 no validation is better than the first: the fit ends at e->count. */
static void callbacks(const effect *e, const char *folder)
{
    const json_t *summary = effects_fit(
        0, folder, EPOCHS "--optimizer.lr=1e-30 --trainer.max_epochs=6 %s", e->arguments);
    const char *reason = json_string_value(json_object_get(summary, "stop_reason"));
    assert_int_equal(effects_number(summary, "steps"), e->count);
    assert_int_equal(reason != NULL, e->says != NULL);
    if (e->says != NULL)
        contains(reason, e->says);
    assert_string_equal(json_string_value(json_object_get(summary, "status")), "done");
}

static double validated(const char *folder, const char *arguments)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "validate run --quiet --ckpt=last %s", arguments);
    const char *at = strstr(program_gives(0, folder, line)->out, "val_loss\t");
    assert_non_null(at);
    return strtod(at + strlen("val_loss\t"), NULL);
}

/* Evaluations of a checkpoint use the averages; without the callback, the weights. */
static void averages(const effect *e, const char *folder)
{
    const double loss =
        effects_number(effects_fit(0, folder, EPOCHS "%s", e->arguments), "metrics.val_loss");
    fgt_close(e->arguments, validated(folder, ""), loss, 0, 1e-5);
    assert_true(fabs(validated(folder, "--trainer.callbacks=[]") / loss - 1) > 1e-3);
}

/* The text of a file in the run's folder, owned by the caller; NULL if there is none. */
static char *text_in_run(const char *folder, const char *name)
{
    const char *path = fgt_path(fgt_path(folder, "run"), name);
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    if (fgi_file_exists(path))
        fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
    return text;
}

/* The callback enters a checkpoint of the first two epochs in the list of those that are kept. */
static void kept_for_good(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    assert_string_equal(file_text(folder, "run/checkpoints/kept"), e->says);
}

/* Both files contain times. */
static void times(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    char *csv = text_in_run(folder, "metrics.csv"), *jsonl = text_in_run(folder, "metrics.jsonl");
    assert_non_null(csv);
    assert_non_null(jsonl);
    assert_non_null(strstr(csv, "step,epoch,lr,wall_time,"));
    assert_non_null(strstr(jsonl, ", \"wall_time\": "));
    fgi_free(csv);
    fgi_free(jsonl);
}

/* Which files of metrics there are, their lines, and that those of a resumed run are the same. */
static void loggers(const effect *e, const char *folder)
{
    const struct {
        const char *name, *lines; /* NULL: no file */
    } files[] = {{"metrics.csv", e->train}, {"metrics.jsonl", e->val}};
    char *whole[2];
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    for (int i = 0; i < 2; i++) {
        whole[i] = text_in_run(folder, files[i].name);
        assert_int_equal(whole[i] != NULL, files[i].lines != NULL);
        if (whole[i] != NULL && strncmp(whole[i], files[i].lines, strlen(files[i].lines)) != 0)
            fail_msg("%s: %s", files[i].name, whole[i]);
    }
    (void)effects_fit(0, folder, EPOCHS "--trainer.max_epochs=1 %s", e->arguments);
    (void)effects_fit(0, folder, EPOCHS "--trainer.resume=last %s", e->arguments);
    for (int i = 0; i < 2; i++) {
        char *resumed = text_in_run(folder, files[i].name);
        assert_int_equal(resumed != NULL, whole[i] != NULL);
        if (whole[i] != NULL)
            assert_string_equal(resumed, whole[i]);
        fgi_free(resumed);
        fgi_free(whole[i]);
    }
}

#define CSV                                                                                        \
    "step,epoch,lr,train_acc,train_loss,val_acc,val_loss,val_f1,val_precision,val_recall\n"        \
    "3,0,0.1,"
#define JSONL "{\"step\": 3, \"epoch\": 0, \"lr\": 0.1"

#define FOUR "--trainer.batch_size=1 --trainer.devices=4 "

/* The time is over before the first step. */
static void time_limit(const effect *e, const char *folder)
{
    const json_t *summary =
        effects_fit(0, folder, EFFECTS_NPY "--trainer.max_epochs=2 %s", e->arguments);
    const char *reason = json_string_value(json_object_get(summary, "stop_reason"));
    assert_true(effects_number(summary, "steps") == 0);
    assert_non_null(reason);
    contains(reason, "max_time: the time limit of 1e-06 s is reached");
    summary = effects_fit(0, folder, EFFECTS_NPY "--trainer.max_epochs=2 --trainer.resume=auto");
    assert_true(json_is_null(json_object_get(summary, "stop_reason")));
    assert_true(effects_number(summary, "steps") > 0);
}

/* The steps that a profile contains. */
static void profile(const effect *e, const char *folder)
{
    (void)effects_fit(0, folder, EPOCHS "%s", e->arguments);
    json_t *root = trace_read(fgt_path(folder, "run"));
    trace_expect_steps(root, "trainer", "train step", e->train);
    json_decref(root);
}

const effect effects_trainer[] = {
    {"trainer.profile", "--trainer.profile=2,4", profile, .train = "2 3 4"},
    {"trainer.profile", "--trainer.profile=auto", profile, .train = "1 2 3 4 5 6"},
    {"trainer.steps_per_launch", "--trainer.profile=2,6 --trainer.steps_per_launch=3", profile,
     .train = "3 6"},
    {"trainer.max_time", "--trainer.max_time=0.000001s", time_limit},
    {"trainer.batch_size", "--trainer.batch_size=5", steps, .count = 6,
     .says = "\"global_batch_size\": 5"},
    {"trainer.batch_size", "--trainer.batch_size=3", steps, .count = 8},
    {"trainer.accumulate_schedule", "'--trainer.accumulate_schedule={0: 2, 1: 3}'", steps,
     .count = 3, .train = "2 3"},
    {"trainer.accumulate_schedule", "'--trainer.accumulate_schedule={1: 2}'", steps, .count = 5},
    {"trainer.accumulate_grad_batches", "--trainer.accumulate_grad_batches=2", steps, .count = 4},
    {"trainer.max_epochs", "--trainer.max_epochs=3", steps, .count = 9, .says = "\"epochs\": 3"},
    {"trainer.max_epochs", "--trainer.max_epochs=auto", steps, .count = 30},
    {"trainer.max_epochs", "--trainer.max_epochs=-1 --trainer.max_steps=7", steps, .count = 7},
    {"trainer.max_steps", "--trainer.max_steps=5", steps, .count = 5},
    {"trainer.max_steps", "--trainer.max_steps=-1", steps, .count = 6},
    {"trainer.limit_train_batches", "--trainer.limit_train_batches=2", steps, .count = 4},
    {"trainer.limit_train_batches", "--trainer.limit_train_batches=0.34", steps, .count = 2},
    {"trainer.limit_train_batches", "--trainer.limit_train_batches=0.7", steps, .count = 4},
    {"trainer.limit_train_batches", "--trainer.limit_train_batches=1.0", steps, .count = 6},
    {"trainer.limit_train_batches", "--trainer.limit_train_batches=1", steps, .count = 2},
    {"trainer.limit_val_batches", "--trainer.limit_val_batches=1", effects_check_samples,
     .count = 5},
    {"trainer.limit_val_batches", "--trainer.limit_val_batches=0.5", effects_check_samples,
     .count = 5},
    {"trainer.limit_val_batches", "--trainer.limit_val_batches=0", steps, .count = 6, .val = ""},
    {"trainer.val_every_epochs", "--trainer.val_every_epochs=1", steps, .val = "3 6"},
    {"trainer.val_every_epochs", "--trainer.val_every_epochs=2 --trainer.max_epochs=5", steps,
     .val = "6 12 15"},
    {"trainer.val_every_steps", "--trainer.val_every_steps=2", steps, .val = "2 3 4 6"},
    {"trainer.val_every_steps", "--trainer.val_every_steps=4 --trainer.val_every_epochs=0", steps,
     .val = "4 6"},
    {"trainer.log_every", "--trainer.log_every=2", steps, .train = "2 3 4 6"},
    {"trainer.log_every", "--trainer.log_every=1", steps, .train = "1 2 3 4 5 6"},
    {"trainer.log_every", "--trainer.log_every=50", steps, .train = "3 6"},
    {"trainer.seed", "", seed},
    {"trainer.run_dir", "--trainer.run_dir=a/b", run_dir, .says = "a/b/checkpoints/last"},
    {"trainer.run_dir", "--trainer.run_dir=auto", run_dir, .says = "runs/run-1/checkpoints/last"},
    {"trainer.resume", "--trainer.resume=last", resume, .train = "3 6"},
    {"trainer.resume", "--trainer.resume=step-000000002", resume, .train = "3 6"},
    {"trainer.resume", "--trainer.resume=auto", resume, .train = "3 6"},
    {"trainer.resume", "", best_after_resume},
    {"trainer.resume", "--trainer.monitor=val_acc", best_after_resume, .best = "val_acc"},
    {"trainer.sanity_val_steps", "--trainer.sanity_val_steps=0", programs, .count = 1},
    {"trainer.sanity_val_steps", "--trainer.sanity_val_steps=1", programs, .count = 2},
    {"trainer.sanity_val_steps", "--trainer.sanity_val_steps=-1", programs, .count = 2},
    {"trainer.overfit_batches", "--trainer.overfit_batches=1", effects_check_samples, .value = 5,
     .count = 5},
    {"trainer.overfit_batches", "--trainer.overfit_batches=2", effects_check_samples, .value = 10},
    {"trainer.overfit_batches", "--trainer.overfit_batches=0.4", effects_check_samples, .value = 5,
     .count = 5},
    {"trainer.overfit_batches", "--trainer.overfit_batches=0", effects_check_samples},
    {"trainer.slurm_requeue", "--trainer.slurm_requeue=true", requeue, .status = 2,
     .says = "it requires trainer.resume=auto"},
    {"trainer.slurm_requeue", "--trainer.slurm_requeue=true --trainer.resume=last", requeue,
     .status = 2, .says = "it requires trainer.resume=auto"},
    {"trainer.slurm_requeue", "--trainer.slurm_requeue=true --trainer.resume=auto", requeue},
    {"trainer.watchdog_s", "", watchdog},
    {"trainer.ckpt_every_epochs", "--trainer.ckpt_every_epochs=1", steps, .kept = "3 6"},
    /* Validation is best after step 3, which is saved for that. */
    {"trainer.ckpt_every_epochs", "--trainer.ckpt_every_epochs=2 --trainer.max_epochs=5", steps,
     .kept = "3 6 12 15"},
    {"trainer.ckpt_every_epochs", "--trainer.ckpt_every_epochs=0 --trainer.max_epochs=4", steps,
     .kept = "3 12"},
    {"trainer.ckpt_every_steps", "--trainer.ckpt_every_steps=2", steps, .kept = "2 3 4 6"},
    {"trainer.ckpt_every_time", "--trainer.ckpt_every_time=0.000001s", steps,
     .kept = "1 2 3 4 5 6"},
    {"trainer.ckpt_every_time", "--trainer.ckpt_every_time=1h30m", steps, .kept = "3 6"},
    {"trainer.ckpt_name", "--trainer.ckpt_name=auto", ckpt_name, .says = "step-000000006"},
    {"trainer.ckpt_name", "'--trainer.ckpt_name=e{epoch:03d}'", ckpt_name, .says = "e002-6"},
    {"trainer.save_top_k", "--trainer.save_top_k=1", top, .count = 1},
    {"trainer.save_top_k", "--trainer.save_top_k=4", top, .count = 4},
    {"trainer.keep_checkpoints", "--trainer.ckpt_every_epochs=1 --trainer.keep_checkpoints=1",
     pruned, .kept = "24"},
    {"trainer.keep_checkpoints", "--trainer.ckpt_every_epochs=1 --trainer.keep_checkpoints=2",
     pruned, .kept = "21 24"},
    {"trainer.keep_checkpoints", "--trainer.keep_checkpoints=0", steps, .kept = "3 6"},
    {"trainer.monitor", "--trainer.monitor=auto", best, .best = "val_loss"},
    {"trainer.monitor", "--trainer.monitor=val_acc", best, .best = "val_acc", .count = 1},
    {"trainer.monitor", "--trainer.limit_val_batches=0", best, .best = "train_loss"},
    {"trainer.callbacks", "", callbacks, .count = 18},
    {"trainer.callbacks", "--trainer.callbacks=early_stop", callbacks, .count = 12,
     .says = "early_stop: val_loss has not improved in 3 validations (best: "},
    {"trainer.callbacks", "'--trainer.callbacks=early_stop: {patience: 1, monitor: val_acc}'",
     callbacks, .count = 6, .says = "early_stop: val_acc has not improved in 1 validation (best: "},
    {"trainer.callbacks", "'--trainer.callbacks=timer: {duration: 0.000001s, interval: epoch}'",
     callbacks, .count = 3, .says = "timer: the run has trained for 0.000001s"},
    {"trainer.callbacks", "'--trainer.callbacks=gradient_accumulation: {schedule: {1: 3}}'",
     callbacks, .count = 3 + 5 * 1},
    {"trainer.callbacks", "'--trainer.callbacks=checkpoint: {save_top_k: 0, every_n_steps: 4}'",
     kept_for_good, .says = "step-000000004\n"},
    {"trainer.callbacks", "'--trainer.callbacks=early_stop,ema: {decay: 0.8}'", averages},
    {"trainer.loggers", "", loggers, .train = CSV, .val = JSONL},
    {"trainer.loggers", "--trainer.loggers=csv", loggers, .train = CSV},
    {"trainer.loggers", "--trainer.loggers=[jsonl]", loggers, .val = JSONL},
    {"trainer.loggers", "--trainer.loggers=[]", loggers},
    {"trainer.loggers", "'--trainer.loggers=csv: {wall_time: true},jsonl: {wall_time: true}'",
     times},
    {"trainer.monitor_mode", "--trainer.monitor=val_acc --trainer.monitor_mode=min", best,
     .best = "val_acc"},
    {"trainer.monitor_mode", "--trainer.limit_val_batches=0 --trainer.monitor_mode=max", best,
     .best = "train_loss", .count = 1},
    {"trainer.workers", "--trainer.workers=0", workers},
    {"trainer.workers", "--trainer.workers=1", workers},
    {"trainer.workers", "--trainer.workers=3", workers},
    {"trainer.kernels", "--trainer.kernels=auto", kernels, .says = "own"},
    {"trainer.kernels", "--trainer.kernels=own", kernels, .says = "own"},
    {"trainer.kernels", "--trainer.kernels=none", kernels, .says = "none"},
    {"trainer.precision", "--trainer.precision=32-true", precision, .says = "fc.weight\tf32"},
    {"trainer.precision", "--trainer.precision=bf16-mixed", precision, .says = "fc.weight\tf32"},
    {"trainer.precision", "--trainer.precision=bf16-true", precision, .says = "fc.weight\tbf16"},
    {"trainer.precision", "--trainer.precision=16-mixed", precision,
     .says = "optimizer.loss_scale\tf32"},
    {"trainer.precision", "--trainer.precision=16-true", precision, .says = "fc.weight\tf16"},
    {"trainer.precision", "--trainer.precision=64-true", precision, .says = "fc.weight\tf64"},
    {"trainer.stochastic_rounding", "--trainer.stochastic_rounding=false", rounding},
    {"trainer.stochastic_rounding", "--trainer.stochastic_rounding=true", rounding, .count = 1},
    {"trainer.detect_anomaly", "--trainer.detect_anomaly=true", anomaly, .status = 1,
     .says = "gradient"},
    {"trainer.detect_anomaly", "--trainer.detect_anomaly=false", anomaly, .status = 1,
     .says = "the weight 'fc."},
    {"trainer.on_divergence", "--trainer.on_divergence=stop", anomaly, .status = 1,
     .says = "training has diverged at step 3"},
    {"trainer.on_divergence", "--trainer.on_divergence=ignore", anomaly},
    {"trainer.on_divergence", "--trainer.on_divergence=rollback", anomaly, .status = 1,
     .says = "the limit of rollbacks is reached (max_rollbacks=3)", .value = 0.125},
    {"trainer.max_rollbacks", "--trainer.on_divergence=rollback --trainer.max_rollbacks=1", anomaly,
     .status = 1, .says = "the limit of rollbacks is reached (max_rollbacks=1)", .value = 0.5},
    {"trainer.rollback_lr_factor",
     "--trainer.on_divergence=rollback --trainer.rollback_lr_factor=0.25", anomaly, .status = 1,
     .says = "the limit of rollbacks is reached (max_rollbacks=3)", .value = 0.015625},
    {"trainer.divergence_factor", "--trainer.divergence_factor=3", high_loss, .status = 1,
     .says = "too high for 2 log lines"},
    {"trainer.divergence_factor", "--trainer.divergence_factor=1e9", high_loss},
    {"trainer.divergence_factor", "--trainer.divergence_factor=0", high_loss},
    {"trainer.divergence_patience",
     "--trainer.divergence_factor=3 --trainer.divergence_patience=100", high_loss},
    {"trainer.accelerator", "--trainer.accelerator=cpu", steps, .says = "\"device\": \"cpu\""},
    {"trainer.accelerator", "--trainer.accelerator=auto", steps, .says = "\"device\": \"cpu\""},
    {"trainer.devices", FOUR, steps, .count = 6, .says = "\"devices\": 4"},
    {"trainer.devices", "--trainer.devices=[1]", steps, .count = 6, .says = "\"devices\": 1"},
    /* not there, not installed, or held by another process: each names libtpu */
    {"trainer.tpu_cores", "--trainer.accelerator=auto --trainer.tpu_cores=1", steps, .status = 1,
     .says = "libtpu"},
    {"trainer.strategy", FOUR "--trainer.strategy=auto", steps, .says = "\"strategy\": \"ddp\""},
    {"trainer.strategy", FOUR "--trainer.strategy=fsdp", steps, .says = "\"strategy\": \"fsdp\""},
    {"trainer.strategy", "--trainer.strategy=single", steps, .says = "\"strategy\": \"single\""},
    {"trainer.model_devices", FOUR "--trainer.model_devices=2", steps, .count = 12,
     .says = "\"global_batch_size\": 2"},
    {"trainer.mesh", FOUR "'--trainer.mesh={data: 1, fsdp: 2, model: 2}'", steps, .count = 12,
     .says = "\"global_batch_size\": 2"},
    {"trainer.sharding",
     FOUR "--trainer.model_devices=2 '--trainer.sharding={fc.weight: [none, model]}'", steps,
     .count = 12},
    {"trainer.sharding", FOUR "--trainer.model_devices=2 '--trainer.sharding={fc9.*: model}'",
     steps, .status = 1, .says = "fc9"},
    {NULL},
};
