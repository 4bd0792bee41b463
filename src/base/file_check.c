/* file_check.c - whether an output file can be written, before the work starts whose result it is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"

/* The error number of what prevents writing; 0: nothing. */
static int reason_against(const char *path)
{
    struct stat info;
    char real[PATH_MAX];
    if (*path == '\0')
        return ENOENT;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return EISDIR;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return access(path, W_OK) == 0 ? 0 : errno;
    char *folder = fgi_path_parent(realpath(path, real) != NULL ? real : path);
    if (folder == NULL)
        return ENOMEM;
    const int reason = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    fgi_free(folder);
    return reason;
}

fg_status fgi_file_check(const char *path, fg_error *err)
{
    const int reason = reason_against(path);
    if (reason == ENOMEM)
        return fgi_no_memory(err);
    return reason == 0
               ? FG_OK
               : fgi_fail(err, FG_EIO, "cannot write '%s': %s", path, fgi_errno_text(reason));
}
