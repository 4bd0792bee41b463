/* run_record.h - the metrics of a fit, recorded for plots.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_RECORD_H
#define FGI_RECIPE_RUN_RECORD_H

#include "recipe/run.h"

typedef struct fgi_run_curve {
    double *x, *y;
    size_t count, capacity;
} fgi_run_curve;

enum { FGI_RUN_TRAIN_WINDOWS, FGI_RUN_TRAIN_EPOCHS, FGI_RUN_VAL, FGI_RUN_CURVES };

struct fgi_run_record {
    const fg_recipe *owner;
    fgi_run_curve curves[FGI_RUN_CURVES];
    int64_t validations, bad; /* with a val_loss; of these, those where it was not finite */
};

#endif
