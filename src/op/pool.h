/* pool.h - pooling: shared by pool.c and the lowering for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_POOL_H
#define FGI_OP_POOL_H

#include "op/op.h"

/* Windows of size x size over T[N,H,W,C]; index 0 is height, 1 width. Elements of x are x_dilation
 * apart. */
typedef struct fgi_pool_attr {
    int64_t size, stride, x_dilation;
    int64_t low[2], high[2];
} fgi_pool_attr;

/* The gradient of max pooling, (x, y, dy) -> dx: in each window the first element, in row-major
 * order, that equals y receives dy. */
enum { FGI_POOL_X, FGI_POOL_Y, FGI_POOL_DY };

extern const fgi_op fgi_max_pool_op, fgi_max_pool_dx;

/* Whether x is images in one to three dimensions, of which `op` makes images of these sizes;
 * otherwise keeps an error. */
bool fgi_check_sizes(const char *op, fg_tensor x, const int64_t *size);

#endif
