/* format_pack.c - the data format pack: samples of a pack that `fulgurite pack` or the library has
 * written.
 *
 * Training samples are cropped at random, and read another variant in each epoch; all others are
 * cropped in the middle of their first variant. Only damaged training samples are replaced: metrics
 * and predictions must be those of their own samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/host.h>
#include <fulgurite/pack_dataset.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "catalog/draft.h"
#include "data/format_crop.h"
#include "data/next_tokens.h"
#include "data/pack_samples.h"

typedef struct pack {
    fgi_crop crop;
    double preload;
} pack;

/* ---- packs ----------------------------------------------------------------------------------- */

/* A pack and the samples of one part of it. */
typedef struct part {
    const pack *own;
    const fg_format_request *request;
    fg_pack *pack;
    const char *path;
    bool has_splits, is_multilabel;
} part;

static const uint8_t split_of[] = {
    [FG_PART_TRAIN] = FG_TRAIN, [FG_PART_VAL] = FG_VAL, [FG_PART_TEST] = FG_TEST};

/* Whether any record has a split, and whether any is for validation. */
static fg_status look_at_splits(part *p, bool *out_has_val, fg_error *err)
{
    fgi_pack_columns columns = {0};
    for (int64_t i = 0; i < fg_pack_count(p->pack); i++) {
        FGI_TRY(fgi_pack_columns_at(p->pack, i, &columns, err));
        const uint8_t split = columns.split[i - columns.first];
        p->has_splits = p->has_splits || split != FG_PACK_NO_SPLIT;
        *out_has_val = *out_has_val || split == FG_VAL;
    }
    return FG_OK;
}

/* Whether the part is only some of the records. */
static bool is_split(const part *p) { return p->has_splits && p->request->part != FG_PART_PREDICT; }

/* Whether the task is to predict several labels per sample. */
static fg_status look_at_labels(part *p, fg_error *err)
{
    const fg_format_request *request = p->request;
    fgi_pack_columns columns = {0};
    const int64_t variants = fg_pack_info_of(p->pack)->variant_count;
    int64_t several = 0;
    for (int64_t i = 0; request->needs_target && i < fg_pack_count(p->pack); i += variants) {
        FGI_TRY(fgi_pack_columns_at(p->pack, i, &columns, err));
        const int64_t at = i - columns.first;
        if (columns.labels_start != NULL &&
            (!is_split(p) || columns.split[at] == split_of[request->part]))
            several += columns.labels_start[at + 1] > columns.labels_start[at] + 1;
    }
    p->is_multilabel = fgi_crop_is_multilabel(request, p->path, false, several);
    return FG_OK;
}

/* Whether there may be images in place of a pack: a folder, or a file with the name of an image. */
static bool has_images(const char *path)
{
    return fgi_is_folder(path) || (fgi_is_image_name(fgi_str_of(path)) && fgi_file_exists(path));
}

/* Opens the pack of the request's part. */
static fg_status part_open(void *self, const void *own, const fg_format_request *request,
                           bool *out_has_val, fg_error *err)
{
    part *out = self;
    *out = (part){.own = own, .request = request};
    out->path = out->own->crop.paths[request->part];
    const fg_status status = fg_pack_open(out->path, NULL, &out->pack, err);
    if (status != FG_OK)
        return fgi_crop_hint(status, has_images(out->path),
                             "to read image files, set data.format to images", err);
    FGI_TRY(look_at_splits(out, out_has_val, err));
    return look_at_labels(out, err);
}

static void part_close(void *self) { fg_pack_close(((part *)self)->pack); }

/* Bytes of a pack that is read into memory before it is used. */
static uint64_t preload_bytes(double fraction)
{
    fg_host *host = NULL;
    double free_bytes = 0;
    if (fraction > 0 && fg_host_open(NULL, &host, NULL) == FG_OK)
        free_bytes = (double)fg_host_info_of(host)->memory_free_bytes;
    fg_host_close(host);
    return free_bytes > 0 ? (uint64_t)(fraction * free_bytes) : 0;
}

/* The host does not crop images that the device decodes, so options for that must have their
 * defaults: they are also given by the configuration of a checkpoint. */
static fg_status check_encoding(const fg_dataset *dataset, const fg_option_values *values,
                                fg_error *err)
{
    static const char *const names[] = {"size",       "crop", "crop_scale",
                                        "crop_ratio", "flip", "center_fraction"};
    const fg_image_encoding *encoding = fg_dataset_encoding(dataset);
    const bool is_whole = encoding != NULL && encoding->coding == FG_IMAGE_DCT;
    for (size_t i = 0; is_whole && i < sizeof names / sizeof names[0]; i++) {
        char text[96];
        const char *initial = fg_option_find(values, names[i])->initial;
        if (fg_option_is_given(values, names[i]) &&
            strcmp(fg_option_format(values, names[i], text, sizeof text), initial) != 0)
            return fg_option_fail(
                values, names[i], FG_EINVAL, err,
                "the pack has DCT coefficients, whose images are decoded whole by "
                "the device\nuse data.augment, for example [random_resized_crop("
                "height=224, width=224), random_flip]");
    }
    return FG_OK;
}

/* The samples of the part; all of a pack without splits, and to predict. */
static fg_status create(const void *self, bool is_training, bool is_fit, fg_dataset **out,
                        fg_error *err)
{
    const part *p = self;
    const fg_format_request *r = p->request;
    fg_pack_dataset_options o = {.images = fgi_crop_options(&p->own->crop, r->input, is_training),
                                 .first_variant = !is_training,
                                 .class_names = r->class_names,
                                 .class_count = r->class_count,
                                 .keep_planes = true,
                                 .preload_bytes = preload_bytes(p->own->preload)};
    o.images.no_labels = !r->needs_target;
    o.images.multilabel = p->is_multilabel;
    if (is_training && p->own->crop.damaged == FGI_DAMAGED_SKIP)
        o.bad = FG_PACK_BAD_SKIP;
    if (is_split(p)) {
        o.use_splits = true;
        o.images.split = split_of[r->part];
    }
    fg_status status = fg_pack_dataset_create(p->pack, &o, out, err);
    if (status == FG_OK && p->has_splits)
        status = fgi_crop_check_count(p->path, r->part, fg_dataset_count(*out), err);
    if (status == FG_OK)
        status = check_encoding(*out, r->values, err);
    if (status == FG_OK && fgi_is_token_windows(*out))
        status = fgi_next_tokens(0, out, err);
    return fgi_dataset_finish(out, status);
}

static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    static const fgi_crop_source records = {sizeof(part), part_open, create, part_close};
    return fgi_crop_open(&records, own, request, out, err);
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FGI_OPTION_PATH("train", FG_PART_TRAIN, "photos.pack",
                    "The training samples: a pack, any file of a set of shards, a pattern, or a "
                    "folder with one pack."),
    FGI_OPTION_PATH("val", FG_PART_VAL, "photos.pack",
                    "Validation samples. It may be the same pack, if its records have splits."),
    FGI_OPTION_PATH("test", FG_PART_TEST, "photos.pack",
                    "Test samples for `test` and `predict`. Default: the validation samples."),
    FGI_OPTION_PREDICT(fgi_crop),
    FGI_OPTIONS_CROP,
    FGI_OPTION_DAMAGED,
    FGI_OPTIONS_DECODE,
    FG_OPTION(pack, preload, FLOAT, "0", "0..1", "0.5",
              "Read a pack into memory before the first step, if it is smaller than this fraction "
              "of the free memory. 0: read records when they are needed, ahead of time."),
};

const fg_format_entry fgi_pack_row = {
    .entry = {.name = "pack",
              .help = "a pack, written by `fulgurite pack`",
              FG_OPTIONS(options, pack)},
    .files = {.train = "train", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "size|channels",
    .load = load_part};
