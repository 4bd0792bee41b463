/* dot.h - contractions: shared by dot.c and the lowerings for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_DOT_H
#define FGI_OP_DOT_H

#include "op/op.h"

/* fg_dot_options with nonnegative axes, fixed width and no padding: hashed as bytes. */
typedef struct fgi_dot_attr {
    int64_t batch_count, contract_count, result;
    int64_t batch[2][FG_MAX_RANK], contract[2][FG_MAX_RANK];
} fgi_dot_attr;

/* The second one is the first under the name that the user called. */
extern const fgi_op fgi_dot, fgi_matmul;

/* The dimension numbers of dot_general. */
void fgi_dot_put_numbers(fgi_buf *text, const fgi_dot_attr *attr);

#endif
