/* csv_schema.h - the internals of a schema: how cells are encoded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_CSV_SCHEMA_H
#define FGI_DATA_CSV_SCHEMA_H

#include <fulgurite/data.h>
#include "base/map.h"
#include "data/dataset.h"
#include "input/csv_table.h"

/* Distinct strings, each with an index. */
typedef struct fgi_values {
    const char **texts; /* in the schema's arena */
    size_t count, capacity;
    fgi_map index; /* hash of a string: its position in `texts`, once sealed */
} fgi_values;

typedef enum fgi_added { FGI_ADDED, FGI_FULL, FGI_NO_MEMORY } fgi_added;

/* Adds a string unless it exists; at most `limit`. */
fgi_added fgi_values_add(fgi_values *values, fgi_arena *arena, fgi_str text, size_t limit);
/* Assigns indexes to the strings: in bytewise order, by value if they are numbers, or in the order
 * they were added. Afterwards they can be looked up. False when out of memory. */
typedef enum fgi_order { FGI_AS_ADDED, FGI_BYTEWISE, FGI_NUMERIC } fgi_order;
bool fgi_values_seal(fgi_values *values, fgi_order order);
/* The index of a string, -1 if it does not exist. */
int64_t fgi_values_find(const fgi_values *values, fgi_str text);
void fgi_values_fini(fgi_values *values);

typedef enum fgi_csv_kind {
    FGI_CSV_IGNORED,
    FGI_CSV_NUMERIC,
    FGI_CSV_CATEGORICAL,
    FGI_CSV_TARGET,
    FGI_CSV_LABEL /* 0 or 1: whether a sample has the label with the column's name */
} fgi_csv_kind;
extern const char *const fgi_csv_kind_names[]; /* "ignored", "numeric" ... */

/* Statistics of a column over the training rows, for the target over all rows. All 0 in a schema
 * that was parsed from JSON. */
typedef struct fgi_csv_seen {
    int64_t numbers, texts, infinite, missing; /* cells */
    int64_t quoted;           /* quoted words such as "NA": texts in a column that has others */
    int64_t commas, marks;    /* strings that are numbers with a decimal comma; with a sign of
                                 currency or percent or separators of thousands */
    int64_t dates, iso_dates; /* strings that are dates */
    int64_t images;           /* strings that are names of image files */
    double least, greatest;   /* of the numbers */
    bool is_fraction;         /* has a number that is not an integer */
    size_t text_row, infinite_row, quoted_row; /* the first of each */
    const char *text;                          /* of text_row, in the schema's arena */
} fgi_csv_seen;

typedef struct fgi_csv_column {
    const char *name;
    fgi_csv_kind kind;
    double mean, deviation;      /* for a numeric column and a standardized target */
    fgi_values values;           /* for a categorical column */
    bool is_category, is_number; /* fixed by the options */
    bool is_candidate;           /* numbers that may be row numbers */
    const char *ignored_because; /* it is ignored, but not by the options; else NULL */
    const char *image_advice;    /* what to type, if it names image files; else NULL */
    fgi_csv_seen seen;
    int64_t count;   /* of the numbers in training rows */
    double squares;  /* sum of their squared deviations */
    size_t full_row; /* where a category exceeded the limit */
} fgi_csv_column;

struct fg_csv_schema {
    fgi_arena arena;
    fgi_csv_column *columns; /* in order of the training file */
    size_t column_count;
    bool has_header;
    char delimiter;
    bool normalize, missing_is_mean, unknown_is_zero;
    bool no_default_na;          /* only empty cells and those of `na` are missing */
    char decimal;                /* '.' or ',' */
    int64_t target;              /* column, -1: none */
    bool is_multilabel;          /* the target has lists of labels, or there are FGI_CSV_LABEL */
    const char *label_separator; /* of these lists: one of these characters; in the arena */
    bool target_is_standardized; /* y is (value - mean) / deviation of the target column */
    fgi_values na;               /* additional strings that mean "missing" */
    bool is_classification, has_numeric_classes;
    fgi_values classes; /* also labels */
    int64_t image[3];   /* image[0] is 0 if the features are not an image */
    double image_scale;
    int64_t feature_count;
    char *json;
    char *report; /* NULL in a schema that was parsed from JSON */
};

static inline bool fgi_csv_has_target(const fg_csv_schema *schema)
{
    return schema->target >= 0 || schema->is_multilabel;
}

/* The name of the target, or of the first label. */
static inline const char *fgi_csv_target_name(const fg_csv_schema *schema)
{
    return schema->target >= 0 ? schema->columns[schema->target].name : schema->classes.texts[0];
}

static inline bool fgi_csv_is_image(const fg_csv_schema *schema) { return schema->image[0] != 0; }

/* The content of a cell according to the schema: cell `at` of the row belongs to `column`. A word
 * such as NA in quotes is missing in a numeric column only: there is no other text in it. */
typedef enum fgi_content {
    FGI_NUMBER = FGI_CELL_NUMBER,
    FGI_INFINITE = FGI_CELL_INFINITE,
    FGI_TEXT = FGI_CELL_TEXT,
    FGI_MISSING = FGI_CELL_MISSING,
    FGI_QUOTED_WORD
} fgi_content;
fgi_content fgi_schema_cell(const fg_csv_schema *schema, size_t column, const fgi_csv_row *row,
                            size_t at, double *out);

/* FG_EFORMAT: the cell of a row and a column of the file is missing. is_number: the column has
 * numbers, so quotes do not make the cell a value. */
fg_status fgi_csv_missing(const fg_csv_schema *schema, const fgi_csv *csv, size_t row,
                          size_t column, fgi_str cell, bool is_target, bool is_number,
                          fg_error *err);

/* The canonical name of a class, the cell `at` of the row: integers of numeric classes have one
 * spelling only. The text may be in `scratch`. */
fgi_str fgi_class_text(const fg_csv_schema *schema, const fgi_csv_row *row, size_t at,
                       char scratch[32]);

/* Splits a table and fits a schema to its training rows. `options` have been checked and completed.
 * Free out_split->rows also after a failure. */
fg_status fgi_csv_fit(const fgi_csv *csv, const fg_csv_options *options, fgi_split *out_split,
                      fg_csv_schema **out, fg_error *err);

/* Whether the name of a column of integers says that it contains row numbers: "id", "customer_id"
 * or "PassengerId"; or it has no name, and the range of a counter. */
bool fgi_csv_names_rows(const fgi_csv *csv, size_t column, const fgi_csv_seen *seen);
/* Most of its cells are numbers, but others make it a column of strings. */
bool fgi_csv_is_nearly_numeric(const fgi_csv_column *column);
/* Most of its strings are numbers that are written with characters other than a decimal point. */
bool fgi_csv_is_spreadsheet(const fgi_csv_column *column);

/* Whether a column that is ignored, but not by the options, can be listed as numeric. */
bool fgi_csv_may_be_numeric(const fgi_csv_column *column);

/* Logs warnings about columns that are nearly numeric, and about those that are ignored. */
void fgi_csv_warn(const fg_csv_schema *schema, const fgi_csv *csv);

/* Creates the report of a schema that was fitted to row_count rows. */
fg_status fgi_csv_report(fg_csv_schema *schema, const fgi_csv *csv, size_t row_count,
                         fg_error *err);

/* Sets feature_count and json; checks that image and features are consistent. The last step of
 * creating a schema. */
fg_status fgi_csv_schema_finish(fg_csv_schema *schema, fg_error *err);
/* Writes schema->json from the other fields. */
fg_status fgi_csv_schema_write(fg_csv_schema *schema, fg_error *err);

/* Converts all rows of a table with a schema; options may be NULL. */
fg_status fgi_csv_convert(const fg_csv_schema *schema, const fgi_csv *csv,
                          const fg_csv_apply_options *options, fg_dataset **out, fg_error *err);

/* fg_csv_load of a block instead of a file, for its tests; options->val_path is ignored. Takes
 * ownership of the block. */
fg_status fgi_csv_open_block(const char *name, fgi_block *take_block, const fg_csv_options *options,
                             fg_csv_parts *out, fg_error *err);

#endif
