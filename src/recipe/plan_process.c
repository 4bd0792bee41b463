/* plan_process.c - plans for one machine in a separate process: some inputs make a compiler crash,
 * run forever or use all memory.
 *
 * The process executes the fulgurite program, so no plugin has been loaded in it. It does not
 * outlive the thread that started it, and only that thread stops it: signals are blocked, because
 * compilers answer them with a stack trace on the terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recipe/run.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "input/json_file.h"

enum { LOOK_EVERY_MS = 200, EXIT_USAGE = 2 };

/* ---- its command line ------------------------------------------------------------------------ */

/* Words, each with its '\0'. */
typedef struct words {
    fgi_buf text;
    size_t count;
} words;

static void add_word(words *w, const char *before, const char *word, const char *after)
{
    fgi_buf_printf(&w->text, "%s%s%s", before, word, after);
    fgi_buf_add(&w->text, "", 1);
    w->count++;
}

static void add_words(words *w, const fg_recipe_options *o, const fg_plan_process *process)
{
    add_word(w, "", "fulgurite", "");
    add_word(w, "", "plan", "");
    add_word(w, "", "--in-process", "");
    add_word(w, "", "--json", "");
    add_word(w, "--topology=", o->topology, "");
    if (process->quiet)
        add_word(w, "", "--quiet", "");
    if (o->no_search)
        add_word(w, "", "--no-search", "");
    if (o->sweep != NULL)
        add_word(w, "--sweep", *o->sweep != '\0' ? "=" : "", o->sweep);
    if (o->input_rate != NULL)
        add_word(w, "--input-rate=", o->input_rate, "");
    if (o->config != NULL)
        add_word(w, "", o->config, "");
    for (size_t i = 0; i < o->override_count; i++)
        add_word(w, "--", o->overrides[i], "");
}

/* The words as exec takes them (fgi_free); they stay in w. NULL: out of memory. */
static char **argv_of(const words *w)
{
    char *at = w->text.data, **argv = NULL;
    if (!w->text.failed)
        argv = fgi_calloc(w->count + 1, sizeof(*argv));
    for (size_t i = 0; argv != NULL && i < w->count; i++, at += strlen(at) + 1)
        argv[i] = at;
    return argv;
}

/* ---- starting -------------------------------------------------------------------------------- */

typedef struct child {
    pid_t pid;
    int from; /* its standard output */
    fgi_buf text;
    char problem[160]; /* what ended it, unless it ended by itself; "" for nothing */
} child;

/* Blocks the signals that ask a process to stop, also after exec and in all threads. */
static void block_requests(void)
{
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        (void)sigaddset(&set, requests[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* In the new process: becomes the program, which the kernel kills when `parent` ends for any
 * reason; if it has ended already, the request is too late. Writes errno to `failure` if it can't.
 */
static _Noreturn void become(const char *program, char *const *argv, pid_t parent, int out,
                             int failure)
{
    block_requests();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(out, STDOUT_FILENO) >= 0) {
        if (getppid() != parent)
            _exit(1);
        (void)execv(program, argv);
    }
    const int why = errno;
    if (write(failure, &why, sizeof(why)) < 0)
        errno = why; /* the exit status has to suffice */
    _exit(1);
}

/* Whether the new process has executed the program; sets errno otherwise. */
static bool has_begun(int failure, pid_t pid)
{
    int why = 0;
    ssize_t n;
    while ((n = read(failure, &why, sizeof(why))) < 0 && errno == EINTR)
        ;
    if (n == 0)
        return true;
    (void)waitpid(pid, NULL, 0);
    errno = why;
    return false;
}

/* Starts the program; false, and errno, if it can't. */
static bool start(const char *program, char *const *argv, child *out)
{
    int output[2] = {-1, -1}, failure[2] = {-1, -1};
    const pid_t parent = getpid();
    bool ok = pipe2(output, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC) == 0;
    out->pid = ok ? fork() : -1;
    if (out->pid == 0)
        become(program, argv, parent, output[1], failure[1]);
    int why = errno;
    (void)close(output[1]);
    (void)close(failure[1]);
    errno = why;
    ok = out->pid > 0 && has_begun(failure[0], out->pid);
    why = errno;
    (void)close(failure[0]);
    out->from = output[0];
    if (!ok)
        (void)close(output[0]);
    errno = why;
    return ok;
}

/* ---- watching -------------------------------------------------------------------------------- */

/* Reads what the process has written; false at end of file. Called when something can be read, so
 * that it does not wait and no signal interrupts it. */
static bool take_output(child *c)
{
    char block[4096];
    const ssize_t n = read(c->from, block, sizeof(block));
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
static void watch(child *c, const fg_plan_process *limits)
{
    const double begin = fgi_now_s();
    for (;;) {
        struct pollfd ready = {.fd = c->from, .events = POLLIN};
        if (poll(&ready, 1, LOOK_EVERY_MS) > 0 && !take_output(c))
            return;
        if (limits->time_limit_s > 0 && fgi_now_s() - begin > limits->time_limit_s)
            (void)fgi_snprintf(c->problem, sizeof(c->problem),
                               "the compiler has not finished after %g s (--time-limit)",
                               limits->time_limit_s);
        else if (limits->memory_limit_bytes > 0 &&
                 resident_bytes(c->pid) > limits->memory_limit_bytes)
            (void)fgi_snprintf(
                c->problem, sizeof(c->problem),
                "the compiler used more than %s of this host's memory (--memory-limit)",
                fgi_bytes_words(limits->memory_limit_bytes));
        else
            continue;
        (void)kill(c->pid, SIGKILL);
        return;
    }
}

/* Waits for the end of the process; its exit status, or -1. */
static int end(child *c)
{
    int state = 0;
    (void)close(c->from);
    while (waitpid(c->pid, &state, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    if (c->problem[0] == '\0')
        (void)fgi_snprintf(c->problem, sizeof(c->problem), "the compiler crashed (signal %d)",
                           WTERMSIG(state));
    return -1;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Whether the text is a plan. */
static bool is_plan(const fgi_buf *text)
{
    json_t *root = text->size > 0 ? fgi_json_load(text->data, text->size, 0, NULL) : NULL;
    const bool is_one = json_array_size(json_object_get(root, "topologies")) == 1;
    json_decref(root);
    return is_one;
}

/* A plan that holds nothing but the error. */
static fg_status put_failure(const char *topology, const char *why, fgi_buf *out, fg_error *err)
{
    json_t *plan = fgi_plan_failed(topology, why, false);
    fgi_buf_clear(out);
    const bool is_good = plan != NULL && fgi_json_write(plan, 0, out);
    json_decref(plan);
    return is_good ? FG_OK : fgi_no_memory(err);
}

static fg_status run_process(const fg_recipe_options *o, const fg_plan_process *process,
                             char *const *argv, fgi_buf *out, fg_error *err)
{
    const char *program = process->program != NULL ? process->program : "/proc/self/exe";
    child c = {.pid = -1};
    char why[256];
    if (!start(program, argv, &c)) {
        (void)fgi_snprintf(why, sizeof(why), "cannot start '%s': %s", program,
                           fgi_errno_text(errno));
        return put_failure(o->topology, why, out, err);
    }
    watch(&c, process);
    const int status = end(&c);
    *out = c.text;
    if (c.text.failed)
        return fgi_no_memory(err);
    if (is_plan(out))
        return FG_OK;
    if (status == EXIT_USAGE)
        return fgi_fail(err, FG_EINVAL,
                        "topology '%s': the planning process rejected the configuration or an "
                        "option: see its message on standard error",
                        o->topology);
    return put_failure(o->topology,
                       c.problem[0] != '\0' ? c.problem
                                            : "the compiler's process ended without a result",
                       out, err);
}

fg_status fg_recipe_plan_process(const fg_recipe_options *options, const fg_plan_process *process,
                                 char **out, fg_error *err)
{
    static const fg_plan_process defaults;
    fg_error none;
    words w = {0};
    fgi_buf text = {0};
    *out = NULL;
    err = err != NULL ? err : &none;
    process = process != NULL ? process : &defaults;
    FGI_TRY_RESERVED(fg_recipe_options, options, err);
    FGI_TRY_RESERVED(fg_plan_process, process, err);
    FGI_TRY(fgi_run_plan_check(options, err));
    add_words(&w, options, process);
    char **argv = argv_of(&w);
    fg_status status =
        argv != NULL ? run_process(options, process, argv, &text, err) : fgi_no_memory(err);
    if (status == FG_OK && (*out = fgi_buf_take(&text)) == NULL)
        status = fgi_no_memory(err);
    fgi_buf_fini(&text);
    fgi_free(argv);
    fgi_buf_fini(&w.text);
    return status;
}
