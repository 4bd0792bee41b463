/* range.c - the range of an option, "auto|0<..1", read from its row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "option/option.h"

/* "0<..1" */
static void parse_limits(const char *text, const char *dots, fgi_option_range *out)
{
    char low[32] = "";
    const size_t size = (size_t)(dots - text);
    out->excludes_min = size > 0 && dots[-1] == '<';
    out->excludes_max = dots[2] == '<';
    if (size > 0 && size < sizeof low)
        memcpy(low, text, size);
    if (size > 0)
        out->min = fgi_strtod(low, NULL);
    if (dots[2] != '\0')
        out->max = fgi_strtod(dots + 2 + out->excludes_max, NULL);
}

fgi_option_range fgi_option_range_of(const fg_option *option)
{
    const bool is_int = option->kind == FG_OPTION_INT || option->kind == FG_OPTION_INTS ||
                        option->kind == FG_OPTION_MAP;
    const char *text = option->range != NULL ? option->range : "";
    fgi_option_range out = {.min = -HUGE_VAL, .max = HUGE_VAL};
    out.has_auto = strncmp(text, "auto", 4) == 0 && (text[4] == '\0' || text[4] == '|');
    text += out.has_auto ? 4 + (text[4] == '|') : 0;
    const char *dots = option->kind != FG_OPTION_CHOICE ? strstr(text, "..") : NULL;
    if (dots == NULL)
        return out;
    out.max = is_int ? FG_OPTION_UNLIMITED : FGI_OPTION_LARGEST;
    parse_limits(text, dots, &out);
    return out;
}
