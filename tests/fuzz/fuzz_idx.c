/* fuzz_idx.c - any bytes as IDX files: the first two give the length of the images file, the rest
 * is images and then labels; either may be gzip.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "data/idx.h"

/* The file's content as fgi_block_open would have it. False where it is no good gzip file. */
static bool open_block(const uint8_t *data, size_t size, fgi_block *out)
{
    fg_error err;
    *out = (fgi_block){.data = data, .size = size};
    if (size < 2 || data[0] != 0x1f || data[1] != 0x8b)
        return true;
    return fgi_block_inflate("input.gz", data, size, (size_t)1 << 20, out, &err) == FG_OK;
}

static void check_rows(const fg_dataset *dataset)
{
    fg_error err;
    const int64_t count = fg_dataset_count(dataset);
    if (count == 0) /* then a sample may be of any size */
        return;
    void *image = fgi_alloc(fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
    int32_t label;
    if (image == NULL)
        abort();
    for (int64_t i = 0; i < count && i < 16; i++)
        if (fg_dataset_read(dataset, count - 1 - i, (void *const[]){image, &label}, &err) != FG_OK)
            abort();
    fgi_free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t length = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    length = length < size ? length : size;
    fgi_block images, labels = {0};
    const bool has_labels = length < size;
    if (!open_block(data, length, &images))
        return 0;
    if (has_labels && !open_block(data + length, size - length, &labels)) {
        fgi_block_fini(&images);
        return 0;
    }
    fg_dataset *dataset;
    fg_error err;
    if (fgi_idx_dataset((const char *const[]){"images", "labels"}, &images,
                        has_labels ? &labels : NULL, &dataset, &err) == FG_OK)
        check_rows(dataset);
    fg_dataset_destroy(dataset);
    return 0;
}
