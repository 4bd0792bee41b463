/* plan_process.c - plans for each machine in a separate process: some inputs make a compiler crash,
 * run forever or use all memory.
 *
 * The process executes the fulgurite program, so no plugin has been loaded in it (child.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "plan_process.h"
#include "base/error.h"
#include "base/print.h"
#include "input/json_file.h"
#include "recipe/plan/run_plan.h"
#include "base/text.h"
#include "base/buf.h"
#include "base/thread.h"
#include "report/reports.h"

enum { LOOK_EVERY_MS = 200, MACHINES_MAX = 64, WORDS_MAX = CLI_MAX_OVERRIDES + CLI_MAX_LIST + 16 };

/* ---- its command line ------------------------------------------------------------------------ */

/* Words as exec takes them. */
typedef struct words {
    char *at[WORDS_MAX];
    size_t count;
} words;

static void add_word(words *w, char *take_word)
{
    if (w->count < WORDS_MAX - 1) /* there are at most CLI_MAX_OVERRIDES overrides */
        w->at[w->count++] = take_word;
    else
        free(take_word);
}

static void add_options(words *w, const fg_plan_options *o)
{
    if (o->no_search)
        add_word(w, cli_strdup("--no-search"));
    for (size_t i = 0; i < o->sweep.count; i++)
        add_word(w, cli_printf("--sweep=%" PRId64, o->sweep.at[i]));
    if (o->loader.samples_per_s > 0)
        add_word(w, cli_printf("--input-rate=%.17g", o->loader.samples_per_s));
    if (o->loader.stage == NULL)
        return;
    add_word(w, cli_printf("--input-stage=%s", o->loader.stage));
    add_word(w, cli_printf("--input-fraction=%.17g", o->loader.stage_fraction));
}

static void add_words(words *w, const plan_process *p, const char *topology)
{
    static const char *const first[] = {"fulgurite", "plan", "--in-process", "--json"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        add_word(w, cli_strdup(first[i]));
    add_word(w, cli_printf("--topology=%s", topology));
    if (p->is_quiet)
        add_word(w, cli_strdup("--quiet"));
    add_options(w, &p->options);
    if (p->config != NULL)
        add_word(w, cli_strdup(p->config));
    for (size_t i = 0; i < p->override_count; i++)
        add_word(w, cli_printf("--%s", p->overrides[i]));
}

/* ---- watching -------------------------------------------------------------------------------- */

typedef struct planning {
    child process;
    fgi_buf text;
    char problem[160]; /* what ended it, unless it ended by itself; "" for nothing */
} planning;

/* Reads what the process has written; false at end of file. Called when something can be read, so
 * that it does not wait and no signal interrupts it. */
static bool take_output(planning *c)
{
    char block[4096];
    const ssize_t n = read(c->process.from, block, sizeof(block));
    if (n > 0)
        fgi_buf_add(&c->text, block, (size_t)n);
    return n > 0;
}

/* Memory that the process has resident, 0 if unknown. */
static double resident_bytes(pid_t pid)
{
    char path[64], line[128] = "";
    double pages = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, line, sizeof(line) - 1) <= 0)
        line[0] = '\0';
    if (file >= 0)
        (void)close(file);
    const char *second = strchr(line, ' '); /* all, resident, ... in pages */
    for (const char *at = second != NULL ? second + 1 : line; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (*at - '0');
    return second != NULL ? pages * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* Reads the process's output until its end, or kills it at a limit. */
static void watch(planning *c, const plan_process *limits)
{
    const double begin = fgi_now_s();
    for (;;) {
        struct pollfd ready = {.fd = c->process.from, .events = POLLIN};
        if (poll(&ready, 1, LOOK_EVERY_MS) > 0 && !take_output(c))
            return;
        if (limits->time_limit_s > 0 && fgi_now_s() - begin > limits->time_limit_s)
            (void)fgi_snprintf(c->problem, sizeof(c->problem),
                               "the compiler has not finished after %g s (--time-limit)",
                               limits->time_limit_s);
        else if (limits->memory_limit_bytes > 0 &&
                 resident_bytes(c->process.pid) > limits->memory_limit_bytes)
            (void)fgi_snprintf(
                c->problem, sizeof(c->problem),
                "the compiler used more than %s of this host's memory (--memory-limit)",
                fgi_bytes_words(limits->memory_limit_bytes));
        else
            continue;
        (void)kill(c->process.pid, SIGKILL);
        return;
    }
}

/* Waits for the end of the process; its exit status, or -1. */
static int end(planning *c)
{
    const int state = child_end(&c->process);
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    if (c->problem[0] == '\0')
        (void)fgi_snprintf(c->problem, sizeof(c->problem), "the compiler crashed (signal %d)",
                           WTERMSIG(state));
    return -1;
}

/* ---- one machine ----------------------------------------------------------------------------- */

/* The plan that a process has written; NULL: none. */
static json_t *read_plan(const fgi_buf *text)
{
    json_t *root = text->size > 0 ? fgi_json_load(text->data, text->size, 0, NULL) : NULL;
    if (json_array_size(json_object_get(root, "topologies")) == 1)
        return root;
    json_decref(root);
    return NULL;
}

/* Runs the program; on success, *out is the plan or what went wrong instead. */
static fg_status run_words(const plan_process *p, const char *topology, char *const *argv,
                           json_t **out, fg_error *err)
{
    const char *program = p->program != NULL ? p->program : "/proc/self/exe";
    planning c = {.problem = ""};
    int status = -1;
    if (child_start(program, argv, false, &c.process)) {
        watch(&c, p);
        status = end(&c);
    } else {
        (void)fgi_snprintf(c.problem, sizeof c.problem, "cannot start '%s': %s", program,
                           fgi_errno_text(errno));
    }
    *out = read_plan(&c.text);
    fgi_buf_fini(&c.text);
    if (*out == NULL && status == CLI_USAGE)
        return fgi_fail(err, FG_EINVAL,
                        "topology '%s': the planning process rejected the configuration or an "
                        "option: see its message on standard error",
                        topology);
    const char *why =
        c.problem[0] != '\0' ? c.problem : "the compiler's process ended without a result";
    if (*out == NULL)
        *out = cli_need(fgi_plan_failed(topology, why, false));
    return FG_OK;
}

fg_status plan_process_one(const plan_process *plan, const char *topology, json_t **out,
                           fg_error *err)
{
    words w = {0};
    add_words(&w, plan, topology);
    const fg_status status = run_words(plan, topology, w.at, out, err);
    while (w.count > 0)
        free(w.at[--w.count]);
    return status;
}

/* ---- several machines ------------------------------------------------------------------------ */

/* A machine that the user named. */
typedef struct machine {
    const char *name;
    char described[sizeof(((fg_topology_info *)0)->machine)];
    int same_as; /* an earlier name of it; -1: none */
} machine;

typedef struct plans {
    plan_process plan;
    char *names; /* those of the machines point into it */
    machine machines[MACHINES_MAX];
    int count;
    json_t *found; /* array of the plans, in the order of the machines */
} plans;

static fg_status add_machine(plans *p, const char *name, fg_error *err)
{
    fg_topology_info info;
    if (*name == '\0' || p->count == MACHINES_MAX)
        return fgi_fail(err, FG_EINVAL, "expected 1 to %d names separated by commas", MACHINES_MAX);
    FGI_TRY(fg_topology_describe(name, &info, err));
    machine *m = &p->machines[p->count];
    *m = (machine){.name = name, .same_as = -1};
    memcpy(m->described, info.machine, sizeof(m->described));
    for (int i = 0; i < p->count && m->same_as < 0; i++)
        if (strcmp(p->machines[i].described, m->described) == 0)
            m->same_as = i;
    p->count++;
    return FG_OK;
}

/* Appends a plan, which is released here, under the name of a machine. */
static void append(plans *p, json_t *take_plan, const char *name)
{
    (void)json_object_set_new(cli_need(take_plan), "name", json_string(name));
    (void)json_array_append_new(p->found, take_plan);
}

/* The rate of the loader for the next plans, so that they do not measure it again. Its stage
 * belongs to the plan, which is in p->found. */
static void keep_rate(plans *p, const json_t *plan)
{
    if (p->plan.options.loader.samples_per_s > 0)
        return;
    p->plan.options.loader = (fg_loader_rate){
        .samples_per_s = json_number_value(json_object_get(plan, "input_measured_samples_per_s")),
        .stage = json_string_value(json_object_get(plan, "input_stage")),
        .stage_fraction = json_number_value(json_object_get(plan, "input_stage_fraction"))};
}

static void print_last(const plans *p)
{
    fgi_buf text = {0};
    if (p->plan.results == NULL)
        return;
    fgi_plan_lines_put(&text, json_array_get(p->found, json_array_size(p->found) - 1));
    (void)fputs(text.size > 0 ? text.data : "", p->plan.results);
    (void)fflush(p->plan.results);
    fgi_buf_fini(&text);
}

static fg_status plan_machine(plans *p, const machine *m, bool *out_is_common, fg_error *err)
{
    json_t *root;
    if (m->same_as >= 0) {
        json_t *copy = cli_need(json_deep_copy(json_array_get(p->found, (size_t)m->same_as)));
        (void)json_object_set_new(copy, "same_as", json_string(p->machines[m->same_as].name));
        append(p, copy, m->name);
        print_last(p);
        return FG_OK;
    }
    if (p->plan.talk != NULL)
        (void)fprintf(p->plan.talk, "%s: compiling the training step\n", m->name);
    FGI_TRY(plan_process_one(&p->plan, m->name, &root, err));
    json_t *plan = json_array_get(json_object_get(root, "topologies"), 0);
    *out_is_common = json_is_true(json_object_get(root, "every_machine"));
    keep_rate(p, plan);
    if (*out_is_common) {
        (void)json_array_clear(p->found);
        for (int i = 0; i < p->count; i++)
            append(p, json_deep_copy(plan), p->machines[i].name);
    } else {
        append(p, json_incref(plan), m->name);
        print_last(p);
    }
    json_decref(root);
    return FG_OK;
}

static bool has_failed(const json_t *found)
{
    size_t i;
    const json_t *plan;
    json_array_foreach(found, i, plan) if (json_object_get(plan, "error") != NULL) return true;
    return false;
}

fg_status plan_process_each(const plan_process *plan, const char *topologies, json_t **out,
                            bool *out_is_common, fg_error *err)
{
    plans p = {.plan = *plan, .names = cli_strdup(topologies), .found = cli_need(json_array())};
    char *rest = p.names;
    fg_status status = FG_OK;
    *out = NULL;
    *out_is_common = false;
    while (status == FG_OK && rest != NULL)
        status = add_machine(&p, strsep(&rest, ","), err);
    for (int i = 0; status == FG_OK && i < p.count && !*out_is_common; i++)
        status = plan_machine(&p, &p.machines[i], out_is_common, err);
    if (status == FG_OK)
        *out = cli_need(json_pack("{s:s, s:O}", "status", has_failed(p.found) ? "failed" : "done",
                                  "topologies", p.found));
    json_decref(p.found);
    free(p.names);
    return status;
}
