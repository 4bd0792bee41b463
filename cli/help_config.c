/* help_config.c - the keys of the configuration for people at a terminal: by section in the help of
 * a command, in full by `fulgurite help config`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli.h"
#include "recipe/config.h"

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

/* Words in lines of HELP_WIDTH characters that begin with `indent` spaces; the first line has
 * `used` characters already. */
static void print_wrapped(FILE *out, const char *words, int indent, int used)
{
    while (*words != '\0') {
        const int size = (int)strcspn(words, " ");
        if (used + 1 + size > HELP_WIDTH) {
            (void)fprintf(out, "\n%*s", indent - 1, "");
            used = indent - 1;
        }
        (void)fprintf(out, " %.*s", size, words);
        used += 1 + size;
        words += size;
        words += strspn(words, " ");
    }
    (void)fputc('\n', out);
}

void cli_print_key_names(FILE *out)
{
    char names[2048];
    for (size_t i = 0; i < fgi_config_key_count();) {
        const size_t size = section_size(fgi_config_key_at(i));
        const char *section = size > 0 ? fgi_config_key_at(i)->path : "";
        size_t used = 0;
        do {
            const char *name = fgi_config_key_at(i)->path + (size > 0 ? size + 1 : 0);
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ", name);
        } while (++i < fgi_config_key_count() && !is_new_section(i) && used < sizeof(names) - 128);
        (void)fprintf(out, "  %-10.*s", (int)size, section);
        print_wrapped(out, names, 13, 12);
    }
}

static void print_key(FILE *out, const fgi_config_key *key)
{
    char words[2048], spellings[256];
    fgi_config_spellings(key, spellings, sizeof(spellings));
    (void)fprintf(out, "  --%s=%s\n%*s", key->path, key->example, HELP_INDENT - 1, "");
    (void)snprintf(words, sizeof(words), "%s [%s%s%s; default: %s]", fgi_config_explain(key),
                   fgi_config_type(key), spellings[0] != '\0' ? "; also accepted: " : "", spellings,
                   key->fallback != NULL ? key->fallback : "none");
    print_wrapped(out, words, HELP_INDENT, HELP_INDENT - 1);
}

/* Whether `about` (NULL: everything) is the key or its section. */
static bool is_about(const char *about, const fgi_config_key *key)
{
    const size_t size = section_size(key);
    return about == NULL || strcmp(about, key->path) == 0 ||
           (size > 0 && strlen(about) == size && strncmp(about, key->path, size) == 0);
}

bool cli_print_keys(FILE *out, const char *about)
{
    bool has_any = false, is_in_section = false;
    if (about == NULL)
        (void)fputs(
            "The keys of a configuration, each with an example. In a file `--a.b=VALUE` is\n"
            "\n  a:\n    b: VALUE\n",
            out);
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        is_in_section = is_in_section && !is_new_section(i);
        if (!is_about(about, key))
            continue;
        if (!is_in_section) {
            char section[64];
            (void)snprintf(section, sizeof(section), "%.*s", (int)section_size(key), key->path);
            const char *help = fgi_config_section_help(section);
            (void)fprintf(out, "%s%s%s%s\n", about == NULL ? "\n" : "", section,
                          help != NULL ? ": " : "", help != NULL ? help : "top level");
        }
        print_key(out, key);
        has_any = is_in_section = true;
    }
    return has_any;
}
