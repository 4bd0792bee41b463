/* callback_state.h - state of callbacks in a checkpoint: bytes under the callback's name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALLBACK_STATE_H
#define FGI_TRAIN_CALLBACK_STATE_H

#include <fulgurite/ckpt.h>
#include <fulgurite/train.h>

#include "train/callbacks.h"

/* The state of one callback, to be written. */
typedef struct fgi_callback_state {
    char *name; /* of the tensor: "callback.NAME" */
    void *bytes;
    size_t size;
} fgi_callback_state;

/* Calls `save` of all callbacks that have it: *out is a fresh list (fgi_callback_states_free), in
 * which the size may be 0. Errors: FG_ENOMEM, FG_EINVAL for a state that changes meanwhile. */
fg_status fgi_callback_states_save(const fgi_callbacks *list, fgi_callback_state **out,
                                   size_t *out_count, fg_error *err);
void fgi_callback_states_free(fgi_callback_state *states, size_t count); /* NULL is allowed */
/* Calls `load` of each callback with its state in the checkpoint. Warns of a callback without state
 * in the checkpoint, and of state without a callback. Errors: those of the callbacks. */
fg_status fgi_callback_states_load(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err);
/* Refuses a callback with `save` or `load` that lacks the other or a unique name. */
fg_status fgi_callback_state_check(const fgi_callbacks *list, const fg_callback_ops *ops,
                                   fg_error *err);

#endif
