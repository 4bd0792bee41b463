/* vector.h - vectors of floats, which the compiler maps to the available instructions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_VECTOR_H
#define FGI_KERNEL_VECTOR_H

#include <stdint.h>

#include "base/processor.h"

/* For a loop whose iterations are independent, also where they read and write the same memory. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum { FGI_LANES = 8 };
/* As in memory: at any address that floats have. */
typedef float fgi_floats
    __attribute__((vector_size(FGI_LANES * sizeof(float)), aligned(4), may_alias));

#endif
