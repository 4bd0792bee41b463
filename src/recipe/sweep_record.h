/* sweep_record.h - sweep.json: the runs of a sweep, their settings and results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_SWEEP_RECORD_H
#define FGI_RECIPE_SWEEP_RECORD_H

#include <jansson.h>

#include "recipe/run.h"
#include "recipe/sweep_grid.h"

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
