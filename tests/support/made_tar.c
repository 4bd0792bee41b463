/* made_tar.c - see made_tar.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "made_tar.h"

#include <stdio.h>
#include <string.h>
#include "fgt.h"

void archive_checksum(unsigned char *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 8, "%06o", sum);
}

void archive_add(archive *a, char type, const char *name, const char *data, size_t size)
{
    unsigned char *h = a->data + a->size;
    memset(h, 0, BLOCK);
    memcpy(h, name, strlen(name));
    (void)snprintf((char *)h + 124, 12, "%011o", (unsigned)size);
    h[156] = (unsigned char)type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    archive_checksum(h);
    memset(h + BLOCK, 0, (size + BLOCK - 1) / BLOCK * BLOCK);
    memcpy(h + BLOCK, data, size);
    a->size += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

void archive_add_text(archive *a, const char *name, const char *text)
{
    archive_add(a, '0', name, text, strlen(text));
}

const char *archive_write(archive *a, const char *name)
{
    memset(a->data + a->size, 0, 2 * BLOCK);
    const char *path = fgt_path(fgt_temp_folder(), name);
    fgt_write(path, a->data, a->size + 2 * BLOCK);
    return path;
}
