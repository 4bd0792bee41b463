/* number.h - convert elements of any dtype in host memory from and to double. Source: IEEE 754-2008
 * (binary16, rounding to nearest, ties to even).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_NUMBER_H
#define FGI_BASE_NUMBER_H

#include <fulgurite/dtype.h>

/* Element i; exact except for 64-bit integers beyond 2^53. data is aligned for its dtype. */
double fgi_number_get(fg_dtype dtype, const void *data, size_t i);
/* Sets element i to value, rounded to nearest even as on devices; floating dtypes overflow to
 * infinity. For integers and bool, values for which fgi_number_fits is false become 0. */
void fgi_number_put(fg_dtype dtype, void *data, size_t i, double value);
/* Whether an integer dtype can represent this value exactly (bool: 0 and 1); true for floating
 * dtypes. */
bool fgi_number_fits(fg_dtype dtype, double value);

/* A member of an options struct: `otherwise` where it is unset (+0), 0 where it is FG_ZERO. */
double fgi_or_default(double value, double otherwise);

#endif
