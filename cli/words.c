/* words.c - helpers: memory allocation that ends the program on failure, errors, the log, the
 * terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <fulgurite/report.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { LEAST_COLUMNS = 30 };

static void *or_exit(void *block)
{
    if (block == NULL) {
        (void)fputs("fulgurite: out of memory\n", stderr);
        exit(CLI_FAILED); /* NOLINT(concurrency-mt-unsafe): as main returns */
    }
    return block;
}

void *cli_alloc(size_t count, size_t size) { return or_exit(calloc(count > 0 ? count : 1, size)); }

char *cli_strdup(const char *text) { return or_exit(strdup(text)); }

char *cli_strndup(const char *text, size_t size) { return or_exit(strndup(text, size)); }

bool cli_fail(fg_error *err, const char *format, ...)
{
    va_list args;
    *err = (fg_error){.status = FG_EINVAL};
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return false;
}

bool cli_fail_errno(fg_error *err, const char *what, const char *path)
{
    char text[128];
    return cli_fail(err, "cannot %s '%s': %s", what, path, strerror_r(errno, text, sizeof(text)));
}

int cli_complain(int status, const char *command, const char *format, ...)
{
    va_list args;
    (void)fprintf(stderr, "fulgurite%s%s: ", command != NULL ? " " : "",
                  command != NULL ? command : "");
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return status;
}

void cli_print_log(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level > FG_LOG_DEBUG)
        (void)fprintf(stderr, "%s\n", line);
}

bool cli_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *locale = getenv(variables[i]);
        if (locale != NULL && *locale != '\0')
            return strcasestr(locale, "utf-8") != NULL || strcasestr(locale, "utf8") != NULL;
    }
    return false;
}

int cli_columns(FILE *out)
{
    struct winsize size = {0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST_COLUMNS)
        return 80;
    return size.ws_col;
}

bool cli_print_keys(FILE *out, fg_recipe_help_kind kind, const char *about, fg_error *err)
{
    char *text = NULL;
    if (fg_recipe_help(kind, about, &text, err) != FG_OK)
        return false;
    (void)fputs(text, out);
    fg_report_free(text);
    return true;
}
