/* run_requeue.c - a SLURM job that ends is queued again, so that its run continues.
 *
 * SLURM sends SIGUSR1 some time before the end of a job, if the job asks for it (#SBATCH
 * --signal=USR1@90). The run then saves and stops, and `scontrol requeue` puts the job back into
 * the queue: it starts with the same command, and `resume: auto` continues the run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/print.h"
#include "base/thread.h"
#include "recipe/run/run.h"

enum { PATIENCE_S = 60, ID_SIZE = 64 };

static bool is_number(const char *text)
{
    const size_t size = text != NULL ? strspn(text, "0123456789") : 0;
    return size > 0 && size < 20 && text[size] == '\0';
}

/* The job as scontrol names it: "12", or "10_2", task 2 of the array 10. False: not in a job. */
static bool find_job(char out[ID_SIZE])
{
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *task = getenv("SLURM_ARRAY_TASK_ID");
    if (!is_number(job))
        return false;
    if (is_number(array) && is_number(task))
        (void)fgi_snprintf(out, ID_SIZE, "%s_%s", array, task);
    else
        (void)fgi_snprintf(out, ID_SIZE, "%s", job);
    return true;
}

static bool is_asked(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_FIT && r->c->run.slurm_requeue;
}

bool fgi_run_requeues(const fg_recipe *r)
{
    char job[ID_SIZE];
    return is_asked(r) && find_job(job);
}

fg_status fgi_run_requeue_check(const fg_recipe *r, fg_error *err)
{
    const char *resume = r->c->run.resume;
    if (!is_asked(r) || (resume != NULL && strcmp(resume, "auto") == 0))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%s: a job that is queued again starts with the same command: it requires "
                    "trainer.resume=auto",
                    fgi_config_where(r->c, "trainer.slurm_requeue"));
}

/* Its exit status; -1: it did not start, was killed, or did not end in time. */
static int wait_for(pid_t child)
{
    int status = 0;
    const int64_t begin = fgi_now_ns();
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        if (fgi_now_ns() - begin > (int64_t)PATIENCE_S * 1000000000) {
            (void)kill(child, SIGKILL);
            (void)waitpid(child, NULL, 0);
            return -1;
        }
        fgi_sleep(0.02);
    }
}

static int requeue(char *job)
{
    pid_t child;
    char program[] = "scontrol", command[] = "requeue";
    char *const argv[] = {program, command, job, NULL};
    const int failed = posix_spawnp(&child, program, NULL, NULL, argv, environ);
    return failed == 0 ? wait_for(child) : -1;
}

void fgi_run_requeue(const fg_recipe *r)
{
    char job[ID_SIZE];
    const fg_client *client = r->trainer != NULL ? fg_trainer_client(r->trainer) : NULL;
    if (r->outcome.train.stop_signal != SIGUSR1 || !is_asked(r) || !find_job(job) ||
        (client != NULL && fg_client_info_of(client)->process_index != 0))
        return;
    if (r->outcome.train.checkpoint[0] == '\0')
        fgi_run_say(r, FG_LOG_ERROR, "SLURM job %s is not queued again: there is no checkpoint",
                    job);
    else if (requeue(job) == 0)
        fgi_run_say(r, FG_LOG_ERROR, "SLURM job %s is queued again, and will continue from %s", job,
                    r->outcome.train.checkpoint);
    else
        fgi_run_say(r, FG_LOG_ERROR,
                    "SLURM job %s could not be queued again: 'scontrol requeue %s' failed; submit "
                    "the job again to continue",
                    job, job);
}
