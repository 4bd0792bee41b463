/* output.h - a file being written where the user has pointed: a regular file is replaced as a whole
 * or not at all; a device, a pipe or an open descriptor is written to as it is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_OUTPUT_H
#define FGI_BASE_OUTPUT_H

#include <fulgurite/base.h>

/* Zero-initialised it is closed. */
typedef struct fgi_output {
    int fd;          /* write here */
    char *target;    /* the file behind all symbolic links */
    char *temporary; /* beside the target, whose name it will take; NULL: written to directly */
    bool borrows_fd; /* of /dev/stdout and the like: it is the process's own */
} fgi_output;

/* Opens `path` for writing. A regular file, or one that does not exist, is written beside its place
 * (of a symbolic link: beside its target) with the mode of the file that it replaces. /dev/stdout,
 * /dev/fd/N and /proc/self/fd/N are this process's descriptors, at their present position. Errors:
 * FG_EIO, FG_ENOTFOUND, FG_ENOMEM. */
fg_status fgi_output_open(const char *path, fgi_output *out, fg_error *err);

/* Ends it. With FG_OK the content is brought to the disk and the file takes its name, durably; with
 * any other status a regular file stays as it was. Returns status, or what went wrong here. */
fg_status fgi_output_close(fgi_output *out, fg_status status, fg_error *err);

#endif
