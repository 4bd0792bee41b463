/* print.c - formatted output in the locale "C", regardless of the program's locale. uselocale is
 * per thread, so other threads of the host program are not affected. Sizes for people.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* glibc and musl return a static object for "C": it uses no memory and need not be freed. */
static locale_t plain(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

locale_t fgi_locale_enter(void) { return uselocale(plain()); }

void fgi_locale_leave(locale_t before) { (void)uselocale(before); }

int fgi_vsnprintf(char *out, size_t size, const char *format, va_list args)
{
    const locale_t before = fgi_locale_enter();
    const int length = vsnprintf(out, size, format, args);
    fgi_locale_leave(before);
    return length;
}

int fgi_snprintf(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = fgi_vsnprintf(out, size, format, args);
    va_end(args);
    return length;
}

int fgi_fprintf(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const locale_t before = fgi_locale_enter();
    const int length = vfprintf(out, format, args);
    fgi_locale_leave(before);
    va_end(args);
    return length;
}

const char *fgi_errno_text(int number) { return strerror_l(number, plain()); }

bool fgi_is_terminal(FILE *out)
{
    const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): read only */
    return isatty(fileno(out)) == 1 && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

size_t fgi_terminal_columns(FILE *out, size_t otherwise)
{
    struct winsize size = {0};
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

const char *fgi_bytes_words(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    static _Thread_local char texts[8][32];
    static _Thread_local unsigned calls;
    char *text = texts[calls++ % 8];
    size_t unit = 0;
    if (!(bytes >= 0))
        return "?";
    for (; bytes >= (unit == 0 ? 999.5 : 999.95) && unit < 5; unit++)
        bytes /= 1000;
    (void)fgi_snprintf(text, sizeof texts[0], unit == 0 ? "%.0f %s" : "%.1f %s", bytes,
                       units[unit]);
    return text;
}

const char *fgi_count_words(double value)
{
    static _Thread_local char texts[8][32];
    static _Thread_local unsigned calls;
    char digits[32], *out = texts[calls++ % 8];
    const int size = fgi_snprintf(digits, sizeof digits, "%.0f", value < 1e15 ? value : 1e15);
    int used = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    if (value < 9.95 && value != (double)(int)value)
        (void)fgi_snprintf(out, sizeof texts[0], "%.1f", value);
    return out;
}
