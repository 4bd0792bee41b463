/* pack_samples.c - reads samples of a pack. A batch costs one worker and one check that the files
 * have not shrunk; a sample of raw pixels costs hardly more than its copy.
 *
 * A damaged record that is skipped is replaced by the next sample of the dataset that is intact.
 * This is a function of the pack and the sample, so it does not depend on threads or resuming.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/pack_samples.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "catalog/draft.h"
#include "data/stages.h"
#include "image/decoder.h"

enum { PREFETCH = 64 };

/* ---- samples and records --------------------------------------------------------------------- */

int64_t fgi_pack_first_record(const fgi_pack_samples *s, int64_t index)
{
    return (s->chosen != NULL ? s->chosen[index] : index) * s->variant_count;
}

int64_t fgi_pack_record_of(const fgi_pack_samples *s, int64_t epoch, int64_t index)
{
    const int64_t first = fgi_pack_first_record(s, index);
    if (s->variant_count == 1 || s->options.first_variant)
        return first;
    const uint64_t variants = (uint64_t)s->variant_count;
    const uint64_t shift = fgi_rng_u64(s->variant_key, (uint64_t)first) % variants;
    return first + (int64_t)(((uint64_t)epoch % variants + shift) % variants);
}

const char *fgi_pack_sample_name(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                                 char out[FGI_PACK_SAMPLE_NAME])
{
    char name[FGI_SHOWN_BYTES];
    (void)fg_catalog_escape(sample->entry.name, name, sizeof name);
    (void)fgi_snprintf(out, FGI_PACK_SAMPLE_NAME, "%.300s: record %" PRId64 " ('%s')",
                       fg_pack_path(s->pack, sample->entry.shard), sample->record, name);
    return out;
}

const char *fgi_pack_record_name(const fgi_pack_samples *s, int64_t record,
                                 char out[FGI_PACK_SAMPLE_NAME])
{
    fgi_pack_sample sample = {.record = record};
    if (fg_pack_entry_at(s->pack, record, &sample.entry, NULL) != FG_OK)
        sample.entry = (fg_pack_entry){.name = ""};
    return fgi_pack_sample_name(s, &sample, out);
}

/* The name of the sample's first record: those of its variants are equal. */
const char *fgi_pack_samples_name(void *self, int64_t index)
{
    const fgi_pack_samples *s = self;
    fg_pack_entry entry;
    const int64_t record = fgi_pack_first_record(s, index);
    if (fg_pack_entry_at(s->pack, record, &entry, NULL) != FG_OK || entry.name[0] == '\0')
        return NULL;
    return entry.name;
}

/* ---- columns --------------------------------------------------------------------------------- */

fg_status fgi_pack_columns_at(fg_pack *pack, int64_t record, fgi_pack_columns *columns,
                              fg_error *err)
{
    uint64_t index;
    const void *codec, *flags, *split, *label, *width, *height, *labels_start;
    if (record >= columns->first && record < columns->end)
        return FG_OK;
    fgi_pack_file *f = fgi_pack_locate(pack, record, &index);
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_CODEC, &codec, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_FLAGS, &flags, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_SPLIT, &split, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_LABEL, &label, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_WIDTH, &width, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_HEIGHT, &height, err));
    FGI_TRY(fgi_pack_file_section(f, FGI_PACK_LABELS_START, &labels_start, err));
    const int64_t first = (int64_t)f->page.first;
    *columns = (fgi_pack_columns){.first = first,
                                  .end = first + (int64_t)f->page.count,
                                  .codec = codec,
                                  .flags = flags,
                                  .split = split,
                                  .label = label,
                                  .width = width,
                                  .height = height,
                                  .labels_start = labels_start};
    return FG_OK;
}

fg_status fgi_pack_samples_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const fgi_pack_samples *s = self;
    fgi_pack_columns columns = {0};
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t record = fgi_pack_first_record(s, i);
        FGI_TRY(fgi_pack_columns_at(s->pack, record, &columns, err));
        out_labels[i] = fgi_pack_class_of(s, columns.label[record - columns.first]);
    }
    return fg_pack_intact(s->pack, err);
}

fg_status fgi_pack_samples_groups(void *self, int64_t *out_groups, fg_error *err)
{
    const fgi_pack_samples *s = self;
    fg_pack_entry entry;
    for (int64_t i = 0; i < s->count; i++) {
        FGI_TRY(fg_pack_entry_at(s->pack, fgi_pack_first_record(s, i), &entry, err));
        out_groups[i] = entry.group;
    }
    return fg_pack_intact(s->pack, err);
}

/* ---- damaged records ------------------------------------------------------------------------- */

/* Remembers that a record is damaged, and reports it the first time. */
static void report(fgi_pack_samples *s, const fgi_pack_sample *sample, const char *message)
{
    if (!fgi_damaged_begin(&s->damaged, sample->record, message))
        return;
    const fg_pack_fault fault = {.record = sample->record,
                                 .name = sample->entry.name != NULL ? sample->entry.name : "",
                                 .path = fg_pack_path(s->pack, sample->entry.shard),
                                 .offset_bytes = sample->entry.offset_bytes,
                                 .message = message};
    if (s->options.fault != NULL)
        s->options.fault(s->options.fault_self, &fault);
    fgi_damaged_end(&s->damaged);
}

fg_status fgi_pack_samples_limit(void *self, const int64_t *rows, size_t n, fg_error *err)
{
    fgi_pack_samples *s = self;
    return fgi_damaged_limit(&s->damaged, s->count, rows, n, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

static fg_status read_record(fgi_pack_samples *s, fgi_image_worker *worker, fgi_pack_sample *sample,
                             void *const *out_fields, fg_error *err)
{
    const void *data;
    sample->record = fgi_pack_record_of(s, sample->epoch, sample->index);
    (void)fgi_load_enter(FGI_LOAD_READ);
    FGI_TRY(fgi_pack_record(s->pack, sample->record, &sample->entry, &data, err));
    (void)fgi_load_enter(FGI_LOAD_COPY);
    sample->data = data;
    if (s->label_field >= 0)
        *(int32_t *)out_fields[s->label_field] = fgi_pack_class_of(s, sample->entry.label);
    worker->decoder->warning[0] = '\0';
    FGI_TRY(s->kind->read(s, worker, sample, out_fields, err));
    if (worker->decoder->warning[0] != '\0') {
        char name[FGI_PACK_SAMPLE_NAME];
        fgi_damaged_flaw(&s->damaged, sample->record, fgi_pack_sample_name(s, sample, name),
                         worker->decoder->warning);
    }
    return FG_OK;
}

static fg_status read_one(fgi_pack_samples *s, fgi_image_worker *worker, int64_t epoch,
                          int64_t index, void *const *out_fields, fg_error *err)
{
    for (int64_t tries = 0; tries < s->count && tries <= FGI_MOST_SKIPPED; tries++) {
        fgi_pack_sample sample = {.epoch = epoch, .index = (index + tries) % s->count};
        const int64_t record = fgi_pack_record_of(s, epoch, sample.index);
        if (!fgi_damaged_can_read(&s->damaged, sample.index, record, tries))
            continue;
        const fg_status status = read_record(s, worker, &sample, out_fields, err);
        if (!fgi_damaged_is_damage(&s->damaged, status))
            return status;
        FGI_TRY(fg_pack_intact(s->pack, err)); /* a file that has shrunk is no damaged record */
        report(s, &sample, err->message);
    }
    fgi_pack_sample own = {.epoch = epoch, .index = index}; /* nothing can replace it */
    return read_record(s, worker, &own, out_fields, err);
}

static fg_status read_all(fgi_pack_samples *s, fgi_image_worker *worker, int64_t epoch,
                          const int64_t *indices, size_t n, void *const *out_fields, fg_error *err)
{
    void *row[FG_MAX_FIELDS];
    for (size_t i = 0; i < n; i++) {
        for (int f = 0; f < s->field_count; f++)
            row[f] = (char *)out_fields[f] + i * s->row_bytes[f];
        FGI_TRY(read_one(s, worker, epoch, indices[i], row, err));
    }
    return FG_OK;
}

fg_status fgi_pack_samples_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                  void *const *out_fields, fg_error *err)
{
    fgi_pack_samples *s = self;
    fgi_image_worker *worker;
    FGI_TRY(fgi_image_workers_take(&s->workers, &worker, err));
    if (!s->is_large)
        fgi_pack_samples_prefetch(s, epoch, indices, n);
    const fg_status status = read_all(s, worker, epoch, indices, n, out_fields, err);
    fgi_image_workers_give_back(&s->workers, worker);
    FGI_TRY(fg_pack_intact(s->pack, err)); /* else bytes may have been zeros */
    return status;
}

void fgi_pack_samples_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    fgi_pack_samples *s = self;
    int64_t records[PREFETCH];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t record = fgi_pack_record_of(s, epoch, indices[i]);
        if (!fgi_bit_set(s->asked, record) && !s->is_large)
            continue;
        records[count++] = record;
        if (count == PREFETCH) {
            fg_pack_prefetch(s->pack, records, count);
            count = 0;
        }
    }
    if (count > 0)
        fg_pack_prefetch(s->pack, records, count);
}

void fgi_pack_samples_destroy(void *self)
{
    fgi_pack_samples *s = self;
    fgi_image_workers_fini(&s->workers);
    fg_pack_close(s->pack);
    fgi_free(s->chosen);
    fgi_free(s->class_of);
    fgi_free(s->asked);
    fgi_damaged_fini(&s->damaged);
    fgi_free(s);
}
