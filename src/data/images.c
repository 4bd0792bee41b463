/* images.c - the dataset of image files: the files of a catalog become samples (image_sample.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/images.h>
#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "catalog/draft.h"
#include "data/damaged.h"
#include "data/dataset.h"
#include "data/image_check.h"
#include "data/image_sample.h"
#include "image/decoder.h"

typedef struct images {
    fg_catalog *catalog; /* held */
    fgi_image_rule rule;
    fgi_image_workers workers;
    int64_t *items; /* of the catalog; NULL: all */
    int64_t count;
    bool has_labels, is_fit;
    fgi_damaged damaged; /* samples */
} images;

/* ---- a sample -------------------------------------------------------------------------------- */

static int64_t item_at(const images *s, int64_t index)
{
    return s->items != NULL ? s->items[index] : index;
}

/* Reads the file to w->bytes. */
static fg_status read_file(images *s, fgi_image_worker *w, int64_t index, fg_catalog_item *item,
                           char name[FGI_SHOWN_BYTES], fg_error *err)
{
    const int64_t place = item_at(s, index);
    FGI_TRY(fg_catalog_item_at(s->catalog, place, item, err));
    fgi_image_worker_hold_file(w, fgi_catalog_size(s->catalog, place));
    FGI_TRY(fg_catalog_read(s->catalog, place, &w->bytes, err));
    (void)fgi_shown(item->name, name);
    return FG_OK;
}

/* The class index, or u8[C] of all labels. */
static void put_target(const images *s, const fg_catalog_item *item, void *out)
{
    if (!s->rule.options.multilabel) {
        *(int32_t *)out = item->label;
        return;
    }
    memset(out, 0, (size_t)fg_catalog_class_count(s->catalog));
    for (uint32_t i = 0; i < item->label_count; i++)
        ((uint8_t *)out)[item->labels[i]] = 1;
}

static fg_status images_target(void *self, int64_t index, void *out, fg_error *err)
{
    const images *s = self;
    fg_catalog_item item;
    FGI_TRY(fg_catalog_item_at(s->catalog, item_at(s, index), &item, err));
    put_target(s, &item, out);
    return FG_OK;
}

static fg_status read_sample(images *s, fgi_image_worker *w, int64_t epoch, int64_t index,
                             void *const *out_fields, fg_error *err)
{
    char name[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    FGI_TRY(read_file(s, w, index, &item, name, err));
    const fgi_encoded_image encoded = {.name = name, .data = w->bytes.data, .size = w->bytes.size};
    if (s->has_labels)
        put_target(s, &item, out_fields[1]);
    FGI_TRY_CTX(fgi_image_rule_decode(&s->rule, w, &encoded, epoch, index, out_fields[0], err), err,
                "'%.160s'", s->catalog->path);
    if (w->decoder->warning[0] != '\0')
        fgi_damaged_flaw(&s->damaged, index, name, w->decoder->warning);
    return FG_OK;
}

/* A sample that cannot be decoded is replaced by the next one that can, if that is an option. This
 * depends neither on threads nor on resuming. */
static fg_status read_or_replace(images *s, fgi_image_worker *w, int64_t epoch, int64_t index,
                                 void *const *out_fields, fg_error *err)
{
    for (int64_t tries = 0; tries < s->count && tries <= FGI_MOST_SKIPPED; tries++) {
        const int64_t now = (index + tries) % s->count;
        if (!fgi_damaged_can_read(&s->damaged, now, now, tries))
            continue;
        const fg_status status = read_sample(s, w, epoch, now, out_fields, err);
        if (!fgi_damaged_is_damage(&s->damaged, status))
            return status;
        if (fgi_damaged_begin(&s->damaged, now, err->message))
            fgi_damaged_end(&s->damaged);
    }
    return read_sample(s, w, epoch, index, out_fields, err); /* nothing can replace it */
}

/* The other samples are for validation: a damaged one that is already known would only stop the run
 * at the end of the first epoch. */
static fg_status images_limit(void *self, const int64_t *rows, size_t n, fg_error *err)
{
    images *s = self;
    char name[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    FGI_TRY(fgi_damaged_limit(&s->damaged, s->count, rows, n, err));
    const int64_t index = fgi_damaged_no_spare(&s->damaged, s->count);
    if (index < 0)
        return FG_OK;
    FGI_TRY(fg_catalog_item_at(s->catalog, item_at(s, index), &item, err));
    return fgi_fail(err, FG_EFORMAT,
                    "'%s' is damaged, and validation samples are not replaced: remove or "
                    "repair the file",
                    fgi_shown(item.name, name));
}

/* Whether damage within a file is noticed depends on the crops, unless all files were decoded. */
static fg_status add_hint(const images *s, fg_status status, fg_error *err)
{
    const fg_images_options *o = &s->rule.options;
    const size_t used = err != NULL ? strlen(err->message) : 0;
    if (err != NULL && status == FG_EFORMAT && s->is_fit && !o->check_decodes)
        (void)fgi_snprintf(err->message + used, sizeof(err->message) - used,
                           "\nto find all damaged files before training, set data.check to decode");
    return status;
}

static fg_status images_read(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                             fg_error *err)
{
    images *s = self;
    fgi_image_worker *w;
    FGI_TRY(fgi_image_workers_take(&s->workers, &w, err));
    const fg_status status = read_or_replace(s, w, epoch, index, out_fields, err);
    fgi_image_workers_give_back(&s->workers, w);
    return add_hint(s, status, err);
}

static fg_status images_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const images *s = self;
    fg_catalog_item item;
    for (int64_t i = 0; i < s->count; i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, item_at(s, i), &item, err));
        out_labels[i] = item.label;
    }
    return FG_OK;
}

static fg_status images_groups(void *self, int64_t *out_groups, fg_error *err)
{
    const images *s = self;
    fg_catalog_item item;
    for (int64_t i = 0; i < s->count; i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, item_at(s, i), &item, err));
        out_groups[i] = item.group;
    }
    return FG_OK;
}

static const char *images_name(void *self, int64_t index)
{
    const images *s = self;
    fg_catalog_item item;
    return fg_catalog_item_at(s->catalog, item_at(s, index), &item, NULL) == FG_OK ? item.name
                                                                                   : NULL;
}

static void images_destroy(void *self)
{
    images *s = self;
    fgi_image_workers_fini(&s->workers);
    fgi_damaged_fini(&s->damaged);
    fg_catalog_close(s->catalog);
    fgi_free(s->items);
    fgi_free(s);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* The samples of the split. */
static fg_status choose_items(images *s, fg_error *err)
{
    const fg_images_options *o = &s->rule.options;
    s->count = fg_catalog_count(s->catalog);
    if (o->splits == NULL)
        return FG_OK;
    s->items = fgi_calloc((size_t)s->count, sizeof(*s->items));
    if (s->items == NULL)
        return fgi_no_memory(err);
    int64_t kept = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (o->splits[i] == o->split)
            s->items[kept++] = i;
    s->count = kept;
    return FG_OK;
}

static fg_status check_labels(const images *s, fg_error *err)
{
    char name[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    for (int64_t i = 0; s->has_labels && !s->rule.options.multilabel && i < s->count; i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, item_at(s, i), &item, err));
        if (item.label >= 0)
            continue;
        (void)fg_catalog_escape(item.name, name, sizeof(name));
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has no label, but other samples have one: expected a label for "
                        "each\nif samples may have several labels, or none, set task: multilabel",
                        name);
    }
    return FG_OK;
}

/* Whether any sample of the catalog has a label. */
static fg_status look_at_labels(images *s, fg_error *err)
{
    fg_catalog_item item;
    s->has_labels = false;
    if (s->rule.options.no_labels || fg_catalog_class_count(s->catalog) == 0)
        return FG_OK;
    for (int64_t i = 0; !s->has_labels && i < fg_catalog_count(s->catalog); i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, i, &item, err));
        s->has_labels = item.label >= 0;
    }
    return FG_OK;
}

/* What the check of the files has found. */
typedef struct findings {
    images *s;
    int64_t bad, row; /* the first file that is an error */
    fg_error first;
} findings;

static void add_bad(void *self, int64_t row, const fg_error *why)
{
    findings *f = self;
    if (fgi_damaged_is_damage(&f->s->damaged, why->status)) {
        if (fgi_damaged_begin(&f->s->damaged, row, why->message))
            fgi_damaged_end(&f->s->damaged);
        return;
    }
    if (f->bad++ > 0 && row >= f->row)
        return;
    f->row = row;
    f->first = *why;
}

/* Flaws are counted when the file is used. */
static fg_status decode_with(images *s, fgi_image_worker *w, int64_t row, fg_error *err)
{
    char name[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    const fg_image_decode_options options = {.min_width = 1,
                                             .min_height = 1,
                                             .tolerate_corruption =
                                                 s->rule.options.tolerate_corruption};
    FGI_TRY(read_file(s, w, row, &item, name, err));
    fgi_image_worker_reserve(w,
                             fgi_image_decode_bytes(name, w->bytes.data, w->bytes.size, &options));
    FGI_TRY_CTX(
        fg_image_decode(w->decoder, name, w->bytes.data, w->bytes.size, &options, &w->image, err),
        err, "'%.160s'", s->catalog->path);
    return FG_OK;
}

/* Decodes a whole file, at a size that is cheap. */
static fg_status decode_file(void *self, int64_t row, fg_error *err)
{
    images *s = ((findings *)self)->s;
    fgi_image_worker *w;
    FGI_TRY(fgi_image_workers_take(&s->workers, &w, err));
    const fg_status status = decode_with(s, w, row, err);
    fgi_image_workers_give_back(&s->workers, w);
    return status;
}

static void say_checked(const images *s, int64_t checked, const fgi_image_listener *listener)
{
    const fg_images_options *o = &s->rule.options;
    const long long damaged = atomic_load(&s->damaged.noted.count);
    if (o->check_decodes)
        fgi_image_say(listener, FG_LOG_INFO, "'%.160s': decoded %" PRId64 " files: %lld damaged",
                      s->catalog->path, checked, damaged);
    else if (checked < s->count)
        fgi_image_say(listener, FG_LOG_INFO,
                      "'%.160s': checked the ends of %" PRId64 " of %" PRId64
                      " files in %g s; to check all before training, set data.check to all",
                      s->catalog->path, checked, s->count, o->check_seconds);
}

static fg_status check_files(images *s, const fgi_image_listener *listener, fg_error *err)
{
    const fg_images_options *o = &s->rule.options;
    findings f = {.s = s};
    int64_t checked;
    const fgi_image_check_options options = {.catalog = s->catalog,
                                             .items = s->items,
                                             .count = s->count,
                                             .seconds = o->check_decodes ? 0 : o->check_seconds,
                                             .is_tolerant = o->tolerate_corruption,
                                             .decode = o->check_decodes ? decode_file : NULL,
                                             .bad = add_bad,
                                             .self = &f,
                                             .listener = *listener};
    FGI_TRY(fgi_image_check_files(&options, &checked, err));
    if (f.bad > 0)
        return fgi_fail(err, f.first.status,
                        "%.240s\n%" PRId64 " of the %" PRId64 " files that were checked %s damaged",
                        f.first.message, f.bad, checked, f.bad == 1 ? "is" : "are");
    say_checked(s, checked, listener);
    return FG_OK;
}

static fg_status create(images *s, const fg_images_options *options,
                        const fgi_image_listener *listener, fg_error *err)
{
    s->is_fit = listener->is_fit;
    FGI_TRY(fgi_image_rule_init(&s->rule, options, err));
    FGI_TRY(fgi_image_workers_init(&s->workers, s->rule.options.decode_bytes, err));
    FGI_TRY(look_at_labels(s, err));
    FGI_TRY(choose_items(s, err));
    FGI_TRY(fgi_damaged_init(&s->damaged, s->count, s->rule.options.skip_damaged, err));
    FGI_TRY(check_labels(s, err));
    return s->rule.options.check ? check_files(s, listener, err) : FG_OK;
}

/* The names of all classes in a new array; NULL if they have no names, or on failure. */
static fg_status name_classes(const fg_catalog *catalog, const char ***out, fg_error *err)
{
    const int64_t count = fg_catalog_class_count(catalog);
    *out = NULL;
    if (count == 0 || fg_catalog_class_name(catalog, 0) == NULL)
        return FG_OK;
    *out = fgi_calloc((size_t)count, sizeof(**out));
    for (int64_t i = 0; *out != NULL && i < count; i++)
        (*out)[i] = fg_catalog_class_name(catalog, i);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status add_functions(images *s, fg_dataset **out, fg_error *err)
{
    fg_dataset *dataset = *out;
    dataset->varies = fgi_image_rule_is_random(&s->rule);
    dataset->groups = images_groups;
    dataset->target = images_target;
    dataset->limit_spares = images_limit;
    return fgi_dataset_finish(out, fgi_dataset_has_damage(dataset, &s->damaged.noted, err));
}

fg_status fgi_images_create(fg_catalog *catalog, const fg_images_options *options,
                            const fgi_image_listener *listener, fg_dataset **out, fg_error *err)
{
    static const fg_dataset_ops ops = {.read_epoch = images_read,
                                       .labels = images_labels,
                                       .name = images_name,
                                       .destroy = images_destroy};
    const char **names = NULL;
    *out = NULL;
    FGI_TRY_RESERVED(fg_images_options, options, err);
    images *s = fgi_calloc(1, sizeof(*s));
    if (s == NULL)
        return fgi_no_memory(err);
    s->catalog = fgi_catalog_retain(catalog);
    fg_status status = create(s, options, listener, err);
    if (status == FG_OK)
        status = name_classes(catalog, &names, err);
    if (status != FG_OK) {
        images_destroy(s);
        return status;
    }
    const fg_images_options *o = &s->rule.options;
    fg_field fields[] = {{"image", {FG_U8, 3, {o->height, o->width, o->channels}}},
                         {"label", {FG_S32, 0, {0}}}};
    if (o->multilabel)
        fields[1] = (fg_field){"labels", {FG_U8, 1, {fg_catalog_class_count(catalog)}}};
    const fg_dataset_spec spec = {.count = s->count,
                                  .fields = fields,
                                  .field_count = s->has_labels ? 2 : 1,
                                  .class_count =
                                      s->has_labels ? fg_catalog_class_count(catalog) : 0,
                                  .class_names = names};
    status = fg_dataset_create(&ops, s, &spec, out, err);
    fgi_free((void *)names);
    return status == FG_OK ? add_functions(s, out, err) : status;
}

fg_status fg_images_create(fg_catalog *catalog, const fg_images_options *options, fg_dataset **out,
                           fg_error *err)
{
    return fgi_images_create(catalog, options, &(fgi_image_listener){.say = NULL}, out, err);
}
