/* packer_metadata.c - the metadata of a pack, and the text by which an interrupted build recognizes
 * its input.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/print.h"
#include "input/json_file.h"
#include "packer/packer.h"

enum { SPLITS = 4, DIGITS = 6 };
static const char *const split_names[SPLITS] = {"train", "val", "test", "none"};

static bool set(json_t *object, const char *key, json_t *take_value)
{
    return json_object_set_new(object, key, take_value) == 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct counts {
    int64_t samples, splits[SPLITS], classes;
    int64_t *of_class; /* [SPLITS][classes] */
} counts;

static void count_labels(counts *c, const fg_catalog_item *item, size_t split)
{
    for (uint32_t i = 0; i < item->label_count; i++)
        if (item->labels[i] >= 0 && item->labels[i] < c->classes)
            c->of_class[split * (size_t)c->classes + (size_t)item->labels[i]]++;
}

/* Counts the samples that are in the pack. */
static fg_status count_samples(const fgi_packer_plan *plan, const fgi_packer_journal *journal,
                               counts *c, fg_error *err)
{
    size_t bad = 0;
    c->classes = fg_catalog_class_count(plan->catalog);
    c->of_class = fgi_calloc(SPLITS * (size_t)c->classes + 1, sizeof(*c->of_class));
    if (c->of_class == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < plan->count; i++) {
        fg_catalog_item item;
        if (bad < journal->count && journal->samples[bad] == i) {
            bad++;
            continue;
        }
        FGI_TRY(fgi_packer_item(plan, i, &item, err));
        const size_t split = item.split < SPLITS - 1 ? item.split : SPLITS - 1;
        c->samples++;
        c->splits[split]++;
        count_labels(c, &item, split);
    }
    return FG_OK;
}

static json_t *splits_json(const counts *c)
{
    json_t *root = json_object();
    for (size_t i = 0; root != NULL && i < SPLITS; i++)
        if (c->splits[i] > 0)
            (void)set(root, split_names[i], json_integer(c->splits[i]));
    return root;
}

static json_t *classes_json(const counts *c)
{
    json_t *root = json_object();
    for (size_t i = 0; root != NULL && i < SPLITS; i++) {
        json_t *list = c->splits[i] > 0 ? json_array() : NULL;
        for (int64_t k = 0; list != NULL && k < c->classes; k++)
            (void)json_array_append_new(
                list, json_integer(c->of_class[i * (size_t)c->classes + (size_t)k]));
        if (list != NULL)
            (void)set(root, split_names[i], list);
    }
    return root;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* The last component of a path: the same wherever the source is. */
static json_t *name_of(const char *path)
{
    const fgi_str last = fgi_path_name(path);
    json_t *name = json_stringn(last.data, last.size);
    return name != NULL ? name : json_string("");
}

static json_t *source_json(const fgi_packer_plan *plan, const char *source)
{
    return json_pack("{s:o, s:s, s:I}", "name", name_of(source), "kind",
                     fg_catalog_kind_of(plan->catalog), "samples",
                     (json_int_t)fg_catalog_count(plan->catalog));
}

static json_t *options_json(const fgi_packer_plan *plan)
{
    char presize[64];
    const fg_pack_build_options *o = &plan->o;
    json_t *root =
        json_pack("{s:s, s:s, s:I, s:I, s:I}", "codec", fgi_packer_codec_name(o->codec), "presize",
                  fgi_packer_presize_text(&o->presize, presize), "quality", (json_int_t)o->quality,
                  "variants", (json_int_t)o->variant_count, "seed", (json_int_t)o->seed);
    bool ok = root != NULL;
    if (plan->splits != NULL)
        ok = ok && set(root, "val_fraction", json_real(o->val_fraction)) &&
             set(root, "test_fraction", json_real(o->test_fraction)) &&
             set(root, "stratify", json_boolean(o->stratify));
    if (o->limit > 0)
        ok = ok && set(root, "limit", json_integer(o->limit));
    return ok ? root : (json_decref(root), NULL);
}

static bool set_pixels(json_t *root, const fgi_packer_sums *sums)
{
    json_t *means = json_array(), *deviations = json_array();
    for (size_t c = 0; sums->count > 0 && c < 3; c++) {
        const double mean = sums->mean[c] / (double)sums->count;
        const double square = sums->square[c] / (double)sums->count;
        (void)json_array_append_new(means, json_real(mean));
        (void)json_array_append_new(deviations, json_real(sqrt(fmax(square - mean * mean, 0))));
    }
    const bool is_set = set(root, "mean", means);
    return set(root, "std", deviations) && is_set;
}

fg_status fgi_packer_metadata(const fgi_packer_plan *plan, const char *source,
                              const fgi_packer_journal *journal, const fgi_packer_sums *sums,
                              fgi_buf *out, fg_error *err)
{
    counts c = {0};
    json_t *root = json_object();
    fg_status status = count_samples(plan, journal, &c, err);
    const bool ok = status != FG_OK ||
                    (root != NULL && set(root, "source", source_json(plan, source)) &&
                     set(root, "options", options_json(plan)) &&
                     set(root, "samples", json_integer(c.samples)) &&
                     set(root, "bad", json_integer((json_int_t)journal->count)) &&
                     set(root, "skipped", json_integer(fg_catalog_skip_count(plan->catalog))) &&
                     set(root, "splits", splits_json(&c)) &&
                     set(root, "class_counts", classes_json(&c)) && set_pixels(root, sums) &&
                     fgi_json_write(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS), out));
    if (status == FG_OK && !ok)
        status = fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_buf_status(out, err);
    json_decref(root);
    fgi_free(c.of_class);
    return status;
}

/* ---- fingerprint ----------------------------------------------------------------------------- */

static fgi_hash hash_item(fgi_hash hash, const fg_catalog_item *item)
{
    const int64_t numbers[4] = {item->label, item->split, item->group, item->label_count};
    hash = fgi_hash_more(hash, item->name, strlen(item->name) + 1);
    hash = fgi_hash_more(hash, numbers, sizeof(numbers));
    return item->label_count > 0
               ? fgi_hash_more(hash, item->labels, item->label_count * sizeof(*item->labels))
               : hash;
}

fg_status fgi_packer_fingerprint(const fgi_packer_plan *plan, fgi_buf *out, fg_error *err)
{
    char hex[33], presize[64];
    const fg_pack_build_options *o = &plan->o;
    fgi_hash hash = {0};
    for (int64_t i = 0; i < plan->count; i++) {
        fg_catalog_item item;
        FGI_TRY(fgi_packer_item(plan, i, &item, err));
        hash = hash_item(hash, &item);
    }
    fgi_hash_format(hash, hex);
    fgi_buf_printf(out, "1 %s %s %" PRId64 " %" PRId64 " %" PRIu64 " %s",
                   fgi_packer_codec_name(o->codec), fgi_packer_presize_text(&o->presize, presize),
                   o->quality, o->variant_count, o->seed, hex);
    return fgi_buf_status(out, err);
}
