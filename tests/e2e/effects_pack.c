/* effects_pack.c - the effects of the keys of packs: a fit on a pack of raw pixels has exactly the
 * losses of the same fit on the same images as files; coefficients that the device decodes; splits;
 * damaged records.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <stdio.h>
#include <sys/stat.h>
#include "photo_pack.h"

static const photo_spec photos = {
    .codec = FG_PACK_RAW_RGB, .count = 9, .classes = 2, .width = 10, .height = 9};

#define LINEAR                                                                                     \
    "--model.name=linear --trainer.batch_size=4 --trainer.max_epochs=3 --trainer.seed=3 "          \
    "--optimizer.name=sgd --optimizer.lr=0.1 "
#define FIT  LINEAR "--data.size=6 "
#define PACK FIT "--data.format=pack --data.train=photos.pack "

#define WHOLE LINEAR "--optimizer.lr=0.01 --data.format=pack --data.train=%s"

/* photos.pack, and the same images as list.csv. */
static void write_photos(const char *folder, bool has_splits)
{
    photo_spec spec = photos;
    char list[1000] = "path,label\n";
    spec.has_splits = has_splits;
    photo_pack_write(fgt_path(folder, "photos.pack"), &spec);
    photo_files_write(fgt_path(folder, "files"), &spec);
    for (int i = 0; i < spec.count; i++) {
        const char *name = photo_name(&spec, i);
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof(list) - used, "files/%s,%c\n", name, name[0]);
    }
    fgt_write(fgt_path(folder, "list.csv"), list, strlen(list));
}

static void same_number(double a, double b)
{
    if (a != b)
        fail_msg("%.17g is not %.17g", a, b);
}

/* The losses of both fits are equal to the last digit, also of samples that are held out. */
static void as_from_files(const effect *e, const char *folder)
{
    write_photos(folder, false);
    const json_t *summary =
        effects_fit(0, folder, FIT "--data.format=images --data.train=list.csv %s", e->arguments);
    const double train = effects_number(summary, "metrics.train_loss");
    const double val = effects_number(summary, "metrics.val_loss");
    summary = effects_fit(0, folder, PACK "%s", e->arguments);
    same_number(effects_number(summary, "metrics.train_loss"), train);
    same_number(effects_number(summary, "metrics.val_loss"), val);
}

/* The same JPEG files as coefficients, which the device decodes whole, and as pixels: the losses
 * are close. */
static void coefficients(const effect *e, const char *folder)
{
    (void)e;
    static const photo_spec jpegs = {.codec = FG_PACK_JPEG,
                                     .is_equal = true,
                                     .count = 9,
                                     .classes = 2,
                                     .width = 16,
                                     .height = 16};
    photo_files_write(fgt_path(folder, "files"), &jpegs);
    (void)program_gives(0, folder, "pack files dct.pack --codec dct --quiet");
    (void)program_gives(0, folder, "pack files raw.pack --codec raw --quiet");
    const double raw = effects_number(
        effects_fit(0, folder, WHOLE, "raw.pack --data.size=16 --data.crop=window --data.flip=0"),
        "metrics.train_loss");
    const double dct =
        effects_number(effects_fit(0, folder, WHOLE, "dct.pack"), "metrics.train_loss");
    fgt_close("loss", dct, raw, 2e-3, 0);
    assert_true(raw > 0.05);
}

/* Changes a byte of the pixels of record 4. */
static void damage(const char *folder)
{
    fg_error err = {0};
    fg_pack *pack;
    fg_pack_entry entry;
    fgt_ok(fg_pack_open(fgt_path(folder, "photos.pack"), NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, 4, &entry, &err));
    fg_pack_close(pack);
    FILE *file = fopen(fgt_path(folder, "photos.pack"), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)entry.offset_bytes + 7, SEEK_SET), 0);
    const int value = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(value ^ 1, file), value ^ 1);
    assert_int_equal(fclose(file), 0);
}

/* The validation samples of the same pack; the checkpoint finds them again, and classifies all
 * samples of the pack. */
static void split(const effect *e, const char *folder)
{
    char line[64];
    write_photos(folder, true);
    const json_t *summary = effects_fit(0, folder, PACK "%s", e->arguments);
    (void)snprintf(line, sizeof(line), "val_loss\t%.6g\n",
                   effects_number(summary, "metrics.val_loss"));
    contains(program_gives(0, folder, "validate run --quiet")->out, line);
    (void)program_gives(0, folder, "predict run --quiet --data.predict=photos.pack -o p.csv");
    int lines = 0;
    for (const char *at = file_text(folder, "p.csv"); *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, photos.count + 1); /* with the header */
    contains(file_text(folder, "p.csv"), "index,name,prediction,p_a,p_b,error\n0,a/photo 000.png,");
    contains(file_text(folder, "p.csv"), "\n3,b/photo 003.png,");
    /* The files are recognized, and are what the pack has. */
    contains(program_gives(0, folder, "predict run files -o f.csv")->err,
             "note: 'files' is read as data.format images, not as pack, which the model was "
             "trained on\n");
    assert_int_equal(shell(folder, "cut -d, -f2- p.csv | sort > p && cut -d, -f2- f.csv | sort | "
                                   "cmp - p"),
                     0);
    contains(program_gives(0, folder, "predict run 'files/b/photo 003.png' -q")->out,
             "\n0,photo 003.png,");
    contains(program_gives(2, folder, "predict files")->err,
             "if it is data, name the model first: fulgurite predict last files");
    contains(program_gives(2, folder, "predict photos.pack")->err,
             "fulgurite predict last photos.pack uses the newest run in 'runs'");
    damage(folder);
    contains(program_gives(1, folder, "predict run photos.pack -q -o p.csv")->err,
             "record 4 ('a/photo 004.png') is damaged");
    assert_int_equal(shell(folder, "grep -c \"^4,a/photo 004.png,,,,.*is damaged\" p.csv && "
                                   "test $(wc -l < p.csv) = 10"),
                     0);
}

/* The record is named: as an error, or as a warning after a complete fit. */
static void damaged(const effect *e, const char *folder)
{
    char command[600];
    write_photos(folder, false);
    damage(folder);
    (void)snprintf(command, sizeof(command), "fit " PACK "%s", e->arguments);
    contains(program_gives(e->status, folder, command)->err, e->says);
}

/* An error with the exit status and the text of the row. */
static void refused(const effect *e, const char *folder)
{
    write_photos(folder, true);
    photo_spec other = photos;
    other.classes = 3;
    photo_pack_write(fgt_path(folder, "other.pack"), &other);
    const json_t *summary = effects_fit(e->status, folder, PACK "%s", e->arguments);
    contains(json_string_value(json_object_get(summary, "error")), e->says);
}

/* The same with other.pack, whose only sample is a training sample. */
static void refused_split(const effect *e, const char *folder)
{
    photo_spec one = photos;
    write_photos(folder, true);
    one.count = 1;
    one.has_splits = true;
    photo_pack_write(fgt_path(folder, "other.pack"), &one);
    const json_t *summary = effects_fit(e->status, folder, PACK "%s", e->arguments);
    contains(json_string_value(json_object_get(summary, "error")), e->says);
}

const effect effects_pack[] = {
    {"data.train", "--data.val_fraction=0.34", as_from_files},
    {"data.format", "--data.format=pack", coefficients},
    {"data.crop", "--data.crop=window --data.val_fraction=0.34", as_from_files},
    {"data.preload", "--data.preload=1 --data.val_fraction=0.34", as_from_files},
    {"data.val", "--data.val=photos.pack", split},
    {"data.train", "", refused, .status = 2,
     .says = "data.train: 'photos.pack' also contains validation samples"},
    {"data.val", "--data.val=other.pack", refused, .status = 1,
     .says =
         "other.pack: record 2 ('c/photo 002.png') has the class 'c': expected one of 'a' and 'b'"},
    {"data.val", "--data.val=other.pack", refused_split, .status = 2,
     .says = "'other.pack' has samples of other splits, but none of split val"},
    {"data.val", "--data.val=files", refused, .status = 1,
     .says = "the folder 'files' has no file '*.pack'\nto read image files, set data.format to "
             "images"},
    {"data.damaged", "", damaged, .status = 1, .says = "record 4 ('a/photo 004.png') is damaged"},
    {"data.damaged", "--data.damaged=skip", damaged,
     .says = "1 damaged training sample was replaced by another: photos.pack: byte "},
    {"data.damaged", "--data.damaged=skip --data.val_fraction=0.8", damaged, .status = 1,
     .says = "record 4 ('a/photo 004.png') is damaged"},
    {NULL},
};
