/* fuzz_safetensors.c - any bytes as a tensor file: rejected, or a table of tensors that are within
 * bounds, cover the data, and are found by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include "base/hash.h"
#include "ckpt/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fgi_safetensors file;
    fg_error err = {0};
    if (fgi_safetensors_parse("input", data, size, FG_CKPT_MODEL, &file, &err) != FG_OK) {
        if (err.status == FG_OK || file.tensors != NULL)
            abort();
        return 0;
    }
    size_t at = file.data_start;
    uint64_t sum = 0;
    for (size_t i = 0; i < file.count; i++) {
        const fg_tensor_info *t = &file.tensors[i];
        if (t->offset_bytes != at || (t->stored != NULL) != (t->type.dtype == FG_DTYPE_NONE) ||
            (t->stored == NULL && t->size_bytes != fg_type_bytes(&t->type)))
            abort();
        if (fgi_map_get(&file.by_name, fgi_hash_bytes(t->name, strlen(t->name))) != t)
            abort();
        sum += fgi_checksum64(data + at, t->size_bytes); /* reads each byte */
        at += t->size_bytes;
    }
    if (at != size || (sum == 1 && file.count == 0))
        abort();
    fgi_safetensors_close(&file);
    return 0;
}
