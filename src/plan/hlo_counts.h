/* hlo_counts.h - what the compiler made of a program, as XLA's HLO: read from the bytes that a
 * plugin gives, and counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_HLO_COUNTS_H
#define FGI_PLAN_HLO_COUNTS_H

#include <fulgurite/dtype.h>

#include "base/error.h"

/* A module in memory. Owned by who read it; one thread at a time. */
typedef struct fgi_hlo fgi_hlo;

/* data is a serialised HloModuleProtoWithConfig; it is not needed afterwards. Errors: FG_EFORMAT,
 * FG_ENOMEM. */
fg_status fgi_hlo_read(const void *data, size_t size, fgi_hlo **out, fg_error *err);
void fgi_hlo_free(fgi_hlo *hlo);

/* Communication between devices. */
typedef enum fgi_collective {
    FGI_ALL_REDUCE,
    FGI_ALL_GATHER,
    FGI_REDUCE_SCATTER,
    FGI_ALL_TO_ALL,
    FGI_PERMUTE,
    FGI_COLLECTIVES
} fgi_collective;
const char *fgi_collective_name(fgi_collective kind); /* "all-reduce" */

enum { FGI_DTYPES = FG_F64 + 1 };

/* What a module holds. Bytes are of one device and without padding. */
typedef struct fgi_hlo_counts {
    int parameters, donated; /* arguments, and those whose memory a result takes over */
    int64_t parameter_bytes, donated_bytes;
    int collectives[FGI_COLLECTIVES];          /* instructions */
    int64_t collective_bytes[FGI_COLLECTIVES]; /* of their results */
    int dots[FGI_DTYPES];                      /* matmuls by the type of what is multiplied */
    int convs[FGI_DTYPES];
    int custom_calls;
} fgi_hlo_counts;
void fgi_hlo_count(const fgi_hlo *hlo, fgi_hlo_counts *out);

#endif
