/* fuzz_npy.c - any bytes as a .npy file. An accepted file has the size that its shape requires.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "data/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fgi_npy npy;
    fg_error err = {0};
    if (fgi_npy_parse("input", data, size, &npy, &err) != FG_OK) {
        if (err.status == FG_OK || err.message[0] == '\0')
            abort();
        return 0;
    }
    if (npy.offset > size || fg_type_bytes(&npy.type) != size - npy.offset)
        abort();
    return 0;
}
