/* accumulation.c - how many batches an optimizer step has, by epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_options.h"

#include <inttypes.h>

#include "base/error.h"

enum { MOST_BATCHES = 1 << 20 };
static const int64_t MOST_EPOCH = INT64_C(1000000000000);

/* Epoch 0 at the start replaces the default. */
static bool add_part(const fg_int_pair *part, bool is_begin, fgi_accumulation *out)
{
    const bool is_first = is_begin && part->key == 0;
    const int at = is_first ? 0 : out->count;
    if (part->key < 0 || part->key >= MOST_EPOCH || part->value < 1 || part->value > MOST_BATCHES ||
        at == FGI_ACCUMULATION_PARTS || (!is_first && part->key <= out->epoch[at - 1]))
        return false;
    out->epoch[at] = part->key;
    out->batches[at] = part->value;
    out->count = at + 1;
    return true;
}

fg_status fgi_accumulation_init(const fg_trainer_numerics *numerics, fgi_accumulation *out,
                                fg_error *err)
{
    const fg_int_map *map = &numerics->accumulate_schedule;
    const int64_t batches = numerics->accumulate_grad_batches;
    *out = (fgi_accumulation){.count = 1, .batches = {batches > 0 ? batches : 1}};
    for (size_t i = 0; i < map->count; i++)
        if (!add_part(&map->at[i], i == 0, out))
            return fgi_fail(err, FG_EINVAL,
                            "accumulate_schedule: epoch %" PRId64 ": %" PRId64
                            ": expected 1 to %d batches for at most %d increasing epochs, starting "
                            "at 0, such as {0: 1, 4: 2}",
                            map->at[i].key, map->at[i].value, MOST_BATCHES,
                            FGI_ACCUMULATION_PARTS - 1);
    return FG_OK;
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
