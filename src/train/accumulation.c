/* accumulation.c - how many batches an optimizer step has, by epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_options.h"

#include <string.h>

#include "base/error.h"

enum { MOST_BATCHES = 1 << 20 };
static const int64_t MOST_EPOCH = INT64_C(1000000000000);

static void skip_spaces(const char **text) { *text += strspn(*text, " "); }

/* Reads decimal digits; -1: there are none, or too many. */
static int64_t read_number(const char **text)
{
    int64_t value = 0;
    skip_spaces(text);
    const size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 12)
        return -1;
    for (size_t i = 0; i < digits; i++)
        value = 10 * value + (*text)[i] - '0';
    *text += digits;
    skip_spaces(text);
    return value;
}

/* Reads "4=2" and adds it; epoch 0 at the start replaces the default. False: it is not valid. */
static bool read_part(const char **text, bool is_begin, fgi_accumulation *out)
{
    const int64_t epoch = read_number(text);
    if (epoch < 0 || epoch > MOST_EPOCH || *(*text)++ != '=')
        return false;
    const int64_t batches = read_number(text);
    const bool is_first = is_begin && epoch == 0;
    if (batches < 1 || batches > MOST_BATCHES)
        return false;
    if (!is_first && (epoch <= out->epoch[out->count - 1] || out->count == FGI_ACCUMULATION_PARTS))
        return false;
    const int at = is_first ? 0 : out->count++;
    out->epoch[at] = epoch;
    out->batches[at] = batches;
    return true;
}

fg_status fgi_accumulation_parse(const fg_trainer_numerics *numerics, fgi_accumulation *out,
                                 fg_error *err)
{
    const char *text = numerics->accumulate_schedule;
    const int64_t batches = numerics->accumulate_grad_batches;
    *out = (fgi_accumulation){.count = 1, .batches = {batches > 0 ? batches : 1}};
    bool is_good = true;
    while (is_good && text != NULL && *text != '\0') {
        const bool is_begin = text == numerics->accumulate_schedule;
        is_good =
            read_part(&text, is_begin, out) && (*text == '\0' || (*text == ',' && text[1] != '\0'));
        text += is_good && *text == ',';
    }
    if (is_good)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "accumulate_schedule is '%s': expected EPOCH=BATCHES for at most %d increasing "
                    "epochs, starting at 0, such as 0=1,4=2",
                    numerics->accumulate_schedule, FGI_ACCUMULATION_PARTS - 1);
}

static int part_of(const fgi_accumulation *a, int64_t epoch)
{
    int i = a->count - 1;
    while (i > 0 && a->epoch[i] > epoch)
        i--;
    return i;
}

int64_t fgi_accumulation_at(const fgi_accumulation *a, int64_t epoch)
{
    return a->batches[part_of(a, epoch)];
}

int64_t fgi_accumulation_most(const fgi_accumulation *a)
{
    int64_t most = 1;
    for (int i = 0; i < a->count; i++)
        most = a->batches[i] > most ? a->batches[i] : most;
    return most;
}

int64_t fgi_accumulation_steps(const fgi_accumulation *a, int64_t first, int64_t last,
                               int64_t batches)
{
    int64_t steps = 0;
    while (first < last) {
        const int i = part_of(a, first);
        const int64_t each = a->batches[i];
        const int64_t end = i + 1 < a->count && a->epoch[i + 1] < last ? a->epoch[i + 1] : last;
        steps += (end - first) * (batches / each + (batches % each != 0));
        first = end;
    }
    return steps;
}
