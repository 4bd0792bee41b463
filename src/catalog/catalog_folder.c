/* catalog_folder.c - image folders, a class per folder, and single images. Each folder is listed
 * once and sorted; the type of an entry comes with the listing, so files are not looked at one by
 * one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "catalog/draft.h"

enum { DEEPEST = 64 };

#define NOT_AN_IMAGE  "not an image (by its extension)"
#define OUTSIDE_CLASS "an image next to the folders of the classes"
#define OUTSIDE_SPLIT "next to the folders of the splits"

typedef struct place {
    dev_t device;
    ino_t number;
} place;

/* A folder is entered and left in `path`, `parents` and `depth`. */
typedef struct walk {
    fgi_draft *b;
    fgi_buf path; /* of the current folder relative to the source, ends in '/' if not empty */
    place parents[DEEPEST];
    int depth;
    uint8_t split;
    int32_t label; /* -1: none */
    fg_error *err;
} walk;

typedef enum type { IS_FILE, IS_FOLDER, IS_OTHER, IS_BROKEN } type;

typedef struct entry {
    const char *name;
    type type;
    bool is_link;
} entry;

/* The entries of a folder, sorted by bytes. */
typedef struct listing {
    int fd;
    fgi_arena names;
    entry *list;
    size_t count, capacity;
} listing;

/* ---- listing --------------------------------------------------------------------------------- */

static fg_status fail_folder(const walk *w, const char *what, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const int number = errno;
    const char *path = w->path.data != NULL ? w->path.data : "";
    return fgi_fail(err, number == ENOMEM ? FG_ENOMEM : FG_EIO, "cannot %s the folder '%s/%s': %s",
                    what, w->b->catalog->path, fgi_shown(path, shown), fgi_errno_text(number));
}

static type type_of_mode(mode_t mode)
{
    return S_ISREG(mode) ? IS_FILE : S_ISDIR(mode) ? IS_FOLDER : IS_OTHER;
}

/* Links are followed; a type is only looked up for them and on file systems without types. */
static entry entry_of(int fd, const struct dirent *e)
{
    entry out = {.name = e->d_name, .type = IS_OTHER, .is_link = e->d_type == DT_LNK};
    struct stat info;
    if (e->d_type == DT_REG)
        out.type = IS_FILE;
    else if (e->d_type == DT_DIR)
        out.type = IS_FOLDER;
    else if (e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)
        out.type = fstatat(fd, e->d_name, &info, 0) != 0 ? IS_BROKEN : type_of_mode(info.st_mode);
    return out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static fg_status add_entry(listing *l, entry e, fg_error *err)
{
    entry *list = fgi_grow(l->list, l->count, &l->capacity, sizeof(*list));
    if (list == NULL)
        return fgi_no_memory(err);
    l->list = list;
    e.name = fgi_arena_strdup(&l->names, e.name);
    if (e.name == NULL)
        return fgi_no_memory(err);
    list[l->count++] = e;
    return FG_OK;
}

static fg_status read_entries(const walk *w, DIR *folder, listing *l)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(folder); /* the stream is used by this thread only */
        if (e == NULL)
            break;
        if (e->d_name[0] != '.') /* hidden, or the folder itself */
            FGI_TRY(add_entry(l, entry_of(l->fd, e), w->err));
    }
    if (errno != 0)
        return fail_folder(w, "read", w->err);
    if (l->count > 0)
        qsort(l->list, l->count, sizeof(*l->list), by_name);
    return FG_OK;
}

static void close_listing(listing *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    fgi_free(l->list);
    fgi_arena_fini(&l->names);
}

/* Lists the folder `name` in the folder `at`. out->fd remains open; close_listing in any case. */
static fg_status open_listing(const walk *w, int at, const char *name, listing *out)
{
    *out = (listing){.fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (out->fd < 0)
        return fail_folder(w, "open", w->err);
    const int copy = fcntl(out->fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        const fg_status status = fail_folder(w, "open", w->err);
        if (copy >= 0)
            (void)close(copy);
        return status;
    }
    const fg_status status = read_entries(w, folder, out);
    (void)closedir(folder);
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The path of an entry relative to the source; valid until the path changes. NULL: no memory. */
static const char *path_of(walk *w, const char *name)
{
    const size_t before = w->path.size;
    fgi_buf_puts(&w->path, name);
    w->path.size = before; /* the text remains behind it */
    return w->path.failed ? NULL : w->path.data;
}

static fg_status skip(walk *w, const char *name, const char *reason)
{
    const char *path = path_of(w, name);
    return path == NULL ? fgi_no_memory(w->err) : fgi_draft_skip(w->b, path, reason, w->err);
}

static fg_status add_image(walk *w, const char *name)
{
    const char *path = path_of(w, name);
    fgi_sample sample = {.split = w->split};
    sample.name = path == NULL ? NULL : fgi_arena_strdup(&w->b->catalog->arena, path);
    if (sample.name == NULL)
        return fgi_no_memory(w->err);
    sample.path = sample.name;
    FGI_TRY(fgi_draft_set_labels(w->b, &sample, &w->label, w->label >= 0, w->err));
    return fgi_draft_add(w->b, &sample, w->err);
}

static fg_status add_file(walk *w, const entry *e)
{
    if (e->type == IS_BROKEN)
        return skip(w, e->name, e->is_link ? "a broken symbolic link" : "cannot be looked at");
    if (e->type != IS_FILE)
        return skip(w, e->name, "not a regular file");
    if (!fgi_is_image_name(fgi_str_of(e->name)))
        return skip(w, e->name, NOT_AN_IMAGE);
    return add_image(w, e->name);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* What is done with the entries of a folder. */
typedef fg_status visit(walk *w, const listing *l);

/* Whether the folder is one of those that are open: a loop of symbolic links. */
static bool is_parent(const walk *w, place p)
{
    for (int i = 0; i < w->depth; i++)
        if (w->parents[i].device == p.device && w->parents[i].number == p.number)
            return true;
    return false;
}

static fg_status visit_listing(walk *w, const listing *l, visit *fn)
{
    struct stat info;
    if (fstat(l->fd, &info) != 0)
        return fail_folder(w, "look at", w->err);
    if (w->depth == DEEPEST)
        return fgi_fail(w->err, FG_EUNSUPPORTED, "'%s': folders are nested more than %d deep",
                        w->b->catalog->path, DEEPEST);
    w->parents[w->depth++] = (place){info.st_dev, info.st_ino};
    const fg_status status = fn(w, l);
    w->depth--;
    return status;
}

/* Whether an entry is a link to a folder that is open. */
static bool is_loop(const walk *w, int at, const entry *e)
{
    struct stat info;
    return e->is_link && fstatat(at, e->name, &info, 0) == 0 &&
           is_parent(w, (place){info.st_dev, info.st_ino});
}

/* Calls fn for the folder `e` in the open folder `at`. */
static fg_status enter(walk *w, int at, const entry *e, visit *fn)
{
    if (is_loop(w, at, e))
        return skip(w, e->name, "a symbolic link to a folder that contains it");
    const size_t before = w->path.size;
    fgi_buf_puts(&w->path, e->name);
    fgi_buf_putc(&w->path, '/');
    FGI_TRY(fgi_buf_status(&w->path, w->err));
    listing l;
    fg_status status = open_listing(w, at, e->name, &l);
    if (status == FG_OK)
        status = visit_listing(w, &l, fn);
    close_listing(&l);
    w->path.size = before;
    w->path.data[before] = '\0';
    return status;
}

/* All images below a folder belong to the class of the walk. */
static fg_status visit_images(walk *w, const listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].type == IS_FOLDER)
            FGI_TRY(enter(w, l->fd, &l->list[i], visit_images));
        else
            FGI_TRY(add_file(w, &l->list[i]));
    return FG_OK;
}

static fg_status enter_class(walk *w, int at, const entry *e)
{
    const size_t before = w->b->catalog->count;
    if (is_loop(w, at, e))
        return skip(w, e->name, "a symbolic link to a folder that contains it");
    FGI_TRY(fgi_draft_label(w->b, fgi_str_of(e->name), FGI_LABEL_NAME, &w->label, w->err));
    FGI_TRY(enter(w, at, e, visit_images));
    w->label = -1;
    return w->b->catalog->count > before ? FG_OK : skip(w, e->name, "a class without images");
}

static size_t count_folders(const listing *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        count += l->list[i].type == IS_FOLDER;
    return count;
}

/* The folders in it are classes, if there are any. */
static fg_status visit_classes(walk *w, const listing *l)
{
    w->label = -1;
    if (w->b->options->no_classes || count_folders(l) == 0)
        return visit_images(w, l);
    for (size_t i = 0; i < l->count; i++) {
        const entry *e = &l->list[i];
        if (e->type == IS_FOLDER)
            FGI_TRY(enter_class(w, l->fd, e));
        else if (e->type == IS_FILE && fgi_is_image_name(fgi_str_of(e->name)))
            FGI_TRY(skip(w, e->name, OUTSIDE_CLASS));
        else
            FGI_TRY(add_file(w, e)); /* lists it as skipped */
    }
    return FG_OK;
}

static bool has_splits(const walk *w, const listing *l)
{
    bool has = !w->b->options->no_split_folders;
    for (size_t i = 0; i < l->count; i++)
        has &= l->list[i].type != IS_FOLDER ||
               fgi_split_of_name(fgi_str_of(l->list[i].name)) != FG_CATALOG_NO_SPLIT;
    return has && count_folders(l) > 0;
}

static fg_status visit_root(walk *w, const listing *l)
{
    if (!has_splits(w, l))
        return visit_classes(w, l);
    for (size_t i = 0; i < l->count; i++) {
        w->split = fgi_split_of_name(fgi_str_of(l->list[i].name));
        if (l->list[i].type == IS_FOLDER)
            FGI_TRY(enter(w, l->fd, &l->list[i], visit_classes));
        else
            FGI_TRY(skip(w, l->list[i].name, OUTSIDE_SPLIT));
    }
    return FG_OK;
}

static bool is_image_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return fgi_is_image_name(fgi_str_of(slash == NULL ? path : slash + 1));
}

/* An image is a source with one sample, which has no label. */
static fg_status open_image(fgi_draft *b, const char *path, fg_error *err)
{
    fg_catalog *c = b->catalog;
    walk w = {.b = b, .split = FG_CATALOG_NO_SPLIT, .label = -1, .err = err};
    const char *slash = strrchr(path, '/');
    fgi_str folder = {".", 1};
    if (slash != NULL)
        folder = (fgi_str){path, slash == path ? 1 : (size_t)(slash - path)};
    FGI_TRY(fgi_draft_text(b, folder, &c->folder, err));
    c->folder_fd = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->folder_fd < 0)
        return fgi_fail_errno(err, "open the folder", c->folder);
    const fg_status status = add_image(&w, slash == NULL ? path : slash + 1);
    fgi_buf_fini(&w.path);
    return status;
}

static fg_status open_folder(fgi_draft *b, const char *path, fg_error *err)
{
    struct stat info;
    fg_catalog *c = b->catalog;
    if (is_image_path(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return open_image(b, path, err);
    walk w = {.b = b, .split = FG_CATALOG_NO_SPLIT, .label = -1, .err = err};
    c->folder = c->path;
    c->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->folder_fd < 0)
        return fgi_fail_errno(err, "open the folder", path);
    listing l;
    fg_status status = open_listing(&w, c->folder_fd, ".", &l);
    if (status == FG_OK)
        status = visit_listing(&w, &l, visit_root);
    close_listing(&l);
    fgi_buf_fini(&w.path);
    return status;
}

const fgi_catalog_kind fgi_catalog_folder_row = {
    .name = "folder",
    .help = "image folder: a folder per class, optionally in train, val and test; or one image",
    .target = "a folder for each class",
    .is_file = is_image_path,
    .open = open_folder,
    .read = fgi_read_sample_file,
};
