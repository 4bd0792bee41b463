/* callback_prediction_writer.c - the callback prediction_writer: writes the predictions of a pass
 * to a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"
#include "train/prediction_file.h"

typedef struct prediction_writer {
    fgi_prediction_file file;
    fgi_prediction_format format;
    char path[];
} prediction_writer;

/* A pass that failed has left its file open. */
static void drop(prediction_writer *w)
{
    const fg_status status = fgi_prediction_file_close(&w->file, FG_ESTOPPED, NULL);
    (void)status; /* the one given */
}

static fg_status on_eval_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)at;
    (void)err;
    drop(self);
    return FG_OK;
}

static fg_status on_predicted(void *self, const fg_progress *at, const fg_predictions *rows,
                              fg_error *err)
{
    prediction_writer *w = self;
    (void)at;
    if (!w->file.is_open)
        FGI_TRY_CTX(fgi_prediction_file_open(w->path, w->format, &w->file, err), err, "%s",
                    "prediction_writer");
    FGI_TRY_CTX(fgi_prediction_file_write(&w->file, rows, err), err, "%s", "prediction_writer");
    return FG_OK;
}

static fg_status on_eval_end(void *self, const fg_progress *at, fg_error *err)
{
    prediction_writer *w = self;
    (void)at;
    return fgi_prediction_file_close(&w->file, FG_OK, err);
}

static void destroy(void *self)
{
    drop(self);
    fgi_free(self);
}

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    static const char *const names[] = {"csv", "tsv", "json", "jsonl", "npy"};
    const int count = sizeof names / sizeof names[0];
    fgi_prediction_format kind = FGI_PREDICTION_CSV;
    fg_error why = {0};
    const char *path = fg_option_string(values, "path");
    const char *format = fg_option_string(values, "file_format");
    if (*path == '\0')
        return fg_option_fail(values, "path", FG_EINVAL, err,
                              "expected the path of a file, such as predictions.csv");
    for (int i = 0; i < count; i++)
        if (strcmp(format, names[i]) == 0)
            kind = (fgi_prediction_format)i;
    if (strcmp(format, "auto") == 0 && fgi_prediction_format_of(path, &kind, NULL, &why) != FG_OK)
        return fg_option_fail(values, "path", FG_EINVAL, err, "%s\nor set file_format",
                              why.message);
    prediction_writer *w = fgi_calloc(1, sizeof *w + strlen(path) + 1);
    if (w == NULL)
        return fgi_no_memory(err);
    memcpy(w->path, path, strlen(path) + 1);
    w->format = kind;
    *out_self = w;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "path",
     .kind = FG_OPTION_STRING,
     .initial = "predictions.csv",
     .example = "out/predictions.jsonl",
     .help = "The file, which is replaced when all predictions are written."},
    {.name = "file_format",
     .kind = FG_OPTION_CHOICE,
     .initial = "auto",
     .range = "auto|csv|tsv|json|jsonl|npy",
     .example = "npy",
     .help = "auto: by the suffix of the path; csv if it has none."},
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
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
