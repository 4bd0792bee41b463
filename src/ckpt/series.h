/* series.h - the checkpoints of one run: a folder of checkpoint folders and text files, `last` and
 * `best`, each of which contains the name of a checkpoint (`best-METRIC`: by another metric).
 *
 * A save writes and renames the folder, replaces the pointer, then prunes old checkpoints. If the
 * process is killed in between, there is still a loadable checkpoint if there was one before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_SERIES_H
#define FGI_CKPT_SERIES_H

#include <fulgurite/ckpt.h>

/* Makes the pointer `pointer` ("last", "best" or "best-METRIC") point to the checkpoint `name`;
 * atomic and durable. */
fg_status fgi_ckpt_point(const char *folder, const char *pointer, const char *name, fg_error *err);
/* The same, but writes nothing if it points there already. name NULL: removes the pointer. */
fg_status fgi_ckpt_repoint(const char *folder, const char *pointer, const char *name,
                           fg_error *err);

/* Finds a checkpoint: *out_path is a new string (fgi_free).
 *   "last"  the checkpoint that it points to; the newest intact one if that is damaged
 *   "best"  the checkpoint that it points to; the same for the file "best-METRIC"
 *   else    a path of a checkpoint folder or .safetensors file, or a name within `folder`
 *
 * folder may be NULL if only paths are possible. The checkpoints returned for "last" and "best"
 * have been fully verified, including checksums. Errors: FG_ENOTFOUND, FG_EFORMAT, FG_EIO,
 * FG_ENOMEM. */
fg_status fgi_ckpt_resolve(const char *folder, const char *which, char **out_path, fg_error *err);

/* Removes old checkpoints, except for the `keep` newest (all if keep <= 0), those that `last` and
 * `best` point to, those with the given names, and those in the file `kept`. Folders that
 * are not checkpoints are left unchanged. */
fg_status fgi_ckpt_prune(const char *folder, int keep, const char *const *names, size_t count,
                         fg_error *err);

/* The text file `kept` next to `last` and `best` names the checkpoints that are kept for good. Each
 * line is the name of a checkpoint, optionally with a word that says who keeps it; people may add
 * lines. */

/* Replaces the lines of `owner`, one word, by these names; other lines remain. Atomic and durable;
 * a file without lines is removed. Errors: those of reading and writing. */
fg_status fgi_ckpt_keep(const char *folder, const char *owner, const char *const *names,
                        size_t count, fg_error *err);
/* Adds a line without an owner, unless there is one. */
fg_status fgi_ckpt_keep_for_good(const char *folder, const char *name, fg_error *err);

/* Removes all checkpoints of the folder, the pointers and the file `kept`. */
fg_status fgi_ckpt_clear(const char *folder, fg_error *err);

/* Removes temporary files and folders that saves of dead processes, and of this one, left in
 * `folder` (fgi_temporary_is_abandoned). */
fg_status fgi_ckpt_sweep(const char *folder, fg_error *err);

/* Deletes a checkpoint's files and then its folder, as far as they exist, and nothing else. */
void fgi_ckpt_discard(const char *path);

/* The highest sequence number among the folder's checkpoints, 0 if there are none. */
fg_status fgi_ckpt_newest_sequence(const char *folder, int64_t *out, fg_error *err);

#endif
