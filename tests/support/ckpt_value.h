/* ckpt_value.h - checkpoints with one value each, for the tests of src/ckpt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CKPT_VALUE_H
#define CKPT_VALUE_H

#include "fgt.h"

/* Saves `folder/name` with one weight and one moment of that value. */
fg_status value_save(const char *folder, const char *name, float value, fg_error *err);

void value_save_ok(const char *folder, const char *name, float value);

bool folder_has(const char *folder, const char *name);

/* What a process of this machine, or of another one, calls a temporary file. */
void temporary_name_by(char *out, size_t size, const char *base, const char *machine, long pid);

#endif
