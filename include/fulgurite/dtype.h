/* dtype.h - element types (dtypes) of tensors, arrays and files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DTYPE_H
#define FULGURITE_DTYPE_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum rank (number of dimensions) of a tensor. */
#define FG_MAX_RANK 8

/* Element types, named as in StableHLO and safetensors. Values are stable. */
typedef enum fg_dtype {
    FG_DTYPE_NONE = 0,
    FG_BOOL = 1, /* one byte, 0 or 1 */
    FG_U8 = 2,
    FG_S8 = 3,
    FG_U16 = 4,
    FG_S16 = 5,
    FG_U32 = 6,
    FG_S32 = 7,
    FG_U64 = 8,
    FG_S64 = 9,
    FG_BF16 = 10, /* bfloat16: the upper 16 bits of an f32 */
    FG_F16 = 11,  /* IEEE 754 binary16 */
    FG_F32 = 12,
    FG_F64 = 13
} fg_dtype;

/* Name of a dtype: "f32", "bf16", "s32", "bool" ...; "none" for other values. Thread-safe. */
FG_API const char *fg_dtype_name(fg_dtype dtype);

/* Size of one element in bytes; 0 for FG_DTYPE_NONE and unknown values. Thread-safe. */
FG_API size_t fg_dtype_size(fg_dtype dtype);

/* True for bf16, f16, f32, f64. Thread-safe. */
FG_API bool fg_dtype_is_float(fg_dtype dtype);

/* A dtype and a shape. rank 0 is a scalar; dimensions past `rank` are 0. */
typedef struct fg_type {
    fg_dtype dtype;
    int rank;
    int64_t dim[FG_MAX_RANK];
} fg_type;

/* A shape as the last argument of a call: FG_DIMS(3, 4) expands to a rank and an array. Write
 * FG_SCALAR for a scalar. */
#define FG_DIMS(...)                                                                               \
    ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))), ((const int64_t[]){__VA_ARGS__})
#define FG_SCALAR 0, NULL

/* Number of elements: the product of the dimensions, 1 for a scalar. INT64_MAX on overflow; 0 if a
 * dimension is negative. Thread-safe. */
FG_API int64_t fg_type_count(const fg_type *type);

/* Size in bytes of a dense array of this type; SIZE_MAX on overflow. Thread-safe. */
FG_API size_t fg_type_bytes(const fg_type *type);

/* Whether dtype, rank and all dimensions are equal. Thread-safe. */
FG_API bool fg_type_equal(const fg_type *a, const fg_type *b);

/* Writes a type as "f32[3,4]" to out (at most `size` bytes, always NUL-terminated) and returns out.
 * Thread-safe. */
FG_API char *fg_type_format(const fg_type *type, char *out, size_t size);

#ifdef __cplusplus
}

/* FG_DIMS without compound literals, which C++ does not have. The array lives as long as the call.
 */
namespace fg_cxx
{
template <class... T> char (&count(const T &...))[sizeof...(T)]; /* for sizeof */
template <int N> struct dims {
    int64_t dim[N];
    operator const int64_t *() const { return dim; }
};
template <class... T> dims<sizeof...(T)> make_dims(T... d)
{
    return {{static_cast<int64_t>(d)...}};
}
} // namespace fg_cxx
#undef FG_DIMS
#define FG_DIMS(...)                                                                               \
    (static_cast<int>(sizeof(::fg_cxx::count(__VA_ARGS__)))), (::fg_cxx::make_dims(__VA_ARGS__))
#endif
#endif
