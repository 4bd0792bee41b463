/* run_hang.c - the end of a run that hangs: reports it, writes the stacks of all threads, and exits
 * immediately. The state on the devices cannot be saved; the checkpoints and metrics written so far
 * are kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <execinfo.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recipe/run/run.h"
#include "base/file.h"
#include "base/print.h"
#include "base/stack_signal.h"

enum { DEPTH = 64 };

/* State for the thread that writes its stack. */
static int stack_file;
static sem_t stack_written;

static void on_signal(int number)
{
    void *frame[DEPTH];
    (void)number;
    backtrace_symbols_fd(frame, backtrace(frame, DEPTH), stack_file);
    (void)sem_post(&stack_written);
}

/* The first line of /proc/self/task/TID/NAME. */
static void task_line(const char *tid, const char *name, char *out, size_t size)
{
    char path[320];
    (void)fgi_snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, name);
    FILE *file = fopen(path, "r");
    out[0] = '\0';
    if (file != NULL && fgets(out, (int)size, file) == NULL)
        out[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    out[strcspn(out, "\n")] = '\0';
}

/* Lets a thread write its own stack; skips a thread that blocks signals or does not run. */
static void write_stack(const char *tid, int file)
{
    char name[64], waits[64];
    struct timespec until;
    task_line(tid, "comm", name, sizeof name);
    task_line(tid, "wchan", waits, sizeof waits);
    (void)dprintf(file, "\nthread %s (%s)%s%s\n", tid, name,
                  waits[0] != '\0' && strcmp(waits, "0") != 0 ? ", in the kernel: " : "",
                  strcmp(waits, "0") != 0 ? waits : "");
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (syscall(SYS_tgkill, getpid(), (pid_t)strtol(tid, NULL, 10), FGI_STACK_SIGNAL) != 0 ||
        sem_timedwait(&stack_written, &until) != 0)
        (void)dprintf(file, "  (its stack could not be read: it does not respond to signals)\n");
}

static void write_stacks(int file)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    void *frame[1];
    DIR *tasks = opendir("/proc/self/task");
    (void)backtrace(frame, 1); /* loads libgcc now, not in the signal handler */
    (void)sigemptyset(&action.sa_mask);
    if (tasks == NULL || sem_init(&stack_written, 0, 0) != 0 ||
        sigaction(FGI_STACK_SIGNAL, &action, NULL) != 0)
        return;
    stack_file = file;
    for (const struct dirent *entry; (entry = fgi_folder_next(&tasks)) != NULL;)
        write_stack(entry->d_name, file);
}

static void put_report(const fg_recipe *r, const fg_hang *hang, fgi_buf *out)
{
    fgi_buf_printf(out,
                   "fulgurite %s: no progress for %.1f s: %s\n"
                   "  %s\n  waiting for: %s\n  last checkpoint: %s",
                   r->command, hang->seconds, hang->doing, hang->last_event, hang->devices,
                   hang->checkpoint[0] != '\0' ? hang->checkpoint : "none");
    if (hang->checkpoint[0] != '\0')
        fgi_buf_puts(out, "\n  continue from it with --trainer.resume=last");
}

/* Writes the report and the stacks to the run's folder, or to the user's stream. */
static void write_file(const fg_recipe *r, const char *path, const char *report)
{
    const int other = r->options.stacks != NULL ? fileno(r->options.stacks) : -1;
    const int file =
        path[0] != '\0' ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : other;
    if (file < 0)
        return;
    if (path[0] != '\0')
        (void)dprintf(file, "%s\n", report);
    write_stacks(file);
    if (path[0] == '\0')
        return;
    (void)fsync(file);
    (void)close(file);
}

void fgi_run_hang(void *self, const fg_hang *hang)
{
    const fg_recipe *r = self;
    char path[1024] = "";
    fgi_buf report = {0};
    put_report(r, hang, &report);
    if (r->folder != NULL)
        (void)fgi_snprintf(path, sizeof path, "%s/hang.txt", r->folder);
    fgi_run_say(r, FG_LOG_ERROR, "%s", report.data != NULL ? report.data : "a hang");
    write_file(r, path, report.data != NULL ? report.data : "");
    if (path[0] != '\0')
        fgi_run_say(r, FG_LOG_ERROR, "  stacks of all threads: %s", path);
    fgi_buf_fini(&report);
    if (r->options.hang != NULL)
        r->options.hang(r->options.hang_self, hang);
}
