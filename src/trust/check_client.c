/* check_client.c - fg_client_check: which checks are due, what is said about them, and the error
 * that refuses a plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "base/text.h"
#include "base/thread.h"
#include "pjrt/pjrt.h"
#include "trust/trust.h"

/* Change it with the cases: plugins are then checked again. */
#define CASES_VERSION "1"
const char fgi_check_mark[] = CASES_VERSION " " FG_VERSION_STRING " runs";
enum { NAME_BYTES = 256 };
static const double limit_s = 10;
static const char variable[] = "FULGURITE_PLUGIN_CHECK";

/* ---- known errors ---------------------------------------------------------------------------- */

/* Flags that make a plugin compute correctly. A plugin that does not have a flag would terminate
 * the process, so its file must contain the name. */
typedef struct remedy {
    const char *flag, *value;
    const char *operation; /* words in the name of the wrong operation */
} remedy;

static const remedy remedies[] = {
    {"xla_cpu_experimental_ynn_fusion_type", "-reduce", "summed"},
};

static void find_flags(const fg_client *client, fg_check_result *result)
{
    const char *set = getenv("XLA_FLAGS");
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        const remedy *r = &remedies[i];
        if (strstr(result->worst, r->operation) && !(set && strstr(set, r->flag)) &&
            fgi_plugin_contains(client, r->flag))
            (void)fgi_snprintf(result->flags, sizeof result->flags, "--%s=%s", r->flag, r->value);
    }
}

/* ---- what is due ----------------------------------------------------------------------------- */

static fg_status is_disabled(bool *out, fg_error *err)
{
    const char *value = getenv(variable);
    *out = value && strcmp(value, "off") == 0;
    if (*out || !value || !*value || strcmp(value, "on") == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s is '%.40s': expected on or off", variable, value);
}

/* There is a verdict about each program, so that a check that took too long is completed at the
 * next start, and one about communication within this mesh. */
enum { DEVICES = FGI_CHECK_PROGRAMS, VERDICTS };

static void name_verdict(const fg_client *client, int verdict, char *out)
{
    const fgi_mesh *mesh = fgi_client_mesh(client);
    int used = fgi_snprintf(out, NAME_BYTES, CASES_VERSION " " FG_VERSION_STRING " %d", verdict);
    if (verdict != DEVICES)
        return;
    for (int i = 0; i < mesh->axis_count && used < NAME_BYTES; i++)
        used += fgi_snprintf(out + used, (size_t)(NAME_BYTES - used), " %d", mesh->axes[i].size);
}

/* Which verdicts are missing; false if none is. */
static bool find_due(fg_client *client, bool repeats, bool *due)
{
    char name[NAME_BYTES];
    bool any = false;
    for (int i = 0; i < VERDICTS; i++) {
        name_verdict(client, i, name);
        due[i] = (i != DEVICES || fg_client_info_of(client)->device_count > 1) &&
                 (repeats || !fgi_verdict_is_known(client, name));
        any = any || due[i];
    }
    return any;
}

/* ---- running ---------------------------------------------------------------------------------
 * Most of the time is spent in the compiler, on one thread for each program, so the programs are
 * compiled at the same time if there are processors for that. */

typedef struct work {
    fg_client *client;
    double begin;
    bool *due; /* false afterwards if there was no time */
    _Atomic int next;
    struct {
        fgi_check_report report;
        fg_error err;
        fg_status status;
    } of[FGI_CHECK_PROGRAMS];
} work;

static fg_status check_program(const work *w, fg_trace *trace, int i, fgi_check_report *report,
                               fg_error *err)
{
    const fgi_check_program *program = &fgi_check_programs[i];
    if (fgi_client_support(w->client, program->dtype) == FGI_UNSUPPORTED)
        return FG_OK;
    if (fgi_now_s() - w->begin < limit_s)
        return fgi_check_cases(trace, program, report, err);
    (void)fgi_snprintf(report->unchecked, sizeof report->unchecked,
                       "%s, because the check took more than %g s", fg_dtype_name(program->dtype),
                       limit_s);
    w->due[i] = false;
    return FG_OK;
}

/* Checks programs as long as there are any left. */
static void *check_some(void *self)
{
    work *w = self;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < FGI_CHECK_PROGRAMS;) {
        fg_trace *trace = NULL;
        if (!w->due[i])
            continue;
        w->of[i].status = fg_trace_create(w->client, &trace, &w->of[i].err);
        if (w->of[i].status == FG_OK)
            w->of[i].status = check_program(w, trace, i, &w->of[i].report, &w->of[i].err);
        fg_trace_destroy(trace);
    }
    return NULL;
}

static void merge(const fgi_check_report *from, fgi_check_report *report)
{
    report->checked += from->checked;
    report->wrong += from->wrong;
    if (from->worst_error > report->worst_error) {
        report->worst_error = from->worst_error;
        memcpy(report->worst, from->worst, sizeof report->worst);
    }
    if (from->unchecked[0])
        memcpy(report->unchecked, from->unchecked, sizeof report->unchecked);
}

static fg_status check_programs(fg_client *client, bool *due, fgi_check_report *report,
                                fg_error *err)
{
    work w = {.client = client, .begin = fgi_now_s()};
    w.due = due;
    fgi_thread threads[FGI_CHECK_PROGRAMS];
    int count = 0;
    while (count + 1 < FGI_CHECK_PROGRAMS && count + 1 < fgi_cpu_count() &&
           fgi_thread_start(&threads[count], check_some, &w, NULL) == FG_OK)
        count++;
    (void)check_some(&w);
    for (int i = 0; i < count; i++)
        fgi_thread_join(threads[i]);
    for (int i = 0; i < FGI_CHECK_PROGRAMS; i++) {
        if (w.of[i].status != FG_OK) {
            if (err)
                *err = w.of[i].err;
            return w.of[i].status;
        }
        merge(&w.of[i].report, report);
    }
    return FG_OK;
}

static fg_status run(fg_client *client, bool *due, fgi_check_report *report, fg_error *err)
{
    bool programs = false;
    fg_trace *trace = NULL;
    fg_status status;
    for (int i = 0; i < FGI_CHECK_PROGRAMS; i++)
        programs = programs || due[i];
    fgi_client_begin_check(client);
    FGI_DONE(fg_trace_create(client, &trace, err));
    if (due[DEVICES])
        FGI_DONE(fgi_check_devices(trace, report, err));
    if (programs) {
        FGI_DONE(fgi_check_updates(trace, report, err));
        FGI_DONE(check_programs(client, due, report, err));
    }
done:
    fg_trace_destroy(trace);
    fgi_client_end_check(client);
    return status == FG_OK ? FG_OK
                           : fgi_context(err, status, "checking plugin '%s'",
                                         fg_client_info_of(client)->plugin_path);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static fg_status refuse(const fg_client *client, const fg_check_result *r, fg_error *err)
{
    const char *set = getenv("XLA_FLAGS");
    char error[40] = "NaN or infinite", way[200] = "use another plugin (fulgurite setup)";
    if (isfinite(r->relative_error))
        (void)fgi_snprintf(error, sizeof error, "relative error %.2g", r->relative_error);
    if (r->flags[0])
        (void)fgi_snprintf(
            way, sizeof way, "%s%s%s, which is known to fix this, or use another plugin",
            set && *set ? "add " : "set XLA_FLAGS=", r->flags, set && *set ? " to XLA_FLAGS" : "");
    return fgi_fail(err, FG_EPLUGIN,
                    "plugin '%.120s' computes wrong results: %s: %s; %d of %d operations are "
                    "wrong\n%s; %s=off skips this check",
                    fg_client_info_of(client)->plugin_path, r->worst, error, r->wrong,
                    r->operations, way, variable);
}

/* One line: that all results are right, what was not checked, and why the verdict is not kept. */
static void say(const fg_check_options *options, const fg_client *client,
                const fg_check_result *result, const fgi_check_report *report,
                const fg_error *not_kept)
{
    char line[700];
    const char *path = fg_client_info_of(client)->plugin_path, *name = strrchr(path, '/');
    const bool is_kept = not_kept->message[0] == '\0';
    (void)fgi_snprintf(line, sizeof line,
                       "checked %d operation%s of plugin '%.80s': all results are correct (%.1f s)"
                       "%s%s%s%.200s",
                       result->operations, fgi_s(result->operations), name ? name + 1 : path,
                       result->seconds, report->unchecked[0] ? "; not checked: " : "",
                       report->unchecked,
                       is_kept ? "" : "; repeated at every start: ", not_kept->message);
    if (options && options->say)
        options->say(options->say_self, line);
}

/* Notes that a check begins, and says if an earlier one has not ended: so that a plugin that ends
 * the process is named at the next start, before it does so again. */
static void begin(const fg_check_options *options, fg_client *client)
{
    char line[300];
    const char *path = fg_client_info_of(client)->plugin_path, *name = strrchr(path, '/');
    (void)fgi_snprintf(line, sizeof line,
                       "an earlier check of plugin '%.80s' has not ended: if it crashes again, use "
                       "another plugin (fulgurite setup), or skip the check with %s=off",
                       name ? name + 1 : path, variable);
    if (options && options->say && fgi_verdict_is_known(client, fgi_check_mark))
        options->say(options->say_self, line);
    (void)fgi_verdict_record(client, fgi_check_mark, NULL); /* else it will not be said */
}

static fg_status record(fg_client *client, const bool *due, fg_error *err)
{
    char name[NAME_BYTES];
    for (int i = 0; i < VERDICTS; i++) {
        name_verdict(client, i, name);
        if (due[i])
            FGI_TRY(fgi_verdict_record(client, name, err));
    }
    return FG_OK;
}

static fg_status check(fg_client *client, const fg_check_options *options, fg_check_result *result,
                       fg_error *err)
{
    bool due[VERDICTS];
    const double begin_s = fgi_now_s();
    fgi_check_report report = {0};
    fg_error not_kept = {0};
    if (!find_due(client, options && options->repeat, due))
        return FG_OK;
    begin(options, client);
    const fg_status status = run(client, due, &report, err);
    fgi_verdict_forget(client, fgi_check_mark);
    if (status != FG_OK)
        return status;
    *result = (fg_check_result){.was_run = true,
                                .operations = report.checked,
                                .wrong = report.wrong,
                                .seconds = fgi_now_s() - begin_s,
                                .relative_error = report.worst_error};
    (void)fgi_snprintf(result->worst, sizeof result->worst, "%s", report.worst);
    if (report.wrong > 0) {
        find_flags(client, result);
        return refuse(client, result, err);
    }
    (void)record(client, due, &not_kept);
    say(options, client, result, &report, &not_kept);
    return FG_OK;
}

fg_status fg_client_check(fg_client *client, const fg_check_options *options, fg_check_result *out,
                          fg_error *err)
{
    fg_check_result result = {0}, *into = out ? out : &result;
    bool is_off = false;
    *into = result;
    FGI_TRY_RESERVED(fg_check_options, options, err);
    if (!client)
        return fgi_fail(err, FG_EINVAL, "no client was given");
    FGI_TRY(is_disabled(&is_off, err));
    return is_off || fgi_client_is_compile_only(client) ? FG_OK : check(client, options, into, err);
}
