/* run_schema.h - inputs and outputs of a model: types, classes, how a CSV is read. Created from the
 * training data, or from the description in a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_SCHEMA_H
#define FGI_RECIPE_RUN_SCHEMA_H

#include <fulgurite/data.h>
#include <fulgurite/tokenizer.h>
#include <jansson.h>

#include "recipe/config/config.h"

typedef struct fgi_run_schema {
    const char *format; /* of the data: "csv"; owned */
    fg_type input;      /* of one sample, as the dataset has it */
    fg_type target;     /* of one sample */
    int64_t class_count;
    char **class_names;                   /* class_count names; NULL if classes have none */
    double target_mean, target_deviation; /* of raw targets that the task standardizes; deviation 0:
                                             not standardized */
    bool is_stratified;                   /* data.val_fraction has split each class */
    char *tokenizer;                      /* its JSON, or "bytes"; NULL: none */
    int64_t vocabulary;     /* of the tokenizer to train with; 0: none, or not known */
    double bytes_per_token; /* of the training text; 0: not known */
    json_t *csv;            /* of fg_csv_schema_json; NULL if the data are not a CSV */
} fgi_run_schema;

/* The schema of the training data; val (NULL: none) may have more classes. csv may be NULL. */
fg_status fgi_run_schema_of_data(const char *format, const fg_dataset *train, const fg_dataset *val,
                                 const fg_csv_schema *csv, fgi_run_schema *out, fg_error *err);
/* Keeps a copy of the tokenizer (NULL: none). */
fg_status fgi_run_schema_keep_tokenizer(fgi_run_schema *schema, const fg_tokenizer *tokenizer,
                                        fg_error *err);
/* Opens it; *out is NULL if there is none. `path` is for messages. */
fg_status fgi_run_schema_tokenizer(const fgi_run_schema *schema, const char *path,
                                   fg_tokenizer **out, fg_error *err);
/* The schema in a checkpoint's data.json, which is not trusted. `path` is for messages. */
fg_status fgi_run_schema_of_json(const char *path, const json_t *root, fgi_run_schema *out,
                                 fg_error *err);
/* A sample's input as the model's task gets it: of images that the device decodes, the pixels. */
fg_type fgi_run_input_type(const fg_dataset *dataset);
void fgi_run_schema_fini(fgi_run_schema *schema);

/* Name of the target column of a CSV, else "". */
const char *fgi_run_schema_target(const fgi_run_schema *schema);

/* Mean and deviation of a standardized target: the value is y * deviation + mean. Else 0 and 1. */
void fgi_run_schema_target_scale(const fgi_run_schema *schema, double *out_mean,
                                 double *out_deviation);

/* The task's additions to a schema: outputs, and preprocessing of inputs on the device. */
typedef struct fgi_run_preparation {
    const char *task;
    int64_t outputs;
    double scale;
    const float *mean, *std; /* one per channel, or one for all */
    size_t mean_count, std_count;
    int64_t image[3]; /* height, width, channels; 0: the samples' own shape */
} fgi_run_preparation;

/* The text of data.json as JSON, a new reference (docs/formats.md). */
json_t *fgi_run_schema_describe(const fgi_run_schema *schema,
                                const fgi_run_preparation *preparation);

#endif
