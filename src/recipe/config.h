/* config.h - the configuration of a run: one table of keys, values out of YAML and of the command
 * line, and the way back to YAML.
 *
 * Every key is listed in config_keys.c, with its kind, default, range and help; reading,
 * --print-config, docs/config.md and shell completion come out of that table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_H
#define FGI_RECIPE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <fulgurite/option.h>
#include <fulgurite/registry.h>

#include "base/buf.h"

/* One key. */
typedef struct fgi_config_key {
    const char *path; /* "trainer.batch_size" */
    const fg_option *option;
    const char *only; /* "data.format=csv|npy": it has an effect there only; NULL: always */
} fgi_config_key;

enum { FGI_CONFIG_MAX_KEYS = 512 };

/* The keys of the rows that are built in. */
size_t fgi_config_key_count(void);
const fgi_config_key *fgi_config_key_at(size_t index);
/* The key of that path, or NULL. */
const fgi_config_key *fgi_config_find(const char *path);
/* The path that a wrong one was meant to be, or NULL. */
const char *fgi_config_suggest(const char *path);
/* The section that a wrong name was meant to be, or NULL. */
const char *fgi_config_suggest_section(const char *name);
/* What a section is about ("trainer"), or NULL when there is none of that name. */
const char *fgi_config_section_help(const char *name);
/* "an integer from 1 to 1024, or auto (for example 4)" in a static buffer; valid until the next
 * call. */
const char *fgi_config_describe(const fgi_config_key *key);
/* The same without the example. */
const char *fgi_config_type(const fgi_config_key *key);
/* The help and for what it is, "The inputs. Only with data.format npy."; in a static buffer too. */
const char *fgi_config_explain(const fgi_config_key *key);

/* The values of all keys. */
typedef struct fgi_config fgi_config;

/* All defaults. registry: whose rows can be named, borrowed; NULL: those that are built in. NULL
 * when out of memory. */
fgi_config *fgi_config_create(const fg_registry *registry);
void fgi_config_destroy(fgi_config *c);

/* Reads YAML over the present values; a duplicate key, an unknown one or an invalid
 * value is an error "name:line:column: ...". */
bool fgi_config_read(fgi_config *c, const char *name, const char *text, size_t size, fg_error *err);
bool fgi_config_read_file(fgi_config *c, const char *path, fg_error *err);
/* Sets one key from "a.b=value", as on the command line after the dashes. null and ~ reset it to
 * its default, as if it had not been given. */
bool fgi_config_override(fgi_config *c, const char *assignment, fg_error *err);
/* Keys that have another name now take it; *out_was_old is set if there were any. */
bool fgi_config_modernize(fgi_config *c, bool *out_was_old, fg_error *err);

/* Calls warn(self, line) for each key that was given, is not its default, and has no effect because
 * of the value of another. */
void fgi_config_warn(const fgi_config *c, void (*warn)(void *self, const char *line), void *self);

/* Calls note(self, line) for each value that was given in another program's spelling: which of ours
 * it is read as. */
void fgi_config_notes(const fgi_config *c, void (*note)(void *self, const char *line), void *self);

/* Whether the key's value matters, given the values of others (fgi_config_key.only). */
bool fgi_config_has_effect(const fgi_config *c, const fgi_config_key *key);

/* The registry; the row that a choice names (registry.h says how to use it); values for the row's
 * options out of the keys of a section, to be destroyed. */
const fg_registry *fgi_config_registry(const fgi_config *c);
const fg_entry *fgi_config_entry(const fgi_config *c, fg_registry_kind kind, const char *path,
                                 fg_error *err);
fg_status fgi_config_select(const fgi_config *c, const char *section, const fg_entry *entry,
                            fg_option_values **out, fg_error *err);

/* Replaces a value. Errors begin with the key's path. */
bool fgi_config_set(fgi_config *c, const fgi_config_key *key, const fg_option_text *items,
                    size_t count, const char *place, fg_error *err);
/* The same from a text as on a command line. */
bool fgi_config_set_text(fgi_config *c, const fgi_config_key *key, const char *text,
                         const char *place, fg_error *err);
/* Back to the default. */
bool fgi_config_reset(fgi_config *c, const fgi_config_key *key, fg_error *err);

/* Values; the key must be one of the table and of that kind. */
bool fgi_config_is_given(const fgi_config *c,
                         const char *path); /* by the file or the command line */
bool fgi_config_is_auto(const fgi_config *c, const char *path);
int64_t fgi_config_int(const fgi_config *c, const char *path);
double fgi_config_float(const fgi_config *c, const char *path);
bool fgi_config_bool(const fgi_config *c, const char *path);
/* Texts, choices and devices; NULL when the key is empty. */
const char *fgi_config_text(const fgi_config *c, const char *path);
/* Number of a list's elements, and one of them. */
size_t fgi_config_count(const fgi_config *c, const char *path);
int64_t fgi_config_int_at(const fgi_config *c, const char *path, size_t index);
double fgi_config_float_at(const fgi_config *c, const char *path, size_t index);
const char *fgi_config_text_at(const fgi_config *c, const char *path, size_t index);
/* An amount out of `whole`: all of it, a part (at least 1), or a count. */
int64_t fgi_config_amount(const fgi_config *c, const char *path, int64_t whole);
/* An amount that is a share; -1: it is a count. */
double fgi_config_fraction(const fgi_config *c, const char *path);
/* Where the value comes from: "run.yaml:3:7", "--a.b", "default"; for messages. */
const char *fgi_config_place(const fgi_config *c, const char *path);
/* The same with the key, to begin a message with: "run.yaml:3:7: a.b", "--a.b", "a.b". Valid until
 * a fourth later call. */
const char *fgi_config_where(const fgi_config *c, const char *path);
/* The file and line of the value; NULL and 0 when no file gave it. The caller frees the name. */
char *fgi_config_file(const fgi_config *c, const char *path, int *out_line);

/* The value as YAML in a static buffer (cut at 16 kB); valid until the next call. */
const char *fgi_config_format(const fgi_config *c, const fgi_config_key *key);

/* The whole configuration as YAML; with_comments explains each key. */
void fgi_config_print(const fgi_config *c, fgi_buf *out, bool with_comments);
/* The part that a model and its data follow from, as YAML: task, model, data and the precision,
 * where they have an effect; not what the model started from. */
void fgi_config_print_model(const fgi_config *c, fgi_buf *out);
/* The reference of all keys in Markdown: docs/config.md. */
void fgi_config_print_markdown(fgi_buf *out);

#endif
