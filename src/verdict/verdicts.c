/* verdicts.c - see verdict.h: the rules, their table, and the verdicts in the order of their
 * importance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include <fulgurite/result.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/duration.h"
#include "base/text.h"
#include "doc/doc.h"
#include "input/json_file.h"

/* ---- time ------------------------------------------------------------------------------------ */

const fgi_run_part fgi_run_parts[FGI_RUN_PARTS] = {
    {"busy_s", "busy", "the devices computed"},
    {"input_s", "input", "waiting for the data loader"},
    {"upload_s", "upload", "copying batches to the devices"},
    {"compile_s", "compile", "compiling programs"},
    {"read_s", "host reads", "reading results back to the host"},
    {"checkpoint_s", "checkpoint", "saving checkpoints"},
    {"other_s", "other", "anything else on the host"},
};

bool fgi_run_split(const json_t *report, double out[FGI_RUN_PARTS])
{
    const json_t *time = json_object_get(report, "time");
    const json_t *idle = json_object_get(time, "idle");
    bool is_known = false;
    for (int i = 0; i < FGI_RUN_PARTS; i++) {
        out[i] = fgi_json_number(i == 0 ? time : idle, fgi_run_parts[i].key);
        is_known = is_known || out[i] > 0;
    }
    return is_known;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* The numbers that several rules use; NaN: unknown. */
typedef struct facts {
    const json_t *report;
    const json_t *settings, *loader, *host, *use; /* members of it; NULL: unknown */
    double wall_s;                                /* of the steps: the sum of the parts */
    double part[FGI_RUN_PARTS]; /* fractions of it, in the order of fgi_run_parts; NaN: unknown */
    double seconds;             /* of the run */
    double steps;               /* that the run has done, including those before a resume */
    double timed_steps;         /* that wall_s consists of */
    double samples_per_s;
    double step_s; /* median */
} facts;
enum { BUSY, WAIT_INPUT, WAIT_UPLOAD, WAIT_COMPILE, WAIT_READ, WAIT_SAVE, WAIT_OTHER };

typedef enum severity { NOTE, MEDIUM, HIGH } severity;

typedef struct verdict {
    severity severity;
    fgi_buf detail, action; /* the numbers; a key or a command */
    double gain;            /* fraction of the time that it would save at most; NaN: unknown */
    bool is_of_run;         /* the time is that of the run, not of its steps */
} verdict;

typedef struct rule {
    const char *id, *title;
    /* Fills *out, whose severity is NOTE and gain NaN; false: no verdict. */
    bool (*judge)(const facts *facts, verdict *out);
} rule;

static facts facts_of(const json_t *report)
{
    facts f = {
        .report = report,
        .settings = json_object_get(report, "settings"),
        .loader = json_object_get(report, "loader"),
        .host = json_object_get(report, "host"),
        .use = json_object_get(report, "utilization"),
        .seconds = fgi_json_number(report, "seconds"),
        .steps = fgi_json_number(report, "steps"),
        .samples_per_s = fgi_json_number(report, "samples_per_s"),
        .step_s = fgi_json_number(json_object_get(report, "step_time"), "p50_s"),
    };
    if (fgi_run_split(report, f.part))
        for (int i = 0; i < FGI_RUN_PARTS; i++)
            f.wall_s += f.part[i] > 0 ? f.part[i] : 0;
    for (int i = 0; i < FGI_RUN_PARTS; i++)
        f.part[i] /= f.wall_s;
    f.timed_steps = fgi_json_number(json_object_get(report, "step_time"), "count");
    if (!isfinite(f.timed_steps))
        f.timed_steps = f.wall_s / f.step_s;
    return f;
}

/* The severity of a wait that takes this fraction of the time, with the thresholds of XProf's input
 * pipeline analyzer: from 5 % on, MEDIUM; from 20 %, HIGH. Otherwise false, and *out
 * remains. */
static bool severity_of(double fraction, severity *out)
{
    static const double medium = 0.05, high = 0.2;
    if (fraction >= medium)
        *out = fraction >= high ? HIGH : MEDIUM;
    return fraction >= medium;
}

/* Appends "1 sample per step: " and the like: a number of at most 4 digits, without an exponent. */
static void put_digits(fgi_buf *out, double value)
{
    const double size = fabs(value);
    const int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    fgi_buf_printf(out, "%.*f", value == floor(value) && size >= 1 ? 0 : digits, value);
}

/* The fraction of the time that the device waits for launches, which take a few microseconds of the
 * host for each step; 0: unknown. */
static double launches_of(const facts *f)
{
    const double launches_s = fgi_json_number(f->settings, "launch_s") * f->timed_steps;
    const double other = f->part[WAIT_OTHER];
    return isfinite(launches_s) && isfinite(other) ? fmin(other, launches_s / f->wall_s) : 0;
}

static double stage(const json_t *loader, const char *key)
{
    const double seconds = fgi_json_number(json_object_get(loader, "stages"), key);
    return isfinite(seconds) ? seconds : 0;
}

static fg_input_report report_of(const facts *f)
{
    const char *bound_by = fgi_json_words(f->loader, "bound_by");
    return (fg_input_report){
        .stages = {.read_s = stage(f->loader, "read_s"),
                   .entropy_s = stage(f->loader, "entropy_s"),
                   .decode_s = stage(f->loader, "decode_s"),
                   .resize_s = stage(f->loader, "resize_s"),
                   .copy_s = stage(f->loader, "copy_s")},
        .workers = (int)fmax(0, fgi_json_number(f->loader, "workers")),
        .delivered_samples_per_s = fgi_json_number(f->loader, "delivered_samples_per_s"),
        .required_samples_per_s = fgi_json_number(f->loader, "required_samples_per_s"),
        .waited = f->part[WAIT_INPUT] + f->part[WAIT_UPLOAD],
        .bound_by = *bound_by != '\0' ? bound_by : NULL,
    };
}

/* What to store differently, by the slowest stage. */
static const char *storage_of(const char *cause, bool can_preload)
{
    static const char *const rows[][3] = {
        {"read", "store the samples in one file: fulgurite pack",
         "read the samples into memory: data.preload=0.8"},
        {"entropy", "store smaller or decoded images: fulgurite pack --presize, --codec", NULL},
        {"decode", "store smaller or decoded images: fulgurite pack --presize, --codec", NULL},
        {"resize", "store images of the size that training needs: fulgurite pack --presize", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(cause, rows[i][0]) == 0)
            return can_preload && rows[i][2] != NULL ? rows[i][2] : rows[i][1];
    return NULL;
}

/* What the wait is for; if other work of the host takes longer, bound_by does not say it. */
static const char *cause_of(const facts *f, const fg_input_report *input)
{
    double fraction;
    if (f->part[WAIT_UPLOAD] > f->part[WAIT_INPUT])
        return "upload";
    const char *slowest = fg_loader_slowest_stage(&input->stages, &fraction);
    return slowest != NULL ? slowest : "copy";
}

/* Threads help if processors are idle and the stage that limits the loader runs on them. */
static void put_action(const facts *f, const fg_input_report *input, fgi_buf *out)
{
    const double cpus = fgi_json_number(f->host, "cpus");
    const double have = fmax(1, input->workers);
    const double need = ceil(have * input->required_samples_per_s / input->delivered_samples_per_s);
    const bool can_preload = json_is_true(json_object_get(f->settings, "can_preload"));
    const char *cause = cause_of(f, input), *storage = storage_of(cause, can_preload);
    const bool has_room = need > have && cpus > have;
    if (strcmp(cause, "upload") == 0) {
        fgi_buf_puts(out, "upload smaller dtypes, such as u8 images that the step scales");
        return;
    }
    if (has_room)
        fgi_buf_printf(out, "use more threads: trainer.workers=%.0f%s", fmin(need, cpus),
                       storage != NULL ? "; or " : "");
    if (storage != NULL)
        fgi_buf_puts(out, storage);
    else if (!has_room)
        fgi_buf_printf(out,
                       "make samples cheaper to read, or use a host with more processors than %.0f",
                       isfinite(cpus) ? cpus : have);
}

static bool judge_input(const facts *f, verdict *out)
{
    char detail[512];
    const fg_input_report input = report_of(f);
    const double cpu = fgi_json_number(f->host, "cpu_fraction");
    if (input.bound_by == NULL || strcmp(input.bound_by, "device") == 0 ||
        !severity_of(input.waited, &out->severity))
        return false;
    fgi_buf_puts(&out->detail, fg_input_report_format(&input, detail, sizeof detail));
    fgi_buf_printf(&out->detail, " (input %.0f %%, upload %.0f %%); %d loader thread%s",
                   100 * f->part[WAIT_INPUT], 100 * f->part[WAIT_UPLOAD], input.workers,
                   fgi_s(input.workers));
    if (isfinite(cpu))
        fgi_buf_printf(&out->detail, ", the host's processors are busy %.0f %% of the time",
                       100 * cpu);
    put_action(f, &input, &out->action);
    out->gain = input.waited;
    return true;
}

static bool judge_files(const facts *f, verdict *out)
{
    static const double notable = 0.2;
    char all[32], each[32];
    const double opens = fgi_json_number(f->loader, "opens");
    const double open_s = fgi_json_number(f->loader, "open_seconds");
    const double read_s = stage(f->loader, "read_s"), all_s = read_s > open_s ? read_s : open_s;
    const double threads = fmax(1, fgi_json_number(f->loader, "workers"));
    const double waited = f->part[WAIT_INPUT];
    if (!(opens >= 100) || !(open_s > notable * all_s) || !(all_s > 0))
        return false;
    /* Opening is part of what the device waits for, at most the fraction of all loading. */
    double work_s = 0;
    static const char *const keys[] = {"read_s", "entropy_s", "decode_s", "resize_s", "copy_s"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        work_s += stage(f->loader, keys[i]);
    out->gain = waited * open_s / fmax(work_s, open_s);
    (void)severity_of(out->gain, &out->severity);
    fgi_buf_printf(&out->detail,
                   "%.0f files were opened, which took %s (%s each) on %.0f threads: %.0f %% of "
                   "the reading time",
                   opens, fgi_duration_words(open_s, all), fgi_duration_words(open_s / opens, each),
                   threads, 100 * open_s / all_s);
    fgi_buf_puts(&out->action, "store the samples in one file: fulgurite pack");
    return true;
}

/* A member that is a string or another value; false if it is missing or null. */
static bool put_value(fgi_buf *out, const char *before, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return false;
    fgi_buf_puts(out, before);
    if (json_is_string(value))
        fgi_put_plain(out, json_string_value(value));
    else
        out->failed |= !fgi_json_write(value, JSON_ENCODE_ANY | JSON_COMPACT, out);
    return true;
}

void fgi_run_cause_words(fgi_buf *out, const json_t *cause)
{
    const size_t before = out->size;
    (void)put_value(out, "", json_object_get(cause, "what"));
    (void)put_value(out, out->size > before ? " of " : "", json_object_get(cause, "name"));
    if (put_value(out, out->size > before ? " was " : "was ", json_object_get(cause, "old")))
        (void)put_value(out, ", is ", json_object_get(cause, "new"));
    if (put_value(out, " (", json_object_get(cause, "at")))
        fgi_buf_putc(out, ')');
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* The read that was waited for the longest; *out_count: all reads. NULL: no list. */
static const json_t *slowest_read(const json_t *reads, double *out_count)
{
    size_t i;
    json_t *one;
    const json_t *slowest = NULL;
    *out_count = 0;
    json_array_foreach(reads, i, one)
    {
        *out_count += fmax(0, fgi_json_number(one, "count"));
        if (slowest == NULL || fgi_json_number(one, "wait_s") > fgi_json_number(slowest, "wait_s"))
            slowest = one;
    }
    return slowest;
}

/* More than one read in two steps, or one percent of the time. Reads that nothing waits for are not
 * a problem, however many they are. */
static bool judge_reads(const facts *f, verdict *out)
{
    static const double often = 0.5, notable = 0.01, some = 0.002;
    char words[32];
    double count;
    const double waited = f->part[WAIT_READ];
    const json_t *slowest = slowest_read(json_object_get(f->report, "host_reads"), &count);
    const double each = count / f->timed_steps;
    if (!(waited > notable) && !(each > often && waited > some))
        return false;
    (void)severity_of(waited, &out->severity);
    out->gain = waited;
    fgi_buf_printf(&out->detail,
                   "the device waits %.1f %% of the time for values that the host reads",
                   100 * waited);
    if (isfinite(each) && count > 0) {
        fgi_buf_puts(&out->detail, ": ");
        put_digits(&out->detail, each);
        fgi_buf_puts(&out->detail, " reads per step");
    }
    if (slowest != NULL && *fgi_json_words(slowest, "at") != '\0')
        fgi_buf_printf(&out->detail, "; most time at %s, %.0f reads, %s",
                       fgi_json_words(slowest, "at"), fgi_json_number(slowest, "count"),
                       fgi_duration_words(fgi_json_number(slowest, "wait_s"), words));
    const double every = fgi_json_number(f->settings, "log_every");
    fgi_buf_puts(&out->action, "log values in the step (fg_step_log) instead of reading arrays in "
                               "callbacks");
    if (every > 0 && every < 50)
        fgi_buf_printf(&out->action, "; log less often: trainer.log_every=50 instead of %.0f",
                       every);
    return true;
}

/* ---- compiles -------------------------------------------------------------------------------- */

/* Whether the program differs from the previous one although nobody asked for that: freezing
 * parameters and averaging weights change programs on purpose. */
static bool is_change(const json_t *cause)
{
    static const char *const intended[] = {"trainable", "structure", ""};
    for (size_t i = 0; i < sizeof intended / sizeof intended[0]; i++)
        if (strcmp(fgi_json_words(cause, "what"), intended[i]) == 0)
            return false;
    return true;
}

static const char *shapes_action(const json_t *cause)
{
    const char *what = fgi_json_words(cause, "what");
    if (strcmp(what, "shape") == 0)
        return "give all batches the same shape: pad or crop the samples, or sort them into a few "
               "sizes";
    if (strcmp(what, "dtype") == 0)
        return "convert the samples to one dtype";
    return "give the program a number that changes as an input, not as a constant";
}

/* Compilations that a change of an input or a constant caused. */
static bool judge_shapes(const facts *f, verdict *out)
{
    size_t i, count = 0;
    json_t *one;
    double seconds = 0;
    const json_t *last = NULL;
    char words[32];
    json_array_foreach(json_object_get(f->report, "compiles"), i, one)
    {
        if (!is_change(json_object_get(one, "cause")))
            continue;
        count++;
        seconds += fmax(0, fgi_json_number(one, "seconds"));
        last = json_object_get(one, "cause");
    }
    if (count == 0)
        return false;
    out->gain = isfinite(f->seconds) ? seconds / f->seconds : (double)NAN;
    out->is_of_run = true;
    out->severity = MEDIUM;
    (void)severity_of(out->gain, &out->severity);
    fgi_buf_printf(&out->detail, "%zu more compilation%s, %s; the last one: ", count,
                   fgi_s((int64_t)count), fgi_duration_words(seconds, words));
    fgi_run_cause_words(&out->detail, last);
    fgi_buf_puts(&out->action, shapes_action(last));
    return true;
}

/* Compilations without a cause are those that every run has, unless a cache has the programs. */
static bool judge_compile(const facts *f, verdict *out)
{
    static const double notable = 0.1, at_least_s = 1, slow_s = 300;
    const json_t *compile = json_object_get(f->settings, "compile");
    const double seconds = fgi_json_number(compile, "seconds");
    const double count = fgi_json_number(compile, "count");
    const double hits = fgi_json_number(compile, "cache_hits");
    char words[32];
    if (!(seconds >= at_least_s) || !(seconds >= notable * f->seconds || seconds > slow_s) ||
        !(count > 0))
        return false;
    out->severity = seconds > slow_s ? MEDIUM : NOTE;
    out->gain = seconds / f->seconds;
    out->is_of_run = true;
    fgi_buf_printf(
        &out->detail,
        "compiling %.0f program%s took %s, %.0f %% of the run; %.0f more came from the cache",
        count, fgi_s((int64_t)count), fgi_duration_words(seconds, words), 100 * out->gain, hits);
    fgi_buf_puts(&out->action, "keep the compile cache, $XDG_CACHE_HOME/fulgurite or "
                               "~/.cache/fulgurite: the next run with the same shapes and settings "
                               "takes its programs from there");
    return true;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* The steps that the run will have done at its end; NaN: unknown. */
static double last_step(const facts *f)
{
    const double most = fgi_json_number(f->settings, "max_steps");
    const double epochs = fgi_json_number(f->settings, "max_epochs");
    const double per_epoch = f->steps / fgi_json_number(f->report, "epochs");
    return fmin(most > 0 ? most : (double)NAN, epochs > 0 ? epochs * per_epoch : (double)NAN);
}

/* "KEY=VALUE": at least `wanted`, unless the run has ended before. */
static void put_interval(fgi_buf *out, const char *key, double wanted, double end)
{
    const bool is_too_long = wanted >= end;
    fgi_buf_printf(out, "%s=%.0f%s", key, is_too_long ? 0 : wanted,
                   is_too_long ? " (the final state is always saved)" : "");
}

static bool judge_checkpoint(const facts *f, verdict *out)
{
    static const double goal = 0.01;
    const double share = f->part[WAIT_SAVE];
    const double steps = fgi_json_number(f->settings, "ckpt_every_steps");
    const double epochs = fgi_json_number(f->settings, "ckpt_every_epochs");
    char words[32];
    if (!severity_of(share, &out->severity))
        return false;
    out->gain = share;
    fgi_buf_printf(&out->detail,
                   "the device waits %s for checkpoints to be saved, %.0f %% of the time",
                   fgi_duration_words(share * f->wall_s, words), 100 * share);
    if (steps > 0)
        fgi_buf_printf(&out->detail,
                       steps > 1 ? "; a checkpoint is saved every %.0f steps"
                                 : "; a checkpoint is saved after each step",
                       steps);
    fgi_buf_printf(&out->action,
                   "save less often, to spend at most %.0f %% of the time: ", 100 * goal);
    if (steps > 0)
        put_interval(&out->action, "trainer.ckpt_every_steps", ceil(steps * share / goal),
                     last_step(f));
    else if (epochs > 0)
        put_interval(&out->action, "trainer.ckpt_every_epochs", ceil(epochs * share / goal),
                     fgi_json_number(f->settings, "max_epochs"));
    else
        fgi_buf_puts(&out->action, "trainer.ckpt_every_steps");
    return true;
}

/* ---- everything else ------------------------------------------------------------------------- */

/* What remains of that time without launches. */
static bool judge_host(const facts *f, verdict *out)
{
    const double share = f->part[WAIT_OTHER] - launches_of(f);
    const char *key = fgi_json_words(f->settings, "batch_key");
    char words[2][32];
    if (!severity_of(share, &out->severity))
        return false;
    out->gain = share;
    fgi_buf_printf(
        &out->detail,
        "the device waits %.0f %% of the time, %s per step of %s, for callbacks, loggers "
        "and other work of the training thread",
        100 * share, fgi_duration_words(share * f->wall_s / f->timed_steps, words[0]),
        fgi_duration_words(f->wall_s / f->timed_steps, words[1]));
    fgi_buf_printf(&out->action,
                   "run slow callbacks only every few steps; if there are none, a larger %s gives "
                   "the host fewer steps to prepare",
                   *key != '\0' ? key : "batch");
    return true;
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* A batch that fits for certain: what a step needs does not grow faster than its batch. NaN:
 * unknown. */
static double fitting_batch(const facts *f)
{
    const json_t *memory = json_object_get(f->report, "memory");
    const double peak = fgi_json_number(memory, "peak_bytes");
    const double limit = fgi_json_number(memory, "limit_bytes");
    const double batch = fgi_json_number(f->settings, "batch_size");
    return peak > 0 && limit >= peak ? floor(batch * (limit / peak)) : (double)NAN;
}

/* Samples of an epoch for each device, rounded up; NaN: unknown. */
static double samples_per_device(const facts *f)
{
    const double batches = f->steps / fgi_json_number(f->report, "epochs");
    return ceil(batches * fmax(1, fgi_json_number(f->settings, "accumulate_grad_batches")) *
                fgi_json_number(f->settings, "batch_size"));
}

/* With the key that the run has set; setting both is an error. */
static void put_batch_action(const facts *f, double factor, fgi_buf *out)
{
    const double batch = fgi_json_number(f->settings, "batch_size");
    const double most = fitting_batch(f);
    const double devices = fgi_json_number(f->settings, "batch_shards");
    const double samples = samples_per_device(f);
    const double wanted = fmin(fmin(batch * factor, most), samples);
    if (!(wanted > batch)) {
        fgi_buf_puts(out, most <= batch ? "the memory of a device holds no larger batch"
                                        : "an epoch has no more samples for a larger batch");
        return;
    }
    if (strcmp(fgi_json_words(f->settings, "batch_key"), "trainer.global_batch_size") == 0)
        fgi_buf_printf(out, "use a larger batch: trainer.global_batch_size=%.0f",
                       wanted * fmax(1, devices));
    else
        fgi_buf_printf(out, "use a larger batch: trainer.batch_size=%.0f%s", wanted,
                       devices > 1 ? " per device" : "");
    if (isfinite(most))
        fgi_buf_printf(out, "; the memory of a device holds at least %.0f samples", most);
    else
        fgi_buf_puts(out, "; fulgurite batch-find shows the largest one that fits");
    fgi_buf_puts(out, "; adapt the learning rate to it: trainer.lr_scaling");
}

static double power_of_two(double at_least) { return exp2(ceil(log2(fmax(2, at_least)))); }

/* Launches keep the host busy for longer than the device needs for a step. The suggested batch
 * makes them 5 % of the time. */
static bool judge_launches(const facts *f, verdict *out)
{
    static const double goal = 0.05;
    const double share = launches_of(f), busy = f->part[BUSY];
    char words[3][32];
    if (!severity_of(share, &out->severity))
        return false;
    const double factor = fmin(64, power_of_two(share / (goal * fmax(busy, 1e-3))));
    out->gain = share * (1 - 1 / factor);
    fgi_buf_printf(
        &out->detail,
        "a step of %s computes for %s; launching it takes %s, so the device waits %.0f %% "
        "of the time",
        fgi_duration_words(f->wall_s / f->timed_steps, words[0]),
        fgi_duration_words(busy * f->wall_s / f->timed_steps, words[1]),
        fgi_duration_words(fgi_json_number(f->settings, "launch_s"), words[2]), 100 * share);
    put_batch_action(f, factor, &out->action);
    return true;
}

/* What `fulgurite plan --sweep --summary=RUN/plan.json` has estimated (the member `plan`, which
 * run_view.c adds). The cycles per sample of a batch size; NaN: unknown. */
static double planned_cycles(const facts *f, double batch)
{
    size_t i;
    const json_t *point;
    json_array_foreach(json_object_get(json_object_get(f->report, "plan"), "sweep"), i,
                       point) if (fgi_json_number(point, "batch_size") ==
                                  batch) return fgi_json_number(point, "cycles_per_sample");
    return (double)NAN;
}

/* The fraction of the multiplications that is not padding, by the plan; NaN: unknown. */
static double planned_use(const facts *f)
{
    return fgi_json_number(json_object_get(json_object_get(f->report, "plan"), "analysis"),
                           "useful_fraction");
}

/* Replaces the estimate of the gain, which assumes that the units can be used fully. */
static void apply_plan(const facts *f, verdict *out)
{
    const double batch = fgi_json_number(f->settings, "batch_size");
    const double best = fgi_json_number(json_object_get(f->report, "plan"), "saturation_batch");
    const double saved = 1 - planned_cycles(f, best) / planned_cycles(f, batch);
    if (planned_use(f) < 1)
        fgi_buf_printf(&out->detail, "; %.0f %% of what the matrix units multiply is padding",
                       100 * (1 - planned_use(f)));
    if (!(saved > 0) || best <= batch)
        return;
    out->gain = saved * f->part[BUSY];
    fgi_buf_printf(
        &out->detail,
        "; according to the plan, a batch of %.0f per device saturates them and takes %.0f %% "
        "less time per sample",
        best, 100 * saved);
}

/* Neither the matrix units nor the memory are busy, although the device hardly waits. */
static bool judge_latency(const facts *f, verdict *out)
{
    static const double low = 0.5, idle_most = 0.03;
    const double idle = 1 - f->part[BUSY], mxu = fgi_json_number(f->use, "mxu");
    const double bytes =
        fgi_json_number(f->use, "bytes_per_second") / fgi_json_number(f->use, "peak_bytes");
    const double used = fmax(mxu, isfinite(bytes) ? bytes : 0); /* of NaN, the other one */
    char words[32];
    if (!(mxu < low) || bytes >= low || !(idle < idle_most))
        return false;
    out->severity = used < low / 5 ? HIGH : MEDIUM;
    out->gain = 1 - used / low;
    fgi_buf_printf(&out->detail,
                   "%.0f samples per device: the matrix units reach %.1f %% of their peak",
                   fgi_json_number(f->settings, "batch_size"), 100 * mxu);
    if (isfinite(bytes))
        fgi_buf_printf(&out->detail, ", the memory %.1f %%", 100 * bytes);
    fgi_buf_printf(&out->detail, ", although the device hardly waits; a step takes %s",
                   fgi_duration_words(f->step_s, words));
    apply_plan(f, out);
    put_batch_action(f, fmin(64, power_of_two(low / fmax(used, 1e-6))), &out->action);
    return true;
}

static bool judge_batch(const facts *f, verdict *out)
{
    return judge_launches(f, out) || judge_latency(f, out);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Operations that a device cannot run at all are errors of its compiler before the first step. */
static bool judge_ops(const facts *f, verdict *out)
{
    const double emulated = fgi_json_number(f->use, "emulated");
    const json_t *device = json_object_get(f->report, "device");
    if (!(emulated > 0))
        return false;
    out->severity = emulated >= 0.05 ? HIGH : MEDIUM;
    fgi_buf_printf(&out->detail,
                   "%.3g %% of the multiplications of matmuls and convolutions are in f64 or in "
                   "integers of more than 8 bits, which the matrix units of %s do not support",
                   100 * emulated, fgi_json_words(device, "kind"));
    fgi_buf_puts(&out->action,
                 "cast the operands to f32 or bf16 with fg_cast; fulgurite plan lists the "
                 "operations with their lines");
    return true;
}

/* ---- precision ------------------------------------------------------------------------------- */

/* Only on chips whose rates are known, that is, not on CPUs. 16-bit floats are half of the memory
 * traffic; the matrix units of a TPU multiply f32 in one pass of bf16 anyway. */
static bool judge_16bit(const facts *f, verdict *out)
{
    static const double little = 0.1;
    const double share = fgi_json_number(f->use, "sixteen_bit");
    const double mxu = fgi_json_number(f->use, "mxu");
    const char *precision = fgi_json_words(f->settings, "precision");
    const bool is_unused = isfinite(share) ? share < little : strcmp(precision, "32-true") == 0;
    const double bytes =
        fgi_json_number(f->use, "bytes_per_second") / fgi_json_number(f->use, "peak_bytes");
    if (!isfinite(mxu) || !is_unused || *precision == '\0')
        return false;
    out->severity = bytes > 0.5 ? MEDIUM : NOTE;
    if (isfinite(bytes))
        out->gain = f->part[BUSY] * fmin(1, bytes) / 2;
    fgi_buf_printf(&out->detail, "precision %s: %.0f %% of the matmuls are in 16 bits", precision,
                   isfinite(share) ? 100 * share : 0);
    if (isfinite(bytes))
        fgi_buf_printf(&out->detail,
                       "; the memory is used at %.0f %% of its rate, and 16-bit floats halve most "
                       "of the traffic",
                       100 * bytes);
    fgi_buf_puts(&out->action, "--trainer.precision=bf16-mixed: weights remain f32");
    return true;
}

/* Steps that loss scaling skipped. */
static bool judge_fp16(const facts *f, verdict *out)
{
    static const double notable = 0.01;
    const double skipped = fgi_json_number(f->settings, "nonfinite_steps");
    const char *precision = fgi_json_words(f->settings, "precision");
    const double share = skipped / f->steps;
    if (strncmp(precision, "16-", 3) != 0 || !(share > notable))
        return false;
    (void)severity_of(share, &out->severity);
    out->gain = fmin(1, share);
    fgi_buf_printf(
        &out->detail,
        "precision %s: %.0f of %.0f steps had a gradient that is not finite in fp16, and "
        "were skipped",
        precision, skipped, f->steps);
    fgi_buf_puts(&out->action,
                 "--trainer.precision=bf16-mixed: bf16 has the range of f32 and needs no loss "
                 "scaling");
    return true;
}

/* ---- the learning rate ----------------------------------------------------------------------- */

/* Always a note, if several devices share the batch or the rate is scaled: by this, results on
 * other numbers of devices differ. */
static bool judge_lr(const facts *f, verdict *out)
{
    const json_t *s = f->settings;
    const char *scaling = fgi_json_words(s, "lr_scaling");
    const double shards = fgi_json_number(s, "batch_shards");
    const double batch = fgi_json_number(s, "global_batch_size");
    const double base = fgi_json_number(s, "base_batch_size");
    const bool is_scaled = *scaling != '\0' && strcmp(scaling, "none") != 0;
    if (!(shards > 1) && !is_scaled)
        return false;
    fgi_buf_printf(&out->detail,
                   "%.0f %s a batch of %.0f samples; lr %g, scaling %s: the peak is %g", shards,
                   shards > 1 ? "devices share" : "device has", batch,
                   fgi_json_number(s, "lr_given"), scaling, fgi_json_number(s, "lr"));
    if (is_scaled)
        fgi_buf_printf(&out->detail,
                       ", %g times as high, for a batch that is %g times the base of "
                       "%.0f",
                       fgi_json_number(s, "lr_factor"), batch / base, base);
    fgi_buf_puts(&out->action, is_scaled
                                   ? "if that diverges: a warm-up (schedule.name=onecycle), or "
                                     "trainer.lr_scaling=none with the result of fulgurite lr-find"
                                   : "if optimizer.lr is meant for one device: "
                                     "trainer.lr_scaling=linear (sqrt for Adam), or fulgurite "
                                     "lr-find on these devices");
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rule rules[] = {
    {"input", "The device waits for input", judge_input},
    {"many_files", "Opening many small files takes long", judge_files},
    {"host_reads", "The host reads values from the device too often", judge_reads},
    {"shapes", "Programs are compiled again because their inputs change", judge_shapes},
    {"compile", "Compilation takes much of the run", judge_compile},
    {"checkpoint", "Saving checkpoints delays the steps", judge_checkpoint},
    {"host", "Work on the host delays the steps", judge_host},
    {"batch", "The batch is too small for the device", judge_batch},
    {"ops", "Operations that the device does not support are emulated", judge_ops},
    {"16bit", "16-bit floats are not used", judge_16bit},
    {"fp16", "fp16 overflows", judge_fp16},
    {"lr", "The learning rate and the number of devices", judge_lr},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* What the rate of the run would be without the time that it can save. */
static json_t *rate_of(const facts *f, const verdict *v)
{
    if (v->is_of_run || !(v->gain < 1) || !(f->samples_per_s > 0))
        return json_null();
    return json_pack("{s:f, s:f}", "from", f->samples_per_s, "to",
                     f->samples_per_s / (1 - v->gain));
}

static json_t *object_of(const facts *f, const rule *r, const verdict *v)
{
    static const char *const severities[] = {"note", "medium", "high"};
    if (v->detail.failed || v->action.failed)
        return NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "id", r->id, "severity", severities[v->severity],
        "title", r->title, "detail", v->detail.data != NULL ? v->detail.data : "", "action",
        v->action.data != NULL ? v->action.data : "", "gain",
        isfinite(v->gain) ? json_real(v->gain) : json_null(), "samples_per_s", rate_of(f, v));
}

/* Whether a is more important than b; verdicts of equal importance keep the order of the table. */
static bool precedes(const verdict *a, const verdict *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->gain > b->gain || (isfinite(a->gain) && !isfinite(b->gain));
}

json_t *fgi_run_verdicts(const json_t *report)
{
    const facts f = facts_of(report);
    verdict kept[RULES]; /* their importance */
    size_t count = 0;
    json_t *list = json_array();
    bool is_good = list != NULL;
    for (int i = 0; i < RULES; i++) {
        verdict v = {.gain = (double)NAN};
        if (rules[i].judge(&f, &v)) {
            size_t at = count++;
            for (; at > 0 && precedes(&v, &kept[at - 1]); at--)
                kept[at] = kept[at - 1];
            kept[at] = v;
            is_good = is_good && json_array_insert_new(list, at, object_of(&f, &rules[i], &v)) == 0;
        }
        fgi_buf_fini(&v.detail);
        fgi_buf_fini(&v.action);
    }
    if (!is_good)
        json_decref(list);
    return is_good ? list : NULL;
}
