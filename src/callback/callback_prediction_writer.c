/* callback_prediction_writer.c - the callback prediction_writer: writes the predictions of a pass
 * to a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"
#include "callback/prediction_file.h"

typedef struct prediction_writer {
    const char *path;
    enum { AUTO, FIRST_FORMAT } file_format; /* those of fgi_prediction_format after AUTO */
    fgi_prediction_format format;
    fgi_prediction_file file;
} prediction_writer;

/* A pass that failed has left its file open. */
static void drop(prediction_writer *w)
{
    const fg_status status = fgi_prediction_file_close(&w->file, FG_ESTOPPED, NULL);
    (void)status; /* the one given */
}

static fg_status on_eval_start(void *self, const fg_progress *at, fg_error *err)
{
    drop(self);
    return FG_OK;
}

static fg_status on_predicted(void *self, const fg_progress *at, const fg_predictions *rows,
                              fg_error *err)
{
    prediction_writer *w = self;
    if (!w->file.is_open)
        FGI_TRY_CTX(fgi_prediction_file_open(w->path, w->format, &w->file, err), err, "%s",
                    "prediction_writer");
    FGI_TRY_CTX(fgi_prediction_file_write(&w->file, rows, err), err, "%s", "prediction_writer");
    return FG_OK;
}

static fg_status on_eval_end(void *self, const fg_progress *at, fg_error *err)
{
    prediction_writer *w = self;
    return fgi_prediction_file_close(&w->file, FG_OK, err);
}

static void destroy(void *self)
{
    drop(self);
    fgi_free(self);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    prediction_writer *w = self;
    fg_error why = {0};
    if (w->path[0] == '\0')
        return fg_option_fail(values, "path", FG_EINVAL, err,
                              "expected the path of a file, such as predictions.csv");
    if (w->file_format != AUTO)
        w->format = (fgi_prediction_format)(w->file_format - FIRST_FORMAT);
    else if (fgi_prediction_format_of(w->path, &w->format, NULL, &why) != FG_OK)
        return fg_option_fail(values, "path", FG_EINVAL, err, "%s\nor set file_format",
                              why.message);
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(prediction_writer, path, STRING, "predictions.csv", NULL, "out/predictions.jsonl",
              "The file, which is replaced when all predictions are written."),
    FG_OPTION_ENUM(prediction_writer, file_format, "auto", "auto|csv|tsv|json|jsonl|npy", "npy",
                   "auto: by the suffix of the path; csv if it has none."),
};

static const fg_callback_ops ops = {.name = "prediction_writer",
                                    .eval_start = on_eval_start,
                                    .eval_end = on_eval_end,
                                    .destroy = destroy,
                                    .predicted = on_predicted};

const fg_callback_entry fgi_prediction_writer_row = {
    .entry = {.name = "prediction_writer",
              .help = "write the predictions of predict to a file: CSV, TSV, JSON, JSONL or .npy",
              .spellings = "BasePredictionWriter|PredictionWriter",
              FG_OPTIONS(options, prediction_writer)},
    .ops = &ops,
    .init = init};
