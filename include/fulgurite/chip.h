/* chip.h - what accelerators can do at best, by name: rates, memory, links, each with its source.
 *
 * The figures are the makers' public ones for dense arithmetic (no sparsity), of a whole chip. A
 * figure that is not public is 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CHIP_H
#define FULGURITE_CHIP_H

#include <fulgurite/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One accelerator. Strings are static. Rates are multiplications and additions a second, each
 * counted as one. */
typedef struct fg_chip {
    const char *name;        /* "TPU v5e", "NVIDIA A100 80GB SXM" */
    const char *generation;  /* of a TPU: "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; else NULL */
    int devices;             /* PJRT devices that a chip is seen as */
    double f64, f32;         /* of the vector units */
    double tf32, f16, bf16;  /* of the matrix units, sums in f32 */
    double fp8, int8;        /* likewise */
    double memory_bytes;     /* HBM, or a GPU's memory */
    double memory_bandwidth; /* bytes a second */
    int mxu_count, mxu_size; /* matrix units of a TPU: so many, of size x size multipliers */
    double clock_hz;         /* of a TPU's matrix units */
    bool is_clock_derived;   /* not told by the maker: follows from peak rate and matrix units */
    double ici_bandwidth;    /* links to other TPUs, both directions together: bytes a second */
    const char *source;      /* the documents */
} fg_chip;

/* The table, in the order of its rows. NULL past the last. Thread-safe. */
FG_API size_t fg_chip_count(void);
FG_API const fg_chip *fg_chip_at(size_t index);

/* The chip of a PJRT device kind (fg_device_info.kind: "TPU v5 lite", "NVIDIA A100-SXM4-80GB"), or
 * NULL where the table has none: every CPU, and chips not listed. Thread-safe. */
FG_API const fg_chip *fg_chip_find(const char *kind);

/* The peak rate of one PJRT device for matmuls of this dtype, as XLA computes them by
 * default: f32 in one pass of bf16 on a TPU, in tf32 on a GPU that has it. 0: not known. chip may
 * be NULL. Thread-safe. */
FG_API double fg_chip_matmul_rate(const fg_chip *chip, fg_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
