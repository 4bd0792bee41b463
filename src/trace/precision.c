/* precision.c - the dtypes used for computation, parameters and data in training.
 *
 * A trace has one row of the table. Operations query it in one place (src/op/upcast.c): matmuls and
 * convolutions convert their operands to its dtype, sums and losses return f32. Modules query it
 * for the dtype of their parameters. Source: Micikevicius et al. 2018, "Mixed precision training".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/precision.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "trace/trace.h"

static const fgi_precision table[] = {
    {"32-true", FG_DTYPE_NONE, FG_F32, FG_F32, false},
    {"bf16-mixed", FG_BF16, FG_F32, FG_F32, false},
    {"bf16-true", FG_BF16, FG_BF16, FG_F32, false},
    {"16-mixed", FG_F16, FG_F32, FG_F32, true},
    {"16-true", FG_F16, FG_F16, FG_F32, true},
    {"64-true", FG_F64, FG_F64, FG_F64, false},
};
enum { COUNT = sizeof table / sizeof table[0] };

const fgi_precision *fgi_precision_find(const char *name, fg_error *err)
{
    const char *names[COUNT];
    if (name == NULL || name[0] == '\0')
        return &table[0];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = table[i].name;
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    const char *near = fgi_nearest(name, names, COUNT);
    (void)fgi_fail(err, FG_EINVAL,
                   "unknown precision '%s': %s%s%sexpected 32-true, bf16-mixed, bf16-true, "
                   "16-mixed, 16-true or 64-true",
                   name, near != NULL ? "did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'? " : "");
    return NULL;
}

fg_status fgi_precision_check(const fgi_precision *precision, const fg_client *client,
                              fg_error *err)
{
    if (client == NULL || precision->matmul == FG_DTYPE_NONE ||
        fgi_client_support(client, precision->matmul) != FGI_UNSUPPORTED)
        return FG_OK;
    if (precision->matmul == FG_F16)
        return fgi_fail(
            err, FG_EUNSUPPORTED,
            "precision '%s': TPUs do not support f16, which has no benefit on matrix units that "
            "compute in bf16 and loses small gradients\nuse 'bf16-mixed', or '32-true'",
            precision->name);
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "precision '%s': TPUs do not support f64, which would be emulated and many "
                    "times slower\nuse '32-true', or 'bf16-mixed'",
                    precision->name);
}

bool fgi_precision_is_narrow(const fgi_precision *precision)
{
    return precision->parameter == FG_BF16 || precision->parameter == FG_F16;
}

const fgi_precision *fgi_trace_precision(const fg_trace *trace)
{
    return trace->precision != NULL ? trace->precision : &table[0];
}

fg_status fg_trace_set_precision(fg_trace *trace, const char *precision, fg_error *err)
{
    const fgi_precision *found = fgi_precision_find(precision, err);
    if (found == NULL)
        return FG_EINVAL;
    FGI_TRY(fgi_precision_check(found, trace->client, err));
    trace->precision = found;
    return FG_OK;
}

const char *fg_trace_precision(const fg_trace *trace) { return fgi_trace_precision(trace)->name; }

fg_dtype fg_trace_float(const fg_trace *trace) { return fgi_trace_precision(trace)->data; }
