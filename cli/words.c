/* words.c - helpers: memory allocation that ends the program on failure, errors, the log, the
 * terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"
#include "base/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"

enum { LEAST_COLUMNS = 30 };

void *cli_need(void *block)
{
    if (block == NULL) {
        (void)fputs("fulgurite: out of memory\n", stderr);
        exit(CLI_FAILED); /* NOLINT(concurrency-mt-unsafe): as main returns */
    }
    return block;
}

void *cli_alloc(size_t count, size_t size) { return cli_need(calloc(count > 0 ? count : 1, size)); }

char *cli_strdup(const char *text) { return cli_need(strdup(text)); }

char *cli_strndup(const char *text, size_t size) { return cli_need(strndup(text, size)); }

char *cli_printf(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    const locale_t before = fgi_locale_enter();
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    fgi_locale_leave(before);
    return cli_need(text);
}

int cli_complain(int status, const char *command, const char *format, ...)
{
    va_list args;
    char name[64];
    (void)snprintf(name, sizeof(name), "fulgurite%s%s:", command != NULL ? " " : "",
                   command != NULL ? command : "");
    cli_put_colored(CLI_ERROR, name);
    (void)fputc(' ', stderr);
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

static const char *color = "auto";

const cli_option cli_common[] = {
    CLI_TEXT(0, "color", &color, "auto|always|never",
             "highlight warnings, errors and best values (auto: on a terminal, without NO_COLOR)"),
    CLI_END,
};

bool cli_has_color(FILE *out)
{
    const char *none = getenv("NO_COLOR");
    if (strcmp(color, "auto") != 0)
        return strcmp(color, "always") == 0;
    return (none == NULL || *none == '\0') && fgi_is_terminal(out);
}

void cli_put_colored(cli_color code, const char *text)
{
    if (cli_has_color(stderr))
        (void)fprintf(stderr, "\x1b[1;%dm%s\x1b[0m", (int)code, text);
    else
        (void)fputs(text, stderr);
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
    const int columns = (int)fgi_terminal_columns(out, 80);
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}
