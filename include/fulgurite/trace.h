/* trace.h - lazy tensors, variables and running what was traced.
 *
 * An operation on tensors does nothing but write itself down in its trace; running the trace
 * compiles the whole as one program (or finds it compiled) and launches it on the client's devices.
 * Values live in the trace's memory and die with it: no tensor is ever freed by the user.
 *
 * A graph call never fails visibly. The first error of a trace is kept in it, with the user's file
 * and line; operations after it do nothing; the next eager call on the trace returns it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TRACE_H
#define FULGURITE_TRACE_H

#include <fulgurite/base.h>
#include <fulgurite/device.h>
#include <fulgurite/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program being written down. Owner thread only. */
typedef struct fg_trace fg_trace;

/* A value of a trace: an edge of its graph, with a dtype and a shape but no number yet. Passed by
 * value; never empty (a failed operation returns its trace's poison value). Lives until its trace
 * is run, reset or destroyed. Using it after that, or using an empty one, is an error (FG_EINVAL)
 * that is kept in the trace which the thread is writing. */
typedef struct fg_tensor {
    uint64_t handle; /* the library's own; 0: empty */
} fg_tensor;

/* ---- traces ---------------------------------------------------------------------------------- */

/* Starts an empty trace. client may be NULL for a trace that is never run. Errors: FG_ENOMEM,
 * FG_EUNSUPPORTED when 4,095 traces exist already. */
FG_API FG_MUST_USE fg_status fg_trace_create(fg_client *client, fg_trace **out, fg_error *err);
/* NULL is allowed. */
FG_API void fg_trace_destroy(fg_trace *trace);
/* Empties the trace: its tensors die, its first error is forgotten; settings, compiled programs
 * and memory are kept. */
FG_API void fg_trace_reset(fg_trace *trace);

/* FG_OK, or the first error of the trace. err may be NULL. */
FG_API fg_status fg_trace_error(const fg_trace *trace, fg_error *err);
/* Borrowed; NULL for a trace without one. */
FG_API fg_client *fg_trace_client(const fg_trace *trace);

/* Whether layers behave as in training (dropout drops, batch norm uses and updates statistics).
 * Kept over resets. [false] */
FG_API void fg_trace_set_training(fg_trace *trace, bool training);
FG_API bool fg_trace_training(const fg_trace *trace);

/* What randomness is drawn from: the same (seed, step) gives the same bits on any number of
 * devices. Both are inputs of the program: changing them compiles nothing. Kept over resets. [0, 0]
 */
FG_API void fg_trace_set_seed(fg_trace *trace, uint64_t seed, uint64_t step);

/* Which rows of the batch are valid: f32[B], not 0 for a sample and 0 for a padding row, which
 * fills up the last batch of an epoch. Operations on values whose batch axis is known then leave
 * padding rows out (ops.h, "batches with padding rows"): own loops say it with fg_batch_axis;
 * otherwise losses and batch norm take dimension 0 for it, and nothing else is masked. For weights
 * of samples see fg_weighted_mean. A mask is part of one iteration: a reset drops it. Set it before
 * the first operation on the batch. The Trainer sets it itself, and refuses another one. Own loops
 * need it only for batches with padding rows. Errors, kept in the trace: FG_ESHAPE, FG_EDTYPE,
 * FG_EINVAL. */
FG_API void fg_trace_set_mask(fg_trace *trace, fg_tensor mask);
/* True, and the mask in *out, when one is set. */
FG_API bool fg_trace_mask(const fg_trace *trace, fg_tensor *out);

/* What the trace computes in, kept over resets:
 *
 *   "32-true"     as the operands are: f32 for f32                                    [the default]
 *   "bf16-mixed"  matmuls and convolutions in bf16, everything that is stored in f32
 *   "bf16-true"   the same with parameters in bf16 too (fg_module_set_precision)
 *   "16-mixed", "16-true"  f16 for bf16; the loss wants scaling (fg_optimizer_set_loss_scale)
 *   "64-true"     f64 (fg_module_set_precision)
 *
 * Under all but the first, fg_dot, fg_matmul and fg_conv2d cast floating operands to that format
 * and give it; sums, means, softmax and losses compute in f32 and give f32 (f64 for f64); where two
 * floating operands of other operations differ, the narrower is cast. Normalisation layers compute
 * in f32 and give their input's format. On all platforms products add up in f32.
 * Errors: FG_EINVAL for another name; FG_EUNSUPPORTED for f16 and f64 on a TPU.
 * Source: Micikevicius et al. 2018, "Mixed precision training". */
FG_API FG_MUST_USE fg_status fg_trace_set_precision(fg_trace *trace, const char *precision,
                                                    fg_error *err);
/* Its name; a constant. */
FG_API const char *fg_trace_precision(const fg_trace *trace);
/* The floating format of data under the precision, f64 under "64-true" and else f32: what pixels
 * and the like are cast to. */
FG_API fg_dtype fg_trace_float(const fg_trace *trace);

/* Names what follows for messages, profiles and random places: operations inside push("mlp") and
 * push("fc1") are "mlp/fc1/...". name is copied. pop undoes the last push. */
FG_API void fg_scope_push(fg_trace *trace, const char *name);
FG_API void fg_scope_pop(fg_trace *trace);

/* Remembers the user's place for the operation that follows. here.h calls it for every
 * operation; there is no need to. Thread-safe: the place is the calling thread's. */
FG_API void fg_here(const char *file, int line);

/* ---- tensors --------------------------------------------------------------------------------- */

/* Borrowed, lives as long as the tensor. dtype is FG_DTYPE_NONE for a poison value. */
FG_API const fg_type *fg_tensor_type(fg_tensor tensor);
FG_API fg_trace *fg_tensor_trace(fg_tensor tensor);
/* Size of dimension `axis`; negative axes count from the end. 0 for poison or no such axis. */
FG_API int64_t fg_tensor_dim(fg_tensor tensor, int axis);

/* The array's value as a tensor. The trace keeps a reference until it is reset. */
FG_API fg_tensor fg_input(fg_trace *trace, fg_array *array);

/* ---- variables: values that stay on the devices from run to run ------------------------------ */

/* A named value on the devices: what is trained, and what is kept beside it. */
typedef struct fg_variable fg_variable;

typedef enum fg_variable_kind {
    FG_PARAMETER = 0, /* trained: an optimizer changes it                             */
    FG_BUFFER = 1,    /* saved with the model, not trained: running statistics        */
    FG_STATE = 2      /* saved beside the model, for resuming: an optimizer's moments */
} fg_variable_kind;

typedef enum fg_init_kind {
    FG_INIT_ZEROS = 0,
    FG_INIT_CONSTANT = 1, /* every element is `a`                                     */
    FG_INIT_UNIFORM = 2,  /* uniform in [-a, a)                                       */
    FG_INIT_NORMAL = 3    /* normal with mean 0 and standard deviation a              */
} fg_init_kind;

typedef struct fg_init {
    fg_init_kind kind; /* [FG_INIT_ZEROS] */
    double a;
} fg_init;

typedef struct fg_variable_options {
    fg_variable_kind kind; /* [FG_PARAMETER] */
    fg_init init;          /* first value; random ones are keyed by (seed, name) */
    uint64_t seed;         /* [0] */
    /* How files hold it: dimension i of the file's tensor is dimension file_axis[i] of this one
     * (an HWIO kernel with {3, 2, 0, 1} is OIHW in files). All 0: the same order. */
    int file_axis[FG_MAX_RANK];
    uint64_t reserved[2];
} fg_variable_options;

/* Makes a variable. It has no memory on a device until a program first uses it. name is copied; it
 * is the name in files ("fc1.weight"). options may be NULL. One thread at a time.
 * Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_variable_create(const char *name, const fg_type *type,
                                                const fg_variable_options *options,
                                                fg_variable **out, fg_error *err);
FG_API void fg_variable_destroy(fg_variable *variable);

/* As given at creation; borrowed, lives as long as the variable. */
FG_API const char *fg_variable_name(const fg_variable *variable);
FG_API const fg_type *fg_variable_type(const fg_variable *variable);
FG_API fg_variable_kind fg_variable_get_kind(const fg_variable *variable);
/* file_axis as given, or NULL when files hold the same order. */
FG_API const int *fg_variable_file_axis(const fg_variable *variable);

/* Whether training changes the variable. A parameter that is not trainable is frozen: optimizers
 * leave it alone and no gradient is computed for it. A batch norm whose running_mean is frozen
 * normalises by its running statistics, also in training, and leaves them alone. fg_assign and
 * fg_variable_set are not affected. It may change at any time and applies to what is traced from
 * then on; the Trainer looks at the beginning of a fit and of each epoch. By patterns of names:
 * fg_module_freeze. [true] */
FG_API void fg_variable_set_trainable(fg_variable *variable, bool trainable);
FG_API bool fg_variable_is_trainable(const fg_variable *variable);

/* Sets the value from the host: size_bytes is fg_type_bytes(type), row-major. Errors: FG_EINVAL,
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_variable_set(fg_variable *variable, const void *data,
                                             size_t size_bytes, fg_error *err);
/* Copies the present value to the host, waiting for the programs that make it. Errors: FG_EINVAL,
 * FG_ENOMEM, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_variable_read(const fg_variable *variable, void *out_data,
                                              size_t size_bytes, fg_error *err);

/* The variable's value at this point of the trace: what was assigned last in it, else the value it
 * has when the program starts. */
FG_API fg_tensor fg_variable_value(fg_trace *trace, fg_variable *variable);
/* The variable takes this value when the program has run: its memory is reused, nothing is copied.
 * Error, kept in the trace: FG_ESHAPE or FG_EDTYPE when value's type is another. */
FG_API void fg_assign(fg_variable *variable, fg_tensor value);

/* ---- numbers given at each launch ------------------------------------------------------------ */

/* A number held by the host and given to programs anew at every launch: a learning rate, a step.
 * Changing it compiles nothing. The struct is the caller's; it must outlive programs that use it.
 */
typedef struct fg_scalar {
    fg_dtype dtype; /* FG_F32, FG_S32 or FG_U32 */
    union {
        float f32;
        int32_t s32;
        uint32_t u32;
    } value;
} fg_scalar;

/* The scalar as a tensor of rank 0. Error, kept in the trace: FG_EDTYPE. */
FG_API fg_tensor fg_scalar_value(fg_trace *trace, const fg_scalar *scalar);

/* ---- running --------------------------------------------------------------------------------- */

/* Compiles what the outputs and assignments need, unless a program of the same structure is there
 * already, and launches it. The 64 programs used last are kept. Numbers that the host writes into a
 * graph (fg_mul_scalar, fg_full, the bounds of fg_slice) are part of its structure: one that
 * changes in each iteration compiles each time, about which a warning names the line, once a trace.
 * Give such a number as an fg_scalar. out_arrays receives `count` arrays, one reference each,
 * computed in the background: only reading them waits. Assigned variables have their new values
 * from now on. The trace is empty afterwards, also on failure. outputs may be NULL when count is 0.
 * Errors: the trace's first error; FG_ECOMPILE, FG_EDEVICE, FG_EDEVMEM, FG_ENOMEM; all out_arrays
 * are NULL then. */
FG_API FG_MUST_USE fg_status fg_run(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                    fg_array **out_arrays, fg_error *err);

/* Runs the trace for one f32 number and waits for it: the usual end of an own loop's step that
 * wants its loss. Counted as a host read. Errors: as fg_run; FG_EDTYPE unless f32 of rank 0. */
FG_API FG_MUST_USE fg_status fg_run_f32(fg_trace *trace, fg_tensor output, float *out,
                                        fg_error *err);

/* The program text (StableHLO) for the outputs and the assignments of the trace, as fg_run would
 * compile it; free it with fg_text_free. Does not run or empty the trace. */
FG_API FG_MUST_USE fg_status fg_trace_text(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                           char **out_text, fg_error *err);
FG_API void fg_text_free(char *text);

/* ---- gradients ------------------------------------------------------------------------------- */

/* Derivatives of a scalar by tensors: out[i] has wrt[i]'s type. Reverse mode, graph to graph: the
 * result is traced like anything else and can be differentiated again. A tensor that loss does not
 * depend on gets zeros, as does one behind operations without a gradient.
 * A derivative by a tensor counts what was computed from that very tensor: of h1 = fg_relu(a) and
 * h2 = fg_relu(a), the derivative by h1 leaves out the uses of h2, although the program computes
 * both once. An operation that has nothing to do (a cast to the same dtype) returns its operand.
 * Constants are tensors like others. Errors, kept in the trace: FG_ESHAPE unless loss has rank 0,
 * FG_EDTYPE unless it and wrt[i] are floating tensors of one trace.
 * Source: Griewank and Walther 2008, "Evaluating Derivatives", chapter 3. */
FG_API void fg_grad(fg_tensor loss, const fg_tensor *wrt, size_t count, fg_tensor *out);
/* The same by the variables' values in force (fg_variable_value). If the loss was not computed from
 * a variable's present value but from one before the last fg_assign, the derivative is by the
 * newest value that it was computed from. */
FG_API void fg_grad_variables(fg_tensor loss, fg_variable *const *variables, size_t count,
                              fg_tensor *out);

#ifdef __cplusplus
}
#endif
#endif
