/* launch_loop.c - a program that runs several steps per launch: the step is a function, which @main
 * calls in a loop.
 *
 * @main has the arguments of the step, but each batch has the steps as an additional first
 * dimension, and the packed scalars are the number of steps to run, followed by the scalars of each
 * step. What a step assigns is the state of the loop; so are its sums, output 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "hlo/mlir.h"
#include "trace/program.h"

/* ---- arguments ------------------------------------------------------------------------------- */

static bool is_batch(const fg_trace *trace, const fgi_leaf *leaf)
{
    return trace->launch.steps > 0 && leaf->kind == FGI_LEAF_FEED &&
           leaf->of.feed != trace->launch.carried_feed;
}

fg_type fgi_launch_type(const fg_trace *trace, const fgi_leaf *leaf)
{
    fg_type type = leaf->node->type;
    if (!is_batch(trace, leaf))
        return type;
    memmove(type.dim + 1, type.dim, (size_t)type.rank * sizeof type.dim[0]);
    type.dim[0] = trace->launch.steps;
    type.rank++;
    return type;
}

fgi_sharding fgi_launch_sharding(const fg_trace *trace, const fgi_leaf *leaf)
{
    const fgi_sharding *own = fgi_leaf_sharding(leaf->node);
    return is_batch(trace, leaf) ? fgi_sharding_stacked(own) : *own;
}

size_t fgi_launch_words(const fg_trace *trace, const fgi_layout *layout)
{
    const size_t each = layout->scalar_count;
    return trace->launch.steps > 0 ? 1 + (size_t)trace->launch.steps * each : each;
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct loop {
    const fg_trace *trace;
    const fgi_layout *layout;
    const fg_tensor *outputs;
    fgi_builder b;
    fgi_value *state; /* the step's number, the arguments, the words, results that are none */
    fgi_value *argument, *result; /* of a step */
    size_t *slot;                 /* by result: where it is in the state */
    size_t arguments, results, states;
} loop;

static fg_type result_type(const loop *l, size_t r)
{
    const size_t outputs = l->layout->output_count;
    return r < outputs ? *fg_tensor_type(l->outputs[r])
                       : l->trace->leaves[l->layout->assigned_leaf[r - outputs]].node->type;
}

/* Whether result r is the next value of the leaf. */
static bool replaces(const loop *l, size_t r, size_t leaf)
{
    const size_t outputs = l->layout->output_count;
    const fgi_leaf *of = &l->trace->leaves[leaf];
    if (r >= outputs)
        return l->layout->assigned_leaf[r - outputs] == leaf;
    return r == 0 && of->kind == FGI_LEAF_FEED && of->of.feed == l->trace->launch.carried_feed;
}

/* Numbers the arguments, and finds the place of each result in the state. */
static void lay_out(loop *l)
{
    l->states = 1;
    for (size_t i = 0; i < l->layout->argument_count; i++) {
        const fg_type type =
            fgi_launch_type(l->trace, &l->trace->leaves[l->layout->argument_leaf[i]]);
        l->state[l->states++] = fgi_build_value(&l->b, &type);
    }
    const fg_type words = {
        .dtype = FG_U32, .rank = 1, .dim = {(int64_t)fgi_launch_words(l->trace, l->layout)}};
    l->state[l->states++] = fgi_build_value(&l->b, &words);
    l->arguments = l->states - 1;
    for (size_t r = 0; r < l->results; r++) {
        size_t i = 0;
        while (i < l->layout->argument_count && !replaces(l, r, l->layout->argument_leaf[i]))
            i++;
        l->slot[r] = i < l->layout->argument_count ? 1 + i : l->states++;
    }
}

static void put_values(fgi_buf *out, size_t count, const fgi_value *value)
{
    for (size_t i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%%%" PRIu32, i == 0 ? "" : ", ", value[i].id);
}

static void put_types(fgi_buf *out, size_t count, const fgi_value *value)
{
    for (size_t i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, &value[i].type);
    }
}

static fgi_value is_more(fgi_builder *b, void *context, const fgi_value *state)
{
    const loop *l = context;
    const int64_t zero = 0, one = 1;
    const fgi_value word = fgi_build_slice(b, state[l->arguments], &zero, &one, NULL);
    const fgi_value scalar = fgi_build_reshape(b, word, 0, NULL);
    const fgi_value steps = fgi_build(b, &state[0].type, "bitcast_convert", NULL, 1, &scalar);
    return fgi_build_compare(b, "LT", state[0], steps);
}

/* The argument of this step: its batch, its scalars, or the argument itself. */
static fgi_value of_step(const loop *l, fgi_builder *b, const fgi_value *state, size_t i)
{
    const fgi_value whole = state[1 + i], number = state[0];
    if (i == l->layout->argument_count) {
        const int64_t words = (int64_t)l->layout->scalar_count;
        const fgi_value row = fgi_build_index(b, "multiply", number, words);
        const fgi_block_start start = {1, {0}, {fgi_build_index(b, "add", row, 1)}};
        return fgi_build_dynamic_slice(b, whole, &start, &words);
    }
    if (!is_batch(l->trace, &l->trace->leaves[l->layout->argument_leaf[i]]))
        return whole;
    const fgi_block_start start = {1, {0}, {number}};
    int64_t size[FG_MAX_RANK];
    memcpy(size, whole.type.dim, sizeof size);
    size[0] = 1;
    const fgi_value block = fgi_build_dynamic_slice(b, whole, &start, size);
    return fgi_build_reshape(b, block, whole.type.rank - 1, whole.type.dim + 1);
}

/* On the CPU, the step is compiled separately, as in a program without a loop: fused with the loop,
 * a sum may be rounded differently. */
static void put_call(const loop *l, size_t count, const fgi_value *argument)
{
    fgi_buf_puts(l->b.out, "    ");
    put_values(l->b.out, l->results, l->result);
    fgi_buf_puts(l->b.out, " = \"func.call\"(");
    put_values(l->b.out, count, argument);
    fgi_buf_puts(l->b.out, ") {callee = @step");
    if (fgi_cpu_isolates(l->trace))
        fgi_buf_puts(l->b.out, ", mhlo.frontend_attributes = {inlineable = \"false\"}");
    fgi_buf_puts(l->b.out, "} : (");
    put_types(l->b.out, count, argument);
    fgi_buf_puts(l->b.out, ") -> (");
    put_types(l->b.out, l->results, l->result);
    fgi_buf_puts(l->b.out, ")\n");
}

static void run_step(fgi_builder *b, void *context, fgi_value *state)
{
    const loop *l = context;
    const size_t count = l->layout->argument_count + (l->layout->scalar_count > 0);
    for (size_t i = 0; i < count; i++)
        l->argument[i] = of_step(l, b, state, i);
    for (size_t r = 0; r < l->results; r++) {
        const fg_type type = result_type(l, r);
        l->result[r] = fgi_build_value(b, &type);
    }
    put_call(l, count, l->argument);
    state[0] = fgi_build_index(b, "add", state[0], 1);
    for (size_t r = 0; r < l->results; r++)
        state[l->slot[r]] = l->result[r];
}

/* The loop, from the arguments to the final state. */
static void put_loop(loop *l)
{
    l->state[0] = fgi_build_splat(&l->b, &(fg_type){.dtype = FG_S32}, 0);
    for (size_t r = 0; r < l->results; r++)
        if (l->slot[r] > l->arguments) { /* no step reads it */
            const fg_type type = result_type(l, r);
            l->state[l->slot[r]] = fgi_build_splat(&l->b, &type, 0);
        }
    fgi_build_while(&l->b, &(fgi_while){is_more, run_step, l}, (int)l->states, l->state);
}

/* ---- @main ----------------------------------------------------------------------------------- */

/* {tf.aliasing_output = 2 : i32, sdy.sharding = ...} */
static void put_attributes(const loop *l, size_t i, bool is_sharded)
{
    fgi_buf *out = l->b.out;
    const fgi_sharding none = {{0}};
    const char *before = " {";
    const bool is_words = i == l->layout->argument_count;
    for (size_t r = l->layout->output_count; r < l->results; r++)
        if (l->slot[r] == 1 + i) {
            fgi_buf_printf(out, "%stf.aliasing_output = %zu : i32", before, r);
            before = ", ";
        }
    if (is_sharded) {
        const fgi_sharding sharding =
            is_words
                ? none
                : fgi_launch_sharding(l->trace, &l->trace->leaves[l->layout->argument_leaf[i]]);
        fgi_buf_printf(out, "%ssdy.sharding = ", before);
        fgi_emit_sharding(l->trace, out, &sharding, l->state[1 + i].type.rank);
        before = ", ";
    }
    if (before[0] == ',')
        fgi_buf_putc(out, '}');
}

static void put_head(const loop *l, bool is_sharded)
{
    fgi_buf *out = l->b.out;
    fgi_buf_puts(out, "  func.func public @main(");
    for (size_t i = 0; i < l->arguments; i++) {
        fgi_buf_printf(out, "%s%%%" PRIu32 ": ", i == 0 ? "" : ", ", l->state[1 + i].id);
        fgi_mlir_type(out, &l->state[1 + i].type);
        put_attributes(l, i, is_sharded);
    }
    fgi_buf_puts(out, ") -> (");
    for (size_t r = 0; r < l->results; r++) {
        const fg_type type = result_type(l, r);
        fgi_buf_puts(out, r == 0 ? "" : ", ");
        fgi_mlir_type(out, &type);
        if (is_sharded) {
            fgi_buf_puts(out, " {sdy.sharding = ");
            fgi_emit_sharding(l->trace, out, fgi_result_sharding(l->trace, l->layout, r),
                              type.rank);
            fgi_buf_putc(out, '}');
        }
    }
    fgi_buf_puts(out, ") {\n");
}

fg_status fgi_emit_launch_loop(const fg_trace *trace, const fgi_layout *layout,
                               const fg_tensor *outputs, fgi_buf *out, fg_error *err)
{
    uint32_t next = 0;
    const size_t results = layout->output_count + layout->assigned_count;
    const size_t most = layout->argument_count + results + 2;
    const bool is_sharded =
        trace->client != NULL && fg_client_info_of(trace->client)->device_count > 1;
    loop l = {.trace = trace,
              .layout = layout,
              .outputs = outputs,
              .b = {.out = out, .next = &next},
              .results = results,
              .state = fgi_calloc(most, sizeof *l.state),
              .argument = fgi_calloc(most, sizeof *l.argument),
              .result = fgi_calloc(results + 1, sizeof *l.result),
              .slot = fgi_calloc(results + 1, sizeof *l.slot)};
    const bool ok = l.state != NULL && l.argument != NULL && l.result != NULL && l.slot != NULL;
    if (ok) {
        lay_out(&l);
        put_head(&l, is_sharded);
        put_loop(&l);
        for (size_t r = 0; r < results; r++)
            l.result[r] = l.state[l.slot[r]];
        fgi_buf_puts(out, "    func.return ");
        put_values(out, results, l.result);
        fgi_buf_puts(out, " : ");
        put_types(out, results, l.result);
        fgi_buf_puts(out, "\n  }\n");
    }
    fgi_free(l.state);
    fgi_free(l.argument);
    fgi_free(l.result);
    fgi_free(l.slot);
    return ok ? FG_OK : fgi_no_memory(err);
}
