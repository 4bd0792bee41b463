/* chip.h - peak rates, memory and interconnect of accelerators, by name, with their sources.
 *
 * All values are the vendors' published specifications of a whole chip, for dense arithmetic (no
 * sparsity). A value that is not published is 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CHIP_H
#define FULGURITE_CHIP_H

#include <fulgurite/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One accelerator. Strings are static. Rates are in FLOP/s (multiplications and additions are
 * counted separately) or integer operations per second. */
typedef struct fg_chip {
    const char *name;        /* "TPU v5e", "NVIDIA A100 80GB SXM" */
    const char *generation;  /* TPU generation: "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; else NULL */
    int devices;             /* PJRT devices per chip */
    double f64, f32;         /* peak rates of the vector units */
    double tf32, f16, bf16;  /* peak rates of the matrix units, with f32 accumulation */
    double fp8, int8;        /* peak rates of the matrix units */
    double memory_bytes;     /* HBM, or GPU memory */
    double memory_bandwidth; /* bytes/s */
    int mxu_count, mxu_size; /* TPU: number of matrix units, of mxu_size x mxu_size multipliers */
    double clock_hz;         /* TPU: clock rate of the matrix units */
    bool is_clock_derived;   /* the clock is not published: computed from peak rate and MXUs */
    double ici_bandwidth;    /* TPU interconnect, both directions together, bytes/s */
    const char *source;      /* reference documents */
} fg_chip;

/* The table of accelerators. fg_chip_at returns NULL if index is out of range. Thread-safe. */
FG_API size_t fg_chip_count(void);
FG_API const fg_chip *fg_chip_at(size_t index);

/* The chip of a PJRT device kind (fg_device_info.kind: "TPU v5 lite", "NVIDIA A100-SXM4-80GB"), or
 * NULL if it is not in the table: CPUs and unlisted chips. Thread-safe. */
FG_API const fg_chip *fg_chip_find(const char *kind);

/* The peak rate of one PJRT device for matmuls of this dtype, as XLA computes them by
 * default: f32 in one pass of bf16 on a TPU, in tf32 on a GPU that has it. 0: not known. chip may
 * be NULL. Thread-safe. */
FG_API double fg_chip_matmul_rate(const fg_chip *chip, fg_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
