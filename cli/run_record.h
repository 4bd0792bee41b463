/* run_record.h - figures that a fit has brought, kept for the curves.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_RECORD_H
#define RUN_RECORD_H

#include "run.h"

typedef struct run_curve {
    double *x, *y;
    size_t count, capacity;
} run_curve;

enum { RUN_TRAIN_WINDOWS, RUN_TRAIN_EPOCHS, RUN_VAL, RUN_CURVES };

struct run_record {
    const run *owner;
    run_curve curves[RUN_CURVES];
};

#endif
