/* test_init_photos.c - fulgurite init for image files: folders, lists and archives. Requires the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fulgurite/image.h>
#include <fulgurite/pack.h>

static void lacks(const char *whole, const char *text)
{
    if (strstr(whole, text) != NULL)
        fail_msg("'%s' is in:\n%s", text, whole);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    fgt_write(fgt_path(folder, name), text, strlen(text));
}

/* A PNG of one color; the folders of its name are created. */
static void put_photo(const char *folder, const char *name, int64_t width, int64_t height,
                      int channels, int tone)
{
    char path[256];
    fg_image image = {0};
    fg_image_bytes file = {0};
    fg_error err = {0};
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
        (void)mkdir(fgt_path(folder, path), 0755);
    }
    fgt_ok(fg_image_reserve(&image, width, height, channels, &err));
    memset(image.pixels, tone, (size_t)(width * height * channels));
    fgt_ok(fg_image_encode_png(&image, NULL, &file, &err));
    fgt_write(fgt_path(folder, name), file.data, file.size);
    fg_image_bytes_fini(&file);
    fg_image_fini(&image);
}

/* `count` photos folder/class/N.png. */
static void put_class(const char *folder, const char *class, int count, int64_t width,
                      int64_t height, int channels)
{
    char name[256];
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "%s/%d.png", class, i);
        put_photo(folder, name, width, height, channels, 10 * i);
    }
}

static void a_folder_for_each_class(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "photos/cat", 6, 22, 30, 3);
    put_class(folder, "photos/dog", 5, 20, 25, 3);
    put_photo(folder, "photos/my fish/red \xc3\xa9.png", 18, 18, 3, 40);
    write_text(folder, "photos/notes.txt", "taken in May");
    write_text(folder, "photos/dog/new.heic", "");
    write_text(folder, "photos/cat/broken.jpg", "not a JPEG");
    contains(program_gives(0, folder, "init photos/")->err, "\n  fulgurite fit photos.yaml\n");
    contains(program_gives(0, folder, "init photos -o 'my photos.yaml'")->err,
             "wrote my photos.yaml: check the lines marked `check it`, then\n\n"
             "  fulgurite fit 'my photos.yaml' --fast-dev-run\n  fulgurite fit 'my photos.yaml'\n");
    const outcome *o = program_gives(0, folder, "init photos -o -");
    contains(o->out, "# Written by `fulgurite init photos`.");
    contains(o->out, "# detected: 13 training images of 3 classes: cat 7, dog 5, my fish 1\n");
    contains(o->out, "# 13 images were read: the shorter side has 18 to 22 pixels, the median is "
                     "22; a file has ");
    contains(o->out, "# check it: 'photos': skipped 1 .heic file, such as 'dog/new.heic': the "
                     "format is not supported; convert it to JPEG or PNG\n"
                     "# 'photos': skipped 1 file that is not an image: 1 .txt\n");
    contains(o->out, "# check it: 1 of these images cannot be read: 'cat/broken.jpg': ");
    contains(o->out, "\n  name: lenet ");
    contains(o->out, "\n  format: images\n  train: \"photos\"\n  val_fraction: 0.2 ");
    contains(o->out, "\n  size: 22 ");
    contains(o->out, "\n  crop: center ");
    contains(o->out, "\n  mean: [0.485, 0.456, 0.406] ");
    contains(o->out, "  # sampling: balanced ");
    lacks(o->out, "channels:");
    assert_int_equal(remove(fgt_path(folder, "photos/cat/broken.jpg")), 0);
    o = program_gives(
        0, folder,
        "fit photos.yaml --fast-dev-run --draw=never --data.crop=random "
        "'--data.augment=[random_resized_crop: {height: 22, width: 22},random_flip]'");
    contains(o->err, "fast dev run: no error");
    contains(o->err, "warning: 'photos/': skipped 1 .heic file, such as 'dog/new.heic': ");
    contains(o->err, "\n'photos/': skipped 1 file that is not an image: 1 .txt\n");
    contains(o->err, " training samples of 3 classes: cat ");
    contains(o->err, " validation samples: cat ");
    contains(o->err, "warning: data.augment: random_resized_crop crops images that data.crop "
                     "(random) has already cropped at random; to crop once, set "
                     "data.crop=center and data.center_fraction=1\n");
}

/* The same verdict everywhere. */
static void layouts(void **state)
{
    static const char *const commands[] = {
        "init photos", "pack photos photos.pack",
        "fit --task=classification --model.name=linear --data.format=images --data.train=photos"};
    const char *folder = fgt_temp_folder();
    const outcome *o;
    (void)state;
    put_class(folder, "photos/train/a", 2, 20, 20, 3);
    put_class(folder, "photos/train/b", 2, 20, 20, 3);
    put_class(folder, "photos/val/a", 1, 20, 20, 3);
    put_class(folder, "photos/__MACOSX", 1, 20, 20, 3);
    contains(program_gives(0, folder, "init photos -o -")->out,
             "# detected: 4 training images of 2 classes: a 2, b 2\n"
             "# detected: 1 validation image and 0 test images\n");
    contains(program_gives(0, folder, "init photos -o -")->out,
             "# check it: no validation images of class b: validation does not measure it\n");
    contains(program_gives(0, folder, "pack photos a.pack")->err,
             "warning: no validation images of class b: validation does not measure it\n");
    put_class(folder, "photos/test/c", 1, 20, 20, 3); /* no validation measures it, of course */
    o = program_gives(0, folder, "init photos -o -");
    contains(o->out, "# check it: no training images of class c: the model cannot learn it\n");
    contains(o->out,
             "# check it: no validation images of class b: validation does not measure it\n");
    put_class(folder, "photos/extra", 1, 20, 20, 3);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        contains(program_gives(1, folder, commands[i])->err,
                 ": 'photos': 'test', 'train' and 'val' are named as splits, but 'extra' is not\n");
    contains(program_gives(1, folder,
                           "fit --task=classification --model.name=linear --data.format=images "
                           "--data.train=photos/train/a")
                 ->err,
             "'photos/train/a': no image has a label: expected a folder for each class, or a list");
}

/* Folders named as splits may be classes. */
static void words_that_are_splits(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "words/train", 2, 20, 20, 3); /* vehicles */
    put_class(folder, "words/bus", 2, 20, 20, 3);
    contains(program_gives(1, folder, "init words")->err,
             "(--source='{no_split_folders: true}' of fulgurite init and fulgurite pack)\n");
    (void)program_gives(0, folder, "init words --source {no_split_folders:true}");
    contains(file_text(folder, "words.yaml"),
             "# detected: 4 training images of 2 classes: bus 2, train 2\n");
    contains(file_text(folder, "words.yaml"),
             "\n  source_options: {no_split_folders: true} # given by --source\n");
    contains(program_gives(0, folder, "fit words.yaml --fast-dev-run --model.name=linear")->err,
             " training samples of 2 classes: bus ");
    contains(program_gives(0, folder, "pack words w.pack --source '{no_split_folders: true}'")->out,
             "4 records");
    contains(program_gives(1, folder, "init words --source '{no_folders: true}'")->err,
             "no_folders");
    write_text(folder, "t.csv", "a,b\n1,2\n3,4\n");
    contains(program_gives(1, folder, "init t.csv --source '{no_split_folders: true}'")->err,
             "--source: 't.csv' is not a folder or archive of images");
}

static void one_class(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "one/a", 2, 20, 20, 3);
    contains(program_gives(2, folder,
                           "fit --task=classification --model.name=linear --data.format=images "
                           "--data.train=one")
                 ->err,
             "--data.train: all samples are of one class, 'a': a classification needs");
    contains(program_gives(0, folder, "pack one one.pack")->err,
             "warning: all images are of one class, a\n");
    put_class(folder, "two/train/a", 1, 20, 20, 3);
    put_class(folder, "two/val/b", 1, 20, 20, 3);
    const outcome *o = program_gives(0, folder, "pack two two.pack");
    contains(o->err, "no training images of class b: the model cannot learn it\n");
    lacks(o->err, "of one class");
}

static void sizes_and_colors(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "large/a", 2, 400, 300, 3);
    put_class(folder, "large/b", 2, 300, 500, 1);
    const outcome *o = program_gives(0, folder, "init large -o -");
    contains(o->out, "\n  name: resnet18 ");
    contains(o->out, "\n  size: 224 ");
    contains(o->out, "\n  crop: random ");
    lacks(o->out, "stem:");
    lacks(o->out, "channels:");
    lacks(o->out, "sampling:");
    put_class(folder, "gray/a", 3, 64, 70, 1);
    put_class(folder, "gray/b", 3, 64, 64, 1);
    assert_int_equal(
        shell(folder, "cp " FGT_SOURCE_DIR "/tests/golden/image/gray_alpha.png gray/b"), 0);
    o = program_gives(0, folder, "init gray -o -");
    contains(o->out, "\n  stem: small ");
    contains(o->out, "\n  size: 64 ");
    contains(o->out, "\n  channels: 1 ");
    contains(o->out, "\n  mean: [0.449] ");
    (void)program_gives(0, folder, "init gray");
    contains(program_gives(0, folder, "fit gray.yaml --print-config=plain")->out, "channels: 1");
    put_class(folder, "dots/a", 2, 3, 3, 1); /* below the least size of the model */
    put_class(folder, "dots/b", 2, 3, 3, 1);
    contains(program_gives(0, folder, "init dots -o -")->out, "\n  size: 8 ");
    for (int i = 0; i < 13; i++) {
        char class[32];
        (void)snprintf(class, sizeof(class), "many/%02d", i);
        put_class(folder, class, i == 7 ? 3 : 2, 100, 100, 3);
        if (i == 11)
            contains(program_gives(0, folder, "init many -o -")->out, " 06 2, 07 3, 08 2, ");
    }
    o = program_gives(0, folder, "init many -o -");
    contains(o->out, "27 training images of 13 classes: from 2 (00) to 3 (07)\n");
}

/* Large photos are to be stored smaller; many small files in one. */
static void packs_are_suggested(void **state)
{
    char name[64];
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "my photos/train/a", 2, 768, 600, 3);
    put_class(folder, "my photos/train/b", 2, 512, 700, 3);
    put_class(folder, "my photos/val/a", 1, 20, 20, 3);
    const outcome *o = program_gives(0, folder, "init 'my photos' -o -");
    contains(o->out, "# suggested: a pack of smaller images, which decode faster; with a shorter "
                     "side of 256 pixels they have 25 % of the pixels:\n"
                     "#   fulgurite pack 'my photos' 'my photos.pack' --presize short=256\n"
                     "#   fulgurite init 'my photos.pack'\n");
    o = program_gives(0, folder, "init 'my photos/train' -o -");
    contains(o->out, "#   fulgurite pack 'my photos' 'my photos.pack' --presize short=256\n");
    put_class(folder, "it's/a", 1, 768, 600, 3);
    put_class(folder, "it's/b", 1, 768, 600, 3);
    contains(program_gives(0, folder, "init \"it's\" -o -")->out,
             "#   fulgurite pack 'it'\\''s' 'it'\\''s.pack' --presize short=256\n");
    put_class(folder, "mid/a", 1, 370, 370, 3); /* just worth it: less than half the pixels */
    put_class(folder, "mid/b", 1, 360, 370, 3);
    contains(program_gives(0, folder, "init mid -o -")->out, "they have 48 % of the pixels");
    put_class(folder, "mid/a", 2, 355, 360, 3);
    lacks(program_gives(0, folder, "init mid -o -")->out, "suggested");
    put_class(folder, "icons/a", 1, 8, 8, 3);
    put_class(folder, "icons/b", 1, 8, 8, 3);
    lacks(program_gives(0, folder, "init icons -o -")->out, "suggested");
    for (int i = 1; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "icons/a/%d.png", i);
        assert_int_equal(link(fgt_path(folder, "icons/a/0.png"), fgt_path(folder, name)), 0);
    }
    o = program_gives(0, folder, "init icons/ -o -");
    contains(o->out, "# suggested: a pack, because 2001 files are slow to read and copy:\n"
                     "#   fulgurite pack icons/ icons.pack\n#   fulgurite init icons.pack\n");
}

static void splits(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "photos/train/a", 3, 20, 20, 3);
    put_class(folder, "photos/train/b", 3, 20, 20, 3);
    put_class(folder, "photos/valid/a", 1, 20, 20, 3);
    put_class(folder, "photos/valid/b", 1, 20, 20, 3);
    put_class(folder, "photos/test", 2, 20, 20, 3); /* without classes */
    const outcome *o = program_gives(0, folder, "init photos -o -");
    contains(o->out, "# detected: 6 training images of 2 classes: a 3, b 3\n"
                     "# detected: 2 validation images and 2 test images\n");
    contains(o->out, "\n  train: \"photos\"\n  val: \"photos\" ");
    contains(o->out, "\n  predict: \"photos/test\" ");
    lacks(o->out, "val_fraction:");
    lacks(o->out, "  test:");
    o = program_gives(0, folder, "init photos/train/ -o -");
    contains(o->out, "\n  train: \"photos/train/\"\n  val: \"photos/valid\"\n"
                     "  predict: \"photos/test\" ");
    lacks(o->out, "val_fraction:");
    lacks(o->out, "  test:");
    put_class(folder, "test/test/a", 1, 20, 20, 3);
    put_class(folder, "test/test/b", 1, 20, 20, 3);
    contains(program_gives(1, folder, "init test")->err, "'test' has no training images");
    put_class(folder, "test/train/a", 1, 20, 20, 3);
    put_class(folder, "test/train/b", 1, 20, 20, 3);
    o = program_gives(0, folder, "init test/train -o -");
    contains(o->out, "\n  test: \"test/test\"\n");
    lacks(o->out, "  predict:");
}

/* Not all of its files exist: the others are enough. */
static void a_list_may_lack_files(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "images", 2, 20, 20, 3);
    write_text(folder, "gaps.csv", "path,label\nimages/0.png,0\nimages/1.png,1\nimages/9.png,1\n");
    write_text(folder, "gaps.jsonl",
               "{\"path\": \"images/0.png\", \"label\": 0}\n"
               "{\"path\": \"images/1.png\", \"label\": 1}\n"
               "{\"path\": \"images/9.png\", \"label\": 1}\n");
    for (int i = 0; i < 2; i++)
        contains(
            program_gives(0, folder, i == 0 ? "init gaps.csv -o -" : "init gaps.jsonl -o -")->out,
            "\n  damaged: skip                       # check it: not all files of the list "
            "exist\n");
}

static void lists_of_several_labels(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "images", 5, 20, 20, 3);
    write_text(folder, "many.tsv",
               "path\tlabels\nimages/0.png\ta;b\nimages/1.png\tb\nimages/2.png\t\n"
               "images/3.png\ta\n");
    const outcome *o = program_gives(0, folder, "init many.tsv -o -");
    contains(o->out, "# detected: 4 training labels of 2 classes: a 2, b 2\n");
    contains(o->out, "# detected: 1 image has several labels\n\ntask: multilabel\n");
    write_text(folder, "tags.csv",
               "image,tags\nimages/0.png,a b\nimages/1.png,b\nimages/2.png,a\n"
               "images/3.png,b a\nimages/4.png,\n");
    o = program_gives(0, folder, "init tags.csv -o -");
    contains(o->out, "\n  labels_column: \"tags\" ");
    contains(o->out, "\n  label_separator: \" \" ");
    write_text(folder, "hot.csv",
               "image,a,b,n\nimages/0.png,1,1,7\nimages/1.png,0,0,8\nimages/2.png,0,1,9\n");
    o = program_gives(0, folder, "init hot.csv -o -");
    contains(o->out, "\ntask: multilabel\n");
    contains(o->out, "\n  label_columns: [\"a\", \"b\"] ");
}

static void lists_and_archives(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "images", 4, 20, 20, 3);
    write_text(folder, "list.csv",
               "path,label,split\nimages/0.png,a,train\nimages/1.png,b,train\n"
               "images/2.png,a,val\nimages/3.png,b,test\n");
    const outcome *o = program_gives(0, folder, "init list.csv -o -");
    contains(o->out, "# detected: 2 training images of 2 classes: a 1, b 1\n");
    contains(o->out, "\n  train: \"list.csv\"\n  val: \"list.csv\" ");
    contains(o->out, "\n  test: \"list.csv\" ");
    o = program_gives(0, folder, "init . -o -"); /* the list of the images next to it */
    contains(o->out, "\n  train: \"./list.csv\"\n");
    write_text(folder, "list.jsonl",
               "{\"path\": \"images/0.png\", \"label\": 0}\n"
               "{\"path\": \"images/1.png\", \"label\": 1}\n");
    o = program_gives(0, folder, "init list.jsonl -o -");
    contains(o->out, "2 training images of 2 classes: 0 1, 1 1\n");
    contains(o->out, "\n  train: \"list.jsonl\"\n");
    write_text(folder, "other.csv", "image;species;n\nimages/0.png;a;1\nimages/1.png;b;2\n");
    o = program_gives(0, folder, "init other.csv -o -");
    contains(o->out, "\n  path_column: \"image\" ");
    contains(o->out, "\n  label_column: \"species\" ");
    contains(o->out, "\n  source_options: {delimiter: \";\"} ");
    (void)mkdir(fgt_path(folder, "scans"), 0755);
    write_text(folder, "scans/p.pgm", "P2 2 1 9 0 9\n");
    write_text(folder, "scans/q.pgm", "P2 2 1 9 9 0\n");
    write_text(folder, "scan.csv", "image,label\np.pgm,a\nq.pgm,b\n");
    contains(program_gives(0, folder, "init scan.csv -o -")->out, "\n  root: \"scans\" ");
    write_text(folder, "scan.csv", "image,label\np,a\nq,b\n");
    contains(program_gives(0, folder, "init scan.csv -o -")->out, "\n  suffix: \".pgm\" ");
    write_text(folder, "none.csv", "image,species\na.png,a\nb.png,b\n");
    contains(program_gives(1, folder, "init none.csv")->err,
             "'none.csv' lists image files, such as 'a.png' in the column 'image', but they are "
             "neither in its folder nor in one below it\n");
    write_text(folder, "other.csv", "image,species\nimages/0.png,\nimages/1.png,\n");
    contains(program_gives(1, folder, "init other.csv")->err,
             "'other.csv': the column 'species' is empty: expected the class of each image");
    write_text(folder, "gone.csv", "path,label\nimages/0.png,a\nimages/9.png,b\n");
    contains(program_gives(1, folder, "init gone.csv")->err,
             "'gone.csv': the files that exist are not of two classes; missing: 'images/9.png' "
             "(row 2: no such file)\n");
    assert_int_equal(shell(folder, "mkdir shards && cd images && echo 0 >0.cls && echo 1 >1.cls && "
                                   "tar -cf ../shards/train-000.tar 0.png 0.cls 1.png 1.cls && "
                                   "tar -cf ../shards/val-000.tar 0.png 0.cls 1.png 1.cls"),
                     0);
    o = program_gives(0, folder, "init shards -o -");
    contains(o->out, "\n  train: \"shards\"\n  val: \"shards\" ");
    o = program_gives(0, folder, "init 'shards/train-{000..000}.tar' -o -");
    contains(o->out, "\n  train: \"shards/train-{000..000}.tar\"\n  val_fraction: 0.2 ");
    contains(program_gives(1, folder, "init 'shards/train-{000..001}.tar'")->err, "train-001.tar");
    write_text(folder, "cut.tar", "images/0.png");
    contains(program_gives(1, folder, "init cut.tar")->err, "cut.tar");
}

/* train.csv with train_images/, test.csv and test_images/, as Kaggle distributes them: with or
 * without the extension in the cells. */
static void write_leaves(const char *folder, const char *suffix)
{
    char text[300];
    put_class(folder, "leaf/train_images", 4, 20, 20, 3);
    put_class(folder, "leaf/test_images", 2, 20, 20, 3); /* with names of training images */
    write_text(folder, "leaf/sample_submission.csv", "image_id,label\n0,0\n1,0\n");
    write_text(folder, "leaf/test.csv", "image_id\n0\n1\n");
    (void)snprintf(text, sizeof(text),
                   "image_id,variety,age,label\n0%s,x,4,rust\n1%s,x,5,scab\n2%s,y,6,rust\n"
                   "3%s,y,7,scab\n",
                   suffix, suffix, suffix, suffix);
    write_text(folder, "leaf/train.csv", text);
}

static const outcome *init_leaves(const char *folder)
{
    const outcome *o = program_gives(0, folder, "init leaf -o -");
    contains(o->out, "# detected: 4 training images of 2 classes: rust 2, scab 2\n");
    contains(o->out, "\n# 'leaf/train.csv': ignored columns 'variety' and 'age'\n");
    contains(o->out, "\n  train: \"leaf/train.csv\"\n  root: \"leaf/train_images\" ");
    contains(o->out, "\n  path_column: \"image_id\" ");
    contains(o->out, "\n  predict: \"leaf/test_images\" ");
    lacks(o->out, "\n  test:");
    lacks(o->out, "label_column:");
    return o;
}

static void kaggle(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    write_leaves(folder, ".png");
    lacks(init_leaves(folder)->out, "suffix:");
    write_leaves(folder, "");
    contains(init_leaves(folder)->out, "\n  suffix: \".png\" ");
    (void)program_gives(0, folder, "init leaf");
    contains(program_gives(0, folder, "init leaf/train.csv -o - --target=variety")->out,
             "\n  label_column: \"variety\" ");
    contains(
        program_gives(1, folder, "init leaf/train.csv -o - --target=kind")->err,
        "--target: 'leaf/train.csv' has no column of classes 'kind', only variety, age, label");
    contains(program_gives(0, folder,
                           "fit leaf.yaml --model.name=linear --trainer.max_epochs=1 "
                           "--trainer.run_dir=leaf-run")
                 ->err,
             "'leaf/train.csv': ignored columns 'variety' and 'age'\n");
    contains(program_gives(0, folder, "predict leaf-run --quiet")->out, "\n1,1.png,");
}

static void names_of_files_are_no_features(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    write_text(folder, "names.csv", "image,age,label\n0.png,4,rust\n1.png,5,scab\n");
    contains(program_gives(1, folder,
                           "fit --data.format=csv --data.path=names.csv --task=classification "
                           "--model.name=linear")
                 ->err,
             "names.csv:2: row 1, column 'image': '0.png' is the name of an image file, which is "
             "not a useful feature\nto train on the images, set data.format to images");
}

#define FIT_NUMBERED                                                                               \
    "fit --data.format=csv --data.path=n/train.csv --task=classification --model.name=linear "     \
    "--fast-dev-run"

/* A list of two photos with these names, with the line ends of Windows, quotes, spaces and a byte
 * order mark. */
static void write_numbered(const char *folder, const char *one, const char *other)
{
    char text[200];
    (void)snprintf(text, sizeof(text), "n/train_images/%s.png", one);
    put_photo(folder, text, 20, 20, 3, 90);
    (void)snprintf(text, sizeof(text), "n/train_images/%s.png", other);
    put_photo(folder, text, 20, 20, 3, 90);
    (void)snprintf(text, sizeof(text),
                   "\xef\xbb\xbfid, age ,label\r\n\"%s\",3,cat\r\n %s ,4,dog\r\n", one, other);
    write_text(folder, "n/train.csv", text);
}

/* Names of numbers only, with or without zeros in front, or both. */
static void numbered_files(void **state)
{
    static const char *const names[][2] = {{"1", "2"}, {"0001", "0002"}, {"1", "01"}};
    const char *folder = fgt_temp_folder();
    char expected[200];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        write_numbered(folder, names[i][0], names[i][1]);
        const outcome *o = program_gives(0, folder, "init n -o -");
        contains(o->out, "# detected: 2 training images of 2 classes: cat 1, dog 1\n");
        contains(o->out, "\n  root: \"n/train_images\" ");
        contains(o->out, "\n  suffix: \".png\" ");
        contains(o->out, "\n  path_column: \"id\" ");
        o = program_gives(0, folder, FIT_NUMBERED); /* as a table */
        (void)snprintf(expected, sizeof(expected),
                       "n/train.csv: ignored column 'id': it names image files, such as "
                       "'n/train_images/%s.png'; to train on the images: fulgurite init "
                       "'n/train.csv'; to confirm, add it to data.ignore\n",
                       names[i][0]);
        contains(o->err, expected);
        contains(o->err, "2 rows, 2 of them for training, 1 feature\n");
    }
}

static void numbered_files_train(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    write_numbered(folder, "0001", "2");
    write_text(folder, "n/train.csv", "id,label\n0001,cat\n2,dog\n");
    contains(program_gives(1, folder, FIT_NUMBERED)->err,
             "column 'id' is ignored because it names image files, such as "
             "'n/train_images/0001.png'\nto train on the images: fulgurite init 'n/train.csv'\n");
    (void)program_gives(0, folder, "init n");
    (void)program_gives(0, folder,
                        "fit n.yaml --data.val_fraction=0 --model.name=linear "
                        "--trainer.max_epochs=1 --trainer.run_dir=n-run");
    contains(program_gives(0, folder, "predict n-run n/train_images --quiet")->out, ",0001.png,");
    write_text(folder, "n/train.csv", "0001,cat\n2,dog\n");
    contains(program_gives(1, folder, "init n")->err,
             "'n/train.csv' lists image files, but has no header\nadd a first line");
    write_text(folder, "n/train.csv", "2.png,cat\n0001.png,dog\n");
    contains(program_gives(1, folder, "init n")->err, "lists image files, but has no header\n");
}

/* A list may name files that do not exist. */
static void missing_files(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "pets", 4, 20, 20, 3);
    write_text(folder, "pets/list.csv",
               "file_name,label\n0.png,cat\n1.png,dog\n9.png,cat\n2.png,cat\n");
    (void)program_gives(0, folder, "init pets");
    contains(file_text(folder, "pets.yaml"), "\n  damaged: skip   ");
    contains(file_text(folder, "pets.yaml"),
             "check it: 'pets/list.csv': skipped '9.png': no such file\n");
#define FIT "fit pets.yaml --data.val_fraction=0 --model.name=linear --trainer.max_epochs=1 "
    const outcome *o = program_gives(0, folder, FIT "--trainer.run_dir=run");
    contains(o->err, "warning: 'pets/list.csv': skipped '9.png': no such file\n");
    contains(o->err, "3 training samples of 2 classes: cat 2, dog 1\n");
    contains(
        program_gives(1, folder, FIT "--data.damaged=fail")->err,
        "list.csv:4: '9.png' in 'pets': no such file\nadd the file, or remove the row; to leave "
        "such rows out, set data.damaged to skip");
    o = program_gives(1, folder, "predict run pets/list.csv -q"); /* the others are predicted */
    contains(o->out, "\n2,9.png,,,,");
    contains(o->out, "\n3,2.png,");
    write_text(folder, "none.csv", "file_name\n0.png\n1.png\n"); /* probably of another folder */
    contains(program_gives(1, folder, "predict run none.csv -q")->err,
             "'0.png' in '.': no such file\npaths are relative to the folder of the list; ");
#undef FIT
}

/* A class or a number may have a picture, too: it is not the name of a file. */
static void pictures_of_features(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_photo(folder, "1.png", 20, 20, 3, 90);
    put_photo(folder, "2.png", 20, 20, 3, 90);
    put_photo(folder, "flat.png", 20, 20, 3, 90);
    put_photo(folder, "loft.png", 20, 20, 3, 90);
    write_text(folder, "homes.csv",
               "rooms,kind,price\n1,flat,1.5\n2,loft,2.5\n1,flat,1.7\n"
               "2,loft,2.5\n2,flat,2.6\n");
    contains(program_gives(0, folder, "init homes.csv -o -")->out, "\n  format: csv\n");
    write_text(folder, "ages.csv", "age,y\n2,0.5\n50,1.5\n63,2.5\n");
    contains(program_gives(0, folder, "init ages.csv -o -")->out, "\n  format: csv\n");
    const outcome *o = program_gives(0, folder,
                                     "fit --data.format=csv --data.path=homes.csv "
                                     "--task=regression --model.name=linear --fast-dev-run");
    contains(o->err, "5 rows, 5 of them for training, 3 features\n");
}

/* metadata.csv or metadata.jsonl next to the images of a split, as Hugging Face writes them. */
static void hugging_face(void **state)
{
    static const char *const suffixes[] = {"csv", "jsonl"};
    const char *folder = fgt_temp_folder();
    char expected[200];
    (void)state;
    put_class(folder, "data/train", 2, 20, 20, 3);
    put_class(folder, "data/validation", 2, 20, 20, 3);
    for (size_t i = 0; i < 2; i++) {
        write_text(folder, i == 0 ? "data/train/metadata.csv" : "data/train/metadata.jsonl",
                   i == 0 ? "file_name,label\n0.png,a\n1.png,b\n"
                          : "{\"file_name\": \"0.png\", \"label\": \"a\"}\n"
                            "{\"file_name\": \"1.png\", \"label\": \"b\"}\n");
        assert_int_equal(shell(folder, "cp data/train/metadata.* data/validation"), 0);
        const outcome *o = program_gives(0, folder, "init data -o -");
        (void)snprintf(expected, sizeof(expected),
                       "\n  train: \"data/train/metadata.%s\"\n  val: "
                       "\"data/validation/metadata.%s\"\n  size:",
                       suffixes[i], suffixes[i]);
        contains(o->out, expected);
        assert_int_equal(shell(folder, "rm -f data/*/metadata.csv"), 0);
    }
    (void)program_gives(0, folder, "init data");
    contains(program_gives(0, folder, "fit data.yaml --fast-dev-run --model.name=linear")->err,
             "2 validation samples: a 1, b 1\n");
}

/* A pack of `count` images of side x side pixels, of two classes; every fourth is for validation.
 */
static void put_pack(const char *folder, const char *name, fg_pack_codec codec, uint32_t side)
{
    static uint8_t pixels[128 * 128 * 3];
    static const char *const classes[] = {"cat", "dog"};
    const fg_field fields[] = {{"x", {.dtype = FG_U8, .rank = 1, .dim = {side * side * 3}}}};
    const bool is_arrays = codec == FG_PACK_ARRAYS;
    fg_pack_writer *writer;
    fg_error err = {0};
    char record[16];
    fgt_ok(fg_pack_writer_create(fgt_path(folder, name),
                                 &(fg_pack_writer_options){.class_names = classes,
                                                           .class_count = 2,
                                                           .fields = is_arrays ? fields : NULL,
                                                           .field_count = is_arrays},
                                 &writer, NULL, &err));
    for (int i = 0; i < 8; i++) {
        (void)snprintf(record, sizeof(record), "%d", i);
        const fg_pack_entry entry = {.name = record,
                                     .codec = codec,
                                     .width = is_arrays ? 0 : side,
                                     .height = is_arrays ? 0 : side,
                                     .label = i % 2,
                                     .split = i % 4 == 3 ? FG_VAL : FG_TRAIN};
        fgt_ok(fg_pack_writer_add(writer, &entry, pixels, (size_t)side * side * 3, &err));
    }
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}

static void packs(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_pack(folder, "photos.pack", FG_PACK_RAW_RGB, 20);
    (void)program_gives(0, folder, "init photos.pack");
    const outcome *o = program_gives(0, folder, "init . -o -");
    contains(o->out, "# detected: 6 training images of 2 classes: cat 4, dog 2\n"
                     "# detected: 2 validation images and 0 test images\n");
    contains(o->out, "\n  format: pack\n  train: \".\"\n  val: \".\" ");
    contains(o->out, "\n  size: 20 ");
    lacks(o->out, "val_fraction:");
    o = program_gives(0, folder, "fit photos.yaml --fast-dev-run --draw=never");
    contains(o->err, "fast dev run: no error");
    put_pack(folder, "dct.pack", FG_PACK_DCT, 100);
    o = program_gives(0, folder, "init dct.pack -o -");
    contains(o->out, "\n  augment: [random_resized_crop: {height: 128, width: 128}, random_flip] ");
    lacks(o->out, "\n  size:");
    lacks(o->out, "\n  crop:");
    put_pack(folder, "arrays.pack", FG_PACK_ARRAYS, 2);
    contains(program_gives(1, folder, "init arrays.pack")->err,
             "'arrays.pack' is a pack of arrays");
    put_class(folder, "few/a", 2, 20, 20, 3); /* variants are no more images */
    put_class(folder, "few/b", 2, 20, 20, 3);
    (void)program_gives(0, folder,
                        "pack few few.pack --codec=raw --variants=2 --presize=square=16,upscale");
    contains(program_gives(0, folder, "init few.pack -o -")->out,
             "# detected: 4 training images of 2 classes: a 2, b 2\n");
    write_text(folder, "no.pack", "nothing");
    contains(program_gives(1, folder, "init no.pack")->err, "no.pack");
}

/* cat.1.png, as on Kaggle: what the message says to type works. */
static void class_in_the_name(const char *folder)
{
    static const char *const names[] = {"cat.1.png", "cat.2.png", "dog.1.png", "dog.10.png"};
    char path[64], message[1024];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "cats and dogs/%s", names[i]);
        put_photo(folder, path, 20, 20, 3, 0);
    }
    (void)snprintf(message, sizeof message, "%.1000s",
                   program_gives(1, folder, "init 'cats and dogs'")->err);
    contains(message, "begin with the class, such as 'cat' in 'cat.1.png', list them in a CSV");
    char *commands = strstr(message, "  (cd");
    assert_non_null(commands);
    commands[strlen(commands) - 1] = '\0'; /* the newline */
    assert_int_equal(shell(folder, commands), 0);
    contains(file_text(folder, "labels.yaml"), "4 training images of 2 classes: cat 2, dog 2\n");
    put_photo(folder, "cats and dogs/other.png", 20, 20, 3, 0); /* not all are named so */
    (void)unlink(fgt_path(folder, "cats and dogs/labels.csv"));
    contains(program_gives(1, folder, "init 'cats and dogs'")->err, "expected a folder for each");
}

static void what_is_refused(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    put_class(folder, "flat", 2, 20, 20, 3);
    contains(program_gives(1, folder, "init flat")->err,
             "'flat' contains images without classes: expected a folder for each class, or a list");
    class_in_the_name(folder);
    put_class(folder, "one/a", 2, 20, 20, 3);
    contains(program_gives(1, folder, "init one")->err, "'one' contains images of only one class");
    (void)mkdir(fgt_path(folder, "bad"), 0755);
    (void)mkdir(fgt_path(folder, "bad/a"), 0755);
    (void)mkdir(fgt_path(folder, "bad/b"), 0755);
    write_text(folder, "bad/a/1.jpg", "text");
    write_text(folder, "bad/b/2.jpg", "");
    contains(program_gives(1, folder, "init bad")->err,
             "'bad': none of 2 images can be read: 'a/1.jpg': ");
    put_class(folder, "caf\xe9/a", 1, 20, 20, 3);
    put_class(folder, "caf\xe9/b", 1, 20, 20, 3);
    contains(program_gives(1, folder, "init caf\xe9")->err,
             "'caf\\xe9' is not valid UTF-8, so a configuration cannot name it: rename it");
    contains(program_gives(1, folder, "init one --target=x")->err, "'one' is not a CSV file");
    put_class(folder, "two\nlines/a", 1, 20, 20, 3); /* the path is in a comment */
    put_class(folder, "two\nlines/b", 1, 20, 20, 3);
    (void)program_gives(0, folder, "init 'two\nlines' -o two.yaml");
    (void)program_gives(0, folder, "fit two.yaml --print-config=plain");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_folder_for_each_class),
    cmocka_unit_test(layouts),
    cmocka_unit_test(words_that_are_splits),
    cmocka_unit_test(sizes_and_colors),
    cmocka_unit_test(packs_are_suggested),
    cmocka_unit_test(splits),
    cmocka_unit_test(a_list_may_lack_files),
    cmocka_unit_test(lists_and_archives),
    cmocka_unit_test(lists_of_several_labels),
    cmocka_unit_test(kaggle),
    cmocka_unit_test(numbered_files),
    cmocka_unit_test(numbered_files_train),
    cmocka_unit_test(missing_files),
    cmocka_unit_test(pictures_of_features),
    cmocka_unit_test(one_class),
    cmocka_unit_test(names_of_files_are_no_features),
    cmocka_unit_test(hugging_face),
    cmocka_unit_test(packs),
    cmocka_unit_test(what_is_refused),
};
FGT_MAIN(tests)
