/* registry.c - rows by kind and name: built-in rows, and rows added by a program.
 *
 * Rows are borrowed; the registry owns only its lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/registry.h>
#include <string.h>

#include "aug/augmentations.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/text.h"
#include "data/formats.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "option/option.h"
#include "callback/callback_rows.h"
#include "log/logger.h"

enum { KINDS = FG_REGISTRY_AUGMENTATION + 1 };

/* ---- the kinds of rows ----------------------------------------------------------------------- */

/* Whether it has the functions that it needs. */
static bool is_complete(fg_registry_kind kind, const fg_entry *entry)
{
    const void *row = entry; /* the first member of each kind */
    const fg_model_entry *model = row;
    const fg_loss_entry *loss = row;
    const fg_optimizer_entry *optimizer = row;
    const fg_schedule_entry *schedule = row;
    const fg_format_entry *format = row;
    const fg_callback_entry *callback = row;
    const fg_logger_entry *logger = row;
    const fg_augmentation_entry *augmentation = row;
    switch (kind) {
    case FG_REGISTRY_MODEL: return model->build != NULL && model->apply != NULL;
    case FG_REGISTRY_LOSS: return loss->apply != NULL && loss->task != NULL;
    case FG_REGISTRY_OPTIMIZER: return optimizer->update != NULL || optimizer->update_all != NULL;
    case FG_REGISTRY_SCHEDULE: return schedule->lr != NULL;
    case FG_REGISTRY_FORMAT: return format->load != NULL;
    case FG_REGISTRY_CALLBACK: return callback->ops != NULL && callback->ops->destroy != NULL;
    case FG_REGISTRY_LOGGER:
        return logger->ops != NULL && logger->ops->name != NULL && logger->ops->log != NULL &&
               logger->ops->destroy != NULL;
    case FG_REGISTRY_AUGMENTATION:
        return (augmentation->apply != NULL) != (augmentation->mix != NULL);
    }
    return false;
}

typedef struct row_kind {
    const char *name;
    const fg_entry *const *rows; /* the built-in ones */
    const size_t *count;
    fgi_reserved reserved; /* of the row's own struct */
} row_kind;

#define KIND(title, name)                                                                          \
    {                                                                                              \
        title, fgi_##name##_rows, &fgi_##name##_row_count,                                         \
        {                                                                                          \
            "fg_" #name "_entry", NULL, offsetof(fg_##name##_entry, reserved),                     \
                sizeof(((const fg_##name##_entry *)NULL)->reserved)                                \
        }                                                                                          \
    }

static const row_kind kinds[KINDS] = {
    [FG_REGISTRY_MODEL] = KIND("model", model),
    [FG_REGISTRY_LOSS] = KIND("loss", loss),
    [FG_REGISTRY_OPTIMIZER] = KIND("optimizer", optimizer),
    [FG_REGISTRY_SCHEDULE] = KIND("schedule", schedule),
    [FG_REGISTRY_FORMAT] = KIND("data format", format),
    [FG_REGISTRY_CALLBACK] = KIND("callback", callback),
    [FG_REGISTRY_LOGGER] = KIND("logger", logger),
    [FG_REGISTRY_AUGMENTATION] = KIND("augmentation", augmentation),
};

typedef struct list {
    const fg_entry **entries;
    size_t count, capacity;
} list;

struct fg_registry {
    list lists[KINDS];
};

/* ---- lookup ---------------------------------------------------------------------------------- */

size_t fg_registry_count(const fg_registry *registry, fg_registry_kind kind)
{
    return registry->lists[kind].count;
}

const fg_entry *fg_registry_at(const fg_registry *registry, fg_registry_kind kind, size_t index)
{
    const list *l = &registry->lists[kind];
    return index < l->count ? l->entries[index] : NULL;
}

const fg_entry *fg_registry_find(const fg_registry *registry, fg_registry_kind kind,
                                 const char *name, fg_error *err)
{
    const list *l = &registry->lists[kind];
    return fgi_entry_find(l->entries, l->count, kinds[kind].name, name, err);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    return name != NULL && name[0] != '\0' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Options with the same name are one key of the configuration, except those of rows that a key
 * lists. */
static bool has_keys(fg_registry_kind kind) { return kind < FG_REGISTRY_CALLBACK; }

static fg_status check_same(const fg_entry *entry, const fg_option *option, const fg_entry *other,
                            fg_error *err)
{
    for (size_t i = 0; i < other->option_count; i++) {
        const fg_option *theirs = &other->options[i];
        if (strcmp(theirs->name, option->name) != 0)
            continue;
        if (theirs->kind != option->kind || !is_same_text(theirs->initial, option->initial) ||
            !is_same_text(theirs->range, option->range) || theirs->min_count != option->min_count ||
            theirs->max_count != option->max_count)
            return fgi_fail(err, FG_EINVAL,
                            "option '%s' of '%s' differs from that of '%s' in kind, default, range "
                            "or choices: expected the same, or a different name",
                            option->name, entry->name, other->name);
    }
    return FG_OK;
}

/* l: the rows that must not contradict it; NULL: none. */
static fg_status check_option(const list *l, const fg_entry *entry, size_t index, fg_error *err)
{
    const fg_option *option = &entry->options[index];
    if (!is_name(option->name) || strcmp(option->name, "name") == 0 ||
        strcmp(option->name, "format") == 0)
        return fgi_fail(err, FG_EINVAL,
                        "option '%s' of '%s': expected a name of lower-case letters, digits and _, "
                        "other than 'name' and 'format'",
                        option->name != NULL ? option->name : "", entry->name);
    if (option->help == NULL || option->example == NULL ||
        (option->kind == FG_OPTION_CHOICE && option->range == NULL))
        return fgi_fail(err, FG_EINVAL, "option '%s' of '%s' has no %s", option->name, entry->name,
                        option->help == NULL      ? "help"
                        : option->example == NULL ? "example"
                                                  : "choices");
    for (size_t i = 0; i < index; i++)
        if (strcmp(entry->options[i].name, option->name) == 0)
            return fgi_fail(err, FG_EINVAL, "'%s' has two options named '%s'", entry->name,
                            option->name);
    for (size_t i = 0; l != NULL && i < l->count; i++)
        FGI_TRY(check_same(entry, option, l->entries[i], err));
    return FG_OK;
}

/* A callback whose state is saved under another name could not be found in a checkpoint. */
static fg_status check_state_name(const fg_callback_entry *row, fg_error *err)
{
    const fg_callback_ops *ops = row->ops;
    const char *name = ops->name != NULL ? ops->name : "";
    if (ops->save == NULL || strcmp(name, row->entry.name) == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' saves state as '%s' (fg_callback_ops.name): expected the name of the row",
                    row->entry.name, name);
}

static fg_status check(const list *l, fg_registry_kind kind, const fg_entry *entry, fg_error *err)
{
    fg_option_values *values = NULL;
    if (!is_name(entry->name))
        return fgi_fail(err, FG_EINVAL, "name '%s': expected only lower-case letters, digits and _",
                        entry->name != NULL ? entry->name : "");
    for (size_t i = 0; i < l->count; i++)
        if (fgi_entry_is_called(l->entries[i], entry->name))
            return fgi_fail(err, FG_EINVAL, "'%s' is already registered", entry->name);
    if (entry->help == NULL || !is_complete(kind, entry))
        return fgi_fail(err, FG_EINVAL, "'%s' has no %s", entry->name,
                        entry->help == NULL ? "help" : "functions");
    if (kind == FG_REGISTRY_CALLBACK)
        FGI_TRY(check_state_name((const fg_callback_entry *)entry, err));
    for (size_t i = 0; i < entry->option_count; i++)
        FGI_TRY(check_option(has_keys(kind) ? l : NULL, entry, i, err));
    FGI_TRY(fgi_row_check(entry, err));
    const fg_status status =
        fg_option_values_create(entry->name, entry->options, entry->option_count, &values, err);
    fg_option_values_destroy(values);
    return status;
}

fg_status fg_registry_add(fg_registry *registry, fg_registry_kind kind, const fg_entry *entry,
                          fg_error *err)
{
    list *l = &registry->lists[kind];
    fgi_reserved reserved = kinds[kind].reserved;
    reserved.options = entry;
    FGI_TRY(fgi_check_reserved(reserved, err));
    FGI_TRY_RESERVED(fg_entry, entry, err);
    FGI_TRY_CTX(check(l, kind, entry, err), err, "%s", kinds[kind].name);
    FGI_TRY_GROW(l->entries, l->count, l->capacity, err);
    l->entries[l->count++] = entry;
    return FG_OK;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static fg_status add_built_in(fg_registry *registry, fg_error *err)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < *kinds[kind].count; i++)
            FGI_TRY(fg_registry_add(registry, (fg_registry_kind)kind, kinds[kind].rows[i], err));
    return FG_OK;
}

fg_status fg_registry_create(fg_registry **out, fg_error *err)
{
    *out = NULL;
    fg_registry *registry = fgi_calloc(1, sizeof *registry);
    if (registry == NULL)
        return fgi_no_memory(err);
    const fg_status status = add_built_in(registry, err);
    if (status == FG_OK)
        *out = registry;
    else
        fg_registry_destroy(registry);
    return status;
}

void fg_registry_destroy(fg_registry *registry)
{
    if (registry == NULL)
        return;
    for (int i = 0; i < KINDS; i++)
        fgi_free(registry->lists[i].entries);
    fgi_free(registry);
}
