/* init.h - `fulgurite init`: what it detects about data, and the configuration that it writes.
 *
 * Memory is that of the program: when there is none, the program ends (cli_need).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INIT_H
#define INIT_H

#include <fulgurite/catalog.h>
#include <fulgurite/data.h>
#include <fulgurite/pack.h>

#include "base/buf.h"
#include "catalog/class_counts.h"
#include "cli.h"

/* All may be NULL. */
typedef struct init_options {
    const char *target; /* the column of a CSV file to predict, or of the classes of a list, or
                           columns of 0 and 1, "cat,dog"; NULL: inferred */
    const char *source; /* data.source_options of a source of images: "{no_split_folders: true}" */
} init_options;

/* Inspects data (a CSV or .npy file, a folder, a pack, or a source of images that fg_catalog_open
 * accepts) and appends a configuration that trains on them, with comments that say what was
 * detected and what was only inferred, and suggest a pack if the images are much larger than
 * training needs or many. For images, reads all names and labels, and the headers of up to 64
 * files. FG_EINVAL: options, also those that do not apply to the data; data of an unknown format.
 */
fg_status init_config(fgi_buf *out, const char *data, const init_options *options, fg_error *err);

/* The name of a new file for data: "homes.yaml" for "data/homes.csv.gz" or "data/homes/" and the
 * suffix ".yaml"; "run.yaml" for "." or "/". The caller frees it (free). */
char *init_name(const char *data, const char *suffix);
/* A word for a shell, in quotes if it needs them. */
void init_put_word(fgi_buf *out, const char *word);

/* ---- lines of the configuration (init.c) ----------------------------------------------------- */

/* "  key: value   # why"; why may be NULL. */
void init_put(fgi_buf *out, const char *key, const char *value, const char *why);
/* The same with the text in double quotes; nothing if it is NULL. */
void init_put_text(fgi_buf *out, const char *key, const char *text, const char *why);

/* ---- tables (init_table.c) ------------------------------------------------------------------- */

enum { INIT_WORDS = 8 };

/* Zero-initialize it. */
typedef struct init_table {
    const char *path; /* borrowed */
    char delimiter;
    bool delimiter_is_sure;
    char decimal; /* '.' or ',' */
    bool decimal_is_sure;
    bool keeps_words;            /* NA, None and the like are values: the target has them */
    char *words[INIT_WORDS + 1]; /* missing values in addition to those; ends with NULL */
    bool has_header, header_is_sure;
    size_t rows; /* without the header */
    size_t column_count;
    fg_csv_column *columns; /* of the schema; also ignored_because of many categories */
    bool *is_listed;        /* put in data.numeric: numbers with a currency or the like */
    fg_csv_schema *schema;
    size_t target; /* the column to predict */
    const char *target_reason;
    bool target_is_sure, is_target_given; /* by its name; by the user */
    const char *label_columns; /* columns of 0 and 1 to predict, "cat,dog"; NULL: the target */
} init_table;

/* Whether each part of "cat,dog" is a column. */
bool init_table_has_columns(const init_table *table, const char *names);
/* The value of a key that lists them: ["cat", "dog"]. */
void init_put_names(fgi_buf *out, const char *key, const char *names, const char *why);

/* Reads a CSV file, without a target. Free it also after a failure. */
fg_status init_table_read(const char *path, init_table *out, fg_error *err);
void init_table_free(init_table *table);
/* Chooses the target, or takes the given one (NULL: none), and reads the file again with it. */
fg_status init_table_choose(init_table *table, const char *target, fg_error *err);
/* The task that suits the target's values; writes the reason to `reason`. */
const char *init_table_task(const init_table *table, bool *out_is_sure, char *reason, size_t size);
/* The side of the square image that the features form, 0 if they are not an image. */
size_t init_table_image_side(const init_table *table);

/* ---- files (init_files.c) -------------------------------------------------------------------- */

struct init_files;

/* A kind of data that is detected. */
typedef struct init_kind {
    const char *format; /* of the configuration */
    /* Writes the configuration up to the section data; target may be NULL. */
    fg_status (*put)(fgi_buf *out, const struct init_files *files, const char *target,
                     fg_error *err);
    bool takes_target;              /* --target has an effect */
    const char *found, *model_hint; /* of published datasets, for comments; may be NULL */
} init_kind;

extern const init_kind init_csv, init_npy, init_idx, init_cifar10, init_cifar100; /* init.c */
extern const init_kind init_images, init_pack; /* init_photos.c */
extern const init_kind init_text;              /* init_text.c */

/* A list of image files: its columns, and where the files are. Strings are owned. */
typedef struct init_list {
    char *path_column, *label_column; /* path_column NULL: not a list */
    char *label_columns;              /* columns of 0 and 1, "cat,dog"; NULL: label_column */
    const char *separator;            /* of several labels in a cell; NULL: cells have one */
    char *root;                       /* NULL: the folder of the list */
    char *predict;                    /* a folder of images without classes; NULL: none */
    const char *suffix;               /* "", or what the names lack; static */
    char delimiter;
    bool label_is_sure, label_is_given; /* by its name; by the user */
} init_list;

/* The files of a dataset; names are owned, NULL where there is none. */
typedef struct init_files {
    const init_kind *kind;
    const char *source; /* options of a source of images, borrowed; NULL: none */
    char *path;         /* the file, the folder, or the inputs of npy */
    char *y, *val, *val_y, *test, *test_y;
    init_list list;     /* of images */
    char *text, *label; /* members of JSON lines; NULL: a file or folder of text, no classes */
    fg_catalog *photos; /* of images */
    fg_pack *pack;      /* of pack */
} init_files;

/* Detects the format of a file or folder. source: options of images, or NULL. Free it also after a
 * failure. */
fg_status init_files_find(const char *path, const char *source, init_files *out, fg_error *err);
void init_files_free(init_files *files);
/* The number of names in a folder that end in one of "a|b"; *out, which may be NULL, is the path of
 * the last one, owned. */
size_t init_count_names(const char *folder, const char *ends, char **out);

/* ---- lists of images (init_list.c) ----------------------------------------------------------- */

/* If the table at files->path lists images, it becomes a list of them. */
fg_status init_list_find(init_files *files, fg_error *err);
/* Chooses the column of the classes, which may be given, and opens the list. */
fg_status init_list_open(init_files *files, const char *target, fg_error *err);
/* The keys of the list, if it is one. */
void init_list_put(fgi_buf *out, const init_files *files);
/* The same as "{root: photos, suffix: .jpg}", for `pack --source`; false if it cannot say them. */
bool init_list_put_source(fgi_buf *out, const init_files *files);

/* ---- text (init_text.c) ---------------------------------------------------------------------- */

/* Whether the path is text: a .txt file, a folder of them, or JSON lines with texts. */
bool init_text_find(const char *path, init_files *out);
/* Whether a pack has windows of tokens, and its configuration. */
bool init_pack_has_tokens(const fg_pack *pack);
void init_put_tokens(fgi_buf *out, const init_files *files);

/* ---- images (init_photos.c) ------------------------------------------------------------------ */

/* What a catalog or a pack has, and a sample of its images. The training images are those of the
 * split train and those without a split. */
typedef struct init_photos {
    int64_t train, val, test;  /* images */
    int64_t unlabeled_test;    /* images of the split test without a label */
    int64_t many_labels;       /* images with several labels */
    bool is_multilabel;        /* to predict all of them */
    fgi_class_counts counts;   /* with the names of the catalog or pack */
    int64_t probed, bad, gray; /* images read; of these: unreadable, gray */
    char bad_reason[256];      /* of the first bad one, in one line, with its name */
    int64_t short_min, short_median, short_max; /* the shorter sides, in pixels */
    double mean_bytes;                          /* of a file */
    bool is_dct;    /* the records are DCT coefficients, which are decoded on the device */
    bool is_arrays; /* the records are arrays, not images */
} init_photos;

/* Whether the names of the images in one folder may begin with their classes, as in cat.1.jpg: the
 * first name, and the length of its class. */
bool init_photos_are_named(const fg_catalog *catalog, const char **out_name, size_t *out_size);
fg_status init_photos_read(const fg_catalog *catalog, init_photos *out, fg_error *err);

#endif
