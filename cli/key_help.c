/* key_help.c - help for configuration keys: by section in a command's help, in full in `fulgurite
 * help config`, and as docs/config.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "key_help.h"

#include <string.h>

#include "base/print.h"
#include "option/option.h"

enum { HELP_WIDTH = 98 };
static const char indent[] = "      ";

/* Length of "trainer" in "trainer.seed", 0 for a key at the top. */
static size_t section_size(const fgi_config_key *key)
{
    const char *dot = strchr(key->path, '.');
    return dot != NULL ? (size_t)(dot - key->path) : 0;
}

static bool is_new_section(size_t index)
{
    const fgi_config_key *key = &fgi_config_table_built_in()->keys[index], *before;
    if (index == 0)
        return true;
    before = &fgi_config_table_built_in()->keys[index - 1];
    const size_t size = section_size(key);
    return size != section_size(before) || strncmp(key->path, before->path, size) != 0;
}

void key_help_put_names(fgi_buf *out)
{
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        const size_t size = section_size(key);
        if (is_new_section(i))
            fgi_buf_printf(out, "%s  %-11.*s", i > 0 ? "\n" : "", (int)size, key->path);
        fgi_buf_wrap(out, key->path + size + (size > 0), HELP_WIDTH, "             ");
    }
    fgi_buf_putc(out, '\n');
}

static void print_key(fgi_buf *out, const fgi_config_key *key)
{
    char words[2 * FGI_CONFIG_WORDS], spellings[256];
    (void)fgi_option_spellings(key->option, spellings, sizeof(spellings));
    fgi_buf_printf(out, "  --%s=%s\n%s", key->path, key->option->example, indent);
    (void)fgi_snprintf(words, sizeof(words), "%s [%s%s%s; default: %s]", fgi_config_explain(key),
                       fgi_config_type(key), spellings[0] != '\0' ? "; also accepted: " : "",
                       spellings, key->option->initial != NULL ? key->option->initial : "none");
    fgi_buf_wrap(out, words, HELP_WIDTH, indent);
    fgi_buf_putc(out, '\n');
}

/* A row that a list can name, such as a callback, and its options. */
static void print_row(fgi_buf *out, const fg_entry *entry)
{
    char words[FGI_CONFIG_WORDS], type[512];
    fgi_buf_printf(out, "  %s:", entry->name);
    fgi_buf_wrap(out, entry->help, HELP_WIDTH, indent);
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        (void)fgi_snprintf(words, sizeof(words), "%s: %s [%s; default: %s]", option->name,
                           option->help, fg_option_type(option, type, sizeof(type)),
                           option->initial != NULL ? option->initial : "none");
        fgi_buf_printf(out, "\n%s", indent);
        fgi_buf_wrap(out, words, HELP_WIDTH, "        ");
    }
    fgi_buf_putc(out, '\n');
}

/* The rows that a list can name: all those of the key `about`, or the row with that name. */
static bool put_rows(fgi_buf *out, const char *about)
{
    bool has_any = false;
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
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

bool key_help_put(fgi_buf *out, const char *about)
{
    bool has_any = false, is_in_section = false;
    if (about == NULL)
        fgi_buf_puts(
            out, "The keys of a configuration, each with an example. In a file `--a.b=VALUE` is\n"
                 "\n  a:\n    b: VALUE\n");
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
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

/* ---- docs/config.md -------------------------------------------------------------------------- */

/* Escaped, because a vertical bar would end the table cell. */
static void print_cell(fgi_buf *out, const char *words)
{
    for (; *words != '\0'; words++) {
        if (*words == '|')
            fgi_buf_putc(out, '\\');
        fgi_buf_putc(out, *words);
    }
}

static void print_introduction(fgi_buf *out)
{
    fgi_buf_puts(
        out,
        "# Configuration\n\n"
        "Every key of a run's YAML file. On the command line, each is `--section.key=value`, "
        "which\n"
        "overrides the file; `--section.key=null` resets a key to its default. `--print-config`\n"
        "prints all keys with their current values, `fulgurite help config` lists them by "
        "section.\n"
        "An unknown key is an error.\n\n"
        "Choices are not case-sensitive. `gpu` is accepted for `cuda`, `bf16` for `bf16-mixed`, "
        "`16`\n"
        "for `16-mixed`, `fp32` and `32` for `32-true`, with a note. Paths are relative to the "
        "working\n"
        "directory, not to the configuration's folder, and a leading `~/` is the home folder. "
        "`null`,\n"
        "`Null`, `NULL` and `~` are YAML's null, the key's default. A file contains one YAML "
        "document.\n"
        "Numbers that f32 cannot represent (1e-400, 1e39) are errors.\n\n"
        "The options of [callbacks](#trainercallbacks), [loggers](#trainerloggers) and\n"
        "[augmentations](#dataaugment) are in tables at the end of the page.\n\n"
        "`fulgurite help --config-reference` generates this page; a test compares the two.\n");
}

/* "trainer.callbacks" as the anchor of its heading, "trainercallbacks". */
static void print_anchor(fgi_buf *out, const char *path)
{
    for (; *path != '\0'; path++)
        if (*path != '.')
            fgi_buf_putc(out, *path);
}

static void print_reference_row(fgi_buf *out, const fg_entry *entry)
{
    char type[512];
    fgi_buf_printf(out, "\n### %s\n\n`%s`: %s.\n", entry->name, entry->name, entry->help);
    if (entry->option_count > 0)
        fgi_buf_puts(out,
                     "\n| option | value | default | example | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        fgi_buf_printf(out, "| `%s` | ", option->name);
        print_cell(out, fg_option_type(option, type, sizeof(type)));
        fgi_buf_printf(out, " | `%s` | `%s` | ", option->initial != NULL ? option->initial : "null",
                       option->example);
        print_cell(out, option->help);
        fgi_buf_puts(out, " |\n");
    }
}

/* A section for each key that lists rows, such as callbacks, with the options of each row. */
static void print_reference_rows(fgi_buf *out)
{
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        const fg_registry *registry = fgi_config_table_built_in()->registry;
        if (!key->has_entries)
            continue;
        fgi_buf_printf(out,
                       "\n## %s\n\nThe elements of the list `%s`, each with its options: `%s`.\n",
                       key->path, key->path, key->option->example);
        for (size_t k = 0; k < fg_registry_count(registry, key->kind); k++)
            print_reference_row(out, fg_registry_at(registry, key->kind, k));
    }
}

static void print_key_row(fgi_buf *out, const fgi_config *c, const fgi_config_key *key)
{
    fgi_buf_printf(out, "| `%s` | ", key->path);
    print_cell(out, fgi_config_type(key));
    fgi_buf_printf(out, " | `%s` | `%s` | ", fgi_config_format(c, key->path), key->option->example);
    print_cell(out, fgi_config_explain(key));
    if (key->has_entries) {
        fgi_buf_printf(out, " See [%s](#", key->path);
        print_anchor(out, key->path);
        fgi_buf_puts(out, ").");
    }
    fgi_buf_puts(out, " |\n");
}

void key_help_put_reference(fgi_buf *out)
{
    fgi_config *c = cli_need(fgi_config_create(NULL, NULL));
    print_introduction(out);
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        char section[32];
        (void)fgi_snprintf(section, sizeof section, "%.*s", (int)section_size(key), key->path);
        const char *help = fgi_config_section_help(section);
        if (is_new_section(i))
            fgi_buf_printf(out,
                           "\n## %s%s%s\n\n| key | value | default | example | meaning |\n"
                           "|---|---|---|---|---|\n",
                           help != NULL ? section : "top level", help != NULL ? ": " : "",
                           help != NULL ? help : "");
        print_key_row(out, c, key);
    }
    print_reference_rows(out);
    fgi_config_destroy(c);
}

/* ---- one key --------------------------------------------------------------------------------- */

const char *key_words(const fgi_config_key *key)
{
    if (key->option->kind == FG_OPTION_CHOICE || key->has_entries)
        return key->option->range;
    if (key->option->kind == FG_OPTION_BOOL)
        return "true|false";
    return key->option->range != NULL && strncmp(key->option->range, "auto", 4) == 0 ? "auto" : "";
}

const char *key_suggest(const char *path)
{
    const char *section = strchr(path, '.') == NULL ? fgi_config_suggest_section(path) : NULL;
    return section != NULL ? section : fgi_config_suggest(NULL, path);
}
