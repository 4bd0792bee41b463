/* function.c - functions of a program other than @main, for code that must be compiled separately.
 *
 * XLA inlines functions into their callers unless the call forbids it. Such a call is the only
 * thing that prevents fusion in XLA's CPU backend, which removes optimization_barrier before it
 * fuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "hlo/builder.h"
#include "hlo/mlir.h"

void fgi_functions_fini(fgi_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        fgi_buf_fini(&functions->body[i]);
    fgi_free(functions->body);
}

void fgi_functions_put(const fgi_functions *functions, fgi_buf *out)
{
    for (size_t i = 0; i < functions->count; i++) {
        fgi_buf_printf(out, "  func.func private @isolated_%zu", i);
        fgi_buf_puts(out, functions->body[i].data);
    }
}

static void put_head(fgi_buf *text, int in_count, const fgi_value *in, const fg_type *type)
{
    fgi_buf_putc(text, '(');
    for (int i = 0; i < in_count; i++) {
        fgi_buf_printf(text, "%s%%%d: ", i == 0 ? "" : ", ", i);
        fgi_mlir_type(text, &in[i].type);
    }
    fgi_buf_puts(text, ") -> ");
    fgi_mlir_type(text, type);
    fgi_buf_puts(text, " {\n");
}

/* Writes the whole function to `text`; its arguments have the SSA numbers starting at 0. */
static void put_function(fgi_builder *b, fgi_buf *text, const fg_type *type, int in_count,
                         const fgi_value *in, fgi_function_body body, const void *context)
{
    fgi_buf *const out = b->out;
    uint32_t *const next = b->next;
    uint32_t number = (uint32_t)in_count;
    fgi_value argument[FGI_LOOP_STATE_MAX];
    for (int i = 0; i < in_count; i++)
        argument[i] = (fgi_value){(uint32_t)i, in[i].type};
    put_head(text, in_count, in, type);
    b->out = text;
    b->next = &number;
    const fgi_value result = body(b, context, argument);
    b->out = out;
    b->next = next;
    fgi_buf_printf(text, "    func.return %%%" PRIu32 " : ", result.id);
    fgi_mlir_type(text, type);
    fgi_buf_puts(text, "\n  }\n");
}

/* The index of the function with this text, of which it takes ownership; -1 when out of memory. */
static int64_t function_of(fgi_functions *functions, fgi_buf *text)
{
    for (size_t i = 0; i < functions->count && !text->failed; i++)
        if (functions->body[i].size == text->size &&
            memcmp(functions->body[i].data, text->data, text->size) == 0) {
            fgi_buf_fini(text);
            return (int64_t)i;
        }
    fgi_buf *grown = text->failed ? NULL
                                  : fgi_realloc(functions->body,
                                                (functions->count + 1) * sizeof *functions->body);
    if (grown == NULL) {
        fgi_buf_fini(text);
        return -1;
    }
    functions->body = grown;
    functions->body[functions->count] = *text;
    return (int64_t)functions->count++;
}

/* Calls function `index`. */
static void put_call(fgi_builder *b, const fgi_value *result, int64_t index, int in_count,
                     const fgi_value *in)
{
    fgi_buf_printf(b->out, "    %%%" PRIu32 " = \"func.call\"(", result->id);
    for (int i = 0; i < in_count; i++)
        fgi_buf_printf(b->out, "%s%%%" PRIu32, i == 0 ? "" : ", ", in[i].id);
    fgi_buf_printf(b->out,
                   ") {callee = @isolated_%" PRId64
                   ", mhlo.frontend_attributes = {inlineable = \"false\"}} : (",
                   index);
    for (int i = 0; i < in_count; i++) {
        fgi_buf_puts(b->out, i == 0 ? "" : ", ");
        fgi_mlir_type(b->out, &in[i].type);
    }
    fgi_buf_puts(b->out, ") -> ");
    fgi_mlir_type(b->out, &result->type);
    fgi_build_end(b);
}

fgi_value fgi_build_call(fgi_builder *b, const fg_type *type, int in_count, const fgi_value *in,
                         fgi_function_body body, const void *context)
{
    fgi_buf text = {0};
    put_function(b, &text, type, in_count, in, body, context);
    const fgi_value result = fgi_build_value(b, type);
    const int64_t index = function_of(b->functions, &text);
    if (index < 0)
        b->out->failed = true;
    else
        put_call(b, &result, index, in_count, in);
    return result;
}
