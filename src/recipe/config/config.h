/* config.h - the configuration of a run: one table of keys, their values read from YAML and the
 * command line, and writing them as YAML.
 *
 * Each key has a kind, default, range and help; reading, --print-config, docs/config.md and shell
 * completion are derived from that table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_H
#define FGI_RECIPE_CONFIG_H

#include <fulgurite/option.h>
#include <fulgurite/registry.h>
#include <fulgurite/train.h>
#include <fulgurite/tuner.h>

#include "base/arena.h"
#include "base/buf.h"

/* One key. */
typedef struct fgi_config_key {
    const char *path; /* "trainer.batch_size" */
    const fg_option *option;
    const char *only;      /* "data.format=csv|npy": only then it has an effect; NULL: always */
    bool has_entries;      /* of kind FG_OPTION_ENTRIES: its elements name rows */
    fg_registry_kind kind; /* of these rows */
    bool is_member;        /* its value is a member of fgi_config */
} fgi_config_key;

typedef struct fgi_config_table {
    fgi_arena arena; /* derived strings */
    const fg_registry *registry;
    fg_option *options; /* of the keys, with full paths as names */
    fgi_config_key *keys;
    size_t count;
    bool has_failed; /* out of memory during construction */
} fgi_config_table;

/* The keys of the built-in rows: created once, never destroyed, constant; NULL when out of memory.
 * */
const fgi_config_table *fgi_config_table_built_in(void);
/* The key of that path, or NULL; the path that was probably meant by an unknown one, or NULL.
 * table: NULL: the built-in one. */
const fgi_config_key *fgi_config_find(const fgi_config_table *table, const char *path);
const char *fgi_config_suggest(const fgi_config_table *table, const char *path);

/* The values of all keys. Those that are no options of a row are members, named like the keys, and
 * read-only: they change with the functions below. A number that is auto is FG_AUTO or NaN; a
 * string that is auto or not given is NULL. Options of rows are read from `values`, by their paths
 * (option.h), or fill a row's struct. */
typedef struct fgi_config {
    const char *task;
    fg_strings metrics;
    struct {
        const char *name;
        int64_t classes;
        const char *hf, *weights, *weights_prefix;
        fg_strings weights_skip, freeze;
        bool weights_partial;
    } model;
    struct {
        const char *format, *sampling;
        double val_fraction, scale;
        int64_t split_seed;
        bool stratify;
        fg_floats mean, std;
        fg_strings augment;
    } data;
    struct {
        const char *name;
    } loss;
    struct {
        const char *name;
        fg_optimizer_groups groups;
    } optimizer;
    struct {
        const char *name;
        fg_amount warmup;
    } schedule;
    fg_lr_find_options tuner;
    bool lr_find; /* tuner.lr_find */
    const char *lr_suggestion;
    fg_trainer_options trainer;
    fg_fit_data batches; /* of the section trainer */
    struct {             /* further keys of the section trainer */
        const char *tpu_cores, *dir, *resume;
        int64_t model_devices;
        fg_string_map mesh, sharding;
        fg_strings callbacks;
        bool slurm_requeue;
    } run;

    fg_option_values *values;
    const fg_registry *registry; /* whose rows can be named */
    const fgi_config_table *table;
    fgi_config_table *own_table; /* of the caller's registry; NULL: the built-in one */
} fgi_config;

enum { FGI_CONFIG_MAX_KEYS = 512 };

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

/* The row with the name that a key gives; the values of the row's options, taken from the keys of a
 * section, which the caller destroys. */
const fg_entry *fgi_config_entry(const fgi_config *c, fg_registry_kind kind, const char *path,
                                 fg_error *err);
fg_status fgi_config_select(const fgi_config *c, const char *section, const fg_entry *entry,
                            fg_option_values **out, fg_error *err);

/* Fills a row's struct from the keys of a section, as a C program would (FG_NONE, FG_ZERO); free it
 * with fgi_free. */
fg_status fgi_config_fill(const fgi_config *c, const char *section, const fg_entry *entry,
                          void **out, fg_error *err);

/* Replaces a value by that of a string as on the command line. Errors begin with the key's path. */
fg_status fgi_config_set(fgi_config *c, const char *path, const char *text, const char *place,
                         fg_error *err);
/* The same by the elements of a list. */
fg_status fgi_config_set_items(fgi_config *c, const char *path, const fg_option_items *items,
                               fg_error *err);
/* Resets a key to its default. */
fg_status fgi_config_reset(fgi_config *c, const char *path, fg_error *err);

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

/* ---- rows that a key lists (FG_OPTION_ENTRIES), with the values of their options -------------*/

/* One element of the list. */
typedef struct fgi_config_listed {
    const fg_entry *entry; /* the type of the row follows from the key's kind */
    fg_option_values *values;
    void *own; /* the struct of an augmentation */
} fgi_config_listed;

typedef struct fgi_config_rows {
    fgi_config_listed *at;
    size_t count;
} fgi_config_rows;

/* Reads the list of a key (fgi_config_key.has_entries). The configuration checks it when the key is
 * set, so that only memory can be missing later. Values name the place of the key in messages. Free
 * *out, also after a failure. Errors: FG_EINVAL for an unknown row or option, an invalid value, and
 * a row without options that is listed twice, with the path of the key ("trainer.callbacks: unknown
 * callback ..."); FG_ENOMEM. */
fg_status fgi_config_rows_make(const fgi_config *c, const char *path, fgi_config_rows *out,
                               fg_error *err);
void fgi_config_rows_free(fgi_config_rows *rows);

/* ---- devices (config_devices.c) -------------------------------------------------------------- */

/* trainer.mesh, or the mesh of trainer.model_devices. Checks trainer.sharding against it. */
fg_status fgi_config_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err);
/* Sets the rules of trainer.sharding, which belong to the configuration. */
fg_status fgi_config_rules(const fgi_config *c, fg_trainer_devices *out, fg_error *err);

/* ---- YAML ------------------------------------------------------------------------------------ */

/* The value as YAML in a static buffer (cut at 16 kB); valid until the next call. */
const char *fgi_config_format(const fgi_config *c, const char *path);

/* The whole configuration as YAML; with_comments explains each key. */
void fgi_config_print(const fgi_config *c, fgi_buf *out, bool with_comments);
/* The part that determines a model and its data, as YAML: task, metrics, model, loss, data,
 * precision and the callbacks that change the model, as far as they have an effect, without the
 * initial weights. */
void fgi_config_print_model(const fgi_config *c, fgi_buf *out);
/* Whether a key changes how weights are updated: of the optimizer, the schedule and the loss, and
 * some of the Trainer and the model. */
bool fgi_config_is_of_training(const fgi_config_key *key);
/* These keys, as far as they have an effect. */
void fgi_config_print_training(const fgi_config *c, fgi_buf *out);

#endif
