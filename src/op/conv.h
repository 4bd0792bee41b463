/* conv.h - convolutions and their two gradients: what conv.c asks of the files that write them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_CONV_H
#define FGI_OP_CONV_H

#include "op/op.h"
#include "op/parts.h"

/* A problem has an image x T[N,H,W,C], a kernel k T[kh,kw,C/groups,Co] whose taps stand `dilation`
 * apart, and a result y T[N,H',W',Co]. All three operations carry the same numbers; index 0 is
 * height, 1 width. */
typedef struct fgi_conv_attr {
    int64_t stride[2], low[2], high[2], dilation[2], groups;
    int64_t x_size[2], k_size[2];
} fgi_conv_attr;

/* A convolution as StableHLO has it: elements of lhs stand lhs_dilation apart, taps of rhs
 * rhs_dilation. */
typedef struct fgi_window {
    int64_t stride[2], low[2], high[2], lhs_dilation[2], rhs_dilation[2];
    int64_t feature_groups, batch_groups;
    bool is_reversed;
    const char *dims; /* which dimension of lhs, rhs and result is what */
} fgi_window;

#define FGI_CONV_Y  "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
#define FGI_CONV_DX "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]" /* over the kernel's outputs */
#define FGI_CONV_DK "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]" /* over the samples */

/* The windows of the three; y_size is the result's height and width. Not reversed, one group. */
fgi_window fgi_conv_window_y(const fgi_conv_attr *attr);
fgi_window fgi_conv_window_dx(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_window fgi_conv_window_dk(const fgi_conv_attr *attr, const int64_t *y_size);
fgi_part fgi_conv_line(fgi_emit *e, const fg_type *type, fgi_part lhs, fgi_part rhs,
                       const fgi_window *w);
/* [kh,kw,C/g,Co] -> [kh,kw,Co/g,C]: the kernel that carries derivatives back, not yet reversed. */
fgi_part fgi_conv_turned(fgi_emit *e, fgi_part k, int64_t groups);

/* What the node computes: y of (x, k), x's derivative of (dy, k), or k's derivative of (x, dy). */
void fgi_conv_emit_y(fgi_emit *e);
void fgi_conv_emit_dx(fgi_emit *e);
void fgi_conv_emit_dk(fgi_emit *e);

/* The forms for XLA's CPU backend; false where the plain one is as good (conv_cpu.c). */
bool fgi_conv_cpu_y(fgi_emit *e);
bool fgi_conv_cpu_dx(fgi_emit *e);
bool fgi_conv_cpu_dk(fgi_emit *e);

#endif
