/* callback.h - callbacks by name: what `trainer.callbacks` of a configuration can list.
 *
 * A callback is a table of functions (fg_callback_ops in train.h). A row gives it a name and
 * options, like a model (registry.h): `trainer.callbacks: [early_stop(patience=3)]`.
 *
 *     static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
 *     {
 *         return counter_create(fg_option_int(values, "every"), out_self, err);
 *     }
 *
 *     static const fg_callback_ops ops = {
 *         .name = "counter", .batch_end = count, .destroy = counter_destroy};
 *     static const fg_callback_entry counter = {
 *         .entry = {.name = "counter", .help = "count", .options = options, .option_count = 1},
 *         .ops = &ops,
 *         .create = create};
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CALLBACK_H
#define FULGURITE_CALLBACK_H

#include <fulgurite/base.h>
#include <fulgurite/option.h>
#include <fulgurite/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A registered callback (registry.h): a constant row. */
typedef struct fg_callback_entry {
    fg_entry entry;
    /* The functions. If they save state, ops->name must be the name of the row. */
    const fg_callback_ops *ops;
    /* Creates what the functions are called with; values are for entry.options, and only valid
     * during the call. ops->destroy frees *out_self with the Trainer. After a failure *out_self is
     * not used. Errors: FG_EINVAL for options that contradict each other (fg_option_fail),
     * FG_ENOMEM, and those of what it opens. */
    fg_status (*create)(const fg_option_values *values, void **out_self, fg_error *err);
    void (*reserved[4])(void); /* must be NULL */
} fg_callback_entry;

#ifdef __cplusplus
}
#endif
#endif
