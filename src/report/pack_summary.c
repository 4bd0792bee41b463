/* pack_summary.c - counts over the records of a pack.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/pack_summary.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

const char *const fgi_pack_split_names[FGI_PACK_SPLITS] = {"train", "val", "test", "none"};

/* The numbers of which distributions are computed: one block, a column each. */
typedef struct columns {
    uint32_t *width, *height, *bytes;
    size_t images, records;
} columns;

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static fgi_pack_spread spread_of(uint32_t *values, size_t count)
{
    fgi_pack_spread s = {.count = (int64_t)count};
    if (count == 0)
        return s;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        s.sum += values[i];
    s.min = values[0];
    s.median = values[(count - 1) / 2];
    s.max = values[count - 1];
    return s;
}

static void count_class(fgi_pack_summary *s, int64_t label)
{
    if (label >= 0 && label < s->info->class_count)
        s->classes[label]++;
}

static void count_labels(fgi_pack_summary *s, const fg_pack_entry *entry)
{
    for (uint32_t i = 0; i < entry->label_count; i++)
        count_class(s, entry->labels[i]);
    if (entry->label_count == 0)
        count_class(s, entry->label);
    s->unlabeled += entry->label_count == 0 && entry->label == FG_PACK_NO_LABEL;
}

static void count_entry(fgi_pack_summary *s, const fg_pack_entry *entry, columns *c)
{
    if ((entry->flags & FG_PACK_LOST) != 0) {
        s->lost++;
        return;
    }
    const bool is_known = (int)entry->codec >= 0 && (int)entry->codec < FGI_PACK_CODECS;
    if (is_known)
        s->codecs[entry->codec]++;
    s->other_codecs += !is_known;
    s->splits[entry->split < FGI_PACK_SPLITS - 1 ? entry->split : FGI_PACK_SPLITS - 1]++;
    s->grouped += entry->group != 0;
    count_labels(s, entry);
    if (entry->width > 0 && entry->height > 0) {
        c->width[c->images] = entry->width;
        c->height[c->images++] = entry->height;
    }
    c->bytes[c->records++] = entry->size_bytes;
}

fg_status fgi_pack_summarize(fg_pack *pack, fgi_pack_summary *out, fg_error *err)
{
    const fg_pack_info *info = fg_pack_get_info(pack);
    const size_t count = (size_t)info->count;
    *out = (fgi_pack_summary){.pack = pack, .info = info};
    uint32_t *block = fgi_calloc(3 * count + 1, sizeof *block);
    out->classes = fgi_calloc((size_t)info->class_count + 1, sizeof *out->classes);
    columns c = {.width = block, .height = block + count, .bytes = block + 2 * count};
    fg_status status = block != NULL && out->classes != NULL ? FG_OK : fgi_no_memory(err);
    for (int64_t i = 0; status == FG_OK && i < info->count; i++) {
        fg_pack_entry entry;
        status = fg_pack_get_entry(pack, i, &entry, err);
        if (status == FG_OK)
            count_entry(out, &entry, &c);
    }
    if (status == FG_OK) {
        out->width = spread_of(c.width, c.images);
        out->height = spread_of(c.height, c.images);
        out->bytes = spread_of(c.bytes, c.records);
    } else {
        fgi_pack_summary_fini(out);
    }
    fgi_free(block);
    return status;
}

void fgi_pack_summary_fini(fgi_pack_summary *summary)
{
    fgi_free(summary->classes);
    summary->classes = NULL;
}
