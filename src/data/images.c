/* images.c - the dataset of image files: a sample is read, decoded as far as its box needs, and
 * resized. What a thread needs for this is kept in a list of workers, from which each call takes
 * one, so that nothing is allocated once every thread has had its largest image.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/images.h>
#include <math.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "base/reserved.h"
#include "base/rng.h"
#include "base/thread.h"
#include "catalog/draft.h"
#include "data/dataset.h"
#include "data/image_boxes.h"

typedef struct worker {
    struct worker *next; /* in the list of idle ones */
    fg_image_decoder *decoder;
    fg_catalog_bytes bytes;
    fg_image image;
} worker;

typedef struct images {
    fg_catalog *catalog; /* held */
    fg_images_options options;
    fgi_box_limits limits;
    fgi_key key;
    int64_t *items; /* of the catalog; NULL: all */
    int64_t count;
    bool has_labels, has_mutex;
    pthread_mutex_t mutex; /* protects idle */
    worker *idle;
} images;

/* ---- workers --------------------------------------------------------------------------------- */

static void worker_destroy(worker *w)
{
    fg_image_decoder_destroy(w->decoder);
    fg_catalog_bytes_fini(&w->bytes);
    fg_image_fini(&w->image);
    fgi_free(w);
}

static fg_status worker_create(worker **out, fg_error *err)
{
    worker *w = fgi_calloc(1, sizeof(*w));
    *out = w;
    if (w == NULL)
        return fgi_no_memory(err);
    const fg_status status = fg_image_decoder_create(&w->decoder, err);
    if (status != FG_OK) {
        fgi_free(w);
        *out = NULL;
    }
    return status;
}

static fg_status take_worker(images *s, worker **out, fg_error *err)
{
    (void)pthread_mutex_lock(&s->mutex);
    *out = s->idle;
    if (s->idle != NULL)
        s->idle = s->idle->next;
    (void)pthread_mutex_unlock(&s->mutex);
    return *out != NULL ? FG_OK : worker_create(out, err);
}

static void give_back(images *s, worker *w)
{
    (void)pthread_mutex_lock(&s->mutex);
    w->next = s->idle;
    s->idle = w;
    (void)pthread_mutex_unlock(&s->mutex);
}

/* ---- a sample -------------------------------------------------------------------------------- */

static int64_t item_at(const images *s, int64_t index)
{
    return s->items != NULL ? s->items[index] : index;
}

static fgi_key sample_key(const images *s, int64_t epoch, int64_t index)
{
    return fgi_key_fold(fgi_key_fold(s->key, (uint64_t)epoch), (uint64_t)index);
}

static fg_image_box choose_box(const images *s, fgi_key key, const fg_image_info *info)
{
    const fg_images_options *o = &s->options;
    if (o->crop == FG_IMAGE_CROP_RANDOM)
        return fgi_random_box(key, info->width, info->height, &s->limits);
    return fgi_center_box(info->width, info->height, (double)o->width / (double)o->height,
                          o->center_fraction);
}

static fg_status decode(const images *s, worker *w, const char *name, fgi_key key, uint8_t *out,
                        fg_error *err)
{
    const fg_images_options *o = &s->options;
    fg_image_info info;
    FGI_TRY(fg_image_probe(name, w->bytes.data, w->bytes.size, &info, err));
    const fg_image_decode_options decoding = {.channels = o->channels,
                                              .crop = choose_box(s, key, &info),
                                              .min_width = o->width,
                                              .min_height = o->height};
    const bool is_flipped =
        o->crop == FG_IMAGE_CROP_RANDOM &&
        (double)fgi_rng_uniform(fgi_key_fold_text(key, "flip"), 0) < o->flip_probability;
    FGI_TRY(
        fg_image_decode(w->decoder, name, w->bytes.data, w->bytes.size, &decoding, &w->image, err));
    return fg_image_resize(w->decoder, &w->image, o->width, o->height,
                           &(fg_image_resize_options){.flip = is_flipped}, out, err);
}

static fg_status read_sample(const images *s, worker *w, int64_t epoch, int64_t index,
                             void *const *out_fields, fg_error *err)
{
    char name[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    const int64_t place = item_at(s, index);
    FGI_TRY(fg_catalog_get(s->catalog, place, &item, err));
    FGI_TRY(fg_catalog_read(s->catalog, place, &w->bytes, err));
    (void)fg_catalog_escape(item.name, name, sizeof(name));
    FGI_TRY(decode(s, w, name, sample_key(s, epoch, index), out_fields[0], err));
    if (s->has_labels)
        *(int32_t *)out_fields[1] = item.label;
    return FG_OK;
}

static fg_status images_read(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                             fg_error *err)
{
    images *s = self;
    worker *w;
    FGI_TRY(take_worker(s, &w, err));
    const fg_status status = read_sample(s, w, epoch, index, out_fields, err);
    give_back(s, w);
    return status;
}

static fg_status images_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const images *s = self;
    fg_catalog_item item;
    for (int64_t i = 0; i < s->count; i++) {
        FGI_TRY(fg_catalog_get(s->catalog, item_at(s, i), &item, err));
        out_labels[i] = item.label;
    }
    return FG_OK;
}

static void images_destroy(void *self)
{
    images *s = self;
    while (s->idle != NULL) {
        worker *w = s->idle;
        s->idle = w->next;
        worker_destroy(w);
    }
    if (s->has_mutex)
        (void)pthread_mutex_destroy(&s->mutex);
    fg_catalog_destroy(s->catalog);
    fgi_free(s->items);
    fgi_free(s);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_between(double value, double low, double high)
{
    return value >= low && value <= high;
}

static fg_status check_size(const fg_images_options *o, fg_error *err)
{
    if (o->height < 1 || o->width < 1 || o->height > 65536 || o->width > 65536)
        return fgi_fail(err, FG_EINVAL,
                        "samples of %lld x %lld pixels: expected a height and width of 1 to 65536",
                        (long long)o->height, (long long)o->width);
    if (o->channels != 1 && o->channels != 3)
        return fgi_fail(err, FG_EINVAL, "channels is %d: expected 1 or 3", o->channels);
    if (!(o->center_fraction > 0 && o->center_fraction <= 1))
        return fgi_fail(err, FG_EINVAL,
                        "center_fraction is %g: expected a number above 0, at most 1",
                        o->center_fraction);
    return FG_OK;
}

static fg_status check(const fg_images_options *o, fg_error *err)
{
    FGI_TRY(check_size(o, err));
    if (!is_between(o->scale_max, 0, 1) || !is_between(o->scale_min, 0, o->scale_max))
        return fgi_fail(err, FG_EINVAL, "scale is %g to %g: expected two numbers from 0 to 1",
                        o->scale_min, o->scale_max);
    if (!is_between(o->ratio_max, 1e-3, 1e3) || !is_between(o->ratio_min, 1e-3, o->ratio_max))
        return fgi_fail(err, FG_EINVAL,
                        "ratio is %g to %g: expected two numbers from 0.001 to 1000", o->ratio_min,
                        o->ratio_max);
    if (!is_between(o->flip_probability, 0, 1))
        return fgi_fail(err, FG_EINVAL, "flip_probability is %g: expected 0 to 1",
                        o->flip_probability);
    return FG_OK;
}

static void fill_defaults(images *s, const fg_images_options *options)
{
    fg_images_options o = options != NULL ? *options : (fg_images_options){0};
    o.height = o.height != 0 ? o.height : 224;
    o.width = o.width != 0 ? o.width : 224;
    o.channels = o.channels != 0 ? o.channels : 3;
    o.center_fraction = fgi_or_default(o.center_fraction, 0.875);
    o.scale_min = fgi_or_default(o.scale_min, 0.08);
    o.scale_max = fgi_or_default(o.scale_max, 1);
    o.ratio_min = fgi_or_default(o.ratio_min, 3.0 / 4);
    o.ratio_max = fgi_or_default(o.ratio_max, 4.0 / 3);
    o.flip_probability = fgi_or_default(o.flip_probability, 0.5);
    s->options = o;
    s->limits = (fgi_box_limits){o.scale_min, o.scale_max, o.ratio_min, o.ratio_max};
    s->key = fgi_key_fold_text(fgi_key_from_seed(o.seed), "data.images");
}

/* ---- creation -------------------------------------------------------------------------------- */

/* The samples of the split. */
static fg_status choose_items(images *s, fg_error *err)
{
    const fg_images_options *o = &s->options;
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
    for (int64_t i = 0; s->has_labels && i < s->count; i++) {
        FGI_TRY(fg_catalog_get(s->catalog, item_at(s, i), &item, err));
        if (item.label >= 0)
            continue;
        (void)fg_catalog_escape(item.name, name, sizeof(name));
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has no label, but other samples have one: expected a label for each",
                        name);
    }
    return FG_OK;
}

static fg_status create(images *s, fg_error *err)
{
    FGI_TRY(check(&s->options, err));
    FGI_TRY(fgi_mutex_init(&s->mutex, err));
    s->has_mutex = true;
    s->has_labels = fg_catalog_class_count(s->catalog) > 0;
    FGI_TRY(choose_items(s, err));
    return check_labels(s, err);
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

fg_status fg_images_create(fg_catalog *catalog, const fg_images_options *options, fg_dataset **out,
                           fg_error *err)
{
    static const fg_dataset_ops ops = {
        .read_epoch = images_read, .labels = images_labels, .destroy = images_destroy};
    const char **names = NULL;
    *out = NULL;
    FGI_TRY_RESERVED(fg_images_options, options, err);
    images *s = fgi_calloc(1, sizeof(*s));
    if (s == NULL)
        return fgi_no_memory(err);
    s->catalog = fgi_catalog_retain(catalog);
    fill_defaults(s, options);
    fg_status status = create(s, err);
    if (status == FG_OK)
        status = name_classes(catalog, &names, err);
    if (status != FG_OK) {
        images_destroy(s);
        return status;
    }
    const fg_images_options *o = &s->options;
    const fg_field fields[] = {{"image", {FG_U8, 3, {o->height, o->width, o->channels}}},
                               {"label", {FG_S32, 0, {0}}}};
    const fg_dataset_spec spec = {.count = s->count,
                                  .fields = fields,
                                  .field_count = s->has_labels ? 2 : 1,
                                  .class_count = fg_catalog_class_count(catalog),
                                  .class_names = names};
    status = fg_dataset_create(&ops, s, &spec, out, err);
    fgi_free((void *)names);
    return status;
}
