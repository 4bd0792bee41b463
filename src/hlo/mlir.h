/* mlir.h - elements of StableHLO text: types, lists, constants, strings, locations. Source: MLIR
 * language reference; StableHLO specification 1.13.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HLO_MLIR_H
#define FGI_HLO_MLIR_H

#include <fulgurite/dtype.h>
#include "base/buf.h"

/* "f32", "ui8", "i1" ... as in MLIR. */
const char *fgi_mlir_element(fg_dtype dtype);
/* tensor<3x4xf32> */
void fgi_mlir_type(fgi_buf *buf, const fg_type *type);
/* array<i64: 1, 2>, or array<i64> if empty */
void fgi_mlir_array(fgi_buf *buf, int count, const int64_t *values);
/* dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, from count pairs (lo[i], hi[i]) */
void fgi_mlir_pairs(fgi_buf *buf, int count, const int64_t *lo, const int64_t *hi);
/* dense<1.5> : tensor<3x4xf32>: a splat constant, exact in the dtype */
void fgi_mlir_splat(fgi_buf *buf, const fg_type *type, double value);
/* dense<"0x..."> : tensor<...> from row-major host bytes */
void fgi_mlir_dense(fgi_buf *buf, const fg_type *type, const void *data);
/* "text" with quotes and escapes */
void fgi_mlir_string(fgi_buf *buf, const char *text);
/* loc("scope/op"("file":line:0)); scope and file may be NULL */
void fgi_mlir_location(fgi_buf *buf, const char *scope, const char *op, const char *file, int line);

#endif
