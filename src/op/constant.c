/* constant.c - constants of the program: filled tensors, small tables, indices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "hlo/mlir.h"
#include "op/op.h"

enum { CONSTANT_LIMIT_BYTES = 64 * 1024 };

static void set_type(fg_type *type, fg_dtype dtype, int rank, const int64_t *dim)
{
    type->dtype = dtype;
    type->rank = rank;
    for (int i = 0; i < rank; i++)
        type->dim[i] = dim[i];
}

bool fgi_check_type(fg_trace *trace, const char *op, fg_dtype dtype, int rank, const int64_t *dim)
{
    if (fg_dtype_size(dtype) == 0) {
        (void)fgi_trace_fail(trace, FG_EDTYPE, "%s: unknown dtype %d", op, (int)dtype);
        return false;
    }
    if (rank < 0 || rank > FG_MAX_RANK) {
        (void)fgi_trace_fail(trace, FG_ESHAPE, "%s: rank is %d: expected 0 to %d", op, rank,
                             FG_MAX_RANK);
        return false;
    }
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0) {
            (void)fgi_trace_fail(trace, FG_ESHAPE, "%s: dimension %d is negative", op, i);
            return false;
        }
    fg_type type = {0};
    set_type(&type, dtype, rank, dim);
    if (fgi_type_is_countable(&type))
        return true;
    (void)fgi_trace_fail(trace, FG_ESHAPE, "%s: its size overflows 64 bits", op);
    return false;
}

/* ---- full ------------------------------------------------------------------------------------ */

typedef struct full_attr {
    fg_type type;
    double value;
} full_attr;

static bool full_infer(fgi_infer *c)
{
    c->out = ((const full_attr *)c->attr)->type;
    return true;
}

static void full_emit(fgi_emit *e)
{
    const full_attr *attr = e->node->attr;
    const fgi_value result = fgi_emit_result(e);
    fgi_build_splat_into(&e->b, &result, attr->value);
}

static double full_number(const void *attr) { return ((const full_attr *)attr)->value; }

static const fgi_op full = {
    .name = "full", .infer = full_infer, .emit = full_emit, .number = full_number};

fg_tensor fg_full(fg_trace *trace, fg_dtype dtype, double value, int rank, const int64_t *dim)
{
    full_attr attr;
    if (!fgi_check_type(trace, "full", dtype, rank, dim))
        return fgi_poison(trace);
    memset(&attr, 0, sizeof attr);
    set_type(&attr.type, dtype, rank, dim);
    attr.value = value == 0 && !fg_dtype_is_float(dtype) ? 0 : value; /* integers have one zero */
    if (!fgi_number_fits(dtype, value))
        return fgi_trace_fail(trace, FG_EINVAL, "full: %s cannot represent %g",
                              fg_dtype_name(dtype), value);
    return fgi_apply_source(trace, &full, &attr, sizeof attr);
}

fg_tensor fg_zeros(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim)
{
    return fg_full(trace, dtype, 0, rank, dim);
}

fg_tensor fg_ones(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim)
{
    return fg_full(trace, dtype, 1, rank, dim);
}

fg_tensor fgi_full_like(fg_tensor like, double value)
{
    const fg_type *type = fg_tensor_type(like);
    if (fgi_is_poison(like))
        return like;
    return fg_full(fg_tensor_trace(like), type->dtype, value, type->rank, type->dim);
}

/* ---- constant -------------------------------------------------------------------------------- */

/* The attribute is the type, followed by the bytes. */
static bool constant_infer(fgi_infer *c)
{
    memcpy(&c->out, c->attr, sizeof c->out);
    return true;
}

static void constant_emit(fgi_emit *e)
{
    const unsigned char *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_buf_puts(&text, "value = ");
    fgi_mlir_dense(&text, &e->node->type, attr + sizeof(fg_type));
    fgi_emit_text(e, "constant", &text);
}

static const fgi_op constant = {.name = "constant", .infer = constant_infer, .emit = constant_emit};

fg_tensor fg_constant(fg_trace *trace, const fg_type *type, const void *data)
{
    if (!fgi_check_type(trace, "constant", type->dtype, type->rank, type->dim))
        return fgi_poison(trace);
    const size_t size = fg_type_bytes(type);
    if (size > CONSTANT_LIMIT_BYTES)
        return fgi_trace_fail(trace, FG_EINVAL,
                              "constant: %zu bytes would be embedded in the program: expected at "
                              "most %d; use an input or a variable",
                              size, (int)CONSTANT_LIMIT_BYTES);
    if (type->dtype == FG_BOOL)
        return fgi_trace_fail(trace, FG_EDTYPE,
                              "constant: bool is not supported: pass u8 and cast it");
    unsigned char *attr = fgi_calloc(1, sizeof(fg_type) + size);
    if (attr == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    fg_type clean;
    memset(&clean, 0, sizeof clean);
    set_type(&clean, type->dtype, type->rank, type->dim);
    memcpy(attr, &clean, sizeof clean);
    memcpy(attr + sizeof clean, data, size);
    const fg_tensor result = fgi_apply_source(trace, &constant, attr, sizeof clean + size);
    fgi_free(attr);
    return result;
}

/* ---- iota ------------------------------------------------------------------------------------ */

typedef struct iota_attr {
    fg_type type;
    int64_t axis;
} iota_attr;

static bool iota_infer(fgi_infer *c)
{
    c->out = ((const iota_attr *)c->attr)->type;
    return true;
}

static void iota_emit(fgi_emit *e)
{
    const iota_attr *attr = e->node->attr;
    fgi_emit_attributes(e, "iota", "iota_dimension = %d : i64", (int)attr->axis);
}

static const fgi_op iota = {.name = "iota", .infer = iota_infer, .emit = iota_emit};

fg_tensor fg_iota(fg_trace *trace, fg_dtype dtype, int axis, int rank, const int64_t *dim)
{
    iota_attr attr;
    if (!fgi_check_type(trace, "iota", dtype, rank, dim))
        return fgi_poison(trace);
    const int at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank || dtype == FG_BOOL)
        return fgi_trace_fail(
            trace, FG_EINVAL,
            "iota: axis %d is out of range for rank %d, or dtype %s is not arithmetic", axis, rank,
            fg_dtype_name(dtype));
    memset(&attr, 0, sizeof attr);
    set_type(&attr.type, dtype, rank, dim);
    attr.axis = at;
    return fgi_apply_source(trace, &iota, &attr, sizeof attr);
}
