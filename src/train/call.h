/* call.h - a public call of the Trainer: what it is, what may end it early, and what it reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALL_H
#define FGI_TRAIN_CALL_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

/* Set to zeros when it starts; the result is readable until the next one starts. */
typedef struct fgi_call {
    bool is_busy;              /* between its start and its end */
    bool is_running;           /* it is a fit, or a search for the learning rate */
    bool is_search;            /* it is the latter */
    bool is_stopping;          /* a callback or a signal requested a stop */
    bool is_asked_to_stop;     /* by a request in the run's folder */
    int64_t deadline_ns;       /* of limits.max_time; 0: none */
    int saves_seen;            /* requests for saving that are done (signals.h) */
    fg_error failure;          /* of the callback that stopped the fit with an error */
    int64_t evaluated_batches; /* of the last evaluation */
    fg_client_stats stats_before;
    const char *file; /* of the call, in the user's program; NULL: unknown */
    int line;
    fgi_read_watch reads_before; /* of this thread */
    fg_result result;
} fgi_call;

#endif
