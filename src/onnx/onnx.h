/* onnx.h - writes a StableHLO program as an ONNX model, opset 18. Sources: ONNX 1.13, "Operator
 * schemas"; StableHLO specification 1.13.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_ONNX_ONNX_H
#define FGI_ONNX_ONNX_H

#include <fulgurite/dtype.h>

/* The sizes of the programs that are not fixed in the model: those of the batch and, if it is free,
 * of a sequence. Dimensions are free if they are multiples of these primes. */
enum { FGI_ONNX_BATCH = 999983, FGI_ONNX_LENGTH = 65521, FGI_ONNX_OTHER_LENGTH = 30011 };

/* An argument of @main: an input of the model, or a tensor of its file. */
typedef struct fgi_onnx_argument {
    const char *name;
    fg_type type;
    const void *data; /* row-major; NULL: an input of the model */
    const int
        *file_axis; /* dimension i of `data` is dimension file_axis[i]; NULL: the same order */
} fgi_onnx_argument;

typedef struct fgi_onnx_model {
    const char *text;       /* the program: StableHLO with one function and one result */
    const char *other_text; /* with FGI_ONNX_OTHER_LENGTH in place of FGI_ONNX_LENGTH, and otherwise
                               the same; NULL: the length is fixed */
    const fgi_onnx_argument *arguments;
    size_t argument_count;
    const char *output;          /* name of the result */
    const char *const *metadata; /* key, value ..., NULL */
    size_t
        limit_bytes; /* the most bytes of tensors in the file itself; 0: 2 GB, as protobuf's limit
                           is 2^31 - 1 bytes for the whole file */
} fgi_onnx_model;

/* Writes the file; an existing one is replaced as a whole. Beyond the limit, large tensors are
 * written to PATH.data; *out_data_bytes is its size, 0: there is none. Errors: FG_EUNSUPPORTED
 * (names an operation that has no row, with the scope in the model; the two texts have other
 * differences), those of writing. */
fg_status fgi_onnx_write(const char *path, const fgi_onnx_model *model, size_t *out_data_bytes,
                         fg_error *err);

#endif
