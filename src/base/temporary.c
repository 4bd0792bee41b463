/* temporary.c - identifies the writer of a temporary file, and whether that process is still
 * running.
 *
 * A PID is meaningless in another container or on another host, and it is reused after a restart.
 * So the name contains what distinguishes these. If the writer cannot be checked, the age of its
 * last write decides, measured with the file system's clock, because hosts' clocks differ.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

/* ---- this machine ---------------------------------------------------------------------------- */

/* The beginning of a small file; "" if it cannot be read. */
static void read_line(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, out, size - 1) : 0;
    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

void fgi_machine_name(char out[FGI_MACHINE_SIZE])
{
    char text[512], boot[64], host[256] = "", space[64] = "";
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    const ssize_t got = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[got > 0 ? got : 0] = '\0';
    const int n = snprintf(text, sizeof text, "%s|%s|%s", boot, host, space);
    (void)snprintf(out, FGI_MACHINE_SIZE, "%016llx",
                   (unsigned long long)fgi_checksum64(text, n > 0 ? (size_t)n : 0));
}

/* ---- names ----------------------------------------------------------------------------------- */

char *fgi_temporary_name(const char *path, const char *suffix)
{
    static atomic_uint count;
    char machine[FGI_MACHINE_SIZE];
    fgi_buf name = {0};
    fgi_machine_name(machine);
    fgi_buf_printf(&name, "%s.%s.%s-%ld-%u", path, suffix, machine, (long)getpid(),
                   atomic_fetch_add(&count, 1));
    char *text = fgi_buf_take(&name);
    fgi_buf_fini(&name);
    return text;
}

typedef struct owner {
    bool has_machine;
    char machine[FGI_MACHINE_SIZE];
    pid_t pid;
} owner;

static bool parse_number(const char *text, size_t size, int64_t least, int64_t most, int64_t *out)
{
    return fgi_parse_i64((fgi_str){text, size}, out) && *out >= least && *out <= most;
}

/* "MACHINE-PID-COUNT", or "PID". */
static bool parse_owner(const char *text, owner *out)
{
    int64_t pid, count;
    const size_t digits = FGI_MACHINE_SIZE - 1;
    *out = (owner){0};
    if (strspn(text, "0123456789abcdef") != digits || text[digits] != '-') {
        const bool is_pid = parse_number(text, strlen(text), 1, INT_MAX, &pid);
        out->pid = is_pid ? (pid_t)pid : 0;
        return is_pid;
    }
    memcpy(out->machine, text, digits);
    out->has_machine = true;
    text += digits + 1;
    const size_t length = strcspn(text, "-");
    if (text[length] != '-' || !parse_number(text, length, 1, INT_MAX, &pid))
        return false;
    out->pid = (pid_t)pid;
    return parse_number(text + length + 1, strlen(text + length + 1), 0, UINT_MAX, &count);
}

size_t fgi_temporary_base(const char *name, const char *suffix)
{
    owner unused;
    const char *dot = strrchr(name, '.');
    const size_t size = strlen(suffix);
    if (dot == NULL || (size_t)(dot - name) < size + 2 || !parse_owner(dot + 1, &unused))
        return 0;
    const char *before = dot - size - 1;
    if (*before != '.' || strncmp(before + 1, suffix, size) != 0)
        return 0;
    return (size_t)(before - name);
}

/* ---- age ------------------------------------------------------------------------------------- */

static void take_newer(const struct stat *info, struct timespec *newest)
{
    const struct timespec t = info->st_mtim;
    if (t.tv_sec > newest->tv_sec || (t.tv_sec == newest->tv_sec && t.tv_nsec > newest->tv_nsec))
        *newest = t;
}

/* When a file, or a folder or one of its files, was last written; false if it no longer
 * exists. */
static bool last_write(const char *path, struct timespec *out)
{
    struct stat info;
    *out = (struct timespec){0};
    if (lstat(path, &info) != 0)
        return false;
    take_newer(&info, out);
    DIR *folder = S_ISDIR(info.st_mode) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (folder != NULL &&
           (entry = readdir(folder)) != NULL) /* the stream is used by this thread only */
        if (strcmp(entry->d_name, "..") != 0 &&
            fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0)
            take_newer(&info, out);
    if (folder != NULL)
        (void)closedir(folder);
    return true;
}

/* The current time of the clock that timestamps files in the folder; false if no file can be
 * created there. */
static bool file_system_now(const char *folder, struct timespec *out)
{
    char *in = fgi_path_join(folder, "clock");
    char *path = in != NULL ? fgi_temporary_name(in, "tmp") : NULL;
    struct stat info;
    bool is_known = false;
    const int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        is_known = fstat(fd, &info) == 0;
        *out = is_known ? info.st_mtim : (struct timespec){0};
        (void)close(fd);
        (void)unlink(path);
    }
    fgi_free(path);
    fgi_free(in);
    return is_known;
}

static bool is_old(const char *folder, const char *name)
{
    struct timespec written, now;
    char *path = fgi_path_join(folder, name);
    const bool is_known = path != NULL && last_write(path, &written);
    fgi_free(path);
    return is_known && file_system_now(folder, &now) &&
           now.tv_sec - written.tv_sec > FGI_ABANDONED_AFTER_S;
}

bool fgi_temporary_is_abandoned(const char *folder, const char *name)
{
    owner who;
    char machine[FGI_MACHINE_SIZE];
    const char *dot = strrchr(name, '.');
    if (dot == NULL || !parse_owner(dot + 1, &who))
        return false;
    fgi_machine_name(machine);
    if (!who.has_machine || strcmp(who.machine, machine) != 0)
        return is_old(folder, name);
    return who.pid == getpid() || (kill(who.pid, 0) != 0 && errno == ESRCH);
}
