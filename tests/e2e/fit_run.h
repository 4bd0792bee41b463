/* fit_run.h - runs of fulgurite fit in separate folders, and the JSON that they write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FIT_RUN_H
#define FIT_RUN_H

#include "run_program.h"

#include <jansson.h>

static const char fit_digits[] =
    "model: {name: mlp, hidden: [32], dropout: 0.1}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_epochs: 3, seed: 7, log_every: 5, run_dir: run}\n";

/* A fresh folder with digits.yaml in it. */
const char *fit_folder(void);

json_t *fit_json(const char *folder, const char *name);

double fit_metric(const json_t *summary, const char *name);

#endif
