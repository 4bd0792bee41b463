/* pool.h - pooling.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_POOL_H
#define FULGURITE_OPS_POOL_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pooling of T[N, H, W, C] over windows of size x size: T[N, H', W', C] with
 * H' = floor((H + 2 pad - size)/stride) + 1.
 *   - fg_max_pool: the first of equal elements of a window, in row-major order, receives the
 *     gradient. Whether NaN is propagated or ignored depends on the platform.
 *   - fg_avg_pool divides by size * size, including padding, as PyTorch does by default. */
typedef struct fg_pool_options {
    int64_t size;   /* window size in pixels            [2]    */
    int64_t stride; /* in pixels                        [size] */
    int64_t pad;    /* padding on each side, in pixels  [0]    */
    uint64_t reserved[2];
} fg_pool_options;
FG_API fg_tensor fg_max_pool(fg_tensor x, const fg_pool_options *options);
FG_API fg_tensor fg_avg_pool(fg_tensor x, const fg_pool_options *options);
/* Global average pooling, the mean over H and W: T[N, H, W, C] -> T[N, C]. */
FG_API fg_tensor fg_global_avg_pool(fg_tensor x);
/* Pooling of images in one to three dimensions to results with these sizes, over windows that are
 * computed from them: window i of n along a dimension of size s is the elements
 * floor(i s / n) to ceil((i + 1) s / n) - 1.
 *
 *   x        T[N, L, C], T[N, H, W, C] or T[N, D, H, W, C]
 *   size     a number for each of L; H, W; D, H, W, from 1 to 32767
 *   returns  T[N, size..., C]
 *
 * Gradient of the maximum: as of fg_max, along one dimension after the other. Source: PyTorch,
 * adaptive_avg_pool2d and adaptive_max_pool2d. */
FG_API fg_tensor fg_adaptive_avg_pool(fg_tensor x, const int64_t *size);
FG_API fg_tensor fg_adaptive_max_pool(fg_tensor x, const int64_t *size);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_max_pool(...)          FG_HERE(fg_max_pool(__VA_ARGS__))
#define fg_avg_pool(...)          FG_HERE(fg_avg_pool(__VA_ARGS__))
#define fg_global_avg_pool(...)   FG_HERE(fg_global_avg_pool(__VA_ARGS__))
#define fg_adaptive_avg_pool(...) FG_HERE(fg_adaptive_avg_pool(__VA_ARGS__))
#define fg_adaptive_max_pool(...) FG_HERE(fg_adaptive_max_pool(__VA_ARGS__))
#endif
#endif
