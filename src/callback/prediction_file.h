/* prediction_file.h - predictions as CSV, JSONL or .npy, written while they arrive: the memory does
 * not depend on the number of samples, and the file is renamed when it is complete.
 *
 *   classification  CSV, TSV: index,prediction,p_CLASS,...   .npy: probabilities f32[N,C]
 *                   JSONL: {"index": 0, "prediction": "CLASS", "p": [0.1, ...]}
 *   several labels  the same, but the prediction is "CLASS;CLASS", or a list in JSON, of those
 *                   whose probability is above 1/2
 *   regression      CSV, TSV: index,prediction (or y0,y1,..)  .npy: f32[N] or f32[N,K]
 *                   JSONL: {"index": 0, "prediction": 1.5}, or a list
 *
 * JSON is an array of the objects of JSONL. If samples have names, as image files have, they come
 * after the index, as `name`. If samples can be damaged (fg_dataset_sample_error), CSV and TSV have
 * a last column `error`: of a damaged sample, it has the reason, and the prediction is empty, or
 * null in JSON, whose object then has a field `error`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CALLBACK_PREDICTION_FILE_H
#define FGI_CALLBACK_PREDICTION_FILE_H

#include <fulgurite/callback.h>

#include "base/buf.h"
#include "base/output.h"

typedef enum fgi_prediction_format {
    FGI_PREDICTION_CSV,
    FGI_PREDICTION_TSV,
    FGI_PREDICTION_JSON,
    FGI_PREDICTION_JSONL,
    FGI_PREDICTION_NPY
} fgi_prediction_format;

/* The format named by the suffix of a path, in any case. *out_has_suffix (may be NULL): false for a
 * name without a suffix, such as /dev/stdout, which is CSV. FG_EINVAL: another suffix. */
fg_status fgi_prediction_format_of(const char *path, fgi_prediction_format *out,
                                   bool *out_has_suffix, fg_error *err);
/* Appends rows, f32, as text; before the first ones, the header of CSV or the bracket of JSON. */
void fgi_prediction_put(fgi_prediction_format format, const fg_predictions *rows, bool is_first,
                        fgi_buf *out);
/* Appends what ends a file with that many rows: the bracket of JSON. */
void fgi_prediction_put_end(fgi_prediction_format format, int64_t count, fgi_buf *out);

typedef struct fgi_prediction_file {
    const char *path; /* borrowed */
    fgi_prediction_format format;
    fgi_output file;
    fgi_buf text; /* of the current batch */
    int64_t written, expected;
    bool has_begun, is_open;
} fgi_prediction_file;

fg_status fgi_prediction_file_open(const char *path, fgi_prediction_format format,
                                   fgi_prediction_file *out, fg_error *err);
/* Errors: FG_EUNSUPPORTED for .npy if the number of samples is not known; FG_EIO, FG_ENOMEM. */
fg_status fgi_prediction_file_write(fgi_prediction_file *f, const fg_predictions *rows,
                                    fg_error *err);
/* With FG_OK the file gets its name; otherwise there is no file. Returns status, or the error that
 * occurred here. */
fg_status fgi_prediction_file_close(fgi_prediction_file *f, fg_status status, fg_error *err);

#endif
