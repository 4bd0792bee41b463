/* kept.c - see kept.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/kept.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"

enum { FILE_MAX_BYTES = 16 << 20 };
#define SPACES " \t\r"

typedef struct fgi_ckpt_kept_line {
    char *name, *owner; /* "": no owner */
} line;

void fgi_ckpt_kept_free(fgi_ckpt_kept *kept)
{
    fgi_free(kept->lines);
    fgi_free(kept->text);
    *kept = (fgi_ckpt_kept){0};
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
static fg_status split(fgi_ckpt_kept *kept, fg_error *err)
{
    size_t capacity = 0;
    for (char *next = kept->text, *rest; (rest = strsep(&next, "\n")) != NULL;) {
        char *name = cut_word(&rest);
        if (*name == '\0')
            continue;
        if (kept->count == capacity) {
            FGI_TRY_GROW(kept->lines, kept->count, capacity, err);
        }
        kept->lines[kept->count++] = (line){.name = name, .owner = cut_word(&rest)};
    }
    return FG_OK;
}

fg_status fgi_ckpt_kept_read(const char *folder, fgi_ckpt_kept *out, fg_error *err)
{
    size_t size = 0;
    fg_status status = FG_OK;
    *out = (fgi_ckpt_kept){0};
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, FGI_CKPT_KEPT_FILE, path, err));
    if (fgi_file_exists(path))
        status = fgi_file_read(path, FILE_MAX_BYTES, &out->text, &size, err);
    if (status == FG_OK && out->text != NULL)
        status = split(out, err);
    if (status != FG_OK)
        fgi_ckpt_kept_free(out);
    return status;
}

bool fgi_ckpt_is_kept(const fgi_ckpt_kept *kept, const char *name)
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
static fg_status replace(const char *folder, const fgi_buf *old, const fgi_buf *lines,
                         fg_error *err)
{
    FGI_TRY(fgi_buf_status(old, err));
    FGI_TRY(fgi_buf_status(lines, err));
    if (old->size == lines->size &&
        (old->size == 0 || memcmp(old->data, lines->data, old->size) == 0))
        return FG_OK;
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, FGI_CKPT_KEPT_FILE, path, err));
    if (lines->size > 0)
        return fgi_file_write_atomic(path, lines->data, lines->size, err);
    return unlink(path) == 0 || errno == ENOENT ? FG_OK : fgi_fail_errno(err, "remove", path);
}

/* With owner "", names are only added. */
fg_status fgi_ckpt_keep(const char *folder, const char *owner, const char *const *names,
                        size_t count, fg_error *err)
{
    fgi_ckpt_kept kept = {0};
    fgi_buf old = {0}, lines = {0};
    FGI_TRY(fgi_ckpt_kept_read(folder, &kept, err));
    for (size_t i = 0; i < kept.count; i++) {
        const line *each = &kept.lines[i];
        put_line(&old, each->name, each->owner);
        if (*owner == '\0' || strcmp(each->owner, owner) != 0)
            put_line(&lines, each->name, each->owner);
    }
    for (size_t i = 0; i < count; i++)
        put_line(&lines, names[i], owner);
    const fg_status status = replace(folder, &old, &lines, err);
    fgi_buf_fini(&lines);
    fgi_buf_fini(&old);
    fgi_ckpt_kept_free(&kept);
    return status;
}

fg_status fgi_ckpt_keep_for_good(const char *folder, const char *name, fg_error *err)
{
    fgi_ckpt_kept kept = {0};
    FGI_TRY(fgi_ckpt_kept_read(folder, &kept, err));
    bool has = false;
    for (size_t i = 0; i < kept.count; i++)
        has |= strcmp(name, kept.lines[i].name) == 0 && *kept.lines[i].owner == '\0';
    fgi_ckpt_kept_free(&kept);
    return has ? FG_OK : fgi_ckpt_keep(folder, "", &name, 1, err);
}
