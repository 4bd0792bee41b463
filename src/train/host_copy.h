/* host_copy.h - variables on their way from the devices into a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_HOST_COPY_H
#define FGI_TRAIN_HOST_COPY_H

#include <fulgurite/ckpt.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#include "pjrt/pjrt.h"

/* Tensors of the model, then of the state. Zero-initialised it may be ended. */
typedef struct fgi_host_copy {
    fg_ckpt_tensor *tensors;
    void **blocks;                 /* each tensor's memory, NULL where it is another's */
    fgi_event **arrived;           /* of its copy from the device; NULL: there */
    const fg_variable **variables; /* that are not in the file's order yet, or NULL */
    char **names;                  /* those made here; NULL: the variable's own */
    size_t count, model_count;
} fgi_host_copy;

/* Room for the variables of both (optimizer: NULL for none) and `more` other tensors. */
fg_status fgi_host_copy_init(fgi_host_copy *copy, const fg_module *module,
                             const fg_optimizer *optimizer, size_t more, fg_error *err);
void fgi_host_copy_fini(fgi_host_copy *copy);

/* Start copying: parameters and buffers; the optimizer's variables; the module's other state, under
 * names that begin with FGI_MODULE_STATE. The first sets model_count. */
fg_status fgi_host_copy_model(fgi_host_copy *copy, const fg_module *module, fg_error *err);
fg_status fgi_host_copy_optimizer(fgi_host_copy *copy, const fg_optimizer *optimizer,
                                  fg_error *err);
fg_status fgi_host_copy_state(fgi_host_copy *copy, const fg_module *module, fg_error *err);
/* A vector on the host, which must stay there. */
void fgi_host_copy_add(fgi_host_copy *copy, const char *name, fg_dtype dtype, size_t count,
                       const void *data);

/* Waits for all copies; the devices are not needed any more. */
fg_status fgi_host_copy_await(fgi_host_copy *copy, fg_error *err);
/* Brings all elements into the files' order; after that `tensors` can be written. */
fg_status fgi_host_copy_turn(fgi_host_copy *copy, fg_error *err);

#endif
