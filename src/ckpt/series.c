/* series.c - finds, points to, prunes and cleans up the checkpoints of a run.
 *
 * It does not assume that an earlier process exited cleanly: pointers may be missing or point to
 * missing checkpoints, folders may be partly deleted, temporary ones may be left over. It deletes
 * only what the library itself writes: the files of a checkpoint, including attachments, and
 * temporary pointers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/series.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/temporary.h"
#include "ckpt/manifest.h"

enum { POINTER_MAX_BYTES = 4096, KEPT_MAX_BYTES = 16 << 20 };
#define BEST_PREFIX "best-" /* of pointers by other metrics: "best-val_acc" */
#define KEPT_FILE   "kept"
#define SPACES      " \t\r"

/* A checkpoint that seems complete: its manifest can be read. */
typedef struct entry {
    char name[NAME_MAX + 1];
    int64_t sequence;
} entry;

typedef struct listing {
    entry *entries;
    size_t count, capacity;
    fg_error damage; /* why a checkpoint is not listed: the first of them; FG_OK: none */
} listing;

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_plain_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

/* Calls visit for each name in the folder except hidden ones. */
typedef fg_status visit_fn(void *self, const char *folder, const char *name, fg_error *err);

static fg_status walk(const char *folder, visit_fn *visit, void *self, fg_error *err)
{
    fg_status status = FG_OK;
    DIR *stream = opendir(folder);
    if (!stream)
        return fgi_fail_errno(err, "open", folder);
    for (const struct dirent *e; (e = fgi_folder_next(&stream)) != NULL;)
        if (status == FG_OK)
            status = visit(self, folder, e->d_name, err);
    return status;
}

static void discard_file(const char *folder, const char *name)
{
    char file[FGI_PATH_BYTES];
    if (fgi_path_put(folder, name, file, NULL) == FG_OK)
        (void)unlink(file);
}

/* Removes the files of a save that was interrupted before its manifest was written, including
 * attachments. */
static fg_status discard_unfinished(void *self, const char *folder, const char *name, fg_error *err)
{
    (void)self;
    (void)err;
    if (fgi_manifest_is_name(name))
        discard_file(folder, name);
    return FG_OK;
}

void fgi_ckpt_discard(const char *path)
{
    static const char *const files[] = {FGI_CKPT_MODEL_FILE, FGI_CKPT_STATE_FILE,
                                        FGI_CKPT_JSON_FILE};
    fgi_manifest manifest;
    const bool is_finished = fgi_exists_in(path, FGI_CKPT_MANIFEST_FILE);
    const bool has_names = is_finished && fgi_manifest_read(path, &manifest, NULL) == FG_OK;
    if (!is_finished) {
        const fg_status status = walk(path, discard_unfinished, NULL, NULL);
        (void)status; /* a folder that cannot be listed cannot be removed */
    }
    /* first, so that a partly removed folder is not a checkpoint */
    discard_file(path, FGI_CKPT_MANIFEST_FILE);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        discard_file(path, files[i]);
    for (size_t i = 0; has_names && i < manifest.file_count; i++)
        discard_file(path, manifest.files[i].name);
    (void)rmdir(path);
}

/* ---- listing --------------------------------------------------------------------------------- */

/* A folder without a readable manifest is a damaged checkpoint if it has another file of one. */
static void note_damage(listing *list, const char *path, const fg_error *why)
{
    if (list->damage.status == FG_OK &&
        (fgi_exists_in(path, FGI_CKPT_MODEL_FILE) || fgi_exists_in(path, FGI_CKPT_MANIFEST_FILE)))
        list->damage = *why;
}

static fg_status add_entry(listing *list, const char *folder, const char *name, fg_error *err)
{
    fgi_manifest manifest;
    fg_error why = {0};
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    const fg_status status = fgi_manifest_read(path, &manifest, &why);
    if (status == FG_ENOMEM)
        return fgi_no_memory(err);
    if (status != FG_OK) { /* something else, or a damaged checkpoint: not counted */
        note_damage(list, path, &why);
        return FG_OK;
    }
    FGI_TRY_GROW(list->entries, list->count, list->capacity, err);
    entry *added = &list->entries[list->count++];
    (void)snprintf(added->name, sizeof(added->name), "%s", name);
    added->sequence = manifest.sequence;
    return FG_OK;
}

static int newest_first(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->sequence != b->sequence)
        return a->sequence > b->sequence ? -1 : 1;
    return strcmp(b->name, a->name);
}

static fg_status list_one(void *self, const char *folder, const char *name, fg_error *err)
{
    if (fgi_temporary_base(name, "tmp") > 0)
        return FG_OK;
    return add_entry(self, folder, name, err);
}

/* The folder's checkpoints, newest first; fgi_free(list->entries). */
static fg_status list_checkpoints(const char *folder, listing *list, fg_error *err)
{
    memset(list, 0, sizeof(*list));
    const fg_status status = walk(folder, list_one, list, err);
    if (status != FG_OK) {
        fgi_free(list->entries);
        memset(list, 0, sizeof(*list));
    } else if (list->count > 0) {
        qsort(list->entries, list->count, sizeof(*list->entries), newest_first);
    }
    return status;
}

fg_status fgi_ckpt_newest_sequence(const char *folder, int64_t *out, fg_error *err)
{
    listing list;
    FGI_TRY(list_checkpoints(folder, &list, err));
    *out = list.count > 0 ? list.entries[0].sequence : 0;
    fgi_free(list.entries);
    return FG_OK;
}

/* ---- tidying --------------------------------------------------------------------------------- */

/* Whether "NAME.tmp.OWNER", with a NAME of this length, is a file: a temporary pointer, or one
 * created to read the clock. */
static bool is_temporary_file(const char *name, size_t length)
{
    static const char *const files[] = {"last", "best", KEPT_FILE, "clock"};
    if (strncmp(name, BEST_PREFIX, strlen(BEST_PREFIX)) == 0)
        return true; /* or a checkpoint, which unlink does not remove */
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strlen(files[i]) == length && strncmp(name, files[i], length) == 0)
            return true;
    return false;
}

static fg_status sweep_one(void *self, const char *folder, const char *name, fg_error *err)
{
    (void)self;
    const size_t old_length = fgi_temporary_base(name, "old");
    const size_t length = old_length > 0 ? old_length : fgi_temporary_base(name, "tmp");
    if (length == 0 || !fgi_temporary_is_abandoned(folder, name))
        return FG_OK;
    char path[FGI_PATH_BYTES], original[NAME_MAX + 1];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    (void)snprintf(original, sizeof(original), "%.*s", (int)length, name);
    if (old_length == 0 && is_temporary_file(name, length))
        (void)unlink(path);
    /* an old checkpoint that was never replaced by its successor is the only one with that name */
    if (old_length == 0 || fgi_exists_in(folder, original))
        fgi_ckpt_discard(path);
    return FG_OK;
}

fg_status fgi_ckpt_sweep(const char *folder, fg_error *err)
{
    return walk(folder, sweep_one, NULL, err);
}

/* ---- pointers -------------------------------------------------------------------------------- */

fg_status fgi_ckpt_point(const char *folder, const char *pointer, const char *name, fg_error *err)
{
    if (!is_plain_name(name))
        return fgi_fail(err, FG_EINVAL, "'%s' is not a valid checkpoint name", name);
    char path[FGI_PATH_BYTES], line[NAME_MAX + 2];
    FGI_TRY(fgi_path_put(folder, pointer, path, err));
    (void)snprintf(line, sizeof(line), "%s\n", name);
    return fgi_file_write_atomic(path, line, strlen(line), err);
}

/* The name in a pointer file, a new string. */
static fg_status read_pointer(const char *folder, const char *pointer, char **out, fg_error *err)
{
    size_t size;
    char path[FGI_PATH_BYTES];
    *out = NULL;
    FGI_TRY(fgi_path_put(folder, pointer, path, err));
    if (!fgi_file_exists(path))
        return fgi_fail(err, FG_ENOTFOUND, "there is no '%s' checkpoint in '%s'", pointer, folder);
    FGI_TRY(fgi_file_read(path, POINTER_MAX_BYTES, out, &size, err));
    while (size > 0 && ((*out)[size - 1] == '\n' || (*out)[size - 1] == ' '))
        (*out)[--size] = '\0';
    if (strlen(*out) == size && is_plain_name(*out))
        return FG_OK;
    fgi_free(*out);
    *out = NULL;
    return fgi_fail(err, FG_EFORMAT, "%s does not contain the name of a checkpoint", path);
}

fg_status fgi_ckpt_repoint(const char *folder, const char *pointer, const char *name, fg_error *err)
{
    char *present = NULL;
    if (read_pointer(folder, pointer, &present, NULL) == FG_ENOMEM)
        return fgi_no_memory(err);
    const bool is_same = name != NULL && present != NULL && strcmp(name, present) == 0;
    fgi_free(present);
    if (name == NULL)
        discard_file(folder, pointer);
    return is_same || name == NULL ? FG_OK : fgi_ckpt_point(folder, pointer, name, err);
}

/* "folder/name" if that checkpoint is intact. */
static fg_status take_whole(const char *folder, const char *name, char **out_path, fg_error *err)
{
    fg_ckpt *ckpt;
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    fg_ckpt_close(ckpt);
    *out_path = fgi_strdup(path);
    return *out_path != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status take_pointed(const char *folder, const char *pointer, char **out_path,
                              fg_error *err)
{
    char *name;
    FGI_TRY(read_pointer(folder, pointer, &name, err));
    const fg_status status = take_whole(folder, name, out_path, err);
    fgi_free(name);
    return status;
}

/* There is no checkpoint: an error, unless there has never been one. */
static fg_status check_never_saved(const char *folder, const fg_error *why, fg_error *err)
{
    if (!fgi_exists_in(folder, "last"))
        return fgi_fail(err, why->status, "%s", why->message);
    return fgi_fail(err, FG_EFORMAT,
                    "'%s/last' names a checkpoint, but there is none: %s\n"
                    "restore the checkpoint, or start a new run with overwrite instead of "
                    "resume",
                    folder, why->message);
}

/* The newest intact checkpoint. `why` says why the one that `last` points to cannot be used, which
 * is the error if there is no intact one. Steps are lost, so these are not mere warnings. */
static fg_status take_newest(const char *folder, const fg_error *why, char **out_path,
                             fg_error *err)
{
    listing list;
    fg_status tried = FG_OK;
    FGI_TRY(list_checkpoints(folder, &list, err));
    for (size_t i = 0; i < list.count && !*out_path && tried != FG_ENOMEM; i++) {
        fg_error damage = {0};
        tried = take_whole(folder, list.entries[i].name, out_path, &damage);
        if (tried == FG_OK)
            fgi_log(
                FG_LOG_ERROR,
                "checkpoint 'last' cannot be used: %s; using '%s', the newest intact checkpoint",
                why->message, *out_path);
        else if (strcmp(damage.message, why->message) != 0)
            fgi_log(FG_LOG_ERROR, "skipping a checkpoint: %s", damage.message);
    }
    fgi_free(list.entries);
    if (*out_path)
        return FG_OK;
    if (tried == FG_ENOMEM)
        return fgi_no_memory(err);
    if (why->status == FG_ENOTFOUND && list.damage.status != FG_OK)
        why = &list.damage; /* there were checkpoints: "auto" must not start from the beginning */
    if (why->status == FG_ENOTFOUND)
        return check_never_saved(folder, why, err);
    return fgi_fail(err, FG_EFORMAT, "no checkpoint in '%s' is intact: %s", folder, why->message);
}

static fg_status take_path(const char *folder, const char *which, char **out_path, fg_error *err)
{
    char inside[FGI_PATH_BYTES] = "";
    if (folder)
        FGI_TRY(fgi_path_put(folder, which, inside, err));
    const bool is_path = fgi_file_exists(which), is_inside = folder && fgi_file_exists(inside);
    if (!is_path && is_inside && strncmp(which, BEST_PREFIX, strlen(BEST_PREFIX)) == 0 &&
        fgi_is_file(inside))
        return take_pointed(folder, which, out_path, err);
    if (is_path || is_inside) {
        *out_path = fgi_strdup(is_path ? which : inside);
        return *out_path ? FG_OK : fgi_no_memory(err);
    }
    return fgi_fail(err, FG_ENOTFOUND, "no checkpoint '%s'%s%s%s", which,
                    folder ? ", neither as a path nor in '" : "", folder ? folder : "",
                    folder ? "'" : "");
}

fg_status fgi_ckpt_resolve(const char *folder, const char *which, char **out_path, fg_error *err)
{
    *out_path = NULL;
    const bool is_last = strcmp(which, "last") == 0, is_best = strcmp(which, "best") == 0;
    if (!is_last && !is_best)
        return take_path(folder, which, out_path, err);
    if (!folder || !fgi_file_exists(folder))
        return fgi_fail(err, FG_ENOTFOUND, "no '%s' checkpoint: '%s' does not exist", which,
                        folder ? folder : "the run's folder");
    fg_error why = {0};
    const fg_status status = take_pointed(folder, which, out_path, is_last ? &why : err);
    if (status == FG_ENOMEM)
        return fgi_no_memory(err);
    return is_last && status != FG_OK ? take_newest(folder, &why, out_path, err) : status;
}

/* ---- the file `kept` ------------------------------------------------------------------------- */

typedef struct line {
    char *name, *owner; /* "": no owner */
} line;

/* The lines of the file. Zero-initialized, there are none. */
typedef struct kept_lines {
    line *lines;
    size_t count;
    char *text; /* that the lines point into */
} kept_lines;

static void free_kept(kept_lines *kept)
{
    fgi_free(kept->lines);
    fgi_free(kept->text);
    *kept = (kept_lines){0};
}

/* Cuts the next word off *rest; "" at its end. */
static char *cut_word(char **rest)
{
    char *word = *rest + strspn(*rest, SPACES);
    char *end = word + strcspn(word, SPACES);
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Cuts the text into lines; empty ones are left out. */
static fg_status split_kept(kept_lines *kept, fg_error *err)
{
    size_t capacity = 0;
    for (char *next = kept->text, *rest; (rest = strsep(&next, "\n")) != NULL;) {
        char *name = cut_word(&rest);
        if (*name == '\0')
            continue;
        line *grown = fgi_grow(kept->lines, kept->count, &capacity, sizeof *grown);
        if (grown == NULL)
            return fgi_no_memory(err);
        kept->lines = grown;
        kept->lines[kept->count++] = (line){.name = name, .owner = cut_word(&rest)};
    }
    return FG_OK;
}

/* Reads the file; there are no lines if it does not exist. */
static fg_status read_kept(const char *folder, kept_lines *out, fg_error *err)
{
    size_t size = 0;
    fg_status status = FG_OK;
    *out = (kept_lines){0};
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, KEPT_FILE, path, err));
    if (fgi_file_exists(path))
        status = fgi_file_read(path, KEPT_MAX_BYTES, &out->text, &size, err);
    if (status == FG_OK && out->text != NULL)
        status = split_kept(out, err);
    if (status != FG_OK)
        free_kept(out);
    return status;
}

static bool is_kept(const kept_lines *kept, const char *name)
{
    for (size_t i = 0; i < kept->count; i++)
        if (strcmp(name, kept->lines[i].name) == 0)
            return true;
    return false;
}

static void put_line(fgi_buf *out, const char *name, const char *owner)
{
    fgi_buf_printf(out, "%s%s%s\n", name, *owner != '\0' ? " " : "", owner);
}

/* Writes the lines if they are not `old`. */
static fg_status replace_kept(const char *folder, const fgi_buf *old, const fgi_buf *lines,
                              fg_error *err)
{
    FGI_TRY(fgi_buf_status(old, err));
    FGI_TRY(fgi_buf_status(lines, err));
    if (old->size == lines->size &&
        (old->size == 0 || memcmp(old->data, lines->data, old->size) == 0))
        return FG_OK;
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, KEPT_FILE, path, err));
    if (lines->size > 0)
        return fgi_file_write_atomic(path, lines->data, lines->size, err);
    return unlink(path) == 0 || errno == ENOENT ? FG_OK : fgi_fail_errno(err, "remove", path);
}

/* With owner "", names are only added. */
fg_status fgi_ckpt_keep(const char *folder, const char *owner, const char *const *names,
                        size_t count, fg_error *err)
{
    kept_lines kept = {0};
    fgi_buf old = {0}, lines = {0};
    FGI_TRY(read_kept(folder, &kept, err));
    for (size_t i = 0; i < kept.count; i++) {
        const line *each = &kept.lines[i];
        put_line(&old, each->name, each->owner);
        if (*owner == '\0' || strcmp(each->owner, owner) != 0)
            put_line(&lines, each->name, each->owner);
    }
    for (size_t i = 0; i < count; i++)
        put_line(&lines, names[i], owner);
    const fg_status status = replace_kept(folder, &old, &lines, err);
    fgi_buf_fini(&lines);
    fgi_buf_fini(&old);
    free_kept(&kept);
    return status;
}

fg_status fgi_ckpt_keep_for_good(const char *folder, const char *name, fg_error *err)
{
    kept_lines kept = {0};
    FGI_TRY(read_kept(folder, &kept, err));
    bool has = false;
    for (size_t i = 0; i < kept.count; i++)
        has |= strcmp(name, kept.lines[i].name) == 0 && *kept.lines[i].owner == '\0';
    free_kept(&kept);
    return has ? FG_OK : fgi_ckpt_keep(folder, "", &name, 1, err);
}

/* ---- pruning --------------------------------------------------------------------------------- */

/* Renamed first, so that a crash leaves no partly deleted checkpoint. */
static fg_status remove_checkpoint(const char *folder, const char *name, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    char *hidden = fgi_temporary_name(path, "tmp");
    if (hidden == NULL)
        return fgi_no_memory(err);
    const fg_status status =
        rename(path, hidden) == 0 ? FG_OK : fgi_fail_errno(err, "move aside", path);
    if (status == FG_OK)
        fgi_ckpt_discard(hidden);
    fgi_free(hidden);
    return status;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

fg_status fgi_ckpt_prune(const char *folder, int keep, const char *const *names, size_t count,
                         fg_error *err)
{
    listing list = {0};
    kept_lines kept = {0};
    char *last = NULL, *best = NULL;
    fg_status status = FG_OK;
    if (keep <= 0)
        return FG_OK;
    FGI_TRY(read_kept(folder, &kept, err));
    if (read_pointer(folder, "last", &last, NULL) == FG_ENOMEM ||
        read_pointer(folder, "best", &best, NULL) == FG_ENOMEM)
        FGI_DONE(fgi_no_memory(err));
    FGI_DONE(list_checkpoints(folder, &list, err));
    for (size_t i = (size_t)keep; i < list.count; i++) {
        const char *name = list.entries[i].name;
        if ((!last || strcmp(name, last) != 0) && (!best || strcmp(name, best) != 0) &&
            !is_one_of(name, names, count) && !is_kept(&kept, name))
            FGI_DONE(remove_checkpoint(folder, name, err));
    }
done:
    free_kept(&kept);
    fgi_free(list.entries);
    fgi_free(best);
    fgi_free(last);
    return status;
}

/* A pointer, or the list of those that are kept; folders remain. */
static fg_status discard_pointer(void *self, const char *folder, const char *name, fg_error *err)
{
    (void)self;
    (void)err;
    if (strcmp(name, "last") == 0 || strcmp(name, "best") == 0 || strcmp(name, KEPT_FILE) == 0 ||
        strncmp(name, BEST_PREFIX, strlen(BEST_PREFIX)) == 0)
        discard_file(folder, name);
    return FG_OK;
}

fg_status fgi_ckpt_clear(const char *folder, fg_error *err)
{
    listing list = {0};
    fg_status status = list_checkpoints(folder, &list, err);
    if (status == FG_OK) /* first, so that they do not point to a deleted checkpoint */
        status = walk(folder, discard_pointer, NULL, err);
    for (size_t i = 0; i < list.count && status == FG_OK; i++)
        status = remove_checkpoint(folder, list.entries[i].name, err);
    fgi_free(list.entries);
    return status;
}
