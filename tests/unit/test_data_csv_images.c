/* test_data_csv_images.c - columns of a table that name image files near it: where these are, which
 * extension the cells lack, and which values are not names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include "base/alloc.h"
#include "base/file.h"
#include "data/csv_images.h"

static fg_error err;

/* An empty file; the folders of its name are created. */
static void put(const char *folder, const char *name)
{
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

static void files_are_found(void **state)
{
    static const listing cases[] = {
        {"a1 a2", "a1.jpg a2.jpg", "", ".jpg"},
        {"a1.png a2.png", "x/a1.png x/a2.png", "x", ""},
        {"1 2", "x/y/1.JPG x/y/2.JPG", "x/y", ".JPG"},
        {"1 2", "x/y/z/1.jpg x/y/z/2.jpg", NULL, NULL}, /* deeper */
        {"x/1 x/2", "in/x/1.tif in/x/2.tif", "in", ".tif"},
        {"1 2", "a_test/1.jpg a_test/2.jpg b/1.jpg b/2.jpg z_Train/1.jpg z_Train/2.jpg", "z_Train",
         ".jpg"},
        {"1 2", "a_test/1.jpg a_test/2.jpg b/1.jpg b/2.jpg", "b", ".jpg"},
        {"1 2", "b/c/1.jpg b/c/2.jpg d/1.jpg d/2.jpg", "d", ".jpg"}, /* the nearest */
        {"1 2", "@eaDir/1.jpg @eaDir/2.jpg .x/1.jpg .x/2.jpg", NULL, NULL},
        {"1 2 3 4", "1.png 2.png 3.png 1.jpg 2.jpg 3.jpg 4.jpg", "", ".jpg"}, /* the most */
        {"a.png b", "a.png b.png", "", ".png"},
        {"1 2", "1.txt 2.txt", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
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
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_are_found),
    cmocka_unit_test(values_are_not_names),
};
FGT_MAIN(tests)
