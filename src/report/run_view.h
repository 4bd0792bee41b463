/* run_view.h - the folders of runs and sweeps, as reports show them: report.json, metrics.jsonl,
 * config.yaml, sweep.json.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_RUN_VIEW_H
#define FGI_REPORT_RUN_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/duration.h"

/* The values of one metric in order of its steps. */
typedef struct fgi_run_metric {
    char *name;
    double *x, *y; /* step, value */
    size_t count, capacity;
    double last;    /* of the last epoch, validation or log line; NaN: none */
    bool is_window; /* `last` is a mean over the last lines, not over an epoch */
} fgi_run_metric;

/* Zero-initialize it. */
typedef struct fgi_run_view {
    char *folder;   /* for people: bytes that are not UTF-8 are replaced */
    json_t *report; /* an object; NULL: the run has none */
    char *config;   /* YAML; NULL: none */
    fgi_run_metric *metrics;
    size_t metric_count, metric_capacity;
    int64_t rows;                 /* of metrics.jsonl */
    double last_step, last_epoch; /* of its last row; NaN: unknown */
    char *damage;                 /* why report.json cannot be read; NULL: it can, or is missing */
    bool is_live;                 /* the run is in progress */
} fgi_run_view;

/* Reads a run. A last line of metrics.jsonl that is still being written is ignored. If there are
 * metrics, a damaged report.json is not an error. Close *out also on failure. Errors: FG_ENOTFOUND
 * (the folder contains no run), FG_EFORMAT (a file is damaged; the message has its path and byte),
 * FG_EUNSUPPORTED (report.json of a newer version), FG_EIO, FG_ENOMEM. */
fg_status fgi_run_view_open(const char *folder, fgi_run_view *out, fg_error *err);
/* Says whether the run is in progress. A report.json whose state is not "running" is then that of
 * an earlier fit, and is left out. */
void fgi_run_view_set_live(fgi_run_view *view, bool is_live);
void fgi_run_view_close(fgi_run_view *view);

/* Reads FOLDER/name; *out is NULL if there is no such file. check may be NULL. Errors: as above. */
fg_status fgi_run_json_read(const char *folder, const char *name,
                            fg_status (*check)(const char *path, const json_t *root, fg_error *err),
                            json_t **out, fg_error *err);
/* Whether this version of the program reads the object: FG_EFORMAT, FG_EUNSUPPORTED. */
fg_status fgi_run_check_version(const char *path, const json_t *root, fg_error *err);
/* Reads report.json alone; *out is NULL if there is none. Errors: as above. */
fg_status fgi_run_view_read_report(const char *folder, json_t **out, fg_error *err);

/* The metric with that name; NULL: none. */
const fgi_run_metric *fgi_run_view_metric(const fgi_run_view *view, const char *name);
/* The index of the best value: the highest of accuracies and the like, the lowest of losses and
 * errors. -1 if there is no value, of other metrics such as lr, and of those of training: a log
 * line may be a mean over a few samples. */
int64_t fgi_run_metric_best(const fgi_run_metric *metric);

/* {"section.key": "value as written", ...}. The value of a key that continues on further, deeper
 * lines has these joined by spaces. Comments and empty lines are left out. Unlike the reader of
 * configurations, it accepts keys of other versions and of rows that this program lacks. NULL when
 * out of memory. */
json_t *fgi_config_lines(const char *yaml);

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Whether a folder is that of a sweep. Errors: FG_ENOMEM. */
fg_status fgi_sweep_look(const char *folder, bool *out_is_sweep, fg_error *err);
/* Reads sweep.json; *out is NULL if there is none. Errors: those of fgi_run_view_open. */
fg_status fgi_sweep_read(const char *folder, json_t **out, fg_error *err);

#endif
