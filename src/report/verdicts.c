/* verdicts.c - the table of rules, and the verdicts in the order of their importance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/buf.h"
#include "report/verdict.h"
#include "input/json_file.h"

static const fgi_verdict_rule rules[] = {
    {"input", "The device waits for input", fgi_verdict_input},
    {"many_files", "Opening many small files takes long", fgi_verdict_files},
    {"host_reads", "The host reads values from the device too often", fgi_verdict_reads},
    {"shapes", "Programs are compiled again because their inputs change", fgi_verdict_shapes},
    {"compile", "Compilation takes much of the run", fgi_verdict_compile},
    {"checkpoint", "Saving checkpoints delays the steps", fgi_verdict_checkpoint},
    {"host", "Work on the host delays the steps", fgi_verdict_host},
    {"batch", "The batch is too small for the device", fgi_verdict_batch},
    {"ops", "Operations that the device does not support are emulated", fgi_verdict_ops},
    {"16bit", "16-bit floats are not used", fgi_verdict_16bit},
    {"fp16", "fp16 overflows", fgi_verdict_fp16},
    {"lr", "The learning rate and the number of devices", fgi_verdict_lr},
};
enum { RULES = sizeof rules / sizeof rules[0] };

bool fgi_verdict_of_fraction(double fraction, fgi_severity *out)
{
    static const double medium = 0.05, high = 0.2;
    *out = fraction >= high ? FGI_HIGH : FGI_MEDIUM;
    return fraction >= medium;
}

void fgi_verdict_put_number(fgi_buf *out, double value)
{
    const double size = fabs(value);
    const int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    fgi_buf_printf(out, "%.*f", value == floor(value) && size >= 1 ? 0 : digits, value);
}

double fgi_verdict_launches(const fgi_verdict_facts *f)
{
    const double launches_s = fgi_json_number(f->settings, "launch_s") * f->timed_steps;
    const double other = f->part[FGI_WAIT_OTHER];
    return isfinite(launches_s) && isfinite(other) ? fmin(other, launches_s / f->wall_s) : 0;
}

static fgi_verdict_facts facts_of(const json_t *report)
{
    fgi_verdict_facts f = {
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

/* What the rate of the run would be without the time that it can save. */
static json_t *rate_of(const fgi_verdict_facts *f, const fgi_verdict *v)
{
    if (v->is_of_run || !(v->gain < 1) || !(f->samples_per_s > 0))
        return json_null();
    return json_pack("{s:f, s:f}", "from", f->samples_per_s, "to",
                     f->samples_per_s / (1 - v->gain));
}

static json_t *object_of(const fgi_verdict_facts *f, const fgi_verdict_rule *rule,
                         const fgi_verdict *v)
{
    static const char *const severities[] = {"note", "medium", "high"};
    if (v->detail.failed || v->action.failed)
        return NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "id", rule->id, "severity", severities[v->severity],
        "title", rule->title, "detail", v->detail.data != NULL ? v->detail.data : "", "action",
        v->action.data != NULL ? v->action.data : "", "gain",
        isfinite(v->gain) ? json_real(v->gain) : json_null(), "samples_per_s", rate_of(f, v));
}

/* Whether a is more important than b; verdicts of equal importance keep the order of the table. */
static bool precedes(const fgi_verdict *a, const fgi_verdict *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->gain > b->gain || (isfinite(a->gain) && !isfinite(b->gain));
}

json_t *fgi_run_verdicts(const json_t *report)
{
    const fgi_verdict_facts facts = facts_of(report);
    fgi_verdict found[RULES];
    int order[RULES], count = 0;
    json_t *list = json_array();
    for (int i = 0; i < RULES; i++) {
        int at = count;
        found[i] = (fgi_verdict){.gain = (double)NAN};
        if (!rules[i].judge(&facts, &found[i]))
            continue;
        for (count++; at > 0 && precedes(&found[i], &found[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    bool is_good = list != NULL;
    for (int i = 0; i < count; i++)
        is_good = is_good && json_array_append_new(
                                 list, object_of(&facts, &rules[order[i]], &found[order[i]])) == 0;
    for (int i = 0; i < RULES; i++) {
        fgi_buf_fini(&found[i].detail);
        fgi_buf_fini(&found[i].action);
    }
    if (!is_good)
        json_decref(list);
    return is_good ? list : NULL;
}
