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
#include "log/loggers.h"

enum { KINDS = FG_REGISTRY_AUGMENTATION + 1, MOST_NAMES = 128, KNOWN_SIZE = 320 };

static const char *const kind_names[KINDS] = {
    "model", "loss", "optimizer", "schedule", "data format", "callback", "logger", "augmentation"};

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

/* Whether the word is the row's name or one of its aliases. */
static bool is_called(const fg_entry *entry, const char *word)
{
    if (fgi_is_same_word(word, strlen(word), entry->name))
        return true;
    for (const char *at = entry->spellings; at != NULL && *at != '\0';) {
        const size_t size = strcspn(at, "|");
        if (fgi_is_same_word(at, size, word))
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

const fg_entry *fg_registry_find(const fg_registry *registry, fg_registry_kind kind,
                                 const char *name, fg_error *err)
{
    const char *names[MOST_NAMES];
    char known[KNOWN_SIZE];
    const list *l = &registry->lists[kind];
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (is_called(l->entries[i], name))
            return l->entries[i];
        if (count < MOST_NAMES)
            names[count++] = l->entries[i]->name;
    }
    (void)fgi_fail(err, FG_ENOTFOUND, "unknown %s '%.80s'%s", kind_names[kind], name,
                   fgi_suggest(name, names, count, known, sizeof known));
    return NULL;
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

/* Checks a row before it is added; has_functions: it has all functions that its kind requires.
 */
static fg_status check(const list *l, fg_registry_kind kind, const fg_entry *entry,
                       bool has_functions, fg_error *err)
{
    fg_option_values *values = NULL;
    if (!is_name(entry->name))
        return fgi_fail(err, FG_EINVAL, "name '%s': expected only lower-case letters, digits and _",
                        entry->name != NULL ? entry->name : "");
    for (size_t i = 0; i < l->count; i++)
        if (is_called(l->entries[i], entry->name))
            return fgi_fail(err, FG_EINVAL, "'%s' is already registered", entry->name);
    if (entry->help == NULL || !has_functions)
        return fgi_fail(err, FG_EINVAL, "'%s' has no %s", entry->name,
                        entry->help == NULL ? "help" : "functions");
    for (size_t i = 0; i < entry->option_count; i++)
        FGI_TRY(check_option(has_keys(kind) ? l : NULL, entry, i, err));
    const fg_status status =
        fg_option_values_create(entry->name, entry->options, entry->option_count, &values, err);
    fg_option_values_destroy(values);
    return status;
}

static fg_status add(fg_registry *registry, fg_registry_kind kind, const fg_entry *entry,
                     bool has_functions, fgi_reserved reserved, fg_error *err)
{
    list *l = &registry->lists[kind];
    FGI_TRY(fgi_check_reserved(reserved, err));
    FGI_TRY_RESERVED(fg_entry, entry, err);
    FGI_TRY_CTX(check(l, kind, entry, has_functions, err), err, "%s", kind_names[kind]);
    const fg_entry **entries = fgi_grow(l->entries, l->count, &l->capacity, sizeof *entries);
    if (entries == NULL)
        return fgi_no_memory(err);
    l->entries = entries;
    l->entries[l->count++] = entry;
    return FG_OK;
}

fg_status fg_registry_add_model(fg_registry *registry, const fg_model_entry *entry, fg_error *err)
{
    return add(registry, FG_REGISTRY_MODEL, &entry->entry,
               entry->build != NULL && entry->apply != NULL, FGI_RESERVED(fg_model_entry, entry),
               err);
}

fg_status fg_registry_add_loss(fg_registry *registry, const fg_loss_entry *entry, fg_error *err)
{
    return add(registry, FG_REGISTRY_LOSS, &entry->entry,
               entry->apply != NULL && entry->task != NULL, FGI_RESERVED(fg_loss_entry, entry),
               err);
}

fg_status fg_registry_add_optimizer(fg_registry *registry, const fg_optimizer_entry *entry,
                                    fg_error *err)
{
    return add(registry, FG_REGISTRY_OPTIMIZER, &entry->entry, entry->create != NULL,
               FGI_RESERVED(fg_optimizer_entry, entry), err);
}

fg_status fg_registry_add_schedule(fg_registry *registry, const fg_schedule_entry *entry,
                                   fg_error *err)
{
    return add(registry, FG_REGISTRY_SCHEDULE, &entry->entry, entry->create != NULL,
               FGI_RESERVED(fg_schedule_entry, entry), err);
}

fg_status fg_registry_add_format(fg_registry *registry, const fg_format_entry *entry, fg_error *err)
{
    return add(registry, FG_REGISTRY_FORMAT, &entry->entry, entry->open != NULL,
               FGI_RESERVED(fg_format_entry, entry), err);
}

fg_status fg_registry_add_callback(fg_registry *registry, const fg_callback_entry *entry,
                                   fg_error *err)
{
    const fg_callback_ops *ops = entry->ops;
    const char *name = ops != NULL && ops->name != NULL ? ops->name : "";
    if (ops != NULL && ops->save != NULL && entry->entry.name != NULL &&
        strcmp(name, entry->entry.name) != 0)
        return fgi_fail(err, FG_EINVAL,
                        "callback: '%s' saves state as '%s' (fg_callback_ops.name): expected the "
                        "name of the row",
                        entry->entry.name, name);
    return add(registry, FG_REGISTRY_CALLBACK, &entry->entry, ops != NULL && entry->create != NULL,
               FGI_RESERVED(fg_callback_entry, entry), err);
}

fg_status fg_registry_add_logger(fg_registry *registry, const fg_logger_entry *entry, fg_error *err)
{
    const fg_logger_ops *ops = entry->ops;
    return add(registry, FG_REGISTRY_LOGGER, &entry->entry,
               ops != NULL && ops->name != NULL && ops->log != NULL && entry->create != NULL,
               FGI_RESERVED(fg_logger_entry, entry), err);
}

fg_status fg_registry_add_augmentation(fg_registry *registry, const fg_augmentation_entry *entry,
                                       fg_error *err)
{
    return add(registry, FG_REGISTRY_AUGMENTATION, &entry->entry,
               (entry->apply != NULL) != (entry->mix != NULL),
               FGI_RESERVED(fg_augmentation_entry, entry), err);
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static fg_status add_built_in(fg_registry *r, fg_error *err)
{
    for (size_t i = 0; i < fgi_model_row_count; i++)
        FGI_TRY(fg_registry_add_model(r, fgi_model_rows[i], err));
    for (size_t i = 0; i < fgi_loss_row_count; i++)
        FGI_TRY(fg_registry_add_loss(r, fgi_loss_rows[i], err));
    for (size_t i = 0; i < fgi_optimizer_row_count; i++)
        FGI_TRY(fg_registry_add_optimizer(r, fgi_optimizer_rows[i], err));
    for (size_t i = 0; i < fgi_schedule_row_count; i++)
        FGI_TRY(fg_registry_add_schedule(r, fgi_schedule_rows[i], err));
    for (size_t i = 0; i < fgi_format_row_count; i++)
        FGI_TRY(fg_registry_add_format(r, fgi_format_rows[i], err));
    for (size_t i = 0; i < fgi_callback_row_count; i++)
        FGI_TRY(fg_registry_add_callback(r, fgi_callback_rows[i], err));
    for (size_t i = 0; i < fgi_logger_row_count; i++)
        FGI_TRY(fg_registry_add_logger(r, fgi_logger_rows[i], err));
    for (size_t i = 0; i < fgi_augmentation_row_count; i++)
        FGI_TRY(fg_registry_add_augmentation(r, fgi_augmentation_rows[i], err));
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
