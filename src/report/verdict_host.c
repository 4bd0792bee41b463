/* verdict_host.c - verdicts about what the host does between steps: reading values, compiling,
 * saving, callbacks and launches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "report/run_doc.h"
#include "report/verdict.h"

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
bool fgi_verdict_reads(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double often = 0.5, notable = 0.01, some = 0.002;
    char words[32];
    double count;
    const double waited = f->part[FGI_WAIT_READ];
    const json_t *slowest = slowest_read(json_object_get(f->report, "host_reads"), &count);
    const double each = count / f->timed_steps;
    if (!(waited > notable) && !(each > often && waited > some))
        return false;
    if (!fgi_verdict_of_fraction(waited, &out->severity))
        out->severity = FGI_NOTE;
    out->gain = waited;
    fgi_buf_printf(&out->detail,
                   "the device waits %.1f %% of the time for values that the host reads",
                   100 * waited);
    if (isfinite(each) && count > 0) {
        fgi_buf_puts(&out->detail, ": ");
        fgi_verdict_put_number(&out->detail, each);
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
bool fgi_verdict_shapes(const fgi_verdict_facts *f, fgi_verdict *out)
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
    if (!fgi_verdict_of_fraction(out->gain, &out->severity))
        out->severity = FGI_MEDIUM;
    fgi_buf_printf(&out->detail, "%zu more compilation%s, %s; the last one: ", count,
                   fgi_s((int64_t)count), fgi_duration_words(seconds, words));
    fgi_run_cause_words(&out->detail, last);
    fgi_buf_puts(&out->action, shapes_action(last));
    return true;
}

/* Compilations without a cause are those that every run has, unless a cache has the programs. */
bool fgi_verdict_compile(const fgi_verdict_facts *f, fgi_verdict *out)
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
    out->severity = seconds > slow_s ? FGI_MEDIUM : FGI_NOTE;
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
static double last_step(const fgi_verdict_facts *f)
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

bool fgi_verdict_checkpoint(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double goal = 0.01;
    const double share = f->part[FGI_WAIT_SAVE];
    const double steps = fgi_json_number(f->settings, "ckpt_every_steps");
    const double epochs = fgi_json_number(f->settings, "ckpt_every_epochs");
    char words[32];
    if (!fgi_verdict_of_fraction(share, &out->severity))
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
bool fgi_verdict_host(const fgi_verdict_facts *f, fgi_verdict *out)
{
    const double share = f->part[FGI_WAIT_OTHER] - fgi_verdict_launches(f);
    const char *key = fgi_json_words(f->settings, "batch_key");
    char words[2][32];
    if (!fgi_verdict_of_fraction(share, &out->severity))
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
