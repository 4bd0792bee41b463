/* run_dir.h - the folders of runs: their names, which one is the newest, and whether one is in use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_DIR_H
#define FGI_RECIPE_RUN_DIR_H

#include "recipe/config/config.h"

/* The folder for a new run of this configuration file (NULL: none), or that of the newest existing
 * run, NULL if there is none; the caller frees it. Creates the numbered folder of a new run, which
 * claims it (*out_is_claimed); returns NULL and an error if that fails. */
fg_status fgi_run_dir_new(const fgi_config *c, const char *config_path, bool *out_is_claimed,
                          char **out, fg_error *err);
fg_status fgi_run_dir_existing(const fgi_config *c, const char *config_path, char **out,
                               fg_error *err);
/* The folder of a sweep, which contains those of its runs: trainer.run_dir, the newest
 * runs/NAME-sweep-N if it is resumed, else a new one (*out_is_claimed). The caller frees it. */
fg_status fgi_run_dir_sweep(const fgi_config *c, const char *config_path, bool is_resumed,
                            bool *out_is_claimed, char **out, fg_error *err);
/* Removes a claimed folder unless a run has started in it. */
void fgi_run_dir_give_back(const char *folder);
/* True if there are checkpoints of an earlier run. */
bool fgi_run_dir_is_used(const char *folder);
/* Writes config.yaml into the folder. */
fg_status fgi_run_dir_begin(const fgi_config *c, const char *folder, fg_error *err);

/* True while a fit holds the folder's lock. */
bool fgi_run_dir_is_live(const char *folder);
/* FG_ENOTFOUND if there is no such folder, or it is that of a sweep, which has no metrics. */
fg_status fgi_run_dir_need(const char *folder, fg_error *err);

/* The folder of a run or sweep: `name`, or if that is "last", the one in the folder "runs" that
 * wrote its report, metrics, record or a checkpoint last. The caller frees *out.
 * FG_ENOTFOUND: there is none. */
fg_status fgi_run_find(const char *name, char **out, fg_error *err);
/* The run or sweep in the folder runs that wrote last: its report, metrics, record or a checkpoint
 *. *out is NULL if there is none. */
fg_status fgi_run_newest(char **out, fg_error *err);

#endif
