/* open_format.h - a part of a data format, opened with values of its options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_OPEN_FORMAT_H
#define FGT_OPEN_FORMAT_H

#include <fulgurite/format.h>

#include "base/alloc.h"
#include "option/option.h"

static inline fg_status fgt_open_format(const fg_format_entry *format,
                                        const fg_option_values *values, fg_format_request request,
                                        fg_format_data *out, fg_error *err)
{
    void *own;
    request.values = values;
    fg_status status = fgi_row_create(&format->entry, values, &own, err);
    if (status == FG_OK)
        status = format->load(own, &request, out, err);
    fgi_free(own);
    return status;
}

#endif
