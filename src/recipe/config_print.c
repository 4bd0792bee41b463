/* config_print.c - a configuration back to YAML, with the table's help as comments, and the
 * reference of all keys. What is printed reads back to the same values: the run's folder keeps it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/helpers.h"
#include "recipe/config_value.h"
#include "base/print.h"

enum { COMMENT_WIDTH = 98 };

typedef struct text {
    char data[16384];
    size_t size;
} text;

static void put(text *out, const char *format, ...) FG_PRINTF(2, 3);
static void put(text *out, const char *format, ...)
{
    va_list args;
    const size_t room = sizeof(out->data) - out->size;
    va_start(args, format);
    const int size = fgi_vsnprintf(out->data + out->size, room, format, args);
    va_end(args);
    if (size > 0)
        out->size += (size_t)size < room ? (size_t)size : room - 1;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The shortest decimal that reads back to the same number. */
static void put_number(text *out, double value)
{
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        (void)fgi_snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (fgi_strtod(digits, NULL) == value)
            break;
    }
    put(out, "%s", digits);
}

/* True when YAML and our own reading take the bare text for that text and nothing else. */
static bool is_plain(const char *value)
{
    static const char *const words[] = {"auto", "null", "true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (fgi_compare_nocase(value, words[i]) == 0)
            return false;
    if ((!fgi_is_alnum(value[0]) || strchr("0123456789", value[0]) != NULL) && value[0] != '/' &&
        value[0] != '_')
        return false;
    for (const char *c = value; *c != '\0'; c++)
        if (!fgi_is_alnum(*c) && strchr("/_-.+", *c) == NULL)
            return false;
    return true;
}

static void put_text(text *out, const char *value)
{
    if (is_plain(value)) {
        put(out, "%s", value);
        return;
    }
    put(out, "\"");
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            put(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            put(out, "\\x%02x", (unsigned char)*c);
        else
            put(out, "%c", *c);
    }
    put(out, "\"");
}

static void put_item(text *out, const fgi_config_key *key, const fgi_config_item *item)
{
    switch (key->kind) {
    case FGI_CONFIG_INT:
    case FGI_CONFIG_INTS: put(out, "%" PRId64, item->whole); return;
    case FGI_CONFIG_FLOAT:
    case FGI_CONFIG_FLOATS: put_number(out, item->number); return;
    case FGI_CONFIG_BOOL: put(out, item->whole ? "true" : "false"); return;
    case FGI_CONFIG_AMOUNT: {
        if (!item->is_fraction) {
            put(out, "%" PRId64, item->whole);
            return;
        }
        const size_t before = out->size;
        put_number(out, item->number);
        if (strpbrk(out->data + before, ".e") == NULL)
            put(out, ".0"); /* the point tells a share from a count */
        return;
    }
    case FGI_CONFIG_DEVICES:
    case FGI_CONFIG_CHOICE: /* 32-true and true are choices alike: they need no quotes */
        put(out, "%s", item->text);
        return;
    case FGI_CONFIG_TEXT:
    case FGI_CONFIG_TEXTS:
    case FGI_CONFIG_RULES: put_text(out, item->text); return;
    }
}

const char *fgi_config_format(const fgi_config *c, const fgi_config_key *key)
{
    static text out;
    const fgi_config_value *v = fgi_config_value_of(c, key);
    const bool is_list = fgi_config_is_list(key);
    out.size = 0;
    out.data[0] = '\0';
    if (v->is_auto || (v->count == 0 && !is_list)) {
        put(&out, v->is_auto ? "auto" : "null");
        return out.data;
    }
    put(&out, is_list ? "[" : "");
    for (size_t i = 0; i < v->count; i++) {
        put(&out, i > 0 ? ", " : "");
        put_item(&out, key, &v->items[i]);
    }
    put(&out, is_list ? "]" : "");
    return out.data;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Prints words in lines that begin with `start`. */
static void print_wrapped(fgi_buf *out, const char *start, const char *words)
{
    const size_t width = COMMENT_WIDTH - strlen(start);
    while (*words != '\0') {
        size_t size = strlen(words);
        if (size > width)
            for (size = width; size > 1 && words[size] != ' ';)
                size--;
        fgi_buf_printf(out, "%s%.*s\n", start, (int)size, words);
        words += size;
        words += strspn(words, " ");
    }
}

const char *fgi_config_explain(const fgi_config_key *key)
{
    static _Thread_local char words[1024];
    const char *only = key->only != NULL ? strchr(key->only, '=') : NULL;
    size_t used = (size_t)fgi_snprintf(words, sizeof(words), "%s", key->help);
    if (only == NULL || used > sizeof(words) - 256)
        return words;
    used += (size_t)fgi_snprintf(words + used, sizeof(words) - used, " Only with %.*s ",
                                 (int)(only - key->only), key->only);
    for (only++; *only != '\0' && used < sizeof(words) - 8; only++)
        if (*only == '|')
            used += (size_t)fgi_snprintf(words + used, sizeof(words) - used,
                                         strchr(only + 1, '|') != NULL ? ", " : " or ");
        else
            words[used++] = *only;
    (void)fgi_snprintf(words + used, sizeof(words) - used, ".");
    return words;
}

/* "trainer" of "trainer.seed" into `out`, "" for a key at the top; returns the rest. */
static const char *split_path(const char *path, char *out, size_t size)
{
    const char *dot = strchr(path, '.');
    (void)fgi_snprintf(out, size, "%.*s", dot != NULL ? (int)(dot - path) : 0, path);
    return dot != NULL ? dot + 1 : path;
}

static void print_comment(fgi_buf *out, const fgi_config_key *key, const char *indent)
{
    char start[16], words[1024];
    (void)fgi_snprintf(start, sizeof(start), "%s# ", indent);
    (void)fgi_snprintf(words, sizeof(words), "%s [%s; example: %s]", fgi_config_explain(key),
                       fgi_config_type(key), key->example);
    print_wrapped(out, start, words);
}

static bool is_of_model(const fgi_config *c, const fgi_config_key *key)
{
    const char *path = key->path;
    const bool is_asked = strcmp(path, "task") == 0 || strcmp(path, "trainer.precision") == 0 ||
                          strncmp(path, "data.", 5) == 0 || strncmp(path, "model.", 6) == 0;
    return is_asked && strncmp(path, "model.weights", 13) != 0 && fgi_config_has_effect(c, key);
}

static void print_keys(const fgi_config *c, fgi_buf *out, bool with_comments, bool only_model)
{
    char now[32] = "", section[32];
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        if (only_model && !is_of_model(c, key))
            continue;
        const char *name = split_path(key->path, section, sizeof(section));
        const char *indent = *section != '\0' ? "  " : "";
        if (strcmp(section, now) != 0) {
            (void)fgi_snprintf(now, sizeof(now), "%s", section);
            if (with_comments)
                fgi_buf_printf(out, "\n# %s\n", fgi_config_section_help(section));
            fgi_buf_printf(out, "%s:\n", section);
        }
        if (with_comments)
            print_comment(out, key, indent);
        fgi_buf_printf(out, "%s%s: %s\n", indent, name, fgi_config_format(c, key));
    }
}

void fgi_config_print(const fgi_config *c, fgi_buf *out, bool with_comments)
{
    print_keys(c, out, with_comments, false);
}

void fgi_config_print_model(const fgi_config *c, fgi_buf *out) { print_keys(c, out, false, true); }

/* A vertical bar would end the table's cell. */
static void print_cell(fgi_buf *out, const char *words)
{
    for (; *words != '\0'; words++) {
        if (*words == '|')
            fgi_buf_putc(out, '\\');
        fgi_buf_putc(out, *words);
    }
}

void fgi_config_print_markdown(fgi_buf *out)
{
    fgi_config *c = fgi_config_create();
    if (c == NULL) {
        out->failed = true;
        return;
    }
    char now[32] = "-", section[32];
    fgi_buf_puts(
        out,
        "# Configuration\n\n"
        "Every key of a run's YAML file. On the command line each is `--section.key=value`, which\n"
        "overrides the file; `--section.key=null` resets a key to its default. `--print-config`\n"
        "prints all keys with their current values, `fulgurite help config` lists them by "
        "section.\n"
        "An unknown key is an error.\n\n"
        "Choices may be written in any case. `gpu` is read as `cuda`, `bf16` as `bf16-mixed`, "
        "`16`\n"
        "as `16-mixed`, `fp32` and `32` as `32-true`; a note says so. Relative paths start at the\n"
        "working directory, not at the configuration's folder. A file contains one YAML "
        "document.\n\n"
        "`fulgurite help --config-reference` generates this page; a test compares the two.\n");
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        (void)split_path(key->path, section, sizeof(section));
        if (strcmp(section, now) != 0) {
            const char *help = fgi_config_section_help(section);
            (void)fgi_snprintf(now, sizeof(now), "%s", section);
            fgi_buf_printf(out,
                           "\n## %s%s%s\n\n| key | value | default | example | meaning |\n"
                           "|---|---|---|---|---|\n",
                           help != NULL ? section : "top level", help != NULL ? ": " : "",
                           help != NULL ? help : "");
        }
        fgi_buf_printf(out, "| `%s` | ", key->path);
        print_cell(out, fgi_config_type(key));
        fgi_buf_printf(out, " | `%s` | `%s` | ", fgi_config_format(c, key), key->example);
        print_cell(out, fgi_config_explain(key));
        fgi_buf_puts(out, " |\n");
    }
    fgi_config_destroy(c);
}
