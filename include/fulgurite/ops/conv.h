/* conv.h - convolution.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_CONV_H
#define FULGURITE_OPS_CONV_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 2-D convolution (cross-correlation), channels last.
 *
 *   x        T[N, H, W, Cin]
 *   kernel   T[kh, kw, Cin/groups, Cout]
 *   returns  T[N, H', W', Cout]     H' = floor((H + 2 pad - dilation (kh - 1) - 1)/stride) + 1
 *
 * Source: StableHLO specification, "convolution". */
typedef struct fg_conv2d_options {
    int64_t stride;   /* in pixels                            [1] */
    int64_t pad;      /* padding on each side, in pixels      [0] */
    int64_t dilation; /* distance of kernel elements          [1] */
    int64_t groups;   /* must divide Cin and Cout             [1] */
    uint64_t reserved[2];
} fg_conv2d_options;
FG_API fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_conv2d(...) FG_HERE(fg_conv2d(__VA_ARGS__))
#endif
#endif
