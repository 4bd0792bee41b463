/* emit_function.c - functions of a program beside @main, for code that the compiler must compile by
 * itself.
 *
 * XLA puts the bodies of functions into their callers, unless the call says that it may not. Such a
 * call is then the only thing that XLA's CPU backend fuses nothing across: it removes
 * optimization_barrier before it fuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/mlir.h"
#include "trace/program.h"

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

void fgi_emit_function_begin(fgi_emit *e, fgi_function *f, int in_count,
                             const fg_type *const *in_type, const fg_type *type)
{
    *f = (fgi_function){.out = e->out, .next_value = e->next_value, .next = (uint32_t)in_count};
    fgi_buf_putc(&f->text, '(');
    for (int i = 0; i < in_count; i++) {
        fgi_buf_printf(&f->text, "%s%%%d: ", i == 0 ? "" : ", ", i);
        fgi_mlir_type(&f->text, in_type[i]);
    }
    fgi_buf_puts(&f->text, ") -> ");
    fgi_mlir_type(&f->text, type);
    fgi_buf_puts(&f->text, " {\n");
    e->out = &f->text;
    e->next_value = &f->next;
}

/* The index of a function with this text, which is taken over; -1 after out of memory. */
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

/* The results' own line: the call of function `index`. */
static void put_call(fgi_emit *e, uint32_t result, const fg_type *type, int64_t index, int in_count,
                     const uint32_t *in, const fg_type *const *in_type)
{
    fgi_buf_printf(e->out, "    %%%" PRIu32 " = \"func.call\"(", result);
    for (int i = 0; i < in_count; i++)
        fgi_buf_printf(e->out, "%s%%%" PRIu32, i == 0 ? "" : ", ", in[i]);
    fgi_buf_printf(e->out,
                   ") {callee = @isolated_%" PRId64
                   ", mhlo.frontend_attributes = {inlineable = \"false\"}} : (",
                   index);
    for (int i = 0; i < in_count; i++) {
        fgi_buf_puts(e->out, i == 0 ? "" : ", ");
        fgi_mlir_type(e->out, in_type[i]);
    }
    fgi_buf_puts(e->out, ") -> ");
    fgi_mlir_type(e->out, type);
    fgi_emit_end(e);
}

uint32_t fgi_emit_function_end(fgi_emit *e, fgi_function *f, uint32_t value, const fg_type *type,
                               int in_count, const uint32_t *in, const fg_type *const *in_type)
{
    fgi_buf_printf(&f->text, "    func.return %%%" PRIu32 " : ", value);
    fgi_mlir_type(&f->text, type);
    fgi_buf_puts(&f->text, "\n  }\n");
    e->out = f->out;
    e->next_value = f->next_value;
    const uint32_t result = fgi_emit_temp(e);
    const int64_t index = function_of(e->functions, &f->text);
    if (index < 0)
        e->out->failed = true;
    else
        put_call(e, result, type, index, in_count, in, in_type);
    return result;
}
