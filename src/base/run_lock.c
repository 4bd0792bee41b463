/* run_lock.c - the lock of a run folder, who holds it, and requests to stop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/print.h"
#include "base/text.h"

/* RUN/NAME opened; -1 and errno if that fails. */
static int open_in(const char *run_dir, const char *name, int flags)
{
    char *path = fgi_path_join(run_dir, name);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    const int fd = open(path, flags | O_CLOEXEC, 0666);
    const int why = errno;
    fgi_free(path);
    errno = why;
    return fd;
}

fgi_holder fgi_holder_read(int fd)
{
    char text[512];
    fgi_holder who = {0};
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    char *machine = strchr(text, ' ');
    char *host = machine != NULL ? strchr(machine + 1, ' ') : NULL;
    if (host == NULL)
        return who;
    *machine++ = *host++ = '\0';
    host[strcspn(host, "\n")] = '\0';
    if (!fgi_parse_i64(fgi_str_of(text), &who.pid) || who.pid <= 0 || who.pid > INT_MAX)
        who.pid = 0;
    (void)snprintf(who.machine, sizeof who.machine, "%s", machine);
    (void)snprintf(who.host, sizeof who.host, "%.255s", host);
    return who;
}

/* The lock could be taken, or there are no locks here: what its record means. */
static fgi_lock_state judge(const fgi_holder *who, bool has_locks)
{
    char machine[FGI_MACHINE_SIZE], host[256] = "";
    fgi_machine_name(machine);
    (void)gethostname(host, sizeof host - 1);
    if (strcmp(who->machine, machine) != 0) /* locks may not reach it; a restart ends processes */
        return strcmp(who->host, host) == 0 && has_locks ? FGI_LOCK_DEAD : FGI_LOCK_UNKNOWN;
    if (has_locks || who->pid == 0)
        return FGI_LOCK_DEAD;
    return kill((pid_t)who->pid, 0) == 0 || errno != ESRCH ? FGI_LOCK_HELD : FGI_LOCK_DEAD;
}

fgi_lock_state fgi_lock_look(const char *run_dir, fgi_holder *out)
{
    char byte;
    fgi_lock_state state = FGI_LOCK_FREE;
    *out = (fgi_holder){0};
    const int fd = open_in(run_dir, "lock", O_RDONLY);
    if (fd < 0)
        return FGI_LOCK_FREE;
    /* a lock that is not recorded is not tried: a fit may be about to take it */
    if (pread(fd, &byte, 1, 0) == 1) {
        *out = fgi_holder_read(fd);
        const bool is_taken = flock(fd, LOCK_SH | LOCK_NB) != 0;
        if (is_taken && errno == EWOULDBLOCK)
            state = FGI_LOCK_HELD;
        else
            state = judge(out, !is_taken);
    }
    (void)close(fd);
    return state;
}

/* ---- requests to stop ------------------------------------------------------------------------ */

fg_status fgi_stop_ask(const char *run_dir, fg_error *err)
{
    const int fd = open_in(run_dir, "stop", O_WRONLY | O_CREAT | O_NOFOLLOW);
    if (fd < 0)
        return fgi_fail_errno(err, "create the file 'stop' in", run_dir);
    (void)close(fd);
    return FG_OK;
}

bool fgi_stop_is_asked(const char *run_dir) { return fgi_exists_in(run_dir, "stop"); }

void fgi_stop_forget(const char *run_dir)
{
    char *path = fgi_path_join(run_dir, "stop");
    if (path != NULL)
        (void)unlink(path);
    fgi_free(path);
}

/* ---- holding it ------------------------------------------------------------------------------ */

static fg_status write_holder(int fd, const char *path, fg_error *err)
{
    char text[512], machine[FGI_MACHINE_SIZE], host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof host, "unknown");
    fgi_machine_name(machine);
    const int size = snprintf(text, sizeof text, "%ld %s %s\n", (long)getpid(), machine, host);
    if (ftruncate(fd, 0) != 0)
        return fgi_fail_errno(err, "write", path);
    return fgi_write_all(fd, path, text, (size_t)size, err);
}

const char *fgi_holder_words(const fgi_holder *who, char out[FGI_HOLDER_WORDS])
{
    (void)snprintf(out, FGI_HOLDER_WORDS,
                   who->pid > 0 ? "process %lld on host '%s'" : "another process",
                   (long long)who->pid, who->host);
    return out;
}

static fg_status in_use(const char *run_dir, const fgi_holder *who, fg_error *err)
{
    char by[FGI_HOLDER_WORDS];
    return fgi_fail(err, FG_EINVAL,
                    "'%s' is in use: %s is training there\n"
                    "wait until it has finished, or choose another folder",
                    run_dir, fgi_holder_words(who, by));
}

/* Without locks, a process of this machine can still be detected. */
static fg_status do_without(int fd, const char *run_dir, fg_error *err)
{
    char machine[FGI_MACHINE_SIZE];
    const fgi_holder who = fgi_holder_read(fd);
    fgi_machine_name(machine);
    if (who.pid > 0 && who.pid != getpid() && strcmp(who.machine, machine) == 0 &&
        (kill((pid_t)who.pid, 0) == 0 || errno != ESRCH))
        return in_use(run_dir, &who, err);
    return FG_OK;
}

/* Tries again for a moment: a process that looks at the lock holds it very briefly. */
static int try_lock(int fd)
{
    for (int i = 0;; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK || i == 2)
            return errno;
        fgi_sleep(0.02);
    }
}

static fg_status lock(int fd, const char *run_dir, const char *path, int *out_why, fg_error *err)
{
    const int why = try_lock(fd);
    if (why != 0) {
        if (why == EWOULDBLOCK) {
            const fgi_holder who = fgi_holder_read(fd);
            return in_use(run_dir, &who, err);
        }
        if (why != EOPNOTSUPP && why != ENOSYS && why != ENOLCK && why != EINVAL)
            return fgi_fail_errno(err, "lock", path);
        FGI_TRY(do_without(fd, run_dir, err));
        *out_why = why;
    }
    fgi_stop_forget(run_dir); /* a request to stop an earlier run */
    return write_holder(fd, path, err);
}

fg_status fgi_lock_take(const char *run_dir, int *out_fd, int *out_why, fg_error *err)
{
    fg_status status = FG_OK;
    *out_why = 0;
    FGI_TRY(fgi_folder_make(run_dir, err));
    char *path = fgi_path_join(run_dir, "lock");
    if (path == NULL)
        return fgi_no_memory(err);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        status = fgi_fail_errno(err, "open", path);
    else
        status = lock(fd, run_dir, path, out_why, err);
    if (status == FG_OK)
        *out_fd = fd;
    else if (fd >= 0)
        (void)close(fd);
    fgi_free(path);
    return status;
}

void fgi_lock_release(const char *run_dir, int fd)
{
    fgi_stop_forget(run_dir);
    (void)!ftruncate(fd, 0); /* else the lock appears to be that of a killed process */
    (void)close(fd);
}
