/* kernel.h - the kernels. Tensors are row-major, and f32 unless stated otherwise. The compile cache
 * only sees the names, which are part of the programs, so a kernel with another result needs a
 * new name. Thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_KERNEL_H
#define FGI_KERNEL_KERNEL_H

#include <inttypes.h>

#include "kernel/ffi.h"

/* The attribute of calls with numbers, array<i64>; the first one is the number of FLOPs of the
 * operation, which the compiler does not know. All names have the same prefix. */
#define FGI_KERNEL_NUMBERS   "numbers"
/* The other attribute, an i64 that its error begins with, in this form: which call it was. */
#define FGI_KERNEL_CALL      "call"
#define FGI_KERNEL_CALL_MARK "[call %016" PRIx64 "] "
#define FGI_KERNEL_PREFIX    "fulgurite."

/* y[batch, M, N] = op(a) op(b): f32 or bf16, of any rank with as many elements, added up in f32.
 * FGI_KERNEL_NUMBERS: those of the struct, all int64_t. The second kernel is oneDNN's; the first
 * takes up to FGI_KERNEL_MATMUL_TERMS further operands, [N] or [M, N], which are added to y, before
 * relu if it is asked for; then batch is 1, and inner is not 0. */
#define FGI_KERNEL_MATMUL_PREFIX FGI_KERNEL_PREFIX "matmul"
#define FGI_KERNEL_MATMUL        FGI_KERNEL_MATMUL_PREFIX ".3"
#define FGI_KERNEL_MATMUL_DNNL   FGI_KERNEL_MATMUL_PREFIX "_dnnl.1"
typedef struct fgi_kernel_matmul_numbers {
    int64_t flops, batch, rows, inner, columns; /* rows: M, columns: N */
    int64_t a_is_transposed, b_is_transposed;   /* in memory [inner, rows], [columns, inner] */
    int64_t is_relu;
} fgi_kernel_matmul_numbers;
enum { FGI_KERNEL_MATMUL_TERMS = 2 };

/* o = softmax(scale q k') v of queries T[B, queries, heads, D] and keys T[B, keys, kv_heads, D],
 * f32 or bf16, each head of keys for `group` heads of queries; causal: a query sees no later keys,
 * of which the last are the queries' own. (q, k, v, scale f32[]) -> (o, f32[B, heads, queries]:
 * the logarithm of the sum of exponentials); (q, k, v, scale, o, it, do) -> (dq, dk, dv).
 * FGI_KERNEL_NUMBERS: those of the struct. queries is at most keys. Packed: T[B, T, C] has queries,
 * keys and values one after another, and so has the gradient: (p, scale) -> (o, f32[B, heads, T]),
 * (p, scale, o, it, do) -> dp. */
#define FGI_KERNEL_ATTENTION           FGI_KERNEL_PREFIX "attention.1"
#define FGI_KERNEL_ATTENTION_DX        FGI_KERNEL_PREFIX "attention_dx.1"
#define FGI_KERNEL_ATTENTION_PACKED    FGI_KERNEL_PREFIX "attention_packed.1"
#define FGI_KERNEL_ATTENTION_PACKED_DX FGI_KERNEL_PREFIX "attention_packed_dx.1"
typedef struct fgi_kernel_attention_numbers {
    int64_t flops, batch, queries, keys, kv_heads, group, width, is_causal;
} fgi_kernel_attention_numbers;

/* GELU, exact and by tanh, f32 or bf16: x -> y; (x, dy) -> dx. */
#define FGI_KERNEL_GELU      FGI_KERNEL_PREFIX "gelu.1"
#define FGI_KERNEL_GELU_TANH FGI_KERNEL_PREFIX "gelu_tanh.1"

/* Layer norm and RMS norm of rows of C numbers, f32 or bf16, with statistics in f32: (x, weight
 * f32[C], bias f32[C], eps f32[]) -> (y, mean f32[rows], rstd f32[rows]), mean 0 for RMS norm;
 * (x, weight, mean, rstd, dy) -> (dx, dweight f32[C], dbias f32[C], f32[chunks, 2, C]): memory for
 * the sums over each chunk of the rows, which are added up in order. */
#define FGI_KERNEL_LAYER_NORM           FGI_KERNEL_PREFIX "layer_norm.1"
#define FGI_KERNEL_LAYER_NORM_DX        FGI_KERNEL_PREFIX "layer_norm_dx.1"
#define FGI_KERNEL_RMS_NORM             FGI_KERNEL_PREFIX "rms_norm.1"
#define FGI_KERNEL_RMS_NORM_DX          FGI_KERNEL_PREFIX "rms_norm_dx.1"
/* Batch normalization in training, alone or with a relu, of x T[..., C] with at least 16 channels:
 * (x, n f32[]) -> mean, biased variance f32[C], of the first n rows, the others are padding; the
 * operands below, and optionally a tensor to add before the relu -> y; the operands and dy, the
 * derivative by y, 0 in padding rows -> dweight, dbias f32[C]; all of these and m f32[], the rows
 * that the statistics are of -> dx, with what passes through the statistics. x may be a part of
 * these rows; dweight and dbias are then the sums over all parts. Tensors of the shape of x are f32
 * or bf16. Statistics and gradients have another result, f32: memory for the call. */
#define FGI_KERNEL_BATCH_STATISTICS     FGI_KERNEL_PREFIX "batch_statistics.1"
#define FGI_KERNEL_BATCH_NORM           FGI_KERNEL_PREFIX "batch_norm.1"
#define FGI_KERNEL_BATCH_NORM_RELU      FGI_KERNEL_PREFIX "batch_norm_relu.1"
#define FGI_KERNEL_BATCH_NORM_SUMS      FGI_KERNEL_PREFIX "batch_norm_sums.1"
#define FGI_KERNEL_BATCH_NORM_RELU_SUMS FGI_KERNEL_PREFIX "batch_norm_relu_sums.1"
#define FGI_KERNEL_BATCH_NORM_DX        FGI_KERNEL_PREFIX "batch_norm_dx.2"
#define FGI_KERNEL_BATCH_NORM_RELU_DX   FGI_KERNEL_PREFIX "batch_norm_relu_dx.2"
enum {
    FGI_KERNEL_NORM_X,
    FGI_KERNEL_NORM_WEIGHT, /* f32[C], like the next three */
    FGI_KERNEL_NORM_BIAS,
    FGI_KERNEL_NORM_MEAN,
    FGI_KERNEL_NORM_RSTD,  /* 1 / sqrt(variance + eps) */
    FGI_KERNEL_NORM_COUNT, /* n */
    FGI_KERNEL_NORM_IN,
    FGI_KERNEL_NORM_DY = FGI_KERNEL_NORM_IN,
    FGI_KERNEL_NORM_SUMS_IN,
    FGI_KERNEL_NORM_DWEIGHT = FGI_KERNEL_NORM_SUMS_IN,
    FGI_KERNEL_NORM_DBIAS,
    FGI_KERNEL_NORM_ALL, /* m */
    FGI_KERNEL_NORM_DX_IN
};
/* The size of that memory, for C channels and this number of rows. */
int64_t fgi_kernel_batch_norm_memory(int64_t rows, int64_t channels);

/* Maxima over windows of images [N, H, W, C], f32 or bf16: x -> y; the gradient (x, y, dy) -> dx,
 * of the first maximum in row-major order. FGI_KERNEL_NUMBERS: those of the struct. */
#define FGI_KERNEL_MAX_POOL    FGI_KERNEL_PREFIX "max_pool.1"
#define FGI_KERNEL_MAX_POOL_DX FGI_KERNEL_PREFIX "max_pool_dx.1"
typedef struct fgi_kernel_pool_numbers {
    int64_t flops, size, stride, low[2]; /* low: padding above and on the left */
} fgi_kernel_pool_numbers;

/* Sums over all axes but the last: bf16[..., C] -> f32[C], and f32[]: memory for the call, of that
 * size for this number of rows. C is not 0. */
#define FGI_KERNEL_COLUMN_SUMS FGI_KERNEL_PREFIX "column_sums.1"
int64_t fgi_kernel_column_sums_memory(int64_t rows, int64_t columns);

/* Any number of tensors -> f32[]: 0 if all elements are finite, else NaN. */
#define FGI_KERNEL_NONFINITE "fulgurite.nonfinite.1"

/* Adam's update (src/op/adam_update.c) of up to FGI_KERNEL_ADAM_MOST parameters p with moments m
 * and s and gradient g, of the shape of p, and the numbers of enum fgi_kernel_adam: (p, m, s for
 * each; g for each; f32[FGI_KERNEL_ADAM_NUMBERS]) -> (p, m, s for each), in the same memory. */
#define FGI_KERNEL_ADAM "fulgurite.adam.1"
enum fgi_kernel_adam {
    FGI_KERNEL_ADAM_PENALTY, /* times p is added to g */
    FGI_KERNEL_ADAM_KEEP,    /* p is multiplied by it */
    FGI_KERNEL_ADAM_REST,    /* 1 - beta1 */
    FGI_KERNEL_ADAM_BETA2,
    FGI_KERNEL_ADAM_REST2, /* 1 - beta2 */
    FGI_KERNEL_ADAM_WIDEN, /* 1 / sqrt(1 - beta2^t) */
    FGI_KERNEL_ADAM_EPS,
    FGI_KERNEL_ADAM_RATE,  /* lr / (1 - beta1^t) */
    FGI_KERNEL_ADAM_AFTER, /* ignored: it is known when the last value that depends on p is */
    FGI_KERNEL_ADAM_NUMBERS,
    FGI_KERNEL_ADAM_MOST = 5
};

/* Notes the time and its operand, u32[], while a record is on: (u32[]) -> (). */
#define FGI_KERNEL_CLOCK "fulgurite.clock.1"
typedef struct fgi_tick {
    int64_t ns;
    uint32_t mark; /* the operand */
} fgi_tick;
/* Starts a record; false: one is on. There is one in a process. */
bool fgi_clock_start(fgi_tick *ticks, size_t most);
/* Ends it, when no program runs that calls the kernel; the number of calls, may exceed `most`. */
size_t fgi_clock_stop(void);

/* Convolutions of images [N, H, W, C] with kernels [3, 3, C, Co] and a stride of 1; C and Co are
 * multiples of FGI_KERNEL_WINOGRAD_UNIT. FGI_KERNEL_NUMBERS: FLOPs, and the pixels of padding above
 * and on the left. y of (x, k), the gradient of x of (dy, k), that of k of (x, dy). Tensors are f32
 * or bf16, apart from a second result, f32: memory for the call. */
#define FGI_KERNEL_CONV_PREFIX FGI_KERNEL_PREFIX "conv"
#define FGI_KERNEL_WINOGRAD    FGI_KERNEL_CONV_PREFIX "_winograd.1"
#define FGI_KERNEL_WINOGRAD_DX FGI_KERNEL_CONV_PREFIX "_winograd_dx.1"
#define FGI_KERNEL_WINOGRAD_DK FGI_KERNEL_CONV_PREFIX "_winograd_dk.1"
enum { FGI_KERNEL_WINOGRAD_UNIT = 16 };
/* Whether this processor runs them. */
bool fgi_kernel_winograd_runs(void);
/* The size of that memory for `from` channels and a result y [N, H, W, Co], of the convolution or
 * dx, or dy for dk. With less, fewer threads take part. */
int64_t fgi_kernel_winograd_memory(const int64_t *y, int64_t from, int threads, bool is_dk);

/* Convolutions of images in two dimensions, in bf16, by the matrix tiles of AMX; groups is 1, both
 * strides are the same, C and Co are multiples of FGI_KERNEL_TILES_UNIT, at most _CHANNELS, and a
 * kernel has at most _TAPS pixels. FGI_KERNEL_NUMBERS and operands: as below. The gradient of k may
 * be f32. A second result, f32, is memory for the call. */
#define FGI_KERNEL_TILES    FGI_KERNEL_CONV_PREFIX "_tiles.1"
#define FGI_KERNEL_TILES_DX FGI_KERNEL_CONV_PREFIX "_tiles_dx.1"
#define FGI_KERNEL_TILES_DK FGI_KERNEL_CONV_PREFIX "_tiles_dk.1"
enum {
    FGI_KERNEL_TILES_UNIT = 32,
    FGI_KERNEL_TILES_TAPS = 64,
    FGI_KERNEL_TILES_CHANNELS = 1 << 14
};
/* Whether this processor runs them, and the system lets it. */
bool fgi_kernel_tiles_run(void);
/* The size of that memory, for the dimensions of k and y. */
int64_t fgi_kernel_tiles_memory(const int64_t *k, const int64_t *y, bool is_dk);
/* Whether FGI_KERNEL_MATMUL uses them, with bf16 operands. */
bool fgi_kernel_tiles_multiply(const fgi_kernel_matmul_numbers *n);

/* Convolutions in one to three dimensions, and their gradients, by oneDNN if it is installed
 * (kernel/dnnl.h): images [N, sizes, C], kernels [sizes, C / groups, Co], f32 or bf16; the operands
 * as above. FGI_KERNEL_NUMBERS are those of the struct, all int64_t. */
#define FGI_KERNEL_CONV    FGI_KERNEL_CONV_PREFIX ".1"
#define FGI_KERNEL_CONV_DX FGI_KERNEL_CONV_PREFIX "_dx.1"
#define FGI_KERNEL_CONV_DK FGI_KERNEL_CONV_PREFIX "_dk.1"
typedef struct fgi_kernel_conv_numbers {
    int64_t flops, groups, stride[3], dilation[3], low[3]; /* low: pixels of padding before */
} fgi_kernel_conv_numbers;
/* Whether oneDNN is there and computes this, one of y, dx and dk. The tensors have no data. */
typedef enum fgi_kernel_conv_kind {
    FGI_KERNEL_CONV_OF_Y,
    FGI_KERNEL_CONV_OF_X,
    FGI_KERNEL_CONV_OF_K
} fgi_kernel_conv_kind;
bool fgi_kernel_conv_runs(fgi_kernel_conv_kind kind, const fgi_ffi_buffer *x,
                          const fgi_ffi_buffer *k, const fgi_ffi_buffer *y,
                          const fgi_kernel_conv_numbers *numbers);

/* oneDNN's version, "2.6.3", or NULL if it is not installed; loads it first. */
const char *fgi_kernel_dnnl_version(void);
/* How fast the processor multiplies bf16, compared with f32. */
typedef enum fgi_kernel_halves {
    FGI_KERNEL_HALF_NONE,  /* only by converting to f32 */
    FGI_KERNEL_HALF_SAME,  /* as fast: Intel's AVX-512 */
    FGI_KERNEL_HALF_TWICE, /* AMD's AVX-512 */
    FGI_KERNEL_HALF_TILES  /* AMX: ten times as fast */
} fgi_kernel_halves;
fgi_kernel_halves fgi_kernel_half(void);

/* Calls the user's handler with this name, with the attributes except the first two: the number of
 * the call, and FGI_KERNEL_HANDLER. Their names come before all others, which are sorted. */
#define FGI_KERNEL_CUSTOM      FGI_KERNEL_PREFIX "custom.1"
#define FGI_KERNEL_CUSTOM_CALL "\"$call\""
#define FGI_KERNEL_HANDLER     "\"$handler\""
/* In this process; keeps the first one of a name, as XLA does. False when out of memory. */
bool fgi_handler_add(const char *name, void *(*run)(fgi_ffi_call *call));
bool fgi_handler_is_known(const char *name);

typedef struct fgi_kernel {
    const char *name;
    void *(*run)(fgi_ffi_call *call); /* NULL, or the error of XLA's interface */
} fgi_kernel;

extern const fgi_kernel fgi_kernels[];
extern const size_t fgi_kernel_count;

void *fgi_kernel_matmul(fgi_ffi_call *call);
void *fgi_kernel_attention(fgi_ffi_call *call);
void *fgi_kernel_attention_dx(fgi_ffi_call *call);
void *fgi_kernel_attention_packed(fgi_ffi_call *call);
void *fgi_kernel_attention_packed_dx(fgi_ffi_call *call);
void *fgi_kernel_gelu(fgi_ffi_call *call);
void *fgi_kernel_gelu_tanh(fgi_ffi_call *call);
void *fgi_kernel_layer_norm(fgi_ffi_call *call);
void *fgi_kernel_layer_norm_dx(fgi_ffi_call *call);
void *fgi_kernel_rms_norm(fgi_ffi_call *call);
void *fgi_kernel_rms_norm_dx(fgi_ffi_call *call);
void *fgi_kernel_batch_statistics(fgi_ffi_call *call);
void *fgi_kernel_batch_norm(fgi_ffi_call *call);
void *fgi_kernel_batch_norm_relu(fgi_ffi_call *call);
void *fgi_kernel_batch_norm_sums(fgi_ffi_call *call);
void *fgi_kernel_batch_norm_relu_sums(fgi_ffi_call *call);
void *fgi_kernel_batch_norm_dx(fgi_ffi_call *call);
void *fgi_kernel_batch_norm_relu_dx(fgi_ffi_call *call);
void *fgi_kernel_max_pool(fgi_ffi_call *call);
void *fgi_kernel_max_pool_dx(fgi_ffi_call *call);
void *fgi_kernel_column_sums(fgi_ffi_call *call);
void *fgi_kernel_nonfinite(fgi_ffi_call *call);
void *fgi_kernel_adam(fgi_ffi_call *call);
void *fgi_kernel_clock(fgi_ffi_call *call);
void *fgi_kernel_conv(fgi_ffi_call *call);
void *fgi_kernel_conv_dx(fgi_ffi_call *call);
void *fgi_kernel_conv_dk(fgi_ffi_call *call);
void *fgi_kernel_custom(fgi_ffi_call *call);
void *fgi_kernel_matmul_dnnl(fgi_ffi_call *call);
void *fgi_tiles_matmul(fgi_ffi_call *call, const fgi_kernel_matmul_numbers *n);
void *fgi_kernel_tiles(fgi_ffi_call *call);
void *fgi_kernel_tiles_dx(fgi_ffi_call *call);
void *fgi_kernel_tiles_dk(fgi_ffi_call *call);
void *fgi_kernel_winograd(fgi_ffi_call *call);
void *fgi_kernel_winograd_dx(fgi_ffi_call *call);
void *fgi_kernel_winograd_dk(fgi_ffi_call *call);

#endif
