/* sweep.h - a sweep: the values of keys and their combinations (sweep_grid.c), and sweep.json, the
 * runs with their settings and results (sweep.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_SWEEP_H
#define FGI_RECIPE_SWEEP_H

#include <jansson.h>

#include "recipe/run/run.h"

enum { FGI_SWEEP_AXES = 8, FGI_SWEEP_RUNS = 1000 };

/* A key and its values, as strings. */
typedef struct fgi_sweep_axis {
    char *key;
    char **values;
    size_t count, capacity;
} fgi_sweep_axis;

/* All combinations of the values; that of the last key changes first. */
typedef struct fgi_sweep_grid {
    fgi_sweep_axis axes[FGI_SWEEP_AXES];
    size_t axis_count, run_count;
} fgi_sweep_grid;

/* Reads "optimizer.lr=1e-3,3e-3" for each key. Commas within brackets, parentheses and quotes do
 * not separate values. Call fgi_sweep_grid_fini also after a failure. Errors: FG_EINVAL, FG_ENOMEM.
 */
fg_status fgi_sweep_grid_init(const char *const *keys, size_t count, fgi_sweep_grid *out,
                              fg_error *err);
void fgi_sweep_grid_fini(fgi_sweep_grid *grid);
/* The value of a key in a run. */
const char *fgi_sweep_grid_value(const fgi_sweep_grid *grid, size_t run, size_t axis);
/* Appends the name of a run's folder, "lr=0.001,momentum=0.9": the same for the same settings, and
 * unique in the grid. Characters other than letters, digits and "._+-" are replaced. */
void fgi_sweep_grid_name(const fgi_sweep_grid *grid, size_t run, fgi_buf *out);

/* ---- sweep.json ------------------------------------------------------------------------------ */

/* The object for a grid, whose runs are all "pending"; a new reference, or NULL: out of memory. */
json_t *fgi_sweep_record(const fgi_sweep_grid *grid, const char *config_path);
/* Adds the runs and results of an earlier record of the folder, for a sweep that is continued,
 * perhaps with other values; the grid's runs remain the first ones. Nothing if there is no earlier
 * record. Errors: those of fgi_json_parse, FG_ENOMEM. */
fg_status fgi_sweep_record_add_earlier(json_t *record, const char *folder, fg_error *err);
/* A run has begun, in the state "running". */
void fgi_sweep_record_begin(json_t *record, size_t run);
/* The result of a run, whose folder is `folder`; and with it, that of the best run. */
fg_status fgi_sweep_record_end(json_t *record, size_t run, const fg_recipe *r, const char *folder,
                               fg_error *err);
/* Writes FOLDER/sweep.json; state: "running", "finished", "stopped" or "failed". */
fg_status fgi_sweep_record_write(json_t *record, const char *state, const char *folder,
                                 fg_error *err);

#endif
