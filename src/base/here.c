/* here.c - see here.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/here.h"

#include <fulgurite/base.h>
#include <string.h>

#include "base/print.h"

static _Thread_local struct {
    const char *file;
    int line;
    bool is_fresh;
} here;

void fg_here(const char *file, int line)
{
    here.file = file;
    here.line = line;
    here.is_fresh = true;
}

void fgi_here_get(const char **out_file, int *out_line)
{
    *out_file = here.file;
    *out_line = here.line;
    here.is_fresh = false;
}

void fgi_here_take(const char **out_file, int *out_line)
{
    const bool is_fresh = here.is_fresh;
    fgi_here_get(out_file, out_line);
    *out_file = is_fresh ? *out_file : NULL;
}

void fgi_format_place(char *out, size_t size, const char *file, int line)
{
    const size_t length = strlen(file), number = 12; /* ":2147483647" */
    const bool is_long = length + number > size;
    (void)fgi_snprintf(out, size, "%s%s:%d", is_long ? "..." : "",
                       is_long ? file + length - (size - number - 3) : file, line);
}
