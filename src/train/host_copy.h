/* host_copy.h - copies of variables on the host, to be written to a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_HOST_COPY_H
#define FGI_TRAIN_HOST_COPY_H

#include <fulgurite/ckpt.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#include "pjrt/pjrt.h"

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

#endif
