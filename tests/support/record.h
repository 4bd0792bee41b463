/* record.h - recorded results (tests/golden/NAME.safetensors), and variables set from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_RECORD_H
#define FGT_RECORD_H

#include <fulgurite/ckpt.h>
#include <fulgurite/trace.h>

/* Opens tests/golden/path, or fails the test. */
fg_ckpt *fgt_record_open(const char *path);
/* What tests against a record open before the first and close after the last of them: the CPU
 * plugin's client, and the record. As cmocka's fixtures they return 0. */
int fgt_record_begin(const char *path, fg_client **out_client, fg_ckpt **out_record);
int fgt_record_end(fg_client *client, fg_ckpt *record);

/* The tensor of a printf-like name, or fails the test; *out_type may be NULL. The data may be not
 * aligned only where the file says so; the recorded ones are. */
const void *fgt_record_get(const fg_ckpt *record, fg_type *out_type, const char *format, ...)
    FG_PRINTF(3, 4);
/* True where the record has the name. */
bool fgt_record_has(const fg_ckpt *record, const char *format, ...) FG_PRINTF(2, 3);

/* Copies `data`, in the order of files, to *out in the variable's own order, or back. f32 only. */
void fgt_from_file_order(const fg_variable *variable, const float *data, float *out);
void fgt_to_file_order(const fg_variable *variable, const float *data, float *out);

#endif
