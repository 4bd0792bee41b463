/* jpeg_entropy.c - measures libjpeg's entropy decoder, which is a function pointer in a documented
 * structure (jpegint.h), by a function that calls it.
 *
 * A sample costs two readings of the time, about 50 ns, and an MCU 200 to 1000 ns; so every 13th is
 * sampled, which costs less than 1 %. 13 has no factor in common with usual numbers of MCUs per
 * row, so the samples are spread over all columns.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_entropy.h"

#include "base/thread.h"

#include <jpegint.h>

enum { SAMPLE_EVERY = 13 };

static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW *blocks)
{
    fgi_jpeg_entropy *clock = info->client_data;
    if (clock->mcus++ % SAMPLE_EVERY != 0)
        return clock->decode_mcu(info, blocks);
    const int64_t begin = fgi_now_ns();
    const boolean is_done = clock->decode_mcu(info, blocks);
    clock->sampled_ns += fgi_now_ns() - begin;
    clock->sampled++;
    return is_done;
}

void fgi_jpeg_entropy_start(j_decompress_ptr info, fgi_jpeg_entropy *clock)
{
    const int64_t begin = fgi_now_ns();
    *clock = (fgi_jpeg_entropy){0};
    info->client_data = clock;
    (void)jpeg_start_decompress(info);
    if (jpeg_has_multiple_scans(info)) {
        clock->whole_ns = fgi_now_ns() - begin;
        return;
    }
    clock->decode_mcu = info->entropy->decode_mcu;
    info->entropy->decode_mcu = decode_mcu;
}

int64_t fgi_jpeg_entropy_ns(const fgi_jpeg_entropy *clock)
{
    if (clock->sampled == 0)
        return clock->whole_ns;
    return (int64_t)((double)clock->sampled_ns * (double)clock->mcus / (double)clock->sampled);
}
