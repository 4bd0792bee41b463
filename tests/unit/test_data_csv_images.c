/* test_data_csv_images.c - columns of a table that name image files near it: where these are, which
 * extension the cells lack, and which values are not names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "data/csv_images.h"

static fg_error err;
static char heard[2000];

static void hear(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s\n", line);
}

/* An empty file; the folders of its name are created. "a>b" is a symbolic link a to b. */
static void put(const char *folder, const char *name)
{
    const char *target = strchr(name, '>');
    if (target != NULL) {
        char link[64];
        (void)snprintf(link, sizeof(link), "%.*s", (int)(target - name), name);
        assert_int_equal(symlink(target + 1, fgt_path(folder, link)), 0);
        return;
    }
    char *parent = fgi_path_parent(fgt_path(folder, name));
    fgt_ok(fgi_folder_make(parent, &err));
    fgi_free(parent);
    fgt_write(fgt_path(folder, name), "", 0);
}

/* Cells separated by blanks; the files that exist, too. *root: "": the folder of the table; NULL:
 * the cells name no files. */
typedef struct listing {
    const char *cells, *files, *root, *suffix;
} listing;

static void write_files(const char *folder, const char *files)
{
    char names[256];
    (void)snprintf(names, sizeof(names), "%s", files);
    for (char *rest = names, *name; (name = strsep(&rest, " ")) != NULL;)
        put(folder, name);
}

static void check(const listing *l)
{
    char text[256] = "id\n", path[512];
    const char *folder = fgt_temp_folder();
    fgi_image_places places = {0};
    fgi_listed_images found;
    fgi_block block;
    fgi_csv csv;
    (void)snprintf(path, sizeof(path), "%s/t.csv", folder);
    (void)snprintf(text + 3, sizeof(text) - 3, "%s\n", l->cells);
    for (char *c = text; *c != '\0'; c++)
        *c = (char)(*c == ' ' ? '\n' : *c);
    fgt_write(path, text, strlen(text));
    write_files(folder, l->files);
    fgt_ok(fgi_block_open(path, 1 << 20, &block, &err));
    fgt_ok(fgi_csv_parse(path, &block, &(fgi_csv_layout){.delimiter = ','}, &csv, &err));
    fgi_image_places_list(&places, path);
    const bool is = fgi_csv_lists_images(&csv, 0, &places, &found);
    if (is != (l->root != NULL))
        fail_msg("%s: %s", l->cells, is ? found.example : "no files");
    if (is && *l->root == '\0')
        assert_null(found.root);
    else if (is)
        assert_string_equal(found.root, fgt_path(folder, l->root));
    if (is)
        assert_string_equal(found.suffix, l->suffix);
    fgi_image_places_fini(&places);
    fgi_csv_fini(&csv);
}

static const listing found_listings[] = {
    {"a1 a2", "a1.jpg a2.jpg", "", ".jpg"},
    {"a1", "a1.jpg", "", ".jpg"}, /* one row */
    {"a1.png a2.png", "x/a1.png x/a2.png", "x", ""},
    {"1 2", "x/y/1.JPG x/y/2.JPG", "x/y", ".JPG"},
    {"1 2", "x/y/z/1.jpg x/y/z/2.jpg", NULL, NULL}, /* deeper */
    {"1 2", "x/y/z/1.jpg x/y/z/2.jpg near>x/y/z", "near", ".jpg"},
    {"x/1 x/2", "in/x/1.tif in/x/2.tif", "in", ".tif"},
    {"1 2", "a_test/1.jpg a_test/2.jpg b/1.jpg b/2.jpg z_Train/1.jpg z_Train/2.jpg", "z_Train",
     ".jpg"},
    {"1 2", "a_test/1.jpg a_test/2.jpg b/1.jpg b/2.jpg", "b", ".jpg"},
    {"1 2", "b/c/1.jpg b/c/2.jpg d/1.jpg d/2.jpg", "d", ".jpg"}, /* the nearest */
    {"1 2", "@eaDir/1.jpg @eaDir/2.jpg .x/1.jpg .x/2.jpg", NULL, NULL},
    {"1 2 3 4", "1.png 2.png 3.png 1.jpg 2.jpg 3.jpg 4.jpg", "", ".jpg"}, /* the most */
    {"a.png b", "a.png b.png", "", ".png"},
    {"1 2", "1.txt 2.txt", NULL, NULL},
    {"a1 a2", "a1.jpg a2.png", "", ".jpg"}, /* the first of those with one file */
    {"a1 a2", "test/a1.jpg test/a2.jpg x/a1.jpg x/a2.jpg", "x", ".jpg"},
    {"a1 a2", "c/in/a1.jpg c/in/a2.jpg z_training/in/a1.jpg z_training/in/a2.jpg", "z_training/in",
     ".jpg"},
    {"a1 a2", "TESTS/a1.jpg TESTS/a2.jpg q/s/a1.jpg q/s/a2.jpg", "q/s", ".jpg"},
    {"a1 a2", "a1.png a2.png train/a1.jpg train/a2.jpg", "", ".png"}, /* the table's folder */
    {"a1 a2", "y/a1.jpg y/a2.jpg x/a1.jpg x/a2.jpg", "x", ".jpg"},    /* by name */
    {"a1 a2", "a1.jpg a2.jpg a1.png a2.png", "", ".jpg"},             /* the first */
    {"a1.jpg a2", "a1.jpg a2.jpg", "", ".jpg"},
    {"a1 a2", "a1.heic a2.heic", NULL, NULL},
    {"a1 a2", "a1.jpeg a2.jpeg", "", ".jpeg"},
    {"a1 a2", "a1.JPEG a2.JPEG", "", ".JPEG"},
    {"a1 a2", "a1.PNG a2.PNG", "", ".PNG"},
    {"a1 a2", "a1.webp a2.webp", "", ".webp"},
    {"a1 a2", "a1.tiff a2.tiff", "", ".tiff"},
    {"a1 a2", "a1.bmp a2.bmp", "", ".bmp"},
    {"a1 a2", "a1.gif a2.gif", "", ".gif"},
    {"a1 a2", "a1.ppm a2.ppm", "", ".ppm"},
    {"a1 a2", "a1.pgm a2.pgm", "", ".pgm"},
    {"a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6", /* every other one is looked at */
     "a1.jpg a3.jpg a5.jpg a7.jpg", "", ".jpg"},
    {"a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6", "a1.jpg a3.jpg a5.jpg", NULL, NULL},
    {"a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6",
     "a2.jpg a4.jpg a6.jpg a8.jpg b0.jpg b2.jpg b4.jpg b6.jpg", NULL, NULL},
};

static void files_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(found_listings) / sizeof(found_listings[0]); i++)
        check(&found_listings[i]);
}

static void cells_may_be_absolute_paths(void **state)
{
    char cells[200];
    const char *photos = fgt_temp_folder();
    write_files(photos, "a1.jpg a2.jpg");
    (void)snprintf(cells, sizeof(cells), "%s/a1 %s/a2", photos, photos);
    check(&(listing){cells, "notes.txt", "", ".jpg"});
}

static void values_are_not_names(void **state)
{
    static const listing cases[] = {
        {"a1 a2 a3 a4", "a1.jpg a2.jpg", "", ".jpg"}, /* half of those that have the form */
        {"a1 a2 a3 a4", "a1.jpg", NULL, NULL},
        {"01 2 3 4", "01.jpg 2.jpg", "", ".jpg"},
        {"1 2 3 4", "1.jpg 2.jpg", NULL, NULL}, /* 3/4 of numbers and words */
        {"1 2 3 4", "1.jpg 2.jpg 4.jpg", "", ".jpg"},
        {"cat dog ape", "cat.jpg dog.jpg", NULL, NULL},
        {"cat dog ape", "cat.jpg dog.jpg ape.jpg", "", ".jpg"},
        {"1 2 1 2", "1.jpg 2.jpg", NULL, NULL}, /* not more than half are different */
        {"1 2 1 2 3", "1.jpg 2.jpg 3.jpg", "", ".jpg"},
        {"cat dog cat dog", "cat.jpg dog.jpg", NULL, NULL},
        {"a1 a2 a1 a2", "a1.jpg a2.jpg", "", ".jpg"}, /* several rows of an image */
        {"0 1 0 1", "0.jpg 1.jpg", NULL, NULL},       /* a zero is not in front of a number */
        {"cat dog ape cow", "cat.jpg dog.jpg ape.jpg", "", ".jpg"},
        {"a b c d e f g h", "a.jpg b.jpg c.jpg d.jpg e.jpg", NULL, NULL},
        {"a b c d e f g h", "a.jpg b.jpg c.jpg d.jpg e.jpg f.jpg", "", ".jpg"},
        {"a1 a2 a3", "a1.jpg", NULL, NULL},
        {"a1 a2 a3", "a1.jpg a3.jpg", "", ".jpg"},
        {"00 1 2 3", "1.jpg 2.jpg", "", ".jpg"},
        {"x.jpg b c d", "b.jpg c.jpg", "", ".jpg"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
}

static const struct {
    const char *text;
    fg_csv_header header;
    const char *column, *advice;
} image_columns[] = {
    {"id,x,y\na1,1.5,0.5\na2,2.5,1.5\n", FG_CSV_HEADER_CHECKED, "id", "to train on the images: "},
    {"a1,1.5,0.5\na2,2.5,1.5\n", FG_CSV_HEADER_NO, "0",
     "to train on the images, add a first line with names of the columns, such as "
     "image,label: "},
    {"x,id,z,y\n1.5,1,-1,0.5\n2.5,2,-2,1.5\n", FG_CSV_HEADER_CHECKED, "id",
     "to train on the images: "},
};

/* What is said of a column that names files, with and without a header. */
static void columns_of_images_are_ignored_in_words(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    write_files(folder, "a1.jpg a2.jpg 1.jpg 2.jpg 1.5.jpg 2.5.jpg -1.jpg -2.jpg");
    for (size_t i = 0; i < sizeof(image_columns) / sizeof(image_columns[0]); i++) {
        char path[300], reason[500], line[2000];
        fg_csv_parts parts;
        fg_csv_column c;
        (void)snprintf(path, sizeof(path), "%s/t.csv", folder);
        fgt_write(path, image_columns[i].text, strlen(image_columns[i].text));
        heard[0] = '\0';
        fg_log_set(hear, NULL);
        fgt_ok(
            fg_csv_load(path, &(fg_csv_options){.header = image_columns[i].header}, &parts, &err));
        fg_log_set(NULL, NULL);
        (void)snprintf(reason, sizeof(reason), "it names image files, such as '%s/%s.jpg'", folder,
                       i < 2 ? "a1" : "1");
        (void)snprintf(line, sizeof(line),
                       "%s: ignored column '%s': %s; %sfulgurite init '%s'; to confirm, add it to "
                       "data.ignore\n",
                       path, image_columns[i].column, reason, image_columns[i].advice, path);
        assert_string_equal(heard, line);
        fgt_ok(fg_csv_schema_column(parts.schema, i < 2 ? 0 : 1, &c, &err));
        assert_string_equal(c.ignored_because, reason);
        assert_string_equal(c.kind, "ignored");
        fg_dataset_destroy(parts.train);
        fg_csv_schema_destroy(parts.schema);
        fgt_ok(fg_csv_load(path, &(fg_csv_options){.header = image_columns[i].header, .target = ""},
                           &parts, &err)); /* not where no model is trained */
        fgt_ok(fg_csv_schema_column(parts.schema, i < 2 ? 0 : 1, &c, &err));
        assert_null(c.ignored_because);
        fg_dataset_destroy(parts.train);
        fg_csv_schema_destroy(parts.schema);
    }
}

/* Names in the 64th column are those of files, but not in the next one. */
static void columns_far_to_the_right_name_no_files(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "t.csv");
    write_files(folder, "a1.jpg a2.jpg");
    for (size_t at = 63; at <= 64; at++) {
        static const char *const ends[] = {"id,y\n", "a1,0.5\n", "a2,1.5\n"};
        fgi_buf text = {0};
        fg_csv_parts parts;
        fg_csv_column c;
        for (int row = 0; row < 3; row++) {
            for (size_t i = 0; i < at; i++)
                fgi_buf_printf(&text, row == 0 ? "c%d," : "%d.5,", row == 0 ? (int)i : row);
            fgi_buf_puts(&text, ends[row]);
        }
        fgt_write(path, text.data, text.size);
        fgi_buf_fini(&text);
        fgt_ok(fg_csv_load(path, NULL, &parts, &err));
        fgt_ok(fg_csv_schema_column(parts.schema, (int64_t)at, &c, &err));
        assert_string_equal(c.name, "id");
        assert_true((c.ignored_because != NULL) == (at == 63));
        fg_dataset_destroy(parts.train);
        fg_csv_schema_destroy(parts.schema);
    }
}

/* Of many folders, the first ones are looked at. */
static void folders_have_a_limit(void **state)
{
    (void)state;
    for (int last = 63; last <= 64; last++) {
        char name[32];
        const char *folder = fgt_temp_folder();
        fgi_image_places places = {0};
        for (int i = 0; i <= last; i++) {
            (void)snprintf(name, sizeof(name), "f%02d", i);
            fgt_ok(fgi_folder_make(fgt_path(folder, name), &err));
        }
        fgi_image_places_list(&places, fgt_path(folder, "t.csv"));
        assert_int_equal(places.count, 64);
        assert_string_equal(places.list[0], ""); /* the table's */
        assert_string_equal(places.list[63], "f62");
        fgi_image_places_fini(&places);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(folders_have_a_limit),
    cmocka_unit_test(columns_far_to_the_right_name_no_files),
    cmocka_unit_test(columns_of_images_are_ignored_in_words),
    cmocka_unit_test(files_are_found),
    cmocka_unit_test(cells_may_be_absolute_paths),
    cmocka_unit_test(values_are_not_names),
};
FGT_MAIN(tests)
