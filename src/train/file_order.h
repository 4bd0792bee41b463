/* file_order.h - variables as files have them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FILE_ORDER_H
#define FGI_TRAIN_FILE_ORDER_H

#include <fulgurite/trace.h>

/* The variable's type in files. */
fg_type fgi_file_type(const fg_variable *variable);
/* Turns a block of the variable's value, got from fgi_alloc, into the files' order; *block may be
 * another one afterwards. */
fg_status fgi_to_file_order(const fg_variable *variable, void **block, fg_error *err);
/* Sets the variable from a file's bytes, converted where the file has another floating format. */
fg_status fgi_set_from_file(fg_variable *variable, fg_dtype dtype, const void *data, fg_error *err);

#endif
