/* show.h - a trained model as `fulgurite show` prints it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_H
#define SHOW_H

#include "cli.h"
#include "recipe/folder/run_origin.h"

/* Opens a run or checkpoint (ckpt: one of a run), or any .safetensors file. All checksums are
 * verified. Appends its description: "checkpoint: PATH (run RUN, best, step 69, epoch 3)" and, if
 * it has its configuration, a line about the model, or why the configuration cannot be read: it
 * names rows that a program has registered. Close *out also on failure. */
fg_status show_open(const char *name, const char *ckpt, fgi_run_origin *out, fgi_buf *about,
                    fg_error *err);

/* Its tensors, one per line: the name and, unless only_names, the type and, for a checkpoint's
 * folder, "model" or "state", separated by tabs. Control characters in names are replaced by '?'.
 * totals: a line with the number of tensors, their bytes and the number of elements in the model.
 */
void show_lines(const fg_ckpt *ckpt, bool only_names, FILE *lines, FILE *totals);

/* Everything as one JSON object: path, tensors, state, configuration and data. */
void show_json(const fg_ckpt *ckpt, FILE *out);

#endif
