/* precision.h - the precisions of training, by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_PRECISION_H
#define FGI_TRACE_PRECISION_H

#include <fulgurite/trace.h>

typedef struct fgi_precision {
    const char *name;
    fg_dtype matmul; /* dtype of matmuls and convolutions; FG_DTYPE_NONE: that of their operands */
    fg_dtype parameter; /* of parameters */
    fg_dtype data;      /* dtype of floating data, running statistics and moments: f32 or f64 */
    bool scales_loss;   /* f16 cannot represent small gradients: the loss is scaled */
} fgi_precision;

/* The row of "32-true" and so on; NULL and "" mean that one. NULL with an error that lists the
 * names. */
const fgi_precision *fgi_precision_find(const char *name, fg_error *err);
/* Whether the client's devices support it; client may be NULL. Errors: FG_EUNSUPPORTED, which
 * suggests alternatives. */
fg_status fgi_precision_check(const fgi_precision *precision, const fg_client *client,
                              fg_error *err);
/* Whether parameters are bf16 or f16. */
bool fgi_precision_is_narrow(const fgi_precision *precision);
const fgi_precision *fgi_trace_precision(const fg_trace *trace);

#endif
