/* run_plan.h - plans for machines that are not present, and what a configuration needs of a pack.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_PLAN_H
#define FGI_RECIPE_RUN_PLAN_H

#include <fulgurite/plan.h>
#include <fulgurite/recipe.h>
#include <jansson.h>

#include "recipe/config/config.h"

/* Compiles for r->client; sets r->plan to the result, also after a failure. */
fg_status fgi_run_plan(fg_recipe *r, fg_error *err);
/* Measures the rate of a loader like the Trainer's for the configuration. */
fg_status fgi_run_input_rate(const fgi_config *c, fg_dataset *samples, int64_t batch,
                             double seconds, fg_input_rate *out, fg_error *err);
/* Adds the rate of the loader, measured for about a second unless it is given
 * (fg_plan_options.loader), and the rates that the planned step requires for all devices and
 * for those of one host, to the machine's object. Does nothing if the step time is unknown. */
void fgi_plan_put_input(json_t *o, const fg_recipe *r, const fg_plan *plan);
/* Adds the conclusion from the ratio of delivered to required rate, as text. is_alone: there is one
 * host; stage: the loader's slowest (NULL: not known), in which it spends that part of its time. */
void fgi_plan_put_verdict(json_t *o, const fg_recipe *r, double fraction, bool is_alone,
                          const char *stage, double spent);
/* Checks the options. */
fg_status fgi_run_plan_check(const fg_plan_options *options, fg_error *err);
/* Sets r->plan to the error that ended the run, unless it is set. */
void fgi_run_plan_fail(fg_recipe *r);
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

#endif
