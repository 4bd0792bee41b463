/* kept.h - checkpoints of a run that are kept for good: the text file `kept` next to `last` and
 * `best`. Each line is the name of a checkpoint, optionally with a word that says who keeps it;
 * people may add lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_KEPT_H
#define FGI_CKPT_KEPT_H

#include <fulgurite/base.h>

#define FGI_CKPT_KEPT_FILE "kept"

/* The lines of the file; fgi_ckpt_kept_free. Zero-initialized, there are none. */
typedef struct fgi_ckpt_kept {
    struct fgi_ckpt_kept_line *lines;
    size_t count;
    char *text; /* that the lines point into */
} fgi_ckpt_kept;

/* Reads the file of the folder of checkpoints; none if it does not exist. Errors: FG_EIO,
 * FG_EFORMAT (a file that is too large), FG_ENOMEM. */
fg_status fgi_ckpt_kept_read(const char *folder, fgi_ckpt_kept *out, fg_error *err);
void fgi_ckpt_kept_free(fgi_ckpt_kept *kept);
bool fgi_ckpt_is_kept(const fgi_ckpt_kept *kept, const char *name);

/* Replaces the lines of `owner`, one word, by these names; other lines remain. Atomic and durable;
 * a file without lines is removed. Errors: those of reading and writing. */
fg_status fgi_ckpt_keep(const char *folder, const char *owner, const char *const *names,
                        size_t count, fg_error *err);
/* Adds a line without an owner, unless there is one. */
fg_status fgi_ckpt_keep_for_good(const char *folder, const char *name, fg_error *err);

#endif
