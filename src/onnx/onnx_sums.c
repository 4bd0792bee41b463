/* onnx_sums.c - matmuls, convolutions, reductions and pooling.
 *
 * Convolutions and pooling of any layout get transposes around ONNX's operators, which expect
 * [N, C, H, W]; ONNX Runtime cancels those that follow each other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "onnx/onnx_rule.h"

typedef fgi_onnx_graph graph;
typedef fgi_statement statement;
typedef fgi_onnx_rule rule;

/* ---- sums of products ------------------------------------------------------------------------ */

void fgi_onnx_dot_general(graph *g, const statement *s, const rule *unused)
{
    char left[FG_MAX_RANK + 1] = "", right[FG_MAX_RANK + 1] = "", out[FG_MAX_RANK + 1] = "";
    char equation[4 * FG_MAX_RANK], next = 'a';
    int64_t batch[2][FG_MAX_RANK], sum[2][FG_MAX_RANK];
    const int batches = fgi_statement_integers(s, "lhs_batching_dimensions", FG_MAX_RANK, batch[0]);
    const int sums = fgi_statement_integers(s, "lhs_contracting_dimensions", FG_MAX_RANK, sum[0]);
    const int rank[] = {s->in_type[0].rank, s->in_type[1].rank};
    const char *in[] = {fgi_onnx_in_whole(g, s, 0), fgi_onnx_in_whole(g, s, 1)};
    int count = 0;
    (void)fgi_statement_integers(s, "rhs_batching_dimensions", FG_MAX_RANK, batch[1]);
    (void)fgi_statement_integers(s, "rhs_contracting_dimensions", FG_MAX_RANK, sum[1]);
    if (batches == 0 && sums == 1 && rank[1] == 2 && sum[1][0] == 0 && sum[0][0] == rank[0] - 1) {
        fgi_onnx_set_result(g, s, fgi_onnx_put(g, "MatMul", 2, in));
        return;
    }
    for (int i = 0; i < batches; i++)
        left[batch[0][i]] = right[batch[1][i]] = out[count++] = next++;
    for (int i = 0; i < sums; i++)
        left[sum[0][i]] = right[sum[1][i]] = next++;
    for (int i = 0; i < rank[0]; i++)
        if (left[i] == '\0')
            left[i] = out[count++] = next++;
    for (int i = 0; i < rank[1]; i++)
        if (right[i] == '\0')
            right[i] = out[count++] = next++;
    (void)fgi_snprintf(equation, sizeof equation, "%s,%s->%s", left, right, out);
    fgi_onnx_node *node = fgi_onnx_add(g, "Einsum", 2, in);
    fgi_onnx_set_text(g, node, "equation", equation);
    fgi_onnx_set_result(g, s, fgi_onnx_result(node));
}

/* The place of each of the dimensions `wanted`, "bf01", in "[b, 0, 1, f]"; advances *at. */
static int read_order(const char **at, const char *wanted, int64_t *out)
{
    char letters[FG_MAX_RANK + 1] = "";
    int count = 0;
    for (*at += strcspn(*at, "[") + 1; **at != ']' && **at != '\0' && count < FG_MAX_RANK; ++*at)
        if (strchr(", ", **at) == NULL)
            letters[count++] = **at;
    for (int i = 0; i < count; i++) {
        const char *place = strchr(letters, wanted[i]);
        out[i] = place != NULL ? place - letters : 0;
    }
    return count;
}

typedef struct convolution {
    int rank;
    int64_t x[FG_MAX_RANK], kernel[FG_MAX_RANK], y[FG_MAX_RANK]; /* places of ONNX's dimensions */
    int64_t stride[FG_MAX_RANK], dilation[FG_MAX_RANK], gap[FG_MAX_RANK], pad[2 * FG_MAX_RANK];
    int64_t groups, batch_groups;
    bool is_transposed, is_reversed;
} convolution;

static convolution read_convolution(graph *g, const statement *s)
{
    convolution c = {.groups = 1,
                     .batch_groups = 1,
                     .is_reversed = fgi_statement_value(s, "window_reversal") != NULL};
    int64_t pairs[2 * FG_MAX_RANK] = {0};
    bool is_cut = false;
    const char *at = fgi_statement_value(s, "dimension_numbers");
    at = at != NULL ? at : "";
    c.rank = read_order(&at, "bf012345", c.x);
    (void)read_order(&at, "oi012345", c.kernel);
    (void)read_order(&at, "bf012345", c.y);
    (void)fgi_onnx_fixed_integers(g, s, "window_strides", FG_MAX_RANK, c.stride);
    (void)fgi_onnx_fixed_integers(g, s, "lhs_dilation", FG_MAX_RANK, c.gap);
    (void)fgi_onnx_fixed_integers(g, s, "rhs_dilation", FG_MAX_RANK, c.dilation);
    (void)fgi_onnx_fixed_integers(g, s, "padding", 2 * FG_MAX_RANK, pairs);
    (void)fgi_onnx_fixed_integers(g, s, "feature_group_count", 1, &c.groups);
    (void)fgi_onnx_fixed_integers(g, s, "batch_group_count", 1, &c.batch_groups);
    for (int i = 0; i < c.rank - 2; i++) {
        c.is_transposed |= c.gap[i] > 1;
        c.pad[i] = pairs[2 * i];
        c.pad[c.rank - 2 + i] = pairs[2 * i + 1];
        is_cut |= pairs[2 * i] < 0 || pairs[2 * i + 1] < 0;
    }
    if (is_cut || c.batch_groups != 1)
        fgi_onnx_refuse(g, s, " with these options");
    return c;
}

/* The input with zeros between its elements: padding is counted from the full result. Source: ONNX,
 * "ConvTranspose". */
static const char *conv_transpose(graph *g, const statement *s, const convolution *c,
                                  const char *const *in)
{
    const int spatial = c->rank - 2;
    int64_t order[FG_MAX_RANK] = {1, 0}, pads[2 * FG_MAX_RANK], more[FG_MAX_RANK];
    for (int i = 0; i < spatial; i++) {
        const int64_t reach = (s->in_type[1].dim[c->kernel[2 + i]] - 1) * c->dilation[i];
        const int64_t end = reach - c->pad[spatial + i];
        order[2 + i] = 2 + i;
        pads[i] = reach - c->pad[i];
        pads[spatial + i] = end > 0 ? end : 0;
        more[i] = end < 0 ? -end : 0;
        if (c->stride[i] != 1 || c->groups != 1 || pads[i] < 0 || more[i] >= c->gap[i])
            fgi_onnx_refuse(g, s, " with these options");
    }
    const char *kernel = fgi_onnx_transpose(g, in[1], c->rank, order);
    fgi_onnx_node *node = fgi_onnx_add(g, "ConvTranspose", 2, (const char *[]){in[0], kernel});
    fgi_onnx_set_integers(g, node, "strides", spatial, c->gap);
    fgi_onnx_set_integers(g, node, "dilations", spatial, c->dilation);
    fgi_onnx_set_integers(g, node, "pads", 2 * spatial, pads);
    fgi_onnx_set_integers(g, node, "output_padding", spatial, more);
    return fgi_onnx_result(node);
}

void fgi_onnx_convolve(graph *g, const statement *s, const rule *unused)
{
    const convolution c = read_convolution(g, s);
    const int spatial = c.rank - 2;
    int64_t back[FG_MAX_RANK] = {0}, axis[FG_MAX_RANK] = {2, 3, 4};
    if (g->status != FG_OK)
        return;
    const char *in[] = {fgi_onnx_transpose(g, fgi_onnx_in_whole(g, s, 0), c.rank, c.x),
                        fgi_onnx_transpose(g, fgi_onnx_in_whole(g, s, 1), c.rank, c.kernel)};
    if (c.is_reversed != c.is_transposed) /* ONNX's transposed one reverses the kernel */
        in[1] = fgi_onnx_reverse(g, in[1], spatial, axis);
    const char *y;
    if (c.is_transposed) {
        y = conv_transpose(g, s, &c, in);
    } else {
        fgi_onnx_node *node = fgi_onnx_add(g, "Conv", 2, in);
        fgi_onnx_set_integers(g, node, "strides", spatial, c.stride);
        fgi_onnx_set_integers(g, node, "dilations", spatial, c.dilation);
        fgi_onnx_set_integers(g, node, "pads", 2 * spatial, c.pad);
        fgi_onnx_set_integer(g, node, "group", c.groups);
        y = fgi_onnx_result(node);
    }
    for (int i = 0; i < c.rank; i++)
        back[c.y[i]] = i;
    fgi_onnx_set_result(g, s, fgi_onnx_transpose(g, y, c.rank, back));
}

/* ---- reductions ------------------------------------------------------------------------------ */

void fgi_onnx_reduce(graph *g, const statement *s, const rule *unused)
{
    static const char *const names[][2] = {{"add", "ReduceSum"},
                                           {"maximum", "ReduceMax"},
                                           {"minimum", "ReduceMin"},
                                           {"multiply", "ReduceProd"}};
    int64_t axis[FG_MAX_RANK];
    const int count = fgi_statement_integers(s, "dimensions", FG_MAX_RANK, axis);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(s->body, names[i][0]) == 0 && s->in_count == 2) {
            const char *in[] = {fgi_onnx_in_whole(g, s, 0), fgi_onnx_integers(g, count, axis)};
            fgi_onnx_node *node = fgi_onnx_add(g, names[i][1], 2, in);
            fgi_onnx_set_integer(g, node, "keepdims", 0);
            fgi_onnx_set_result(g, s, fgi_onnx_result(node));
            return;
        }
    fgi_onnx_refuse(g, s, "");
}

/* Max pooling, and sums of windows, of images [N, H, W, C]. */
void fgi_onnx_reduce_window(graph *g, const statement *s, const rule *unused)
{
    static const int64_t to[] = {0, 3, 1, 2}, from[] = {0, 2, 3, 1};
    int64_t size[FG_MAX_RANK] = {0}, stride[FG_MAX_RANK] = {1, 1, 1, 1}, pad[2 * FG_MAX_RANK] = {0},
            gap[FG_MAX_RANK] = {1, 1, 1, 1}, dilation[FG_MAX_RANK] = {1, 1, 1, 1};
    const int rank = fgi_onnx_fixed_integers(g, s, "window_dimensions", FG_MAX_RANK, size);
    const bool is_max = strcmp(s->body, "maximum") == 0, is_sum = strcmp(s->body, "add") == 0;
    (void)fgi_onnx_fixed_integers(g, s, "window_strides", FG_MAX_RANK, stride);
    (void)fgi_onnx_fixed_integers(g, s, "base_dilations", FG_MAX_RANK, gap);
    (void)fgi_onnx_fixed_integers(g, s, "window_dilations", FG_MAX_RANK, dilation);
    (void)fgi_onnx_fixed_integers(g, s, "padding", 2 * FG_MAX_RANK, pad);
    const bool is_simple = rank == 4 && size[0] == 1 && size[3] == 1 && stride[0] == 1 &&
                           stride[3] == 1 && gap[1] == 1 && gap[2] == 1 && dilation[1] == 1 &&
                           dilation[2] == 1 && pad[0] == 0 && pad[1] == 0 && pad[6] == 0 &&
                           pad[7] == 0;
    if (!is_simple || (!is_max && !is_sum) || !fg_dtype_is_float(s->type.dtype)) {
        fgi_onnx_refuse(g, s, "");
        return;
    }
    const char *x = fgi_onnx_transpose(g, fgi_onnx_in_whole(g, s, 0), 4, to);
    fgi_onnx_node *node = fgi_onnx_add(g, is_max ? "MaxPool" : "AveragePool", 1, &x);
    fgi_onnx_set_integers(g, node, "kernel_shape", 2, &size[1]);
    fgi_onnx_set_integers(g, node, "strides", 2, &stride[1]);
    fgi_onnx_set_integers(g, node, "pads", 4, (int64_t[]){pad[2], pad[4], pad[3], pad[5]});
    const char *y = fgi_onnx_result(node);
    if (is_sum) {
        double count;
        fgi_onnx_set_integer(g, node, "count_include_pad", 1);
        fgi_number_put(s->type.dtype, &count, 0, (double)(size[1] * size[2]));
        y = fgi_onnx_put(
            g, "Mul", 2,
            (const char *[]){y, fgi_onnx_constant(g, &(fg_type){.dtype = s->type.dtype}, &count)});
    }
    fgi_onnx_set_result(g, s, fgi_onnx_transpose(g, y, 4, from));
}
