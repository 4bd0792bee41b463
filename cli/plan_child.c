/* plan_child.c - runs a compiler in a separate process: some inputs make it crash, run forever or
 * use all memory.
 *
 * The process executes this program again, so no plugin has been loaded in it. It does not outlive
 * its parent, and only the parent stops it: signals are blocked, because compilers answer them with
 * a stack trace on the terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan.h"

enum { LOOK_EVERY_MS = 200, ARGUMENTS_MAX = 300 };

typedef struct child {
    pid_t pid;
    int from; /* its standard output */
    char *text;
    size_t size;
} child;

/* Blocks what asks a process to stop, also in what exec makes of this one and in its threads. */
static void block_requests(void)
{
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        (void)sigaddset(&set, requests[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* In the new process: becomes the program, which the kernel ends with `parent`, by whatever that is
 * ended; the ask comes too late when it is gone already. Tells errno where it cannot. */
static _Noreturn void become(const char *self, char *const *argv, pid_t parent, int out,
                             int trouble)
{
    block_requests();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(out, STDOUT_FILENO) >= 0) {
        if (getppid() != parent)
            _exit(CLI_FAILED);
        (void)execv(self, argv);
    }
    const int why = errno;
    if (write(trouble, &why, sizeof why) < 0)
        errno = why; /* the exit status has to do */
    _exit(CLI_FAILED);
}

/* Whether the new process has become the program; errno otherwise. */
static bool has_begun(int trouble, pid_t pid)
{
    int why = 0;
    ssize_t n;
    while ((n = read(trouble, &why, sizeof why)) < 0 && errno == EINTR)
        ;
    if (n == 0)
        return true;
    (void)waitpid(pid, NULL, 0);
    errno = why;
    return false;
}

static bool start(const char *const *arguments, child *out, fg_error *err)
{
    static const char self[] = "/proc/self/exe";
    const char *words[ARGUMENTS_MAX] = {"fulgurite"};
    char *argv[ARGUMENTS_MAX];
    int output[2] = {-1, -1}, trouble[2] = {-1, -1};
    const pid_t parent = getpid();
    for (int i = 0; arguments[i] != NULL && i < ARGUMENTS_MAX - 2; i++)
        words[i + 1] = arguments[i];
    memcpy(argv, words, sizeof argv); /* exec takes char *, and leaves the words as they are */
    bool ok = pipe2(output, O_CLOEXEC) == 0 && pipe2(trouble, O_CLOEXEC) == 0;
    out->pid = ok ? fork() : -1;
    if (out->pid == 0)
        become(self, argv, parent, output[1], trouble[1]);
    const int why = errno;
    (void)close(output[1]);
    (void)close(trouble[1]);
    errno = why;
    ok = out->pid > 0 && has_begun(trouble[0], out->pid);
    if (!ok)
        (void)cli_fail_errno(err, "start", self);
    (void)close(trouble[0]);
    out->from = output[0];
    if (!ok)
        (void)close(output[0]);
    return ok;
}

/* Takes what the process has written; false at its end. */
static bool hear(child *c)
{
    char block[4096];
    const ssize_t n = read(c->from, block, sizeof block);
    if (n < 0)
        return errno == EINTR;
    if (n == 0)
        return false;
    c->text = cli_realloc(c->text, c->size + (size_t)n + 1, 1);
    memcpy(c->text + c->size, block, (size_t)n);
    c->size += (size_t)n;
    c->text[c->size] = '\0';
    return true;
}

/* Memory that the process has resident, 0 when nobody says. */
static double resident_bytes(pid_t pid)
{
    char path[64], line[128] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *in = fopen(path, "re");
    const bool is_read = in != NULL && fgets(line, sizeof line, in) != NULL;
    if (in != NULL)
        (void)fclose(in);
    const char *second = is_read ? strchr(line, ' ') : NULL; /* all, resident, ... in pages */
    return second != NULL ? strtod(second, NULL) * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* Hears the process out, or ends it at a limit. */
static void watch(child *c, const plan_limits *limits, plan_outcome *out)
{
    const double begin = cli_now_s();
    for (;;) {
        struct pollfd ready = {.fd = c->from, .events = POLLIN};
        const int n = poll(&ready, 1, LOOK_EVERY_MS);
        if (n > 0 && !hear(c))
            return;
        const double bytes = resident_bytes(c->pid);
        if (limits->seconds > 0 && cli_now_s() - begin > limits->seconds)
            (void)snprintf(out->trouble, sizeof out->trouble,
                           "the compiler has not finished after %g s (--time-limit)",
                           limits->seconds);
        else if (limits->bytes > 0 && bytes > limits->bytes)
            (void)snprintf(out->trouble, sizeof out->trouble,
                           "the compiler used more than %s of this host's memory (--memory-limit)",
                           cli_bytes(limits->bytes));
        else
            continue;
        (void)kill(c->pid, SIGKILL);
        return;
    }
}

bool plan_child_run(const char *const *arguments, const plan_limits *limits, plan_outcome *out,
                    fg_error *err)
{
    int state = 0;
    child c = {.pid = -1};
    *out = (plan_outcome){.status = -1};
    if (!start(arguments, &c, err))
        return false;
    watch(&c, limits, out);
    close(c.from);
    while (waitpid(c.pid, &state, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(state))
        out->status = WEXITSTATUS(state);
    else if (out->trouble[0] == '\0')
        (void)snprintf(out->trouble, sizeof out->trouble, "the compiler crashed (signal %d)",
                       WTERMSIG(state));
    out->text = c.text != NULL ? c.text : cli_strdup("");
    return true;
}
