/* config_help.c - help for configuration keys on a terminal: by section in a command's help, in
 * full in `fulgurite help config`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/recipe.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "recipe/config_table.h"

enum { HELP_WIDTH = 98, HELP_INDENT = 6 };

/* Length of "trainer" in "trainer.seed", 0 for a key at the top. */
static size_t section_size(const fgi_config_key *key)
{
    const char *dot = strchr(key->path, '.');
    return dot != NULL ? (size_t)(dot - key->path) : 0;
}

static bool is_new_section(size_t index)
{
    const fgi_config_key *key = fgi_config_key_at(index), *before;
    if (index == 0)
        return true;
    before = fgi_config_key_at(index - 1);
    const size_t size = section_size(key);
    return size != section_size(before) || strncmp(key->path, before->path, size) != 0;
}

/* Wraps words into lines of HELP_WIDTH characters, indented by `indent` spaces; the first line
 * already has `used` characters. */
static void print_wrapped(fgi_buf *out, const char *words, int indent, int used)
{
    while (*words != '\0') {
        const int size = (int)strcspn(words, " ");
        if (used + 1 + size > HELP_WIDTH) {
            fgi_buf_printf(out, "\n%*s", indent - 1, "");
            used = indent - 1;
        }
        fgi_buf_printf(out, " %.*s", size, words);
        used += 1 + size;
        words += size;
        words += strspn(words, " ");
    }
    fgi_buf_putc(out, '\n');
}

static void put_key_names(fgi_buf *out)
{
    char names[2048];
    for (size_t i = 0; i < fgi_config_key_count();) {
        const size_t size = section_size(fgi_config_key_at(i));
        const char *section = size > 0 ? fgi_config_key_at(i)->path : "";
        size_t used = 0;
        do {
            const char *name = fgi_config_key_at(i)->path + (size > 0 ? size + 1 : 0);
            used += (size_t)fgi_snprintf(names + used, sizeof(names) - used, "%s ", name);
        } while (++i < fgi_config_key_count() && !is_new_section(i) && used < sizeof(names) - 128);
        fgi_buf_printf(out, "  %-10.*s", (int)size, section);
        print_wrapped(out, names, 13, 12);
    }
}

static void print_key(fgi_buf *out, const fgi_config_key *key)
{
    char words[2 * FGI_CONFIG_WORDS], spellings[256];
    (void)fg_option_spellings(key->option, spellings, sizeof(spellings));
    fgi_buf_printf(out, "  --%s=%s\n%*s", key->path, key->option->example, HELP_INDENT - 1, "");
    (void)fgi_snprintf(words, sizeof(words), "%s [%s%s%s; default: %s]", fgi_config_explain(key),
                       fgi_config_type(key), spellings[0] != '\0' ? "; also accepted: " : "",
                       spellings, key->option->initial != NULL ? key->option->initial : "none");
    print_wrapped(out, words, HELP_INDENT, HELP_INDENT - 1);
}

/* A row that a list can name, such as a callback, and its options. */
static void print_row(fgi_buf *out, const fg_entry *entry)
{
    char words[FGI_CONFIG_WORDS], type[512];
    fgi_buf_printf(out, "  %s:", entry->name);
    print_wrapped(out, entry->help, HELP_INDENT, 3 + (int)strlen(entry->name));
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        (void)fgi_snprintf(words, sizeof(words), "%s: %s [%s; default: %s]", option->name,
                           option->help, fg_option_type(option, type, sizeof(type)),
                           option->initial != NULL ? option->initial : "none");
        fgi_buf_printf(out, "%*s", HELP_INDENT - 1, "");
        print_wrapped(out, words, HELP_INDENT + 2, HELP_INDENT - 1);
    }
}

/* The rows that a list can name: all those of the key `about`, or the row with that name. */
static bool put_rows(fgi_buf *out, const char *about)
{
    bool has_any = false;
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        const fg_registry *registry = fgi_config_table_built_in()->registry;
        for (size_t k = 0; key->has_entries && k < fg_registry_count(registry, key->kind); k++) {
            const fg_entry *entry = fg_registry_at(registry, key->kind, k);
            const bool is_all = strcmp(about, key->path) == 0;
            if (!is_all && strcmp(about, entry->name) != 0)
                continue;
            fgi_buf_printf(out, "%s\n", is_all ? "" : key->path);
            print_row(out, entry);
            has_any = true;
        }
    }
    return has_any;
}

/* Whether `about` (NULL: everything) is this key or its section. */
static bool is_about(const char *about, const fgi_config_key *key)
{
    const size_t size = section_size(key);
    return about == NULL || strcmp(about, key->path) == 0 ||
           (size > 0 && strlen(about) == size && strncmp(about, key->path, size) == 0);
}

static bool put_keys(fgi_buf *out, const char *about)
{
    bool has_any = false, is_in_section = false;
    if (about == NULL)
        fgi_buf_puts(
            out, "The keys of a configuration, each with an example. In a file `--a.b=VALUE` is\n"
                 "\n  a:\n    b: VALUE\n");
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        is_in_section = is_in_section && !is_new_section(i);
        if (!is_about(about, key))
            continue;
        if (!is_in_section) {
            char section[64];
            (void)fgi_snprintf(section, sizeof(section), "%.*s", (int)section_size(key), key->path);
            const char *help = fgi_config_section_help(section);
            fgi_buf_printf(out, "%s%s%s%s\n", about == NULL ? "\n" : "", section,
                           help != NULL ? ": " : "", help != NULL ? help : "top level");
        }
        print_key(out, key);
        has_any = is_in_section = true;
    }
    if (about != NULL)
        has_any = put_rows(out, about) || has_any;
    return has_any;
}

/* ---- public functions ------------------------------------------------------------------------ */

size_t fg_recipe_key_count(void) { return fgi_config_key_count(); }

static const char *words_of(const fgi_config_key *key)
{
    if (key->option->kind == FG_OPTION_CHOICE || key->has_entries)
        return key->option->range;
    if (key->option->kind == FG_OPTION_BOOL)
        return "true|false";
    return key->option->range != NULL && strncmp(key->option->range, "auto", 4) == 0 ? "auto" : "";
}

static void describe(const fgi_config_key *key, fg_recipe_key *out)
{
    *out = (fg_recipe_key){.path = key->path,
                           .words = words_of(key),
                           .is_bool = key->option->kind == FG_OPTION_BOOL,
                           .fallback = key->option->initial,
                           .example = key->option->example,
                           .type = fgi_config_type(key),
                           .help = fgi_config_explain(key)};
}

fg_status fg_recipe_key_at(size_t index, fg_recipe_key *out, fg_error *err)
{
    if (index >= fgi_config_key_count())
        return fgi_fail(err, FG_EINVAL, "there are %zu keys: no key %zu", fgi_config_key_count(),
                        index);
    describe(fgi_config_key_at(index), out);
    return FG_OK;
}

bool fg_recipe_key_find(const char *path, fg_recipe_key *out)
{
    const fgi_config_key *key = fgi_config_find(path);
    if (key != NULL && out != NULL)
        describe(key, out);
    return key != NULL;
}

const char *fg_recipe_key_suggest(const char *path)
{
    const char *section = strchr(path, '.') == NULL ? fgi_config_suggest_section(path) : NULL;
    return section != NULL ? section : fgi_config_suggest(path);
}

const char *fg_recipe_nearest(const char *word, const char *const *candidates, size_t count)
{
    return fgi_nearest(word, candidates, count);
}

fg_status fg_recipe_help(fg_recipe_help_kind kind, const char *about, char **out, fg_error *err)
{
    fgi_buf text = {0};
    bool has_any = true;
    *out = NULL;
    switch (kind) {
    case FG_RECIPE_HELP_KEYS: has_any = put_keys(&text, about); break;
    case FG_RECIPE_HELP_NAMES: put_key_names(&text); break;
    case FG_RECIPE_HELP_MARKDOWN: fgi_config_print_markdown(&text); break;
    }
    const fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK && has_any)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    if (status == FG_OK && !has_any)
        return fgi_fail(err, FG_ENOTFOUND, "no key or section '%s'", about);
    return status;
}
