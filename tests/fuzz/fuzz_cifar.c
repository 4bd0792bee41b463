/* fuzz_cifar.c - any bytes as CIFAR records of each kind: decoded bytes are the file's, in another
 * order.
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

static void decode(const fgi_cifar *kind, const uint8_t *data, size_t size)
{
    const size_t bytes = fgi_cifar_record(kind), count = size / bytes;
    unsigned char *images = fgi_alloc(count * FGI_CIFAR_IMAGE_BYTES);
    int32_t *labels = fgi_alloc(count * sizeof(*labels));
    fg_error err;
    if (images == NULL || labels == NULL)
        abort();
    if (fgi_cifar_decode(kind, "input", data, size, images, labels, &err) == FG_OK) {
        uint64_t total = sum(images, count * FGI_CIFAR_IMAGE_BYTES);
        for (size_t i = 0; i < count; i++) {
            if (labels[i] != data[i * bytes + kind->label_at] || labels[i] >= kind->classes)
                abort();
            total += sum(data + i * bytes, kind->label_bytes);
        }
        if (total != sum(data, size))
            abort();
    }
    fgi_free(images);
    fgi_free(labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode(&fgi_cifar10, data, size);
    decode(&fgi_cifar100_fine, data, size);
    decode(&fgi_cifar100_coarse, data, size);
    return 0;
}
