/* exif.c - finds the tag Orientation in the first directory of EXIF metadata. Source: CIPA DC-008
 * (Exif 2.32), 4.6.2 and 4.6.4; TIFF 6.0, section 2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

enum { ORIENTATION = 0x0112, TYPE_SHORT = 3, ENTRY_BYTES = 12 };

static uint32_t number(const uint8_t *p, int bytes, bool is_big)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)p[i] << 8 * (is_big ? bytes - 1 - i : i);
    return value;
}

int fgi_exif_orientation(const uint8_t *data, size_t size)
{
    if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0))
        return 1;
    const bool is_big = data[0] == 'M';
    const size_t directory = number(data + 4, 4, is_big);
    if (directory > size - 2)
        return 1;
    const size_t count = number(data + directory, 2, is_big);
    const size_t space = (size - directory - 2) / ENTRY_BYTES;
    for (size_t i = 0; i < count && i < space; i++) {
        const uint8_t *entry = data + directory + 2 + i * ENTRY_BYTES;
        if (number(entry, 2, is_big) != ORIENTATION)
            continue;
        const uint32_t value = number(entry + 8, 2, is_big);
        const bool is_valid =
            number(entry + 2, 2, is_big) == TYPE_SHORT && value >= 1 && value <= 8;
        return is_valid ? (int)value : 1;
    }
    return 1;
}
