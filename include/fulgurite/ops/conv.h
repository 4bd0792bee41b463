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

/* Convolution (cross-correlation) in one to three dimensions, channels last. The options apply to
 * each dimension of the image.
 *
 *                    x                     kernel
 *   fg_conv1d        T[N, L, Cin]          T[k, Cin/groups, Cout]
 *   fg_conv2d        T[N, H, W, Cin]       T[kh, kw, Cin/groups, Cout]
 *   fg_conv3d        T[N, D, H, W, Cin]    T[kd, kh, kw, Cin/groups, Cout]
 *   returns          x's shape with Cout channels and the sizes
 *                    floor((size + 2 pad - dilation (k - 1) - 1)/stride) + 1
 *
 * Gradient: to x and kernel. Source: StableHLO specification, "convolution". */
typedef struct fg_conv2d_options {
    int64_t stride;   /* in pixels                            [1] */
    int64_t pad;      /* padding on each side, in pixels      [0] */
    int64_t dilation; /* distance of kernel elements          [1] */
    int64_t groups;   /* must divide Cin and Cout             [1] */
    uint64_t reserved[2];
} fg_conv2d_options;
FG_API fg_tensor fg_conv1d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);
FG_API fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);
FG_API fg_tensor fg_conv3d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);

/* Transposed convolution: the gradient of a convolution with respect to its image.
 *
 *                          x                     kernel
 *   fg_conv_transpose1d    T[N, L, Cin]          T[k, Cout/groups, Cin]
 *   fg_conv_transpose2d    T[N, H, W, Cin]       T[kh, kw, Cout/groups, Cin]
 *   fg_conv_transpose3d    T[N, D, H, W, Cin]    T[kd, kh, kw, Cout/groups, Cin]
 *   returns                x's shape with Cout channels and the sizes
 *                          (size - 1) stride - 2 pad + dilation (k - 1) + output_pad + 1
 *
 * Gradient: to x and kernel. Source: PyTorch's conv_transpose2d; Dumoulin and Visin 2016, "A guide
 * to convolution arithmetic for deep learning". */
typedef struct fg_conv_transpose_options {
    int64_t stride;     /* distance of x's pixels in the result           [1] */
    int64_t pad;        /* pixels removed from each side of the result    [0] */
    int64_t output_pad; /* added to the end of the result; below stride   [0] */
    int64_t dilation;   /* distance of kernel elements                    [1] */
    int64_t groups;     /* must divide Cin and Cout                       [1] */
    uint64_t reserved[2];
} fg_conv_transpose_options;
FG_API fg_tensor fg_conv_transpose1d(fg_tensor x, fg_tensor kernel,
                                     const fg_conv_transpose_options *options);
FG_API fg_tensor fg_conv_transpose2d(fg_tensor x, fg_tensor kernel,
                                     const fg_conv_transpose_options *options);
FG_API fg_tensor fg_conv_transpose3d(fg_tensor x, fg_tensor kernel,
                                     const fg_conv_transpose_options *options);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_conv1d(...)           FG_HERE(fg_conv1d(__VA_ARGS__))
#define fg_conv2d(...)           FG_HERE(fg_conv2d(__VA_ARGS__))
#define fg_conv3d(...)           FG_HERE(fg_conv3d(__VA_ARGS__))
#define fg_conv_transpose1d(...) FG_HERE(fg_conv_transpose1d(__VA_ARGS__))
#define fg_conv_transpose2d(...) FG_HERE(fg_conv_transpose2d(__VA_ARGS__))
#define fg_conv_transpose3d(...) FG_HERE(fg_conv_transpose3d(__VA_ARGS__))
#endif
#endif
