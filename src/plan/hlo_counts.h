/* hlo_counts.h - parses the optimized program as XLA's HLO, from the bytes that a plugin returns,
 * and counts its operations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_HLO_COUNTS_H
#define FGI_PLAN_HLO_COUNTS_H

#include <fulgurite/plan.h>

#include "base/error.h"

/* A parsed module, owned by the caller; one thread at a time. */
typedef struct fgi_hlo fgi_hlo;

/* data is a serialized HloModuleProtoWithConfig; it is not needed afterwards. Errors: FG_EFORMAT,
 * FG_ENOMEM. */
fg_status fgi_hlo_read(const void *data, size_t size, fgi_hlo **out, fg_error *err);
void fgi_hlo_free(fgi_hlo *hlo);

enum { FGI_DTYPES = FG_F64 + 1 };

/* Counts of a module. Bytes are per device and without padding. */
typedef struct fgi_hlo_counts {
    int parameters, donated; /* arguments, and the donated ones whose buffer an output reuses */
    int64_t parameter_bytes, donated_bytes;
    int collectives[FG_COLLECTIVES];          /* instructions */
    int64_t collective_bytes[FG_COLLECTIVES]; /* of their results */
    int dots[FGI_DTYPES];                     /* matmuls by the dtype of the operands */
    int convs[FGI_DTYPES];
    int custom_calls;
    double kernel_flops; /* of kernels (src/kernel), which the compiler does not count */
} fgi_hlo_counts;
void fgi_hlo_count(const fgi_hlo *hlo, fgi_hlo_counts *out);

#endif
