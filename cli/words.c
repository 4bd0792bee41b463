/* words.c - small things for all of the program: memory that is there or ends it, near names,
 * sizes in words, complaints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <fulgurite/report.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

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

void *cli_realloc(void *block, size_t count, size_t size)
{
    return or_exit(reallocarray(block, count > 0 ? count : 1, size));
}

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

double cli_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum { LONGEST_WORD = 64 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Insertions, deletions, replacements and swaps of neighbours that lead from a to b; words longer
 * than LONGEST_WORD are far from everything. Source: Damerau 1964, in the restricted form. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST_WORD + 1];
    const size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size > LONGEST_WORD || b_size > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            const bool is_same = a[i - 1] == b[j - 1];
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (is_same ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

const char *cli_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    const size_t third = strlen(word) / 3;
    size_t best = (third > 2 ? third : 2) + 1;
    for (size_t i = 0; i < count; i++) {
        const size_t far = distance(word, candidates[i]);
        if (far < best && far < strlen(candidates[i]) && far < strlen(word)) {
            best = far;
            nearest = candidates[i];
        }
    }
    return nearest;
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

const char *cli_bytes(double bytes)
{
    static char text[32];
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    (void)snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}
