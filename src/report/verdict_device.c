/* verdict_device.c - verdicts about how well the devices are used: the size of the batch, the dtype
 * of matmuls, and the learning rate of many devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "report/verdict.h"
#include "input/json_file.h"

/* ---- the batch ------------------------------------------------------------------------------- */

/* A batch that fits for certain: what a step needs does not grow faster than its batch. NaN:
 * unknown. */
static double fitting_batch(const fgi_verdict_facts *f)
{
    const json_t *memory = json_object_get(f->report, "memory");
    const double peak = fgi_json_number(memory, "peak_bytes");
    const double limit = fgi_json_number(memory, "limit_bytes");
    const double batch = fgi_json_number(f->settings, "batch_size");
    return peak > 0 && limit >= peak ? floor(batch * (limit / peak)) : (double)NAN;
}

/* Samples of an epoch for each device, rounded up; NaN: unknown. */
static double samples_per_device(const fgi_verdict_facts *f)
{
    const double batches = f->steps / fgi_json_number(f->report, "epochs");
    return ceil(batches * fmax(1, fgi_json_number(f->settings, "accumulate_grad_batches")) *
                fgi_json_number(f->settings, "batch_size"));
}

/* With the key that the run has set; setting both is an error. */
static void put_batch_action(const fgi_verdict_facts *f, double factor, fgi_buf *out)
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
static bool judge_launches(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double goal = 0.05;
    const double share = fgi_verdict_launches(f), busy = f->part[FGI_BUSY];
    char words[3][32];
    if (!fgi_verdict_of_fraction(share, &out->severity))
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
static double planned_cycles(const fgi_verdict_facts *f, double batch)
{
    size_t i;
    const json_t *point;
    json_array_foreach(json_object_get(json_object_get(f->report, "plan"), "sweep"), i,
                       point) if (fgi_json_number(point, "batch_size") ==
                                  batch) return fgi_json_number(point, "cycles_per_sample");
    return (double)NAN;
}

/* The fraction of the multiplications that is not padding, by the plan; NaN: unknown. */
static double planned_use(const fgi_verdict_facts *f)
{
    return fgi_json_number(json_object_get(json_object_get(f->report, "plan"), "analysis"),
                           "useful_fraction");
}

/* Replaces the estimate of the gain, which assumes that the units can be used fully. */
static void apply_plan(const fgi_verdict_facts *f, fgi_verdict *out)
{
    const double batch = fgi_json_number(f->settings, "batch_size");
    const double best = fgi_json_number(json_object_get(f->report, "plan"), "saturation_batch");
    const double saved = 1 - planned_cycles(f, best) / planned_cycles(f, batch);
    if (planned_use(f) < 1)
        fgi_buf_printf(&out->detail, "; %.0f %% of what the matrix units multiply is padding",
                       100 * (1 - planned_use(f)));
    if (!(saved > 0) || best <= batch)
        return;
    out->gain = saved * f->part[FGI_BUSY];
    fgi_buf_printf(
        &out->detail,
        "; according to the plan, a batch of %.0f per device saturates them and takes %.0f %% "
        "less time per sample",
        best, 100 * saved);
}

/* Neither the matrix units nor the memory are busy, although the device hardly waits. */
static bool judge_latency(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double low = 0.5, idle_most = 0.03;
    const double idle = 1 - f->part[FGI_BUSY], mxu = fgi_json_number(f->use, "mxu");
    const double bytes =
        fgi_json_number(f->use, "bytes_per_second") / fgi_json_number(f->use, "peak_bytes");
    const double used = fmax(mxu, isfinite(bytes) ? bytes : 0); /* of NaN, the other one */
    char words[32];
    if (!(mxu < low) || bytes >= low || !(idle < idle_most))
        return false;
    out->severity = used < low / 5 ? FGI_HIGH : FGI_MEDIUM;
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

bool fgi_verdict_batch(const fgi_verdict_facts *f, fgi_verdict *out)
{
    return judge_launches(f, out) || judge_latency(f, out);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Operations that a device cannot run at all are errors of its compiler before the first step. */
bool fgi_verdict_ops(const fgi_verdict_facts *f, fgi_verdict *out)
{
    const double emulated = fgi_json_number(f->use, "emulated");
    const json_t *device = json_object_get(f->report, "device");
    if (!(emulated > 0))
        return false;
    out->severity = emulated >= 0.05 ? FGI_HIGH : FGI_MEDIUM;
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
bool fgi_verdict_16bit(const fgi_verdict_facts *f, fgi_verdict *out)
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
    out->severity = bytes > 0.5 ? FGI_MEDIUM : FGI_NOTE;
    if (isfinite(bytes))
        out->gain = f->part[FGI_BUSY] * fmin(1, bytes) / 2;
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
bool fgi_verdict_fp16(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double notable = 0.01;
    const double skipped = fgi_json_number(f->settings, "nonfinite_steps");
    const char *precision = fgi_json_words(f->settings, "precision");
    const double share = skipped / f->steps;
    if (strncmp(precision, "16-", 3) != 0 || !(share > notable))
        return false;
    if (!fgi_verdict_of_fraction(share, &out->severity))
        out->severity = FGI_NOTE;
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
bool fgi_verdict_lr(const fgi_verdict_facts *f, fgi_verdict *out)
{
    const json_t *s = f->settings;
    const char *rule = fgi_json_words(s, "lr_scaling");
    const double shards = fgi_json_number(s, "batch_shards");
    const double batch = fgi_json_number(s, "global_batch_size");
    const double base = fgi_json_number(s, "base_batch_size");
    const bool is_scaled = *rule != '\0' && strcmp(rule, "none") != 0;
    if (!(shards > 1) && !is_scaled)
        return false;
    fgi_buf_printf(&out->detail,
                   "%.0f %s a batch of %.0f samples; lr %g, scaling %s: the peak is %g", shards,
                   shards > 1 ? "devices share" : "device has", batch,
                   fgi_json_number(s, "lr_given"), rule, fgi_json_number(s, "lr"));
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
