/* run_origin.h - the checkpoint that a command uses, and its description.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_ORIGIN_H
#define FGI_RECIPE_RUN_ORIGIN_H

#include <jansson.h>
#include <fulgurite/ckpt.h>

#include "recipe/config/config.h"
#include "base/buf.h"

/* Names of the program's attachments (docs/formats.md). */
#define FGI_RUN_ORIGIN_CONFIG   "config.yaml"
#define FGI_RUN_ORIGIN_TRAINING "training.yaml"
#define FGI_RUN_ORIGIN_DATA     "data.json"

/* Zero-initialized: no checkpoint. */
typedef struct fgi_run_origin {
    fg_ckpt *ckpt;
    char *run_dir; /* the run that it belongs to; NULL: not known */
    char *which;   /* "best", "last" or a name in that run; NULL: it was given by its path */
    fgi_config *c; /* the model's configuration; NULL: none */
    json_t *data;  /* the description of the data; NULL: none */
} fgi_run_origin;

/* Whether an argument names a run or a checkpoint rather than a configuration: last, best, a
 * folder, a .safetensors file, or the pointer file of a run. */
bool fgi_run_origin_is_named(const char *arg);

/* Opens a checkpoint: by an argument as above (`last` is run_dir or else the newest run in runs/,
 * and `best` its best checkpoint); without one, `which` of run_dir, or a path. `which` is NULL,
 * "last", "best", a name or a path; NULL takes best where there is one, else last. registry: whose
 * rows its configuration can name; NULL: the built-in ones. Close *out also on failure. */
fg_status fgi_run_origin_open(const char *arg, const char *which, const char *run_dir,
                              const fg_registry *registry, fgi_run_origin *out, fg_error *err);
void fgi_run_origin_close(fgi_run_origin *origin);

/* "checkpoint: PATH (run RUN, best, step 69, epoch 3)" on one line. */
void fgi_run_origin_print(const fgi_run_origin *origin, fgi_buf *out);

#endif
