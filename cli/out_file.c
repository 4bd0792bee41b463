/* out_file.c - writes the output files named by the user, and checks before the work starts that
 * they can be written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "out_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard_output(const char *path) { return strcmp(path, "-") == 0; }

bool out_file_write(const char *path, const char *text, size_t size, fg_error *err)
{
    if (is_standard_output(path))
        return fwrite(text, 1, size, stdout) == size || cli_fail_errno(err, "write", path);
    (void)fflush(stdout); /* the path may refer to it too */
    return fg_file_write(path, text, size, err) == FG_OK;
}

/* The folder of a path, "." if it has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return cli_strdup(".");
    return cli_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int reason_against(const char *path)
{
    struct stat info;
    if (*path == '\0')
        return ENOENT;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return EISDIR;
        if (!S_ISREG(info.st_mode))
            return access(path, W_OK) == 0 ? 0 : errno;
    }
    char *real = realpath(path, NULL);
    char *folder = folder_of(real != NULL ? real : path);
    const int reason = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    free(real);
    return reason;
}

bool out_file_check(const char *option, const char *path, fg_error *err)
{
    if (path == NULL || is_standard_output(path))
        return true;
    const int reason = reason_against(path);
    if (reason == 0)
        return true;
    return cli_fail(err, "%s: cannot write '%s': %s", option, path,
                    strerror_r(reason, (char[128]){0}, 128));
}
