/* record.h - recorded results (tests/golden/NAME.safetensors), and variables set from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_RECORD_H
#define FGT_RECORD_H

#include <fulgurite/ckpt.h>
#include <fulgurite/trace.h>

/* Opens tests/golden/path, or fails the test. */
fg_ckpt *fgt_record_open(const char *path);
/* Group fixtures for tests that compare with a record: open and close the CPU plugin's client and
 * the record. They return 0, as cmocka requires. */
int fgt_record_begin(const char *path, fg_client **out_client, fg_ckpt **out_record);
int fgt_record_end(fg_client *client, fg_ckpt *record);

/* The tensor of a printf-like name, or fails the test; *out_type may be NULL. The data may be not
 * aligned only where the file says so; the recorded ones are. */
const void *fgt_record_get(const fg_ckpt *record, fg_type *out_type, const char *format, ...)
    FG_PRINTF(3, 4);
/* True if the record has the name. */
bool fgt_record_has(const fg_ckpt *record, const char *format, ...) FG_PRINTF(2, 3);

/* Copies `data` from the dimension order of files to that of the variable, or back. f32 only. */
void fgt_from_file_order(const fg_variable *variable, const float *data, float *out);
void fgt_to_file_order(const fg_variable *variable, const float *data, float *out);

#endif
