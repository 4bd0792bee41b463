/* registry.h - the parts of a run by name: models, optimizers, data formats, loggers and others.
 *
 * Each is a constant row (fg_model_entry, fg_optimizer_entry ...) with a name, a help text, a table
 * of options, and functions. A registry contains the built-in rows and the rows that your program
 * adds, which configurations can then use by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_REGISTRY_H
#define FULGURITE_REGISTRY_H

#include <fulgurite/aug.h>
#include <fulgurite/callback.h>
#include <fulgurite/format.h>
#include <fulgurite/logger.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fg_registry_kind {
    FG_REGISTRY_MODEL = 0,        /* fg_model_entry     */
    FG_REGISTRY_LOSS = 1,         /* fg_loss_entry      */
    FG_REGISTRY_OPTIMIZER = 2,    /* fg_optimizer_entry */
    FG_REGISTRY_SCHEDULE = 3,     /* fg_schedule_entry  */
    FG_REGISTRY_FORMAT = 4,       /* fg_format_entry    */
    FG_REGISTRY_CALLBACK = 5,     /* fg_callback_entry  */
    FG_REGISTRY_LOGGER = 6,       /* fg_logger_entry    */
    FG_REGISTRY_AUGMENTATION = 7, /* fg_augmentation_entry */
} fg_registry_kind;

/* Rows by kind and name. One thread at a time while rows are added, thread-safe afterwards. */
typedef struct fg_registry fg_registry;

/* Creates a registry with the built-in rows. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_registry_create(fg_registry **out, fg_error *err);
/* Frees the registry. NULL is allowed. */
FG_API void fg_registry_destroy(fg_registry *registry);

/* Adds a row of that kind, which must outlive the registry: fg_registry_add(registry,
 * FG_REGISTRY_MODEL, &my_model.entry, err). Errors: FG_EINVAL for a name that exists already, is
 * empty or has characters other than lower-case letters, digits and _, for a missing help or
 * function, and for an option whose row contradicts itself, is not a member of the row's struct, or
 * has a different kind, default or range than the option with the same name in another row of this
 * kind (callbacks, loggers and augmentations do not share options); FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_registry_add(fg_registry *registry, fg_registry_kind kind,
                                             const fg_entry *entry, fg_error *err);

/* The number of rows of a kind, and row `index` in the order of addition; NULL if index is out of
 * range. The kind determines the type of the row: (const fg_model_entry *)fg_registry_at(...). */
FG_API size_t fg_registry_count(const fg_registry *registry, fg_registry_kind kind);
FG_API const fg_entry *fg_registry_at(const fg_registry *registry, fg_registry_kind kind,
                                      size_t index);
/* Finds a row by its name or by an alternative spelling of other programs (fg_entry.spellings),
 * ignoring case. If there is none, returns NULL and an error that suggests the closest name
 * (FG_ENOTFOUND). */
FG_API const fg_entry *fg_registry_find(const fg_registry *registry, fg_registry_kind kind,
                                        const char *name, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
