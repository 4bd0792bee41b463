/* test_export_name.c - names of records become safe paths.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <string.h>
#include "packer/export_name.h"

static const struct {
    const char *name, *class_name, *extension, *path;
} safe_paths[] = {
    {"a/b.jpg", NULL, ".jpg", "a/b.jpg"},
    {"a/b.JPEG", NULL, ".jpg", "a/b.JPEG"},
    {"a/b.png", NULL, ".jpg", "a/b.jpg"},
    {"a/b.txt", NULL, ".jpg", "a/b.txt.jpg"},
    {"a/b.tiff", NULL, "", "a/b.tiff"},
    {"../../etc/passwd", NULL, "", "_./_./etc/passwd"},
    {"/etc/passwd", NULL, "", "etc/passwd"},
    {"a/../b", NULL, "", "a/_./b"},
    {"a/./b", NULL, "", "a/b"},
    {"a//b/", NULL, "", "a/b/record-000000012"},
    {"..", NULL, "", "_."},
    {".", NULL, "", "_"},
    {"", NULL, ".png", "record-000000012.png"},
    {".hidden/.x.png", NULL, ".png", "_hidden/_x.png"},
    {".png", NULL, ".png", "_png.png"},
    {"x", "..", "", "_./x"},
    {"x", "a/../b", "", "a_.._b/x"},
    {"x", "", "", "_/x"},
    {"cat/x", "cat", "", "cat/x"},
    {"cat", "cat", "", "cat/cat"},
    {"line\nend\\", NULL, "", "line\nend\\"},
};

static void paths_are_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof safe_paths / sizeof safe_paths[0]; i++) {
        fgi_buf path = {0};
        const fgi_export_name name = {.name = safe_paths[i].name,
                                      .class_name = safe_paths[i].class_name,
                                      .extension = safe_paths[i].extension,
                                      .record = 12};
        fgi_export_path(&name, &path);
        assert_string_equal(path.data, safe_paths[i].path);
        fgi_buf_fini(&path);
    }
}

/* Of a record with the number 12: its split and class, its variant, one field of several, a name
 * that is taken. */
static const struct {
    fgi_export_name name;
    const char *path;
} rows[] = {
    {{.name = "train/x", .split = "train"}, "train/x"},
    {{.name = "training/x", .split = "train"}, "train/x"},
    {{.name = "TRAIN/x", .split = "train"}, "train/x"},
    {{.name = "val/x", .split = "val"}, "val/x"},
    {{.name = "valid/x", .split = "val"}, "val/x"},
    {{.name = "validation/x", .split = "val"}, "val/x"},
    {{.name = "test/x", .split = "test"}, "test/x"},
    {{.name = "testing/x", .split = "test"}, "test/x"},
    {{.name = "trainer/x", .split = "train"}, "train/trainer/x"},
    {{.name = "tests/x", .split = "test"}, "test/tests/x"},
    {{.name = "tes/x", .split = "test"}, "test/tes/x"},
    {{.name = "train/x", .split = "val"}, "val/train/x"},
    {{.name = "valid", .split = "val"}, "val/valid"},
    {{.name = "val/cat/x", .split = "val", .class_name = "cat"}, "val/cat/x"},
    {{.name = "cat/val/x", .split = "val", .class_name = "cat"}, "val/cat/val/x"},
    {{.name = "cat/cat/x", .class_name = "cat"}, "cat/cat/x"},
    {{.name = "cats/x", .class_name = "cat"}, "cat/cats/x"},
    {{.name = "Cat/x", .class_name = "cat"}, "cat/Cat/x"},
    {{.name = "x.jpg", .with_number = true}, "x-12.jpg"},
    {{.name = "", .extension = ".jpg", .with_number = true}, "record-000000012.jpg"},
    {{.name = "", .extension = ".jpg", .variant = 3}, "record-000000012-v3.jpg"},
    {{.name = "x.jpg", .variant = 10}, "x-v10.jpg"},
    {{.name = "x.jpg", .variant = 1, .with_number = true}, "x-v1-12.jpg"},
    {{.name = "x.jpg", .extension = ".npy", .field = "y"}, "x.y.npy"},
    {{.name = "x.jpg", .extension = ".npy", .field = "../y", .variant = 1}, "x-v1._./y.npy"},
};

static void each_part_of_a_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_buf path = {0};
        fgi_export_name name = rows[i].name;
        name.record = 12;
        if (name.extension == NULL)
            name.extension = "";
        fgi_export_path(&name, &path);
        assert_string_equal(path.data, rows[i].path);
        fgi_buf_fini(&path);
    }
}

/* The extensions of images are replaced by that of what is written; others are part of the name. */
static void extensions_of_images_are_replaced(void **state)
{
    static const char *const known[] = {".jpg", ".jpeg", ".png",  ".ppm",  ".bmp",
                                        ".pgm", ".tif",  ".tiff", ".webp", ".GIF"};
    static const char *const others[] = {".txt", ".jp", ".pngx", ".tar"};
    (void)state;
    for (size_t i = 0; i < 14; i++) {
        fgi_buf path = {0};
        char text[32], expected[32];
        (void)snprintf(text, sizeof text, "a.b%s", i < 10 ? known[i] : others[i - 10]);
        (void)snprintf(expected, sizeof expected, "a.b%s.npy", i < 10 ? "" : others[i - 10]);
        const fgi_export_name name = {.name = text, .extension = ".npy"};
        fgi_export_path(&name, &path);
        assert_string_equal(path.data, expected);
        fgi_buf_fini(&path);
    }
}

/* A component of 200 bytes stays; a longer one has at most 200 with its hash of 32 digits and a
 * hyphen, so 167 of its bytes, or 166 if the next one is within a character. */
static void long_components_are_cut(void **state)
{
    static const struct {
        const char *character;
        size_t count, size, kept;
    } cuts[] = {{"a", 200, 200, 200},
                {"a", 201, 200, 167},
                {"\xc3\xa4", 100, 200, 200},
                {"\xc3\xa4", 101, 199, 166},
                {"\xe2\x82\xac", 67, 198, 165}};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        fgi_buf text = {0}, path = {0};
        for (size_t k = 0; k < cuts[i].count; k++)
            fgi_buf_puts(&text, cuts[i].character);
        fgi_buf_puts(&text, "/x");
        fgi_export_path(&(fgi_export_name){.name = text.data, .extension = ""}, &path);
        assert_int_equal(path.size, cuts[i].size + 2);
        assert_memory_equal(path.data, text.data, cuts[i].kept);
        assert_string_equal(path.data + cuts[i].size, "/x");
        assert_int_equal(path.data[cuts[i].kept], cuts[i].kept == cuts[i].size ? '/' : '-');
        fgi_buf_fini(&text);
        fgi_buf_fini(&path);
    }
}

/* Of many components together, only a hash is left, with what distinguishes the record. */
static void long_names_become_a_hash(void **state)
{
    char text[5001], extension[16];
    (void)state;
    for (int i = 0; i < 5000; i++)
        text[i] = i % 2 == 0 ? 'd' : '/';
    text[5000] = '\0';
    for (int i = 0; i < 3; i++) {
        fgi_buf path = {0};
        const fgi_export_name name = {.name = text,
                                      .extension = ".jpg",
                                      .record = 12,
                                      .variant = i > 0 ? 3 : 0,
                                      .with_number = i == 2};
        (void)snprintf(extension, sizeof extension, "%s%s.jpg", i == 2 ? "-12" : "",
                       i > 0 ? "-v3" : "");
        fgi_export_path(&name, &path);
        assert_int_equal(path.size, 5 + 32 + strlen(extension));
        assert_memory_equal(path.data, "long-", 5);
        assert_string_equal(path.data + 37, extension);
        fgi_buf_fini(&path);
    }
}

/* Files that are exported as they were keep the extension of an image, whatever they contain. */
static void extensions_of_files_are_kept(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a/b.tiff", "a/b.tiff"}, {"a/1.PNG", "a/1.PNG"}, {"a/1.key", "a/1.key.jpg"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fgi_buf path = {0};
        const fgi_export_name name = {
            .name = cases[i][0], .extension = ".jpg", .keeps_extension = true};
        fgi_export_path(&name, &path);
        assert_string_equal(path.data, cases[i][1]);
        fgi_buf_fini(&path);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(paths_are_safe),
    cmocka_unit_test(each_part_of_a_path),
    cmocka_unit_test(extensions_of_images_are_replaced),
    cmocka_unit_test(long_components_are_cut),
    cmocka_unit_test(long_names_become_a_hash),
    cmocka_unit_test(extensions_of_files_are_kept),
};
FGT_MAIN(tests)
