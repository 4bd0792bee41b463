/* pack_samples.c - the dataset of a pack. Its samples and their kind are chosen by the columns of
 * the index, which are used in place, so that a large pack opens at once. Labels are converted to
 * the classes that the caller gives, such as those of a trained model.
 *
 * A batch costs one worker and one check that the files have not shrunk; a sample of raw pixels
 * costs hardly more than its copy. A damaged record that is skipped is replaced by the next sample
 * of the dataset that is intact. This is a function of the pack and the sample, so it does not
 * depend on threads or resuming.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/pack_samples.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "catalog/draft.h"
#include "data/stages.h"
#include "image/decoder.h"

enum { PREFETCH = 64 };

/* ---- samples and records --------------------------------------------------------------------- */

/* The first record of sample `index` of the dataset. */
static int64_t first_record(const fgi_pack_samples *s, int64_t index)
{
    return (s->chosen != NULL ? s->chosen[index] : index) * s->variant_count;
}

/* The record that sample `index` is in an epoch. */
static int64_t record_of(const fgi_pack_samples *s, int64_t epoch, int64_t index)
{
    const int64_t first = first_record(s, index);
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

static const char *record_name(const fgi_pack_samples *s, int64_t record,
                               char out[FGI_PACK_SAMPLE_NAME])
{
    fgi_pack_sample sample = {.record = record};
    if (fg_pack_entry_at(s->pack, record, &sample.entry, NULL) != FG_OK)
        sample.entry = (fg_pack_entry){.name = ""};
    return fgi_pack_sample_name(s, &sample, out);
}

/* The name of the sample's first record: those of its variants are equal. */
static const char *samples_name(void *self, int64_t index)
{
    const fgi_pack_samples *s = self;
    fg_pack_entry entry;
    const int64_t record = first_record(s, index);
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

/* ---- classes --------------------------------------------------------------------------------- */

/* The index of a name; -1: none. Searched from `start`: lists usually have the same order. */
static int64_t find_class(const fg_pack_dataset_options *o, const char *name, int64_t start)
{
    for (int64_t i = 0; i < o->class_count; i++) {
        const int64_t at = (start + i) % o->class_count;
        if (strcmp(o->class_names[at], name) == 0)
            return at;
    }
    return -1;
}

/* Sets class_of. */
static fg_status map_classes(fgi_pack_samples *s, fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    const int64_t count = fg_pack_info_of(s->pack)->class_count;
    int64_t next = 0;
    FGI_TRY(fgi_check_class_names("fg_pack_dataset_create", o->class_names, o->class_count, err));
    if (o->class_count == 0 || count == 0)
        return FG_OK;
    s->class_of = fgi_calloc((size_t)count, sizeof *s->class_of);
    if (s->class_of == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = find_class(o, fg_pack_class_name(s->pack, i), next);
        s->class_of[i] = (int32_t)at;
        next = at >= 0 ? at + 1 : next;
    }
    return FG_OK;
}

/* Labels become those of the pack again. */
static void forget_classes(fgi_pack_samples *s)
{
    fgi_free(s->class_of);
    s->class_of = NULL;
}

/* Whether all classes of the pack are among the given ones. */
static bool knows_classes(const fgi_pack_samples *s)
{
    const int64_t count = s->class_of != NULL ? fg_pack_info_of(s->pack)->class_count : 0;
    for (int64_t i = 0; i < count; i++)
        if (s->class_of[i] < 0)
            return false;
    return true;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The class index of a label of the pack; -1 if its class is not among the given ones. */
static int32_t class_of(const fgi_pack_samples *s, int32_t label)
{
    const bool is_class = label >= 0 && label < fg_pack_info_of(s->pack)->class_count;
    return s->class_of != NULL && is_class ? s->class_of[label] : label;
}

static fg_status unknown_class(const fgi_pack_samples *s, int64_t record, int32_t label,
                               fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    char name[FGI_PACK_SAMPLE_NAME], text[FGI_SHOWN_BYTES], classes[FGI_SHOWN_BYTES];
    return fgi_fail(
        err, FG_EFORMAT, "%s has the class '%s': expected one of %s", record_name(s, record, name),
        fgi_shown(fg_pack_class_name(s->pack, label), text),
        fgi_shown_names(o->class_names, (size_t)o->class_count, classes, sizeof(classes)));
}

static fg_status check_label(const fgi_pack_samples *s, int64_t record, int32_t label,
                             fg_error *err)
{
    const int64_t classes = fg_pack_info_of(s->pack)->class_count;
    char name[FGI_PACK_SAMPLE_NAME];
    if (label >= 0 && label < classes)
        return class_of(s, label) >= 0 ? FG_OK : unknown_class(s, record, label, err);
    if (label == FG_PACK_NO_LABEL)
        return fgi_fail(err, FG_EINVAL,
                        "%s has no label, but the pack has classes: expected a label for each "
                        "sample\nif samples may have several labels, or none, set task: "
                        "multilabel",
                        record_name(s, record, name));
    return fgi_fail(err, FG_EFORMAT,
                    "%s has label %" PRId32 ", but the pack has %" PRId64 " class%s",
                    record_name(s, record, name), label, classes, classes == 1 ? "" : "es");
}

/* The number of classes of the dataset, and their names in a new array (fgi_free); NULL if there
 * are none, or on failure. */
static fg_status list_classes(const fgi_pack_samples *s, const char ***out, int64_t *out_count,
                              fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    const bool is_mapped = s->class_of != NULL;
    const int64_t count = o->images.no_labels ? 0
                          : is_mapped         ? o->class_count
                                              : fg_pack_info_of(s->pack)->class_count;
    *out = NULL;
    *out_count = count;
    if (count == 0)
        return FG_OK;
    *out = fgi_calloc((size_t)count, sizeof **out);
    for (int64_t i = 0; *out != NULL && i < count; i++)
        (*out)[i] = is_mapped ? o->class_names[i] : fg_pack_class_name(s->pack, i);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

/* The target of a record: a class index, or u8[C] of all labels. */
static fg_status put_target(const fgi_pack_samples *s, int64_t record, const fg_pack_entry *entry,
                            void *out, fg_error *err)
{
    const bool is_list = entry->label_count > 0;
    const int32_t *labels = is_list ? entry->labels : &entry->label;
    const size_t count = is_list ? entry->label_count : entry->label != FG_PACK_NO_LABEL;
    if (!s->options.images.multilabel) {
        *(int32_t *)out = class_of(s, entry->label);
        return FG_OK;
    }
    memset(out, 0, s->row_bytes[s->label_field]);
    for (size_t i = 0; i < count; i++) {
        FGI_TRY(check_label(s, record, labels[i], err));
        ((uint8_t *)out)[class_of(s, labels[i])] = 1;
    }
    return FG_OK;
}

static fg_status samples_target(void *self, int64_t index, void *out, fg_error *err)
{
    const fgi_pack_samples *s = self;
    fg_pack_entry entry;
    const int64_t record = first_record(s, index);
    FGI_TRY(fg_pack_entry_at(s->pack, record, &entry, err));
    FGI_TRY(put_target(s, record, &entry, out, err));
    return fg_pack_intact(s->pack, err);
}

static fg_status samples_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const fgi_pack_samples *s = self;
    fgi_pack_columns columns = {0};
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t record = first_record(s, i);
        FGI_TRY(fgi_pack_columns_at(s->pack, record, &columns, err));
        out_labels[i] = class_of(s, columns.label[record - columns.first]);
    }
    return fg_pack_intact(s->pack, err);
}

static fg_status samples_groups(void *self, int64_t *out_groups, fg_error *err)
{
    const fgi_pack_samples *s = self;
    fg_pack_entry entry;
    for (int64_t i = 0; i < s->count; i++) {
        FGI_TRY(fg_pack_entry_at(s->pack, first_record(s, i), &entry, err));
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

static fg_status samples_limit(void *self, const int64_t *rows, size_t n, fg_error *err)
{
    fgi_pack_samples *s = self;
    return fgi_damaged_limit(&s->damaged, s->count, rows, n, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

static fg_status read_record(fgi_pack_samples *s, fgi_image_worker *worker, fgi_pack_sample *sample,
                             void *const *out_fields, fg_error *err)
{
    const void *data;
    sample->record = record_of(s, sample->epoch, sample->index);
    (void)fgi_load_enter(FGI_LOAD_READ);
    FGI_TRY(fgi_pack_record(s->pack, sample->record, &sample->entry, &data, err));
    (void)fgi_load_enter(FGI_LOAD_COPY);
    sample->data = data;
    if (s->label_field >= 0)
        FGI_TRY(put_target(s, sample->record, &sample->entry, out_fields[s->label_field], err));
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
        const int64_t record = record_of(s, epoch, sample.index);
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

static void samples_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    fgi_pack_samples *s = self;
    int64_t records[PREFETCH];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t record = record_of(s, epoch, indices[i]);
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

static fg_status samples_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                void *const *out_fields, fg_error *err)
{
    fgi_pack_samples *s = self;
    fgi_image_worker *worker;
    FGI_TRY(fgi_image_workers_take(&s->workers, &worker, err));
    if (!s->is_large)
        samples_prefetch(s, epoch, indices, n);
    const fg_status status = read_all(s, worker, epoch, indices, n, out_fields, err);
    fgi_image_workers_give_back(&s->workers, worker);
    FGI_TRY(fg_pack_intact(s->pack, err)); /* else bytes may have been zeros */
    return status;
}

static void samples_destroy(void *self)
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

/* ---- samples --------------------------------------------------------------------------------- */

static bool is_chosen(const fgi_pack_samples *s, int64_t sample, uint8_t split)
{
    const fg_images_options *o = &s->options.images;
    if (s->options.use_splits)
        return split == o->split;
    return o->splits == NULL || o->splits[sample] == o->split;
}

static fg_status choose_samples(fgi_pack_samples *s, fg_error *err)
{
    const int64_t total = fg_pack_count(s->pack) / s->variant_count;
    fgi_pack_columns columns = {0};
    s->count = total;
    if (!s->options.use_splits && s->options.images.splits == NULL)
        return FG_OK;
    s->chosen = fgi_calloc((size_t)total, sizeof *s->chosen);
    if (s->chosen == NULL)
        return fgi_no_memory(err);
    s->count = 0;
    for (int64_t i = 0; i < total; i++) {
        const int64_t record = i * s->variant_count;
        FGI_TRY(fgi_pack_columns_at(s->pack, record, &columns, err));
        if (is_chosen(s, i, columns.split[record - columns.first]))
            s->chosen[s->count++] = i;
    }
    return FG_OK;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static fg_status check_codec(fgi_pack_samples *s, int64_t record, fg_pack_codec codec,
                             fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    const fgi_sample_kind *kind = fgi_pack_kind_of(codec);
    if (kind == NULL)
        return fgi_fail(err, FG_EUNSUPPORTED, "%s: records of codec %d cannot be decoded",
                        record_name(s, record, name), (int)codec);
    if (s->kind == NULL)
        s->kind = kind;
    if (s->kind == kind)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%s: the pack has arrays, coefficients or pixels: expected records of one "
                    "kind",
                    record_name(s, record, name));
}

/* Whether the records of a file have one codec, labels that exist, and none is lost. */
static bool is_uniform(const fgi_pack_columns *columns, uint64_t classes)
{
    const size_t count = (size_t)(columns->end - columns->first);
    unsigned differences = 0, bad_labels = 0;
    for (size_t i = 0; i < count; i++)
        differences |= (unsigned)(columns->codec[i] ^ columns->codec[0]) |
                       (unsigned)(columns->flags[i] & FG_PACK_LOST);
    for (size_t i = 0; classes > 0 && i < count; i++)
        bad_labels |= (uint64_t)(int64_t)columns->label[i] >= classes;
    return differences == 0 && bad_labels == 0;
}

/* The usual case, which takes a tenth of the time of check_each: *out_done if that is all. */
static fg_status check_files(fgi_pack_samples *s, bool has_labels, bool *out_done, fg_error *err)
{
    const uint64_t classes = has_labels ? (uint64_t)fg_pack_info_of(s->pack)->class_count : 0;
    fgi_pack_columns columns = {0};
    *out_done = true;
    for (int64_t i = 0; *out_done && i < fg_pack_count(s->pack); i = columns.end) {
        FGI_TRY(fgi_pack_columns_at(s->pack, i, &columns, err));
        *out_done = is_uniform(&columns, classes);
        if (*out_done)
            FGI_TRY(check_codec(s, i, (fg_pack_codec)columns.codec[0], err));
    }
    return FG_OK;
}

static fg_status check_each(fgi_pack_samples *s, bool has_labels, fg_error *err)
{
    fgi_pack_columns columns = {0};
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t v = 0; v < s->variant_count; v++) {
            const int64_t record = first_record(s, i) + v;
            FGI_TRY(fgi_pack_columns_at(s->pack, record, &columns, err));
            const int64_t at = record - columns.first;
            if ((columns.flags[at] & FG_PACK_LOST) != 0)
                continue;
            FGI_TRY(check_codec(s, record, (fg_pack_codec)columns.codec[at], err));
            if (has_labels)
                FGI_TRY(check_label(s, record, columns.label[at], err));
        }
    return FG_OK;
}

/* Codecs of all records, and labels of all samples. Lost records are reported when they are read.
 */
static fg_status check_records(fgi_pack_samples *s, bool has_labels, fg_error *err)
{
    bool is_done = false;
    if (s->chosen == NULL && knows_classes(s))
        FGI_TRY(check_files(s, has_labels, &is_done, err));
    if (!is_done)
        FGI_TRY(check_each(s, has_labels, err));
    return fg_pack_intact(s->pack, err);
}

/* ---- creation -------------------------------------------------------------------------------- */

static fg_status check_options(const fg_pack_dataset_options *o, fg_error *err)
{
    if (o->use_splits && o->images.splits != NULL)
        return fgi_fail(err, FG_EINVAL, "use_splits and images.splits are both set: expected one");
    if (o->bad != FG_PACK_BAD_FAIL && o->bad != FG_PACK_BAD_SKIP)
        return fgi_fail(err, FG_EINVAL, "bad is %d: expected a value of fg_pack_bad", (int)o->bad);
    return FG_OK;
}

static fg_status make_bits(fgi_pack_samples *s, fg_error *err)
{
    const int64_t count = fg_pack_count(s->pack);
    s->asked = fgi_calloc((size_t)count / 32 + 1, sizeof *s->asked);
    if (s->asked == NULL)
        return fgi_no_memory(err);
    return fgi_damaged_init(&s->damaged, count, s->options.bad == FG_PACK_BAD_SKIP, err);
}

bool fgi_pack_is_large(uint64_t pack_bytes, uint64_t memory_bytes)
{
    return memory_bytes > 0 && pack_bytes > memory_bytes / 2;
}

/* Reads the pack into memory if that is requested and it fits. */
static void preload(const fgi_pack_samples *s)
{
    const uint64_t size = fg_pack_info_of(s->pack)->size_bytes, most = s->options.preload_bytes;
    if (size <= most)
        (void)fg_pack_populate(s->pack, most); /* if it fails, records are read when needed */
    else if (most > 0)
        fgi_log(FG_LOG_WARNING,
                "'%s': the pack is not preloaded, because it has %s, but only %s are "
                "available; records are read when they are needed",
                fg_pack_path(s->pack, 0), fgi_bytes_words((double)size),
                fgi_bytes_words((double)most));
}

static fg_status prepare(fgi_pack_samples *s, bool has_labels, fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(s->pack);
    FGI_TRY(check_options(&s->options, err));
    FGI_TRY(fgi_image_rule_init(&s->rule, &s->options.images, err));
    FGI_TRY(fgi_image_workers_init(&s->workers, s->rule.options.decode_bytes, err));
    s->variant_count = info->variant_count;
    s->variant_key =
        fgi_key_fold_text(fgi_key_from_seed(s->options.images.seed), "data.pack.variant");
    s->is_large = fgi_pack_is_large(info->size_bytes, fgi_memory_bytes(""));
    FGI_TRY(make_bits(s, err));
    FGI_TRY(map_classes(s, err));
    FGI_TRY(choose_samples(s, err));
    FGI_TRY(check_records(s, has_labels && !s->options.images.multilabel, err));
    if (s->kind == NULL) /* there is no record */
        s->kind = info->field_count > 0 ? &fgi_array_samples : &fgi_image_samples;
    if (s->kind->prepare != NULL)
        FGI_TRY(s->kind->prepare(s, err));
    preload(s);
    return FG_OK;
}

/* The images, or what the device makes images of. */
static fg_field image_field(const fgi_pack_samples *s)
{
    const fg_images_options *o = &s->rule.options;
    const bool is_encoded = s->encoding.coding != FG_IMAGE_PIXELS;
    const fg_type pixels = {FG_U8, 3, {o->height, o->width, o->channels}};
    return (fg_field){"image", is_encoded ? fg_image_encoding_type(&s->encoding) : pixels};
}

static fg_status describe(fgi_pack_samples *s, bool has_labels, fg_field fields[FG_MAX_FIELDS],
                          fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(s->pack);
    const bool is_image = s->kind != &fgi_array_samples;
    int count = is_image ? 1 : info->field_count;
    for (int f = 0; f < count; f++)
        fields[f] = is_image ? image_field(s) : info->fields[f];
    if (count == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: the pack has arrays, but no description of their fields",
                        fg_pack_path(s->pack, 0));
    s->label_field = -1;
    for (int f = 0; f < count; f++)
        has_labels = has_labels && strcmp(fields[f].name, "label") != 0;
    if (has_labels && count == FG_MAX_FIELDS)
        return fgi_fail(err, FG_EINVAL, "%s: the pack has %d fields, no room for its labels",
                        fg_pack_path(s->pack, 0), count);
    if (has_labels) {
        s->label_field = count;
        const int64_t classes = s->class_of != NULL ? s->options.class_count : info->class_count;
        fields[count++] = s->options.images.multilabel ? (fg_field){"labels", {FG_U8, 1, {classes}}}
                                                       : (fg_field){"label", {.dtype = FG_S32}};
    }
    for (int f = 0; f < count; f++)
        s->row_bytes[f] = fg_type_bytes(&fields[f].type);
    s->field_count = count;
    return FG_OK;
}

static fg_status create(fgi_pack_samples *take_s, fg_dataset **out, fg_error *err)
{
    const fgi_gathered gathered = {.name = samples_name,
                                   .damage = &take_s->damaged.noted,
                                   .limit_spares = samples_limit,
                                   .gather_epoch = samples_gather,
                                   .prefetch = samples_prefetch,
                                   .labels = samples_labels,
                                   .groups = samples_groups,
                                   .target =
                                       take_s->options.images.multilabel ? samples_target : NULL,
                                   .destroy = samples_destroy};
    const bool has_labels =
        fg_pack_info_of(take_s->pack)->class_count > 0 && !take_s->options.images.no_labels;
    fg_field fields[FG_MAX_FIELDS];
    const char **names = NULL;
    int64_t class_count = 0;
    fg_status status = prepare(take_s, has_labels, err);
    if (status == FG_OK)
        status = describe(take_s, has_labels, fields, err);
    if (status == FG_OK && take_s->label_field != 1)
        forget_classes(take_s); /* targets are a field of the arrays */
    if (status == FG_OK)
        status = list_classes(take_s, &names, &class_count, err);
    if (status != FG_OK) {
        samples_destroy(take_s);
        return status;
    }
    const fg_dataset_spec spec = {.count = take_s->count,
                                  .fields = fields,
                                  .field_count = take_s->field_count,
                                  .class_count = class_count,
                                  .class_names = names,
                                  .encoding = &take_s->encoding};
    status = fgi_dataset_create_gathered(&gathered, take_s, &spec, out, err);
    fgi_free((void *)names);
    if (status == FG_OK)
        (*out)->varies = fgi_image_rule_is_random(&take_s->rule) ||
                         (take_s->variant_count > 1 && !take_s->options.first_variant);
    return status;
}

fg_status fg_pack_dataset_create(fg_pack *pack, const fg_pack_dataset_options *options,
                                 fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_pack_dataset_options, options, err);
    const fg_images_options *images = options != NULL ? &options->images : NULL;
    FGI_TRY_RESERVED(fg_images_options, images, err);
    fgi_pack_samples *s = fgi_calloc(1, sizeof *s);
    if (s == NULL)
        return fgi_no_memory(err);
    s->pack = fgi_pack_retain(pack);
    if (options != NULL)
        s->options = *options;
    const fg_status status = create(s, out, err);
    if (status == FG_OK) { /* these belong to the caller */
        s->options.images.splits = NULL;
        s->options.class_names = NULL;
    }
    return status;
}
