/* fuzz_cifar.c - any bytes as CIFAR-10 records: decoded bytes are the file's, in another order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "data/cifar.h"

static uint64_t sum(const uint8_t *bytes, size_t size)
{
    uint64_t total = 0;
    for (size_t i = 0; i < size; i++)
        total += bytes[i];
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t count = size / FGI_CIFAR_RECORD_BYTES;
    unsigned char *images = fgi_alloc(count * FGI_CIFAR_IMAGE_BYTES);
    int32_t *labels = fgi_alloc(count * sizeof(*labels));
    fg_error err;
    if (images == NULL || labels == NULL)
        abort();
    if (fgi_cifar_decode("input", data, size, images, labels, &err) == FG_OK) {
        uint64_t total = sum(images, count * FGI_CIFAR_IMAGE_BYTES);
        for (size_t i = 0; i < count; i++)
            total += (uint64_t)labels[i];
        if (total != sum(data, size))
            abort();
    }
    fgi_free(images);
    fgi_free(labels);
    return 0;
}
