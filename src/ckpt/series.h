/* series.h - the checkpoints of one run: a folder of checkpoint folders and the two text files
 * `last` and `best`, each of which holds the name of one of them.
 *
 * The order of a save is: folder written and renamed, pointer replaced, old ones pruned. Killed
 * anywhere in between, what is left has a loadable checkpoint if there was one before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_SERIES_H
#define FGI_CKPT_SERIES_H

#include <fulgurite/ckpt.h>

/* Lets the pointer `pointer` ("last" or "best") name the checkpoint `name`; atomic and durable. */
fg_status fgi_ckpt_point(const char *folder, const char *pointer, const char *name, fg_error *err);

/* Finds a checkpoint: *out_path is a fresh string (fgi_free).
 *   "last"  what that pointer names; when it or its target is damaged, the newest intact checkpoint
 *   "best"  what that pointer names
 *   else    a path of a checkpoint folder or .safetensors file, or a name within `folder`
 * folder may be NULL where only paths make sense. What "last" and "best" give has been checked
 * wholly, checksums included. Errors: FG_ENOTFOUND, FG_EFORMAT, FG_EIO, FG_ENOMEM. */
fg_status fgi_ckpt_resolve(const char *folder, const char *which, char **out_path, fg_error *err);

/* Removes old checkpoints: the `keep` newest stay (all of them when keep <= 0), and what `last` and
 * `best` name. Folders that are no checkpoints are left alone. */
fg_status fgi_ckpt_prune(const char *folder, int keep, fg_error *err);

/* Removes all checkpoints of the folder, and `last` and `best`. */
fg_status fgi_ckpt_clear(const char *folder, fg_error *err);

/* Removes what saves of dead processes, and of this one, left behind in `folder`
 * (fgi_temporary_is_abandoned). */
fg_status fgi_ckpt_sweep(const char *folder, fg_error *err);

/* Deletes a checkpoint's files and then its folder, as far as they are there: nothing else. */
void fgi_ckpt_discard(const char *path);

/* The highest sequence number among the folder's checkpoints, 0 when there are none. */
fg_status fgi_ckpt_newest_sequence(const char *folder, int64_t *out, fg_error *err);

#endif
