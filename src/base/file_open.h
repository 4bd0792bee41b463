/* file_open.h - counts the files that a thread opens, for reports on data that are many small
 * files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_FILE_OPEN_H
#define FGI_BASE_FILE_OPEN_H

#include <stdint.h>

/* What the calling thread has opened so far, and how long that took. */
typedef struct fgi_opened {
    int64_t count, ns;
} fgi_opened;
fgi_opened fgi_opened_here(void);

/* openat for reading, without waiting for a FIFO, which is counted, also if it fails. */
int fgi_open_counted(int folder, const char *name);

#endif
