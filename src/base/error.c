/* error.c - creates all errors, and implements the public functions of base.h: names of status
 * codes, printing, the version. An fg_error belongs to its caller and owns no memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define FGI_DEFINES_FAIL
#include "base/error.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/print.h"

static const char *const names[] = {
    [FG_OK] = "FG_OK",
    [FG_EINVAL] = "FG_EINVAL",
    [FG_ENOMEM] = "FG_ENOMEM",
    [FG_ESHAPE] = "FG_ESHAPE",
    [FG_EDTYPE] = "FG_EDTYPE",
    [FG_EIO] = "FG_EIO",
    [FG_EFORMAT] = "FG_EFORMAT",
    [FG_ENOTFOUND] = "FG_ENOTFOUND",
    [FG_EPLUGIN] = "FG_EPLUGIN",
    [FG_ECOMPILE] = "FG_ECOMPILE",
    [FG_EDEVICE] = "FG_EDEVICE",
    [FG_EDEVMEM] = "FG_EDEVMEM",
    [FG_ESTOPPED] = "FG_ESTOPPED",
    [FG_EUNSUPPORTED] = "FG_EUNSUPPORTED",
    [FG_EINTERNAL] = "FG_EINTERNAL",
    [FG_ENUMERIC] = "FG_ENUMERIC",
};

const char *fg_status_name(fg_status status)
{
    const size_t index = (size_t)status;
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown status";
}

const char *fg_version(void) { return FG_VERSION_STRING; }

int fg_error_fprint(FILE *out, const fg_error *err, const char *program)
{
    char place[64] = "";
    if (err->file != NULL && err->line > 0)
        (void)snprintf(place, sizeof(place), ":%d", err->line);
    (void)fprintf(out, "%s%s%s%s%s%s\n", program == NULL ? "" : program,
                  program == NULL ? "" : ": ", err->file == NULL ? "" : err->file, place,
                  err->file == NULL ? "" : ": ", err->message);
    return 1;
}

__attribute__((noinline)) void fgi_failed(const fg_error *err)
{
    (void)err;
    const char *trap = getenv("FG_TRAP");
    if (trap != NULL && strcmp(trap, "1") == 0)
        (void)raise(SIGTRAP);
}

/* Formats into out; a message that is too long ends in "...". */
FG_PRINTF(3, 0)
static void format_message(char *out, size_t size, const char *format, va_list args)
{
    const int length = fgi_vsnprintf(out, size, format, args);
    if (length < 0)
        out[0] = '\0';
    else if ((size_t)length >= size)
        memcpy(out + size - 4, "...", 4);
}

FG_PRINTF(5, 0)
static fg_status fail(fg_error *err, fg_status status, const char *file, int line,
                      const char *format, va_list args)
{
    /* formatted into a local buffer, because the arguments may point into *err */
    fg_error made = {.status = status, .line = line, .file = file};
    format_message(made.message, sizeof(made.message), format, args);
    fgi_failed(&made);
    if (err != NULL)
        *err = made;
    return status;
}

fg_status fgi_fail(fg_error *err, fg_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, NULL, 0, format, args);
    va_end(args);
    return status;
}

fg_status fg_error_set(fg_error *err, fg_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, NULL, 0, format, args);
    va_end(args);
    return status;
}

fg_status fgi_fail_at(fg_error *err, fg_status status, const char *file, int line,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, file, line, format, args);
    va_end(args);
    return status;
}

fg_status fgi_context(fg_error *err, fg_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    char old[sizeof(err->message)], prefix[sizeof(err->message)];
    memcpy(old, err->message, sizeof(old));
    va_list args;
    va_start(args, format);
    format_message(prefix, sizeof(prefix), format, args);
    va_end(args);
    const int length = snprintf(err->message, sizeof(err->message), "%s: %s", prefix, old);
    if (length >= (int)sizeof(err->message))
        memcpy(err->message + sizeof(err->message) - 4, "...", 4);
    return status;
}

fg_status fgi_no_memory(fg_error *err) { return fgi_fail(err, FG_ENOMEM, "out of memory"); }

const char *fgi_error_line(fgi_arena *arena, const fg_error *err)
{
    char *text = fgi_arena_alloc(arena, 2 * strlen(err->message) + 1);
    size_t size = 0;
    for (const char *at = err->message; text != NULL && *at != '\0'; at++) {
        if (*at == '\n')
            text[size++] = ';';
        text[size++] = *at == '\n' ? ' ' : *at;
    }
    return text;
}
