/* helpers.c - see helpers.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/helpers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/thread.h"
#include "ckpt/json_file.h"

static void *or_exit(void *block)
{
    if (block == NULL) {
        (void)fputs("fulgurite: out of memory\n", stderr);
        exit(1); /* NOLINT(concurrency-mt-unsafe): as main returns */
    }
    return block;
}

void *fgi_must_alloc(size_t count, size_t size)
{
    return or_exit(fgi_calloc(count > 0 ? count : 1, size));
}

void *fgi_must_realloc(void *block, size_t count, size_t size)
{
    return or_exit(fgi_realloc(block, (count > 0 ? count : 1) * size));
}

char *fgi_must_strdup(const char *text) { return or_exit(fgi_strdup(text)); }

char *fgi_must_strndup(const char *text, size_t size)
{
    char *copy = fgi_must_alloc(strnlen(text, size) + 1, 1);
    memcpy(copy, text, strnlen(text, size));
    return copy;
}

bool fgi_refuse(fg_error *err, const char *format, ...)
{
    va_list args;
    *err = (fg_error){.status = FG_EINVAL};
    va_start(args, format);
    (void)fgi_vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    fgi_failed(err);
    return false;
}

bool fgi_refuse_errno(fg_error *err, const char *what, const char *path)
{
    return fgi_refuse(err, "cannot %s '%s': %s", what, path, fgi_errno_text(errno));
}

int fgi_compare_nocase(const char *a, const char *b)
{
    while (*a != '\0' && fgi_lower(*a) == fgi_lower(*b)) {
        a++;
        b++;
    }
    return fgi_lower(*a) - fgi_lower(*b);
}

char *fgi_json_text(const json_t *value, size_t flags)
{
    fgi_buf text = {0};
    if (fgi_json_write(value, flags, &text))
        return fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return NULL;
}

void fgi_json_print(FILE *out, const json_t *value, size_t flags)
{
    char *text = fgi_json_text(value, flags);
    if (text != NULL)
        (void)fputs(text, out);
    fgi_free(text);
}

double fgi_now_s(void) { return (double)fgi_now_ns() * 1e-9; }

const char *fgi_bytes_words(double bytes)
{
    static _Thread_local char text[32];
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    (void)fgi_snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}
