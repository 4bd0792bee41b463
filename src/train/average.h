/* average.h - averages of a model's parameters and buffers on the device: for the callbacks ema and
 * swa.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_AVERAGE_H
#define FGI_TRAIN_AVERAGE_H

#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

typedef struct fgi_average {
    fg_variable **of, **mean; /* owned by the module; f32, or f64 for f64 */
    size_t count;
    fg_variable *taken; /* s32[]: values taken so far; 0: evaluations use the model's own */
    fg_scalar due;      /* u32: 1 if this step's values are to be taken; set before the launch */
} fgi_average;

/* The weight of the next value, a scalar of this dtype; taken: s32[], at least 1. */
typedef fg_tensor fgi_average_weight(const void *self, fg_tensor taken, fg_dtype dtype);

/* Creates the variables "NAME.fc1.weight" in root, and "NAME.taken". */
fg_status fgi_average_build(fgi_average *a, fg_module *root, const char *name, bool has_buffers,
                            fg_error *err);
void fgi_average_fini(fgi_average *a);
/* mean = mean + weight (value - mean) in steps that are due and not skipped; the first copies. */
void fgi_average_update(fgi_average *a, fg_trace *trace, const fg_optimizer *optimizer,
                        fgi_average_weight *weight, const void *self);
/* The value that evaluations use for a variable: its average once there is one; {0}: its own. */
fg_tensor fgi_average_value(const fgi_average *a, fg_trace *trace, fg_variable *variable);

#endif
