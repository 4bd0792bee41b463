/* winograd.h - the transformations of Winograd's algorithm for a 3 x 3 kernel and 4 x 4 results,
 * F(4x4, 3x3), whose 6 x 6 products replace 9 x 16: of 16 channels at a time, in registers.
 *
 * Source: Lavin and Gray 2016, "Fast algorithms for convolutional neural networks", with the
 * points 0, 1, -1, 2, -2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_WINOGRAD_H
#define FGI_KERNEL_WINOGRAD_H

#include "kernel/vector.h"

enum { FGI_SEEN = 6, FGI_TAPS = 3, FGI_MADE = 4, FGI_POINTS = FGI_SEEN * FGI_SEEN };

/* In one dimension: `in` and `out` are numbers `step` apart. */
typedef enum fgi_line {
    FGI_LINE_IMAGE, /* 6 numbers of the image -> 6 */
    FGI_LINE_KERNEL,
    FGI_LINE_RESULT,
    FGI_LINE_DRESULT, /* 4 numbers of the result's gradient -> 6: the transpose of RESULT */
    FGI_LINE_DKERNEL, /* 6 sums -> 3 numbers of the kernel's gradient: the transpose of KERNEL */
} fgi_line;

INLINED void fgi_line_image(const fgi_wide *in, fgi_wide *out, int step)
{
    const fgi_wide d0 = in[0], d1 = in[step], d2 = in[2 * step], d3 = in[3 * step],
                   d4 = in[4 * step], d5 = in[5 * step];
    const fgi_wide a = d4 - 4 * d2, b = d3 - 4 * d1, c = d4 - d2, e = 2 * (d3 - d1);
    out[0] = 4 * d0 - 5 * d2 + d4;
    out[step] = a + b;
    out[2 * step] = a - b;
    out[3 * step] = c + e;
    out[4 * step] = c - e;
    out[5 * step] = 4 * d1 - 5 * d3 + d5;
}

INLINED void fgi_line_kernel(const fgi_wide *in, fgi_wide *out, int step)
{
    const fgi_wide g0 = in[0], g1 = in[step], g2 = in[2 * step];
    const fgi_wide near = (g0 + g2) * (1.f / 6), far = (g0 + 4 * g2) * (1.f / 24);
    out[0] = g0 * .25f;
    out[step] = -near - g1 * (1.f / 6);
    out[2 * step] = g1 * (1.f / 6) - near;
    out[3 * step] = far + g1 * (1.f / 12);
    out[4 * step] = far - g1 * (1.f / 12);
    out[5 * step] = g2;
}

INLINED void fgi_line_result(const fgi_wide *in, fgi_wide *out, int step)
{
    const fgi_wide m1 = in[step], m2 = in[2 * step], m3 = in[3 * step], m4 = in[4 * step];
    const fgi_wide p = m1 + m2, q = m1 - m2, u = m3 + m4, w = m3 - m4;
    out[0] = in[0] + p + u;
    out[step] = q + 2 * w;
    out[2 * step] = p + 4 * u;
    out[3 * step] = q + 8 * w + in[5 * step];
}

INLINED void fgi_line_dresult(const fgi_wide *in, fgi_wide *out, int step)
{
    const fgi_wide d0 = in[0], d1 = in[step], d2 = in[2 * step], d3 = in[3 * step];
    const fgi_wide e = d0 + d2, f = d1 + d3, g = d0 + 4 * d2, h = 2 * d1 + 8 * d3;
    out[0] = d0;
    out[step] = e + f;
    out[2 * step] = e - f;
    out[3 * step] = g + h;
    out[4 * step] = g - h;
    out[5 * step] = d3;
}

INLINED void fgi_line_dkernel(const fgi_wide *in, fgi_wide *out, int step)
{
    const fgi_wide m1 = in[step], m2 = in[2 * step], m3 = in[3 * step], m4 = in[4 * step];
    const fgi_wide near = (m1 + m2) * (1.f / 6), far = (m3 + m4) * (1.f / 24);
    out[0] = in[0] * .25f - near + far;
    out[step] = (m2 - m1) * (1.f / 6) + (m3 - m4) * (1.f / 12);
    out[2 * step] = in[5 * step] + 4 * far - near;
}

INLINED void fgi_transform_line(fgi_line line, const fgi_wide *in, fgi_wide *out, int step)
{
    switch (line) {
    case FGI_LINE_IMAGE: fgi_line_image(in, out, step); break;
    case FGI_LINE_KERNEL: fgi_line_kernel(in, out, step); break;
    case FGI_LINE_RESULT: fgi_line_result(in, out, step); break;
    case FGI_LINE_DRESULT: fgi_line_dresult(in, out, step); break;
    case FGI_LINE_DKERNEL: fgi_line_dkernel(in, out, step); break;
    }
}

/* Two dimensions: out[to x to] of in[from x from], in rows of FGI_SEEN. */
INLINED void fgi_transform(fgi_line line, int from, int to, const fgi_wide *in, fgi_wide *out)
{
    fgi_wide half[FGI_POINTS];
#pragma GCC unroll 6
    for (int i = 0; i < from; i++)
        fgi_transform_line(line, in + i, half + i, FGI_SEEN);
#pragma GCC unroll 6
    for (int i = 0; i < to; i++)
        fgi_transform_line(line, half + i * FGI_SEEN, out + i * FGI_SEEN, 1);
}

#endif
