/* fuzz_tfrecord.c - any bytes as a record of a TFRecord file. The checksums are made right, so that
 * the bytes of tf.Example are reached; without that, bytes of the size are the file itself. The
 * first byte selects it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_catalog.h"

#include "base/crc32c.h"

static void put(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t masked_crc(const uint8_t *data, size_t size)
{
    const uint32_t crc = fgi_crc32c(0, data, size);
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fg_catalog_options options = {.kind = "tfrecord"};
    if (size == 0 || (data[0] & 1) == 0) {
        fuzz_catalog(fuzz_file(data + (size > 0), size - (size > 0)), &options);
        return 0;
    }
    uint8_t *file = malloc(size + 15);
    if (file == NULL)
        abort();
    put(file, size - 1, 8);
    put(file + 8, masked_crc(file, 8), 4);
    memcpy(file + 12, data + 1, size - 1);
    put(file + 11 + size, masked_crc(data + 1, size - 1), 4);
    fuzz_catalog(fuzz_file(file, size + 15), &options);
    free(file);
    return 0;
}
