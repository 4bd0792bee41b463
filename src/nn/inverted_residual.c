/* inverted_residual.c - inverted residual blocks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/inverted_residual.h"

#include <math.h>

enum { WIDEN, FILTER, NARROW };

/* Source: He et al. 2015, "Delving deep into rectifiers", section 2.2, backward case. */
fg_conv *fgi_plain_conv(fg_module *parent, const char *name, fg_conv_options o)
{
    const int64_t groups = o.groups > 0 ? o.groups : 1;
    const double fan_out = (double)(o.kernel * o.kernel * o.out) / (double)groups;
    o.pad = o.kernel / 2;
    o.no_bias = true;
    o.init = (fg_init){FG_INIT_NORMAL, sqrt(2 / fan_out)};
    return fg_conv_create(parent, name, &o);
}

fg_batch_norm *fgi_plain_norm(fg_module *parent, const char *name, int64_t channels)
{
    return fg_batch_norm_create(parent, name, &(fg_batch_norm_options){.channels = channels});
}

int64_t fgi_round_channels(double channels)
{
    const int64_t near = (int64_t)(channels + 4) / 8 * 8, rounded = near > 8 ? near : 8;
    return (double)rounded < 0.9 * channels ? rounded + 8 : rounded;
}

fgi_inverted fgi_inverted_create(fg_module *parent, const char *name, const fgi_inverted_spec *spec,
                                 double drop_path)
{
    static const char *const names[2][3] = {{"conv_pw", "conv_dw", "conv_pwl"},
                                            {NULL, "conv_dw", "conv_pw"}};
    static const char *const norms[2][3] = {{"bn1", "bn2", "bn3"}, {NULL, "bn1", "bn2"}};
    const int64_t wide = spec->expanded;
    const fg_conv_options conv[] = {
        {.in = spec->in, .out = wide, .kernel = 1},
        {.in = wide, .out = wide, .kernel = spec->kernel, .stride = spec->stride, .groups = wide},
        {.in = wide, .out = spec->out, .kernel = 1}};
    fgi_inverted b = {.spec = *spec, .drop_path = drop_path};
    b.module = fg_module_child(parent, name);
    for (int i = spec->is_separable ? FILTER : WIDEN; i <= NARROW; i++) {
        b.conv[i] = fgi_plain_conv(b.module, names[spec->is_separable][i], conv[i]);
        b.norm[i] = fgi_plain_norm(b.module, norms[spec->is_separable][i], conv[i].out);
    }
    if (spec->squeezed > 0) {
        b.reduce =
            fg_conv_create(b.module, "se.conv_reduce",
                           &(fg_conv_options){.in = wide, .out = spec->squeezed, .kernel = 1});
        b.expand =
            fg_conv_create(b.module, "se.conv_expand",
                           &(fg_conv_options){.in = spec->squeezed, .out = wide, .kernel = 1});
    }
    if (b.module != NULL)
        fg_module_describe(b.module, "inverted_residual", NULL);
    return b;
}

static fg_tensor squeeze(const fgi_inverted *b, fg_tensor x)
{
    if (b->reduce == NULL)
        return x;
    fg_tensor y = fg_reshape(fg_global_avg_pool(x), FG_DIMS(-1, 1, 1, b->spec.expanded));
    y = b->spec.squeeze_activation(fg_conv_apply(b->reduce, y));
    return fg_mul(x, b->spec.gate(fg_conv_apply(b->expand, y)));
}

fg_tensor fgi_inverted_apply(const fgi_inverted *b, fg_tensor x)
{
    fg_tensor y = x;
    for (int i = WIDEN; i <= NARROW; i++) {
        if (b->conv[i] == NULL)
            continue;
        y = i == NARROW ? squeeze(b, y) : y;
        y = fg_batch_norm_apply(b->norm[i], fg_conv_apply(b->conv[i], y));
        y = i < NARROW ? b->spec.activation(y) : y;
    }
    if (b->spec.stride == 1 && b->spec.in == b->spec.out)
        y = fg_add(x, fg_drop_path(y, b->drop_path));
    fg_module_note_output(b->module, y);
    return y;
}
