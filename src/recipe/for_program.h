/* for_program.h - what the program uses of this folder besides recipe.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_FOR_PROGRAM_H
#define FGI_RECIPE_FOR_PROGRAM_H

#include <fulgurite/recipe.h>
#include <jansson.h>

#include "recipe/config.h"

/* ---- folders of runs (run_dir.c) ------------------------------------------------------------ */

/* True while a fit holds the folder's lock. */
bool fgi_run_dir_is_live(const char *folder);
/* FG_ENOTFOUND if the folder is that of a sweep, which has no metrics. */
fg_status fgi_run_dir_refuse_sweep(const char *folder, fg_error *err);

/* The folder of a run or sweep: `name`, or if that is "last", the one in the folder "runs" that
 * wrote its report, metrics, record or a checkpoint last (run_newest.c). The caller frees *out.
 * FG_ENOTFOUND: there is none. */
fg_status fgi_run_find(const char *name, char **out, fg_error *err);

/* ---- plans ----------------------------------------------------------------------------------- */

/* A plan of a machine about which only an error is known, {"topologies": [PLAN], "every_machine":
 * BOOL}; every_machine: it would be the same for any machine. NULL: out of memory. */
json_t *fgi_plan_failed(const char *topology, const char *why, bool every_machine);

/* ---- packs (pack_for.c) ---------------------------------------------------------------------- */

/* Shorter side of stored images that are as large as training at `size` needs them, if validation
 * uses `center_fraction` of the largest square. */
int64_t fgi_presize_short(int64_t size, double center_fraction);

/* How fgi_pack_for finds out how many images per second a model needs. */
typedef struct fgi_pack_planner {
    const char *topology; /* one machine; NULL: the TPU of this host, if trainer.accelerator is auto
                             or tpu */
    /* Makes a plan of the configuration for a machine, as fgi_plan_failed describes it, without the
     * largest batch size; the caller releases *out */
    fg_status (*plan)(void *self, const char *topology, json_t **out, fg_error *err);
    void *self;
} fgi_pack_planner;

/* Sets the options of a pack of images from the configuration that will train on it.
 *
 * - presize, if it is FG_IMAGE_PRESIZE_NONE: the shorter side of the images is data.size /
 *   data.center_fraction, rounded up, as validation needs it; unchanged with data.crop window,
 *   which does not resize images.
 * - rate, if it is 0 and the codec is automatic: the images/s that training needs, for one host, by
 *   the compiler's estimate of the step for one machine, with the configured devices and batch.
 * - host_crops: data.format is images, or data.size, crop, crop_scale, crop_ratio, flip or
 *   center_fraction is not its default.
 * - measure: the rate of the configuration's loader, as a plan measures it; `recipe` must remain
 *   valid until the pack is built.
 *
 * Of `recipe`, config, overrides, registry and message are used; the messages say what was chosen
 * and why. Errors: FG_EINVAL (the configuration, or its data are not images; no machine is named,
 * and this host has no TPU), FG_EUNSUPPORTED (the step cannot be planned or does not fit; the
 * message has the reason), those of fg_recipe_open and of the planner, FG_ENOMEM. */
fg_status fgi_pack_for(const fg_recipe_options *recipe, const fgi_pack_planner *planner,
                       fg_pack_build_options *options, fg_error *err);

/* ---- augmentations (run_augment.c) ----------------------------------------------------------- */

/* The images changed by each row, at random unless key is NULL, in evaluation; key->repeat is
 * replaced. Rows that mix samples have no effect if target is NULL. */
fg_tensor fgi_run_augment_rows(const fgi_config_rows *rows, fg_tensor image, fg_sample_key *key,
                               fg_tensor *target);

#endif
