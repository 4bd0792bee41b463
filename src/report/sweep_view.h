/* sweep_view.h - the report of a sweep: sweep.json and the folders of its runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_SWEEP_VIEW_H
#define FGI_REPORT_SWEEP_VIEW_H

#include "report/run_view.h"

/* Zero-initialize it. */
typedef struct fgi_sweep_view {
    json_t *record;       /* sweep.json */
    fgi_run_view *run;    /* of each run; all 0 if it has no folder yet */
    size_t *order;        /* of the runs: the best first, then those without a value */
    size_t count, ranked; /* runs, and those that have a value */
    bool is_max;          /* higher values are better */
} fgi_sweep_view;

/* Whether a folder is that of a sweep. Errors: FG_ENOMEM. */
fg_status fgi_sweep_view_look(const char *folder, bool *out_is_sweep, fg_error *err);
/* Reads it. Close *out also on failure. Errors: those of fgi_run_view_open. */
fg_status fgi_sweep_view_open(const char *folder, fgi_sweep_view *out, fg_error *err);
void fgi_sweep_view_close(fgi_sweep_view *view);

/* A run's object in sweep.json, its name, and its best value of the monitored metric (NaN: none).
 */
const json_t *fgi_sweep_run(const fgi_sweep_view *view, size_t run);
const char *fgi_sweep_name(const fgi_sweep_view *view, size_t run);
double fgi_sweep_best(const fgi_sweep_view *view, size_t run);
/* The metric by which runs are compared; "" if no run has started. */
const char *fgi_sweep_monitor(const fgi_sweep_view *view);
/* "finished: 3 of 4 runs; best val_loss 0.0812 with lr=0.003" */
void fgi_sweep_words(fgi_buf *out, const fgi_sweep_view *view);

/* The table, cell by cell: a column per swept key, then state, epochs, metrics and time. */
typedef struct fgi_sweep_table {
    const char *names[32]; /* of the columns; borrowed from the view */
    bool is_number[32];
    size_t keys, columns; /* keys: the first columns */
    char best_name[96];
} fgi_sweep_table;
void fgi_sweep_table_init(const fgi_sweep_view *view, fgi_sweep_table *out);
/* Replaces the text of `out` by that of a cell; "-" if it is not known. */
void fgi_sweep_cell(const fgi_sweep_view *view, const fgi_sweep_table *table, size_t run,
                    size_t column, fgi_buf *out);

/* The report, as lines of a terminal or as a page; as JSON, it is `record`. */
void fgi_sweep_doc_put(fgi_buf *out, const fgi_sweep_view *view, bool is_page);

#endif
