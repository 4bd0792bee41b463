/* made_tar.h - tar archives that a test makes in memory, member by member.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_MADE_TAR_H
#define FGT_MADE_TAR_H

#include <stddef.h>

enum { BLOCK = 512 };

typedef struct archive {
    unsigned char data[64 * BLOCK];
    size_t size; /* 0: empty */
} archive;

/* Writes the checksum of a header. */
void archive_checksum(unsigned char *header);
void archive_add(archive *a, char type, const char *name, const char *data, size_t size);
void archive_add_text(archive *a, const char *name, const char *text);
/* Ends the archive, and writes it to a file in a temporary folder. Returns the path. */
const char *archive_write(archive *a, const char *name);

#endif
