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
#include "data/pack_samples.h"

/* ---- packs ----------------------------------------------------------------------------------- */

/* A pack and the samples of one part of it. */
typedef struct part {
    fg_pack *pack;
    const char *path;
    bool has_splits, has_val, needs_target;
    fg_data_part part;
    const char *const *class_names; /* borrowed; NULL: those of the pack */
    int64_t class_count;
    const fg_type *input;
} part;

static const uint8_t split_of[] = {
    [FG_PART_TRAIN] = FG_TRAIN, [FG_PART_VAL] = FG_VAL, [FG_PART_TEST] = FG_TEST};

/* Whether any record has a split, and whether any is for validation. */
static fg_status look_at_splits(part *p, fg_error *err)
{
    fgi_pack_columns columns = {0};
    for (int64_t i = 0; i < fg_pack_count(p->pack); i++) {
        FGI_TRY(fgi_pack_columns_at(p->pack, i, &columns, err));
        const uint8_t split = columns.split[i - columns.first];
        p->has_splits = p->has_splits || split != FG_PACK_NO_SPLIT;
        p->has_val = p->has_val || split == FG_VAL;
    }
    return FG_OK;
}

/* Warns about samples of the part that have several labels. */
static fg_status warn_of_labels(const part *p, const fg_format_request *request, fg_error *err)
{
    fgi_pack_columns columns = {0};
    const int64_t variants = fg_pack_get_info(p->pack)->variant_count;
    const bool is_split = p->has_splits && p->part != FG_PART_PREDICT;
    int64_t several = 0;
    for (int64_t i = 0; p->needs_target && i < fg_pack_count(p->pack); i += variants) {
        FGI_TRY(fgi_pack_columns_at(p->pack, i, &columns, err));
        const int64_t at = i - columns.first;
        if (columns.labels_start != NULL && (!is_split || columns.split[at] == split_of[p->part]))
            several += columns.labels_start[at + 1] > columns.labels_start[at] + 1;
    }
    fgi_crop_warn_labels(request, p->path, several);
    return FG_OK;
}

/* Whether there may be images in place of a pack: a folder, or a file with the name of an image. */
static bool has_images(const char *path)
{
    return fgi_is_folder(path) || (fgi_is_image_name(fgi_str_of(path)) && fgi_file_exists(path));
}

static fg_status part_open(const fg_option_values *values, const char *option,
                           const fg_format_request *request, part *out, fg_error *err)
{
    *out = (part){.part = request->part,
                  .path = fg_option_string(values, option),
                  .needs_target = request->needs_target,
                  .class_names = request->class_names,
                  .class_count = request->class_count,
                  .input = request->input};
    fg_status status = fg_pack_open(out->path, NULL, &out->pack, err);
    if (status != FG_OK)
        return fgi_crop_hint(status, has_images(out->path),
                             "to read image files, set data.format to images", err);
    status = look_at_splits(out, err);
    if (status == FG_OK)
        status = warn_of_labels(out, request, err);
    if (status != FG_OK)
        fg_pack_close(out->pack);
    return status;
}

/* Bytes of a pack that is read into memory before it is used. */
static uint64_t preload_bytes(const fg_option_values *values)
{
    const double fraction = fg_option_float(values, "preload");
    fg_host *host = NULL;
    double free_bytes = 0;
    if (fraction > 0 && fg_host_open(NULL, &host, NULL) == FG_OK)
        free_bytes = (double)fg_host_get_info(host)->memory_free_bytes;
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
static fg_status create(const part *p, const fg_option_values *values, bool is_training,
                        fg_dataset **out, fg_error *err)
{
    fg_pack_dataset_options o = {.images = fgi_crop_options(values, p->input, is_training),
                                 .first_variant = !is_training,
                                 .class_names = p->class_names,
                                 .class_count = p->class_count,
                                 .keep_planes = true,
                                 .preload_bytes = preload_bytes(values)};
    o.images.no_labels = !p->needs_target;
    if (is_training && fgi_crop_skips(values))
        o.bad = FG_PACK_BAD_SKIP;
    if (p->has_splits && p->part != FG_PART_PREDICT) {
        o.use_splits = true;
        o.images.split = split_of[p->part];
    }
    fg_status status = fg_pack_dataset_create(p->pack, &o, out, err);
    if (status == FG_OK && p->has_splits)
        status = fgi_crop_check_count(p->path, p->part, fg_dataset_count(*out), err);
    if (status == FG_OK)
        status = check_encoding(*out, values, err);
    if (status == FG_OK)
        return FG_OK;
    fg_dataset_destroy(*out);
    *out = NULL;
    return status;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Validation samples in the training pack that nothing uses are probably a mistake. */
static fg_status check_splits(const part *p, const fg_option_values *values, fg_error *err)
{
    const char *val = fg_option_string(values, "val");
    if (!p->has_val || (val != NULL && *val != '\0'))
        return FG_OK;
    return fg_option_fail(values, "train", FG_EINVAL, err,
                          "'%s' also contains validation samples\nset data.val to the same path to "
                          "use them",
                          p->path);
}

static fg_status split_train(const part *p, const fg_option_values *values,
                             const fg_format_request *request, fg_format_data *out, fg_error *err)
{
    fg_dataset *varied = NULL, *middle = NULL;
    fg_status status = create(p, values, true, &varied, err);
    if (status == FG_OK)
        status = create(p, values, false, &middle, err);
    if (status == FG_OK)
        status = fgi_crop_hold_out(request, varied, middle, out, err);
    fg_dataset_destroy(varied);
    fg_dataset_destroy(middle);
    return status;
}

/* Validation samples in another pack have the classes of the training samples. */
static fg_status open_val(const fg_option_values *values, const fg_format_request *request,
                          fg_format_data *out, fg_error *err)
{
    part val;
    const fg_format_request of_val = fgi_crop_val_request(request, out->samples);
    const char *path = fg_option_string(values, "val");
    if (path == NULL || *path == '\0')
        return FG_OK;
    FGI_TRY(part_open(values, "val", &of_val, &val, err));
    const fg_status status = create(&val, values, false, &out->val, err);
    fg_pack_close(val.pack);
    return status;
}

static fg_status open_train(const part *p, const fg_option_values *values,
                            const fg_format_request *request, fg_format_data *out, fg_error *err)
{
    FGI_TRY(check_splits(p, values, err));
    if (!request->is_training)
        return create(p, values, false, &out->samples, err);
    if (request->val_fraction > 0)
        return split_train(p, values, request, out, err);
    FGI_TRY(create(p, values, true, &out->samples, err));
    return open_val(values, request, out, err);
}

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    static const char *const option[] = {[FG_PART_TRAIN] = "train",
                                         [FG_PART_VAL] = "val",
                                         [FG_PART_TEST] = "test",
                                         [FG_PART_PREDICT] = "predict"};
    part p;
    FGI_TRY(fgi_crop_check(values, err));
    FGI_TRY(part_open(values, option[request->part], request, &p, err));
    const fg_status status = request->part == FG_PART_TRAIN
                                 ? open_train(&p, values, request, out, err)
                                 : create(&p, values, false, &out->samples, err);
    fg_pack_close(p.pack);
    return status;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "train",
     .kind = FG_OPTION_STRING,
     .example = "photos.pack",
     .help = "The training samples: a pack, any file of a set of shards, a pattern, or a folder "
             "with one pack."},
    {.name = "val",
     .kind = FG_OPTION_STRING,
     .example = "photos.pack",
     .help = "Validation samples. It may be the same pack, if its records have splits."},
    {.name = "test",
     .kind = FG_OPTION_STRING,
     .example = "photos.pack",
     .help = "Test samples for `test` and `predict`. Default: the validation samples."},
    FGI_OPTION_PREDICT,
    FGI_OPTIONS_CROP,
    FGI_OPTION_DAMAGED,
    FGI_OPTIONS_DECODE,
    {.name = "preload",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .range = "0..1",
     .example = "0.5",
     .help = "Read a pack into memory before the first step, if it is smaller than this fraction "
             "of the free memory. 0: read records when they are needed, ahead of time."},
};

const fg_format_entry fgi_pack_row = {
    .entry = {.name = "pack",
              .help = "a pack, written by `fulgurite pack`",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .files = {.train = "train", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "size|channels",
    .open = open_part};
