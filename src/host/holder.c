/* holder.c - finds the process that is using a device.
 *
 * libtpu locks its lock file during the lifetime of its process, and its error message recommends
 * to remove that file; that would let two processes use the same chips. So the process that holds
 * the lock is reported instead: found by fcntl(F_GETLK), by /proc/locks, and by the open files of
 * all processes, since each of these is missing in some container or kernel.
 *
 * A lock of this process must not be examined by opening the file: closing any descriptor of a file
 * releases all POSIX locks of the process on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "host/tpu.h"

enum { LOCKS_MAX_BYTES = 1 << 20 };

/* ---- open files of processes ----------------------------------------------------------------- */

typedef struct search {
    const fgi_host *host;
    const fgi_tpu_scan *scan; /* NULL: search for NVIDIA's device nodes */
    int self, pid;            /* the process being examined */
    fgi_device_holder *out;
    int lock_pid; /* another process that has the lock file open */
    bool has_own_lock_file;
} search;

static bool is_node(const search *s, const char *target)
{
    if (!s->scan)
        return strncmp(target, "/dev/nvidia", 11) == 0 && fgi_host_is_number(target + 11);
    for (int i = 0; i < s->scan->node_count && i < FGI_TPU_NODES_MAX; i++) {
        if (strcmp(s->scan->nodes[i], target) == 0)
            return true;
    }
    return false;
}

static bool look_at_file(void *self, const char *name)
{
    search *s = self;
    char path[64], target[128];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%.16s", s->pid, name);
    if (!fgi_host_link(s->host, path, target, sizeof target))
        return true;
    if (strcmp(target, FGI_TPU_LOCK) == 0) {
        if (s->pid == s->self)
            s->has_own_lock_file = true;
        else
            s->lock_pid = s->pid;
    } else if (s->pid != s->self && s->out->pid == 0 && is_node(s, target)) {
        s->out->pid = s->pid;
        (void)snprintf(s->out->what, sizeof s->out->what, "%.63s", target);
    }
    return true;
}

static bool look_at_process(void *self, const char *name)
{
    search *s = self;
    char path[64];
    if (!fgi_host_is_number(name) || strlen(name) > 9)
        return true;
    s->pid = (int)strtol(name, NULL, 10);
    (void)snprintf(path, sizeof path, "/proc/%d/fd", s->pid);
    if (!fgi_host_list(s->host, path, look_at_file, s))
        s->out->unreadable++;
    return true;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* The process in a line of /proc/locks that has locked the file, or -1: "2: POSIX  ADVISORY  WRITE
 * 812 08:01:131077 0 EOF". Lines with an arrow are waiting processes. */
static int pid_of_line(char *line, const struct stat *file)
{
    char *word[8], *rest = line;
    int count = 0;
    for (char *w = strsep(&rest, " "); w && count < 8; w = strsep(&rest, " ")) {
        if (*w)
            word[count++] = w;
    }
    if (count < 6 || strcmp(word[1], "->") == 0)
        return -1;
    char *colon, *inode;
    const unsigned long device = strtoul(word[5], &colon, 16);
    const unsigned long low = *colon == ':' ? strtoul(colon + 1, &inode, 16) : 0;
    if (*colon != ':' || *inode != ':' || strtoull(inode + 1, NULL, 10) != file->st_ino)
        return -1;
    /* On some file systems the device number differs from that of stat: the inode is decisive there
     */
    if (device != 0 && (device != major(file->st_dev) || low != minor(file->st_dev)))
        return -1;
    const long pid = strtol(word[4], NULL, 10);
    return pid > 0 ? (int)pid : 0;
}

/* -1: no process; 0: a process that is not visible. */
static int holder_in_proc(const fgi_host *host, const struct stat *file)
{
    int pid = -1;
    char *text = fgi_alloc(LOCKS_MAX_BYTES), *rest = text;
    if (text && fgi_host_read(host, "/proc/locks", text, LOCKS_MAX_BYTES)) {
        for (char *line = strsep(&rest, "\n"); line && pid < 0; line = strsep(&rest, "\n"))
            pid = pid_of_line(line, file);
    }
    fgi_free(text);
    return pid;
}

/* The same by querying the kernel; -2 if that is not possible. */
static int holder_by_fcntl(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -2;
    const bool is_known = fcntl(fd, F_GETLK, &lock) == 0;
    (void)close(fd);
    if (!is_known || lock.l_type == F_UNLCK)
        return is_known ? -1 : -2;
    return lock.l_pid > 0 ? lock.l_pid : 0;
}

static void look_at_lock(search *s)
{
    char path[FGI_HOST_PATH_MAX];
    struct stat file;
    fgi_host_path(s->host, FGI_TPU_LOCK, path);
    if (stat(path, &file) != 0 || s->has_own_lock_file)
        return;
    int pid = holder_in_proc(s->host, &file), holder = 0;
    if (pid <= 0) {
        holder = holder_by_fcntl(path);
        pid = holder >= 0 ? holder : pid;
    }
    if (pid == 0 && s->lock_pid > 0)
        pid = s->lock_pid;
    if (pid < 0) {
        s->out->is_left_lock = holder == -1 && s->lock_pid == 0; /* report only what is certain */
        return;
    }
    s->out->pid = pid;
    (void)snprintf(s->out->what, sizeof s->out->what, FGI_TPU_LOCK);
}

/* ---- finding the process --------------------------------------------------------------------- */

static void read_name(const fgi_host *host, fgi_device_holder *holder)
{
    char path[64], whole[FGI_HOST_PATH_MAX], text[sizeof holder->name] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", holder->pid);
    fgi_host_path(host, path, whole);
    const int fd = open(whole, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        (void)close(fd);
    while (got > 0 && text[got - 1] == '\0')
        got--;
    for (ssize_t i = 0; i < got; i++) {
        if ((unsigned char)text[i] < ' ') /* arguments are separated by NUL there */
            text[i] = ' ';
    }
    (void)snprintf(holder->name, sizeof holder->name, "%s", text);
    (void)snprintf(path, sizeof path, "/proc/%d/comm", holder->pid);
    if (!holder->name[0])
        (void)fgi_host_read(host, path, holder->name, sizeof holder->name);
}

bool fgi_host_device_holder(const fgi_host *host, const char *accelerator, fgi_device_holder *out)
{
    fgi_tpu_scan scan;
    search s = {.host = host, .out = out, .self = (int)getpid()};
    *out = (fgi_device_holder){0};
    if (strcmp(accelerator, "tpu") == 0) {
        fgi_host_tpu_scan(host, &scan);
        s.scan = &scan;
    }
    (void)fgi_host_list(host, "/proc", look_at_process, &s);
    if (s.scan && out->what[0] == '\0')
        look_at_lock(&s);
    if (out->pid > 0)
        read_name(host, out);
    return out->what[0] != '\0';
}

void fgi_host_holder_text(const fgi_device_holder *holder, char *out, size_t size)
{
    const bool is_named = holder->name[0] != '\0';
    if (holder->pid > 0)
        (void)snprintf(out, size,
                       "process %d%s%s%s is using %s; wait until it exits, or stop it: kill %d",
                       holder->pid, is_named ? " (" : "", holder->name, is_named ? ")" : "",
                       holder->what, holder->pid);
    else if (holder->what[0])
        (void)snprintf(
            out, size,
            "a process that is not visible from here (in another container?) is using %s",
            holder->what);
    else if (holder->is_left_lock)
        (void)snprintf(
            out, size,
            "no process is using a chip%s; %s is a stale lock file and can be removed: rm %s",
            holder->unreadable > 0 ? " that this user can see" : "", FGI_TPU_LOCK, FGI_TPU_LOCK);
    else
        (void)snprintf(out, size, "no process is using a device%s",
                       holder->unreadable > 0 ? " that this user can see (root sees all)" : "");
}

void fgi_host_tpu_explain(const fgi_host *host, const char *words, char *out, size_t size)
{
    fgi_tpu_scan scan;
    fgi_device_holder holder;
    char text[512];
    const char *advice = strstr(words, ". Run \"$ sudo rm");
    const int length = advice ? (int)(advice - words) : (int)strlen(words);
    fgi_host_tpu_scan(host, &scan);
    const bool is_held = fgi_host_device_holder(host, "tpu", &holder);
    if ((is_held && (advice || scan.chips > 0)) || (advice && holder.is_left_lock)) {
        fgi_host_holder_text(&holder, text, sizeof text);
        (void)snprintf(out, size, "%s%s; libtpu says: %.*s", is_held ? "libtpu is in use: " : "",
                       text, length, words);
    } else if (scan.chips == 0) {
        fgi_host_tpu_looked(host, &scan, text, sizeof text);
        (void)snprintf(out, size, "this machine has no visible TPU (%s); libtpu says: %.*s", text,
                       length, words);
    } else {
        (void)snprintf(out, size, "this machine has %d TPU chip%s%s%s, but libtpu says: %.*s",
                       scan.chips, fgi_s(scan.chips), scan.generation ? " of " : "",
                       scan.generation ? scan.generation : "", length, words);
    }
}
