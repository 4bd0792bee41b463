/* csv_schema.h - the inside of a schema: how cells become numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_CSV_SCHEMA_H
#define FGI_DATA_CSV_SCHEMA_H

#include <fulgurite/data.h>
#include "base/map.h"
#include "data/csv_table.h"

/* Different texts with a number each. */
typedef struct fgi_values {
    const char **texts; /* in the schema's arena */
    size_t count, capacity;
    fgi_map index; /* hash of a text: its place in `texts`, once sealed */
} fgi_values;

typedef enum fgi_added { FGI_ADDED, FGI_FULL, FGI_NO_MEMORY } fgi_added;

/* Adds a text unless it is there; at most `limit`. */
fgi_added fgi_values_add(fgi_values *values, fgi_arena *arena, fgi_str text, size_t limit);
/* Numbers the texts in bytewise order, by value where they are numbers, or as they were added; from
 * then on they can be found. False when out of memory. */
typedef enum fgi_order { FGI_AS_ADDED, FGI_BYTEWISE, FGI_NUMERIC } fgi_order;
bool fgi_values_seal(fgi_values *values, fgi_order order);
/* The number of a text, -1 when it is not there. */
int64_t fgi_values_find(const fgi_values *values, fgi_str text);
void fgi_values_fini(fgi_values *values);

typedef enum fgi_csv_kind {
    FGI_CSV_IGNORED,
    FGI_CSV_NUMERIC,
    FGI_CSV_CATEGORICAL,
    FGI_CSV_TARGET
} fgi_csv_kind;

/* What the training rows hold of a column; the target's is of all rows. All 0 in a schema that was
 * read from JSON. */
typedef struct fgi_csv_seen {
    int64_t numbers, texts, infinite, missing; /* cells */
    int64_t commas;                            /* texts that are numbers with a decimal comma */
    double least, greatest;                    /* of the numbers */
    bool is_fraction;                          /* has a number that is no integer */
    size_t text_row, infinite_row;             /* the first of each */
    const char *text;                          /* of text_row, in the schema's arena */
} fgi_csv_seen;

typedef struct fgi_csv_column {
    const char *name;
    fgi_csv_kind kind;
    double mean, deviation;      /* of a numeric column and of a standardised target */
    fgi_values values;           /* of a categorical one */
    bool is_category, is_number; /* pinned by the options */
    fgi_csv_seen seen;
} fgi_csv_column;

struct fg_csv_schema {
    fgi_arena arena;
    fgi_csv_column *columns; /* in the order of the training file */
    size_t column_count;
    bool has_header;
    char delimiter;
    bool normalize, missing_is_mean, unknown_is_zero;
    int64_t target;              /* column, -1: none */
    bool target_is_standardized; /* y is (value - mean) / deviation of the target's column */
    fgi_values na;               /* further texts that count as missing */
    bool is_classification, has_numeric_classes;
    fgi_values classes;
    int64_t image[3]; /* image[0] is 0 where the features are no image */
    double image_scale;
    int64_t feature_count;
    char *json;
    char *report; /* NULL in a schema that was read from JSON */
};

static inline bool fgi_csv_is_image(const fg_csv_schema *schema) { return schema->image[0] != 0; }

/* What a cell holds by the schema's rules. */
fgi_cell fgi_schema_cell(const fg_csv_schema *schema, fgi_str cell, double *out);

/* The name that a class goes by: integers among numeric classes are written in one way only. The
 * text may be in `scratch`. */
fgi_str fgi_class_text(const fg_csv_schema *schema, fgi_str cell, char scratch[32]);

/* A schema from the training rows (ascending; NULL: all) of a table. `options` have been checked
 * and completed by fgi_csv_options_complete. */
fg_status fgi_csv_fit(const fgi_csv *csv, const fg_csv_options *options, const int64_t *rows,
                      size_t row_count, fg_csv_schema **out, fg_error *err);

/* The report of a schema just fitted on row_count rows, and warnings about columns that are nearly
 * numeric, through the log. */
fg_status fgi_csv_report(fg_csv_schema *schema, const fgi_csv *csv, size_t row_count,
                         fg_error *err);

/* Sets feature_count and json; checks that image and features go together. The last step of making
 * a schema. */
fg_status fgi_csv_schema_finish(fg_csv_schema *schema, fg_error *err);
/* schema->json from the rest of it. */
fg_status fgi_csv_schema_write(fg_csv_schema *schema, fg_error *err);

/* All rows of a table by the rules of a schema; options may be NULL. */
fg_status fgi_csv_convert(const fg_csv_schema *schema, const fgi_csv *csv,
                          const fg_csv_apply_options *options, fg_dataset **out, fg_error *err);

/* fg_csv_open of a block instead of a file, for its tests; options->val_path is not looked at.
 * Takes the block over. */
fg_status fgi_csv_open_block(const char *name, fgi_block *take_block, const fg_csv_options *options,
                             fg_csv_parts *out, fg_error *err);

#endif
