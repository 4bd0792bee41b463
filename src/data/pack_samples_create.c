/* pack_samples_create.c - makes a dataset of a pack: chooses its samples and the kind of them by
 * the columns of the index, which are used in place, so that a large pack opens at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "data/dataset.h"
#include "data/pack_samples.h"

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

static const fgi_sample_kind *const kinds[] = {&fgi_image_samples, &fgi_array_samples,
                                               &fgi_coefficient_samples};

static const fgi_sample_kind *kind_of(fg_pack_codec codec)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i]->can_read(codec))
            return kinds[i];
    return NULL;
}

static fg_status check_codec(fgi_pack_samples *s, int64_t record, fg_pack_codec codec,
                             fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    const fgi_sample_kind *kind = kind_of(codec);
    if (kind == NULL)
        return fgi_fail(err, FG_EUNSUPPORTED, "%s: records of codec %d cannot be decoded",
                        fgi_pack_record_name(s, record, name), (int)codec);
    if (s->kind == NULL)
        s->kind = kind;
    if (s->kind == kind)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%s: the pack has arrays, coefficients or pixels: expected records of one "
                    "kind",
                    fgi_pack_record_name(s, record, name));
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
            const int64_t record = fgi_pack_first_record(s, i) + v;
            FGI_TRY(fgi_pack_columns_at(s->pack, record, &columns, err));
            const int64_t at = record - columns.first;
            if ((columns.flags[at] & FG_PACK_LOST) != 0)
                continue;
            FGI_TRY(check_codec(s, record, (fg_pack_codec)columns.codec[at], err));
            if (has_labels)
                FGI_TRY(fgi_pack_check_label(s, record, columns.label[at], err));
        }
    return FG_OK;
}

/* Codecs of all records, and labels of all samples. Lost records are reported when they are read.
 */
static fg_status check_records(fgi_pack_samples *s, bool has_labels, fg_error *err)
{
    bool is_done = false;
    if (s->chosen == NULL && fgi_pack_classes_known(s))
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
    bool has_planes;
    FGI_TRY(check_options(&s->options, err));
    FGI_TRY(fgi_image_rule_init(&s->rule, &s->options.images, err));
    FGI_TRY(fgi_image_workers_init(&s->workers, s->rule.options.decode_bytes, err));
    s->variant_count = info->variant_count;
    s->variant_key =
        fgi_key_fold_text(fgi_key_from_seed(s->options.images.seed), "data.pack.variant");
    s->is_large = fgi_pack_is_large(info->size_bytes, fgi_memory_bytes(""));
    FGI_TRY(make_bits(s, err));
    FGI_TRY(fgi_pack_classes_map(s, err));
    FGI_TRY(choose_samples(s, err));
    FGI_TRY(check_records(s, has_labels, err));
    if (s->kind == NULL) /* there is no record */
        s->kind = info->field_count > 0 ? &fgi_array_samples : &fgi_image_samples;
    FGI_TRY(fgi_pack_keeps_planes(s, &has_planes, err));
    if (has_planes)
        s->kind = &fgi_plane_samples;
    if (s->kind->prepare != NULL)
        FGI_TRY(s->kind->prepare(s, err));
    preload(s);
    return FG_OK;
}

static fg_status describe(fgi_pack_samples *s, bool has_labels, fg_field fields[FG_MAX_FIELDS],
                          fg_error *err)
{
    int count = 0;
    FGI_TRY(s->kind->describe(s, fields, &count, err));
    s->label_field = -1;
    for (int f = 0; f < count; f++)
        has_labels = has_labels && strcmp(fields[f].name, "label") != 0;
    if (has_labels && count == FG_MAX_FIELDS)
        return fgi_fail(err, FG_EINVAL, "%s: the pack has %d fields, no room for its labels",
                        fg_pack_path(s->pack, 0), count);
    if (has_labels) {
        s->label_field = count;
        fields[count++] = (fg_field){"label", {.dtype = FG_S32}};
    }
    for (int f = 0; f < count; f++)
        s->row_bytes[f] = fg_type_bytes(&fields[f].type);
    s->field_count = count;
    return FG_OK;
}

static fg_status create(fgi_pack_samples *take_s, fg_dataset **out, fg_error *err)
{
    const fgi_gathered gathered = {.name = fgi_pack_samples_name,
                                   .damage = &take_s->damaged.noted,
                                   .limit_spares = fgi_pack_samples_limit,
                                   .gather_epoch = fgi_pack_samples_gather,
                                   .prefetch = fgi_pack_samples_prefetch,
                                   .labels = fgi_pack_samples_labels,
                                   .groups = fgi_pack_samples_groups,
                                   .destroy = fgi_pack_samples_destroy};
    const bool has_labels =
        fg_pack_info_of(take_s->pack)->class_count > 0 && !take_s->options.images.no_labels;
    fg_field fields[FG_MAX_FIELDS];
    const char **names = NULL;
    int64_t class_count = 0;
    fg_status status = prepare(take_s, has_labels, err);
    if (status == FG_OK)
        status = describe(take_s, has_labels, fields, err);
    if (status == FG_OK && take_s->label_field != 1)
        fgi_pack_classes_forget(take_s); /* targets are a field of the arrays */
    if (status == FG_OK)
        status = fgi_pack_classes_list(take_s, &names, &class_count, err);
    if (status != FG_OK) {
        fgi_pack_samples_destroy(take_s);
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
