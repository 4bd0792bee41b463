/* other_run.h - runs of other processes, by their folders: following, stopping and serving them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OTHER_RUN_H
#define OTHER_RUN_H

#include "cli.h"

/* Shows a text; false ends what shows it. */
typedef bool show_fn(void *self, const char *text);

typedef struct follow_options {
    show_fn *show;
    void *self;
    /* false: one line per new line of metrics.jsonl, and one if the run was resumed from a
     * checkpoint before lines that were shown. true: the whole report whenever there is something
     * new */
    bool whole;
    double every_s; /* seconds between checks for new text; 0: 0.5 */
} follow_options;

/* Shows what a run has written, and what it writes until it ends, that is, until no fit holds the
 * lock of its folder. *out_state is then "finished", "stopped", "failed", "killed" or, for a run
 * without report.json, "unknown". Errors: those of fg_report_run, FG_ESTOPPED (show returned
 * false). */
fg_status follow_run(const char *folder, const follow_options *options, const char **out_state,
                     fg_error *err);

/* Serves the page of a run to browsers on this machine, and its JSON as /report.json. port: "0",
 * "" and NULL are any free one. While a fit holds the lock of the folder, the page reloads itself
 * every two seconds. Only requests to the address itself or to localhost are answered, on a
 * separate thread. Shows a line with the address, then "" a few times per second. Requires
 * libmicrohttpd at run time. Errors: FG_ENOTFOUND (no such folder, no libmicrohttpd), FG_EIO (the
 * port is in use), FG_EINVAL (the port). */
fg_status serve_run(const char *folder, const char *port, show_fn *show, void *self, fg_error *err);

typedef struct stop_options {
    bool no_wait;     /* return once the request is written */
    double timeout_s; /* how long to wait for the end of the run; 0: no limit */
    FILE *talk;       /* which process was asked, and the last checkpoint once it has ended */
} stop_options;

/* Asks the fit that holds the lock of a run's folder to save its state and stop, as it does on
 * SIGTERM, and waits until it has: until the lock is released. run is the folder of a run; that
 * of a sweep, whose current run is stopped and which then ends; or "last": of the runs in the
 * folder "runs" that are training, including those of sweeps, the one that started last. If the
 * process that holds the lock is on another host and has died, this is only noticed if locks
 * apply across hosts; otherwise, without a timeout, the call waits forever. Errors: FG_ENOTFOUND
 * (no such folder; no fit uses it, or the one that did was killed), FG_EINVAL (the timeout has
 * passed: the request remains), FG_EIO (the request cannot be written). */
fg_status stop_run(const char *run, const stop_options *options, fg_error *err);

#endif
