/* effects_images.c - the effects of the keys of image files: with constant weights, the losses of a
 * fit are those of the samples that the library's dataset has with the same options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <fulgurite/images.h>
#include <stdio.h>
#include <sys/stat.h>
#include "image_files.h"

enum { MOST_FEATURES = REFERENCE_MAX_FEATURES };

static void put(const char *folder, const char *name, const char *image)
{
    fgt_file file = fgt_file_read(image);
    fgt_write(fgt_path(folder, name), file.data, file.size);
    fgt_file_free(&file);
}

/* Two classes in photos/, and one image in other/, of the second class. */
static void write_photos(const char *folder)
{
    static const char *const folders[] = {"photos", "photos/cat", "photos/dog", "other",
                                          "other/dog"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        (void)mkdir(fgt_path(folder, folders[i]), 0755);
    put(folder, "photos/cat/1.jpg", "baseline.jpg");
    put(folder, "photos/cat/2.jpg", "orient6.jpg");
    put(folder, "photos/dog/3.jpg", "large.jpg");
    put(folder, "other/dog/4.jpg", "baseline.jpg");
    static const char list[] = "path,label,split\nphotos/cat/1.jpg,cat,test\n";
    fgt_write(fgt_path(folder, "splits.csv"), list, sizeof(list) - 1);
    static const char named[] = "file;class\nphotos/cat/1.jpg;cat\nphotos/cat/2.jpg;cat\n"
                                "photos/dog/3.jpg;dog\n";
    fgt_write(fgt_path(folder, "named.csv"), named, sizeof(named) - 1);
    static const char ids[] = "image_id,kind,part,patient\ncat/1,cat,train,p\n"
                              "cat/2.jpg,cat,train,p\ndog/3,dog,val,p\n";
    fgt_write(fgt_path(folder, "ids.csv"), ids, sizeof(ids) - 1);
}

/* The samples of a folder, from 0 to 1, in the first epoch. */
static reference_data samples(const char *path, const fg_images_options *options)
{
    fg_error err = {0};
    fg_catalog *catalog;
    fg_dataset *dataset;
    uint8_t pixels[MOST_FEATURES];
    int32_t label;
    static const char *const names[] = {"cat", "dog"};
    const fg_catalog_options classes = {.class_names = names, .class_count = 2};
    fgt_ok(fg_catalog_open(path, &classes, &catalog, &err));
    fgt_ok(fg_images_create(catalog, options, &dataset, &err));
    const int features = (int)fg_type_bytes(&fg_dataset_field(dataset, 0)->type);
    reference_data data = {.rows = (int)fg_dataset_count(dataset), .features = features};
    assert_in_range(features, 1, MOST_FEATURES);
    for (int i = 0; i < data.rows; i++) {
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){pixels, &label}, &err));
        data.label[i] = label;
        for (int k = 0; k < features; k++)
            data.x[i][k] = pixels[k] / 255.0;
    }
    fg_dataset_destroy(dataset);
    fg_catalog_close(catalog);
    return data;
}

/* The options that the arguments of a row set, by its `count`. */
static const fg_images_options expected[] = {
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_CENTER},
    {.height = 1, .width = 1, .channels = 1, .crop = FG_IMAGE_CROP_CENTER},
    {.height = 1, .width = 1, .channels = 3, .crop = FG_IMAGE_CROP_CENTER},
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_RANDOM},
    {.height = 2,
     .width = 2,
     .channels = 1,
     .crop = FG_IMAGE_CROP_RANDOM,
     .scale_min = 0.3,
     .scale_max = 0.4},
    {.height = 2,
     .width = 2,
     .channels = 1,
     .crop = FG_IMAGE_CROP_RANDOM,
     .ratio_min = 2,
     .ratio_max = 3},
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_RANDOM, .flip_probability = 1},
    {.height = 2,
     .width = 2,
     .channels = 1,
     .crop = FG_IMAGE_CROP_RANDOM,
     .flip_probability = FG_ZERO},
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_RANDOM, .seed = 9},
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_CENTER, .center_fraction = 0.5},
    {.height = 2, .width = 2, .channels = 1, .crop = FG_IMAGE_CROP_WINDOW},
};

#define PHOTOS                                                                                     \
    "--data.format=images --data.train=photos --model.name=linear --model.classes=3 "              \
    "--model.weights=w.safetensors --trainer.batch_size=2 " EFFECTS_STILL
#define GRAY "--data.size=2 --data.channels=1 "

#define MIDDLE GRAY "--data.crop=center --data.center_fraction=0.3 "

#define IDS                                                                                        \
    "--data.train=ids.csv --data.root=photos --data.suffix=.jpg --data.path_column=image_id "      \
    "--data.label_column=kind "

/* Losses of training by expected[count], and of validation on other/, cropped in the middle. */
static void losses(const effect *e, const char *folder)
{
    fg_images_options options = expected[e->count];
    write_photos(folder);
    const reference_data train = samples(fgt_path(folder, "photos"), &options);
    options.crop = FG_IMAGE_CROP_CENTER;
    const reference_data val = samples(fgt_path(folder, "other"), &options);
    const reference_model model = reference_start(train.features);
    reference_save(&model, train.features, fgt_path(folder, "w.safetensors"));
    const json_t *summary = effects_fit(0, folder, PHOTOS "--data.val=other %s", e->arguments);
    fgt_close(e->arguments, effects_number(summary, "metrics.train_loss"),
              reference_loss(&model, &train, 0, train.rows), 0, 2e-6);
    fgt_close(e->arguments, effects_number(summary, "metrics.val_loss"),
              reference_loss(&model, &val, 0, val.rows), 0, 2e-6);
}

/* Samples that are held out of the training samples are cropped in the middle: the loss of one of
 * three is the loss that one of them has. The checkpoint finds the same sample again. */
static void held_out(const effect *e, const char *folder)
{
    char line[64];
    bool is_found = false;
    write_photos(folder);
    const reference_data all = samples(fgt_path(folder, "photos"), &expected[0]);
    const reference_model model = reference_start(all.features);
    reference_save(&model, all.features, fgt_path(folder, "w.safetensors"));
    const json_t *summary = effects_fit(0, folder, PHOTOS "%s", e->arguments);
    const double loss = effects_number(summary, "metrics.val_loss");
    for (int i = 0; i < all.rows; i++) {
        const double one = reference_loss(&model, &all, i, 1);
        is_found = is_found || (loss > one * (1 - 2e-6) && loss < one * (1 + 2e-6));
    }
    assert_true(is_found);
    (void)snprintf(line, sizeof(line), "val_loss\t%.6g\n", loss);
    contains(program_gives(0, folder, "validate run --quiet")->out, line);
}

/* The validation samples lack a class of the model: their losses are those of the fit. A class that
 * the model does not have is an error of everything but `predict`, which needs no classes. */
static void other_classes(const effect *e, const char *folder)
{
    char line[64];
    write_photos(folder);
    const reference_data val = samples(fgt_path(folder, "other"), &expected[0]);
    const reference_model model = reference_start(val.features);
    reference_save(&model, val.features, fgt_path(folder, "w.safetensors"));
    const json_t *summary = effects_fit(0, folder, PHOTOS "%s", e->arguments);
    const double loss = reference_loss(&model, &val, 0, val.rows);
    fgt_close("val_loss", effects_number(summary, "metrics.val_loss"), loss, 0, 2e-6);
    (void)snprintf(line, sizeof(line), "val_loss\t%.6g\n",
                   effects_number(summary, "metrics.val_loss"));
    contains(program_gives(0, folder, "validate run --quiet")->out, line);
    assert_int_equal(mkdir(fgt_path(folder, "other/zebra"), 0755), 0);
    put(folder, "other/zebra/5.jpg", "orient6.jpg");
    put(folder, "other/loose.jpg", "large.jpg");
    contains(program_gives(1, folder, "validate run")->err,
             "'other': sample 'zebra/5.jpg' has the class 'zebra': expected one of 'cat' and "
             "'dog'");
    (void)program_gives(0, folder, "predict run --quiet --data.predict=other -o p.csv");
    contains(file_text(folder, "p.csv"), "\n0,dog/4.jpg,");
    contains(file_text(folder, "p.csv"), "\n1,loose.jpg,");
    contains(file_text(folder, "p.csv"), "\n2,zebra/5.jpg,");
    /* One bad file does not affect the other rows, which keep their order. */
    assert_int_equal(shell(folder, "mkdir other/ape && head -c 150 other/loose.jpg > "
                                   "other/ape/7.jpg"),
                     0);
    assert_int_equal(shell(folder, "cp p.csv before.csv"), 0);
    contains(program_gives(1, folder, "predict run --quiet --data.predict=other -o p.csv")->err,
             "fulgurite predict: 1 sample could not be read; the first one: 'other': ape/7.jpg: ");
    assert_int_equal(shell(folder, "grep -Eq '^[0-9],ape/7.jpg,,,,.*other.: ape/7.jpg: ' p.csv && "
                                   "grep -v ape/ p.csv | cut -d, -f2- > good.csv && "
                                   "cut -d, -f2- before.csv | cmp - good.csv"),
                     0);
    assert_int_equal(shell(folder, "mkdir other/zoo && cp other/ape/7.jpg other/zoo/8.jpg"), 0);
    contains(
        program_gives(0, folder, "predict run --allow-damaged --data.predict=other --out=p.npy")
            ->err,
        "warning: 2 samples could not be read; the first one: 'other': ape/7.jpg: ");
    contains(program_gives(1, folder, "predict run other/ape -q --out=p.json")->err, "1 sample");
    contains(file_text(folder, "p.json"),
             "[\n{\"index\": 0, \"name\": \"7.jpg\", \"prediction\": null, \"error\": \"");
    fgt_write(fgt_path(folder, "table.csv"), "a,b\n1,2\n", 8);
    contains(program_gives(1, folder, "predict run table.csv")->err,
             "there is no column 'path'\nthe model was trained on images: expected image files, a "
             "folder of them, or a list "
             "with a column of their paths: --data.path_column=COLUMN");
    effects_fit(1, folder, PHOTOS "%s", e->arguments);
}

/* An error with the exit status and the text of the row. */
static void refused(const effect *e, const char *folder)
{
    write_photos(folder);
    const json_t *summary = effects_fit(e->status, folder, PHOTOS "%s", e->arguments);
    contains(json_string_value(json_object_get(summary, "error")), e->says);
}

/* The file is named: as an error, or as a warning after a complete fit. `predict` never replaces
 * it. */
static void damaged(const effect *e, const char *folder)
{
    char command[600];
    write_photos(folder);
    const reference_data all = samples(fgt_path(folder, "photos"), &expected[0]);
    const reference_model model = reference_start(all.features);
    reference_save(&model, all.features, fgt_path(folder, "w.safetensors"));
    fgt_write(fgt_path(folder, "photos/cat/2.jpg"), "\xff\xd8\xff nonsense", 12);
    (void)snprintf(command, sizeof(command), "fit " PHOTOS "--trainer.run_dir=run %s",
                   e->arguments);
    contains(program_gives(e->status, folder, command)->err, e->says);
    if (e->status == 0)
        contains(program_gives(1, folder, "predict run -q --data.predict=photos")->err,
                 "cat/2.jpg: ");
}

/* Trains with photos of which one is a large one that is cut, or has a marker that ends the image
 * within it. */
static void fit_large(const effect *e, const char *folder, bool is_cut)
{
    char command[600];
    write_photos(folder);
    const reference_data all = samples(fgt_path(folder, "photos"), &expected[0]);
    const reference_model model = reference_start(all.features);
    reference_save(&model, all.features, fgt_path(folder, "w.safetensors"));
    fgt_file file = fgt_file_read("large.jpg");
    const size_t end = file.size - file.size / 20;
    memcpy(file.data + end, "\xff\xd9", 2);
    fgt_write(fgt_path(folder, "photos/cat/2.jpg"), file.data, is_cut ? end : file.size);
    fgt_file_free(&file);
    (void)snprintf(command, sizeof(command), "fit " PHOTOS "%s", e->arguments);
    contains(program_gives(e->status, folder, command)->err, e->says);
}

/* One file ends before its image does, which a crop in the middle does not need to see. */
static void truncated(const effect *e, const char *folder) { fit_large(e, folder, true); }

/* One file is damaged within, which crops of the middle never notice. */
static void damaged_within(const effect *e, const char *folder) { fit_large(e, folder, false); }

const effect effects_images[] = {
    {"data.train", GRAY "--data.crop=center --data.train=photos", losses, .count = 0},
    {"data.train", GRAY "--data.val_fraction=0.34", held_out},
    {"data.val", GRAY "--data.crop=center --data.val=other", other_classes},
    {"data.source", GRAY "--data.crop=center --data.source=folder", losses, .count = 0},
    {"data.source", GRAY "--data.source=tar", refused, .status = 1, .says = "photos"},
    {"data.source_options",
     GRAY "--data.crop=center --data.train=named.csv "
          "'--data.source_options={path_column: file, label_column: class, delimiter: ;}'",
     losses, .count = 0},
    {"data.source_options", GRAY "'--data.source_options={path: file}'", refused, .status = 2,
     .says = "data.source_options: source: unknown option 'path'"},
    {"data.root", GRAY "--data.crop=center " IDS, losses, .count = 0},
    {"data.suffix", IDS "--data.suffix=.png", refused, .status = 1,
     .says = "ids.csv:2: 'cat/1.png' in 'photos': no such file\npaths are relative to root"},
    {"data.path_column", IDS "--data.path_column=file", refused, .status = 1,
     .says = "ids.csv:1: there is no column 'file'\nset the name of the column of the files"},
    {"data.path_column", IDS "'--data.source_options={path_column: file}'", refused, .status = 2,
     .says = "it is also in data.source_options: set only one of them"},
    {"data.label_column", IDS "--data.label_column=label", refused, .status = 1,
     .says = "'ids.csv': no image has a label: expected a column 'label'"},
    {"data.split_column", IDS "--data.split_column=part", refused, .status = 2,
     .says = "'ids.csv' also contains validation samples"},
    {"data.group_column", IDS "--data.group_column=patient --data.val_fraction=0.4", refused,
     .status = 2, .says = "all 3 samples are in one group"},
    {"data.val", GRAY "--data.val=splits.csv", refused, .status = 2,
     .says = "'splits.csv' has samples of other splits, but none of split val"},
    {"data.val", GRAY "--data.val=photos.pack", refused, .status = 1,
     .says = "'photos.pack': No such file or directory\nto read a pack, set data.format to pack"},
    {"data.size", "--data.channels=1 --data.crop=center --data.size=1", losses, .count = 1},
    {"data.channels", "--data.size=1 --data.crop=center --data.channels=3", losses, .count = 2},
    {"data.crop", GRAY "--data.crop=random", losses, .count = 3},
    {"data.crop", GRAY "--data.crop=window", losses, .count = 10},
    {"data.crop_scale", GRAY "--data.crop_scale=[0.3,0.4]", losses, .count = 4},
    {"data.crop_scale", GRAY "--data.crop_scale=[0.4,0.3]", refused, .status = 2,
     .says = "data.crop_scale: expected two ascending numbers"},
    {"data.crop_ratio", GRAY "--data.crop_ratio=[2,3]", losses, .count = 5},
    {"data.crop_ratio", GRAY "--data.crop_ratio=[3,2]", refused, .status = 2,
     .says = "data.crop_ratio: expected two ascending numbers"},
    {"data.flip", GRAY "--data.flip=1", losses, .count = 6},
    {"data.flip", GRAY "--data.flip=0", losses, .count = 7},
    {"data.crop_seed", GRAY "--data.crop_seed=9", losses, .count = 8},
    {"data.damaged", GRAY "--data.damaged=fail", damaged, .status = 1, .says = "cat/2.jpg: "},
    {"data.damaged", GRAY "--data.damaged=skip", damaged,
     .says = "1 damaged training sample was replaced by another: 'photos': cat/2"},
    {"data.check", GRAY "--data.crop=center", truncated, .status = 1,
     .says = ": truncated JPEG: the file ends before the image does\n1 of the 3 "
             "files that were checked is damaged\nremove or repair them, or set data.damaged to "
             "skip"},
    {"data.check", GRAY "--data.crop=center --data.check=all --data.damaged=skip", truncated,
     .says = "1 damaged training sample was replaced by another: 'photos': cat/2"},
    {"data.check", MIDDLE "--data.check=all", damaged_within, .says = "15 parameters in total"},
    {"data.check", MIDDLE "--data.check=decode", damaged_within, .status = 1,
     .says = "1 of the 3 files that were checked is damaged\nremove or repair them, or set "
             "data.damaged to skip"},
    {"data.check", MIDDLE "--data.check=decode --data.damaged=skip", damaged_within,
     .says = "'photos': decoded 3 files: 1 damaged\n"},
    {"data.check", GRAY "--data.crop=center --data.center_fraction=1 --data.check=all",
     damaged_within, .status = 1,
     .says = "\nto find all damaged files before training, set data.check to decode\n"},
    {"data.check", /* the damaged image is held out */
     GRAY "--data.crop=center --data.center_fraction=1 --data.damaged=skip "
          "--data.val_fraction=0.34 --data.split_seed=2",
     damaged_within, .status = 1,
     .says = "\nto find all damaged files before training, set data.check to decode\n"},
    {"data.check", GRAY "--data.crop=center --data.check=never", truncated, .status = 1,
     .says = "15 parameters in total"}, /* only then the file is read */
    {"data.tolerate_corruption", GRAY "--data.crop=center --data.tolerate_corruption=true",
     truncated, .says = "1 image was decoded with warnings; the first one: cat/2.jpg: truncated"},
    {"data.decode_memory", GRAY "--data.crop=center --data.decode_memory=1", losses, .count = 0},
    {"data.center_fraction", GRAY "--data.crop=center --data.center_fraction=0.5", losses,
     .count = 9},
    {NULL},
};
