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
#include "base/text.h"
#include "catalog/catalog_options.h"
#include "catalog/draft.h"
#include "data/format_crop.h"
#include "data/image_check.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* A source, and the samples of one part of it. */
typedef struct source {
    fg_catalog *catalog;
    uint8_t *splits; /* 1: the sample belongs to the part */
    bool needs_target;
    const fg_type *input;
    fgi_image_listener listener;
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
    int64_t chosen = 0;
    bool has_splits = false;
    s->splits = fgi_calloc((size_t)count, 1);
    if (s->splits == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        FGI_TRY(fg_catalog_get(s->catalog, i, &item, err));
        s->splits[i] = item.split == split_of[part];
        chosen += s->splits[i];
        has_splits = has_splits || item.split != FG_CATALOG_NO_SPLIT;
    }
    if (has_splits && part != FG_PART_PREDICT)
        return fgi_crop_check_count(s->catalog->path, part, chosen, err);
    memset(s->splits, 1, (size_t)count);
    return FG_OK;
}

static fg_status warn_of_labels(const source *s, const fg_format_request *request, fg_error *err)
{
    fg_catalog_item item;
    int64_t several = 0;
    for (int64_t i = 0; s->needs_target && i < fg_catalog_count(s->catalog); i++) {
        FGI_TRY(fg_catalog_get(s->catalog, i, &item, err));
        several += s->splits[i] != 0 && item.label_count > 1;
    }
    fgi_crop_warn_labels(request, s->catalog->path, several);
    return FG_OK;
}

static bool is_pack(const char *path) { return fgi_ends_with(path, ".pack"); }

static bool has_text(const fg_option_values *values, const char *name)
{
    const char *text = fg_option_string(values, name);
    return text != NULL && *text != '\0';
}

/* Opens a catalog with the options of the configuration, which go before those that are given. */
static fg_status open_catalog(const fg_option_values *values, const char *path,
                              fg_catalog_options *options, fg_catalog **out, fg_error *err)
{
    static const char *const names[] = {"root",         "suffix",       "path_column",
                                        "label_column", "split_column", "group_column"};
    fg_error why;
    fg_option_values *of_source = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (has_text(values, names[i]))
            fgi_catalog_option_set(options, names[i], fg_option_string(values, names[i]));
    fg_status status = fgi_catalog_options_read(fg_option_string(values, "source_options"), options,
                                                &of_source, &why);
    if (status != FG_OK)
        return fg_option_fail(values, "source_options", status, err, "%s", why.message);
    for (size_t i = 0; status == FG_OK && i < sizeof names / sizeof names[0]; i++)
        if (has_text(values, names[i]) && has_text(of_source, names[i]))
            status = fg_option_fail(values, names[i], FG_EINVAL, err,
                                    "it is also in data.source_options: set only one of them");
    if (status == FG_OK)
        status = fg_catalog_open(path, options, out, err);
    fg_option_values_destroy(of_source);
    return status;
}

/* Opens the source that the option names, with the classes of the request. Folders of new images,
 * whose targets are not needed, are not classes. */
static fg_status source_open(const fg_option_values *values, const char *option,
                             const fg_format_request *request, source *out, fg_error *err)
{
    const bool is_new = request->part == FG_PART_PREDICT && !request->needs_target;
    fg_catalog_options options = {.kind = fg_option_string(values, "source"),
                                  .class_names = request->class_names,
                                  .class_count = request->class_count,
                                  .no_classes = is_new,
                                  .keep_missing = is_new,
                                  .skip_missing = !is_new && fgi_crop_skips(values),
                                  .no_split_folders = is_new};
    *out = (source){.needs_target = request->needs_target,
                    .input = request->input,
                    .listener = {request->say, request->say_self, request->is_training}};
    fg_status status =
        open_catalog(values, fg_option_string(values, option), &options, &out->catalog, err);
    status = fgi_crop_hint(status, is_pack(fg_option_string(values, option)),
                           "to read a pack, set data.format to pack", err);
    if (status == FG_OK && out->needs_target)
        status = fgi_catalog_check_labels(out->catalog, err);
    if (status == FG_OK)
        status = choose(out, request->part, err);
    if (status == FG_OK)
        status = warn_of_labels(out, request, err);
    if (status == FG_OK && request->say != NULL)
        status = fg_catalog_describe(out->catalog, request->say, request->say_self, err);
    if (status != FG_OK)
        source_fini(out);
    return status;
}

enum { CHECK_SECONDS = 2 };

static void set_check(const fg_option_values *values, bool is_checked, fg_images_options *options)
{
    const char *check = fg_option_string(values, "check");
    options->check = is_checked && strcmp(check, "never") != 0;
    options->check_decodes = strcmp(check, "decode") == 0;
    options->check_seconds = strcmp(check, "all") == 0 ? 0 : CHECK_SECONDS;
}

/* is_checked: for a fit, before which the files are checked. */
static fg_status create(const source *s, const fg_option_values *values, bool is_training,
                        bool is_checked, fg_dataset **out, fg_error *err)
{
    fg_images_options options = fgi_crop_options(values, s->input, is_training);
    options.splits = s->splits;
    options.split = 1;
    options.no_labels = !s->needs_target;
    options.skip_damaged = is_training && fgi_crop_skips(values);
    set_check(values, is_checked, &options);
    const fg_status status = fgi_images_create(s->catalog, &options, &s->listener, out, err);
    return fgi_crop_hint(
        status, options.check && (status == FG_EFORMAT || status == FG_EUNSUPPORTED),
        is_training ? "remove or repair them, or set data.damaged to skip; 'fulgurite "
                      "pack --check' lists all"
                    : "remove or repair them: validation samples are not skipped",
        err);
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

static fg_status split_train(const source *s, const fg_option_values *values,
                             const fg_format_request *request, fg_format_data *out, fg_error *err)
{
    fg_dataset *varied = NULL, *middle = NULL;
    fg_status status = create(s, values, true, true, &varied, err);
    if (status == FG_OK)
        status = create(s, values, false, false, &middle, err);
    if (status == FG_OK)
        status = fgi_crop_hold_out(request, varied, middle, out, err);
    fg_dataset_destroy(varied);
    fg_dataset_destroy(middle);
    return status;
}

/* Validation samples in a separate source have the classes of the training samples. */
static fg_status open_val(const fg_option_values *values, const fg_format_request *request,
                          fg_format_data *out, fg_error *err)
{
    source val;
    const fg_format_request of_val = fgi_crop_val_request(request, out->samples);
    const char *path = fg_option_string(values, "val");
    if (path == NULL || *path == '\0')
        return FG_OK;
    FGI_TRY(source_open(values, "val", &of_val, &val, err));
    const fg_status status = create(&val, values, false, true, &out->val, err);
    source_fini(&val);
    return status;
}

static fg_status open_train(const source *s, const fg_option_values *values,
                            const fg_format_request *request, fg_format_data *out, fg_error *err)
{
    FGI_TRY(check_splits(s, values, err));
    if (!request->is_training)
        return create(s, values, false, false, &out->samples, err);
    if (request->val_fraction > 0)
        return split_train(s, values, request, out, err);
    FGI_TRY(create(s, values, true, true, &out->samples, err));
    return open_val(values, request, out, err);
}

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    static const char *const option[] = {[FG_PART_TRAIN] = "train",
                                         [FG_PART_VAL] = "val",
                                         [FG_PART_TEST] = "test",
                                         [FG_PART_PREDICT] = "predict"};
    source s;
    FGI_TRY(fgi_crop_check(values, err));
    FGI_TRY(source_open(values, option[request->part], request, &s, err));
    const fg_status status = request->part == FG_PART_TRAIN
                                 ? open_train(&s, values, request, out, err)
                                 : create(&s, values, false, false, &out->samples, err);
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
     .range = "auto|folder|csv|jsonl|tar|tfrecord",
     .example = "tar",
     .help = "Kind of the files. auto: recognized by their names."},
    {.name = "root",
     .kind = FG_OPTION_STRING,
     .example = "data/train_images",
     .help = "Folder of the files of a list. Default: the folder of the list."},
    {.name = "suffix",
     .kind = FG_OPTION_STRING,
     .example = ".jpg",
     .help = "Extension that the names in a list lack; it is added to those that do not end in "
             "it."},
    {.name = "path_column",
     .kind = FG_OPTION_STRING,
     .example = "image_id",
     .help = "Column of a list with the names of the files. Default: path, or else file_name."},
    {.name = "label_column",
     .kind = FG_OPTION_STRING,
     .example = "breed",
     .help = "Column of a list with the classes. Default: label."},
    {.name = "split_column",
     .kind = FG_OPTION_STRING,
     .example = "part",
     .help = "Column of a list with the split: train, val or test. Default: split."},
    {.name = "group_column",
     .kind = FG_OPTION_STRING,
     .example = "patient",
     .help = "Column of a list with the group: images of one group are never divided between "
             "training and validation. Default: group."},
    {.name = "source_options",
     .kind = FG_OPTION_STRING,
     .example = "path_column=file,label_column=class",
     .help = "Names in the files. Lists: path_column, name_column, label_column, labels_column, "
             "split_column, group_column, root, suffix, delimiter. tar: label_member. TFRecord: "
             "image_feature, label_feature, text_feature, name_feature. Folders: "
             "no_split_folders."},
    FGI_OPTIONS_CROP,
    FGI_OPTION_DAMAGED,
    FGI_OPTION_CHECK,
    FGI_OPTIONS_DECODE,
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
