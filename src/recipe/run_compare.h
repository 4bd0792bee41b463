/* run_compare.h - how a configuration and its data differ from those that a checkpoint was trained
 * with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_COMPARE_H
#define FGI_RECIPE_RUN_COMPARE_H

#include "recipe/run_schema.h"

/* Differences, one a line: "  model.activation: relu in the checkpoint, tanh here". */
typedef struct fgi_run_differences {
    char text[288];
    size_t used, count; /* those that do not fit are counted only */
} fgi_run_differences;

/* Keys of the model, but for dropout and what is frozen; what has no effect is not compared. */
void fgi_run_compare_model(const fgi_config *had, const fgi_config *have, fgi_run_differences *out);
/* Keys of the data that a CSV's schema follows from, where they are given in `have`. `target` is
 * the name of the column that the checkpoint predicts. */
void fgi_run_compare_columns(const fgi_config *had, const fgi_config *have, const char *target,
                             fgi_run_differences *out);
/* Two descriptions of data. How a file is laid out and what happens to missing and unknown values
 * may differ. */
void fgi_run_compare_data(const json_t *had, const json_t *have, fgi_run_differences *out);

/* FG_EINVAL that lists the differences, where there are any: "PATH was trained
 * otherwise:\n...\nHINT".
 */
fg_status fgi_run_compare_fail(const fgi_run_differences *differences, const char *path,
                               const char *hint, fg_error *err);

#endif
