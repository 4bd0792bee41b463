/* activity.h - what the Trainer's thread does: the spans (base/span.h) that the ledger and the
 * watchdog listen to. Their kind is the stage (stage.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_ACTIVITY_H
#define FGI_TRAIN_ACTIVITY_H

#include "base/span.h"

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

#endif
