/* run_compare.h - differences between a configuration and its data and those of a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_COMPARE_H
#define FGI_RECIPE_RUN_COMPARE_H

#include "recipe/run/run_schema.h"

/* Differences, one per line: "  model.activation: relu in the checkpoint, tanh here". */
typedef struct fgi_run_differences {
    char text[1536];
    size_t used, count; /* those that do not fit are only counted */
    size_t limit;       /* bytes of the text; 0: as many as fit an error */
} fgi_run_differences;

/* Compares keys of the model except dropout and frozen parameters; ignores keys without effect. */
void fgi_run_compare_model(const fgi_config *had, const fgi_config *have, fgi_run_differences *out);
/* Compares the keys that change how weights are updated (fgi_config_is_of_training). */
void fgi_run_compare_training(const fgi_config *had, const fgi_config *have,
                              fgi_run_differences *out);
/* Compares the keys of the data that determine a CSV's schema, if they are given in `have`.
 * `target` is the name of the column that the checkpoint predicts. */
void fgi_run_compare_columns(const fgi_config *had, const fgi_config *have, const char *target,
                             fgi_run_differences *out);
/* Compares two descriptions of data. File layout and the handling of missing and unknown values may
 * differ. */
void fgi_run_compare_data(const json_t *had, const json_t *have, fgi_run_differences *out);

/* "\n  and 3 more" for those that are only counted; "": none. */
const char *fgi_run_compare_more(const fgi_run_differences *differences, char out[48]);

/* FG_EINVAL with a list of the differences, if there are any: "PATH was trained with other
 * settings:\n...\nHINT".
 */
fg_status fgi_run_compare_fail(const fgi_run_differences *differences, const char *path,
                               const char *hint, fg_error *err);

#endif
