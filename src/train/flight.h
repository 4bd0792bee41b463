/* flight.h - a step that was launched and has not finished.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FLIGHT_H
#define FGI_TRAIN_FLIGHT_H

#include "pjrt/pjrt.h"
#include "train/stage.h"

enum { FGI_IN_FLIGHT = 3 }; /* steps under way; the host waits beyond that */

typedef struct fgi_flight {
    struct fgi_feed *feed;
    int open; /* pending events: its end, and fields that have not arrived */
    fgi_stage_kind kind;
    bool is_step;   /* counted in step times: not a validation within fit */
    bool is_part;   /* a batch of such a step, whose update will follow */
    bool is_batch;  /* not such an update */
    int64_t number; /* of the step in its stage, starting at 1 */
    int64_t samples;
    int64_t launch_ns, inputs_ns, done_ns;
    fgi_event *done;       /* its end, until it is retired */
    int64_t *part_done_ns; /* its end on each device, during a profile; else NULL */
    fg_error error;
} fgi_flight;

#endif
