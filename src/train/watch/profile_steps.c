/* profile_steps.c - which steps to take a profile of.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watch/watch.h"

#include <fulgurite/option.h>

enum { SKIPPED = 10, TAKEN = 10 }; /* steps, with "auto" */

fgi_profile_steps fgi_profile_steps_of(const int64_t given[2])
{
    return given[0] == FG_AUTO ? (fgi_profile_steps){.is_auto = true}
                               : (fgi_profile_steps){.first = given[0], .last = given[1]};
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
