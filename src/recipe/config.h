/* config.h - the configuration of a run: one table of keys, their values read from YAML and the
 * command line, and writing them as YAML.
 *
 * Each key has a kind, default, range and help; reading, --print-config, docs/config.md and shell
 * completion are derived from that table.
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
    const char *only;      /* "data.format=csv|npy": only then it has an effect; NULL: always */
    bool has_entries;      /* of kind FG_OPTION_ENTRIES: its elements name rows */
    fg_registry_kind kind; /* of these rows */
} fgi_config_key;

enum { FGI_CONFIG_MAX_KEYS = 512 };

/* The keys of the built-in rows. */
size_t fgi_config_key_count(void);
const fgi_config_key *fgi_config_key_at(size_t index);
/* The key of that path, or NULL. */
const fgi_config_key *fgi_config_find(const char *path);
/* The path that was probably meant by an unknown one, or NULL. */
const char *fgi_config_suggest(const char *path);
/* The section that was probably meant by an unknown name, or NULL. */
const char *fgi_config_suggest_section(const char *name);
/* The description of a section ("trainer"), or NULL if there is no such section. */
const char *fgi_config_section_help(const char *name);
/* "an integer from 1 to 1024, or auto (for example 4)" in a static buffer; valid until the next
 * call. */
const char *fgi_config_describe(const fgi_config_key *key);
/* The same without the example. */
const char *fgi_config_type(const fgi_config_key *key);
enum { FGI_CONFIG_WORDS = 4096 };
/* The help and when it applies, "The inputs. Only with data.format npy."; also in a static
 * buffer. */
const char *fgi_config_explain(const fgi_config_key *key);

/* The values of all keys. */
typedef struct fgi_config fgi_config;

/* A configuration of defaults. registry: the rows that can be named, borrowed; NULL: the built-in
 * ones. Returns NULL and an error (err may be NULL): FG_ENOMEM; FG_EINVAL if an option of a row has
 * the name of another key. */
fgi_config *fgi_config_create(const fg_registry *registry, fg_error *err);
void fgi_config_destroy(fgi_config *c);

/* Reads YAML into the current values; a duplicate or unknown key or an invalid value is an error
 * "name:line:column: ...". */
fg_status fgi_config_read(fgi_config *c, const char *name, const char *text, size_t size,
                          fg_error *err);
fg_status fgi_config_read_file(fgi_config *c, const char *path, fg_error *err);

/* Extensions of data files, for fgi_ends_in_one_of. */
#define FGI_CONFIG_TABLES ".csv|.tsv|.csv.gz|.tsv.gz"
#define FGI_CONFIG_IMAGE  ".jpg|.jpeg|.jfif|.png|.webp|.gif|.tif|.tiff|.bmp|.ppm|.pgm"
#define FGI_CONFIG_IMAGES FGI_CONFIG_IMAGE "|.tar|.tar.gz|.tgz|.tfrecord|.jsonl|.zip"
/* Whether the path is that of data rather than of a configuration: a folder, or a file with the
 * extension of data. */
bool fgi_config_is_data(const char *path);
/* Sets one key from "a.b=value", as on the command line after the dashes. null and ~ reset it to
 * its default, as if it had not been given. */
fg_status fgi_config_override(fgi_config *c, const char *assignment, fg_error *err);
/* Renames old keys to their current names; *out_was_old is set if there were any. */
fg_status fgi_config_modernize(fgi_config *c, bool *out_was_old, fg_error *err);

/* Calls warn(self, line) for each key that was given, is not its default, and has no effect because
 * of the value of another: of chosen_by (NULL: any). */
void fgi_config_warn(const fgi_config *c, const char *chosen_by,
                     void (*warn)(void *self, const char *line), void *self);

/* Calls note(self, line) for each value given in another program's spelling; the line says how it
 * was read. */
void fgi_config_notes(const fgi_config *c, void (*note)(void *self, const char *line), void *self);

/* Whether the key has an effect, given the values of other keys (fgi_config_key.only). */
bool fgi_config_has_effect(const fgi_config *c, const fgi_config_key *key);

/* The registry; the row named by a choice (see registry.h); the values of the row's options, taken
 * from the keys of a section, which the caller destroys. */
const fg_registry *fgi_config_registry(const fgi_config *c);
const fg_entry *fgi_config_entry(const fgi_config *c, fg_registry_kind kind, const char *path,
                                 fg_error *err);
fg_status fgi_config_select(const fgi_config *c, const char *section, const fg_entry *entry,
                            fg_option_values **out, fg_error *err);

/* Fills a row's struct from the keys of a section, as a C program would (FG_NONE, FG_ZERO); free it
 * with fgi_free. */
fg_status fgi_config_fill(const fgi_config *c, const char *section, const fg_entry *entry,
                          void **out, fg_error *err);

/* Replaces a value. Errors begin with the key's path. */
fg_status fgi_config_set(fgi_config *c, const fgi_config_key *key, const fg_option_items *items,
                         fg_error *err);
/* The same from a string as on the command line. */
fg_status fgi_config_set_text(fgi_config *c, const fgi_config_key *key, const char *text,
                              const char *place, fg_error *err);
/* Resets a key to its default. */
fg_status fgi_config_reset(fgi_config *c, const fgi_config_key *key, fg_error *err);

/* Values. The key must exist and be of that kind. */
bool fgi_config_is_given(const fgi_config *c,
                         const char *path); /* whether the file or the command line sets it */
bool fgi_config_is_auto(const fgi_config *c, const char *path);
int64_t fgi_config_int(const fgi_config *c, const char *path);
double fgi_config_float(const fgi_config *c, const char *path);
bool fgi_config_bool(const fgi_config *c, const char *path);
/* Strings, choices and devices; NULL if the key is empty. */
const char *fgi_config_text(const fgi_config *c, const char *path);
/* The number of elements of a list, and one element. */
size_t fgi_config_count(const fgi_config *c, const char *path);
int64_t fgi_config_int_at(const fgi_config *c, const char *path, size_t index);
double fgi_config_float_at(const fgi_config *c, const char *path, size_t index);
const char *fgi_config_text_at(const fgi_config *c, const char *path, size_t index);
/* An amount as a count: a fraction of `whole` (at least 1), or the count given. */
int64_t fgi_config_amount(const fgi_config *c, const char *path, int64_t whole);
/* An amount that is a fraction; -1: it is a count. */
double fgi_config_fraction(const fgi_config *c, const char *path);
/* Whether the command line sets the key. */
bool fgi_config_is_overridden(const fgi_config *c, const char *path);
/* The source of the value for messages: "run.yaml:3:7", "--a.b", "default". */
const char *fgi_config_place(const fgi_config *c, const char *path);
/* The same with the key, as the start of a message: "run.yaml:3:7: a.b", "--a.b", "a.b". Valid for
 * the next three calls. */
const char *fgi_config_where(const fgi_config *c, const char *path);
/* The file and line of the value; NULL and 0 if it is not from a file. The caller frees the
 * name. */
char *fgi_config_file(const fgi_config *c, const char *path, int *out_line);

/* The value as YAML in a static buffer (cut at 16 kB); valid until the next call. */
const char *fgi_config_format(const fgi_config *c, const fgi_config_key *key);

/* The whole configuration as YAML; with_comments explains each key. */
void fgi_config_print(const fgi_config *c, fgi_buf *out, bool with_comments);
/* The part that determines a model and its data, as YAML: task, model, data, precision and the
 * callbacks that change the model, as far as they have an effect, without the initial weights. */
void fgi_config_print_model(const fgi_config *c, fgi_buf *out);
/* Whether a key changes how weights are updated: of the optimizer, the schedule and the loss, and
 * some of the Trainer and the model. */
bool fgi_config_is_of_training(const fgi_config_key *key);
/* These keys, as far as they have an effect. */
void fgi_config_print_training(const fgi_config *c, fgi_buf *out);

#endif
