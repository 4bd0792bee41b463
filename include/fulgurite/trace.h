/* trace.h - lazy tensors, variables and running a trace.
 *
 * An operation on tensors only records itself in its trace. Running the trace compiles all of it as
 * one program (or reuses a compiled one) and launches it on the client's devices. Tensors live in
 * the trace's memory and are freed with it: you never free a tensor.
 *
 * A graph call does not return an error. The trace keeps its first error, with the file and line of
 * your call. Operations after it do nothing, and the next eager call on the trace returns the
 * error.
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

/* A program that is being recorded. Owner thread only. */
typedef struct fg_trace fg_trace;

/* A value of a trace: an edge of its graph, with a dtype and a shape but no data yet. Passed by
 * value. An operation never returns an empty tensor; if it fails, it returns its trace's poison
 * value. A tensor is valid until its trace is run, reset or destroyed. Using it after that, or
 * using an empty one, is an error (FG_EINVAL), which is kept in the trace that the thread is
 * recording. */
typedef struct fg_tensor {
    uint64_t handle; /* internal; 0: empty */
} fg_tensor;

/* ---- traces ---------------------------------------------------------------------------------- */

/* Creates an empty trace. client may be NULL for a trace that is never run. Errors: FG_ENOMEM,
 * FG_EUNSUPPORTED (4,095 traces already exist). */
FG_API FG_MUST_USE fg_status fg_trace_create(fg_client *client, fg_trace **out, fg_error *err);
/* Frees a trace and its tensors. NULL is allowed. */
FG_API void fg_trace_destroy(fg_trace *trace);
/* Empties the trace: its tensors become invalid and its error is cleared. Settings, compiled
 * programs and memory are kept. */
FG_API void fg_trace_reset(fg_trace *trace);

/* Returns FG_OK, or the first error of the trace. err may be NULL. */
FG_API fg_status fg_trace_error(const fg_trace *trace, fg_error *err);
/* The trace's client: borrowed; NULL if it has none. */
FG_API fg_client *fg_trace_client(const fg_trace *trace);

/* Training or inference mode of layers: in training, dropout is active, and batch norm uses batch
 * statistics and updates its running statistics. Kept across resets. [false] */
FG_API void fg_trace_set_training(fg_trace *trace, bool training);
FG_API bool fg_trace_training(const fg_trace *trace);

/* The key of random operations: the same (seed, step) generates the same bits on any number of
 * devices. Both are inputs of the program: changing them does not recompile it. Kept across resets.
 * [0, 0] */
FG_API void fg_trace_set_seed(fg_trace *trace, uint64_t seed, uint64_t step);

/* Sets the mask of valid rows of the batch: f32[B], nonzero for a sample and 0 for a padding row,
 * which completes the last batch of an epoch. Operations on values whose batch axis is known then
 * exclude padding rows (ops/padding.h). Custom loops mark the batch axis with
 * fg_batch_axis; without that, losses and batch norm use dimension 0, and nothing else is masked.
 * For sample weights see fg_weighted_mean. The mask applies to one iteration: a reset removes it.
 * Set it before the first operation on the batch. The Trainer sets the mask itself and rejects
 * another one. Custom loops need it only for batches with padding rows. Errors, kept in the trace:
 * FG_ESHAPE, FG_EDTYPE, FG_EINVAL. */
FG_API void fg_trace_set_mask(fg_trace *trace, fg_tensor mask);
/* Returns true and the mask in *out if a mask is set, else false. */
FG_API bool fg_trace_mask(const fg_trace *trace, fg_tensor *out);

/* Sets the precision of computation. Kept across resets.
 *
 *   "32-true"     the dtype of the operands: f32 for f32                              [the default]
 *   "bf16-mixed"  matmuls and convolutions in bf16; parameters and state are stored in f32
 *   "bf16-true"   like bf16-mixed, with parameters in bf16 too (fg_module_set_precision)
 *   "16-mixed", "16-true"  f16 instead of bf16; requires loss scaling
 *                 (fg_optimizer_set_loss_scale)
 *   "64-true"     f64 (fg_module_set_precision)
 *
 * With any precision except "32-true", fg_dot, fg_matmul and fg_conv2d cast floating operands to
 * that dtype and return it. Sums, means, softmax and losses compute in f32 and return f32 (f64 for
 * f64). If the floating operands of another operation have different dtypes, the narrower one is
 * cast. Normalization layers compute in f32 and return the dtype of their input. On all platforms,
 * matmuls accumulate in f32. Errors: FG_EINVAL (unknown name), FG_EUNSUPPORTED (f16 or f64 on a
 * TPU). Source: Micikevicius et al. 2018, "Mixed precision training". */
FG_API FG_MUST_USE fg_status fg_trace_set_precision(fg_trace *trace, const char *precision,
                                                    fg_error *err);
/* The name of the precision; a static string. */
FG_API const char *fg_trace_precision(const fg_trace *trace);
/* The floating dtype that input data, such as pixels, is cast to: f64 with "64-true", else f32. */
FG_API fg_dtype fg_trace_float(const fg_trace *trace);

/* Opens a name scope for the following operations, used in messages, in profiles and as a key of
 * random operations: operations inside push("mlp") and push("fc1") are named "mlp/fc1/...". name is
 * copied. pop closes the innermost scope. */
FG_API void fg_scope_push(fg_trace *trace, const char *name);
FG_API void fg_scope_pop(fg_trace *trace);

/* ---- tensors --------------------------------------------------------------------------------- */

/* The tensor's type and trace. Borrowed for the tensor's lifetime. dtype is FG_DTYPE_NONE for a
 * poison value. */
FG_API const fg_type *fg_tensor_type(fg_tensor tensor);
FG_API fg_trace *fg_tensor_trace(fg_tensor tensor);
/* Size of dimension `axis`; negative axes count from the end. 0 for a poison value, or if the axis
 * is out of range. */
FG_API int64_t fg_tensor_dim(fg_tensor tensor, int axis);

/* The array's value as a tensor. The trace keeps a reference until it is reset. */
FG_API fg_tensor fg_input(fg_trace *trace, fg_array *array);

/* ---- variables: values that stay on the devices from run to run ------------------------------ */

/* A named value on the devices: a parameter, or other state that is kept between runs. One thread
 * at a time, together with the traces and programs that use it. */
typedef struct fg_variable fg_variable;

typedef enum fg_variable_kind {
    FG_PARAMETER = 0, /* updated by an optimizer                                        */
    FG_BUFFER = 1,    /* saved with the model but not trained: running statistics       */
    FG_STATE = 2      /* saved separately, to resume training: the optimizer's moments  */
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
    fg_init init;          /* initial value; random values are keyed by (seed, name) */
    uint64_t seed;         /* [0] */
    /* Dimension order in files: dimension i of the tensor in the file is dimension file_axis[i] of
     * the variable (an HWIO kernel with {3, 2, 0, 1} is OIHW in files). All 0: the same order. */
    int file_axis[FG_MAX_RANK];
    uint64_t reserved[2];
} fg_variable_options;

/* Creates a variable. Its device memory is allocated when a program first uses it. name is copied;
 * it is also the name in files ("fc1.weight"). options may be NULL. One thread at a time. Errors:
 * FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_variable_create(const char *name, const fg_type *type,
                                                const fg_variable_options *options,
                                                fg_variable **out, fg_error *err);
/* Frees a variable and its device memory. NULL is allowed. */
FG_API void fg_variable_destroy(fg_variable *variable);

/* Properties given at creation. Borrowed for the variable's lifetime. */
FG_API const char *fg_variable_name(const fg_variable *variable);
FG_API const fg_type *fg_variable_type(const fg_variable *variable);
FG_API fg_variable_kind fg_variable_kind_of(const fg_variable *variable);
/* file_axis as given; NULL if the order in files is the same. */
FG_API const int *fg_variable_file_axis(const fg_variable *variable);

/* Whether training updates the variable. A parameter that is not trainable is frozen: optimizers
 * don't update it, and no gradient is computed for it. A batch norm whose running_mean is frozen
 * uses its running statistics also in training and doesn't update them. fg_assign and
 * fg_variable_set are not affected. You may change it at any time; it applies to operations traced
 * afterwards. The Trainer checks it at the start of a fit and of each epoch. To freeze by name
 * pattern, use fg_module_freeze. [true] */
FG_API void fg_variable_set_trainable(fg_variable *variable, bool trainable);
FG_API bool fg_variable_is_trainable(const fg_variable *variable);

/* Sets the value from host memory, row-major; size_bytes must equal fg_type_bytes(type). Errors:
 * FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_variable_set(fg_variable *variable, const void *data,
                                             size_t size_bytes, fg_error *err);
/* Copies the current value to the host; waits for the programs that compute it. Errors: FG_EINVAL,
 * FG_ENOMEM, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_variable_read(const fg_variable *variable, void *out_data,
                                              size_t size_bytes, fg_error *err);

/* The variable's value at this point of the trace: the value that was last assigned in the trace,
 * else the value at the start of the program. */
FG_API fg_tensor fg_variable_value(fg_trace *trace, fg_variable *variable);
/* Assigns a value to the variable; it takes effect when the program has run. The variable's buffer
 * is reused, without a copy. Errors, kept in the trace: FG_ESHAPE, FG_EDTYPE (value has a different
 * type). */
FG_API void fg_assign(fg_variable *variable, fg_tensor value);

/* ---- scalars passed at each launch ----------------------------------------------------------- */

/* A number in host memory that is passed to programs at every launch: a learning rate, a step.
 * Changing it does not recompile anything. The caller owns the struct; it must outlive the programs
 * that use it. */
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

/* Compiles the operations that the outputs and assignments need, unless a program of the same
 * structure is cached, and launches it. The 64 most recently used programs are kept. Host numbers
 * in a graph (fg_mul_scalar, fg_full, the bounds of fg_slice) are part of its structure: a number
 * that changes in each iteration causes a compilation each time, for which a warning shows the
 * line, once per trace. Pass such a number as an fg_scalar. out_arrays receives `count` arrays, one
 * reference each. They are computed asynchronously: only reading them waits. Assigned variables
 * then have their new values. The trace is empty afterwards, also on failure. outputs may be NULL
 * if count is 0. Errors: the trace's first error; FG_ECOMPILE, FG_EDEVICE, FG_EDEVMEM, FG_ENOMEM.
 * On failure, all out_arrays are NULL. */
FG_API FG_MUST_USE fg_status fg_run(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                    fg_array **out_arrays, fg_error *err);

/* Runs the trace and returns a scalar f32 output: for steps of a custom loop that need the loss.
 * Waits for the result and counts as a host read. Errors: those of fg_run; FG_EDTYPE (the output is
 * not f32 of rank 0). */
FG_API FG_MUST_USE fg_status fg_run_f32(fg_trace *trace, fg_tensor output, float *out,
                                        fg_error *err);

/* Returns the StableHLO text for the outputs and assignments of the trace, as fg_run would compile
 * it; free it with fg_free. The trace is neither run nor emptied. Errors: the trace's first
 * error, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_trace_text(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                           char **out_text, fg_error *err);

/* ---- gradients ------------------------------------------------------------------------------- */

/* Gradients of a scalar with respect to tensors: out[i] has the type of wrt[i]. Reverse mode; the
 * gradients are traced operations and can be differentiated again. The gradient is zero for a
 * tensor that loss does not depend on, or only through operations without a gradient. Only uses of
 * that same tensor count: with h1 = fg_relu(a) and h2 = fg_relu(a), the gradient with respect to h1
 * does not include the uses of h2, although the program computes both only once. An operation that
 * is an identity (a cast to the same dtype) returns its operand. Constants are treated like other
 * tensors. Errors, kept in the trace: FG_ESHAPE (loss does not have rank 0), FG_EDTYPE (loss or
 * wrt[i] is not a floating tensor, or they are of different traces). Source: Griewank and Walther
 * 2008, "Evaluating Derivatives", chapter 3. */
FG_API void fg_grad(fg_tensor loss, const fg_tensor *wrt, size_t count, fg_tensor *out);
/* Gradients with respect to the current values of variables (fg_variable_value). If the loss was
 * computed from a value before the last fg_assign, the gradient is with respect to the newest value
 * that it was computed from. */
FG_API void fg_grad_variables(fg_tensor loss, fg_variable *const *variables, size_t count,
                              fg_tensor *out);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_trace_set_mask(...)         FG_HERE(fg_trace_set_mask(__VA_ARGS__))
#define fg_input(...)                  FG_HERE(fg_input(__VA_ARGS__))
#define fg_variable_set_trainable(...) FG_HERE(fg_variable_set_trainable(__VA_ARGS__))
#define fg_variable_read(...)          FG_HERE(fg_variable_read(__VA_ARGS__))
#define fg_variable_value(...)         FG_HERE(fg_variable_value(__VA_ARGS__))
#define fg_assign(...)                 FG_HERE(fg_assign(__VA_ARGS__))
#define fg_scalar_value(...)           FG_HERE(fg_scalar_value(__VA_ARGS__))
#define fg_run_f32(...)                FG_HERE(fg_run_f32(__VA_ARGS__))
#define fg_grad(...)                   FG_HERE(fg_grad(__VA_ARGS__))
#define fg_grad_variables(...)         FG_HERE(fg_grad_variables(__VA_ARGS__))
#endif
#endif
