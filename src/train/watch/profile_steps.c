/* profile_steps.c - which steps to take a profile of.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watch/watch.h"

#include <string.h>

#include "base/text.h"

enum { SKIPPED = 10, TAKEN = 10 }; /* steps, with "auto" */

bool fgi_profile_steps_parse(const char *text, fgi_profile_steps *out)
{
    *out = (fgi_profile_steps){0};
    const fgi_str all = fgi_str_trim(fgi_str_of(text != NULL ? text : ""));
    if (all.size == 0)
        return true;
    out->is_auto = fgi_str_equal(all, "auto");
    if (out->is_auto)
        return true;
    const char *colon = memchr(all.data, ':', all.size);
    const size_t size = colon != NULL ? (size_t)(colon - all.data) : all.size;
    const fgi_str first = {all.data, size};
    const fgi_str last = colon != NULL ? (fgi_str){colon + 1, all.size - size - 1} : first;
    return fgi_parse_i64(fgi_str_trim(first), &out->first) &&
           fgi_parse_i64(fgi_str_trim(last), &out->last) && out->first > 0 &&
           out->last >= out->first;
}

fgi_profile_steps fgi_profile_steps_choose(int64_t done, int64_t total)
{
    fgi_profile_steps steps = {.first = done + SKIPPED + 1, .last = done + SKIPPED + TAKEN};
    if (total < 0 || steps.last <= total)
        return steps;
    steps.last = total > done ? total : done + 1;
    steps.first = steps.last - TAKEN + 1 > done ? steps.last - TAKEN + 1 : done + 1;
    return steps;
}
