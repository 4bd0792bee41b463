/* config_table.c - derives the keys of a configuration from the rows of a registry: their names,
 * when they have an effect, and their help.
 *
 * Options with the same name are one key. If rows describe it differently, its help names them; if
 * only some rows of the section have it, it has an effect only with those.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config/config_table.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "option/option.h"

enum { MOST_KEYS = FGI_CONFIG_MAX_KEYS, MOST_ENTRIES = 128 };

/* The rows of a section's kind. */
typedef struct entries {
    const fg_entry *at[MOST_ENTRIES];
    size_t count;
} entries;

static const char *keep(fgi_config_table *t, fgi_buf *text)
{
    const char *kept =
        text->failed ? NULL : fgi_arena_strdup(&t->arena, text->data != NULL ? text->data : "");
    fgi_buf_fini(text);
    t->has_failed = t->has_failed || kept == NULL;
    return kept != NULL ? kept : "";
}

/* NULL: no room, a program may register hundreds of options. */
static fgi_config_key *add(fgi_config_table *t, const fg_option *option, const char *only)
{
    if (t->count == MOST_KEYS)
        return NULL;
    t->options[t->count] = *option;
    t->keys[t->count] =
        (fgi_config_key){.path = option->name, .option = &t->options[t->count], .only = only};
    return &t->keys[t->count++];
}

/* A key that is a member of fgi_config. */
static fgi_config_key *add_member(fgi_config_table *t, const fg_option *option, const char *only)
{
    fgi_config_key *key = add(t, option, only);
    if (key != NULL)
        key->is_member = true;
    return key;
}

/* ---- keys that name a row -------------------------------------------------------------------- */

/* "a: help of a; b, c: help of both; d to g: help of four." */
static void put_entries(fgi_buf *out, const entries *all)
{
    for (size_t i = 0, end; i < all->count; i = end) {
        const fg_entry *first = all->at[i];
        for (end = i + 1; end < all->count && strcmp(first->help, all->at[end]->help) == 0;)
            end++;
        fgi_buf_puts(out, first->name);
        if (end - i > 1)
            fgi_buf_printf(out, "%s%s", end - i > 2 ? " to " : ", ", all->at[end - 1]->name);
        fgi_buf_printf(out, ": %s%s", first->help, end == all->count ? "." : "; ");
    }
}

static const char *help_of_name(fgi_config_table *t, const fgi_config_section *s,
                                const entries *all)
{
    fgi_buf text = {0};
    fgi_buf_printf(&text, "%s ", s->before);
    put_entries(&text, all);
    if (s->after != NULL)
        fgi_buf_printf(&text, " %s", s->after);
    return keep(t, &text);
}

/* "theirs=ours|theirs=ours" */
static const char *spellings_of(fgi_config_table *t, const entries *all)
{
    fgi_buf text = {0};
    for (size_t i = 0; i < all->count; i++)
        for (const char *at = all->at[i]->spellings; at != NULL && *at != '\0';) {
            const size_t size = strcspn(at, "|");
            fgi_buf_printf(&text, "%s%.*s=%s", text.size > 0 ? "|" : "", (int)size, at,
                           all->at[i]->name);
            at += size + (at[size] == '|');
        }
    return text.size > 0 ? keep(t, &text) : NULL;
}

static const char *path_of(fgi_config_table *t, const char *section, const char *name)
{
    fgi_buf text = {0};
    fgi_buf_printf(&text, "%s.%s", section, name);
    return keep(t, &text);
}

/* The key that names a row. */
static const char *key_of(const fgi_config_section *s) { return s->key != NULL ? s->key : "name"; }

static void add_name(fgi_config_table *t, const fgi_config_section *s, const entries *all)
{
    fgi_buf choices = {0};
    const char *example = s->initial;
    if (s->has_auto)
        fgi_buf_puts(&choices, "auto|");
    for (size_t i = 0; i < all->count; i++) {
        fgi_buf_printf(&choices, "%s%s", i > 0 ? "|" : "", all->at[i]->name);
        if (s->initial == NULL || strcmp(all->at[i]->name, s->initial) != 0)
            example = all->at[i]->name;
    }
    (void)add_member(t,
                     &(fg_option){.name = path_of(t, s->name, key_of(s)),
                                  .kind = FG_OPTION_CHOICE,
                                  .initial = s->initial,
                                  .range = keep(t, &choices),
                                  .later = s->later,
                                  .spellings = spellings_of(t, all),
                                  .example = example,
                                  .help = help_of_name(t, s, all),
                                  .offset = s->name_offset},
                     NULL);
}

/* ---- keys that list rows --------------------------------------------------------------------- */

static void add_list(fgi_config_table *t, const fg_option *list)
{
    const fg_registry_kind kind = strcmp(list->name, "data.augment") == 0 ? FG_REGISTRY_AUGMENTATION
                                  : strcmp(list->name, "trainer.callbacks") == 0
                                      ? FG_REGISTRY_CALLBACK
                                      : FG_REGISTRY_LOGGER;
    fg_option option = *list;
    fgi_buf help = {0}, choices = {0};
    fgi_buf_printf(&help, "%s Available: ", option.help);
    for (size_t i = 0; i < fg_registry_count(t->registry, kind); i++) {
        const char *name = fg_registry_at(t->registry, kind, i)->name;
        fgi_buf_printf(&help, "%s%s", i > 0 ? ", " : "", name);
        fgi_buf_printf(&choices, "%s%s", i > 0 ? "|" : "", name);
    }
    fgi_buf_printf(&help, ". `fulgurite help config %s` lists their options.", option.name);
    option.help = keep(t, &help);
    option.range = keep(t, &choices); /* for completion */
    fgi_config_key *key = add_member(t, &option, option.only);
    if (key == NULL)
        return;
    key->has_entries = true;
    key->kind = kind;
}

/* ---- options of rows ------------------------------------------------------------------------- */

static const fg_option *option_of(const fg_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->option_count; i++)
        if (strcmp(entry->options[i].name, name) == 0)
            return &entry->options[i];
    return NULL;
}

static const char *help_in(const fg_entry *entry, const char *name)
{
    const fg_option *option = option_of(entry, name);
    return option != NULL ? option->help : NULL;
}

static const char *automatic_in(const fg_entry *entry, const char *name)
{
    const fg_option *option = option_of(entry, name);
    return option != NULL ? option->automatic : NULL;
}

typedef const char *text_in(const fg_entry *entry, const char *name);

/* The rows with the same text as row `first`, "a, b"; *out_is_new: no earlier row has it. */
static void put_names(fgi_buf *out, const entries *all, size_t first, const char *name,
                      text_in *text, const char *last_join)
{
    const char *before = "", *text_of_first = text(all->at[first], name);
    size_t count = 0, done = 0;
    for (size_t i = first; i < all->count; i++) {
        const char *other = text(all->at[i], name);
        count += other != NULL && strcmp(other, text_of_first) == 0;
    }
    for (size_t i = first; i < all->count; i++) {
        const char *other = text(all->at[i], name);
        if (other == NULL || strcmp(other, text_of_first) != 0)
            continue;
        fgi_buf_printf(out, "%s%s", before, all->at[i]->name);
        before = ++done + 1 == count ? last_join : ", ";
    }
}

/* Whether a row before `index` has the same text for the option. */
static bool has_before(const entries *all, size_t index, const char *name, text_in *text)
{
    const char *mine = text(all->at[index], name);
    for (size_t i = 0; i < index && mine != NULL; i++) {
        const char *other = text(all->at[i], name);
        if (other != NULL && strcmp(other, mine) == 0)
            return true;
    }
    return mine == NULL;
}

/* One help for the option: "Learning rate. auto: 0.01 for sgd, 0.001 for adam and adamw." */
static const char *help_of(fgi_config_table *t, const entries *all, const char *name)
{
    fgi_buf text = {0};
    size_t helps = 0;
    for (size_t i = 0; i < all->count; i++)
        helps += !has_before(all, i, name, help_in);
    for (size_t i = 0; i < all->count; i++) {
        if (has_before(all, i, name, help_in))
            continue;
        fgi_buf_puts(&text, text.size > 0 ? " " : "");
        if (helps > 1) {
            put_names(&text, all, i, name, help_in, ", ");
            fgi_buf_puts(&text, ": ");
        }
        fgi_buf_puts(&text, help_in(all->at[i], name));
    }
    const char *before = " auto: ";
    for (size_t i = 0; i < all->count; i++) {
        if (has_before(all, i, name, automatic_in))
            continue;
        fgi_buf_printf(&text, "%s%s for ", before, automatic_in(all->at[i], name));
        put_names(&text, all, i, name, automatic_in, " and ");
        before = ", ";
    }
    fgi_buf_puts(&text, strcmp(before, ", ") == 0 ? "." : "");
    return keep(t, &text);
}

/* "model.name=mlp|lenet"; NULL when all rows have the option. */
static const char *only_of(fgi_config_table *t, const fgi_config_section *s, const entries *all,
                           const char *name)
{
    fgi_buf text = {0};
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (option_of(all->at[i], name) != NULL)
            fgi_buf_printf(&text, "%s%s", count++ > 0 ? "|" : "", all->at[i]->name);
    fgi_buf whole = {0};
    fgi_buf_printf(&whole, "%s.%s=%s", s->name, key_of(s), text.data != NULL ? text.data : "");
    fgi_buf_fini(&text);
    const char *only = keep(t, &whole);
    return count < all->count ? only : NULL;
}

static void add_options(fgi_config_table *t, const fgi_config_section *s, const entries *all)
{
    for (size_t e = 0; e < all->count; e++)
        for (size_t i = 0; i < all->at[e]->option_count; i++) {
            fg_option option = all->at[e]->options[i];
            const char *name = option.name, *path = path_of(t, s->name, name);
            if (fgi_config_find(t, path) != NULL)
                continue;
            option.name = path;
            option.help = help_of(t, all, name);
            (void)add(t, &option, only_of(t, s, all, name));
        }
}

static void add_key(fgi_config_table *t, const fg_option *option)
{
    if (option->kind == FG_OPTION_ENTRIES)
        add_list(t, option);
    else
        (void)add_member(t, option, option->only);
}

/* The options of a C struct. */
static void add_table(fgi_config_table *t, const fgi_config_section *s, int index)
{
    const fg_entry *entry = s->tables[index].row();
    for (size_t i = 0; i < entry->option_count; i++) {
        fg_option option = entry->options[i];
        option.name = path_of(t, s->name, option.name);
        option.offset += s->tables[index].offset;
        option.only = option.only != NULL ? path_of(t, s->name, option.only) : NULL;
        add_key(t, &option);
    }
}

static void add_section(fgi_config_table *t, const fgi_config_section *s)
{
    entries all = {.count = 0};
    if (s->has_entries) {
        const size_t count = fg_registry_count(t->registry, s->kind);
        for (; all.count < count && all.count < MOST_ENTRIES; all.count++)
            all.at[all.count] = fg_registry_at(t->registry, s->kind, all.count);
        add_name(t, s, &all);
        add_options(t, s, &all);
    }
    for (int i = 0; i < 2 && s->tables[i].row != NULL; i++)
        add_table(t, s, i);
    for (size_t i = 0; i < s->option_count; i++)
        add_key(t, &s->options[i]);
}

static fg_status check_row(const fg_registry *registry, const fgi_config_section *s,
                           const fg_option *key, fg_error *err)
{
    const char *name = key->name + strlen(s->name) + 1;
    for (size_t i = 0; i < fg_registry_count(registry, s->kind); i++) {
        const fg_entry *entry = fg_registry_at(registry, s->kind, i);
        if (option_of(entry, name) != NULL)
            return fgi_fail(err, FG_EINVAL,
                            "%s: option '%s' of '%s' has the name of the key %s, which every "
                            "configuration has: expected a different name",
                            s->name, name, entry->name, key->name);
    }
    return FG_OK;
}

fg_status fgi_config_table_check(const fg_registry *registry, fg_error *err)
{
    for (size_t i = 0; i < fgi_config_section_count; i++) {
        const fgi_config_section *s = &fgi_config_sections[i];
        for (size_t k = 0; k < s->option_count && s->has_entries; k++)
            FGI_TRY(check_row(registry, s, &s->options[k], err));
    }
    return FG_OK;
}

fgi_config_table *fgi_config_table_create(const fg_registry *registry)
{
    fgi_config_table *t = fgi_calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->registry = registry;
    t->options = fgi_calloc(MOST_KEYS, sizeof(*t->options));
    t->keys = fgi_calloc(MOST_KEYS, sizeof(*t->keys));
    t->has_failed = t->options == NULL || t->keys == NULL;
    for (size_t i = 0; i < fgi_config_section_count && !t->has_failed; i++)
        add_section(t, &fgi_config_sections[i]);
    if (!t->has_failed)
        return t;
    fgi_config_table_destroy(t);
    return NULL;
}

void fgi_config_table_destroy(fgi_config_table *table)
{
    if (table == NULL)
        return;
    fgi_arena_fini(&table->arena);
    fgi_free(table->options);
    fgi_free(table->keys);
    fgi_free(table);
}

const fgi_config_table *fgi_config_table_built_in(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static fgi_config_table *table;
    (void)pthread_mutex_lock(&lock);
    fg_registry *registry = NULL;
    if (table == NULL && fg_registry_create(&registry, NULL) == FG_OK) {
        table = fgi_config_table_create(registry);
        if (table == NULL)
            fg_registry_destroy(registry);
    }
    (void)pthread_mutex_unlock(&lock);
    return table;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

const fgi_config_key *fgi_config_find(const fgi_config_table *table, const char *path)
{
    table = table != NULL ? table : fgi_config_table_built_in();
    for (size_t i = 0; table != NULL && i < table->count; i++)
        if (strcmp(table->keys[i].path, path) == 0)
            return &table->keys[i];
    return NULL;
}

/* The key whose last part is nearest, among those that begin with `section`; NULL: none is near. */
static const char *nearest_in(const fgi_config_table *table, const char *section, size_t size,
                              const char *name)
{
    const char *names[MOST_KEYS] = {NULL}, *parts[MOST_KEYS] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        if (strncmp(table->keys[i].path, section, size) == 0) {
            names[count] = table->keys[i].path;
            parts[count] = fgi_after_last(names[count], '.');
            count++;
        }
    const char *part = fgi_nearest(name, parts, count);
    for (size_t i = 0; i < count && part != NULL; i++)
        if (parts[i] == part)
            return names[i];
    return NULL;
}

/* The key for a name that other programs use; NULL: none does. */
static const char *known_elsewhere(const char *name)
{
    for (size_t i = 0; i < fgi_config_elsewhere_count; i++)
        if (strcmp(fgi_config_names_elsewhere[i].theirs, name) == 0)
            return fgi_config_names_elsewhere[i].ours;
    return NULL;
}

const char *fgi_config_suggest(const fgi_config_table *table, const char *path)
{
    const char *name = fgi_after_last(path, '.');
    table = table != NULL ? table : fgi_config_table_built_in();
    if (known_elsewhere(name) != NULL)
        return known_elsewhere(name);
    for (size_t i = 0; i < table->count; i++) /* the right name in the wrong place */
        if (strcmp(fgi_after_last(table->keys[i].path, '.'), name) == 0)
            return table->keys[i].path;
    const char *near = nearest_in(table, path, (size_t)(name - path), name);
    return near != NULL ? near : nearest_in(table, "", 0, name);
}

const char *fgi_config_section_help(const char *name)
{
    for (size_t i = 0; i < fgi_config_section_count; i++)
        if (*name != '\0' && strcmp(fgi_config_sections[i].name, name) == 0)
            return fgi_config_sections[i].help;
    return NULL;
}

const char *fgi_config_suggest_section(const char *name)
{
    const char *names[16];
    size_t count = 0;
    for (size_t i = 0; i < fgi_config_section_count && count < 16; i++)
        if (fgi_config_sections[i].name[0] != '\0')
            names[count++] = fgi_config_sections[i].name;
    return known_elsewhere(name) == NULL ? fgi_nearest(name, names, count) : NULL;
}

const char *fgi_config_type(const fgi_config_key *key)
{
    static _Thread_local char text[512];
    return fg_option_type(key->option, text, sizeof(text));
}

const char *fgi_config_describe(const fgi_config_key *key)
{
    static _Thread_local char text[640];
    return fgi_option_expected(key->option, key->path, text, sizeof(text));
}
