/* hlo_work.h - the work of one instruction of an HLO module: elements and padded tiles of its
 * arrays, arithmetic of matmuls, main memory traffic, and the compiler's estimate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_HLO_WORK_H
#define FGI_PLAN_HLO_WORK_H

#include "plan/analysis.h"
#include "plan/hlo_module.h"

/* ---- arrays in tiles ------------------------------------------------------------------------- */

/* Size in whole tiles according to the layout, for a tuple of all elements; without a layout the
 * same as fgi_hlo_bytes. */
int64_t fgi_hlo_padded_bytes(const fgi_hlo_shape *shape);
/* The padded size of dimension i according to the layout. */
fgi_plan_dim fgi_hlo_padded_dim(const fgi_hlo_shape *shape, int64_t i);
/* Only what is located in the device's main memory. */
void fgi_hlo_main_bytes(const fgi_hlo_shape *shape, double *bytes, double *padded);

/* ---- finding instructions -------------------------------------------------------------------- */

typedef struct fgi_hlo_entry {
    int64_t id;
    const fgi_hlo_op *op;
    const fgi_hlo_op *user; /* the first instruction that uses its result, or NULL */
} fgi_hlo_entry;

/* All instructions of a module by id. */
typedef struct fgi_hlo_index {
    const fgi_hlo *hlo;
    fgi_hlo_entry *entry;
    size_t count;
} fgi_hlo_index;

fg_status fgi_hlo_index_make(const fgi_hlo *hlo, fgi_hlo_index *out, fg_error *err);
void fgi_hlo_index_fini(fgi_hlo_index *index);
/* NULL if it does not exist. */
const fgi_hlo_entry *fgi_hlo_find(const fgi_hlo_index *index, int64_t id);
const fgi_hlo_op *fgi_hlo_in(const fgi_hlo_index *index, const fgi_hlo_op *op, size_t operand);
/* Computation i that an instruction calls, or NULL. */
const fgi_hlo_computation *fgi_hlo_called(const fgi_hlo_index *index, const fgi_hlo_op *op,
                                          size_t i);
/* The first of them if the instruction is an `opcode`, such as "fusion", or NULL. */
const fgi_hlo_computation *fgi_hlo_body(const fgi_hlo_index *index, const fgi_hlo_op *op,
                                        const char *opcode);
const fgi_hlo_op *fgi_hlo_root(const fgi_hlo_index *index, const fgi_hlo_computation *in);

/* ---- work of an instruction ------------------------------------------------------------------ */

enum { FGI_HLO_MATMUL_DIMS = 3 + FG_MAX_RANK };

/* A matmul: its arithmetic (multiplications and additions are counted separately) and its
 * dimensions. */
typedef struct fgi_hlo_arithmetic {
    double flops, padded_flops;
    int dim_count;
    fgi_plan_dim dim[FGI_HLO_MATMUL_DIMS];
    fg_dtype dtype; /* of the operands, the wider one */
    bool is_precise;
} fgi_hlo_arithmetic;
/* False if it is not a matmul that can be counted. */
bool fgi_hlo_arithmetic_of(const fgi_hlo_index *index, const fgi_hlo_op *op,
                           fgi_hlo_arithmetic *out);

/* Main memory traffic of an instruction; without what it calls, except for a fusion. */
void fgi_hlo_traffic(const fgi_hlo_index *index, const fgi_hlo_op *op, double *bytes,
                     double *padded);

/* The compiler's annotations of an instruction in its backend_config. */
typedef struct fgi_hlo_config {
    double cycles;      /* -1: not given */
    int64_t trips;      /* of a loop; -1 */
    bool is_beside;     /* a collective overlaps with the fusion that contains it */
    char algorithm[96]; /* of a collective, "Emitter, Strategy"; "" */
} fgi_hlo_config;
void fgi_hlo_config_read(const fgi_hlo_op *op, fgi_hlo_config *out);

/* The trip count of a loop, from its counter: initial value, increment and bound. -1: not known. */
int64_t fgi_hlo_trips(const fgi_hlo_index *index, const fgi_hlo_op *loop);

/* ---- where an instruction comes from (analysis.c) -------------------------------------------- */

/* Whether our emitter wrote it, in a module or on a line of the user. Operations added by the
 * compiler have no name, or that of an argument and no location. */
bool fgi_hlo_has_name(const fgi_hlo_index *index, const fgi_hlo_op *op);
/* Its layer: a module, "train.c:31" outside modules, or "elsewhere"; and the user's file and line,
 * NULL: not known. Returns the instruction that it belongs to: one that the compiler added belongs
 * to its user. */
const fgi_hlo_op *fgi_hlo_layer(const fgi_hlo_index *index, const fgi_hlo_op *op, char *name,
                                size_t size, const char **file, int *line);

/* ---- the walk over a program (analysis.c) ---------------------------------------------------- */

typedef struct fgi_plan_walk {
    fgi_hlo_index index;
    fgi_plan_analysis *out;
    size_t layer_capacity, collective_capacity;
    bool failed; /* out of memory */
} fgi_plan_walk;

/* Adds a collective that runs `times` times. */
void fgi_plan_add_collective(fgi_plan_walk *w, const fgi_hlo_op *op, fg_collective kind,
                             const fgi_hlo_config *config, double times);
/* Adds the collectives in a fusion. */
void fgi_plan_add_fused_collectives(fgi_plan_walk *w, const fgi_hlo_op *op, double times);

/* Whether a matmul, or the dtype of an instruction's result, is slow on the chip. */
bool fgi_plan_matmul_is_slow(const fgi_plan_machine *machine, const fgi_hlo_arithmetic *matmul,
                             fgi_plan_slow_kind *out);
bool fgi_plan_format_is_slow(const fgi_plan_machine *machine, const fgi_hlo_index *index,
                             const fgi_hlo_op *op, fgi_plan_slow_kind *out);

/* Computes the times from the sums. */
void fgi_plan_estimate(fgi_plan_analysis *out);

#endif
