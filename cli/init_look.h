/* init_look.h - what `fulgurite init` detects about data: format and files, and for a CSV its
 * delimiter, header and columns.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INIT_LOOK_H
#define INIT_LOOK_H

#include <fulgurite/catalog.h>
#include <fulgurite/pack.h>

#include "catalog/class_counts.h"
#include "base/buf.h"
#include "cli.h"

/* A column of a table; strings are those of its schema. */
typedef struct fgi_look_column {
    const char *name;               /* NULL without a header */
    const char *id;                 /* the name, or the number */
    const char *kind;               /* of fg_csv_column */
    size_t numbers, texts, missing; /* cells */
    bool is_marked, is_listed;      /* numbers with a currency or the like; put in data.numeric */
    bool has_point;                 /* it is marked, and the first such number has a point */
    bool is_integer;                /* all numbers are integers */
    double min, max;                /* of the numbers */
    const char *const *distinct;    /* categories or classes; also of a column that is ignored */
    size_t distinct_count;
    const char *ignored_because; /* it is probably no feature; NULL: it may be one */
    const char *word;            /* the only text in a column of numbers, such as "-"; or NULL */
} fgi_look_column;

enum { FGI_LOOK_WORDS = 8 };

typedef struct fgi_look_table {
    char delimiter;
    bool delimiter_is_sure;
    char decimal; /* '.' or ',' */
    bool decimal_is_sure;
    bool keeps_words;                /* NA, None and the like are values: the target has them */
    char *words[FGI_LOOK_WORDS + 1]; /* missing values in addition to those; ends with NULL */
    bool has_header, header_is_sure;
    size_t rows; /* without the header */
    size_t column_count;
    fgi_look_column *columns;
    fg_csv_schema *schema; /* of the columns */
    size_t target;         /* the column to predict */
    const char *target_reason;
    bool target_is_sure, is_target_given; /* by its name; by the user */
} fgi_look_table;

/* Reads a CSV file, without a target. */
bool fgi_look_table_read(const char *path, fgi_look_table *out, fg_error *err);
void fgi_look_table_free(fgi_look_table *table);
/* Chooses the target, or takes the given one (NULL: none), and reads the file again with it. */
bool fgi_look_table_choose(const char *path, const char *target, fgi_look_table *table,
                           fg_error *err);

/* Whether the target's values are classes; writes the reason to `reason`. */
bool fgi_look_is_classification(const fgi_look_table *table, bool *out_is_sure, char *reason,
                                size_t size);
/* The side of the square image that the features form, 0 if they are not an image. */
size_t fgi_look_image_side(const fgi_look_table *table);

/* The column whose cells are names of image files, NULL if there is none. */
const fgi_look_column *fgi_look_image_column(const fgi_look_table *table);

struct fgi_look_files;

/* A kind of data that is detected. */
typedef struct fgi_look_kind {
    const char *format; /* of the configuration */
    /* Writes the configuration up to the section data; target may be NULL. */
    bool (*put)(fgi_buf *out, const struct fgi_look_files *files, const char *target,
                fg_error *err);
    bool takes_target;              /* --target has an effect */
    const char *found, *model_hint; /* of published datasets, for comments; may be NULL */
} fgi_look_kind;

extern const fgi_look_kind fgi_look_csv, fgi_look_npy, fgi_look_idx, fgi_look_cifar10,
    fgi_look_cifar100;                                     /* init.c */
extern const fgi_look_kind fgi_look_images, fgi_look_pack; /* init_put_photos.c */

/* A list of image files: its columns, and where the files are. Strings are owned. */
typedef struct fgi_look_list {
    char *path_column, *label_column; /* path_column NULL: not a list */
    char *root;                       /* NULL: the folder of the list */
    char *predict;                    /* a folder of images without classes; NULL: none */
    const char *suffix;               /* "", or what the names lack; static */
    char delimiter;
    bool label_is_sure, label_is_given; /* by its name; by the user */
} fgi_look_list;

/* The files of a dataset; names are owned, NULL where there is none. */
typedef struct fgi_look_files {
    const fgi_look_kind *kind;
    const char *source; /* options of a source of images, borrowed; NULL: none */
    char *path;         /* the file, the folder, or the inputs of npy */
    char *y, *val, *val_y, *test, *test_y;
    fgi_look_list list; /* of images */
    fg_catalog *photos; /* of images */
    fg_pack *pack;      /* of pack */
} fgi_look_files;

/* Detects the format of a file or folder. source: options of images, or NULL. */
bool fgi_look_at(const char *path, const char *source, fgi_look_files *out, fg_error *err);
void fgi_look_files_free(fgi_look_files *files);

/* Whether the table at out->path lists images, which it then becomes. */
bool fgi_look_at_list(fgi_look_files *out, fg_error *err);
/* Chooses the column of the classes, which may be given, and opens the list. */
bool fgi_look_list_open(fgi_look_files *files, const char *target, fg_error *err);

/* What a catalog or a pack has, and a sample of its images. The training images are those of the
 * split train and those without a split. */
typedef struct fgi_look_photos {
    int64_t train, val, test;  /* images */
    int64_t unlabeled_test;    /* images of the split test without a label */
    int64_t many_labels;       /* images with several labels */
    fgi_class_counts counts;   /* with the names of the catalog or pack */
    int64_t probed, bad, gray; /* images read; of these: unreadable, gray */
    char bad_reason[256];      /* of the first bad one, in one line, with its name */
    int64_t short_min, short_median, short_max; /* the shorter sides, in pixels */
    double mean_bytes;                          /* of a file */
    bool is_dct;    /* the records are DCT coefficients, which are decoded on the device */
    bool is_arrays; /* the records are arrays, not images */
} fgi_look_photos;

/* Whether the names of the images in one folder may begin with their classes, as in cat.1.jpg: the
 * first name, and the length of its class. */
bool fgi_look_photos_are_named(const fg_catalog *catalog, const char **out_name, size_t *out_size);
bool fgi_look_photos_read(const fg_catalog *catalog, fgi_look_photos *out, fg_error *err);
/* The columns of the index are read, no records. */
bool fgi_look_pack_read(fg_pack *pack, fgi_look_photos *out, fg_error *err);
void fgi_look_photos_free(fgi_look_photos *photos);

#endif
