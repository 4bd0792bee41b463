/* packer_kept.c - whether the records of an interrupted build are still those of the source. A
 * sample whose file has changed since it was packed is made again, and its records are compared:
 * they only depend on the sample and the options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "catalog/draft.h"
#include "packer/packer.h"

static const double CLOCK_S = 2; /* file systems round times, and clocks differ */

void fgi_packer_kept_fini(fgi_packer_kept *k)
{
    if (k->has_tools)
        fgi_packer_tools_fini(&k->tools);
    fgi_packer_output_fini(&k->output);
    *k = (fgi_packer_kept){0};
}

static bool has_changed(const fgi_packer_kept *k, int64_t sample)
{
    const double changed_s =
        fgi_catalog_changed_s(k->plan->catalog, fgi_packer_index(k->plan, sample));
    return changed_s > fgi_packer_journal_begun(k->journal, sample) - CLOCK_S;
}

/* Makes the sample; *out_is_good is false if it cannot be packed. */
static fg_status make(fgi_packer_kept *k, int64_t sample, bool *out_is_good, fg_error *err)
{
    if (!k->has_tools) {
        FGI_TRY(fgi_packer_tools_init(&k->tools, err));
        k->has_tools = true;
        FGI_TRY(fgi_packer_output_init(&k->output, k->plan, err));
    }
    fgi_packer_sample(k->plan, &k->tools, sample, &k->output);
    *out_is_good = k->output.status == FG_OK;
    return k->output.status == FG_ENOMEM ? fgi_no_memory(err) : FG_OK;
}

static fg_status fail_changed(const char *name, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    return fgi_fail(
        err, FG_EINVAL,
        "'%s' has changed since packing was interrupted: start over (restart, --restart)",
        fgi_shown(name, shown));
}

/* Finds the sample of the record after that of k->sample: by name, as bad samples have no record.
 * There is none if the journal is lost; the build then starts again. */
static fg_status find_sample(fgi_packer_kept *k, const char *name, fg_error *err)
{
    for (k->sample = k->next; k->sample < k->plan->count; k->sample++) {
        fg_catalog_item item;
        FGI_TRY(fgi_packer_item(k->plan, k->sample, &item, err));
        if (strcmp(item.name, name) == 0)
            break;
    }
    k->next = k->sample + 1;
    return FG_OK;
}

fg_status fgi_packer_kept_record(void *self, int64_t record, const fg_pack_entry *entry,
                                 const void *data, size_t size, fg_error *err)
{
    fgi_packer_kept *k = self;
    const int64_t variant = record % k->plan->o.variant_count;
    bool is_good = true;
    if (variant == 0) {
        FGI_TRY(find_sample(k, entry->name, err));
        k->is_made = k->sample < k->plan->count && has_changed(k, k->sample);
        if (k->is_made)
            FGI_TRY(make(k, k->sample, &is_good, err));
    }
    if (!k->is_made)
        return FG_OK;
    const fgi_packer_record *now = &k->output.records[variant];
    const size_t begin = variant > 0 ? now[-1].end : 0;
    is_good = is_good && now->end - begin == size && now->width == entry->width &&
              now->height == entry->height && memcmp(k->output.bytes.data + begin, data, size) == 0;
    return is_good ? FG_OK : fail_changed(entry->name, err);
}

fg_status fgi_packer_kept_left_out(fgi_packer_kept *k, int64_t start, fg_error *err)
{
    const fgi_packer_journal *j = k->journal;
    for (size_t i = 0; i < j->count && j->samples[i] < start; i++) {
        bool is_good = false;
        if (has_changed(k, j->samples[i]))
            FGI_TRY(make(k, j->samples[i], &is_good, err));
        if (is_good)
            return fail_changed(j->bad[i].name, err);
    }
    return FG_OK;
}
