/* little_endian.h - 16 and 32 bits of records, the lowest byte first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_LITTLE_ENDIAN_H
#define FGI_IMAGE_LITTLE_ENDIAN_H

#include <stdint.h>

#include "base/buf.h"

static inline unsigned fgi_get16(const uint8_t *bytes)
{
    return bytes[0] | (unsigned)bytes[1] << 8;
}

static inline uint32_t fgi_get32(const uint8_t *bytes)
{
    return fgi_get16(bytes) | (uint32_t)fgi_get16(bytes + 2) << 16;
}

static inline void fgi_put16(fgi_buf *out, unsigned value)
{
    fgi_buf_add(out, (const uint8_t[]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

static inline void fgi_put32(fgi_buf *out, uint32_t value)
{
    fgi_put16(out, value & 0xffff);
    fgi_put16(out, value >> 16);
}

#endif
