/* test_export_name.c - names of records become safe paths.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

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
    cmocka_unit_test(extensions_of_files_are_kept),
};
FGT_MAIN(tests)
