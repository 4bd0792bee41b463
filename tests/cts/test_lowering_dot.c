/* test_lowering_dot.c - matmuls, attention, GELU and norms with a lowering for XLA's CPU backend
 * compute the same as their default form (lowering_check.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>

#include "kernel/kernel.h"
#include "lowering_check.h"
#include "nn/layer.h"
#include "op/composite.h"
#include "trace/lowering.h"

static void matmuls_in_16_bits(void **state)
{
    const lowering_problem row = {.name = "f16",
                                  .rule = "f32-matmul",
                                  .in = {{FG_F16, 2, {9, 20}}, {FG_F16, 2, {20, 7}}},
                                  .in_count = 2,
                                  .write = lowering_dot};
    (void)state;
    lowering_check(&row);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static size_t contraction(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_dot(in[0], in[1], &p->dot);
    return 1;
}

/* A linear layer: y, and the gradients of sum(y y). */
static size_t linear(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_relu(fg_matmul(in[0], in[1]));
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 3; i++)
        out[i] = fg_cast(out[i], FG_F32);
    return 3;
}

/* relu(r + (x w + b)), where another value reads r, and the gradients of its sum. layers: which of
 * these parts there are, bits. */
enum { BIAS = 1, RESIDUAL = 2, RELU = 4, PART_IS_READ = 8 };
static size_t sum(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor product = fg_matmul(in[0], in[1]), zero = fg_mul_scalar(product, 0);
    const fg_tensor r = fg_square(fg_matmul(in[0], fg_neg(in[1])));
    fg_tensor y = fg_matmul(in[0], fg_add_scalar(in[1], 1));
    if ((p->layers & PART_IS_READ) != 0)
        y = product;
    if ((p->layers & BIAS) != 0)
        y = fg_add(y, fg_stop_gradient(fg_sum(in[1], 1, (const int[]){0})));
    if ((p->layers & RESIDUAL) != 0)
        y = fg_add(r, y);
    out[0] = (p->layers & RELU) != 0 ? fg_relu(y) : y;
    out[1] = fg_add(r, zero);
    fg_grad(fg_sum(out[0], 0, NULL), in, 2, &out[2]);
    return 4;
}

#define DOT(label, which, a_axis, b_axis, ...)                                                     \
    {                                                                                              \
        .name = (label), .rule = (which), .in = {__VA_ARGS__}, .in_count = 2,                      \
        .write = contraction, .dot = {                                                             \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }
#define KERNEL(label, ...) DOT(label, "matmul-kernel", __VA_ARGS__)

/* Rows to which their rule applies, and rows to which it does not. */
static void check_rows(const lowering_problem *rows, size_t count, lowering_problem *same,
                       size_t same_count)
{
    for (size_t i = 0; i < count; i++)
        lowering_check(&rows[i]);
    for (size_t i = 0; i < same_count; i++) {
        same[i].is_same = true;
        lowering_check(&same[i]);
    }
}

static void matmuls_by_kernels(void **state)
{
    const lowering_problem rows[] = {
        KERNEL("a b", 1, 0, {FG_F32, 2, {13, 31}}, {FG_F32, 2, {31, 37}}),
        KERNEL("a b'", 1, 1, {FG_F32, 2, {11, 33}}, {FG_F32, 2, {20, 33}}),
        KERNEL("a' b", 0, 0, {FG_F32, 2, {31, 9}}, {FG_F32, 2, {31, 48}}),
        KERNEL("a' b'", 0, 1, {FG_F32, 2, {16, 16}}, {FG_F32, 2, {8, 16}}),
        KERNEL("few rows", 1, 0, {FG_F32, 2, {4, 512}}, {FG_F32, 2, {512, 4}}),
        KERNEL("several axes", 3, 1, {FG_F32, 4, {2, 3, 5, 256}}, {FG_F32, 2, {200, 256}}),
        KERNEL("several blocks", 1, 0, {FG_F32, 2, {390, 400}}, {FG_F32, 2, {400, 270}}),
        {.name = "a layer",
         .rule = "matmul-kernel",
         .in = {{FG_F32, 2, {32, 64}}, {FG_F32, 2, {64, 10}}},
         .in_count = 2,
         .write = linear},
        {.name = "a batch",
         .rule = "matmul-kernel",
         .in = {{FG_F32, 3, {3, 8, 16}}, {FG_F32, 3, {3, 16, 24}}},
         .in_count = 2,
         .write = linear},
    };
    lowering_problem same[] = {
        KERNEL("one row", 1, 0, {FG_F32, 2, {3, 16}}, {FG_F32, 2, {16, 64}}),
        KERNEL("one column", 1, 0, {FG_F32, 2, {16, 16}}, {FG_F32, 2, {16, 3}}),
        KERNEL("a vector", 0, 1, {FG_F32, 1, {256}}, {FG_F32, 2, {200, 256}}),
        KERNEL("nothing to add", 1, 0, {FG_F32, 2, {5, 0}}, {FG_F32, 2, {0, 6}}),
        KERNEL("f64", 1, 0, {FG_F64, 2, {16, 16}}, {FG_F64, 2, {16, 16}}),
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

#define SUM(label, parts, dtype)                                                                   \
    {                                                                                              \
        .name = (label), .rule = "matmul-sum", .in = {{dtype, 2, {13, 31}}, {dtype, 2, {31, 37}}}, \
        .in_count = 2, .write = sum, .layers = (parts)                                             \
    }

static void sums_that_begin_with_a_matmul(void **state)
{
    const lowering_problem rows[] = {
        SUM("bias", BIAS, FG_F32),
        SUM("residual", RESIDUAL, FG_F32),
        SUM("relu", RELU, FG_F32),
        SUM("bias, residual, relu", BIAS | RESIDUAL | RELU, FG_F32),
    };
    lowering_problem same[] = {
        SUM("nothing", 0, FG_F32),
        SUM("bias, whose matmul is also read", BIAS | PART_IS_READ, FG_F32),
        SUM("f64", BIAS | RELU, FG_F64),
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

/* a, with 1 as its largest absolute value. */
static fg_tensor scaled(fg_tensor a)
{
    a = fg_cast(a, FG_F32);
    return fg_div(a, fg_max(fg_abs(a), 0, NULL));
}

/* ---- attention ------------------------------------------------------------------------------- */

/* y, the gradients of sum(y y) by queries, keys and values, and those of the sum of their squares.
 * layers: it is causal. */
static size_t attention(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor of[] = {fg_sin(in[0]), fg_cos(in[1]), fg_sin(in[1])};
    const fg_attention_options o = {.causal = p->layers > 0};
    fg_tensor d[3], dd[3], sum;
    out[0] = fg_attention(of[0], of[1], of[2], &o);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), of, 3, d);
    sum = fg_sum(fg_square(d[0]), 0, NULL);
    for (int i = 1; i < 3; i++)
        sum = fg_add(sum, fg_sum(fg_square(d[i]), 0, NULL));
    fg_grad(sum, of, 3, dd);
    out[1] = d[0];
    out[2] = fg_stack((const fg_tensor[]){d[1], d[2], dd[1], dd[2]}, 4, 0);
    out[3] = dd[0];
    return 4;
}

/* The same of slices of one tensor [B, T, C], with the heads [H, K, D] of the second input: y, the
 * gradient by it, and that of the sum of its squares. */
static void attend_to_slices(fg_tensor x, const int64_t *heads, bool is_packed, fg_tensor *out)
{
    const int64_t batch = fg_tensor_dim(x, 0), length = fg_tensor_dim(x, 1);
    const int64_t width = heads[2];
    int64_t start[] = {0, 0, 0}, end[] = {batch, length, 0};
    fg_tensor part[3];
    for (int i = 0; i < 3; i++) {
        const int64_t count = heads[i > 0];
        start[2] = end[2];
        end[2] += count * width;
        part[i] = fg_reshape(fg_slice(x, start, end, NULL), FG_DIMS(batch, length, count, width));
    }
    out[0] = fg_cast(fgi_attention_of(is_packed ? x : (fg_tensor){0}, part[0], part[1], part[2],
                                      &(fg_attention_options){.causal = true}),
                     FG_F32);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), &x, 1, &out[1]);
    fg_grad(fg_sum(fg_square(fg_cast(out[1], FG_F32)), 0, NULL), &x, 1, &out[2]);
}

static size_t packed_attention(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    attend_to_slices(fg_sin(in[0]), fg_tensor_type(in[1])->dim, true, out);
    return 3;
}

/* How it differs from attention to separate tensors. */
static size_t packed_difference(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    fg_tensor separate[3];
    attend_to_slices(fg_sin(in[0]), fg_tensor_type(in[1])->dim, true, out);
    attend_to_slices(fg_sin(in[0]), fg_tensor_type(in[1])->dim, false, separate);
    for (int i = 0; i < 2; i++)
        out[i] = fg_cast(fg_sub(out[i], separate[i]), FG_F32);
    return 2;
}

#define PACKED(label, what, ...)                                                                   \
    {                                                                                              \
        .name = (label), .rule = "attention-kernel", .in = {__VA_ARGS__}, .in_count = 2,           \
        .write = what, .tolerance = 1e-5                                                           \
    }

#define ATTENTION(label, causal, ...)                                                              \
    {                                                                                              \
        .name = (label), .rule = "attention-kernel", .in = {__VA_ARGS__}, .in_count = 2,           \
        .write = attention, .layers = (causal), .tolerance = 1e-5                                  \
    }

/* y and the gradients by queries, keys and values of the sum of its product with the queries, in
 * bf16; on some processors, by matrix tiles. */
static size_t attention_in_tiles(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor of[] = {fg_sin(in[0]), fg_cos(in[1]), fg_sin(in[1])};
    const fg_tensor y =
        fg_attention(of[0], of[1], of[2], &(fg_attention_options){.causal = p->layers > 0});
    fg_tensor d[3];
    fg_grad(fg_sum(fg_cast(fg_mul(y, fg_cos(in[0])), FG_F32), 0, NULL), of, 3, d);
    out[0] = scaled(y);
    for (int i = 0; i < 3; i++)
        out[1 + i] = scaled(d[i]);
    return 4;
}

#define IN_TILES(label, causal, ...)                                                               \
    {                                                                                              \
        .name = (label), .rule = "attention-kernel", .in = {__VA_ARGS__}, .in_count = 2,           \
        .write = attention_in_tiles, .layers = (causal), .tolerance = 2e-2                         \
    }

static void attention_by_kernels(void **state)
{
    const lowering_problem rows[] = {
        ATTENTION("causal", 1, {FG_F32, 4, {2, 50, 4, 24}}, {FG_F32, 4, {2, 50, 4, 24}}),
        ATTENTION("of all", 0, {FG_F32, 4, {3, 33, 2, 64}}, {FG_F32, 4, {3, 33, 2, 64}}),
        ATTENTION("groups", 1, {FG_F32, 4, {1, 100, 6, 16}}, {FG_F32, 4, {1, 100, 2, 16}}),
        ATTENTION("last queries", 1, {FG_F32, 4, {2, 20, 2, 32}}, {FG_F32, 4, {2, 130, 1, 32}}),
        PACKED("packed", packed_attention, {FG_F32, 3, {2, 50, 288}}, {FG_F32, 3, {4, 4, 24}}),
        PACKED("packed groups", packed_attention, {FG_F32, 3, {1, 99, 160}},
               {FG_F32, 3, {6, 2, 16}}),
        PACKED("packed bf16", packed_difference, {FG_BF16, 3, {2, 70, 200}},
               {FG_F32, 3, {6, 2, 20}}),
        PACKED("packed, by tiles", packed_difference, {FG_BF16, 3, {2, 200, 320}},
               {FG_F32, 3, {6, 2, 32}}),
        IN_TILES("tiles", 0, {FG_BF16, 4, {2, 70, 2, 64}}, {FG_BF16, 4, {2, 70, 2, 64}}),
        IN_TILES("groups, by tiles", 1, {FG_BF16, 4, {1, 150, 4, 32}},
                 {FG_BF16, 4, {1, 150, 2, 32}}),
        IN_TILES("last queries, by tiles", 1, {FG_BF16, 4, {1, 33, 2, 96}},
                 {FG_BF16, 4, {1, 170, 2, 96}}),
    };
    lowering_problem same[] = {
        ATTENTION("small", 1, {FG_F32, 4, {1, 16, 2, 16}}, {FG_F32, 4, {1, 16, 2, 16}}),
        ATTENTION("f64", 1, {FG_F64, 4, {2, 50, 4, 24}}, {FG_F64, 4, {2, 50, 4, 24}}),
    };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        same[i].tolerance = 0;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

/* ---- GELU ------------------------------------------------------------------------------------ */

/* y, dx of sum(y y), and the gradient of sum(dx dx). layers: by tanh. */
static size_t gelu(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor x = fg_mul(in[0], fg_cos(in[1]));
    out[0] = p->layers > 0 ? fg_gelu_tanh(x) : fg_gelu(x);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), &x, 1, &out[1]);
    fg_grad(fg_sum(fg_square(out[1]), 0, NULL), &x, 1, &out[2]);
    return 3;
}

#define GELU(label, tanh, ...)                                                                     \
    {                                                                                              \
        .name = (label), .rule = "gelu-kernel", .in = {__VA_ARGS__, __VA_ARGS__}, .in_count = 2,   \
        .write = gelu, .layers = (tanh), .tolerance = 1e-6                                         \
    }

static void gelu_by_kernels(void **state)
{
    const lowering_problem rows[] = {GELU("gelu", 0, {FG_F32, 2, {129, 257}}),
                                     GELU("gelu_tanh", 1, {FG_F32, 2, {129, 257}})};
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], NULL, 0);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The gradient of a bias in bf16, and that of its square. */
static size_t add_up(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const int axes[] = {0, 1};
    const int count = fg_tensor_type(in[0])->rank - 1;
    (void)p;
    out[0] = fg_sum(fg_cast(fg_neg(in[0]), FG_F32), count, axes);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 1, &out[1]);
    return 2;
}

#define ADD_UP(label, ...)                                                                         \
    {                                                                                              \
        .name = (label), .rule = "sum-kernel", .in = {__VA_ARGS__}, .in_count = 1,                 \
        .write = add_up, .tolerance = 1e-5                                                         \
    }

static void sums_by_kernels(void **state)
{
    const lowering_problem rows[] = {ADD_UP("sum", {FG_BF16, 3, {8, 160, 33}}),
                                     ADD_UP("sum of rows", {FG_BF16, 2, {1280, 64}})};
    lowering_problem same[] = {ADD_UP("sum in f32", {FG_F32, 2, {1280, 64}})};
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

/* ---- layer norm ------------------------------------------------------------------------------ */

/* Numbers with the shape of a, in its dtype. */
static fg_tensor numbers(fg_tensor a)
{
    const fg_type *type = fg_tensor_type(a);
    const fg_tensor place =
        fg_iota(fg_tensor_trace(a), FG_F32, type->rank - 1, type->rank, type->dim);
    return fg_cast(fg_add(fg_cast(a, FG_F32), fg_sin(place)), type->dtype);
}

/* Layer norm or, with `axes`, RMS norm of [..., C] with the first `layers` of weight and bias: y,
 * dx of sum(y y y), and with them the other gradients and those of the sum of all squares. */
static size_t norm(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor weight = fg_cos(in[1]), bias = fg_sin(in[1]), x = numbers(in[0]);
    const fg_tensor eps = fg_full(fg_tensor_trace(x), FG_F32, 1e-5, FG_SCALAR);
    const fg_tensor wrt[] = {x, weight, bias};
    fg_tensor d[3], dd[3], sum;
    fgi_compose(p->axes > 0 ? &fgi_rms_norm_op : &fgi_layer_norm_op,
                (const fg_tensor[]){x, eps, weight, bias}, FGI_NORM_WEIGHT + p->layers, &out[0]);
    fg_grad(fg_sum(fg_mul(out[0], fg_square(out[0])), 0, NULL), wrt, 3, d);
    sum = fg_sum(fg_square(scaled(d[0])), 0, NULL);
    for (int i = 1; i <= p->layers; i++)
        sum = fg_add(sum, fg_sum(fg_square(scaled(d[i])), 0, NULL));
    fg_grad(sum, wrt, 3, dd);
    out[0] = scaled(out[0]);
    out[1] = scaled(d[0]);
    out[2] = scaled(p->layers > 1 ? fg_stack((const fg_tensor[]){d[1], d[2]}, 2, 0) : d[1]);
    out[3] = scaled(dd[p->in[0].rank == 2 ? 0 : 1]);
    return p->layers == 0 ? 2 : p->in[0].dtype == FG_BF16 ? 3 : 4;
}

#define NORM(label, rms, parameters, close, ...)                                                   \
    {                                                                                              \
        .name = (label), .rule = "norm-kernel", .in = {__VA_ARGS__}, .in_count = 2, .write = norm, \
        .axes = (rms), .layers = (parameters), .tolerance = (close)                                \
    }

static void norms_by_kernels(void **state)
{
    const lowering_problem rows[] = {
        NORM("layer norm", 0, 2, 1e-5, {FG_F32, 2, {401, 37}}, {FG_F32, 1, {37}}),
        NORM("its weight", 0, 2, 1e-5, {FG_F32, 3, {3, 29, 96}}, {FG_F32, 1, {96}}),
        NORM("one row", 0, 1, 1e-5, {FG_F32, 2, {1, 8200}}, {FG_F32, 1, {8200}}),
        NORM("no weight", 0, 0, 1e-5, {FG_F32, 2, {130, 64}}, {FG_F32, 1, {64}}),
        NORM("RMS norm", 1, 1, 1e-5, {FG_F32, 2, {129, 67}}, {FG_F32, 1, {67}}),
        NORM("bf16", 0, 2, 1e-2, {FG_BF16, 2, {150, 99}}, {FG_F32, 1, {99}}),
    };
    lowering_problem same[] = {
        NORM("few numbers", 0, 2, 1e-12, {FG_F32, 2, {8, 48}}, {FG_F32, 1, {48}}),
        NORM("norm of f64", 0, 2, 1e-12, {FG_F64, 2, {128, 65}}, {FG_F32, 1, {65}}),
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

enum { WITH_RELU = 1, WITH_SUM = 2, WIDENED = 4, PADDING = 8 };

/* The first `valid` rows count. */
static void set_mask(fg_trace *trace, int64_t rows, double valid)
{
    const fg_tensor count = fg_full(trace, FG_F32, valid, FG_SCALAR);
    const fg_tensor row = fg_cast(fg_iota(trace, FG_S32, 0, FG_DIMS(rows)), FG_F32);
    fgi_trace_set_mask(trace, fg_cast(fg_lt(row, fg_broadcast_to(count, FG_DIMS(rows))), FG_F32),
                       &count);
}

static fg_tensor batch_norm(fg_tensor x, fg_tensor weight, fg_tensor bias)
{
    static const int axes[] = {0, 1, 2, 3};
    const fg_tensor wide = fg_cast(x, FG_F32);
    const fg_tensor n = fgi_count_valid(x, fg_tensor_type(x)->rank - 1, axes, FG_F32);
    fg_tensor mean, var;
    fgi_mean_variance(wide, fgi_full_like(weight, 0), n, &mean, &var);
    return fgi_normalize_batch(
        (const fg_tensor[]){x, weight, bias, mean, fg_rsqrt(fg_add_scalar(var, 1e-5)), n});
}

/* y, the gradients of sum(y y) by x, weight and what is added, and that of the sum of the squares
 * of the first two by x. layers: what is done. The normalization before relu is read elsewhere
 * too, once added to something, once alone. */
static size_t batch_norm_with(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const int64_t rows = p->in[0].dim[0], channels = fg_tensor_dim(in[0], -1);
    const bool has_padding = (p->layers & PADDING) != 0;
    if (has_padding)
        set_mask(fg_tensor_trace(in[0]), rows, (double)(rows - 3));
    const fg_tensor given = fgi_batch_first(fg_mul(in[0], fg_cos(in[1])));
    const fg_tensor other = fgi_batch_first(fg_sin(in[1]));
    const fg_tensor x = (p->layers & WIDENED) != 0 ? fg_cast(given, FG_F32) : given;
    const fg_tensor row = fg_iota(fg_tensor_trace(x), FG_F32, 0, FG_DIMS(channels));
    const fg_tensor weight = fg_cos(row), bias = fg_sin(row);
    const fg_tensor y = batch_norm(x, weight, bias),
                    same = fg_cast(other, fg_tensor_type(y)->dtype);
    const fg_tensor before = (p->layers & WITH_SUM) != 0 ? fg_add(same, y) : y;
    const fg_tensor after = (p->layers & WITH_RELU) != 0 ? fg_relu(before) : before;
    const fg_tensor loss =
        fg_mean(fg_cast(fg_add(fg_square(after), fg_mul(y, same)), FG_F32), 0, NULL);
    const fg_tensor by[] = {given, weight, other};
    fg_tensor d[3];
    fg_grad(loss, by, 3, d);
    out[0] = fg_cast(has_padding ? fg_mean(after, 0, NULL) : after, FG_F32);
    out[1] = fg_cast(d[0], FG_F32);
    out[2] = d[1];
    fg_grad(
        fg_add(fg_sum(fg_square(fg_cast(d[0], FG_F32)), 0, NULL), fg_sum(fg_square(d[1]), 0, NULL)),
        by, 1, d);
    out[3] = fg_cast(d[0], FG_F32);
    return 4;
}

#define BATCH_NORM(label, flags, most, ...)                                                        \
    {                                                                                              \
        .name = (label), .rule = "batch-norm-kernel", .in = {__VA_ARGS__, __VA_ARGS__},            \
        .in_count = 2, .write = batch_norm_with, .layers = (flags), .tolerance = (most)            \
    }

static void batch_norm_by_kernels(void **state)
{
    const lowering_problem rows[] = {
        BATCH_NORM("alone", 0, 1e-5, {FG_F32, 4, {4, 13, 19, 35}}),
        BATCH_NORM("with relu", WITH_RELU, 1e-5, {FG_F32, 4, {8, 16, 16, 64}}),
        BATCH_NORM("with sum and relu", WITH_RELU | WITH_SUM, 1e-5, {FG_F32, 2, {700, 50}}),
        BATCH_NORM("with sum", WITH_SUM, 1e-5, {FG_F32, 2, {700, 50}}),
        BATCH_NORM("bf16", WITH_RELU, 1e-2, {FG_BF16, 2, {1000, 40}}),
        BATCH_NORM("widened", WITH_RELU | WIDENED, 1e-2, {FG_BF16, 2, {1000, 40}}),
        BATCH_NORM("padding", WITH_RELU | PADDING, 1e-5, {FG_F32, 3, {10, 100, 33}}),
    };
    lowering_problem same[] = {
        BATCH_NORM("few channels", WITH_RELU, 0, {FG_F32, 2, {4000, 15}}),
        BATCH_NORM("few numbers", WITH_RELU, 0, {FG_F32, 2, {100, 16}}),
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof rows[0], same, sizeof same / sizeof same[0]);
}

/* ---- several devices ------------------------------------------------------------------------- */

/* One matmul with all terms, layer norm, GELU and the gradients of a sum of their results. */
static size_t block(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor x = fg_sin(in[0]), weight = fg_cos(in[1]);
    const fg_tensor bias =
        fg_reshape(fg_max(weight, 1, (const int[]){0}), FG_DIMS(p->in[1].dim[1]));
    const fg_tensor eps = fg_full(fg_tensor_trace(x), FG_F32, 1e-5, FG_SCALAR);
    const fg_tensor wrt[] = {x, weight};
    fg_tensor y, d[2];
    fgi_compose(&fgi_layer_norm_op, (const fg_tensor[]){x, eps, bias, bias}, FGI_NORM_WEIGHT + 2,
                &y);
    y = fg_add(fg_add(fg_matmul(y, weight), bias), x);
    y = fg_gelu(y);
    fg_grad(fg_sum(fg_square(y), 0, NULL), wrt, 2, d);
    out[0] = y;
    out[1] = d[0];
    out[2] = d[1];
    return 3;
}

/* The devices call the kernels with their rows. */
static void kernels_on_two_devices(void **state)
{
    static const struct {
        lowering_problem problem;
        const char *kernels[4];
    } rows[] = {
        {ATTENTION("causal", 1, {FG_F32, 4, {2, 50, 4, 24}}, {FG_F32, 4, {2, 50, 4, 24}}),
         {FGI_KERNEL_ATTENTION, FGI_KERNEL_ATTENTION_DX}},
        {PACKED("packed", packed_attention, {FG_F32, 3, {2, 50, 288}}, {FG_F32, 3, {4, 4, 24}}),
         {FGI_KERNEL_ATTENTION_PACKED, FGI_KERNEL_ATTENTION_PACKED_DX}},
        {ADD_UP("sum", {FG_BF16, 3, {8, 160, 33}}), {FGI_KERNEL_COLUMN_SUMS}},
        {BATCH_NORM("with relu", WITH_RELU, 1e-5, {FG_F32, 4, {8, 16, 16, 64}}),
         {FGI_KERNEL_BATCH_STATISTICS, FGI_KERNEL_BATCH_NORM_RELU, FGI_KERNEL_BATCH_NORM_RELU_SUMS,
          FGI_KERNEL_BATCH_NORM_RELU_DX}},
        {BATCH_NORM("padding", WITH_RELU | PADDING, 1e-5, {FG_F32, 3, {10, 100, 33}}),
         {FGI_KERNEL_BATCH_NORM}},
        {BATCH_NORM("sum and padding in bf16", WITH_SUM | PADDING, 1e-2, {FG_BF16, 2, {2000, 40}}),
         {FGI_KERNEL_BATCH_NORM_SUMS, FGI_KERNEL_BATCH_NORM_DX}},
        /* enough multiplications for oneDNN on one device, too few on each of two */
        {{.name = "columns that tiles do not fit",
          .in = {{FG_BF16, 2, {64, 64}}, {FG_BF16, 2, {64, 1000}}},
          .in_count = 2,
          .write = linear,
          .tolerance = 1e-2},
         {NULL}},
        {{.name = "block",
          .in = {{FG_F32, 2, {400, 128}}, {FG_F32, 2, {128, 128}}},
          .in_count = 2,
          .write = block,
          .tolerance = 1e-5},
         {FGI_KERNEL_MATMUL, FGI_KERNEL_LAYER_NORM, FGI_KERNEL_LAYER_NORM_DX, FGI_KERNEL_GELU}},
    };
    fg_error err = {0};
    fg_client *two = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 2, .cache_dir = fgt_cache("")},
        &two, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const lowering_problem *p = &rows[i].problem;
        char *text;
        size_t size;
        lowering_compare(p, &(lowering_form){two, NULL}, &(lowering_form){lowering_client, NULL});
        free(lowering_run(p, &(lowering_form){two, NULL}, &size, &text));
        for (int k = 0; k < 4 && rows[i].kernels[k] != NULL; k++)
            if (strstr(text, rows[i].kernels[k]) == NULL)
                fail_msg("%s: %s is not called", p->name, rows[i].kernels[k]);
        fg_free(text);
    }
    fg_client_close(two);
}

/* ---- selection of lowerings ------------------------------------------------------------------ */

static void forms_are_as_they_were(void **state)
{
    (void)state;
    lowering_check_forms("text/lowering_dot.txt");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(matmuls_in_16_bits),
    cmocka_unit_test(matmuls_by_kernels),
    cmocka_unit_test(sums_that_begin_with_a_matmul),
    cmocka_unit_test(attention_by_kernels),
    cmocka_unit_test(gelu_by_kernels),
    cmocka_unit_test(sums_by_kernels),
    cmocka_unit_test(norms_by_kernels),
    cmocka_unit_test(batch_norm_by_kernels),
    cmocka_unit_test(kernels_on_two_devices),
    cmocka_unit_test(forms_are_as_they_were),
};

int main(void) { return cmocka_run_group_tests(tests, lowering_open, lowering_close) == 0 ? 0 : 1; }
