/* precision.h - the number formats of a training, by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_PRECISION_H
#define FGI_TRACE_PRECISION_H

#include <fulgurite/trace.h>

typedef struct fgi_precision {
    const char *name;
    fg_dtype matmul;    /* of matmuls and convolutions; FG_DTYPE_NONE: as their operands are */
    fg_dtype parameter; /* of parameters */
    fg_dtype data;      /* of floating data, running statistics and moments: f32 or f64 */
    bool scales_loss;   /* f16 holds no small gradients: the loss is scaled up */
} fgi_precision;

/* "32-true" and so on; NULL and "" mean that one. NULL with an error that lists the names. */
const fgi_precision *fgi_precision_find(const char *name, fg_error *err);
/* Whether the client's devices compute so; client may be NULL. Errors: FG_EUNSUPPORTED, which
 * names what goes instead. */
fg_status fgi_precision_check(const fgi_precision *precision, const fg_client *client,
                              fg_error *err);
/* Whether parameters are bf16 or f16. */
bool fgi_precision_is_narrow(const fgi_precision *precision);
const fgi_precision *fgi_trace_precision(const fg_trace *trace);

#endif
