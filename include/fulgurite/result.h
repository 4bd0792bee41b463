/* result.h - the result of a call of the Trainer, and how long it took.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_RESULT_H
#define FULGURITE_RESULT_H

#include <fulgurite/callback.h>
#include <fulgurite/data.h>
#include <fulgurite/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the device spent its time, in seconds between the end of the first and the last step of a
 * call, including validation. The device is idle from the end of a step until the next one can
 * start, which requires that it was launched and its batch has arrived. The parts, by what the host
 * did meanwhile, are not negative and sum to idle_s. */
typedef struct fg_idle {
    double busy_s, idle_s;
    double input_s;       /* waiting for the loader */
    double upload_s;      /* uploading a batch, or waiting for its arrival on the device */
    double compile_s;     /* compiling */
    double read_s;        /* waiting for a value from the device */
    double checkpoint_s;  /* saving */
    double other_s;       /* launches, callbacks, everything else */
    uint64_t reserved[2]; /* set to 0 */
} fg_idle;

/* How the device spent its time in one window of a call: from the end of the previous window to
 * the end of step `step`, including validations and saves before that. */
typedef struct fg_time_window {
    int64_t step;
    int64_t samples;      /* of training steps */
    fg_idle time;         /* busy_s + idle_s is its length */
    uint64_t reserved[2]; /* set to 0 */
} fg_time_window;

/* The largest number of windows in a result. */
#define FG_MAX_TIME_WINDOWS 500

/* Times of training steps in seconds, each from the end of the previous step to its end; the first
 * step has none. p5_s is the shortest of these times that at least 5 % of the steps do not exceed
 * (nearest rank), and so on. Percentiles are exact for up to 4096 steps, and of 4096 steps chosen
 * at random if there are more; mean_s and max_s are of all steps. NaN if count is 0. */
typedef struct fg_step_times {
    int64_t count;
    double mean_s, p5_s, p50_s, p90_s, p95_s, p99_s, max_s;
    uint64_t reserved[2]; /* set to 0 */
} fg_step_times;

/* How well the input pipeline kept up with the device, and which part of the run limits its rate.
 * On a CPU, loader and device compete for the same processors, so each makes the other slower. */
typedef struct fg_input_report {
    fg_loader_stages stages; /* time of the loader's threads */
    int64_t samples;         /* that they read in this time, including prefetched ones */
    int workers;             /* their number; 0: the Trainer's thread reads the samples itself */
    double delivered_samples_per_s; /* rate of the loader if its threads never have to wait: samples
                                       times threads, divided by the time of all threads */
    double required_samples_per_s;  /* rate of the device if it never has to wait: samples, divided
                                       by the time in which it was busy */
    double waited; /* fraction of the time that the device waited for the loader or for uploads */
    /* "device" if it hardly waits (5 % of the time at most); "host" if it mostly waits for
     * launches, callbacks, checkpoints or compilation; "upload"; or the slowest stage of the
     * loader: "read", "entropy" (entropy decoding of JPEGs), "decode", "resize", "copy". NULL: not
     * known, for example after a single step. */
    const char *bound_by;
    double queue_mean;  /* mean number of ready batches when the Trainer took one; NaN: unknown */
    double queue_empty; /* fraction of the batches that were not ready then, 0 to 1 */
    /* f64[workers]: processor time of each thread, in seconds. Borrowed until the next call of the
     * Trainer; NULL: unknown */
    const double *worker_cpu_s;
    uint64_t reserved[1]; /* set to 0 */
} fg_input_report;

/* Writes a sentence with the numbers of a report to `out`, as snprintf does, and returns `out`:
 * "bound by decoding: the loader delivers 0.37x the required rate and spends 83 % of its time on
 * decoding; the device waits for input 63 % of the time". "" if bound_by is NULL. */
FG_API const char *fg_input_report_format(const fg_input_report *report, char *out, size_t size);

/* The largest number of metrics in a result. */
#define FG_MAX_RESULTS (3 * FG_MAX_METRICS)

/* The result of the last fit, validate, test or predict. Values that are not known are NaN, or -1
 * for integers. Times per step are those of the call; in fit, of training steps only. */
typedef struct fg_result {
    fg_status status;
    int64_t epochs, steps; /* done, including those before a resume */
    size_t metric_count;
    fg_metric metrics[FG_MAX_RESULTS]; /* the last of each name, over an epoch or evaluation */
    double time_to_first_step_s;       /* from the call to the first finished step */
    double step_median_s, step_p95_s;  /* as in step_times */
    double samples_per_s;              /* over the same time */
    double host_overhead_s;            /* per step: processor time of the Trainer's thread, without
                                          calls of the plugin; every 16th step is measured */
    double plugin_s;                   /* per step: calls of the plugin (launch, upload) */
    int64_t compiles, compile_cache_hits;
    double compile_s;
    int64_t host_reads; /* blocking reads of device values */
    fg_idle idle;
    int64_t device_peak_bytes; /* memory of the train program, as reported by the compiler */
    double step_flops; /* per batch: multiplications and additions of the matmuls and convolutions
                          of the train program, counted from the graph, on all devices */
    double mxu_use; /* fraction of the devices' peak rate (chip.h) that these need at samples_per_s
                       with full batches, 0 to 1: model FLOP utilization, not a hardware counter.
                       NaN if the peak is not known, as for a CPU */
    char checkpoint[512]; /* folder of the last checkpoint saved or resumed from, "": none */

    int64_t nonfinite_steps; /* with a gradient that was not finite, including before a resume */
    double lost_updates;     /* "bf16-true", "16-true": fraction of the elements whose last update
                                was lost to rounding */
    double loss_scale;       /* of the last step, if the loss is scaled */

    /* The run was complete before this fit, by max_epochs or max_steps: nothing was trained, and
     * the metrics are those that it ended with. */
    bool nothing_to_do;
    int stop_signal;       /* the signal that stopped the fit, 0: none did */
    char stop_reason[256]; /* why a callback ended the fit before its limits, "": none did */

    int64_t rollbacks;         /* returns to a checkpoint after divergence, including those before a
                                  resume */
    double rollback_lr_factor; /* factor of the learning rate due to these; 1: none */

    fg_input_report input;

    fg_step_times step_times;
    /* The parts of a fit between two log lines (log_every steps), in order; neighbors are
     * merged where there would be more than FG_MAX_TIME_WINDOWS. Their times sum to `idle`. Owned
     * by the Trainer; valid until its next call. NULL, 0: not a fit, or fewer than two steps. */
    const fg_time_window *windows;
    size_t window_count;
} fg_result;

#ifdef __cplusplus
}
#endif
#endif
