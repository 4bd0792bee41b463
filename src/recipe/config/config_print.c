/* config_print.c - writes a configuration as YAML, with the help of the keys as comments. Reading
 * the output gives the same values; the run's folder contains it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fulgurite/callback.h>
#include "recipe/config/config.h"
#include "recipe/config/config_table.h"
#include "base/print.h"
#include "option/option.h"

enum { COMMENT_WIDTH = 98 };

const char *fgi_config_explain(const fgi_config_key *key)
{
    static _Thread_local char words[FGI_CONFIG_WORDS];
    const char *only = key->only != NULL ? strchr(key->only, '=') : NULL;
    size_t used = (size_t)fgi_snprintf(words, sizeof(words), "%s", key->option->help);
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

static void print_wrapped(fgi_buf *out, const char *start, const char *words)
{
    fgi_buf_puts(out, start);
    fgi_buf_wrap(out, words, COMMENT_WIDTH, start);
    fgi_buf_putc(out, '\n');
}

static const char *initial_of(const fg_option *option)
{
    return option->initial != NULL ? option->initial : "null";
}

static void print_comment(fgi_buf *out, const fgi_config_key *key, const char *indent)
{
    char words[2 * FGI_CONFIG_WORDS];
    (void)fgi_snprintf(words, sizeof(words), "%s [%s; example: %s]", fgi_config_explain(key),
                       fgi_config_type(key), key->option->example);
    print_wrapped(out, *indent != '\0' ? "  # " : "# ", words);
}

/* "NAME: {OPTION: DEFAULT, ...} - help." of each row that a list can name. */
static void print_row_comments(fgi_buf *out, const fgi_config *c, const fgi_config_key *key)
{
    for (size_t i = 0; i < fg_registry_count(c->registry, key->kind); i++) {
        const fg_entry *entry = fg_registry_at(c->registry, key->kind, i);
        fgi_buf words = {0};
        fgi_buf_puts(&words, entry->name);
        for (size_t k = 0; k < entry->option_count; k++)
            fgi_buf_printf(&words, "%s%s: %s", k > 0 ? ", " : ": {", entry->options[k].name,
                           initial_of(&entry->options[k]));
        fgi_buf_printf(&words, "%s - %s.", entry->option_count > 0 ? "}" : "", entry->help);
        if (words.failed)
            out->failed = true;
        else
            print_wrapped(out, "  # ", words.data);
        fgi_buf_fini(&words);
    }
}

static bool is_of_model(const fgi_config *c, const fgi_config_key *key)
{
    const char *path = key->path;
    const bool is_asked = strcmp(path, "task") == 0 || strcmp(path, "metrics") == 0 ||
                          strcmp(path, "trainer.precision") == 0 ||
                          strncmp(path, "data.", 5) == 0 || strncmp(path, "model.", 6) == 0 ||
                          strncmp(path, "loss.", 5) == 0;
    const bool is_start = strncmp(path, "model.weights", 13) == 0 || strcmp(path, "model.hf") == 0;
    return is_asked && !is_start && fgi_config_has_effect(c, key);
}

bool fgi_config_is_of_training(const fgi_config_key *key)
{
    static const char *const sections[] = {"optimizer.", "schedule.", "loss."};
    static const char *const others[] = {"trainer.accumulate_grad_batches",
                                         "trainer.accumulate_schedule",
                                         "trainer.gradient_clip_val",
                                         "trainer.gradient_clip_algorithm",
                                         "trainer.lr_scaling",
                                         "trainer.base_batch_size",
                                         "trainer.precision",
                                         "trainer.stochastic_rounding",
                                         "model.dropout",
                                         "model.drop_path",
                                         "data.augment"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strncmp(key->path, sections[i], strlen(sections[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key->path, others[i]) == 0)
            return true;
    return false;
}

static bool is_of_training(const fgi_config *c, const fgi_config_key *key)
{
    return fgi_config_is_of_training(key) && fgi_config_has_effect(c, key);
}

/* The callbacks that change the model or its programs (fg_callback_ops.build), such as averages of
 * the weights that evaluations use. */
static void print_callbacks(const fgi_config *c, fgi_buf *out)
{
    static const char key[] = "trainer.callbacks";
    fgi_config_rows rows = {0};
    char text[2048];
    size_t count = 0;
    if (fgi_config_rows_make(c, key, &rows, &(fg_error){0}) != FG_OK)
        out->failed = true;
    for (size_t i = 0; i < rows.count && !out->failed; i++) {
        if (((const fg_callback_entry *)rows.at[i].entry)->ops->build == NULL)
            continue;
        fgi_buf_puts(out, count++ == 0 ? "  callbacks: [" : ", ");
        fgi_buf_puts(out, fgi_option_format_entry(c->run.callbacks.at[i], text, sizeof text));
    }
    if (count > 0)
        fgi_buf_puts(out, "]\n");
    fgi_config_rows_free(&rows);
}

/* Those keys for which is_part is true; NULL: all. */
static void print_keys(const fgi_config *c, fgi_buf *out, bool with_comments,
                       bool (*is_part)(const fgi_config *c, const fgi_config_key *key))
{
    char now[32] = "", section[32];
    for (size_t i = 0; i < c->table->count; i++) {
        const fgi_config_key *key = &c->table->keys[i];
        if (is_part != NULL && !is_part(c, key))
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
        if (with_comments && key->has_entries)
            print_row_comments(out, c, key);
        fgi_buf_printf(out, "%s%s: %s\n", indent, name, fgi_config_format(c, key->path));
    }
}

void fgi_config_print(const fgi_config *c, fgi_buf *out, bool with_comments)
{
    print_keys(c, out, with_comments, NULL);
}

void fgi_config_print_model(const fgi_config *c, fgi_buf *out)
{
    print_keys(c, out, false, is_of_model);
    print_callbacks(c, out); /* the last section is the trainer's */
}

void fgi_config_print_training(const fgi_config *c, fgi_buf *out)
{
    print_keys(c, out, false, is_of_training);
}
