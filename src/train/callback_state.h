/* callback_state.h - what callbacks keep in a checkpoint: bytes under the callback's name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALLBACK_STATE_H
#define FGI_TRAIN_CALLBACK_STATE_H

#include <fulgurite/ckpt.h>
#include <fulgurite/train.h>

/* A callback's state on its way into a checkpoint. */
typedef struct fgi_callback_state {
    char *name; /* of the tensor: "callback.NAME" */
    void *bytes;
    size_t size;
} fgi_callback_state;

/* Asks all callbacks that save state for theirs: *out is a fresh list (fgi_callback_states_free),
 * without those that have none now. Errors: FG_ENOMEM, the callbacks' own. */
fg_status fgi_callback_states_save(const fg_trainer *trainer, fgi_callback_state **out,
                                   size_t *out_count, fg_error *err);
void fgi_callback_states_free(fgi_callback_state *states, size_t count); /* NULL is allowed */
/* Gives each callback the state that the checkpoint has of it. A warning tells of a callback whose
 * state is not there, and of state whose callback is not there. Errors: the callbacks' own. */
fg_status fgi_callback_states_load(const fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err);
/* Refuses a callback with `save` or `load` that lacks the other or a name of its own. */
fg_status fgi_callback_state_check(const fg_trainer *trainer, const fg_callback_ops *ops,
                                   fg_error *err);

#endif
