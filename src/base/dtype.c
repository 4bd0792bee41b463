/* dtype.c - the table of dtypes, and properties of a dtype with a shape.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/dtype.h>

#include <inttypes.h>
#include <string.h>

typedef struct format {
    const char *name;
    size_t size;
    bool is_float;
} format;

static const format formats[] = {
    [FG_DTYPE_NONE] = {"none", 0, false}, [FG_BOOL] = {"bool", 1, false},
    [FG_U8] = {"u8", 1, false},           [FG_S8] = {"s8", 1, false},
    [FG_U16] = {"u16", 2, false},         [FG_S16] = {"s16", 2, false},
    [FG_U32] = {"u32", 4, false},         [FG_S32] = {"s32", 4, false},
    [FG_U64] = {"u64", 8, false},         [FG_S64] = {"s64", 8, false},
    [FG_BF16] = {"bf16", 2, true},        [FG_F16] = {"f16", 2, true},
    [FG_F32] = {"f32", 4, true},          [FG_F64] = {"f64", 8, true},
};

static const format *format_of(fg_dtype dtype)
{
    const size_t index = (size_t)dtype;
    return &formats[index < sizeof(formats) / sizeof(formats[0]) ? index : FG_DTYPE_NONE];
}

const char *fg_dtype_name(fg_dtype dtype) { return format_of(dtype)->name; }

size_t fg_dtype_size(fg_dtype dtype) { return format_of(dtype)->size; }

bool fg_dtype_is_float(fg_dtype dtype) { return format_of(dtype)->is_float; }

int64_t fg_type_count(const fg_type *type)
{
    bool is_over = false;
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) {
        if (type->dim[i] <= 0)
            return 0;
        is_over = is_over || __builtin_mul_overflow(count, type->dim[i], &count);
    }
    return is_over ? INT64_MAX : count;
}

size_t fg_type_bytes(const fg_type *type)
{
    const int64_t count = fg_type_count(type);
    size_t bytes;
    if (count == INT64_MAX || __builtin_mul_overflow(count, fg_dtype_size(type->dtype), &bytes))
        return SIZE_MAX;
    return bytes;
}

bool fg_type_equal(const fg_type *a, const fg_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0])) == 0;
}

char *fg_type_format(const fg_type *type, char *out, size_t size)
{
    if (size == 0)
        return out;
    int used = snprintf(out, size, "%s[", fg_dtype_name(type->dtype));
    for (int i = 0; i < type->rank && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%" PRId64, i == 0 ? "" : ",",
                         type->dim[i]);
    if (used >= 0 && (size_t)used < size)
        (void)snprintf(out + used, size - (size_t)used, "]");
    return out;
}
