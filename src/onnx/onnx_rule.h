/* onnx_rule.h - a row of the table of operations, and what rows share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_ONNX_RULE_H
#define FGI_ONNX_RULE_H

#include "onnx/onnx_graph.h"
#include "onnx/statement.h"

typedef struct fgi_onnx_rule {
    const char *name; /* in StableHLO */
    void (*put)(fgi_onnx_graph *g, const fgi_statement *s, const struct fgi_onnx_rule *row);
    const char *op_type, *then; /* of ONNX; the second one is applied to the result of the first */
} fgi_onnx_rule;

/* The operation cannot be exported; `why` follows its name. */
void fgi_onnx_refuse(fgi_onnx_graph *g, const fgi_statement *s, const char *why);
/* The integers of an attribute, none of which may be a size that is not fixed. */
int fgi_onnx_fixed_integers(fgi_onnx_graph *g, const fgi_statement *s, const char *key, int most,
                            int64_t *out);
/* The tensor `name` has all elements of the result. */
void fgi_onnx_set_result(fgi_onnx_graph *g, const fgi_statement *s, const char *name);
/* A tensor with all elements of operand i. */
const char *fgi_onnx_in_whole(fgi_onnx_graph *g, const fgi_statement *s, int i);
/* x with these axes reversed. */
const char *fgi_onnx_reverse(fgi_onnx_graph *g, const char *x, int count, int64_t *axis);

/* onnx_sums.c */
void fgi_onnx_dot_general(fgi_onnx_graph *g, const fgi_statement *s, const fgi_onnx_rule *unused);
void fgi_onnx_convolve(fgi_onnx_graph *g, const fgi_statement *s, const fgi_onnx_rule *unused);
void fgi_onnx_reduce(fgi_onnx_graph *g, const fgi_statement *s, const fgi_onnx_rule *unused);
void fgi_onnx_reduce_window(fgi_onnx_graph *g, const fgi_statement *s, const fgi_onnx_rule *unused);

#endif
