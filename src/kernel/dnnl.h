/* dnnl.h - convolutions and matmuls of oneDNN (libdnnl), which is loaded if it is installed.
 * Thread-safe. Source: oneDNN's C API, versions 2 and 3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_DNNL_H
#define FGI_KERNEL_DNNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FGI_DNNL_RANK = 12, FGI_DNNL_WINDOW = 3 };

/* dnnl_data_type_t */
typedef enum fgi_dnnl_type { FGI_DNNL_BF16 = 2, FGI_DNNL_F32 = 3 } fgi_dnnl_type;

typedef struct fgi_dnnl_tensor {
    int64_t type, rank;
    int64_t dim[FGI_DNNL_RANK], stride[FGI_DNNL_RANK]; /* in elements */
} fgi_dnnl_tensor;

typedef enum fgi_dnnl_kind {
    FGI_DNNL_CONV,
    FGI_DNNL_CONV_DX,
    FGI_DNNL_CONV_DK,
    FGI_DNNL_MATMUL
} fgi_dnnl_kind;

/* x [N, C, sizes], k [Co, C, sizes] or [groups, Co / groups, C / groups, sizes], y [N, Co, sizes],
 * in any order in memory; or matrices [M, K], [K, N] and [M, N], all with a batch in front or none.
 * One of them is the result. A hash of the struct is the key of what oneDNN compiled: clear it. */
typedef struct fgi_dnnl_problem {
    int64_t kind;
    fgi_dnnl_tensor x, k, y;
    int64_t window;                                             /* dimensions */
    int64_t stride[FGI_DNNL_WINDOW], dilation[FGI_DNNL_WINDOW]; /* dilation 1: none */
    int64_t low[FGI_DNNL_WINDOW], high[FGI_DNNL_WINDOW];
} fgi_dnnl_problem;

/* Whether it is there; loads it first. "3.2.0"; NULL: it is not. */
const char *fgi_dnnl_version(void);
/* Whether it is there and can compute this. */
bool fgi_dnnl_can(const fgi_dnnl_problem *problem);
/* Computes the result. False with oneDNN's status in *status if it can't. */
bool fgi_dnnl_run(const fgi_dnnl_problem *problem, void *x, void *k, void *y, int *status);

#endif
