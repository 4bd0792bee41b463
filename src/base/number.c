/* number.c - conversions between doubles and the elements of host arrays. Pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <math.h>
#include <string.h>

/* A 16-bit float: sign, exponent, `fraction` bits. bf16 has 7 of them, f16 has 10. */
static int bias_of(int fraction) { return (1 << (14 - fraction)) - 1; }

static uint16_t narrow(double value, int fraction)
{
    const int lowest = 1 - bias_of(fraction); /* exponent of the smallest normal number */
    const unsigned infinite = (0x7FFFu >> fraction) << fraction;
    const unsigned sign = signbit(value) ? 0x8000u : 0;
    int exponent = 0;
    if (isnan(value))
        return (uint16_t)(sign | infinite | 1u << (fraction - 1));
    if (isinf(value))
        return (uint16_t)(sign | infinite);
    (void)frexp(value, &exponent);
    exponent = value == 0 || exponent - 1 < lowest ? lowest : exponent - 1;
    /* In units of the last place; for a normal number the implicit leading 1 adds one to the
     * exponent. */
    const double units = nearbyint(ldexp(fabs(value), fraction - exponent));
    if (exponent >= -lowest + 2)
        return (uint16_t)(sign | infinite);
    const unsigned bits = ((unsigned)(exponent - lowest) << fraction) + (unsigned)units;
    return (uint16_t)(sign | (bits < infinite ? bits : infinite));
}

static double widen(uint16_t bits, int fraction)
{
    const int lowest = 1 - bias_of(fraction);
    const int exponent = (bits & 0x7FFF) >> fraction, all = 0x7FFF >> fraction;
    const int units = bits & ((1 << fraction) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == all)
        return units == 0 ? sign * (double)INFINITY : (double)NAN;
    if (exponent == 0)
        return sign * ldexp(units, lowest - fraction);
    return sign * ldexp(units + (1 << fraction), exponent - 1 + lowest - fraction);
}

double fgi_number_get(fg_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case FG_BOOL:
    case FG_U8: return ((const uint8_t *)data)[i];
    case FG_S8: return ((const int8_t *)data)[i];
    case FG_U16: return ((const uint16_t *)data)[i];
    case FG_S16: return ((const int16_t *)data)[i];
    case FG_U32: return ((const uint32_t *)data)[i];
    case FG_S32: return ((const int32_t *)data)[i];
    case FG_U64: return (double)((const uint64_t *)data)[i];
    case FG_S64: return (double)((const int64_t *)data)[i];
    case FG_BF16: return widen(((const uint16_t *)data)[i], 7);
    case FG_F16: return widen(((const uint16_t *)data)[i], 10);
    case FG_F32: return (double)((const float *)data)[i];
    case FG_F64: return ((const double *)data)[i];
    case FG_DTYPE_NONE: break;
    }
    return 0;
}

/* The smallest value, and the first one above the largest; both 0 for floating dtypes. */
static void range(fg_dtype dtype, double *out_least, double *out_beyond)
{
    const int bits = dtype == FG_BOOL ? 1 : 8 * (int)fg_dtype_size(dtype);
    const bool is_signed = dtype == FG_S8 || dtype == FG_S16 || dtype == FG_S32 || dtype == FG_S64;
    *out_least = is_signed ? -ldexp(1, bits - 1) : 0;
    *out_beyond = ldexp(1, is_signed ? bits - 1 : bits);
}

bool fgi_number_fits(fg_dtype dtype, double value)
{
    double least, beyond;
    if (fg_dtype_is_float(dtype))
        return true;
    range(dtype, &least, &beyond);
    return value >= least && value < beyond && trunc(value) == value;
}

void fgi_number_put(fg_dtype dtype, void *data, size_t i, double value)
{
    if (!fgi_number_fits(dtype, value))
        value = 0;
    switch (dtype) {
    case FG_BOOL:
    case FG_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    case FG_S8: ((int8_t *)data)[i] = (int8_t)value; break;
    case FG_U16: ((uint16_t *)data)[i] = (uint16_t)value; break;
    case FG_S16: ((int16_t *)data)[i] = (int16_t)value; break;
    case FG_U32: ((uint32_t *)data)[i] = (uint32_t)value; break;
    case FG_S32: ((int32_t *)data)[i] = (int32_t)value; break;
    case FG_U64: ((uint64_t *)data)[i] = (uint64_t)value; break;
    case FG_S64: ((int64_t *)data)[i] = (int64_t)value; break;
    case FG_BF16: ((uint16_t *)data)[i] = narrow(value, 7); break;
    case FG_F16: ((uint16_t *)data)[i] = narrow(value, 10); break;
    case FG_F32: ((float *)data)[i] = (float)value; break;
    case FG_F64: ((double *)data)[i] = value; break;
    case FG_DTYPE_NONE: break;
    }
}

double fgi_or_default(double value, double otherwise)
{
    if (value != 0)
        return value;
    return signbit(value) ? 0 : otherwise;
}
