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
#include "init.h"
#include "init.h"

/* ---- folders --------------------------------------------------------------------------------- */

/* Tables are rows of numbers, unless a name has another text. */
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

/* The message, with "PATH" in place of the path that is looked at. */
static void put_message(fgi_buf *out, const char *folder, const char *message)
{
    for (const char *at = message; *at != '\0';) {
        const bool is_folder = strncmp(at, folder, strlen(folder)) == 0;
        fgi_buf_printf(out, "%.*s", is_folder ? 4 : 1, is_folder ? "PATH" : at);
        at += is_folder ? strlen(folder) : 1;
    }
}

static void put_found(fgi_buf *out, const char *folder, const init_files *f)
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
    "'PATH' contains no data in a known format: expected one .csv file or train.csv, MNIST's "     \
    "files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin ...), CIFAR-100's "         \
    "(fine_label_names.txt ...), x.npy and y.npy, .txt files, or a folder of images for each "     \
    "class"

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
     "'PATH/a.npy': found no second .npy file with the targets: expected names such as x.npy and "
     "y.npy"},
    {"d.npz", "d.npz",
     "'PATH/d.npz' is an archive of arrays: set data.format to npy and data.x to one of them, "
     "such as PATH/d.npz:x, or make a pack of it (fulgurite pack) and use the pack"},
    {"train-images-idx3-ubyte.gz", "", "idx path=."},
    {"train-images-idx3-ubyte", "", "idx path=."},
    {"data_batch_1.bin", "", "cifar10 path=."},
    {"data_batch_1.bin.gz", "", "cifar10 path=."},
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
     "'PATH/list.csv' lists image files, but has no header\nadd a first line with names of the "
     "columns, such as image,label"},
    {"list.csv=image,label|a.jpg,x|b.jpg,y|", "list.csv",
     "'PATH/list.csv' lists image files, such as 'a.jpg' in the column 'image', but they are "
     "neither in its folder nor in one below it\nput them there; to train on the other columns, "
     "remove this one"},
    {"notes.txt=a,y|1,2|3,5|", "notes.txt", "csv path=notes.txt"},
    {"readme.md", "", NO_DATA},
    {"a.jpg", "none.csv", "cannot open 'PATH/none.csv': No such file or directory"},
    {"a.jpg", "none-*.tar", "no file in the folder 'PATH' matches 'none-*.tar'"},
    {"a.jpg", "gone.pack", "cannot open 'PATH/gone.pack': No such file or directory"},
};

static void formats_are_detected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        fg_error err = {0};
        init_files files;
        fgi_buf out = {0};
        char *folder = strdup(fgt_temp_folder());
        put_files(folder, places[i].files);
        const char *path = *places[i].path != '\0' ? fgt_path(folder, places[i].path) : folder;
        if (init_files_find(path, NULL, &files, &err) == FG_OK)
            put_found(&out, folder, &files);
        else
            put_message(&out, folder, err.message);
        init_files_free(&files);
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
        const bool are_named = init_photos_are_named(catalog, &name, &size);
        if (are_named != (photo_names[i].size > 0) ||
            (are_named && (size != photo_names[i].size || name[0] != 'c')))
            fail_msg("case %zu: %d, '%s', %zu", i, are_named, name, size);
        fg_catalog_close(catalog);
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
    init_photos p;
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
    fgt_ok(init_photos_read(catalog, &p, &err));
    assert_true(p.train == 4 && p.val == 1 && p.test == 1 && p.unlabeled_test == 1);
    assert_true(p.many_labels == 0 && p.counts.train[0] == 2 && p.counts.val[0] == 1);
    assert_true(p.probed == 6 && p.bad == 1 && p.gray == 1);
    assert_memory_equal(p.bad_reason, "'train/dog/6.ppm': ", 19);
    assert_true(p.short_min == 3 && p.short_median == 5 && p.short_max == 10);
    fgt_close("bytes", p.mean_bytes, (11 + 36 + 11 + 105 + 11 + 144 + 13 + 300 + 12 + 180) / 5.0, 0,
              0);
    fgi_class_counts_fini(&p.counts);
    fg_catalog_close(catalog);
}

/* Files of a folder whose names are those of numbers: a square gray image has the length of its
 * side, "bad" is none. */
static void init_photos_of(const char *folder, const char *files, char **out)
{
    static char bytes[200 * 200 + 32];
    char name[64], size[16], top[512];
    int used;
    fg_error err = {0};
    (void)snprintf(top, sizeof top, "%s", folder);
    for (; sscanf(files, "%60[^=]=%15s %n", name, size, &used) == 2; files += used) {
        const int side = (int)strtol(size, NULL, 10);
        const int head = snprintf(bytes, sizeof bytes, "P5 %d %d 255\n", side, side);
        char *slash = strrchr(name, '/');
        *slash = '\0';
        fgt_ok(fgi_folder_make(fgt_path(top, name), &err));
        *slash = '/';
        (void)strcat(name, ".pgm");
        fgt_write(fgt_path(top, name), side > 0 ? bytes : "bad",
                  side > 0 ? (size_t)(head + side * side) : 3);
    }
    fgi_buf text = {0};
    fgt_ok(init_config(&text, top, &(init_options){0}, &err));
    *out = fgi_buf_take(&text);
}

static const struct {
    const char *files, *parts[4]; /* parts: of the configuration; the last one is not in it */
} photos[] = {
    {"a/1=7 b/1=7", {"  name: lenet ", "\n  size: 8 ", "have about 7 pixels", "\n  stem:"}},
    {"a/1=9 b/1=9", {"  name: lenet ", "\n  size: 9 ", "center_fraction: 1 ", "  flip:"}},
    {"a/1=47 b/1=47", {"  name: lenet ", "\n  size: 47 ", "crop: center ", "  stem:"}},
    {"a/1=48 b/1=48", {"  name: resnet18 ", "\n  size: 64 ", "\n  stem: small ", "fraction: 1 "}},
    {"a/1=95 b/1=95", {"  name: resnet18 ", "\n  size: 64 ", "\n  stem: small ", "a pack"}},
    {"a/1=96 b/1=96", {"  name: resnet18 ", "\n  size: 128 ", "crop: random ", "  stem:"}},
    {"a/1=191 b/1=191", {"  name: resnet18 ", "\n  size: 128 ", "flip: 0.5 ", "  stem:"}},
    {"a/1=192 b/1=192", {"  name: resnet18 ", "\n  size: 224 ", "flip: 0.5 ", "  stem:"}},
    {"a/1=9 b/1=9 b/2=bad", {"\n  channels: 1 ", "mean: [0.449] ", "std: [0.226]", "sampling"}},
    {"a/1=9 b/1=9 b/2=9 b/3=9 b/4=9 c/1=9 c/2=9", {"a 1, ", "c 2", "check it", "sampling"}},
    {"a/1=9 b/1=9 b/2=9 b/3=9 b/4=9 b/5=9 c/1=9 c/2=9",
     {"  # sampling: balanced ", "b 5", "suggested", "  sampling"}},
    {"train/a/1=9 train/b/1=9 test/a/1=9",
     {"0 validation images and 1 test image\n", "\n  test: ", "val_fraction: 0.2", "\n  val: "}},
    {"train/a/1=9 train/b/1=9 val/a/1=9 test/a/1=9 test/b/2=9",
     {"1 validation image and 2 test images\n", "\n  test: ", "\n  val: ", "val_fraction"}},
};

/* The usual model and size for images of a size, and where the samples are. */
static void photos_have_a_configuration(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    for (size_t i = 0; i < sizeof photos / sizeof photos[0]; i++) {
        char name[16], *text = NULL;
        (void)snprintf(name, sizeof name, "%zu", i);
        init_photos_of(fgt_path(folder, name), photos[i].files, &text);
        for (int k = 0; k < 4; k++)
            if ((strstr(text, photos[i].parts[k]) != NULL) != (k < 3))
                fail_msg("%s: '%s' in:\n%s", photos[i].files, photos[i].parts[k], text);
        fgi_free(text);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Writes a table: '|' is a line end, and "#12:" makes 12 rows of the next one, where '@' is the
 * number of the row. */
static const char *put_table(const char *text)
{
    static char path[512];
    fgi_buf out = {0};
    char *all = strdup(text), *rest = all, *row;
    (void)snprintf(path, sizeof path, "%s", fgt_path(fgt_temp_folder(), "t.csv"));
    while ((row = strsep(&rest, "|")) != NULL && rest != NULL) {
        int count = 1, skip = 0;
        if (sscanf(row, "#%d:%n", &count, &skip) != 1)
            skip = 0;
        for (int i = 0; i < count; i++, fgi_buf_putc(&out, '\n'))
            for (const char *at = row + skip; *at != '\0'; at++)
                if (*at == '@')
                    fgi_buf_printf(&out, "%d", i);
                else
                    fgi_buf_putc(&out, *at);
    }
    fgt_write(path, out.data, out.size);
    fgi_buf_fini(&out);
    free(all);
    return path;
}

/* "; ignored a,b": the columns that are ignored, or those for data.numeric. */
static void put_columns(fgi_buf *out, const init_table *t, bool is_ignored)
{
    const char *before = is_ignored ? "; ignored " : "; listed ";
    for (size_t k = 0; k < t->column_count; k++) {
        const fg_csv_column *c = &t->columns[k];
        if (is_ignored ? c->ignored_because == NULL : !t->is_listed[k])
            continue;
        fgi_buf_printf(out, "%s%s", before, c->name);
        before = ",";
    }
}

static void put_table_found(fgi_buf *out, const init_table *t)
{
    char reason[128];
    bool is_sure = false;
    const char *task = init_table_task(t, &is_sure, reason, sizeof reason);
    fgi_buf_printf(out, "'%c'%s %zu x %zu", t->delimiter, t->delimiter_is_sure ? "" : "?", t->rows,
                   t->column_count);
    if (t->decimal != '.')
        fgi_buf_printf(out, " decimal%s", t->decimal_is_sure ? "" : "?");
    if (!t->has_header || !t->header_is_sure)
        fgi_buf_puts(out, t->has_header ? " header?" : " no header");
    fgi_buf_printf(out, "%s; %s: %s%s; %s%s: %s", t->keeps_words ? " words" : "",
                   t->columns[t->target].name, t->is_target_given ? "given" : t->target_reason,
                   t->is_target_given || t->target_is_sure ? "" : "?",
                   strcmp(task, "regression") == 0 ? "numbers" : "classes", is_sure ? "" : "?",
                   reason);
    put_columns(out, t, false);
    put_columns(out, t, true);
}

static const struct {
    const char *text, *target, *found; /* or the error */
} tables[] = {
    {"a,b,c|1,2,x|3,4,z|5,6,x|", NULL,
     "',' 3 x 3; c: the last column?; classes: a column of strings, 2 distinct values"},
    {"a;b;c|1,5;2;0,5|2,5;3;1,5|3,5;4;2,5|", NULL,
     "';' 3 x 3 decimal; c: the last column?; numbers: a column of numbers"},
    {"y,a|1,2|2,3|3,4|", NULL,
     "',' 3 x 2; y: a common name of targets; numbers?: a column of many different integers"},
    {"a,TARGET,b|1,0,2|2,5,3|3,6,4|", NULL,
     "',' 3 x 3; TARGET: a common name of targets; numbers?: a column of many different integers"},
    {"a,target,b|1,,2|2,5,3|3,6,4|", NULL,
     "',' 3 x 3; b: the last column?; numbers?: a column of many different integers"},
    {"species,class,b|u,v,2|v,u,3|u,v,4|", NULL,
     "',' 3 x 3; class: a common name of targets; classes: a column of strings, 2 distinct values"},
    {"1.5,2|3,4|5,6|", NULL,
     "',' 3 x 2 no header; 1: the last column?; numbers?: a column of many different integers"},
    {"a,b,date|1,2,2024-01-02|3,4,2024-01-03|4,4,2024-01-04|", NULL,
     "',' 3 x 3; b: the last column that is not ignored?; numbers?: a column of many different "
     "integers; ignored date"},
    {"id,a,name|#12:@,@.5,n@|", NULL,
     "no feature columns are left: every column is the target or ignored; column 'id' is ignored "
     "because it contains row numbers\nto train on it, list it in data.numeric; if it names image "
     "files, put the table next to them or their folder"},
    {"id,name|#12:@,n@|", NULL,
     "no feature columns are left: every column is the target or ignored; column 'id' is ignored "
     "because it contains row numbers\nto train on it, list it in data.numeric; if it names image "
     "files, put the table next to them or their folder"},
    {"a,b|#12:@.5,@|", NULL,
     "',' 12 x 2; b: the last column?; numbers?: a column of many different integers"},
    {"a,b|#60:@.5,@|", NULL,
     "',' 60 x 2; b: the last column?; numbers?: a column of many different integers"},
    {"a,b|#60:1@,@.25|", NULL, "',' 60 x 2; b: the last column?; numbers: a column of numbers"},
    {"a|1|2|", NULL,
     "'PATH' does not look like a CSV file: expected rows with the same number of cells, two or "
     "more, separated by a comma, semicolon, tab or vertical bar"},
    {"a,b|1,2|3,4|", "a", "',' 2 x 2; a: given; numbers?: a column of many different integers"},
    {"a,b|1,2|3,4|", "c", "--target: 'PATH' has no column 'c'"},
    {"a;y|1;None|2;Low|3;None|", NULL,
     "';' 3 x 2 words; y: the last column?; classes: a column of strings, 2 distinct values"},
    {"a;y|1;None|;Low|3;None|", NULL,
     "';' 3 x 2 words; y: the last column?; classes: a column of strings, 2 distinct values"},
    {"a;price|1;1.200 EUR|2;3.450 EUR|3;2.125 EUR|", NULL,
     "';' 3 x 2 decimal?; price: the last column?; numbers?: a column of many different integers; "
     "listed price"},
    {"a;price|1.5;1.200 EUR|2;3.450 EUR|3;2.125 EUR|", NULL,
     "';' 3 x 2; price: the last column?; numbers: a column of numbers; listed price"},
    {"a;price|1.5;1.20 EUR|2;3.45 EUR|3;2.12 EUR|", NULL,
     "';' 3 x 2; price: the last column?; numbers: a column of numbers; listed price"},
    {"a,b|u,v|w,x|", NULL,
     "',' 2 x 2 header?; b: the last column?; classes: a column of strings, 2 distinct values"},
    {"a\tb|1\tx|3\tz|", NULL,
     "'\t' 2 x 2; b: the last column?; classes: a column of strings, 2 distinct values"},
};

static void tables_are_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        fg_error err = {0};
        init_table t;
        fgi_buf out = {0};
        const char *path = put_table(tables[i].text);
        fg_status status = init_table_read(path, &t, &err);
        if (status == FG_OK)
            status = init_table_choose(&t, tables[i].target, &err);
        if (status == FG_OK)
            put_table_found(&out, &t);
        else
            put_message(&out, path, err.message);
        init_table_free(&t);
        if (strcmp(out.data, tables[i].found) != 0)
            fail_msg("%s: %s", tables[i].text, out.data);
        fgi_buf_fini(&out);
    }
}

static void pixels_are_square_images(void **state)
{
    static const struct {
        int pixels, target, largest, side;
    } images[] = {{64, 64, 255, 8}, {64, 0, 255, 8},  {64, 1, 255, 0},
                  {81, 81, 0, 9},   {49, 49, 255, 0}, {63, 63, 9, 0},
                  {65, 65, 9, 0},   {64, 64, 256, 0}, {64, 64, -1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        fg_csv_column columns[82];
        for (int k = 0; k <= images[i].pixels; k++)
            columns[k] = (fg_csv_column){.kind = "numeric", .is_integer = true, .max = 9};
        columns[2].min = images[i].largest < 0 ? -1 : 0;
        columns[3].max = images[i].largest;
        columns[images[i].target] = (fg_csv_column){.kind = "categorical"};
        init_table t = {.column_count = (size_t)images[i].pixels + 1,
                        .columns = columns,
                        .target = (size_t)images[i].target};
        assert_int_equal(init_table_image_side(&t), images[i].side);
        columns[4].is_integer = false;
        assert_int_equal(init_table_image_side(&t), 0);
    }
}

/* ---- lists of images ------------------------------------------------------------------------- */

static const struct {
    const char *files, *target, *found; /* or the error */
} lists[] = {
    {"image,species|a.jpg,x|b.jpg,y|", NULL, "species ',' val 2 images"},
    {"image,n,Label|a.jpg,1,x|b.jpg,2,y|", NULL, "Label ',' val 2 images"},
    {"class_id,image,breed|0,a.jpg,x|1,b.jpg,y|", NULL, "breed ',' val 2 images"},
    {"image,kind|a.jpg,x|b.jpg,y|", NULL, "kind? ',' val 2 images"},
    {"kind,image|x,a.jpg|y,b.jpg|", NULL, "kind? ',' val 2 images"},
    {"image,kind,size|a.jpg,x,0.5|b.jpg,y,0.7|c.jpg,x,0.9|d.jpg,y,1.5|", NULL,
     "kind? ',' val 4 images"},
    {"image,kind,color|a.jpg,x,u|b.jpg,y,v|c.jpg,x,u|d.jpg,y,v|", NULL,
     "'PATH/train.csv' lists image files, but it is not clear which of its columns has the "
     "classes: kind, color\nchoose it with --target=COLUMN"},
    {"image,kind,color|a.jpg,x,u|b.jpg,y,v|c.jpg,x,u|d.jpg,y,v|", "color",
     "color given ',' val 4 images"},
    {"image,kind|a.jpg,x|b.jpg,y|", "image",
     "--target: 'PATH/train.csv' has no column of classes 'image', only kind"},
    {"image,kind|a.jpg,x|b.jpg,y|", "size",
     "--target: 'PATH/train.csv' has no column of classes 'size', only kind"},
    {"image,label|a.jpg,0.5|b.jpg,1.5|", NULL,
     "'PATH/train.csv': the column 'label' has numbers, not classes, such as 1.5: data.format "
     "images supports only classification"},
    {"image,label|a.jpg,|b.jpg,|", NULL,
     "'PATH/train.csv': the column 'label' is empty: expected the class of each image"},
    {"image;label|a.jpg;0|b.jpg;1|", NULL, "label ';' val 2 images"},
};

static void put_label(fgi_buf *out, const init_files *f)
{
    const init_list *l = &f->list;
    fgi_buf_printf(out, "%s%s '%c'%s%s %lld images", l->label_column,
                   l->label_is_given  ? " given"
                   : l->label_is_sure ? ""
                                      : "?",
                   l->delimiter, f->val != NULL ? " val" : "", f->test != NULL ? " test" : "",
                   (long long)fg_catalog_count(f->photos));
}

/* With a list of the same columns for the validation, and one of names alone for the test. */
static void lists_have_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        fg_error err = {0};
        init_files files;
        fgi_buf out = {0};
        char text[600];
        char *folder = strdup(fgt_temp_folder());
        (void)snprintf(
            text, sizeof text,
            "train.csv=%s val.csv=%s test.csv=image,n|a.jpg,1|b.jpg,2| a.jpg b.jpg c.jpg d.jpg",
            lists[i].files, lists[i].files);
        put_files(folder, text);
        fgt_ok(init_files_find(folder, NULL, &files, &err));
        assert_ptr_equal(files.kind, &init_images);
        if (init_list_open(&files, lists[i].target, &err) == FG_OK)
            put_label(&out, &files);
        else
            put_message(&out, folder, err.message);
        if (strcmp(out.data, lists[i].found) != 0)
            fail_msg("%s: %s", lists[i].files, out.data);
        init_files_free(&files);
        fgi_buf_fini(&out);
        free(folder);
    }
}

/* What cannot be read keeps its status. */
static void damage_is_no_mistake_of_options(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_buf text = {0};
    char *folder = strdup(fgt_temp_folder());
    put_files(folder, "a.tar=cat");
    assert_int_equal(init_config(&text, fgt_path(folder, "a.tar"), &(init_options){0}, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "a.tar': byte "));
    put_files(folder, "sub/b.pgm=P5|2|2|255|abcd sub/c.pgm=cat");
    assert_int_equal(init_config(&text, fgt_path(folder, "sub"), &(init_options){0}, &err),
                     FG_EINVAL);
    assert_non_null(strstr(err.message, "contains images without classes: expected "));
    fgi_buf_fini(&text);
    free(folder);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_detected),
        cmocka_unit_test(tables_are_looked_at),
        cmocka_unit_test(pixels_are_square_images),
        cmocka_unit_test(lists_have_classes),
        cmocka_unit_test(names_of_photos_may_begin_with_classes),
        cmocka_unit_test(photos_are_counted_and_measured),
        cmocka_unit_test(photos_have_a_configuration),
        cmocka_unit_test(damage_is_no_mistake_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
