/* fuzz_text.c - parsing numbers from any bytes, compared with libc if both accept them, and similar
 * names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/text.h"

/* libc's value of the whole text, if it is a number. */
static int libc_reads(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

static void check_numbers(fgi_str bytes, const char *text)
{
    double value, wanted;
    if (fgi_parse_f64(bytes, &value) && strlen(text) == bytes.size) {
        if (!libc_reads(text, &wanted))
            abort();
        if (value != wanted && !(isnan(value) && isnan(wanted)))
            abort();
    }
    int64_t whole;
    if (fgi_parse_i64(bytes, &whole)) {
        char *end;
        errno = 0;
        const long long same = strtoll(text, &end, 10);
        if (errno != 0 || *end != '\0' || same != whole)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"learning_rate", "momentum", "max_epochs"};
    char text[1024];
    if (size >= sizeof(text))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_numbers((fgi_str){(const char *)data, size}, text);
    const fgi_str trimmed = fgi_str_trim((fgi_str){(const char *)data, size});
    if (trimmed.size > size)
        abort();
    const char *nearest = fgi_nearest(text, names, 3);
    if (nearest != NULL && fgi_edit_distance(nearest, text) != fgi_edit_distance(text, nearest))
        abort();
    return 0;
}
