/* child.c - see child.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* What the new process needs. */
typedef struct plan {
    const char *program;
    char *const *argv;
    bool with_errors;
    pid_t parent;
    int out, failure; /* writing ends of pipes */
} plan;

/* In the new process: becomes the program, which the kernel kills when the parent ends for any
 * reason; if it has ended already, the request is too late. Writes errno to `failure` if it can't.
 */
static _Noreturn void become(const plan *p)
{
    block_requests();
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(none, STDIN_FILENO) >= 0 &&
        dup2(p->out, STDOUT_FILENO) >= 0 && (!p->with_errors || dup2(p->out, STDERR_FILENO) >= 0)) {
        if (getppid() != p->parent)
            _exit(1);
        (void)execvp(p->program, p->argv);
    }
    const int why = errno;
    if (write(p->failure, &why, sizeof(why)) < 0)
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

bool child_start(const char *program, char *const *argv, bool with_errors, child *out)
{
    int output[2] = {-1, -1}, failure[2] = {-1, -1};
    bool ok = pipe2(output, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC) == 0;
    const plan p = {program, argv, with_errors, getpid(), output[1], failure[1]};
    out->from = output[0];
    out->pid = ok ? fork() : -1;
    if (out->pid == 0)
        become(&p);
    int why = errno;
    (void)close(output[1]);
    (void)close(failure[1]);
    errno = why;
    ok = out->pid > 0 && has_begun(failure[0], out->pid);
    why = errno;
    (void)close(failure[0]);
    if (!ok)
        (void)close(output[0]);
    errno = why;
    return ok;
}

int child_end(const child *c)
{
    int state = 0;
    (void)close(c->from);
    while (waitpid(c->pid, &state, 0) < 0 && errno == EINTR)
        ;
    return state;
}
