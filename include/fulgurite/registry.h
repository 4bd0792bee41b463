/* registry.h - what a run can name: models, losses, optimizers, schedules.
 *
 * Each is a constant row (fg_model_entry, fg_optimizer_entry ...) with a name, a help text, a table
 * of options, and functions. A registry contains the rows that are built in, and those that your
 * program adds, which can then be named in a configuration like the others.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_REGISTRY_H
#define FULGURITE_REGISTRY_H

#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fg_registry_kind {
    FG_REGISTRY_MODEL = 0,     /* fg_model_entry     */
    FG_REGISTRY_LOSS = 1,      /* fg_loss_entry      */
    FG_REGISTRY_OPTIMIZER = 2, /* fg_optimizer_entry */
    FG_REGISTRY_SCHEDULE = 3,  /* fg_schedule_entry  */
} fg_registry_kind;

/* Rows by kind and name. One thread at a time while rows are added, thread-safe afterwards. */
typedef struct fg_registry fg_registry;

/* Creates a registry of the rows that are built in. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_registry_create(fg_registry **out, fg_error *err);
/* NULL is allowed. */
FG_API void fg_registry_destroy(fg_registry *registry);

/* Adds a row, which must outlive the registry. Errors: FG_EINVAL for a name that exists already, is
 * empty or has other characters than lower case letters, digits and _, for a missing help or
 * function, and for an option whose row contradicts itself or has another kind, default or range
 * than the option of the same name in another row of this kind; FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_registry_add_model(fg_registry *registry,
                                                   const fg_model_entry *entry, fg_error *err);
FG_API FG_MUST_USE fg_status fg_registry_add_loss(fg_registry *registry, const fg_loss_entry *entry,
                                                  fg_error *err);
FG_API FG_MUST_USE fg_status fg_registry_add_optimizer(fg_registry *registry,
                                                       const fg_optimizer_entry *entry,
                                                       fg_error *err);
FG_API FG_MUST_USE fg_status fg_registry_add_schedule(fg_registry *registry,
                                                      const fg_schedule_entry *entry,
                                                      fg_error *err);

/* The number of rows of a kind, and one of them in the order in which they were added; NULL past
 * the end. The row's type follows from the kind: (const fg_model_entry *)fg_registry_at(...). */
FG_API size_t fg_registry_count(const fg_registry *registry, fg_registry_kind kind);
FG_API const fg_entry *fg_registry_at(const fg_registry *registry, fg_registry_kind kind,
                                      size_t index);
/* The row of that name or of another program's name for it (fg_entry.spellings), in any case; NULL
 * and an error that suggests the nearest name (FG_ENOTFOUND) if there is none. */
FG_API const fg_entry *fg_registry_find(const fg_registry *registry, fg_registry_kind kind,
                                        const char *name, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
