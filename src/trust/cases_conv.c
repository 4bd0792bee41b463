/* cases_conv.c - convolutions with stride, padding, dilation and groups.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>

#include "trust/trust.h"

static fg_tensor conv(const fgi_case *c, const fg_tensor *in)
{
    return fg_conv2d(
        in[0], in[1],
        &(fg_conv2d_options){
            .stride = c->arg[0], .pad = c->arg[1], .dilation = c->arg[2], .groups = c->arg[3]});
}

/* Flags; x and kernel; then stride, padding, dilation, groups. */
#define CONV(words, more, n, h, w, channels, kh, kw, in, out, ...)                                 \
    {                                                                                              \
        .name = (words), .dim = {{n, h, w, channels}, {kh, kw, in, out}}, .flags = (more),         \
        .arg = {__VA_ARGS__}, .trace = conv, .compute = fgi_host_conv                              \
    }

const fgi_case fgi_cases_conv[] = {
    CONV("convolution, padded", FGI_CASE_BF16 | FGI_CASE_F64, 2, 8, 9, 8, 3, 3, 8, 16, 1, 1, 1, 1),
    CONV("convolution with stride 2", 0, 2, 11, 9, 3, 3, 3, 3, 8, 2, 1, 1, 1),
    CONV("convolution with dilation 2", 0, 2, 9, 9, 4, 3, 3, 4, 6, 1, 2, 2, 1),
    CONV("convolution of 1x1", FGI_CASE_NO_GRADIENT, 2, 7, 6, 16, 1, 1, 16, 12, 1, 0, 1, 1),
    CONV("convolution with 2 groups", 0, 2, 7, 8, 8, 3, 3, 4, 6, 1, 1, 1, 2),
    CONV("depthwise convolution", FGI_CASE_NO_GRADIENT, 2, 8, 7, 6, 3, 3, 1, 6, 1, 1, 1, 6),
    {0},
};
