/* program.h - compiled traces: found by structure, bound to the arrays of the leaves, launched.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_PROGRAM_H
#define FGI_TRACE_PROGRAM_H

#include "pjrt/pjrt.h"
#include "trace/graph.h"
#include "trace/trace.h"

/* A compiled program and the mapping of its arguments and results to leaves. Reference counted;
 * belongs to the thread of its trace. It is independent of the particular arrays and variables. */
typedef struct fgi_program fgi_program;
typedef struct fgi_layout fgi_layout;

/* The program for these outputs and the trace's assignments: found in the trace's table by
 * structure, or emitted and compiled. Borrowed from the trace. */
fg_status fgi_program_get(fg_trace *trace, const fg_tensor *outputs, size_t count,
                          fgi_program **out, fg_error *err);
void fgi_programs_fini(fgi_programs *programs);
/* Borrowed from the program. */
const struct fgi_matmul_flops *fgi_program_flops(const fgi_program *program);
const fgi_executable *fgi_program_executable(const fgi_program *program);

/* Number of multiplications and additions in a program's matmuls and convolutions, counted from the
 * graph, over all devices, by the operands' dtype. */
typedef struct fgi_matmul_flops {
    double of[FG_F64 + 1];
} fgi_matmul_flops;

/* A step that is independent of later traces: a program bound to its variables and scalars,
 * launched repeatedly with new feeds. The trace may be reset afterwards, but not destroyed. */
typedef struct fgi_step_program fgi_step_program;
fg_status fgi_step_program_create(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                  fgi_step_program **out, fg_error *err);
void fgi_step_program_destroy(fgi_step_program *step);
/* For a program with several steps per launch (fgi_launch): step `number` of the next launch,
 * starting at 0, gets the current values of the scalars, and is its last one so far. */
void fgi_step_program_add(fgi_step_program *step, int64_t number);
fg_status fgi_step_program_launch(fgi_step_program *step, fg_array *const *feeds, size_t feed_count,
                                  fg_array **out_arrays, fgi_event **out_done, fg_error *err);
/* Exchanges the executable for another form of it. */
void fgi_step_program_swap(fgi_step_program *step, fgi_executable **executable);
/* Borrowed for the step's lifetime. */
const fgi_executable *fgi_step_program_executable(const fgi_step_program *step);
const fgi_matmul_flops *fgi_step_program_flops(const fgi_step_program *step);

/* The arguments and results of a program: computed before emission. */
struct fgi_layout {
    size_t *argument_leaf; /* leaf of each array argument, in order */
    size_t argument_count;
    size_t *scalar_leaf; /* leaf of each word of the packed scalars, which is the last argument */
    size_t scalar_count;
    size_t *assigned_leaf; /* leaf of each result after the outputs */
    size_t assigned_count;
    size_t output_count;
    bool *is_live; /* by node id */
};

/* FG_OK if all outputs are values of this trace and it has no error; else that error. */
fg_status fgi_outputs_check(const fg_trace *trace, const fg_tensor *outputs, size_t count,
                            fg_error *err);
/* Determines which leaves and nodes a program needs; free it with fgi_layout_fini. */
fg_status fgi_layout_make(const fg_trace *trace, const fg_tensor *outputs, size_t count,
                          fgi_layout *out, fg_error *err);
void fgi_layout_fini(fgi_layout *layout);

/* If the message of a compiler contains the location of one of the program's operations, which is
 * emitted with each (hlo/mlir.h): prepends the operation with the types of its operands, and sets
 * the user's file and line. Returns err's status. */
fg_status fgi_compile_explain(const fg_trace *trace, const fgi_layout *layout, fg_error *err);

/* "dot(f64[3,4], f64[4,5])" */
void fgi_node_format(const fgi_node *node, char *out, size_t size);

/* Options and restrictions for the CPU plugin's compiler (cpu.c). */
const fgi_flag *fgi_cpu_flags(const fg_client *client, size_t *out_count);
/* On the CPU: marks the live nodes whose values must be stored rather than fused into their users,
 * by node id. Returns false when out of memory. */
bool fgi_cpu_stored(const fg_trace *trace, const bool *is_live, bool *out);

/* On the CPU: a step that is called in a loop must be compiled separately. */
bool fgi_cpu_isolates(const fg_trace *trace);

/* The sharding of result i (outputs, then assigned variables). */
const fgi_sharding *fgi_result_sharding(const fg_trace *trace, const fgi_layout *layout, size_t i);
/* Writes the StableHLO module (emit.c). */
fg_status fgi_emit_module(const fg_trace *trace, const fgi_layout *layout, const fg_tensor *outputs,
                          bool with_locations, fgi_buf *out, fg_error *err);

/* ---- several steps per launch (launch_loop.c) ------------------------------------------------ */

/* An argument of the program for this leaf: batches have the steps as their first dimension. */
fg_type fgi_launch_type(const fg_trace *trace, const fgi_leaf *leaf);
fgi_sharding fgi_launch_sharding(const fg_trace *trace, const fgi_leaf *leaf);
/* Number of packed words: the scalars or, if there is a loop, the number of steps followed by the
 * scalars of each step. */
size_t fgi_launch_words(const fg_trace *trace, const fgi_layout *layout);
/* Writes @main, which calls @step in a loop. */
fg_status fgi_emit_launch_loop(const fg_trace *trace, const fgi_layout *layout,
                               const fg_tensor *outputs, fgi_buf *out, fg_error *err);

#endif
