/* file_order.h - variables in the layout of files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FILE_ORDER_H
#define FGI_TRAIN_FILE_ORDER_H

#include <fulgurite/trace.h>

/* The variable's type in files. */
fg_type fgi_file_type(const fg_variable *variable);
/* Transposes a block with the variable's value, from fgi_alloc, to the layout of files; may replace
 * *block. */
fg_status fgi_to_file_order(const fg_variable *variable, void **block, fg_error *err);
/* Sets the variable from a file's bytes, converted if the floating-point dtype differs. */
fg_status fgi_set_from_file(fg_variable *variable, fg_dtype dtype, const void *data, fg_error *err);

#endif
