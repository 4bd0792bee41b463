/* fuzz_jpeg_coefficients.c - any bytes as a record of DCT coefficients: an error, or coefficients
 * and pixels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "image/jpeg_coefficients.h"

enum { MOST_BLOCKS = 4096 };

static void decode(const fgi_jpeg_coefficients *record)
{
    fg_error err = {0};
    void *dense = malloc(fgi_jpeg_dense_bytes(record->blocks));
    int16_t *wide = malloc(sizeof(*wide) * 64 * record->blocks);
    float *rgb = malloc(sizeof(*rgb) * 3 * (size_t)record->width * (size_t)record->height);
    if (dense != NULL && wide != NULL && rgb != NULL &&
        fgi_jpeg_coefficients_unpack("input", record, dense, &err) == FG_OK) {
        fgi_jpeg_coefficients_widen(record, dense, wide);
        if (record->blocks <= 64 && fgi_jpeg_coefficients_to_rgb(record, wide, rgb, &err) != FG_OK)
            abort();
    }
    const int high = fgi_jpeg_coefficients_high(record);
    void *entry = malloc(fgi_jpeg_entry_bytes(record->components, record->blocks, high));
    if (high < 1 || high > 64)
        abort();
    if (entry != NULL)
        (void)fgi_jpeg_coefficients_entry("input", record, high, entry, &err);
    free(entry);
    free(dense);
    free(wide);
    free(rgb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fgi_jpeg_coefficients record;
    fg_error err = {0};
    if (fgi_jpeg_coefficients_open("input", data, size, &record, &err) != FG_OK) {
        if (err.status != FG_EFORMAT || err.message[0] == '\0')
            abort();
        return 0;
    }
    if (record.blocks <= MOST_BLOCKS)
        decode(&record);
    return 0;
}
