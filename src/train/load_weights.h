/* load_weights.h - loads tensors of a checkpoint into variables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LOAD_WEIGHTS_H
#define FGI_TRAIN_LOAD_WEIGHTS_H

#include <fulgurite/weights.h>
#include <jansson.h>

/* fg_module_load of an open checkpoint. */
fg_status fgi_weights_load(const fg_module *module, const fg_ckpt *ckpt, const char *path,
                           const fg_load_options *options, fg_load_report *report, fg_error *err);

/* Loads the optimizer's variables from one part. `frozen` (NULL: none) lists the names of the
 * parameters that were frozen then, which have no moments; a warning lists those that are not
 * frozen now, and the reverse. */
fg_status fgi_optimizer_load(fg_optimizer *optimizer, const fg_ckpt *ckpt, const char *path,
                             fg_ckpt_part part, const json_t *frozen, fg_error *err);

/* Loads state variables of the module. Those that the checkpoint does not contain keep their
 * initial values, and those that the module does not have are ignored, both with a warning. */
fg_status fgi_module_state_load(const fg_module *module, const fg_ckpt *ckpt, const char *path,
                                fg_error *err);

#endif
