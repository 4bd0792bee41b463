/* output.h - write an output file: a regular file is replaced as a whole or not at all; a device, a
 * pipe or an open descriptor is written directly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_OUTPUT_H
#define FGI_BASE_OUTPUT_H

#include <fulgurite/base.h>

/* With fd -1, it is closed. */
typedef struct fgi_output {
    int fd;          /* write here */
    char *target;    /* the file after following symbolic links */
    char *temporary; /* temporary file next to the target, renamed to it at the end; NULL: written
                        directly */
    bool borrows_fd; /* for /dev/stdout and the like: a descriptor of this process */
} fgi_output;

/* Opens `path` for writing. A regular file, or one that does not exist, is written to a temporary
 * file in the same folder (for a symbolic link, in the folder of its target) with the mode of the
 * file that it replaces. /dev/stdout, /dev/fd/N and /proc/self/fd/N are descriptors of this
 * process, written at their current position. Errors: FG_EIO, FG_ENOTFOUND, FG_ENOMEM. */
fg_status fgi_output_open(const char *path, fgi_output *out, fg_error *err);

/* Closes it. With FG_OK the content is synced to disk and the file gets its name, durably; with any
 * other status a regular file is unchanged. Returns status, or the error that occurred here. */
fg_status fgi_output_close(fgi_output *out, fg_status status, fg_error *err);

#endif
