/* pack_select.c - some records of a pack: of a split, of a class, a random sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_export.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/rng.h"
#include "base/text.h"
#include "catalog/draft.h"

enum { SPLITS = 3, ANY = -1 };

typedef struct filter {
    int split; /* fg_data_split, FG_PACK_NO_SPLIT or ANY */
    int64_t class_index;
} filter;

static fg_status find_split(const char *name, int *out, fg_error *err)
{
    static const char *const names[SPLITS] = {"train", "val", "test"};
    *out = ANY;
    if (name == NULL)
        return FG_OK;
    for (int i = 0; i < SPLITS; i++)
        if (strcmp(name, names[i]) == 0)
            *out = i;
    if (strcmp(name, "none") == 0)
        *out = FG_PACK_NO_SPLIT;
    if (*out != ANY)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "expected a split, train, val, test or none, got '%s'", name);
}

static fg_status find_class(const fg_pack *pack, const char *name, int64_t *out, fg_error *err)
{
    const int64_t count = fg_pack_info_of(pack)->class_count;
    size_t fewest = SIZE_MAX;
    const char *nearest = NULL;
    *out = ANY;
    for (int64_t i = 0; name != NULL && i < count; i++) {
        const char *const candidate = fg_pack_class_name(pack, i);
        if (strcmp(candidate, name) == 0)
            *out = i;
        const size_t edits = fgi_edit_distance(name, candidate);
        if (edits < fewest && fgi_nearest(name, &candidate, 1) != NULL) {
            fewest = edits;
            nearest = candidate;
        }
    }
    if (name == NULL || *out != ANY)
        return FG_OK;
    char shown[FGI_SHOWN_BYTES], shown_nearest[FGI_SHOWN_BYTES];
    return fgi_fail(err, FG_ENOTFOUND, "%s: no class is named '%s'%s%s%s", fg_pack_path(pack, 0),
                    fgi_shown(name, shown), nearest != NULL ? "; did you mean '" : "",
                    nearest != NULL ? fgi_shown(nearest, shown_nearest) : "",
                    nearest != NULL ? "'?" : "");
}

static bool has_class(const fg_pack_entry *entry, int64_t class_index)
{
    if (class_index == ANY || entry->label == class_index)
        return true;
    for (uint32_t i = 0; i < entry->label_count; i++)
        if (entry->labels[i] == class_index)
            return true;
    return false;
}

static bool matches(const filter *f, const fg_pack_entry *entry)
{
    const int split = entry->split < SPLITS ? entry->split : FG_PACK_NO_SPLIT;
    return (entry->flags & FG_PACK_LOST) == 0 && (f->split == ANY || f->split == split) &&
           has_class(entry, f->class_index);
}

/* Writes the records that match, at most `limit`. */
static fg_status collect(fg_pack *pack, const filter *f, int64_t *out, int64_t limit,
                         int64_t *out_count, fg_error *err)
{
    int64_t count = 0;
    for (int64_t i = 0; i < fg_pack_count(pack) && count < limit; i++) {
        fg_pack_entry entry;
        FGI_TRY(fg_pack_entry_at(pack, i, &entry, err));
        if (matches(f, &entry))
            out[count++] = i;
    }
    *out_count = count;
    return FG_OK;
}

static fg_status collect_shuffled(fg_pack *pack, const filter *f, uint64_t seed, int64_t *out,
                                  int64_t limit, int64_t *out_count, fg_error *err)
{
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(seed), "select");
    int64_t count = 0;
    int64_t *all = fgi_alloc(((size_t)fg_pack_count(pack) + 1) * sizeof *all);
    if (all == NULL)
        return fgi_no_memory(err);
    const fg_status status = collect(pack, f, all, INT64_MAX, &count, err);
    for (int64_t i = 0; i < count && i < limit; i++)
        out[i] = all[fgi_permute(key, (uint64_t)count, (uint64_t)i)];
    *out_count = count < limit ? count : limit;
    fgi_free(all);
    return status;
}

fg_status fg_pack_select(fg_pack *pack, const fg_pack_select_options *selection,
                         int64_t *out_records, int64_t capacity, int64_t *out_count, fg_error *err)
{
    fg_pack_select_options s = {0};
    filter f;
    *out_count = 0;
    FGI_TRY_RESERVED(fg_pack_select_options, selection, err);
    if (selection != NULL)
        s = *selection;
    if (s.limit < 0)
        return fgi_fail(err, FG_EINVAL, "fg_pack_select_options.limit is %lld: expected at least 0",
                        (long long)s.limit);
    FGI_TRY(find_split(s.split, &f.split, err));
    FGI_TRY(find_class(pack, s.class_name, &f.class_index, err));
    const int64_t limit = s.limit > 0 && s.limit < capacity ? s.limit : capacity;
    if (s.shuffle)
        return collect_shuffled(pack, &f, s.seed, out_records, limit, out_count, err);
    return collect(pack, &f, out_records, limit, out_count, err);
}
