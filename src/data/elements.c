/* elements.c - integers to s32, f64 to f32, big-endian to the host's order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/elements.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "data/memory.h"

/* The bytes of one element as an unsigned integer. Hosts are little-endian. */
static inline uint64_t load(const unsigned char *at, size_t size, bool is_big_endian)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    return is_big_endian ? __builtin_bswap64(bits) >> (64 - 8 * size) : bits;
}

/* The integer with these bits; u64 beyond s64 becomes INT64_MAX, which is out of range too. */
static inline int64_t signed_value(uint64_t bits, fg_dtype dtype)
{
    switch (dtype) {
    case FG_S8: return (int8_t)bits;
    case FG_S16: return (int16_t)bits;
    case FG_S32: return (int32_t)bits;
    case FG_S64: return (int64_t)bits;
    default: return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
}

static fg_status alloc_elements(const fgi_elements *e, size_t size, fgi_block *out, fg_error *err)
{
    size_t bytes;
    *out = (fgi_block){0};
    if (!fgi_mul_size(e->count, size, &bytes))
        return fgi_no_memory(err);
    return fgi_block_alloc(bytes, out, err);
}

fg_status fgi_elements_to_s32(const fgi_elements *e, fgi_block *out, fg_error *err)
{
    FGI_TRY(alloc_elements(e, sizeof(int32_t), out, err));
    const size_t size = fg_dtype_size(e->dtype);
    int32_t *to = out->owned;
    for (int64_t i = 0; i < e->count; i++) {
        const size_t offset = e->offset + (size_t)i * size;
        const uint64_t bits = load(e->file + offset, size, e->is_big_endian);
        const int64_t value = signed_value(bits, e->dtype);
        if (value < INT32_MIN || value > INT32_MAX) {
            fgi_block_fini(out);
            return fgi_fail(err, FG_EFORMAT,
                            "%s: element %" PRId64
                            " (index starting at 0, byte %zu) does not fit in s32; use smaller "
                            "integers, or floats for a regression",
                            e->name, i, offset);
        }
        to[i] = (int32_t)value;
    }
    return FG_OK;
}

fg_status fgi_elements_to_f32(const fgi_elements *e, fgi_block *out, fg_error *err)
{
    FGI_TRY(alloc_elements(e, sizeof(float), out, err));
    float *to = out->owned;
    for (int64_t i = 0; i < e->count; i++) {
        const uint64_t bits = load(e->file + e->offset + (size_t)i * 8, 8, e->is_big_endian);
        double value;
        memcpy(&value, &bits, sizeof(value));
        to[i] = (float)value;
    }
    return FG_OK;
}

fg_status fgi_elements_to_host(const fgi_elements *e, fgi_block *out, fg_error *err)
{
    const size_t size = fg_dtype_size(e->dtype);
    FGI_TRY(alloc_elements(e, size, out, err));
    unsigned char *to = out->owned;
    for (int64_t i = 0; i < e->count; i++) {
        const uint64_t bits = load(e->file + e->offset + (size_t)i * size, size, e->is_big_endian);
        memcpy(to + (size_t)i * size, &bits, size);
    }
    return FG_OK;
}

int64_t fgi_count_classes(const int32_t *labels, int64_t count)
{
    int64_t largest = -1;
    for (int64_t i = 0; i < count; i++) {
        if (labels[i] < 0)
            return 0;
        largest = labels[i] > largest ? labels[i] : largest;
    }
    return largest + 1;
}
