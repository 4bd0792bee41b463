/* compile_error.h - which operation of the user's program a compiler's message is about.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_COMPILE_ERROR_H
#define FGI_TRACE_COMPILE_ERROR_H

#include "trace/program.h"

/* If the message contains the location of one of the program's operations, which is emitted with
 * each (hlo/mlir.h): prepends the operation with the types of its operands, and sets the user's
 * file and line. Returns err's status. */
fg_status fgi_compile_explain(const fg_trace *trace, const struct fgi_layout *layout,
                              fg_error *err);

#endif
