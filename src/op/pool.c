/* pool.c - pooling over square windows and over windows that divide an image, channels last.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "hlo/mlir.h"
#include "op/pool.h"

static bool window_infer(fgi_infer *c)
{
    const fgi_pool_attr *attr = c->attr;
    const fg_type *x = c->in[0];
    if (x->rank != 4)
        return fgi_infer_fail(c, FG_ESHAPE, "expected [N,H,W,C]");
    if (!fg_dtype_is_float(x->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected a floating-point dtype: cast it first");
    int64_t dim[4] = {x->dim[0], 0, 0, x->dim[3]};
    for (int i = 0; i < 2; i++) {
        const int64_t room =
            fgi_extent(x->dim[i + 1], attr->x_dilation) + attr->low[i] + attr->high[i] - attr->size;
        if (room < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the window is larger than the padded image");
        dim[i + 1] = room / attr->stride + 1;
    }
    return fgi_infer_ok(c, x->dtype, 4, dim);
}

/* Rows are preserved along N and C. */
static bool window_rows(fgi_infer *c)
{
    for (int i = 0; i < c->arity; i++)
        for (int d = 0; c->in_rows[i] != NULL && d < 4; d++) {
            if (c->in_rows[i]->step[d] != 0 && (d == 1 || d == 2))
                return fgi_rows_mixed(c, d, "make the batch the first dimension of [N,H,W,C]");
            if (!fgi_rows_join(c, d, c->in_rows[i]->step[d]))
                return false;
        }
    return true;
}

/* The attributes of an operation on the windows; x_dilation 0: none. */
static void put_windows(fgi_buf *text, const fgi_pool_attr *attr, int64_t x_dilation)
{
    fgi_build_array(text, "window_dimensions", 4, (int64_t[]){1, attr->size, attr->size, 1});
    fgi_build_array(text, "window_strides", 4, (int64_t[]){1, attr->stride, attr->stride, 1});
    if (x_dilation > 0)
        fgi_build_array(text, "base_dilations", 4, (int64_t[]){1, x_dilation, x_dilation, 1});
    fgi_buf_puts(text, ", padding = ");
    fgi_mlir_pairs(text, 4, (int64_t[]){0, attr->low[0], attr->low[1], 0},
                   (int64_t[]){0, attr->high[0], attr->high[1], 0});
}

static void window_emit(fgi_emit *e, const char *body, double init)
{
    const fgi_pool_attr *attr = e->node->attr;
    fgi_buf text = {0};
    put_windows(&text, attr, attr->x_dilation);
    fgi_emit_reduction(e, "reduce_window", body, init, &text);
}

/* ---- sums over windows ----------------------------------------------------------------------- */

static void window_sum_emit(fgi_emit *e) { window_emit(e, "add", 0); }

static fg_tensor window_sum(fg_tensor x, const fgi_pool_attr *attr);

/* Each element is in the windows that cover it: the gradient is again a sum over windows, of the
 * dilated dy. */
static void window_sum_vjp(fgi_vjp *v)
{
    const fgi_pool_attr *attr = v->attr;
    const int64_t *x = fg_tensor_type(v->in[0])->dim, *y = fg_tensor_type(v->out)->dim;
    fgi_pool_attr back = {
        .size = attr->size, .stride = attr->x_dilation, .x_dilation = attr->stride};
    for (int i = 0; i < 2; i++) {
        back.low[i] = attr->size - 1 - attr->low[i];
        back.high[i] = fgi_extent(x[i + 1], attr->x_dilation) + attr->size - 1 -
                       fgi_extent(y[i + 1], attr->stride) - back.low[i];
    }
    v->din[0] = window_sum(v->dout, &back);
}

static const fgi_op window_sum_op = {.name = "avg_pool",
                                     .arity = 1,
                                     .infer = window_infer,
                                     .rows = window_rows,
                                     .emit = window_sum_emit,
                                     .vjp = window_sum_vjp};

static fg_tensor window_sum(fg_tensor x, const fgi_pool_attr *attr)
{
    return fgi_apply(&window_sum_op, &x, 1, attr, sizeof *attr);
}

/* ---- maxima over windows --------------------------------------------------------------------- */

static void max_pool_emit(fgi_emit *e) { window_emit(e, "maximum", (double)-INFINITY); }

/* The element (i, j) of every window of x: T[N,H',W',C]. */
static fg_tensor tap_of(fg_tensor padded, const int64_t *y, int64_t stride, int64_t i, int64_t j)
{
    const int64_t *p = fg_tensor_type(padded)->dim;
    const int64_t start[4] = {0, i, j, 0};
    const int64_t limit[4] = {p[0], i + fgi_extent(y[1], stride), j + fgi_extent(y[2], stride),
                              p[3]};
    const int64_t step[4] = {1, stride, stride, 1};
    return fg_slice(padded, start, limit, step);
}

static fg_tensor max_pool_dx(const fgi_vjp *v, fg_tensor x, fg_tensor y, fg_tensor dy);

static void max_pool_vjp(fgi_vjp *v) { v->din[0] = max_pool_dx(v, v->in[0], v->out, v->dout); }

const fgi_op fgi_max_pool_op = {.name = "max_pool",
                                .arity = 1,
                                .infer = window_infer,
                                .rows = window_rows,
                                .emit = max_pool_emit,
                                .vjp = max_pool_vjp};

/* ---- the gradient of maxima -------------------------------------------------------------------
 * (x, y, dy) -> dx: in each window the first element, in row-major order, that equals y takes dy.
 */

static bool dx_infer(fgi_infer *c)
{
    const fg_type *x = c->in[FGI_POOL_X];
    return fgi_infer_ok(c, x->dtype, x->rank, x->dim);
}

static void dx_emit(fgi_emit *e)
{
    const fgi_value result = fgi_emit_result(e);
    const fgi_value zero = fgi_build_splat(&e->b, &(fg_type){.dtype = result.type.dtype}, 0);
    fgi_buf text = {0};
    put_windows(&text, e->node->attr, 0);
    fgi_build_scatter_to_max(&e->b, &result, fgi_emit_in(e, FGI_POOL_X),
                             fgi_emit_in(e, FGI_POOL_DY), zero, &text);
}

/* Linear in dy: each window receives the element at the position to which its dy went. */
static void dx_vjp(fgi_vjp *v)
{
    const fgi_pool_attr *attr = v->attr;
    const fg_tensor y = v->in[FGI_POOL_Y], zero = fgi_full_like(y, 0);
    const int64_t low[4] = {0, attr->low[0], attr->low[1], 0};
    const int64_t high[4] = {0, attr->high[0], attr->high[1], 0};
    const fg_tensor x = fg_pad(v->in[FGI_POOL_X], (double)-INFINITY, low, high, NULL);
    const fg_tensor back = fg_pad(v->dout, 0, low, high, NULL);
    const int64_t *size = fg_tensor_type(y)->dim;
    fg_tensor open = {0}; /* windows whose maximum was not found yet */
    if (!v->need[FGI_POOL_DY])
        return;
    for (int64_t i = 0; i < attr->size; i++)
        for (int64_t j = 0; j < attr->size; j++) {
            const bool is_first = i == 0 && j == 0;
            const fg_tensor hit = fg_eq(tap_of(x, size, attr->stride, i, j), y);
            const fg_tensor takes = is_first ? hit : fg_and(hit, open);
            const fg_tensor term = fg_where(takes, tap_of(back, size, attr->stride, i, j), zero);
            open = is_first ? fg_not(hit) : fg_and(open, fg_not(hit));
            v->din[FGI_POOL_DY] = is_first ? term : fg_add(v->din[FGI_POOL_DY], term);
        }
}

const fgi_op fgi_max_pool_dx = {.name = "max_pool_dx",
                                .arity = 3,
                                .infer = dx_infer,
                                .rows = window_rows,
                                .emit = dx_emit,
                                .vjp = dx_vjp};

static fg_tensor max_pool_dx(const fgi_vjp *v, fg_tensor x, fg_tensor y, fg_tensor dy)
{
    return fgi_apply(&fgi_max_pool_dx, (const fg_tensor[]){x, y, dy}, 3, v->attr,
                     sizeof(fgi_pool_attr));
}

/* ---- public ---------------------------------------------------------------------------------- */

/* False after keeping an error. */
static bool attr_of(fg_tensor x, const char *op, const fg_pool_options *options, fgi_pool_attr *out)
{
    const fg_pool_options o = options != NULL ? *options : (fg_pool_options){0};
    const int64_t size = o.size != 0 ? o.size : 2, most = FGI_LARGEST_WINDOW;
    *out = (fgi_pool_attr){.size = size,
                           .stride = o.stride != 0 ? o.stride : size,
                           .x_dilation = 1,
                           .low = {o.pad, o.pad},
                           .high = {o.pad, o.pad}};
    if (!fgi_trace_check_reserved(fg_tensor_trace(x), FGI_RESERVED(fg_pool_options, options)))
        return false;
    if (o.size >= 0 && o.size <= most && o.stride >= 0 && o.stride <= most && o.pad >= 0 &&
        o.pad < size)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                         "%s: size %" PRId64 ", stride %" PRId64 ", pad %" PRId64
                         ": expected 0 to %" PRId64 ", and pad less than size",
                         op, size, out->stride, o.pad, most);
    return false;
}

fg_tensor fg_max_pool(fg_tensor x, const fg_pool_options *options)
{
    fgi_pool_attr attr;
    if (!attr_of(x, "max_pool", options, &attr))
        return fgi_poison(fg_tensor_trace(x));
    return fgi_apply(&fgi_max_pool_op, &x, 1, &attr, sizeof attr);
}

fg_tensor fg_avg_pool(fg_tensor x, const fg_pool_options *options)
{
    fgi_pool_attr attr;
    if (!attr_of(x, "avg_pool", options, &attr))
        return fgi_poison(fg_tensor_trace(x));
    const fg_tensor sum = window_sum(fgi_upcast(x), &attr);
    const fg_tensor mean = fg_mul_scalar(sum, 1.0 / (double)(attr.size * attr.size));
    return fgi_is_poison(mean) ? mean : fg_cast(mean, fg_tensor_type(x)->dtype);
}

fg_tensor fg_global_avg_pool(fg_tensor x)
{
    if (!fgi_is_poison(x) && fg_tensor_type(x)->rank != 4)
        return fgi_trace_fail(fg_tensor_trace(x), FG_ESHAPE,
                              "global_avg_pool: expected [N,H,W,C], got rank %d",
                              fg_tensor_type(x)->rank);
    return fg_mean(x, 2, (const int[]){1, 2});
}

/* ---- windows that divide the image ----------------------------------------------------------- */

/* Elements of window i of `to` along an axis: [floor(i from / to), ceil((i + 1) from / to)). */
static int64_t window_size(int64_t i, int64_t from, int64_t to)
{
    return ((i + 1) * from + to - 1) / to - i * from / to;
}

/* x with two dimensions in place of `axis`: window, element. In windows of different sizes, the
 * last element is repeated, with the weight 0. out_weight: of the elements in the mean of their
 * window, T[to, size, 1...]. */
static fg_tensor divided(fg_tensor x, int axis, int64_t to, fg_tensor *out_weight)
{
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t from = fg_tensor_dim(x, axis);
    int64_t most = 0, dim[FG_MAX_RANK] = {to};
    for (int64_t i = 0; i < to; i++)
        most = window_size(i, from, to) > most ? window_size(i, from, to) : most;
    dim[1] = most;
    const fg_tensor first = fg_iota(trace, FG_S32, 0, 2, dim),
                    k = fg_iota(trace, FG_S32, 1, 2, dim);
    const fg_tensor divisor = fgi_full_like(first, (double)to);
    const fg_tensor start = fg_div(fg_mul_scalar(first, (double)from), divisor);
    const fg_tensor end =
        fg_div(fg_add_scalar(fg_mul_scalar(first, (double)from), (double)(from + to - 1)), divisor);
    const fg_tensor index = fg_add(start, k),
                    size = fg_cast(fg_sub(end, start), fg_tensor_type(x)->dtype);
    const fg_tensor weight =
        fg_where(fg_lt(index, end), fg_div(fgi_full_like(size, 1), size), fgi_full_like(size, 0));
    const int rank = fg_tensor_type(x)->rank + 1 - axis;
    for (int i = 2; i < rank; i++)
        dim[i] = 1;
    *out_weight = fg_reshape(weight, rank, dim);
    return fg_gather(x, fg_minimum(index, fg_add_scalar(end, -1)), axis, 0);
}

bool fgi_check_sizes(const char *op, fg_tensor x, const int64_t *size)
{
    char text[96];
    const fg_type *type = fg_tensor_type(x);
    bool is_valid = type->rank >= 3 && type->rank <= 5 && fg_dtype_is_float(type->dtype);
    for (int i = 0; is_valid && i < type->rank - 2; i++)
        is_valid = size[i] >= 1 && type->dim[i + 1] >= 1 && size[i] <= INT16_MAX &&
                   type->dim[i + 1] <= INT16_MAX;
    if (!is_valid)
        (void)fgi_trace_fail(fg_tensor_trace(x), FG_ESHAPE,
                             "%s(%s): expected floating-point images [N,L,C], [N,H,W,C] or "
                             "[N,D,H,W,C] and results of 1 to 32767 pixels along each dimension",
                             op, fg_type_format(type, text, sizeof text));
    return is_valid;
}

fg_tensor fg_adaptive_avg_pool(fg_tensor x, const int64_t *size)
{
    if (fgi_is_poison(x) || !fgi_check_sizes("adaptive_avg_pool", x, size))
        return fgi_poison(fg_tensor_trace(x));
    fg_tensor y = fgi_upcast(x);
    for (int axis = 1; axis + 1 < fg_tensor_type(x)->rank; axis++) {
        fg_tensor weight;
        const fg_tensor parts = divided(y, axis, size[axis - 1], &weight);
        y = fg_sum(fg_mul(parts, weight), 1, (const int[]){axis + 1});
    }
    return fgi_is_poison(y) ? y : fg_cast(y, fg_tensor_type(x)->dtype);
}

fg_tensor fg_adaptive_max_pool(fg_tensor x, const int64_t *size)
{
    if (fgi_is_poison(x) || !fgi_check_sizes("adaptive_max_pool", x, size))
        return fgi_poison(fg_tensor_trace(x));
    for (int axis = 1; axis + 1 < fg_tensor_type(x)->rank; axis++) {
        fg_tensor weight;
        x = fg_max(divided(x, axis, size[axis - 1], &weight), 1, (const int[]){axis + 1});
    }
    return x;
}
