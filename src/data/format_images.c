/* format_images.c - the data format images: image files in folders, lists, tar and TFRecord files.
 *
 * Training samples are cropped at random; the samples of every other part are cropped in the
 * middle, also those that are held out of the training samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/images.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "data/dataset.h"
#include "data/formats.h"

/* ---- options --------------------------------------------------------------------------------- */

static fg_images_options images_options(const fg_option_values *values, bool is_random)
{
    return (fg_images_options){
        .height = fg_option_int(values, "size"),
        .width = fg_option_int(values, "size"),
        .channels = (int)fg_option_int(values, "channels"),
        .crop = is_random ? FG_IMAGE_CROP_RANDOM : FG_IMAGE_CROP_CENTER,
        .center_fraction = fg_option_float(values, "center_fraction"),
        .scale_min = fg_option_float_at(values, "crop_scale", 0),
        .scale_max = fg_option_float_at(values, "crop_scale", 1),
        .ratio_min = fg_option_float_at(values, "crop_ratio", 0),
        .ratio_max = fg_option_float_at(values, "crop_ratio", 1),
        .flip_probability = fg_option_number(values, "flip"),
        .seed = (uint64_t)fg_option_int(values, "crop_seed"),
    };
}

static fg_status check_pair(const fg_option_values *values, const char *name, fg_error *err)
{
    if (fg_option_count(values, name) == 2 &&
        fg_option_float_at(values, name, 0) <= fg_option_float_at(values, name, 1))
        return FG_OK;
    return fg_option_fail(values, name, FG_EINVAL, err, "expected two ascending numbers");
}

/* ---- sources --------------------------------------------------------------------------------- */

/* A source, and the samples of one part of it. */
typedef struct source {
    fg_catalog *catalog;
    uint8_t *splits; /* 1: the sample belongs to the part */
} source;

static void source_fini(source *s)
{
    fg_catalog_destroy(s->catalog);
    fgi_free(s->splits);
}

/* Of a source without splits, all samples; else those of the part's split. */
static fg_status choose(source *s, fg_data_part part, fg_error *err)
{
    static const uint8_t split_of[] = {[FG_PART_TRAIN] = FG_TRAIN,
                                       [FG_PART_VAL] = FG_VAL,
                                       [FG_PART_TEST] = FG_TEST,
                                       [FG_PART_PREDICT] = FG_CATALOG_NO_SPLIT};
    const int64_t count = fg_catalog_count(s->catalog);
    fg_catalog_item item;
    bool has_splits = false;
    s->splits = fgi_calloc((size_t)count, 1);
    if (s->splits == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        FGI_TRY(fg_catalog_get(s->catalog, i, &item, err));
        s->splits[i] = item.split == split_of[part];
        has_splits = has_splits || item.split != FG_CATALOG_NO_SPLIT;
    }
    if (!has_splits || part == FG_PART_PREDICT)
        memset(s->splits, 1, (size_t)count);
    return FG_OK;
}

/* Opens the source that the option names; `like` NULL: with its own classes. */
static fg_status source_open(const fg_option_values *values, const char *option, fg_data_part part,
                             const fg_catalog *like, source *out, fg_error *err)
{
    fg_catalog_options options = {.kind = fg_option_string(values, "source")};
    const char **names = NULL;
    *out = (source){.catalog = NULL};
    const int64_t classes = like != NULL ? fg_catalog_class_count(like) : 0;
    if (classes > 0 && fg_catalog_class_name(like, 0) != NULL) {
        names = fgi_calloc((size_t)classes, sizeof(*names));
        if (names == NULL)
            return fgi_no_memory(err);
        for (int64_t i = 0; i < classes; i++)
            names[i] = fg_catalog_class_name(like, i);
        options.class_names = names;
        options.class_count = classes;
    }
    fg_status status =
        fg_catalog_open(fg_option_string(values, option), &options, &out->catalog, err);
    fgi_free((void *)names);
    if (status == FG_OK)
        status = choose(out, part, err);
    if (status != FG_OK)
        source_fini(out);
    return status;
}

static fg_status create(const source *s, const fg_option_values *values, bool is_random,
                        fg_dataset **out, fg_error *err)
{
    fg_images_options options = images_options(values, is_random);
    options.splits = s->splits;
    options.split = 1;
    return fg_images_create(s->catalog, &options, out, err);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Validation samples in the training source that nothing uses are probably a mistake. */
static fg_status check_splits(const source *s, const fg_option_values *values, fg_error *err)
{
    fg_catalog_item item;
    const char *val = fg_option_string(values, "val");
    for (int64_t i = 0; (val == NULL || *val == '\0') && i < fg_catalog_count(s->catalog); i++) {
        FGI_TRY(fg_catalog_get(s->catalog, i, &item, err));
        if (item.split == FG_VAL)
            return fg_option_fail(values, "train", FG_EINVAL, err,
                                  "'%s' also contains validation samples\nset data.val to the same "
                                  "path to use them",
                                  fg_option_string(values, "train"));
    }
    return FG_OK;
}

/* Holds out rows as fg_dataset_split does. */
static fg_status hold_out(const fg_format_request *request, fg_dataset *cropped_at_random,
                          fg_dataset *cropped_in_middle, fg_format_data *out, fg_error *err)
{
    const int64_t count = fg_dataset_count(cropped_at_random);
    int64_t *rows;
    size_t val_count;
    FGI_TRY(
        fgi_split_rows(count, request->val_fraction, request->split_seed, &rows, &val_count, err));
    fg_status status = fg_dataset_subset(cropped_in_middle, rows, val_count, &out->val, err);
    if (status == FG_OK)
        status = fg_dataset_subset(cropped_at_random, rows + val_count, (size_t)count - val_count,
                                   &out->samples, err);
    fgi_free(rows);
    return status;
}

static fg_status split_train(const source *s, const fg_option_values *values,
                             const fg_format_request *request, bool is_random, fg_format_data *out,
                             fg_error *err)
{
    fg_dataset *varied = NULL, *middle = NULL;
    fg_status status = create(s, values, is_random, &varied, err);
    if (status == FG_OK)
        status = create(s, values, false, &middle, err);
    if (status == FG_OK)
        status = hold_out(request, varied, middle, out, err);
    fg_dataset_destroy(varied);
    fg_dataset_destroy(middle);
    return status;
}

/* Validation samples in a separate source have the classes of the training samples. */
static fg_status open_val(const source *train, const fg_option_values *values, fg_format_data *out,
                          fg_error *err)
{
    source val;
    const char *path = fg_option_string(values, "val");
    if (path == NULL || *path == '\0')
        return FG_OK;
    FGI_TRY(source_open(values, "val", FG_PART_VAL, train->catalog, &val, err));
    const fg_status status = create(&val, values, false, &out->val, err);
    source_fini(&val);
    return status;
}

static fg_status open_train(const fg_option_values *values, const fg_format_request *request,
                            fg_format_data *out, fg_error *err)
{
    source s;
    const bool is_random = strcmp(fg_option_string(values, "crop"), "random") == 0;
    FGI_TRY(source_open(values, "train", FG_PART_TRAIN, NULL, &s, err));
    fg_status status = check_splits(&s, values, err);
    if (status == FG_OK && !request->is_training)
        status = create(&s, values, false, &out->samples, err);
    else if (status == FG_OK && request->val_fraction > 0)
        status = split_train(&s, values, request, is_random, out, err);
    else if (status == FG_OK) {
        status = create(&s, values, is_random, &out->samples, err);
        if (status == FG_OK)
            status = open_val(&s, values, out, err);
    }
    source_fini(&s);
    return status;
}

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    static const char *const option[] = {
        [FG_PART_VAL] = "val", [FG_PART_TEST] = "test", [FG_PART_PREDICT] = "predict"};
    source s;
    FGI_TRY(check_pair(values, "crop_scale", err));
    FGI_TRY(check_pair(values, "crop_ratio", err));
    if (request->part == FG_PART_TRAIN)
        return open_train(values, request, out, err);
    FGI_TRY(source_open(values, option[request->part], request->part, NULL, &s, err));
    const fg_status status = create(&s, values, false, &out->samples, err);
    source_fini(&s);
    return status;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "train",
     .kind = FG_OPTION_STRING,
     .example = "photos/train",
     .help = "The training images: a folder with one folder per class, a list (.csv or .jsonl), or "
             "tar (WebDataset) or TFRecord files."},
    {.name = "val",
     .kind = FG_OPTION_STRING,
     .example = "data/val.csv",
     .help = "Validation samples."},
    {.name = "test",
     .kind = FG_OPTION_STRING,
     .example = "data/test.csv",
     .help = "Test samples for `test` and `predict`. Default: the validation samples."},
    FGI_OPTION_PREDICT,
    {.name = "source",
     .kind = FG_OPTION_CHOICE,
     .initial = "auto",
     .choices = "auto|folder|csv|jsonl|tar|tfrecord",
     .example = "tar",
     .help = "Kind of the files. auto: recognized by their names."},
    {.name = "size",
     .kind = FG_OPTION_INT,
     .initial = "224",
     .min = 1,
     .max = 65536,
     .example = "160",
     .help = "Height and width of the samples, in pixels."},
    {.name = "channels",
     .kind = FG_OPTION_INT,
     .initial = "3",
     .min = 1,
     .max = 3,
     .example = "1",
     .help = "1: gray, 3: RGB."},
    {.name = "crop",
     .kind = FG_OPTION_CHOICE,
     .initial = "random",
     .choices = "random|center",
     .example = "center",
     .help = "How training images are cropped. random: a box with a random area and aspect ratio "
             "(RandomResizedCrop). center: like validation images."},
    {.name = "crop_scale",
     .kind = FG_OPTION_FLOATS,
     .initial = "[0.08, 1]",
     .min = 1e-6,
     .max = 1,
     .example = "[0.25, 1]",
     .help = "Range of the area of random boxes, as a fraction of the "
             "image."},
    {.name = "crop_ratio",
     .kind = FG_OPTION_FLOATS,
     .initial = "[0.75, 1.3333333333333333]",
     .min = 1e-3,
     .max = 1e3,
     .example = "[1, 1]",
     .help = "Range of width / height of random boxes."},
    {.name = "flip",
     .kind = FG_OPTION_FLOAT,
     .initial = "0.5",
     .min = 0,
     .max = 1,
     .example = "0",
     .help = "Probability that a training image is mirrored horizontally, with crop random."},
    {.name = "crop_seed",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .min = 0,
     .max = FG_OPTION_UNLIMITED,
     .example = "1",
     .help = "Seed of random boxes and flips."},
    {.name = "center_fraction",
     .kind = FG_OPTION_FLOAT,
     .initial = "0.875",
     .min = 1e-3,
     .max = 1,
     .example = "1",
     .help = "Size of the box in the middle of an image, as a fraction of the largest square."},
};

const fg_format_entry fgi_images_row = {
    .entry = {.name = "images",
              .help = "image files: folders, lists, tar, TFRecord",
              .spellings = "imagefolder|image_folder|webdataset|tfrecord",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .files = {.train = "train", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "size|channels",
    .open = open_part};
