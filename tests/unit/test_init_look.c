/* test_init_look.c - what `fulgurite init` detects in a folder or file: its format, and which files
 * have the training, validation and test samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "recipe/init_look.h"

/* ---- folders --------------------------------------------------------------------------------- */

/* Tables are rows of numbers, unless they have text of their own. */
static const char *usual_text(const char *name)
{
    return strstr(name, ".csv") != NULL || strstr(name, ".tsv") != NULL ? "a,y\n1,2\n3,5\n" : "x";
}

/* Creates "NAME NAME=TEXT ...", where '|' in a text is a line end. */
static void put_files(const char *folder, const char *files)
{
    char *all = strdup(files), *rest = all, *name;
    fg_error err = {0};
    while ((name = strsep(&rest, " ")) != NULL) {
        char *text = strchr(name, '=');
        if (text != NULL)
            *text++ = '\0';
        for (char *at = text; at != NULL && *at != '\0'; at++)
            *at = (char)(*at == '|' ? '\n' : *at);
        char *path = strdup(fgt_path(folder, name)), *slash = strrchr(path, '/');
        *slash = '\0';
        fgt_ok(fgi_folder_make(path, &err));
        *slash = '/';
        const char *content = text != NULL ? text : usual_text(name);
        fgt_write(path, content, strlen(content));
        free(path);
    }
    free(all);
}

/* " NAME=TEXT", with the path below the folder. */
static void put_field(fgi_buf *out, const char *folder, const char *name, const char *text)
{
    const size_t size = strlen(folder);
    if (text == NULL || *text == '\0')
        return;
    const bool is_below = strncmp(text, folder, size) == 0 && text[size] == '/';
    fgi_buf_printf(out, " %s=%s", name,
                   is_below                    ? text + size + 1
                   : strcmp(text, folder) == 0 ? "."
                                               : text);
}

/* The message, with "FOLDER" in place of the folder. */
static void put_message(fgi_buf *out, const char *folder, const char *message)
{
    for (const char *at = message; *at != '\0';) {
        const bool is_folder = strncmp(at, folder, strlen(folder)) == 0;
        fgi_buf_printf(out, "%.*s", is_folder ? 6 : 1, is_folder ? "FOLDER" : at);
        at += is_folder ? strlen(folder) : 1;
    }
}

static void put_found(fgi_buf *out, const char *folder, const fgi_look_files *f)
{
    fgi_buf_puts(out, f->kind->format);
    put_field(out, folder, "path", f->path);
    put_field(out, folder, "y", f->y);
    put_field(out, folder, "val", f->val);
    put_field(out, folder, "val_y", f->val_y);
    put_field(out, folder, "test", f->test);
    put_field(out, folder, "test_y", f->test_y);
    put_field(out, folder, "column", f->list.path_column);
    put_field(out, folder, "root", f->list.root);
    put_field(out, folder, "suffix", f->list.suffix);
    put_field(out, folder, "predict", f->list.predict);
}

#define NO_DATA                                                                                    \
    "'FOLDER' contains no data in a known format: expected one .csv file or train.csv, MNIST's "   \
    "files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin ...), CIFAR-100's "         \
    "(fine_label_names.txt ...), x.npy and y.npy, or a folder of images for each class"

static const struct {
    const char *files, *path, *found; /* or the error */
} places[] = {
    {"x.npy y.npy", "", "npy path=x.npy y=y.npy"},
    {"X_train.npy y_train.npy X_val.npy y_val.npy X_test.npy y_test.npy", "",
     "npy path=X_train.npy y=y_train.npy val=X_val.npy val_y=y_val.npy test=X_test.npy "
     "test_y=y_test.npy"},
    {"inputs.npy labels.npy val_x.npy val_y.npy test_x.npy test_y.npy", "",
     "npy path=inputs.npy y=labels.npy val=val_x.npy val_y=val_y.npy test=test_x.npy "
     "test_y=test_y.npy"},
    {"x.npy", "", NO_DATA},
    {"x.npy y.npy", "y.npy", "npy path=x.npy y=y.npy"},
    {"a_X.npy a_Y.npy", "a_X.npy", "npy path=a_X.npy y=a_Y.npy"},
    {"max.npy may.npy", "max.npy", "npy path=max.npy y=may.npy"},
    {"a.npy", "a.npy",
     "'FOLDER/a.npy': found no second .npy file with the targets: expected names such as x.npy and "
     "y.npy"},
    {"d.npz", "d.npz",
     "'FOLDER/d.npz' is an archive of arrays: set data.format to npy and data.x to one of them, "
     "such as FOLDER/d.npz:x, or make a pack of it (fulgurite pack) and use the pack"},
    {"train-images-idx3-ubyte.gz", "", "idx path=."},
    {"data_batch_1.bin", "", "cifar10 path=."},
    {"fine_label_names.txt train.bin", "", "cifar100 path=."},
    {"train.csv test.csv val.csv sample_submission.csv", "",
     "csv path=train.csv val=val.csv test=test.csv"},
    {"training.csv valid.csv test.csv", "", "csv path=training.csv val=valid.csv test=test.csv"},
    {"train.tsv val.tsv test.tsv", "", "csv path=train.tsv val=val.tsv test=test.tsv"},
    {"train.csv validation.csv", "", "csv path=train.csv val=validation.csv"},
    {"train/metadata.csv validation/metadata.csv test/metadata.csv", "",
     "csv path=train/metadata.csv val=validation/metadata.csv test=test/metadata.csv"},
    {"metadata.csv other.csv", "", "csv path=metadata.csv"},
    {"data.csv submission.csv", "", "csv path=data.csv"},
    {"data.csv other.tsv", "", NO_DATA},
    {"cat/1.jpg dog/2.jpg data.csv", "", "images path=."},
    {"1.jpg 2.jpg data.csv", "", "csv path=data.csv"},
    {"1.jpg 2.jpg", "", "images path=."},
    {"p/train/cat/1.jpg p/train/dog/2.jpg p/val/cat/3.jpg p/test/4.jpg", "p/train",
     "images path=p/train val=p/val predict=p/test"},
    {"p/train/cat/1.jpg p/train/dog/2.jpg p/valid/cat/3.jpg p/test/a/4.jpg p/test/b/5.jpg",
     "p/train/", "images path=p/train/ val=p/valid test=p/test"},
    {"metadata.jsonl={\"file_name\":\"1.jpg\",\"label\":0}| 1.jpg", "",
     "images path=metadata.jsonl"},
    {"list.csv=image,label|a.jpg,x|b.jpg,y| a.jpg b.jpg", "list.csv",
     "images path=list.csv column=image"},
    {"list.csv=id,label|a,x|b,y| photos/a.jpg photos/b.jpg", "list.csv",
     "images path=list.csv column=id root=photos suffix=.jpg"},
    {"list.csv=n,file,label|1,a.jpg,x|2,b.jpg,y| 1.jpg 2.jpg a.jpg b.jpg", "list.csv",
     "images path=list.csv column=file"},
    {"train.csv=id,label|a.jpg,x|b.jpg,y| train_images/a.jpg train_images/b.jpg "
     "test_images/c.jpg",
     "", "images path=train.csv column=id root=train_images predict=test_images"},
    {"list.csv=a.jpg,x|b.jpg,y| a.jpg b.jpg", "list.csv",
     "'FOLDER/list.csv' lists image files, but has no header\nadd a first line with names of the "
     "columns, such as image,label"},
    {"list.csv=image,label|a.jpg,x|b.jpg,y|", "list.csv",
     "'FOLDER/list.csv' lists image files, such as 'a.jpg' in the column 'image', but they are "
     "neither in its folder nor in one below it\nput them there; to train on the other columns, "
     "remove this one"},
    {"notes.txt=a,y|1,2|3,5|", "notes.txt", "csv path=notes.txt"},
    {"readme.md", "", NO_DATA},
    {"a.jpg", "none.csv", "cannot open 'FOLDER/none.csv': No such file or directory"},
    {"a.jpg", "none-*.tar", "no file in the folder 'FOLDER' matches 'none-*.tar'"},
    {"a.jpg", "gone.pack", "cannot open 'FOLDER/gone.pack': No such file or directory"},
};

static void formats_are_detected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        fg_error err = {0};
        fgi_look_files files;
        fgi_buf out = {0};
        char *folder = strdup(fgt_temp_folder());
        put_files(folder, places[i].files);
        const char *path = *places[i].path != '\0' ? fgt_path(folder, places[i].path) : folder;
        if (fgi_look_at(path, NULL, &files, &err)) {
            put_found(&out, folder, &files);
            fgi_look_files_free(&files);
        } else {
            put_message(&out, folder, err.message);
        }
        if (strcmp(out.data, places[i].found) != 0)
            fail_msg("%s %s: %s", places[i].files, places[i].path, out.data);
        fgi_buf_fini(&out);
        free(folder);
    }
}

/* ---- photos ---------------------------------------------------------------------------------- */

static const struct {
    const char *names[4];
    size_t size; /* of the class in the first name; 0: names have none */
} photo_names[] = {
    {{"cat.1.jpg", "cat.2.jpg", "dog.1.jpg", "dog.2.jpg"}, 3},
    {{"cat.1.jpg", "cat.2.jpg", "cow.1.jpg", "cow.2.jpg"}, 3},
    {{"cat.1.jpg", "cat.2.jpg", "cats.1.jpg", "cats.2.jpg"}, 3},
    {{"cat_1.jpg", "cat_02.jpg", "dog-3.jpg", "dog-4.jpg"}, 3},
    {{"c.1.jpg", "c.2.jpg", "d.1.jpg", "d.2.jpg"}, 1},
    {{"cat1.jpg", "cat2.jpg", "dog1.jpg", "dog2.jpg"}, 0}, /* no separator */
    {{".1.jpg", ".2.jpg", "dog.1.jpg", "dog.2.jpg"}, 0},
    {{"cat.1.jpg", "cat.2.jpg", "cat.3.jpg", "cat.4.jpg"}, 0}, /* one class */
    {{"cat.1.jpg", "dog.1.jpg", "eel.1.jpg", "eel.2.jpg"}, 0}, /* more than half as many classes */
    {{"cat.1.jpg", "cat.2.jpg", "dog.1.jpg", "dog.jpg"}, 0},
};

static void names_of_photos_may_begin_with_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof photo_names / sizeof photo_names[0]; i++) {
        fg_error err = {0};
        fg_catalog *catalog;
        const char *folder = fgt_temp_folder(), *name = "";
        size_t size = 0;
        for (int k = 0; k < 4; k++)
            fgt_write(fgt_path(folder, photo_names[i].names[k]), "x", 1);
        fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
        const bool are_named = fgi_look_photos_are_named(catalog, &name, &size);
        if (are_named != (photo_names[i].size > 0) ||
            (are_named && (size != photo_names[i].size || name[0] != 'c')))
            fail_msg("case %zu: %d, '%s', %zu", i, are_named, name, size);
        fg_catalog_destroy(catalog);
    }
}

static void put_ppm(const char *folder, const char *name, int width, int height, int channels)
{
    char bytes[600] = "";
    const int head =
        snprintf(bytes, sizeof bytes, "P%d %d %d 255\n", channels == 3 ? 6 : 5, width, height);
    fgt_write(fgt_path(folder, name), bytes, (size_t)(head + width * height * channels));
}

/* Two classes, an image that ends in its header, and one to predict. */
static void photos_are_counted_and_measured(void **state)
{
    fg_error err = {0};
    fg_catalog *catalog;
    fgi_look_photos p;
    static const char *const folders[] = {"train/cat", "train/dog", "val/cat", "test"};
    const char *folder = fgt_temp_folder();
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        fgt_ok(fgi_folder_make(fgt_path(folder, folders[i]), &err));
    put_ppm(folder, "train/cat/1.pgm", 4, 9, 1);
    put_ppm(folder, "train/cat/2.ppm", 7, 5, 3);
    put_ppm(folder, "train/dog/3.ppm", 6, 8, 3);
    fgt_write(fgt_path(folder, "train/dog/6.ppm"), "P6 9 ", 5);
    put_ppm(folder, "val/cat/4.ppm", 10, 10, 3);
    put_ppm(folder, "test/5.ppm", 3, 20, 3);
    fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
    assert_true(fgi_look_photos_read(catalog, &p, &err));
    assert_true(p.train == 4 && p.val == 1 && p.test == 1 && p.unlabeled_test == 1);
    assert_true(p.many_labels == 0 && p.counts.train[0] == 2 && p.counts.val[0] == 1);
    assert_true(p.probed == 6 && p.bad == 1 && p.gray == 1);
    assert_memory_equal(p.bad_reason, "'train/dog/6.ppm': ", 19);
    assert_true(p.short_min == 3 && p.short_median == 5 && p.short_max == 10);
    fgt_close("bytes", p.mean_bytes, (11 + 36 + 11 + 105 + 11 + 144 + 13 + 300 + 12 + 180) / 5.0, 0,
              0);
    fgi_look_photos_free(&p);
    fg_catalog_destroy(catalog);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_detected),
        cmocka_unit_test(names_of_photos_may_begin_with_classes),
        cmocka_unit_test(photos_are_counted_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
