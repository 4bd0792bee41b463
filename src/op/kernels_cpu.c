/* kernels_cpu.c - lowerings that call the kernels (src/kernel), where these are faster than XLA's
 * CPU backend, which packs the operands of each matmul, computes a full sum on one thread, element
 * by element, and updates a parameter and its moments in three separate loops. The limits are those
 * of bench/kernel_bench.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/dot.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Above these numbers of multiplications and elements, oneDNN and the threads of the backend are
 * faster; with fewer rows or columns, the backend's multiplication of a matrix by a vector. */
enum {
    LEAST_MULTIPLICATIONS = 1 << 20, /* of oneDNN */
    MOST_ELEMENTS = 1 << 17,
    LEAST_ROWS = 4
};

/* Of one device: operands would be gathered from several. */
static bool has_kernels(const fg_client *client)
{
    return fgi_client_has_kernels(client) && fg_client_info_of(client)->device_count == 1;
}

/* ---- matmuls --------------------------------------------------------------------------------- */

/* An operand as [batch, rows, columns], one of which is contracted. */
typedef struct view {
    bool is_transposed; /* the contracted axes are first in a, or last in b */
    int64_t batch, free, inner;
} view;

/* False if its axes are in another order. */
static bool view_of(const fgi_dot_attr *attr, int side, const fg_type *type, view *out)
{
    const int batch = (int)attr->batch_count, count = (int)attr->contract_count;
    const int first = count > 0 ? (int)attr->contract[side][0] : 0;
    *out = (view){.is_transposed = (first == batch) == (side == 0), .batch = 1, .inner = 1};
    if (count == 0 || (first != batch && first + count != type->rank))
        return false;
    if (type->rank == batch + count) /* no free axes */
        return false;
    for (int i = 0; i < batch; i++) {
        out->batch *= type->dim[i];
        if (attr->batch[side][i] != i)
            return false;
    }
    for (int i = 0; i < count; i++) {
        out->inner *= type->dim[first + i];
        if (attr->contract[side][i] != first + i)
            return false;
    }
    const int64_t each = out->batch * out->inner;
    out->free = each > 0 ? fg_type_count(type) / each : 0;
    return true;
}

/* Which operands consist of each device's rows; whether the result is the sum over the devices. */
static bool shares_of(const fgi_emit *e, const view *a, const view *b, bool has_rows[2],
                      bool *is_sum)
{
    const fgi_dot_attr *attr = e->node->attr;
    const int64_t rows = e->node->in[0]->type.dim[0];
    *is_sum = attr->batch_count == 0 && a->is_transposed && !b->is_transposed;
    has_rows[0] = true;
    has_rows[1] = attr->batch_count > 0 || *is_sum;
    return fgi_emit_has_shards(e, rows) &&
           (e->batch_shards == 1 || attr->batch_count > 0 || *is_sum || !a->is_transposed);
}

/* The kernel that is faster than the backend's, or NULL. Its matmul of bf16 is as fast as the
 * processor, unless a is transposed: the gradient of a weight. */
static const char *kernel_of(const fgi_emit *e, const view *a, const view *b)
{
    const bool is_half = e->node->in[0]->type.dtype == FG_BF16;
    const fgi_kernel_halves half = fgi_kernel_half();
    const double each = (double)a->batch * (double)a->free * (double)a->inner * (double)b->free;
    const bool is_fast = half == FGI_KERNEL_HALF_TWICE || half == FGI_KERNEL_HALF_TILES;
    if (is_half && is_fast && (half == FGI_KERNEL_HALF_TILES || a->is_transposed) &&
        fgi_client_has_dnnl(e->client) && each >= LEAST_MULTIPLICATIONS * (double)e->batch_shards)
        return FGI_KERNEL_MATMUL_DNNL;
    return is_half && is_fast && !a->is_transposed ? NULL : FGI_KERNEL_MATMUL;
}

static bool is_matmul(const fgi_emit *e)
{
    const fgi_dot_attr *attr = e->node->attr;
    const fg_type *x = &e->node->in[0]->type, *k = &e->node->in[1]->type;
    bool has_rows[2], is_sum;
    view a, b;
    if (!view_of(attr, 0, x, &a) || !view_of(attr, 1, k, &b) || x->dtype != k->dtype ||
        (x->dtype != FG_F32 && x->dtype != FG_BF16))
        return false;
    const double each = (double)a.batch * (double)a.free * (double)a.inner * (double)b.free;
    return (has_kernels(e->client) || each >= LEAST_MULTIPLICATIONS * (double)e->batch_shards) &&
           fgi_client_has_kernels(e->client) && shares_of(e, &a, &b, has_rows, &is_sum) &&
           a.free >= LEAST_ROWS && b.free >= LEAST_ROWS && kernel_of(e, &a, &b) != NULL;
}

/* A device's product. */
static fgi_value call_dot(fgi_emit *e, const fgi_value *in, const fg_type *result)
{
    const fgi_dot_attr *attr = e->node->attr;
    view a, b;
    fgi_buf text = {0};
    (void)view_of(attr, 0, &in[0].type, &a);
    (void)view_of(attr, 1, &in[1].type, &b);
    const int64_t flops = 2 * a.batch * a.free * a.inner * b.free;
    const int64_t numbers[] = {flops,  a.batch,         a.free,         a.inner,
                               b.free, a.is_transposed, b.is_transposed};
    fgi_buf_printf(
        &text,
        "call_target_name = \"%s\", api_version = 4 : i32, backend_config = {%s = %" PRId64
        " : i64, %s = ",
        kernel_of(e, &a, &b), FGI_KERNEL_CALL, fgi_emit_call(e), FGI_KERNEL_NUMBERS);
    fgi_mlir_array(&text, sizeof numbers / sizeof numbers[0], numbers);
    fgi_buf_putc(&text, '}');
    return fgi_build_text(&e->b, result, "custom_call", &text, 2, in);
}

static void emit_matmul(fgi_emit *e)
{
    const fgi_value in[] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    bool has_rows[2], is_sum;
    view a, b;
    (void)view_of(e->node->attr, 0, &in[0].type, &a);
    (void)view_of(e->node->attr, 1, &in[1].type, &b);
    (void)shares_of(e, &a, &b, has_rows, &is_sum);
    const fgi_shard_call call = {2, in, has_rows, e->node->type, is_sum};
    fgi_emit_become(e, fgi_emit_each_shard(e, &call, call_dot));
}

#define MATMUL                                                                                     \
    .platform = FGI_CPU, .rule = "matmul-kernel", .applies = is_matmul, .emit = emit_matmul
const fgi_lowering fgi_dot_kernel_cpu = {.op = &fgi_dot, MATMUL};
const fgi_lowering fgi_matmul_kernel_cpu = {.op = &fgi_matmul, MATMUL};

/* ---- optimizers ------------------------------------------------------------------------------ */

static const fg_type number = {.dtype = FG_F32};

/* Whether a kernel takes these tensors. */
static bool are_small(const fg_tensor *in, int count)
{
    double elements = 0;
    for (int i = 0; i < count; i++) {
        if (fg_tensor_type(in[i])->dtype != FG_F32)
            return false;
        elements += (double)fg_type_count(fg_tensor_type(in[i]));
    }
    return elements <= MOST_ELEMENTS && has_kernels(fg_tensor_trace(in[0])->client);
}

static void call_nonfinite(const fg_tensor *in, int count, fg_tensor *out)
{
    fg_custom_call(
        &(fg_custom_call_options){.name = FGI_KERNEL_NONFINITE, .types = &number, .count = 1}, in,
        count, out);
}

const fgi_lowering fgi_nonfinite_small_cpu = {.op = &fgi_nonfinite_op,
                                              .platform = FGI_CPU,
                                              .rule = "nonfinite-kernel",
                                              .composes = are_small,
                                              .compose = call_nonfinite};

static fg_tensor number_or(fg_tensor given, fg_tensor like, double otherwise)
{
    return given.handle != 0 ? given : fgi_full_like(like, otherwise);
}

static fg_tensor numbers_of(const fgi_adam_operands *on)
{
    const fg_tensor numbers[] = {
        [FGI_KERNEL_ADAM_PENALTY] = number_or(on->penalty, on->rest, 0),
        [FGI_KERNEL_ADAM_KEEP] = number_or(on->keep, on->rest, 1),
        [FGI_KERNEL_ADAM_REST] = on->rest,
        [FGI_KERNEL_ADAM_BETA2] = on->beta2,
        [FGI_KERNEL_ADAM_REST2] = on->rest2,
        [FGI_KERNEL_ADAM_WIDEN] = on->widen,
        [FGI_KERNEL_ADAM_EPS] = on->eps,
        [FGI_KERNEL_ADAM_RATE] = on->rate,
        [FGI_KERNEL_ADAM_AFTER] = number_or(on->after, on->rest, 0),
    };
    return fg_stack(numbers, FGI_KERNEL_ADAM_NUMBERS, 0);
}

/* Parameters with the same numbers, which one call updates. */
typedef struct calls {
    const fgi_adam_operands *of[FGI_KERNEL_ADAM_MOST];
    fgi_adam_results *out[FGI_KERNEL_ADAM_MOST];
    int count;
    fg_tensor numbers;
} calls;

static void call(calls *c)
{
    fg_type types[3 * FGI_KERNEL_ADAM_MOST];
    fg_tensor in[4 * FGI_KERNEL_ADAM_MOST + 1], out[3 * FGI_KERNEL_ADAM_MOST];
    const int n = c->count;
    for (int i = 0; i < n; i++) {
        const fgi_adam_operands *on = c->of[i];
        in[3 * i] = on->p, in[3 * i + 1] = on->m, in[3 * i + 2] = on->s;
        in[3 * n + i] = on->g;
        types[3 * i] = types[3 * i + 1] = types[3 * i + 2] = *fg_tensor_type(on->p);
    }
    in[4 * n] = c->numbers;
    if (n > 0)
        fg_custom_call(
            &(fg_custom_call_options){
                .name = FGI_KERNEL_ADAM, .types = types, .count = 3 * n, .in_place = 3 * n},
            in, 4 * n + 1, out);
    for (int i = 0; i < n; i++)
        *c->out[i] = (fgi_adam_results){out[3 * i], out[3 * i + 1], out[3 * i + 2]};
    c->count = 0;
}

/* p, m, s and g. */
static bool is_small(const fgi_adam_operands *on) { return are_small(&on->p, 4); }

static bool any_is_small(const fg_tensor *in, int count)
{
    for (int i = 0; i < count; i += FGI_ADAM_IN)
        if (is_small((const fgi_adam_operands *)(in + i)))
            return true;
    return false;
}

static void call_adam(const fg_tensor *in, int count, fg_tensor *out)
{
    calls c = {0};
    for (int i = 0; i < count / FGI_ADAM_IN; i++) {
        const fgi_adam_operands *on = (const fgi_adam_operands *)in + i;
        fgi_adam_results *result = (fgi_adam_results *)out + i;
        if (!is_small(on)) {
            fgi_adam_op.compose(&on->p, FGI_ADAM_IN, &result->p);
            continue;
        }
        const fg_tensor numbers = numbers_of(on);
        if (c.count == FGI_KERNEL_ADAM_MOST ||
            (c.count > 0 && fgi_node_of(numbers)->first != fgi_node_of(c.numbers)->first))
            call(&c);
        c.of[c.count] = on;
        c.out[c.count++] = result;
        c.numbers = numbers;
    }
    call(&c);
}

const fgi_lowering fgi_adam_small_cpu = {.op = &fgi_adam_op,
                                         .platform = FGI_CPU,
                                         .rule = "adam-kernel",
                                         .composes = any_is_small,
                                         .compose = call_adam};
