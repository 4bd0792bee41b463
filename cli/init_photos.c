/* init_photos.c - inspects the images of a catalog: how many each class has, and the sizes of a
 * sample of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <fulgurite/data.h>
#include <fulgurite/image.h>

#include "base/print.h"
#include "init_look.h"

enum { PROBES = 64 };

/* ---- counts ---------------------------------------------------------------------------------- */

static bool is_training(const fg_catalog_item *item)
{
    return item->split == FG_TRAIN || item->split == FG_CATALOG_NO_SPLIT;
}

static bool count(const fg_catalog *catalog, fgi_look_photos *out, fg_error *err)
{
    fg_catalog_item item;
    for (int64_t i = 0; i < fg_catalog_count(catalog); i++) {
        if (fg_catalog_item_at(catalog, i, &item, err) != FG_OK)
            return false;
        out->train += is_training(&item);
        out->val += item.split == FG_VAL;
        out->test += item.split == FG_TEST;
        out->unlabeled_test += item.split == FG_TEST && item.label < 0;
        out->many_labels += item.label_count > 1;
    }
    return true;
}

/* ---- a sample of the images ------------------------------------------------------------------ */

typedef struct probe {
    fg_catalog_bytes bytes;
    int64_t short_side[PROBES];
    int64_t good;
    double total_bytes;
} probe;

/* Notes the first line of the reason. */
static void note_bad(fgi_look_photos *out, const char *name, const fg_error *err)
{
    char shown[128];
    if (out->bad++ > 0)
        return;
    (void)fg_catalog_escape(name, shown, sizeof(shown));
    (void)fgi_snprintf(out->bad_reason, sizeof(out->bad_reason), "'%s': %.*s", shown,
                       (int)strcspn(err->message, "\n"), err->message);
}

static void probe_image(const fg_catalog *catalog, int64_t index, probe *p, fgi_look_photos *out)
{
    fg_catalog_item item;
    fg_image_info info = {.format = FG_IMAGE_UNKNOWN};
    fg_error err = {0};
    if (fg_catalog_item_at(catalog, index, &item, &err) != FG_OK)
        return;
    out->probed++;
    fg_status status = fg_catalog_read(catalog, index, &p->bytes, &err);
    if (status == FG_OK)
        status = fg_image_probe(item.name, p->bytes.data, p->bytes.size, &info, &err);
    if (status != FG_OK) {
        note_bad(out, item.name, &err);
        return;
    }
    p->short_side[p->good++] = info.width < info.height ? info.width : info.height;
    p->total_bytes += (double)p->bytes.size;
    out->gray += info.channels < 3;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void summarize(probe *p, fgi_look_photos *out)
{
    qsort(p->short_side, (size_t)p->good, sizeof(p->short_side[0]), ascending);
    out->short_min = p->short_side[0];
    out->short_median = p->short_side[p->good / 2];
    out->short_max = p->short_side[p->good - 1];
    out->mean_bytes = p->total_bytes / (double)p->good;
}

/* Reads images at equal distances. */
static void probe_images(const fg_catalog *catalog, fgi_look_photos *out)
{
    probe p = {.good = 0};
    const int64_t images = fg_catalog_count(catalog);
    const int64_t probes = images < PROBES ? images : PROBES;
    for (int64_t i = 0; i < probes; i++)
        probe_image(catalog, i * images / probes, &p, out);
    fg_catalog_bytes_fini(&p.bytes);
    if (p.good == 0)
        return;
    summarize(&p, out);
}

/* The length of the class in "CLASS.NUMBER.EXTENSION", also with another separator; 0: none. */
static size_t class_size(const char *name)
{
    const char *dot = strrchr(name, '.');
    const bool is_plain = dot != NULL && strpbrk(name, "/,\"\n\r") == NULL;
    size_t size = is_plain ? (size_t)(dot - name) : 0;
    const size_t end = size;
    while (size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9')
        size--;
    return size > 1 && size < end && strchr("._-", name[size - 1]) != NULL ? size - 1 : 0;
}

bool fgi_look_photos_are_named(const fg_catalog *catalog, const char **out_name, size_t *out_size)
{
    fg_catalog_item item;
    const char *last = NULL; /* names of one class are adjacent: a folder is sorted */
    const int64_t images = fg_catalog_count(catalog);
    int64_t classes = 0;
    size_t last_size = 0;
    if (strcmp(fg_catalog_kind_of(catalog), "folder") != 0)
        return false;
    for (int64_t i = 0; i < images; i++) {
        const fg_status status = fg_catalog_item_at(catalog, i, &item, NULL);
        const size_t size = status == FG_OK ? class_size(item.name) : 0;
        if (size == 0)
            return false;
        classes += size != last_size || strncmp(item.name, last, size) != 0;
        last = item.name;
        last_size = size;
        *out_size = i == 0 ? size : *out_size;
        *out_name = i == 0 ? item.name : *out_name;
    }
    return classes > 1 && 2 * classes <= images;
}

bool fgi_look_photos_read(const fg_catalog *catalog, fgi_look_photos *out, fg_error *err)
{
    *out = (fgi_look_photos){.train = 0};
    if (fgi_class_counts_of(catalog, NULL, &out->counts, err) != FG_OK)
        return false;
    if (!count(catalog, out, err)) {
        fgi_look_photos_free(out);
        return false;
    }
    probe_images(catalog, out);
    return true;
}

/* ---- packs ----------------------------------------------------------------------------------- */

static bool count_records(fg_pack *pack, fgi_look_photos *out, fg_error *err)
{
    const int64_t variants = fg_pack_info_of(pack)->variant_count;
    fg_pack_entry e;
    for (int64_t i = 0; i < fg_pack_count(pack); i += variants) {
        if (fg_pack_entry_at(pack, i, &e, err) != FG_OK)
            return false;
        const bool is_train = e.split == FG_TRAIN || e.split == FG_PACK_NO_SPLIT;
        out->train += is_train;
        out->val += e.split == FG_VAL;
        out->test += e.split == FG_TEST;
        out->unlabeled_test += e.split == FG_TEST && e.label < 0;
        out->many_labels += e.label_count > 1;
        int64_t *part = is_train            ? out->counts.train
                        : e.split == FG_VAL ? out->counts.val
                                            : out->counts.test;
        if (e.label >= 0 && e.label < out->counts.classes)
            part[e.label]++;
    }
    return true;
}

static void probe_records(fg_pack *pack, fgi_look_photos *out)
{
    probe p = {.good = 0};
    fg_pack_entry e;
    const int64_t records = fg_pack_count(pack);
    const int64_t probes = records < PROBES ? records : PROBES;
    for (int64_t i = 0; i < probes; i++) {
        if (fg_pack_entry_at(pack, i * records / probes, &e, NULL) != FG_OK)
            continue;
        p.short_side[p.good++] = e.width < e.height ? e.width : e.height;
        p.total_bytes += e.size_bytes;
        out->is_dct = out->is_dct || e.codec == FG_PACK_DCT;
        out->is_arrays = out->is_arrays || e.codec == FG_PACK_ARRAYS;
    }
    out->probed = p.good;
    if (p.good > 0)
        summarize(&p, out);
}

bool fgi_look_pack_read(fg_pack *pack, fgi_look_photos *out, fg_error *err)
{
    *out = (fgi_look_photos){.train = 0};
    if (fgi_class_counts_init(&out->counts, "image", fg_pack_info_of(pack)->class_count, err) !=
        FG_OK)
        return false;
    for (int64_t i = 0; i < out->counts.classes; i++)
        out->counts.names[i] = fg_pack_class_name(pack, i);
    if (!count_records(pack, out, err)) {
        fgi_look_photos_free(out);
        return false;
    }
    probe_records(pack, out);
    return true;
}

void fgi_look_photos_free(fgi_look_photos *photos)
{
    fgi_class_counts_fini(&photos->counts);
    *photos = (fgi_look_photos){0};
}
