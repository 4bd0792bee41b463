/* mlir.c - writes types, attributes, constants and locations in MLIR syntax. Independent of graphs
 * and devices; src/trace/emit.c writes whole programs with it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "hlo/mlir.h"

#include <inttypes.h>
#include <math.h>

#include "base/number.h"

const char *fgi_mlir_element(fg_dtype dtype)
{
    switch (dtype) {
    case FG_BOOL: return "i1";
    case FG_U8: return "ui8";
    case FG_S8: return "i8";
    case FG_U16: return "ui16";
    case FG_S16: return "i16";
    case FG_U32: return "ui32";
    case FG_S32: return "i32";
    case FG_U64: return "ui64";
    case FG_S64: return "i64";
    case FG_BF16: return "bf16";
    case FG_F16: return "f16";
    case FG_F32: return "f32";
    case FG_F64: return "f64";
    case FG_DTYPE_NONE: break;
    }
    return "none";
}

void fgi_mlir_type(fgi_buf *buf, const fg_type *type)
{
    fgi_buf_puts(buf, "tensor<");
    for (int i = 0; i < type->rank; i++) {
        fgi_buf_put_int(buf, type->dim[i]);
        fgi_buf_putc(buf, 'x');
    }
    fgi_buf_puts(buf, fgi_mlir_element(type->dtype));
    fgi_buf_putc(buf, '>');
}

void fgi_mlir_array(fgi_buf *buf, int count, const int64_t *values)
{
    fgi_buf_puts(buf, "array<i64");
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(buf, i == 0 ? ": " : ", ");
        fgi_buf_put_int(buf, values[i]);
    }
    fgi_buf_putc(buf, '>');
}

void fgi_mlir_pairs(fgi_buf *buf, int count, const int64_t *lo, const int64_t *hi)
{
    fgi_buf_puts(buf, "dense<[");
    for (int i = 0; i < count; i++)
        fgi_buf_printf(buf, "%s[%" PRId64 ", %" PRId64 "]", i == 0 ? "" : ", ", lo[i], hi[i]);
    fgi_buf_printf(buf, "]> : tensor<%dx2xi64>", count);
}

/* The value as represented in the dtype, with enough digits to restore it. MLIR requires a decimal
 * point in float literals; infinities and NaN are written as bits. */
static void put_float(fgi_buf *buf, fg_dtype dtype, double value)
{
    double room;
    fgi_number_put(dtype, &room, 0, value);
    value = fgi_number_get(dtype, &room, 0);
    if (isfinite(value)) {
        fgi_buf_printf(buf, dtype == FG_F64 ? "%.17e" : "%.9e", value);
        return;
    }
    const char *positive = "0x7F800000", *negative = "0xFF800000", *nan_bits = "0x7FC00000";
    if (dtype == FG_F64) {
        positive = "0x7FF0000000000000";
        negative = "0xFFF0000000000000";
        nan_bits = "0x7FF8000000000000";
    } else if (dtype == FG_BF16) {
        positive = "0x7F80";
        negative = "0xFF80";
        nan_bits = "0x7FC0";
    } else if (dtype == FG_F16) {
        positive = "0x7C00";
        negative = "0xFC00";
        nan_bits = "0x7E00";
    }
    fgi_buf_puts(buf, isnan(value) ? nan_bits : value > 0 ? positive : negative);
}

void fgi_mlir_splat(fgi_buf *buf, const fg_type *type, double value)
{
    fgi_buf_puts(buf, "dense<");
    if (fg_dtype_is_float(type->dtype))
        put_float(buf, type->dtype, value);
    else if (type->dtype == FG_BOOL)
        fgi_buf_puts(buf, value != 0 ? "true" : "false");
    else
        fgi_buf_printf(buf, "%.0f", value == 0 ? 0 : value); /* not "-0" */
    fgi_buf_puts(buf, "> : ");
    fgi_mlir_type(buf, type);
}

void fgi_mlir_dense(fgi_buf *buf, const fg_type *type, const void *data)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes = data;
    const size_t size = fg_type_bytes(type);
    fgi_buf_puts(buf, "dense<\"0x");
    for (size_t i = 0; i < size; i++) {
        fgi_buf_putc(buf, digits[bytes[i] >> 4]);
        fgi_buf_putc(buf, digits[bytes[i] & 15]);
    }
    fgi_buf_puts(buf, "\"> : ");
    fgi_mlir_type(buf, type);
}

static void put_escaped(fgi_buf *buf, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\' || byte < 0x20)
            fgi_buf_printf(buf, "\\%02X", byte);
        else
            fgi_buf_putc(buf, *c);
    }
}

void fgi_mlir_string(fgi_buf *buf, const char *text)
{
    fgi_buf_putc(buf, '"');
    put_escaped(buf, text);
    fgi_buf_putc(buf, '"');
}

void fgi_mlir_location(fgi_buf *buf, const char *scope, const char *op, const char *file, int line)
{
    fgi_buf_puts(buf, "loc(\"");
    if (scope != NULL && scope[0] != '\0') {
        put_escaped(buf, scope);
        fgi_buf_putc(buf, '/');
    }
    put_escaped(buf, op);
    fgi_buf_putc(buf, '"');
    if (file != NULL) {
        fgi_buf_putc(buf, '(');
        fgi_mlir_string(buf, file);
        fgi_buf_putc(buf, ':');
        fgi_buf_put_int(buf, line);
        fgi_buf_puts(buf, ":0)");
    }
    fgi_buf_putc(buf, ')');
}
