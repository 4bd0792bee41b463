/* reserved.c - the check of `reserved` in options and in tables of functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/reserved.h"

#include "base/error.h"

fg_status fgi_check_reserved(fgi_reserved reserved, fg_error *err)
{
    const unsigned char *bytes = reserved.options;
    for (size_t i = 0; bytes != NULL && i < reserved.bytes; i++)
        if (bytes[reserved.offset + i] != 0)
            return fgi_fail(err, FG_EINVAL,
                            "%s: 'reserved' must be zero: the struct is not initialized, or the "
                            "program was compiled against newer headers than the library",
                            reserved.type);
    return FG_OK;
}
