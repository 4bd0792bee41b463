/* out_file.c - writes the output files named by the user, and checks before the work starts that
 * they can be written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "out_file.h"
#include "base/error.h"
#include "base/file.h"

#include <fulgurite/report.h>
#include <string.h>

static bool is_standard_output(const char *path) { return strcmp(path, "-") == 0; }

fg_status out_file_write(const char *path, const char *text, size_t size, fg_error *err)
{
    if (is_standard_output(path))
        return fwrite(text, 1, size, stdout) == size ? FG_OK : fgi_fail_errno(err, "write", path);
    (void)fflush(stdout); /* the path may refer to it too */
    return fg_file_write(path, text, size, err);
}

int out_text(const char *command, fg_status status, char *const *text, const char *path,
             fg_error *err)
{
    const int failed = status == FG_EINVAL ? CLI_USAGE : CLI_FAILED;
    if (status == FG_OK && path != NULL)
        status = out_file_write(path, *text, strlen(*text), err);
    else if (status == FG_OK && *text != NULL)
        (void)fputs(*text, stdout);
    fg_free(*text);
    return status == FG_OK ? CLI_DONE : cli_complain(failed, command, "%s", err->message);
}

int out_buf(const char *command, fg_status status, fgi_buf *text, fg_error *err)
{
    status = status == FG_OK ? fgi_buf_status(text, err) : status;
    char *whole = status == FG_OK ? fgi_buf_take(text) : NULL;
    fgi_buf_fini(text);
    return out_text(command, status, &whole, NULL, err);
}

fg_status out_file_check(const char *option, const char *path, fg_error *err)
{
    if (path != NULL && !is_standard_output(path))
        FGI_TRY_CTX(fgi_file_check(path, err), err, "%s", option);
    return FG_OK;
}
