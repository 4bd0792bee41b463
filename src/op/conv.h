/* conv.h - convolutions and their two gradients: interface between conv.c and the files that lower
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_CONV_H
#define FGI_OP_CONV_H

#include "op/op.h"
#include "hlo/builder.h"

/* A problem has an image x T[N,H,W,C], a kernel k T[kh,kw,C/groups,Co] whose elements are
 * `dilation` apart, and a result y T[N,H',W',Co]. All three operations have the same numbers; index
 * 0 is height, 1 width. */
typedef struct fgi_conv_attr {
    int64_t stride[2], low[2], high[2], dilation[2], groups;
    int64_t x_size[2], k_size[2];
} fgi_conv_attr;

/* A StableHLO convolution: elements of lhs are lhs_dilation apart, elements of rhs rhs_dilation. */
typedef struct fgi_conv_window {
    int64_t stride[2], low[2], high[2], lhs_dilation[2], rhs_dilation[2];
    int64_t feature_groups, batch_groups;
    bool is_reversed;
    const char *dims; /* the roles of the dimensions of lhs, rhs and result */
} fgi_conv_window;

#define FGI_CONV_Y  "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
#define FGI_CONV_DX "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]" /* over the kernel's outputs */
#define FGI_CONV_DK "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]" /* over the samples */

/* The windows of the three operations; y_size is the result's height and width. Not reversed, one
 * group. */
fgi_conv_window fgi_conv_window_y(const fgi_conv_attr *attr);
fgi_conv_window fgi_conv_window_dx(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_conv_window fgi_conv_window_dk(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_value fgi_conv_line(fgi_builder *b, const fg_type *type, fgi_value lhs, fgi_value rhs,
                        const fgi_conv_window *w);

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

extern const fgi_op fgi_conv2d, fgi_conv2d_dx, fgi_conv2d_dk;

#endif
