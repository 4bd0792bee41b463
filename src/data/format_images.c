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

typedef struct images {
    fgi_crop crop;
    fg_catalog_options catalog;
    fg_string_map source_options;
    enum { CHECK_AUTO, CHECK_ALL, CHECK_DECODE, CHECK_NEVER } check;
} images;

/* ---- sources --------------------------------------------------------------------------------- */

/* A source, and the samples of one part of it. */
typedef struct source {
    const images *own;
    const fg_format_request *request;
    fg_catalog *catalog;
    uint8_t *splits; /* 1: the sample belongs to the part */
    bool is_multilabel;
    fgi_image_listener listener;
} source;

static void source_close(void *self)
{
    source *s = self;
    fg_catalog_close(s->catalog);
    fgi_free(s->splits);
}

/* Of a source without splits, all samples; else those of the part's split. */
static fg_status choose(source *s, bool *out_has_val, fg_error *err)
{
    static const uint8_t split_of[] = {[FG_PART_TRAIN] = FG_TRAIN,
                                       [FG_PART_VAL] = FG_VAL,
                                       [FG_PART_TEST] = FG_TEST,
                                       [FG_PART_PREDICT] = FG_CATALOG_NO_SPLIT};
    const fg_data_part part = s->request->part;
    const int64_t count = fg_catalog_count(s->catalog);
    fg_catalog_item item;
    int64_t chosen = 0;
    bool has_splits = false;
    s->splits = fgi_calloc((size_t)count, 1);
    if (s->splits == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, i, &item, err));
        s->splits[i] = item.split == split_of[part];
        chosen += s->splits[i];
        *out_has_val = *out_has_val || item.split == FG_VAL;
        has_splits = has_splits || item.split != FG_CATALOG_NO_SPLIT;
    }
    if (has_splits && part != FG_PART_PREDICT)
        return fgi_crop_check_count(s->catalog->path, part, chosen, err);
    memset(s->splits, 1, (size_t)count);
    return FG_OK;
}

/* Whether the task is to predict several labels per sample: as the request says, or else because
 * samples have several. */
static fg_status look_at_labels(source *s, fg_error *err)
{
    fg_catalog_item item;
    int64_t several = 0;
    for (int64_t i = 0; s->request->needs_target && i < fg_catalog_count(s->catalog); i++) {
        FGI_TRY(fg_catalog_item_at(s->catalog, i, &item, err));
        several += s->splits[i] != 0 && item.label_count > 1;
    }
    s->is_multilabel = fgi_crop_is_multilabel(s->request, s->catalog->path,
                                              s->own->catalog.label_columns.count > 0, several);
    return FG_OK;
}

static bool is_pack(const char *path) { return fgi_ends_with(path, ".pack"); }

/* Strings that are empty are not given. */
static void drop_empty(fg_catalog_options *o)
{
    const char **const strings[] = {&o->root,         &o->suffix,        &o->path_column,
                                    &o->label_column, &o->labels_column, &o->label_separator,
                                    &o->split_column, &o->group_column};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (*strings[i] != NULL && **strings[i] == '\0')
            *strings[i] = NULL;
}

/* An option of the source that is a key too can only be given once. */
static fg_status check_once(const fg_option_values *values, const fg_string_map *map, fg_error *err)
{
    for (size_t i = 0; i < map->count; i++)
        if (fg_option_count(values, map->at[i].key) > 0)
            return fg_option_fail(values, map->at[i].key, FG_EINVAL, err,
                                  "it is also in data.source_options: set only one of them");
    return FG_OK;
}

/* Opens the catalog with the classes of the request. Folders of new images, whose targets are not
 * needed, are not classes. */
static fg_status open_catalog(source *s, const char *path, fg_error *err)
{
    const fg_format_request *r = s->request;
    const bool is_new = r->part == FG_PART_PREDICT && !r->needs_target;
    fg_catalog_options options = s->own->catalog;
    const fg_string_map *map = &s->own->source_options;
    void *texts = NULL;
    fg_error why;
    drop_empty(&options);
    options.class_names = r->class_names;
    options.class_count = r->class_count;
    options.no_classes = options.keep_missing = options.no_split_folders = is_new;
    options.skip_missing = !is_new && s->own->crop.damaged == FGI_DAMAGED_SKIP;
    fg_status status = fgi_catalog_options_read(NULL, map, &options, &texts, &why);
    if (status != FG_OK)
        return fg_option_fail(r->values, "source_options", status, err, "%s", why.message);
    status = check_once(r->values, map, err);
    if (status == FG_OK)
        status = fg_catalog_open(path, &options, &s->catalog, err);
    fgi_free(texts);
    return status;
}

/* Opens the source of the request's part. */
static fg_status source_open(void *self, const void *own, const fg_format_request *request,
                             bool *out_has_val, fg_error *err)
{
    source *out = self;
    const char *path = ((const images *)own)->crop.paths[request->part];
    *out = (source){.own = own,
                    .request = request,
                    .listener = {request->say, request->say_self, request->is_training}};
    fg_status status = open_catalog(out, path, err);
    status = fgi_crop_hint(status, is_pack(path), "to read a pack, set data.format to pack", err);
    if (status == FG_OK && request->needs_target)
        status = fgi_catalog_check_labels(out->catalog, err);
    if (status == FG_OK)
        status = choose(out, out_has_val, err);
    if (status == FG_OK)
        status = look_at_labels(out, err);
    if (status == FG_OK && request->say != NULL)
        status = fg_catalog_describe(out->catalog, request->say, request->say_self, err);
    return status;
}

enum { CHECK_SECONDS = 2 };

static fg_status create(const void *self, bool is_training, bool is_fit, fg_dataset **out,
                        fg_error *err)
{
    const source *s = self;
    const images *own = s->own;
    fg_images_options options = fgi_crop_options(&own->crop, s->request->input, is_training);
    options.splits = s->splits;
    options.split = 1;
    options.no_labels = !s->request->needs_target;
    options.multilabel = s->is_multilabel;
    options.skip_damaged = is_training && own->crop.damaged == FGI_DAMAGED_SKIP;
    options.check = is_fit && own->check != CHECK_NEVER;
    options.check_decodes = own->check == CHECK_DECODE;
    options.check_seconds = own->check == CHECK_ALL ? 0 : CHECK_SECONDS;
    const fg_status status = fgi_images_create(s->catalog, &options, &s->listener, out, err);
    return fgi_crop_hint(
        status, options.check && (status == FG_EFORMAT || status == FG_EUNSUPPORTED),
        is_training ? "remove or repair them, or set data.damaged to skip; 'fulgurite "
                      "pack --check' lists all"
                    : "remove or repair them: validation samples are not skipped",
        err);
}

static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    static const fgi_crop_source files = {sizeof(source), source_open, create, source_close};
    return fgi_crop_open(&files, own, request, out, err);
}

/* ---- the row --------------------------------------------------------------------------------- */

#define LIST_OPTION(name, example, help)                                                           \
    FG_OPTION_AS(#name, images, catalog.name, STRING, NULL, NULL, example, help)

static const fg_option options[] = {
    FGI_OPTION_PATH("train", FG_PART_TRAIN, "photos/train",
                    "The training images: a folder with one folder per class, a list (.csv or "
                    ".jsonl), or tar (WebDataset) or TFRecord files."),
    FGI_OPTION_PATH("val", FG_PART_VAL, "data/val.csv", "Validation samples."),
    FGI_OPTION_PATH("test", FG_PART_TEST, "data/test.csv",
                    "Test samples for `test` and `predict`. Default: the validation samples."),
    FGI_OPTION_PREDICT(fgi_crop),
    FG_OPTION_AS("source", images, catalog.kind, CHOICE, "auto",
                 "auto|folder|csv|jsonl|tar|tfrecord", "tar",
                 "Kind of the files. auto: recognized by their names."),
    LIST_OPTION(root, "data/train_images",
                "Folder of the files of a list. Default: the folder of the list."),
    LIST_OPTION(suffix, ".jpg",
                "Extension that the names in a list lack; it is added to those that do not end in "
                "it."),
    LIST_OPTION(path_column, "image_id",
                "Column of a list with the names of the files. Default: path, or else file_name."),
    LIST_OPTION(label_column, "breed", "Column of a list with the classes. Default: label."),
    LIST_OPTION(labels_column, "tags",
                "Column of a list with several classes per image, as in cat;dog. Default: labels."),
    FG_OPTION_AS("label_columns", images, catalog.label_columns, STRINGS, "[]", NULL, "[cat, dog]",
                 "Columns of a list that are 0 or 1, one for each class: an image may have several "
                 "classes, or none."),
    FGI_OPTION_LABEL_SEPARATOR(images, catalog.label_separator),
    LIST_OPTION(split_column, "part",
                "Column of a list with the split: train, val or test. Default: split."),
    LIST_OPTION(group_column, "patient",
                "Column of a list with the group: images of one group are never divided between "
                "training and validation. Default: group."),
    FG_OPTION(images, source_options, STRING_MAP, "{}", NULL,
              "{path_column: file, label_column: class}",
              "Names in the files. Lists: path_column, name_column, label_column, labels_column, "
              "label_columns, label_separator, split_column, group_column, root, suffix, "
              "delimiter. tar: label_member. TFRecord: "
              "image_feature, label_feature, text_feature, name_feature. Folders: "
              "no_split_folders."),
    FGI_OPTIONS_CROP,
    FGI_OPTION_DAMAGED,
    FG_OPTION_ENUM(images, check, "auto", "auto|all|decode|never", "decode",
                   "Check the beginning and the end of each training and validation file before "
                   "training, to find truncated files. auto: for at most 2 seconds, and print how "
                   "many files were checked if that is not enough for all. all: until all files "
                   "are checked. decode: decode each file once, which also finds damage within a "
                   "file; otherwise, that is only noticed by crops that need this part."),
    FGI_OPTIONS_DECODE,
};

const fg_format_entry fgi_images_row = {
    .entry = {.name = "images",
              .help = "image files: folders, lists, tar, TFRecord",
              .spellings = "imagefolder|image_folder|webdataset|tfrecord",
              FG_OPTIONS(options, images)},
    .files = {.train = "train", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "size|channels",
    .load = load_part};
