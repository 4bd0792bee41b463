/* conv.h - convolutions and their two gradients: interface between conv.c and the files that lower
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_CONV_H
#define FGI_OP_CONV_H

#include "op/op.h"
#include "hlo/builder.h"

/* A problem has an image x T[N,H,W,C], a kernel k T[kh,kw,C/groups,Co] whose elements are
 * `dilation` apart, and a result y T[N,H',W',Co]; or the same in one or three dimensions. All three
 * operations have the same numbers, one for each dimension of the image: of the window, which has
 * a height of 1 if the image is one-dimensional. */
enum { FGI_CONV_MOST = 3 };
typedef struct fgi_conv_attr {
    int64_t rank; /* of the image: 1 to 3 */
    int64_t dims; /* of the window: 2 or 3 */
    int64_t stride[FGI_CONV_MOST], low[FGI_CONV_MOST], high[FGI_CONV_MOST];
    int64_t dilation[FGI_CONV_MOST], groups;
    int64_t x_size[FGI_CONV_MOST], k_size[FGI_CONV_MOST];
} fgi_conv_attr;

/* Roles of the dimensions of lhs, rhs and result: those of y from (x, k); of dx from (dy, k), over
 * the kernel's outputs; of dk from (x, dy), over the samples. */
typedef enum fgi_conv_roles { FGI_CONV_Y, FGI_CONV_DX, FGI_CONV_DK } fgi_conv_roles;

/* A StableHLO convolution: elements of lhs are lhs_dilation apart, elements of rhs rhs_dilation. */
typedef struct fgi_conv_window {
    int dims;
    int64_t stride[FGI_CONV_MOST], low[FGI_CONV_MOST], high[FGI_CONV_MOST];
    int64_t lhs_dilation[FGI_CONV_MOST], rhs_dilation[FGI_CONV_MOST];
    int64_t feature_groups, batch_groups;
    bool is_reversed;
    fgi_conv_roles roles;
} fgi_conv_window;

/* The windows of the three operations; y_size is the size of the result's image. Not reversed, one
 * group. */
fgi_conv_window fgi_conv_window_y(const fgi_conv_attr *attr);
fgi_conv_window fgi_conv_window_dx(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_conv_window fgi_conv_window_dk(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_value fgi_conv_line(fgi_builder *b, const fg_type *type, fgi_value lhs, fgi_value rhs,
                        const fgi_conv_window *w);

/* Operand i of the node, and its result, with the dimensions of the window: [N,L,C] as [N,1,L,C].
 */
fgi_value fgi_conv_in(fgi_emit *e, int i);
fg_type fgi_conv_type(const fgi_emit *e);
fg_type fgi_conv_in_type(const fgi_emit *e, int i);
void fgi_conv_become(fgi_emit *e, fgi_value value);

/* The result of a node: y from (x, k), the gradient of x from (dy, k), or that of k from (x, dy).
 */
void fgi_conv_emit_y(fgi_emit *e);
void fgi_conv_emit_dx(fgi_emit *e);
void fgi_conv_emit_dk(fgi_emit *e);
/* dx with kernel k, which is either reversed by the window or already reversed. */
void fgi_conv_emit_dx_of(fgi_emit *e, fgi_value k, bool reverses);
/* The gradient of a kernel with one group. */
fgi_value fgi_conv_dense_dk(fgi_builder *b, const fg_type *type, fgi_value x, fgi_value dy,
                            const fgi_conv_window *window);

extern const fgi_op fgi_conv, fgi_conv_dx, fgi_conv_dk;

#endif
