/* average.h - averages of a model's parameters and buffers on the device: what the callbacks ema
 * and swa do alike.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CALLBACK_AVERAGE_H
#define FGI_CALLBACK_AVERAGE_H

#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

/* The first member of a callback's struct. */
typedef struct fgi_average {
    const char *name; /* of the module's child with the averages */
    bool use_buffers;
    /* The weight of the next value, a scalar of this dtype; taken: s32[], at least 1. self: the
     * callback. */
    fg_tensor (*weight)(const void *self, fg_tensor taken, fg_dtype dtype);
    fg_variable **of, **mean; /* owned by the module; f32, or f64 for f64 */
    size_t count;
    fg_variable *taken; /* s32[]: values taken so far; 0: evaluations use the model's own */
    fg_scalar due;      /* u32: 1 if this step's values are to be taken; set before the launch */
} fgi_average;

/* Functions of these callbacks. Creates the variables "NAME.fc1.weight" in root, and "NAME.taken".
 */
fg_status fgi_average_build(void *self, fg_module *root, fg_error *err);
/* mean = mean + weight (value - mean) in steps that are due and not skipped; the first copies. */
void fgi_average_update(void *self, fg_trace *trace, fg_optimizer *optimizer);
/* The value that evaluations use for a variable: its average once there is one; {0}: its own. */
fg_tensor fgi_average_value(void *self, fg_trace *trace, fg_variable *variable);
void fgi_average_destroy(void *self);

#endif
