/* fuzz_zip.c - any bytes as a ZIP archive; each of its files is read, and then parsed as a .npy
 * file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "data/npy.h"
#include "input/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fgi_zip *zip = NULL;
    fg_error err = {0};
    if (fgi_zip_open_memory("input", data, size, &zip, &err) != FG_OK) {
        if (zip != NULL || err.message[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i < fgi_zip_count(zip) && i < 4; i++) {
        fgi_block block;
        fgi_npy npy;
        if (fgi_zip_read(zip, i, &block, &err) != FG_OK)
            continue;
        if (fgi_npy_parse("input", block.data, block.size, &npy, &err) == FG_OK &&
            fg_type_bytes(&npy.type) != block.size - npy.offset)
            abort();
        fgi_block_fini(&block);
    }
    fgi_zip_close(zip);
    return 0;
}
