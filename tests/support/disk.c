/* disk.c - the record of disk.h, and its replay: a tree of nodes, each with the content and the
 * names it has and those it has been synced with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fgt.h"

enum { MOST_CALLS = 20000, MOST_NODES = 20000, MOST_NAMES = 64 };

/* ---- the record ------------------------------------------------------------------------------ */

typedef enum kind {
    CREATE,
    WRITE,
    WRITE_AT,
    TRUNCATE,
    SYNC,
    RENAME,
    EXCHANGE,
    UNLINK,
    MKDIR,
    PROMISE
} kind;

typedef struct call {
    kind kind;
    char *path, *other; /* below the root */
    char *data;
    size_t size;
    long value; /* of a promise; the position of WRITE_AT */
} call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static bool is_recording, has_no_exchange;
static call calls[MOST_CALLS];
static size_t call_count;

/* The part of a path below the root, "" for the root itself; NULL for other paths. */
static const char *below(const char *path)
{
    const size_t size = strlen(root);
    if (!is_recording || strncmp(path, root, size) != 0)
        return NULL;
    if (path[size] == '\0')
        return path + size;
    return path[size] == '/' ? path + size + 1 : NULL;
}

static void add(kind what, const char *path, const char *other, const void *data, size_t size)
{
    if (call_count == MOST_CALLS)
        abort();
    call *c = &calls[call_count++];
    *c = (call){.kind = what, .size = size};
    c->path = strdup(path);
    c->other = other != NULL ? strdup(other) : NULL;
    if (data != NULL && size > 0) {
        c->data = malloc(size);
        if (c->data == NULL)
            abort();
        memcpy(c->data, data, size);
    }
}

/* Where an open file is now; false when it is not below the root, or no longer has a name. */
static bool path_of(int fd, char out[PATH_MAX])
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(name, out, PATH_MAX - 1);
    out[size > 0 ? size : 0] = '\0';
    return size > 0 && below(out) != NULL;
}

void disk_record(const char *folder)
{
    (void)pthread_mutex_lock(&lock);
    if (realpath(folder, root) == NULL)
        abort();
    for (size_t i = 0; i < call_count; i++) {
        free(calls[i].path);
        free(calls[i].other);
        free(calls[i].data);
    }
    call_count = 0;
    is_recording = true;
    (void)pthread_mutex_unlock(&lock);
}

size_t disk_stop(void)
{
    (void)pthread_mutex_lock(&lock);
    is_recording = false;
    (void)pthread_mutex_unlock(&lock);
    return call_count;
}

void disk_set_exchange(bool is_possible) { has_no_exchange = !is_possible; }

void disk_promise(long value)
{
    (void)pthread_mutex_lock(&lock);
    if (is_recording) {
        add(PROMISE, "", NULL, NULL, 0);
        calls[call_count - 1].value = value;
    }
    (void)pthread_mutex_unlock(&lock);
}

long disk_promised(size_t count)
{
    long value = 0;
    for (size_t i = 0; i < count; i++)
        if (calls[i].kind == PROMISE)
            value = calls[i].value;
    return value;
}

const char *disk_call(size_t number)
{
    static char text[PATH_MAX];
    static const char *const names[] = {"create", "write",    "pwrite", "truncate", "sync",
                                        "rename", "exchange", "unlink", "mkdir",    "promise"};
    if (number >= call_count)
        return "(the end)";
    (void)snprintf(text, sizeof text, "%s %s", names[calls[number].kind], calls[number].path);
    return text;
}

/* ---- the system calls ------------------------------------------------------------------------ */

/* a function pointer out of dlsym, without the cast that ISO C forbids */
#define REAL(type, name)                                                                           \
    type function;                                                                                 \
    void *object = dlsym(RTLD_NEXT, name);                                                         \
    memcpy(&function, &object, sizeof function)

int open(const char *path, int flags, ...)
{
    typedef int open_fn(const char *, int, ...);
    mode_t mode = 0;
    va_list rest;
    REAL(open_fn *, "open");
    if ((flags & O_CREAT) != 0) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    (void)pthread_mutex_lock(&lock);
    const bool was_there = access(path, F_OK) == 0;
    const int fd = function(path, flags, mode);
    const char *name = below(path);
    if (fd >= 0 && name != NULL && (flags & O_CREAT) != 0 && !was_there)
        add(CREATE, name, NULL, NULL, 0);
    else if (fd >= 0 && name != NULL && (flags & O_TRUNC) != 0)
        add(TRUNCATE, name, NULL, NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return fd;
}

ssize_t write(int fd, const void *data, size_t size)
{
    typedef ssize_t write_fn(int, const void *, size_t);
    char path[PATH_MAX];
    REAL(write_fn *, "write");
    (void)pthread_mutex_lock(&lock);
    const ssize_t done = function(fd, data, size);
    if (done > 0 && is_recording && path_of(fd, path))
        add(WRITE, below(path), NULL, data, (size_t)done);
    (void)pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    typedef ssize_t pwrite_fn(int, const void *, size_t, off_t);
    char path[PATH_MAX];
    REAL(pwrite_fn *, "pwrite");
    (void)pthread_mutex_lock(&lock);
    const ssize_t done = function(fd, data, size, offset);
    if (done > 0 && is_recording && path_of(fd, path)) {
        add(WRITE_AT, below(path), NULL, data, (size_t)done);
        calls[call_count - 1].value = (long)offset;
    }
    (void)pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size)
{
    typedef int ftruncate_fn(int, off_t);
    char path[PATH_MAX];
    REAL(ftruncate_fn *, "ftruncate");
    (void)pthread_mutex_lock(&lock);
    const int result = function(fd, size);
    if (result == 0 && is_recording && path_of(fd, path))
        add(TRUNCATE, below(path), NULL, NULL, (size_t)size);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

static void synced(int fd)
{
    char path[PATH_MAX];
    if (is_recording && path_of(fd, path))
        add(SYNC, below(path), NULL, NULL, 0);
}

/* The disk itself need not be waited for: only the record counts. */
int fsync(int fd)
{
    const int result = fcntl(fd, F_GETFD) < 0 ? -1 : 0;
    (void)pthread_mutex_lock(&lock);
    synced(fd);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd) { return fsync(fd); }

int rename(const char *from, const char *to)
{
    typedef int rename_fn(const char *, const char *);
    REAL(rename_fn *, "rename");
    (void)pthread_mutex_lock(&lock);
    const int result = function(from, to);
    if (result == 0 && below(from) != NULL)
        add(RENAME, below(from), below(to), NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    typedef int renameat2_fn(int, const char *, int, const char *, unsigned);
    REAL(renameat2_fn *, "renameat2");
    (void)pthread_mutex_lock(&lock);
    const int result = has_no_exchange ? -1 : function(from_fd, from, to_fd, to, flags);
    if (has_no_exchange)
        errno = EINVAL;
    if (result == 0 && below(from) != NULL)
        add(EXCHANGE, below(from), below(to), NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path)
{
    typedef int unlink_fn(const char *);
    REAL(unlink_fn *, "unlink");
    (void)pthread_mutex_lock(&lock);
    const int result = function(path);
    if (result == 0 && below(path) != NULL)
        add(UNLINK, below(path), NULL, NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int rmdir(const char *path)
{
    typedef int rmdir_fn(const char *);
    REAL(rmdir_fn *, "rmdir");
    (void)pthread_mutex_lock(&lock);
    const int result = function(path);
    if (result == 0 && below(path) != NULL)
        add(UNLINK, below(path), NULL, NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    typedef int mkdir_fn(const char *, mode_t);
    REAL(mkdir_fn *, "mkdir");
    (void)pthread_mutex_lock(&lock);
    const int result = function(path, mode);
    if (result == 0 && below(path) != NULL)
        add(MKDIR, below(path), NULL, NULL, 0);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

/* ---- the replay ------------------------------------------------------------------------------ */

typedef struct names {
    char *name[MOST_NAMES];
    int node[MOST_NAMES];
    int count;
} names;

typedef struct node {
    bool is_folder;
    char *data; /* now; the first `synced_size` bytes of `synced` are on the disk */
    size_t size;
    char *synced;
    size_t synced_size;
    names *now, *durable; /* of a folder */
} node;

static node nodes[MOST_NODES];
static int node_count;

static int new_node(bool is_folder)
{
    if (node_count == MOST_NODES)
        abort();
    node *n = &nodes[node_count];
    *n = (node){.is_folder = is_folder};
    if (is_folder) {
        n->now = calloc(1, sizeof *n->now);
        n->durable = calloc(1, sizeof *n->durable);
    }
    return node_count++;
}

static void clear_names(names *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->name[i]);
    n->count = 0;
}

static void forget_nodes(void)
{
    for (int i = 0; i < node_count; i++) {
        if (nodes[i].is_folder) {
            clear_names(nodes[i].now);
            clear_names(nodes[i].durable);
        }
        free(nodes[i].now);
        free(nodes[i].durable);
        free(nodes[i].data);
        free(nodes[i].synced);
    }
    node_count = 0;
}

static void put_name(names *n, const char *name, int number)
{
    if (n->count == MOST_NAMES)
        abort();
    n->name[n->count] = strdup(name);
    n->node[n->count++] = number;
}

static int find_name(const names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->name[i], name) == 0)
            return i;
    return -1;
}

static void drop_name(names *n, const char *name)
{
    const int i = find_name(n, name);
    if (i < 0)
        return;
    free(n->name[i]);
    n->count--;
    n->name[i] = n->name[n->count];
    n->node[i] = n->node[n->count];
}

/* The folder that holds a path, and the path's last part; the root for "". */
static names *folder_of(const char *path, const char **out_last)
{
    int at = 0;
    const char *slash;
    while ((slash = strchr(path, '/')) != NULL) {
        char part[NAME_MAX + 1];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        const int i = find_name(nodes[at].now, part);
        assert_true(i >= 0);
        at = nodes[at].now->node[i];
        path = slash + 1;
    }
    *out_last = path;
    return nodes[at].now;
}

/* The node of a path; -1 when there is none, as for a file that was there before the record. */
static int node_of(const char *path)
{
    const char *last;
    if (*path == '\0')
        return 0;
    const names *folder = folder_of(path, &last);
    const int i = find_name(folder, last);
    return i >= 0 ? folder->node[i] : -1;
}

static void sync_node(node *n)
{
    if (n->is_folder) {
        clear_names(n->durable);
        for (int i = 0; i < n->now->count; i++)
            put_name(n->durable, n->now->name[i], n->now->node[i]);
        return;
    }
    free(n->synced);
    n->synced = malloc(n->size + 1);
    assert_non_null(n->synced);
    if (n->size > 0)
        memcpy(n->synced, n->data, n->size);
    n->synced_size = n->size;
}

static void append(node *n, const call *c)
{
    char *grown = realloc(n->data, n->size + c->size + 1);
    assert_non_null(grown);
    memcpy(grown + n->size, c->data, c->size);
    n->data = grown;
    n->size += c->size;
}

static void write_at(node *n, const call *c)
{
    const size_t at = (size_t)c->value, end = at + c->size;
    if (end > n->size) {
        n->data = realloc(n->data, end + 1);
        assert_non_null(n->data);
        memset(n->data + n->size, 0, end - n->size);
        n->size = end;
    }
    memcpy(n->data + at, c->data, c->size);
}

static void move_name(const call *c)
{
    const char *from, *to;
    const int moved = node_of(c->path), replaced = node_of(c->other);
    names *source = folder_of(c->path, &from), *target = folder_of(c->other, &to);
    drop_name(source, from);
    drop_name(target, to);
    put_name(target, to, moved);
    if (c->kind == EXCHANGE)
        put_name(source, from, replaced);
}

static void replay(const call *c)
{
    const char *last;
    switch (c->kind) {
    case CREATE:
    case MKDIR: {
        names *folder = folder_of(c->path, &last);
        put_name(folder, last, new_node(c->kind == MKDIR));
        break;
    }
    case WRITE: append(&nodes[node_of(c->path)], c); break;
    case WRITE_AT: write_at(&nodes[node_of(c->path)], c); break;
    case TRUNCATE: {
        node *n = &nodes[node_of(c->path)];
        n->size = c->size < n->size ? c->size : n->size;
        break;
    }
    case SYNC: sync_node(&nodes[node_of(c->path)]); break;
    case RENAME:
    case EXCHANGE: move_name(c); break;
    case UNLINK: {
        names *folder = folder_of(c->path, &last);
        drop_name(folder, last);
        break;
    }
    case PROMISE: break;
    }
}

static void make(int number, disk_names which, const char *path)
{
    const node *n = &nodes[number];
    if (!n->is_folder) {
        fgt_write(path, n->synced != NULL ? n->synced : "", n->synced_size);
        return;
    }
    if (number != 0)
        assert_int_equal(mkdir(path, 0700), 0);
    const names *found = which == DISK_ALL_NAMES ? n->now : n->durable;
    for (int i = 0; i < found->count; i++) {
        char inner[PATH_MAX];
        (void)snprintf(inner, sizeof inner, "%s/%s", path, found->name[i]);
        make(found->node[i], which, inner);
    }
}

void disk_restore(size_t count, disk_names which, const char *folder)
{
    assert_false(is_recording);
    forget_nodes();
    (void)new_node(true);
    for (size_t i = 0; i < count; i++)
        replay(&calls[i]);
    make(0, which, folder);
    forget_nodes();
}
