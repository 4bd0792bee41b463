/* published_names.c - names of variables in the files of other libraries.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/published_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { MOST_NUMBERS = 8 };

/* Reads the numbers of a name by its pattern; NULL: it does not match, else the text for '*'. */
static const char *read_numbers(const char *pattern, const char *name, int64_t *out)
{
    size_t count = 0;
    while (*pattern != '\0' && *pattern != '*') {
        if (*pattern != '#') {
            if (*pattern++ != *name++)
                return NULL;
            continue;
        }
        const size_t digits = strspn(name, "0123456789");
        const int64_t first = pattern[1] == '1';
        if (count == MOST_NUMBERS || !fgi_parse_i64((fgi_str){name, digits}, &out[count]) ||
            out[count] < first)
            return NULL;
        out[count++] -= first;
        pattern += 1 + first;
        name += digits;
    }
    return *pattern == *name || *pattern == '*' ? name : NULL;
}

bool fgi_rename(const char *from, const char *to, const char *name, fgi_buf *out)
{
    int64_t numbers[MOST_NUMBERS] = {0}, *at = numbers;
    const char *rest = read_numbers(from, name, numbers);
    for (; rest != NULL && *to != '\0' && *to != '|'; to++) {
        const bool is_from_1 = *to == '#' && to[1] == '1';
        if (*to == '*')
            fgi_buf_puts(out, rest);
        else if (*to == '#')
            fgi_buf_printf(out, "%" PRId64, *at++ + is_from_1);
        else
            fgi_buf_putc(out, *to);
        to += is_from_1;
    }
    return rest != NULL;
}

const char *fgi_name_part(const char *names, int i)
{
    for (; i > 0 && names != NULL; i--) {
        names = strchr(names, '|');
        names = names != NULL ? names + 1 : NULL;
    }
    return names;
}
