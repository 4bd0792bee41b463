/* inverted_residual.h - networks of inverted residual blocks, which EfficientNet and MobileNetV3
 * share.
 *
 * A block widens its input (1x1 convolution), filters each channel (depthwise), weights the
 * channels by their means (squeeze and excitation), and narrows them (1x1). Each convolution is
 * followed by batch norm and, except the last one, by the activation. Sources: Sandler et al. 2018,
 * "MobileNetV2"; Hu et al. 2018, "Squeeze-and-excitation networks"; timm's names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_NN_INVERTED_RESIDUAL_H
#define FGI_NN_INVERTED_RESIDUAL_H

#include "nn/model.h"

typedef fg_tensor fgi_activation_fn(fg_tensor x);

typedef struct fgi_inverted_spec {
    int64_t kernel, stride, in, out;
    int64_t expanded; /* channels of the depthwise convolution; equal to in: no widening */
    int64_t squeezed; /* channels between squeeze and excitation; 0: none */
    fgi_activation_fn *activation, *squeeze_activation, *gate;
    bool is_separable; /* names of a block that never widens */
} fgi_inverted_spec;

typedef struct fgi_inverted {
    fgi_inverted_spec spec;
    fg_module *module;
    fg_conv *conv[3], *reduce, *expand; /* widen, filter, narrow; the first may be NULL */
    fg_batch_norm *norm[3];
    double drop_path;
} fgi_inverted;

fgi_inverted fgi_inverted_create(fg_module *parent, const char *name, const fgi_inverted_spec *spec,
                                 double drop_path);
fg_tensor fgi_inverted_apply(const fgi_inverted *block, fg_tensor x);

/* A convolution without bias, padded to keep the size, initialized by fan-out. */
fg_conv *fgi_plain_conv(fg_module *parent, const char *name, fg_conv_options o);
fg_batch_norm *fgi_plain_norm(fg_module *parent, const char *name, int64_t channels);
/* Channels that are a multiple of 8 and at least 0.9 of the given number. Source: MobileNetV3's
 * code.
 */
int64_t fgi_round_channels(double channels);

#endif
