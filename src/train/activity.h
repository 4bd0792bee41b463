/* activity.h - what the Trainer's thread does and for which stage, as spans (base/span.h) that
 * the ledger, the watchdog, signals and the progress display listen to; and launches under way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_ACTIVITY_H
#define FGI_TRAIN_ACTIVITY_H

#include <fulgurite/base.h>

#include "base/span.h"
#include "pjrt/pjrt.h"

/* The kind of a span. */
typedef enum fgi_stage_kind { FGI_TRAIN, FGI_VAL, FGI_TEST, FGI_PREDICT } fgi_stage_kind;

/* "training": for messages. */
static inline const char *fgi_stage_noun(fgi_stage_kind kind)
{
    static const char *const noun[] = {"training", "validation", "test", "prediction"};
    return noun[kind];
}

/* Before the names of its metrics. */
static inline const char *fgi_stage_prefix(fgi_stage_kind kind)
{
    static const char *const prefix[] = {"train_", "val_", "test_", ""};
    return prefix[kind];
}

typedef enum fgi_activity {
    FGI_INPUT,
    FGI_UPLOAD,
    FGI_COMPILE,
    FGI_READ,
    FGI_CHECKPOINT,
    FGI_ACTIVITIES, /* what the devices may wait for; not what follows: */
    FGI_LAUNCH = FGI_ACTIVITIES,
    FGI_STEP /* waiting for one to finish */
} fgi_activity;

enum { FGI_IN_FLIGHT = 3 }; /* steps under way; the host waits beyond that */

/* A step that was launched and has not finished. */
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
