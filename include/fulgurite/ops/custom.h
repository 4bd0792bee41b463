/* custom.h - operations of your own: with their own gradient, computed by your own code, or
 * computed again for the gradient instead of stored.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_CUSTOM_H
#define FULGURITE_OPS_CUSTOM_H

#include <fulgurite/device.h>
#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- own gradients --------------------------------------------------------------------------- */

/* At most this many inputs of a custom operation, and outputs including saved values. */
enum { FG_OPERATION_INPUTS = 32, FG_OPERATION_OUTPUTS = 16 };

/* What `backward` receives. */
typedef struct fg_backward {
    const void *options;
    int in_count;
    const fg_tensor *in;
    const fg_tensor *out;  /* outputs, then saved values */
    const fg_tensor *dout; /* derivatives by the outputs; zeros where nothing depends on one */
    const bool *need;      /* whether din[i] is used */
    fg_tensor *din;        /* to be set, of the type of in[i]; not set means zero */
} fg_backward;

/* An operation: a constant, which must outlive the traces that use it. */
typedef struct fg_operation {
    const char *name;    /* of a scope, for messages and profiles: "swish" */
    int output_count;    /* 1 or more */
    int saved_count;     /* further values that backward uses [0] */
    size_t options_size; /* of the struct of its options, whose padding bytes are zero [0] */
    /* Computes the outputs and the saved values, by applying other operations to the inputs and
     * variables. */
    void (*forward)(const void *options, const fg_tensor *in, int in_count, fg_tensor *out);
    /* Computes the derivatives by the inputs, instead of those that follow from `forward`. It may
     * be differentiated again. NULL: no gradient flows through the operation. */
    void (*backward)(const fg_backward *gradient);
    void (*reserved[2])(void); /* must be NULL */
} fg_operation;

/* Applies the operation: out[output_count]. options has options_size bytes and is copied. Errors:
 * FG_EINVAL (a count is out of range), FG_ESHAPE and FG_EDTYPE (a derivative has another type than
 * its input). Source: PyTorch, "torch.autograd.Function"; JAX, "jax.custom_vjp". */
FG_API void fg_apply(const fg_operation *operation, const fg_tensor *in, int in_count,
                     const void *options, fg_tensor *out);

/* ---- own code -------------------------------------------------------------------------------- */

/* Makes a function available to the programs of a client, as the custom call `name`. handler is an
 * XLA_FFI_Handler as in XLA's xla/ffi/api/c_api.h: a C function that the compiled program calls
 * with the addresses, types and shapes of its operands and results, on any thread, and that must
 * outlive the client. On the CPU, an error of the handler becomes that of the line that called
 * fg_custom_call. Errors: FG_EUNSUPPORTED (the plugin has no such interface), FG_EPLUGIN. */
FG_API FG_MUST_USE fg_status fg_client_add_handler(fg_client *client, const char *name,
                                                   void *handler, fg_error *err);

typedef struct fg_custom_call_options {
    const char *name;     /* of the handler */
    const char *config;   /* attributes in MLIR syntax: "alpha = 3.0 : f32" [none] */
    const fg_type *types; /* of the results */
    int count;            /* number of results */
    int in_place; /* the first so many results are in the memory of the operands of the same number,
                     which have their types [0] */
    uint64_t reserved[4];
} fg_custom_call_options;
/* Calls the handler: out[count]. A platform whose compiler knows no handler with this name reports
 * an error when the program is compiled. On several devices, operands are gathered and results are
 * replicated. Not for batches with padding rows. Gradient: none, see fg_apply. Errors: FG_EINVAL.
 * Source: StableHLO specification, "custom_call", with API version 4. */
FG_API void fg_custom_call(const fg_custom_call_options *options, const fg_tensor *in, int in_count,
                           fg_tensor *out);

/* ---- rematerialization ----------------------------------------------------------------------- */

/* Between these calls, intermediate values are not kept for the gradient but computed a second time
 * when it needs them, from what was computed before fg_remat_begin: less memory, more time. out are
 * the values that are used after fg_remat_end, which replaces them. Pairs may be nested up to 16
 * deep, and used in the body of a loop. Variables may be assigned between them; they are assigned
 * once. Errors: FG_EINVAL (without fg_remat_begin, or nested too deeply). Source: Chen et al. 2016,
 * "Training deep nets with sublinear memory cost"; JAX, "jax.checkpoint". */
FG_API void fg_remat_begin(fg_trace *trace);
FG_API void fg_remat_end(fg_trace *trace, fg_tensor *out, int count);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_apply(...)       FG_HERE(fg_apply(__VA_ARGS__))
#define fg_custom_call(...) FG_HERE(fg_custom_call(__VA_ARGS__))
#define fg_remat_begin(...) FG_HERE(fg_remat_begin(__VA_ARGS__))
#define fg_remat_end(...)   FG_HERE(fg_remat_end(__VA_ARGS__))
#endif
#endif
