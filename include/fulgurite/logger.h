/* logger.h - loggers: where the metrics of a run are written.
 *
 * A logger receives each line of metrics of a fit. `jsonl` and `csv` write metrics.jsonl and
 * metrics.csv in the run folder, `tensorboard` writes event files, and `mlflow` sends the metrics
 * to a server. A custom logger is a table of functions and the argument that they are called with,
 * which a program adds to a Trainer with fg_trainer_add_logger:
 *
 *     static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
 *     {
 *         for (size_t i = 0; i < line->metric_count; i++)
 *             board_plot(self, line->metrics[i].name, line->step, line->metrics[i].value);
 *         return FG_OK;
 *     }
 *
 *     static const fg_logger_ops ops = {.name = "board", .log = log_line, .destroy = board_close};
 *
 *     status = fg_trainer_add_logger(trainer, &ops, board_create("http://..."), &err);
 *
 * A row (fg_logger_entry) makes it available to configurations.
 *
 * Loggers need a run folder (options.checkpoints.run_dir): without one they are not called. In a
 * run of several processes, only the first one logs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_LOGGER_H
#define FULGURITE_LOGGER_H

#include <fulgurite/base.h>
#include <fulgurite/image.h>
#include <fulgurite/option.h>
#include <fulgurite/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A setting of a run, such as "optimizer.lr" and "0.001". */
typedef struct fg_log_setting {
    const char *name;
    const char *value; /* a string, number, "true", "false", "null", or a list, as in YAML */
} fg_log_setting;

/* How a log begins. Strings and arrays are borrowed for the call. */
typedef struct fg_log_start {
    const char *run_dir; /* exists, and is locked for this run */
    /* The step that the run continues from, 0 for a new run. Lines of later steps, from before the
     * run was interrupted, must be deleted or overwritten: these steps are trained again. */
    int64_t step;
    /* The number of lines of the run that belong to the checkpoint; later lines of the same
     * step are logged again. -1: unknown, as for a new run */
    int64_t lines;
    /* The lines so far, as a file with a JSON object per line: {"step": 50, "epoch": 0,
     * "lr": 0.01, "train_loss": 0.5}; lines of a validation have no "lr". NULL: the logger `jsonl`
     * is not one of the run's loggers. */
    const char *history;
    const char *config;             /* the configuration as text; NULL: none (fg_run_info) */
    const fg_log_setting *settings; /* of the run, by which runs can be compared */
    size_t setting_count;
    double wall_time; /* when the log was opened; as in fg_log_line */
} fg_log_start;

/* A log line: metrics at a step. */
typedef struct fg_log_line {
    int64_t step;  /* optimizer steps done */
    int64_t epoch; /* starting at 0 */
    /* false: after log_every steps, with the means over these steps; true: after a validation */
    bool is_validation;
    double lr;                /* of the last step */
    const fg_metric *metrics; /* borrowed for the call; NaN: no samples */
    size_t metric_count;
    /* When the line was logged: seconds since 1970-01-01T00:00:00Z, of the system's clock */
    double wall_time;
} fg_log_line;

/* A checkpoint that is on the disk. */
typedef struct fg_log_saved {
    const char *path; /* its folder (fg_ckpt_open), borrowed for the call; saves may remove it */
    int64_t step, epoch;
    double wall_time; /* as in fg_log_line */
} fg_log_saved;

/* A node of a model's graph: an operation, or a parameter or an input of the batch. */
typedef struct fg_log_node {
    const char *name;       /* unique; a path of modules: "layer1/0/conv1/conv_12" */
    const char *op;         /* of an operation, as in messages: "matmul"; "parameter", "input" */
    fg_type type;           /* of its result */
    const uint32_t *inputs; /* indices of the nodes that it reads, which come before it */
    size_t input_count;
} fg_log_node;

typedef enum fg_log_kind {
    FG_LOG_TEXT = 0,
    FG_LOG_IMAGE = 1,
    FG_LOG_HISTOGRAM = 2,
    FG_LOG_GRAPH = 3 /* the operations from the batch to the loss, without gradients */
} fg_log_kind;

/* Something to log that is not a number. Members of other kinds are 0. Strings and arrays are
 * borrowed for the call. */
typedef struct fg_log_item {
    fg_log_kind kind;
    const char *name; /* "config", "samples", "fc1.weight" */
    int64_t step;
    double wall_time; /* as in fg_log_line */

    const char *text; /* FG_LOG_TEXT: UTF-8, to be shown as it is */

    const uint8_t *pixels; /* FG_LOG_IMAGE: u8[height, width, channels], channels 1 (gray) or 3 */
    int64_t height, width, channels;

    const double *edges;  /* FG_LOG_HISTOGRAM: f64[bins + 1], increasing */
    const double *counts; /* f64[bins]; a value that is an edge belongs to the bin above it, the
                             largest one to the last bin */
    size_t bins;
    double minimum, maximum, sum, sum_squares, count; /* of the values that are finite */

    const fg_log_node *nodes; /* FG_LOG_GRAPH */
    size_t node_count;
} fg_log_item;

typedef enum fg_log_state {
    FG_LOG_DONE = 0,    /* the fit has reached its limits, or a callback ended it with a reason */
    FG_LOG_STOPPED = 1, /* interrupted: it can be continued */
    FG_LOG_FAILED = 2
} fg_log_state;

/* How a fit ended. */
typedef struct fg_log_end {
    fg_log_state state;
    const char *message; /* of the error, or ""; borrowed for the call */
    int64_t step;        /* optimizer steps done */
    double wall_time;    /* as in fg_log_line */
} fg_log_end;

/* The functions of a logger; all but `log` may be NULL. They are called on the thread that called
 * fit, except for `sync`, unless `has_thread` is set.
 *
 * A failure does not stop training: it is reported once, with the logger's name and err->message,
 * and the logger is called again for the next line. */
typedef struct fg_logger_ops {
    const char *name; /* for messages */
    /* The log must be complete: no checkpoint counts as saved while `flush` or `sync` fails, a fit
     * that ends in this state fails, and FG_ENOMEM of any function, or any failure of `open`, ends
     * the fit at once. `log` must keep a line that it cannot write. */
    bool is_required;
    /* Call all functions on a thread of this logger, so that a slow or blocked one does not delay
     * training. At most 1024 lines wait for the thread. Later ones are dropped, which is reported.
     * The beginning and the end of a fit wait for at most 10 s each. A thread whose function never
     * returns is abandoned when the Trainer is destroyed.
     *   A required logger loses no lines: up to 32768 wait, then the fit ends with FG_ENOMEM. The
     * thread that writes checkpoints waits for its lines before each checkpoint, and the
     * beginning and the end of a fit wait until its functions return. */
    bool has_thread;
    bool is_single; /* a configuration can list it only once, as any required logger */
    /* Opens the log before the first step of a Trainer's first fit; again if that fit failed before
     * its first step, and, after `flush`, when a fit returns to a checkpoint after divergence: then
     * lines after the checkpoint must be deleted as for a run that was interrupted. *out_lines: the
     * number of lines that the log contains, of this run; -1, the value before the call: unknown.
     * After a failure, a logger that is not required is no longer used. With `has_thread`, the
     * history may be growing. */
    fg_status (*open)(void *self, const fg_log_start *start, int64_t *out_lines, fg_error *err);
    /* Logs a line. */
    fg_status (*log)(void *self, const fg_log_line *line, fg_error *err);
    /* Writes the lines that could not be written before: before each checkpoint, and at the end of
     * a fit. */
    fg_status (*flush)(void *self, fg_error *err);
    /* Makes the lines of the last `flush` durable, before a checkpoint that they belong to is
     * written. Without `has_thread`, it is called on the thread that writes checkpoints, while
     * `log` may be running. */
    fg_status (*sync)(void *self, fg_error *err);
    void (*destroy)(void *self); /* when the Trainer is destroyed */
    /* A checkpoint of the run is on the disk. */
    fg_status (*saved)(void *self, const fg_log_saved *saved, fg_error *err);
    /* The end of a fit, after the last line and `flush`. Another fit of the Trainer may follow. */
    fg_status (*finish)(void *self, const fg_log_end *end, fg_error *err);
    /* Logs a text, an image, a histogram or the graph of the model. With `has_thread`, at most 64
     * wait; later ones are dropped, which is reported. */
    fg_status (*item)(void *self, const fg_log_item *item, fg_error *err);
    void (*reserved[1])(void); /* must be NULL */
} fg_logger_ops;

/* A registered logger (registry.h): a constant row. It gives a logger a name and options, so that a
 * configuration can list it: `trainer.loggers: [csv, board: {url: host}]`.
 *
 *     static const fg_option options[] = {
 *         FG_OPTION(board, url, STRING, NULL, NULL, "http://host", "Address of the server."),
 *     };
 *     static const fg_logger_entry row = {
 *         .entry = {.name = "board", .help = "plots", FG_OPTIONS(options, board)}, .ops = &ops};
 */
typedef struct fg_logger_entry {
    fg_entry entry;
    const fg_logger_ops *ops; /* the functions; `name` should be the name of the row */
    /* Completes the struct that the functions are called with, as in fg_callback_entry. What can
     * fail for reasons other than the options belongs in ops->open: a failure of `init` ends the
     * run. Errors: FG_EINVAL for options that contradict each other (fg_option_fail), FG_ENOMEM. */
    fg_status (*init)(void *self, const fg_option_values *values, fg_error *err);
    void (*reserved[4])(void); /* must be NULL */
} fg_logger_entry;

/* What a program tells the loggers about a run. */
typedef struct fg_run_info {
    const char *config;             /* the configuration as text, such as YAML; NULL: none */
    const fg_log_setting *settings; /* settings by which runs can be compared */
    size_t setting_count;
    uint64_t reserved[4];
} fg_run_info;

/* Sets what loggers find in fg_log_start, before the first fit; copied. A recipe (recipe.h) does
 * that. Errors: FG_ENOMEM; FG_EINVAL after the first fit has begun. Not thread-safe: on the
 * Trainer's thread. */
FG_API FG_MUST_USE fg_status fg_trainer_set_run_info(fg_trainer *trainer, const fg_run_info *info,
                                                     fg_error *err);

/* Adds a logger, in addition to those of options.output.loggers, before the first fit. ops must
 * outlive the Trainer; take_self is consumed, also on failure. Errors: FG_ENOMEM; FG_EINVAL without
 * a name or `log`, or after the first fit has begun. Not thread-safe: on the Trainer's thread. */
FG_API FG_MUST_USE fg_status fg_trainer_add_logger(fg_trainer *trainer, const fg_logger_ops *ops,
                                                   void *take_self, fg_error *err);

/* ---- texts, images, histograms -----------------------------------------------------------------
 *
 * For callbacks during a fit, on the Trainer's thread: `trainer` is that of fg_progress. They pass
 * an item with the current step to the loggers that support it (fg_logger_ops.item; of the built-in
 * ones, `tensorboard`), and do nothing if there are none. Errors: FG_EINVAL for a name that is
 * empty or longer than 255 bytes, for invalid sizes, and without a fit; FG_ENOMEM. */

/* text: UTF-8. Errors: as above. */
FG_API FG_MUST_USE fg_status fg_trainer_log_text(const fg_trainer *trainer, const char *name,
                                                 const char *text, fg_error *err);
/* The pixels, sizes and channels of an image; each side is at most 16384. Errors: as above. */
FG_API FG_MUST_USE fg_status fg_trainer_log_image(const fg_trainer *trainer, const char *name,
                                                  const fg_image *image, fg_error *err);
/* The distribution of `count` values, in 64 bins of equal width between the smallest and the
 * largest one. Values that are not finite are left out. Errors: as above. */
FG_API FG_MUST_USE fg_status fg_trainer_log_histogram(const fg_trainer *trainer, const char *name,
                                                      const float *values, size_t count,
                                                      fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
