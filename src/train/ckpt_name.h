/* ckpt_name.h - names of checkpoints, out of a template.
 *
 * A template is text with fields in braces: {step}, {epoch} (whole epochs done) or the name of a
 * metric, optionally with a format as in Python: {epoch:02d}, {val_loss:.3f}. The text consists of
 * ASCII letters, digits, '.', '_', '=' and '-'. A template without {step} gets "-{step}" at its
 * end, so that names are unique.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CKPT_NAME_H
#define FGI_TRAIN_CKPT_NAME_H

#include <stdbool.h>

#include <fulgurite/result.h>

#define FGI_CKPT_NAME_DEFAULT "step-{step:09d}"

/* Whether the template is valid. Errors: FG_EINVAL, which says where it is not. */
fg_status fgi_ckpt_name_check(const char *pattern, fg_error *err);

/* Finds the next field of a valid template that is a metric, and advances *at to after it; false:
 * there is none. */
bool fgi_ckpt_name_next_metric(const char **at, char *out, size_t size);

/* The name of a checkpoint by a valid template; "none" for a metric that has no value yet. */
void fgi_ckpt_name_make(const char *pattern, int64_t step, int64_t epoch, const fg_metric *metrics,
                        size_t count, char *out, size_t size);

#endif
