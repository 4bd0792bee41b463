/* kernel_call.c - calls of kernels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/kernel_call.h"

#include <inttypes.h>

#include "hlo/mlir.h"
#include "kernel/kernel.h"

void fgi_emit_kernel(fgi_emit *e, const fgi_kernel_call *call)
{
    fgi_buf text = {0};
    fgi_buf_printf(&text, "call_target_name = \"%s\", api_version = 4 : i32", call->kernel);
    if (call->size > 0) {
        fgi_buf_printf(&text, ", backend_config = {%s = %" PRId64 " : i64, %s = ", FGI_KERNEL_CALL,
                       fgi_emit_call(e), FGI_KERNEL_NUMBERS);
        fgi_mlir_array(&text, (int)(call->size / sizeof(int64_t)), call->numbers);
        fgi_buf_putc(&text, '}');
    }
    if (text.failed)
        e->b.out->failed = true;
    else
        fgi_build_results(&e->b, call->out_count, call->out,
                          &(fgi_operation){"custom_call", text.data, call->in_count, call->in});
    fgi_buf_fini(&text);
}
