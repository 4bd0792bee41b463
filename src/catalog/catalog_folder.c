/* catalog_folder.c - image folders, a class per folder, and single images. Each folder is listed
 * once and sorted; the type of an entry comes with the listing, so files are not looked at one by
 * one.
 *
 * Which folders are splits and classes follows from their names and their depth. A layout that is
 * probably a mistake, such as classes next to splits, is an error; others are noted.
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
#include "base/text.h"
#include "catalog/draft.h"

enum { DEEPEST = 64 };

#define OUTSIDE_CLASS       "an image next to the folders of the classes"
#define IMAGE_OUTSIDE_SPLIT "an image next to the folders of the splits"
#define NO_IMAGES           "a folder without images, which is not a class"

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
    const char *class_name; /* of the folder that is visited; NULL: none */
    int class_depth;        /* `depth` of the images directly in it */
    int32_t label;          /* -1: none, or its first image has not been found */
    const char
        *deep_class; /* the first class with images only in folders in it, and one of these */
    const char *deep_image;
    const char *below;     /* the first image in a folder of a class */
    int64_t flat_count;    /* classes with images directly in their folder */
    int64_t deep_count;    /* and without */
    int64_t below_count;   /* images */
    int64_t here_count;    /* images directly in the folder of the class */
    int64_t foreign_count; /* images of formats that are not supported, in the class */
    const char *foreign;   /* the extension of the last one */
    fg_error *err;
} walk;

/* IS_SYSTEM: a folder that is never data. */
typedef enum type { IS_FILE, IS_FOLDER, IS_SYSTEM, IS_OTHER, IS_BROKEN } type;

typedef struct entry {
    const char *name;
    type type;
    bool is_link;
} entry;

/* The entries of a folder, sorted by bytes. */
typedef struct listing {
    int fd;
    DIR *folder; /* of fd */
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
    if (out.type == IS_FOLDER && fgi_is_system_folder(e->d_name))
        out.type = IS_SYSTEM;
    return out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static fg_status add_entry(listing *l, entry e, fg_error *err)
{
    FGI_TRY_GROW(l->list, l->count, l->capacity, err);
    e.name = fgi_arena_strdup(&l->names, e.name);
    if (e.name == NULL)
        return fgi_no_memory(err);
    l->list[l->count++] = e;
    return FG_OK;
}

static fg_status read_entries(const walk *w, listing *l)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(l->folder); /* the stream is used by this thread only */
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
    if (l->folder != NULL)
        (void)closedir(l->folder);
    fgi_free(l->list);
    fgi_arena_fini(&l->names);
}

/* Lists the folder `name` in the folder `at`. out->fd remains open; close_listing in any case. */
static fg_status open_listing(const walk *w, int at, const char *name, listing *out)
{
    *out = (listing){.folder = fgi_folder_open_at(at, name, 0)};
    if (out->folder == NULL)
        return fail_folder(w, "open", w->err);
    out->fd = dirfd(out->folder);
    return read_entries(w, out);
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

/* Counts an image of the class. Its label is created with the first one, so a folder without
 * images is not a class. */
static fg_status count_image(walk *w, const char *name)
{
    if (w->class_name == NULL)
        return FG_OK;
    if (w->label < 0)
        FGI_TRY(
            fgi_draft_label(w->b, fgi_str_of(w->class_name), FGI_LABEL_NAME, &w->label, w->err));
    w->here_count += w->depth == w->class_depth;
    if (w->depth > w->class_depth && w->below_count++ == 0)
        w->below = name;
    return FG_OK;
}

static fg_status add_image(walk *w, const char *name)
{
    const char *path = path_of(w, name);
    fgi_sample sample = {.split = w->split};
    sample.name = path == NULL ? NULL : fgi_arena_strdup(&w->b->catalog->arena, path);
    if (sample.name == NULL)
        return fgi_no_memory(w->err);
    sample.path = sample.name;
    FGI_TRY(count_image(w, sample.name));
    FGI_TRY(fgi_draft_set_labels(w->b, &sample, &w->label, w->label >= 0, w->err));
    return fgi_draft_add(w->b, &sample, w->err);
}

static fg_status add_file(walk *w, const entry *e)
{
    if (e->type == IS_BROKEN)
        return skip(w, e->name, e->is_link ? "a broken symbolic link" : "cannot be accessed");
    if (e->type == IS_SYSTEM)
        return skip(w, e->name, FGI_SYSTEM_FOLDER);
    if (e->type != IS_FILE)
        return skip(w, e->name, "not a regular file");
    if (fgi_is_image_name(fgi_str_of(e->name)))
        return add_image(w, e->name);
    const char *foreign = fgi_foreign_image(e->name);
    w->foreign = foreign != NULL ? foreign : w->foreign;
    w->foreign_count += foreign != NULL;
    return skip(w, e->name, FGI_NOT_AN_IMAGE);
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
        return fail_folder(w, "access", w->err);
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

static bool is_given_class(const walk *w, const char *name)
{
    return fgi_is_given_class(w->b->options, fgi_str_of(name));
}

static uint8_t split_of(const walk *w, const entry *e)
{
    const bool is_none = w->b->options->no_split_folders || e->type != IS_FOLDER;
    return is_none || is_given_class(w, e->name) ? FG_CATALOG_NO_SPLIT
                                                 : fgi_split_of_name(fgi_str_of(e->name));
}

/* Splits in the folders of classes would be mixed. */
static fg_status check_split_in_class(const walk *w, const entry *e)
{
    if (w->class_name == NULL || w->depth != w->class_depth || w->split != FG_CATALOG_NO_SPLIT ||
        split_of(w, e) == FG_CATALOG_NO_SPLIT)
        return FG_OK;
    return fgi_fail(w->err, FG_EFORMAT,
                    "'%.120s': the folder of the class '%.60s' contains '%s', which is named as a "
                    "split\nmove the folders of the classes into those of the splits (%s/%.60s); "
                    "if it is not a split, set " FGI_NO_SPLIT_FOLDERS,
                    w->b->catalog->path, w->class_name, e->name, e->name, w->class_name);
}

/* All images below a folder belong to the class of the walk. */
static fg_status visit_images(walk *w, const listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const entry *e = &l->list[i];
        if (e->type != IS_FOLDER) {
            FGI_TRY(add_file(w, e));
            continue;
        }
        FGI_TRY(check_split_in_class(w, e));
        FGI_TRY(enter(w, l->fd, e, visit_images));
    }
    return FG_OK;
}

/* A class whose images are all of a format that is not supported. */
static fg_status check_foreign(const walk *w, const char *name)
{
    char shown[FGI_SHOWN_BYTES];
    if (w->foreign_count == 0 || w->b->options->class_names != NULL)
        return FG_OK;
    return fgi_fail(w->err, FG_EFORMAT,
                    "'%.120s': the folder '%s' contains no images that can be read, but %lld .%s "
                    "file%s\nconvert them to JPEG or PNG, or move the folder elsewhere",
                    w->b->catalog->path, fgi_shown(name, shown), (long long)w->foreign_count,
                    w->foreign, fgi_s(w->foreign_count));
}

/* After the images of a class. */
static fg_status end_class(walk *w, const entry *e, size_t before)
{
    if (w->b->catalog->count == before) {
        FGI_TRY(check_foreign(w, e->name));
        return skip(w, e->name, NO_IMAGES);
    }
    w->flat_count += w->here_count > 0;
    if (w->here_count > 0 || w->deep_count++ > 0)
        return FG_OK;
    w->deep_image = w->b->catalog->samples[before].name;
    w->deep_class = fgi_arena_strdup(&w->b->catalog->arena, e->name);
    return w->deep_class != NULL ? FG_OK : fgi_no_memory(w->err);
}

static fg_status enter_class(walk *w, int at, const entry *e)
{
    const size_t before = w->b->catalog->count;
    if (is_loop(w, at, e))
        return skip(w, e->name, "a symbolic link to a folder that contains it");
    w->class_name = e->name;
    w->class_depth = w->depth + 1;
    w->label = -1;
    w->here_count = w->foreign_count = 0;
    FGI_TRY(enter(w, at, e, visit_images));
    w->class_name = NULL;
    w->label = -1;
    return end_class(w, e, before);
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

/* ---- the layout ------------------------------------------------------------------------------ */

/* Whether there is an image in the folder or below it; reads no more entries than needed. True for
 * a folder that cannot be read, so that it is entered and reported, and for one that contains a
 * link to a folder, which may be a loop. */
static bool has_image(int at, const char *name, int depth)
{
    DIR *folder = fgi_folder_open_at(at, name, 0);
    if (folder == NULL)
        return true;
    const int fd = dirfd(folder);
    bool has = false;
    for (const struct dirent *next; !has && (next = readdir(folder)) != NULL;) {
        const entry e = entry_of(fd, next);
        if (*e.name == '.')
            continue;
        has = e.type == IS_FILE && fgi_is_image_name(fgi_str_of(e.name));
        if (e.type == IS_FOLDER)
            has = e.is_link || depth == DEEPEST || has_image(fd, e.name, depth + 1);
    }
    (void)closedir(folder);
    return has;
}

/* The folders of a listing that have images, up to `most`, in the order of the listing. */
static size_t find_folders(const listing *l, const entry **out, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count && count < most; i++)
        if (l->list[i].type == IS_FOLDER && has_image(l->fd, l->list[i].name, 0))
            out[count++] = &l->list[i];
    return count;
}

/* The path of the current folder, for a message. */
static const char *shown_folder(const walk *w, char shown[FGI_SHOWN_BYTES])
{
    char inner[FGI_SHOWN_BYTES];
    const bool is_root = w->path.size == 0;
    (void)fgi_snprintf(shown, FGI_SHOWN_BYTES, "%.80s%s%.60s", w->b->catalog->path,
                       is_root ? "" : "/", is_root ? "" : fgi_shown(w->path.data, inner));
    return shown;
}

/* Folders that are named as splits next to others that are not. */
static fg_status fail_mixed(const walk *w, const char *const *splits, size_t split_count,
                            const char *const *others, size_t other_count)
{
    char a[80], b[80], folder[FGI_SHOWN_BYTES];
    return fgi_fail(
        w->err, FG_EFORMAT,
        "'%s': %s %s named as %s, but %s %s not\nmove what is not a split elsewhere, or "
        "use the folder of the training images; if all are classes, set " FGI_NO_SPLIT_FOLDERS,
        shown_folder(w, folder), fgi_shown_names(splits, split_count, a, sizeof(a)),
        split_count == 1 ? "is" : "are", split_count == 1 ? "a split" : "splits",
        fgi_shown_names(others, other_count, b, sizeof(b)), other_count == 1 ? "is" : "are");
}

/* Names such as seg_train and seg_test, of at least two splits. */
static fg_status check_words(const walk *w, const listing *l)
{
    char shown[80], folder[FGI_SHOWN_BYTES];
    const char *names[2];
    size_t count = 0;
    for (size_t i = 0; i < l->count && count < 2; i++) {
        const uint8_t split =
            l->list[i].type == IS_FOLDER ? fgi_split_in_name(l->list[i].name) : FG_CATALOG_NO_SPLIT;
        if (split != FG_CATALOG_NO_SPLIT && (count == 0 || split != fgi_split_in_name(names[0])))
            names[count++] = l->list[i].name;
    }
    if (count < 2 || w->b->options->no_split_folders || w->b->options->class_names != NULL)
        return FG_OK;
    return fgi_fail(w->err, FG_EFORMAT,
                    "'%s': %s look like splits, not like classes\nuse the folder of the training "
                    "images, or rename the folders to train, val and test; if they are classes, "
                    "set " FGI_NO_SPLIT_FOLDERS,
                    shown_folder(w, folder), fgi_shown_names(names, 2, shown, sizeof(shown)));
}

/* Lists the folders with images by whether their names are those of splits. names[2 * folders] */
static void divide_folders(const walk *w, const listing *l, size_t folders, const char **names,
                           size_t *out_splits, size_t *out_others)
{
    *out_splits = *out_others = 0;
    for (size_t i = 0; i < l->count; i++) {
        const entry *e = &l->list[i];
        if (e->type != IS_FOLDER || !has_image(l->fd, e->name, 0))
            continue;
        if (split_of(w, e) != FG_CATALOG_NO_SPLIT)
            names[(*out_splits)++] = e->name;
        else
            names[folders + (*out_others)++] = e->name;
    }
}

/* Whether the folders are splits: all that have images are named so. */
static fg_status find_splits(const walk *w, const listing *l, bool *out)
{
    size_t splits = 0, others = 0;
    const size_t folders = count_folders(l);
    for (size_t i = 0; i < l->count; i++)
        splits += split_of(w, &l->list[i]) != FG_CATALOG_NO_SPLIT;
    *out = splits > 0;
    if (splits == 0 || splits == folders)
        return FG_OK;
    const char **names = fgi_alloc(2 * folders * sizeof(*names));
    if (names == NULL)
        return fgi_no_memory(w->err);
    divide_folders(w, l, folders, names, &splits, &others);
    *out = splits > 0 && others == 0;
    const fg_status status = splits > 0 && others > 0 && !w->b->options->no_classes
                                 ? fail_mixed(w, names, splits, names + folders, others)
                                 : FG_OK;
    fgi_free((void *)names);
    return status;
}

/* The content of a split may be in another folder with the name of the split. */
static fg_status visit_split(walk *w, const listing *l)
{
    const entry *only[2];
    if (!w->b->options->no_classes && find_folders(l, only, 2) == 1 &&
        split_of(w, only[0]) == w->split)
        return enter(w, l->fd, only[0], visit_classes);
    return visit_classes(w, l);
}

static fg_status visit_splits(walk *w, const listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const entry *e = &l->list[i];
        const size_t before = w->b->catalog->count;
        const bool is_image = e->type == IS_FILE && fgi_is_image_name(fgi_str_of(e->name));
        w->split = split_of(w, e);
        if (w->split != FG_CATALOG_NO_SPLIT)
            FGI_TRY(enter(w, l->fd, e, visit_split));
        else if (e->type == IS_SYSTEM)
            FGI_TRY(add_file(w, e));
        else if (e->type != IS_FOLDER)
            FGI_TRY(skip(w, e->name, is_image ? IMAGE_OUTSIDE_SPLIT : FGI_OUTSIDE_SPLIT));
        if (e->type == IS_FOLDER && w->b->catalog->count == before)
            FGI_TRY(skip(w, e->name, NO_IMAGES));
    }
    return FG_OK;
}

/* Whether a folder contains classes or splits, or a folder that does: an archive that was unpacked
 * one level too deep. */
static fg_status is_wrapper(walk *w, const listing *l, const entry *e, int depth, bool *out)
{
    const entry *inner[2];
    listing in;
    *out = false;
    fg_status status = open_listing(w, l->fd, e->name, &in);
    if (status == FG_OK && depth < DEEPEST) {
        const size_t count = find_folders(&in, inner, 2);
        *out = count == 2 || (count == 1 && split_of(w, inner[0]) != FG_CATALOG_NO_SPLIT);
        if (count == 1 && !*out)
            status = is_wrapper(w, &in, inner[0], depth + 1, out);
    }
    close_listing(&in);
    return status;
}

static fg_status visit_root(walk *w, const listing *l);

/* The only folder with images takes the place of the root. */
static fg_status visit_wrapper(walk *w, const listing *l, const entry *only)
{
    char folder[FGI_SHOWN_BYTES], inner[FGI_SHOWN_BYTES];
    FGI_TRY(fgi_draft_note(w->b, FG_LOG_WARNING, w->err,
                           "'%s' contains only one folder with images, '%s': the folders in '%s' "
                           "are used",
                           shown_folder(w, folder), fgi_shown(only->name, inner), inner));
    for (size_t i = 0; i < l->count; i++) {
        const entry *e = &l->list[i];
        if (e == only)
            FGI_TRY(enter(w, l->fd, e, visit_root));
        else if (e->type == IS_FOLDER)
            FGI_TRY(skip(w, e->name, NO_IMAGES));
        else if (e->type == IS_FILE && fgi_is_image_name(fgi_str_of(e->name)))
            FGI_TRY(skip(w, e->name, OUTSIDE_CLASS));
        else
            FGI_TRY(add_file(w, e));
    }
    return FG_OK;
}

static fg_status visit_root(walk *w, const listing *l)
{
    bool is_split = false, is_outer = false;
    const entry *only[2];
    FGI_TRY(find_splits(w, l, &is_split));
    if (is_split)
        return visit_splits(w, l);
    if (w->b->options->no_classes)
        return visit_images(w, l);
    FGI_TRY(check_words(w, l));
    if (find_folders(l, only, 2) == 1 && !is_given_class(w, only[0]->name))
        FGI_TRY(is_wrapper(w, l, only[0], 0, &is_outer));
    return is_outer ? visit_wrapper(w, l, only[0]) : visit_classes(w, l);
}

/* Notes which images are in folders below those of the classes. */
static fg_status note_depth(walk *w)
{
    char name[FGI_SHOWN_BYTES], image[FGI_SHOWN_BYTES];
    const char *folder = w->b->catalog->path;
    if (w->below_count == 0)
        return FG_OK;
    if (w->deep_count == 0)
        return fgi_draft_note(
            w->b, FG_LOG_INFO, w->err,
            "'%s': %lld image%s in folders below those of the classes belong%s to "
            "these classes, such as '%s'",
            folder, (long long)w->below_count, fgi_s(w->below_count),
            w->below_count == 1 ? "s" : "", fgi_shown(w->below, image));
    return fgi_draft_note(w->b, FG_LOG_WARNING, w->err,
                          "'%s': %lld of %lld classes have images only in inner folders, such as "
                          "'%s' of class '%s'; if the inner folders are the classes, move them up",
                          folder, (long long)w->deep_count,
                          (long long)w->deep_count + (long long)w->flat_count,
                          fgi_shown(w->deep_image, image), fgi_shown(w->deep_class, name));
}

static bool is_image_path(const char *path)
{
    return fgi_is_image_name(fgi_str_of(fgi_after_last(path, '/')));
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
    fg_catalog *c = b->catalog;
    if (is_image_path(path) && fgi_is_file(path))
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
    if (status == FG_OK)
        status = note_depth(&w);
    close_listing(&l);
    fgi_buf_fini(&w.path);
    return status;
}

const fgi_catalog_kind fgi_catalog_folder_row = {
    .name = "folder",
    .help = "image folder: a folder per class, optionally in train, val and test; or one image",
    .target = "a folder for each class, or a list of the images with their classes, which "
              "`fulgurite init` finds",
    .is_file = is_image_path,
    .open = open_folder,
    .read = fgi_read_sample_file,
};
