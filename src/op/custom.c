/* custom.c - operations of the user: with a custom gradient, and calls of the user's code.
 *
 * An operation with its own gradient is traced as what it consists of. Its node then passes the
 * outputs on, and returns to the inputs what the user's function computes. Its inputs are those of
 * the operation, the outputs, and the saved values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "op/op.h"
#include "trace/trace.h"

typedef struct own_attr {
    const fg_operation *operation;
    int64_t in_count;
} own_attr; /* followed by the options */

static bool own_infer(fgi_infer *c)
{
    const own_attr *attr = c->attr;
    if (!fgi_infer_results(c, attr->operation->output_count))
        return false;
    for (int i = 0; i < attr->operation->output_count; i++)
        c->results->type[i] = *c->in[attr->in_count + i];
    return true;
}

static bool own_rows(fgi_infer *c)
{
    const own_attr *attr = c->attr;
    for (int i = 0; i < attr->operation->output_count; i++) {
        const fgi_rows *rows = c->in_rows[attr->in_count + i];
        if (rows != NULL && !fgi_rows_of_result(c, i, rows))
            return false;
    }
    return true;
}

static void own_emit(fgi_emit *e)
{
    const own_attr *attr = e->node->attr;
    for (int i = 0; i < attr->operation->output_count; i++)
        fgi_emit_become_at(e, i, fgi_emit_in(e, (int)attr->in_count + i));
}

static void check_derivative(const fgi_vjp *v, const fg_operation *operation, int i)
{
    const fg_type *want = fg_tensor_type(v->in[i]), *have = fg_tensor_type(v->din[i]);
    char a[96], b[96];
    if (fgi_is_poison(v->din[i]) || fg_type_equal(want, have))
        return;
    (void)fgi_trace_fail(fg_tensor_trace(v->out),
                         want->dtype != have->dtype ? FG_EDTYPE : FG_ESHAPE,
                         "%s: backward computes %s for input %d: expected %s", operation->name,
                         fg_type_format(have, a, sizeof a), i, fg_type_format(want, b, sizeof b));
}

static void own_vjp(fgi_vjp *v)
{
    const own_attr *attr = v->attr;
    const fg_operation *operation = attr->operation;
    const int count = (int)attr->in_count;
    const fg_tensor *out = v->in + count;
    fg_tensor dout[FG_OPERATION_OUTPUTS];
    if (operation->backward == NULL)
        return;
    for (int i = 0; i < operation->output_count; i++)
        dout[i] = v->douts[i].handle != 0 ? v->douts[i] : fgi_full_like(out[i], 0);
    operation->backward(&(fg_backward){.options = operation->options_size > 0 ? attr + 1 : NULL,
                                       .in_count = count,
                                       .in = v->in,
                                       .out = out,
                                       .dout = dout,
                                       .need = v->need,
                                       .din = v->din});
    for (int i = 0; i < count; i++)
        if (v->need[i] && v->din[i].handle != 0)
            check_derivative(v, operation, i);
}

static const fgi_op own_op = {.name = "operation",
                              .arity = -1,
                              .infer = own_infer,
                              .rows = own_rows,
                              .emit = own_emit,
                              .vjp = own_vjp};

/* in: inputs, outputs, saved values. */
static void apply_own(const fg_operation *operation, const fg_tensor *in, int in_count,
                      const void *options, fg_tensor *out)
{
    const int all = in_count + operation->output_count + operation->saved_count;
    const size_t size = sizeof(own_attr) + operation->options_size;
    own_attr *attr = fgi_calloc(1, size);
    if (attr == NULL) {
        (void)fgi_trace_fail(fg_tensor_trace(in[0]), FG_ENOMEM, "out of memory");
        return;
    }
    *attr = (own_attr){operation, in_count};
    if (operation->options_size > 0)
        memcpy(attr + 1, options, operation->options_size);
    fgi_apply_results(&own_op, &(fgi_operands){in, all, attr, size}, out, operation->output_count);
    fgi_free(attr);
}

void fg_apply(const fg_operation *operation, const fg_tensor *in, int in_count, const void *options,
              fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(in[0]);
    const int outputs = operation->output_count, made = outputs + operation->saved_count;
    fg_tensor all[FG_OPERATION_INPUTS + FG_OPERATION_OUTPUTS] = {{0}};
    if (!fgi_trace_check_reserved(trace, FGI_RESERVED(fg_operation, operation)))
        return;
    for (int i = 0; i < outputs && i < FG_OPERATION_OUTPUTS; i++)
        out[i] = fgi_tensor_of(&trace->poison);
    if (in_count < 1 || in_count > FG_OPERATION_INPUTS || outputs < 1 ||
        operation->saved_count < 0 || made > FG_OPERATION_OUTPUTS) {
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "%s: %d inputs, %d outputs, %d saved values: expected 1 to %d inputs, "
                             "and 1 to %d outputs with the saved values",
                             operation->name, in_count, outputs, operation->saved_count,
                             (int)FG_OPERATION_INPUTS, (int)FG_OPERATION_OUTPUTS);
        return;
    }
    memcpy(all, in, (size_t)in_count * sizeof *in);
    fg_scope_push(trace, operation->name);
    operation->forward(options, in, in_count, all + in_count);
    fg_scope_pop(trace);
    if (trace->error.status == FG_OK)
        apply_own(operation, all, in_count, options, out);
}

/* ---- custom calls ---------------------------------------------------------------------------- */

/* Followed by the types of the results, the name and the configuration, both with their 0. */
typedef struct call_attr {
    int64_t count, in_place, name_size, config_size;
} call_attr;

static const fg_type *call_types(const call_attr *attr) { return (const fg_type *)(attr + 1); }

static const char *call_name(const call_attr *attr)
{
    return (const char *)(call_types(attr) + attr->count);
}

static bool call_infer(fgi_infer *c)
{
    const call_attr *attr = c->attr;
    if (!fgi_infer_results(c, (int)attr->count))
        return false;
    memcpy(c->results->type, call_types(attr), (size_t)attr->count * sizeof(fg_type));
    return true;
}

/* The results that replace operands. */
static void put_aliases(fgi_buf *text, const call_attr *attr)
{
    for (int64_t i = 0; i < attr->in_place; i++) {
        fgi_buf_puts(text, i == 0 ? ", output_operand_aliases = [" : ", ");
        fgi_buf_puts(text, "#stablehlo.output_operand_alias<output_tuple_indices = [");
        if (attr->count > 1)
            fgi_buf_put_int(text, i);
        fgi_buf_printf(text, "], operand_index = %" PRId64 ", operand_tuple_indices = []>", i);
    }
    if (attr->in_place > 0)
        fgi_buf_putc(text, ']');
}

/* The user's handlers are called by a kernel. Other names are for the platform's compiler. */
static void put_target(fgi_emit *e, fgi_buf *text, const char *name, const char *config)
{
    const bool is_ours = fgi_client_has_handler(e->client, name);
    fgi_buf_printf(text, "call_target_name = \"%s\", api_version = 4 : i32, backend_config = {",
                   is_ours ? FGI_KERNEL_CUSTOM : name);
    if (is_ours)
        fgi_buf_printf(
            text, FGI_KERNEL_CUSTOM_CALL " = %" PRId64 " : i64, " FGI_KERNEL_HANDLER " = \"%s\"%s",
            fgi_emit_call(e), name, config[0] != '\0' ? ", " : "");
    fgi_buf_printf(text, "%s}", config);
}

static void call_emit(fgi_emit *e)
{
    const call_attr *attr = e->node->attr;
    const char *name = call_name(attr);
    fgi_value in[FG_OPERATION_INPUTS], out[FG_OPERATION_OUTPUTS];
    fgi_buf text = {0};
    for (int i = 0; i < e->node->arity; i++)
        in[i] = fgi_emit_in(e, i);
    for (int i = 0; i < attr->count; i++)
        out[i] = fgi_emit_result_at(e, i);
    put_target(e, &text, name, name + attr->name_size);
    put_aliases(&text, attr);
    if (text.failed)
        e->b.out->failed = true;
    else
        fgi_build_results(&e->b, (int)attr->count, out,
                          &(fgi_operation){"custom_call", text.data, e->node->arity, in});
    fgi_buf_fini(&text);
}

static const fgi_op call_op = {.name = "custom_call",
                               .arity = -1,
                               .infer = call_infer,
                               .rows = fgi_rows_never,
                               .emit = call_emit};

static bool check_in_place(fg_trace *trace, const fg_custom_call_options *o, const fg_tensor *in,
                           int in_count)
{
    int same = 0;
    while (same < o->count && same < in_count &&
           fg_type_equal(&o->types[same], fg_tensor_type(in[same])))
        same++;
    if (o->in_place >= 0 && o->in_place <= same)
        return true;
    (void)fgi_trace_fail(trace, FG_EINVAL,
                         "custom_call '%s': in_place is %d, but only the first %d results have the "
                         "types of the operands of the same number",
                         o->name, o->in_place, same);
    return false;
}

static bool check_call(fg_trace *trace, const fg_custom_call_options *o, const fg_tensor *in,
                       int in_count)
{
    bool is_good = o->name != NULL && o->name[0] != '\0' && in_count >= 1 &&
                   in_count <= FG_OPERATION_INPUTS && o->count >= 1 &&
                   o->count <= FG_OPERATION_OUTPUTS;
    for (const char *c = o->name; is_good && *c != '\0'; c++)
        is_good = fgi_is_alnum(*c) || strchr("_.-", *c) != NULL;
    if (!is_good)
        (void)fgi_trace_fail(
            trace, FG_EINVAL,
            "custom_call '%s': %d operands, %d results: expected a name of letters, "
            "digits, '_', '.' and '-', 1 to %d operands and 1 to %d results",
            o->name != NULL ? o->name : "", in_count, o->count, (int)FG_OPERATION_INPUTS,
            (int)FG_OPERATION_OUTPUTS);
    for (int i = 0; is_good && i < o->count; i++)
        is_good = fgi_check_type(trace, "custom_call", o->types[i].dtype, o->types[i].rank,
                                 o->types[i].dim);
    return is_good && check_in_place(trace, o, in, in_count);
}

void fg_custom_call(const fg_custom_call_options *o, const fg_tensor *in, int in_count,
                    fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(in[0]);
    if (!fgi_trace_check_reserved(trace, FGI_RESERVED(fg_custom_call_options, o)))
        return;
    for (int i = 0; i < o->count && i < FG_OPERATION_OUTPUTS; i++)
        out[i] = fgi_tensor_of(&trace->poison);
    if (!check_call(trace, o, in, in_count))
        return;
    const char *config = o->config != NULL ? o->config : "";
    const call_attr head = {o->count, o->in_place, (int64_t)strlen(o->name) + 1,
                            (int64_t)strlen(config) + 1};
    fgi_buf attr = {0};
    fgi_buf_add(&attr, &head, sizeof head);
    for (int i = 0; i < o->count; i++) {
        fg_type type;
        memset(&type, 0, sizeof type); /* no other bytes in the hash */
        type.dtype = o->types[i].dtype;
        type.rank = o->types[i].rank;
        memcpy(type.dim, o->types[i].dim, (size_t)type.rank * sizeof type.dim[0]);
        fgi_buf_add(&attr, &type, sizeof type);
    }
    fgi_buf_add(&attr, o->name, (size_t)head.name_size);
    fgi_buf_add(&attr, config, (size_t)head.config_size);
    if (attr.failed)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    else
        fgi_apply_results(&call_op, &(fgi_operands){in, in_count, attr.data, attr.size}, out,
                          o->count);
    fgi_buf_fini(&attr);
}
