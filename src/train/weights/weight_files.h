/* weight_files.h - variables and files: copies on the host in the layout of files, and loading
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WEIGHT_FILES_H
#define FGI_TRAIN_WEIGHT_FILES_H

#include <fulgurite/trace.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/weights.h>
#include <jansson.h>

#include "pjrt/pjrt.h"

/* Prefix of the module's variables of kind FG_STATE, which are in one file with the variables of
 * the optimizer and the Trainer. */
#define FGI_MODULE_STATE "module."

/* Key in state.json: names of the frozen parameters, if there are any. Files of an optimizer, and
 * of loops without a Trainer, contain the list as JSON in the metadata. */
#define FGI_FROZEN_KEY  "frozen"
#define FGI_FROZEN_META "fulgurite.frozen"

/* Keys of the model file's __metadata__: steps and epochs done, in decimal. */
#define FGI_STEP_KEY  "fulgurite.step"
#define FGI_EPOCH_KEY "fulgurite.epoch"

/* ---- the layout of files --------------------------------------------------------------------- */

/* The variable's type in files. */
fg_type fgi_file_type(const fg_variable *variable);
/* Transposes a block with the variable's value, from fgi_alloc, to the layout of files; may replace
 * *block. */
fg_status fgi_to_file_order(const fg_variable *variable, void **block, fg_error *err);
/* Sets the variable from a file's bytes, converted if the floating-point dtype differs. */
fg_status fgi_set_from_file(fg_variable *variable, fg_dtype dtype, const void *data, fg_error *err);

/* ---- copies of variables on the host --------------------------------------------------------- */

/* Tensors of the model, then of the state. May be freed when zero-initialized. */
typedef struct fgi_host_copy {
    fg_ckpt_tensor *tensors;
    void **blocks;                 /* each tensor's memory, NULL if it is borrowed */
    fgi_event **arrived;           /* of the copy from the device; NULL: it has arrived */
    const fg_variable **variables; /* not in the layout of files yet, or NULL */
    char **names;                  /* names created here; NULL: that of the variable */
    size_t count, model_count;
} fgi_host_copy;

/* Allocates for the variables of both (optimizer may be NULL) and `more` other tensors. */
fg_status fgi_host_copy_init(fgi_host_copy *copy, const fg_module *module,
                             const fg_optimizer *optimizer, size_t more, fg_error *err);
void fgi_host_copy_fini(fgi_host_copy *copy);

/* Start copying parameters and buffers; variables of the optimizer; other state of the module, with
 * names that start with FGI_MODULE_STATE. The first sets model_count. */
fg_status fgi_host_copy_model(fgi_host_copy *copy, const fg_module *module, fg_error *err);
fg_status fgi_host_copy_optimizer(fgi_host_copy *copy, const fg_optimizer *optimizer,
                                  fg_error *err);
fg_status fgi_host_copy_state(fgi_host_copy *copy, const fg_module *module, fg_error *err);
/* Adds a vector on the host, which is borrowed. */
void fgi_host_copy_add(fgi_host_copy *copy, const char *name, fg_dtype dtype, size_t count,
                       const void *data);

/* Waits for all copies; afterwards, the devices are not needed. */
fg_status fgi_host_copy_await(fgi_host_copy *copy, fg_error *err);
/* Transposes all elements to the layout of files; afterwards, `tensors` can be written. */
fg_status fgi_host_copy_turn(fgi_host_copy *copy, fg_error *err);

/* ---- loading --------------------------------------------------------------------------------- */

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
