/* Image folders: classes, splits, odd names, links, and reading files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <errno.h>
#include <fcntl.h>
#include <fulgurite/catalog.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "catalog/draft.h"
#include "catalog_text.h"

#define INSIST                                                                                     \
    "data.source_options to {no_split_folders: true} (--source='{no_split_folders: true}' of "     \
    "fulgurite init and fulgurite pack)"
#define MOVE_SPLITS                                                                                \
    "move what is not a split elsewhere, or use the folder of the training images; if all are "    \
    "classes, set " INSIST

static fg_error err;

/* Writes a file with its own name as content, and the folders to it. */
static void add(const char *root, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    char *parent = fgi_path_parent(path);
    fgt_ok(fgi_folder_make(parent, &err));
    fgi_free(parent);
    fgt_write(path, name, strlen(name) < 12 ? strlen(name) : 12);
}

/* Files separated by blanks; what is said of the folder, or the error behind its path. */
typedef struct layout {
    const char *files, *text;
} layout;

static const char *make_layout(const char *files)
{
    char names[400];
    const char *folder = fgt_temp_folder();
    (void)snprintf(names, sizeof(names), "%s", files);
    for (char *rest = names, *name; (name = strsep(&rest, " ")) != NULL;)
        add(folder, name);
    return folder;
}

static void folders_are_classes_in_byte_order(void **state)
{
    (void)state;
    static const char *const others[] = {"a/noextension", "readme.md", "loose.jpg", "a/.hidden.jpg",
                                         ".cache/x.jpg"};
    const char *root = fgt_temp_folder();
    add(root, "b/2.jpg");
    add(root, "b/10.PNG");
    add(root, "a-b/x.jpeg");
    add(root, "a/deep/er/x.webp");
    add(root, "a/z.gif");
    add(root, "Z/i.tif");
    add(root, "\xc3\xa9/i.bmp");
    add(root, "a/notes.txt");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        add(root, others[i]);
    fgt_ok(fgi_folder_make(fgt_path(root, "empty"), &err));
    fgt_catalog_is(root, NULL,
                   "Z/i.tif 0 [Z/i.tif]\n"
                   "a/deep/er/x.webp 1 [a/deep/er/x.]\n"
                   "a/z.gif 1 [a/z.gif]\n"
                   "a-b/x.jpeg 2 [a-b/x.jpeg]\n"
                   "b/10.PNG 3 [b/10.PNG]\n"
                   "b/2.jpg 3 [b/2.jpg]\n"
                   "\xc3\xa9/i.bmp 4 [\xc3\xa9/i.bmp]\n"
                   "class Z\nclass a\nclass a-b\nclass b\nclass \xc3\xa9\n"
                   "skip a/noextension: not an image (by its extension)\n"
                   "skip a/notes.txt: not an image (by its extension)\n"
                   "skip empty: a folder without images, which is not a class\n"
                   "skip loose.jpg: an image next to the folders of the classes\n"
                   "skip readme.md: not an image (by its extension)\n");
}

static void one_image_is_a_source(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    const char *const classes[] = {"cat", "dog"};
    add(root, "cat/1.jpg");
    add(root, "cat/2.jpg");
    add(root, "notes.txt");
    add(root, "folder.png/3.jpg");
    fgt_catalog_is(fgt_path(root, "cat/2.jpg"), NULL, "2.jpg [cat/2.jpg]\n");
    fgt_catalog_is(fgt_path(root, "cat/2.jpg"),
                   &(fg_catalog_options){.class_names = classes, .class_count = 2},
                   "2.jpg [cat/2.jpg]\nclass cat\nclass dog\n");
    fgt_catalog_is(fgt_path(root, "folder.png"), NULL, "3.jpg [folder.png/3]\n");
    fg_catalog *catalog = NULL;
    assert_int_equal(fg_catalog_open(fgt_path(root, "notes.txt"), NULL, &catalog, &err), FG_EINVAL);
    assert_int_equal(fg_catalog_open(fgt_path(root, "cat/9.jpg"), NULL, &catalog, &err),
                     FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '~/cat/9.jpg': No such file or directory");
}

/* Archives before TFRecord files, and folders before archives. */
static void folders_have_one_kind(void **state)
{
    (void)state;
    static const char zeros[1024];
    const char *root = fgt_temp_folder();
    fgt_write(fgt_path(root, "s.tar"), zeros, sizeof(zeros));
    for (char name[] = "a.tfrecord"; name[0] <= 'z'; name[0]++)
        fgt_write(fgt_path(root, name), "no record", 9);
    fgt_catalog_fails(root, NULL, FG_ENOTFOUND, "'PATH': no samples");
    add(root, "cat/1.jpg");
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    assert_string_equal(fg_catalog_kind_of(catalog), "folder");
    assert_int_equal(fg_catalog_skip_count(catalog), 27);
    fg_catalog_close(catalog);
}

static void folders_named_like_splits_are_splits(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "train/dog/1.jpg");
    add(root, "train/cat/1.jpg");
    add(root, "Validation/dog/2.jpg");
    add(root, "test/3.jpg");
    add(root, "LICENSE");
    fgt_catalog_is(root, NULL,
                   "Validation/dog/2.jpg 1 val [Validation/d]\n"
                   "test/3.jpg test [test/3.jpg]\n"
                   "train/cat/1.jpg 0 train [train/cat/1.]\n"
                   "train/dog/1.jpg 1 train [train/dog/1.]\n"
                   "class cat\nclass dog\n"
                   "skip LICENSE: next to the folders of the splits\n");
    fgt_catalog_is(root, &(fg_catalog_options){.no_split_folders = true},
                   "Validation/dog/2.jpg 0 [Validation/d]\n"
                   "test/3.jpg 1 [test/3.jpg]\n"
                   "train/cat/1.jpg 2 [train/cat/1.]\n"
                   "train/dog/1.jpg 2 [train/dog/1.]\n"
                   "class Validation\nclass test\nclass train\n"
                   "skip LICENSE: not an image (by its extension)\n");
    fgt_catalog_is(root, &(fg_catalog_options){.no_classes = true},
                   "Validation/dog/2.jpg val [Validation/d]\n"
                   "test/3.jpg test [test/3.jpg]\n"
                   "train/cat/1.jpg train [train/cat/1.]\n"
                   "train/dog/1.jpg train [train/dog/1.]\n"
                   "skip LICENSE: next to the folders of the splits\n");
}

static void splits_next_to_other_folders_are_an_error(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "train/dog/1.jpg");
    add(root, "Validation/dog/2.jpg");
    add(root, "test/3.jpg");
    add(root, "other/x/1.jpg");
    fgt_catalog_is(fgt_path(root, "other"), NULL, "x/1.jpg 0 [other/x/1.jp]\nclass x\n");
    fg_catalog_options options = {.no_split_folders = true};
    fg_catalog *catalog = NULL;
    fgt_catalog_fails(root, NULL, FG_EFORMAT,
                      "'PATH': 'Validation', 'test' and 'train' are named as splits, but 'other' "
                      "is not\n" MOVE_SPLITS);
    fgt_ok(fg_catalog_open(root, &options, &catalog, &err));
    assert_int_equal(fg_catalog_class_count(catalog), 4);
    fg_catalog_close(catalog);
    options = (fg_catalog_options){.no_classes = true}; /* images to predict */
    fgt_ok(fg_catalog_open(root, &options, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 4);
    assert_int_equal(fg_catalog_class_count(catalog), 0);
    fg_catalog_close(catalog);
}

/* Appends the lines of fg_catalog_describe, with the level: "!" is a warning. */
static void put_line(void *self, fg_log_level level, const char *line)
{
    fgi_buf *text = self;
    const char *end = strchr(line + 1, '\''); /* of the path, which is another one in each run */
    assert_non_null(end);
    fgi_buf_printf(text, "%s%s\n", level == FG_LOG_WARNING ? "!" : "",
                   strncmp(end, "': ", 3) == 0 ? end + 3 : end + 2);
}

static void contains_text(const char *whole, const char *part)
{
    if (whole == NULL || strstr(whole, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, whole != NULL ? whole : "");
}

static void describes(const char *root, const char *expected)
{
    fgi_buf text = {0};
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    fgt_ok(fg_catalog_describe(catalog, put_line, &text, &err));
    assert_string_equal(text.data != NULL ? text.data : "", expected);
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
}

/* What archives, file servers and notebooks leave behind is neither a class nor a split. */
static void folders_of_systems_are_no_classes(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder(), *splits = fgt_temp_folder();
    static const char *const others[] = {"__MACOSX/cat/._1.jpg", "@eaDir/1.jpg/thumb.jpg",
                                         "lost+found/1.jpg", ".ipynb_checkpoints/1.jpg",
                                         "cat/@eaDir/1.jpg/thumb.jpg"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        add(root, others[i]);
        add(splits, others[i]);
    }
    add(root, "cat/1.jpg");
    add(root, "dog/1.jpg");
    fgt_ok(fgi_folder_make(fgt_path(root, "train"), &err)); /* empty: no split */
    fgt_catalog_is(root, NULL,
                   "cat/1.jpg 0 [cat/1.jpg]\ndog/1.jpg 1 [dog/1.jpg]\nclass cat\nclass dog\n"
                   "skip @eaDir: a folder of an operating system or file server\n"
                   "skip __MACOSX: a folder of an operating system or file server\n"
                   "skip cat/@eaDir: a folder of an operating system or file server\n"
                   "skip lost+found: a folder of an operating system or file server\n"
                   "skip train: a folder without images, which is not a class\n");
    assert_int_equal(rename(fgt_path(root, "cat/1.jpg"), fgt_path(root, "train/1.jpg")), 0);
    fgt_catalog_fails(root, NULL, FG_EFORMAT,
                      "'PATH': 'train' is named as a split, but 'dog' is not\n" MOVE_SPLITS);
    add(splits, "train/cat/1.jpg");
    add(splits, "val/cat/2.jpg");
    describes(splits, "skipped '@eaDir', '__MACOSX' and 'lost+found': a folder of an operating "
                      "system or file server\n"
                      "!skipped 'cat': a folder without images, which is not a class\n");
}

/* An archive that was unpacked one level too deep. */
static void a_single_folder_around_the_data_is_noted(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    static const char *const names[] = {"cat"};
    const fg_catalog_options given = {.class_names = names, .class_count = 1};
    add(root, "archive/data/train/cat/1.jpg");
    add(root, "archive/data/val/cat/2.jpg");
    add(root, "archive/__MACOSX/3.jpg");
    fgt_catalog_is(root, &given,
                   "archive/data/train/cat/1.jpg 0 train [archive/data]\n"
                   "archive/data/val/cat/2.jpg 0 val [archive/data]\nclass cat\n"
                   "skip archive/__MACOSX: a folder of an operating system or file server\n");
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    fgt_ok(fg_catalog_describe(catalog, put_line, &text, &err));
    contains_text(text.data, "!contains only one folder with images, 'archive': the folders in "
                             "'archive' are used\n");
    contains_text(text.data, "!contains only one folder with images, 'data'");
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
}

static void a_folder_around_one_split_is_none(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "archive/train/cat/1.jpg");
    fgt_catalog_is(root, NULL, "archive/train/cat/1.jpg 0 train [archive/trai]\nclass cat\n");
}

static void inner_folders_may_repeat_the_split(void **state)
{
    (void)state;
    const char *doubled = fgt_temp_folder(), *one = fgt_temp_folder();
    static const char *const names[] = {"cat"};
    const fg_catalog_options given = {.class_names = names, .class_count = 1};
    add(doubled, "train/train/cat/1.jpg");
    add(doubled, "val/val/cat/2.jpg");
    fgt_catalog_is(doubled, NULL,
                   "train/train/cat/1.jpg 0 train [train/train/]\n"
                   "val/val/cat/2.jpg 0 val [val/val/cat/]\nclass cat\n");
    fgt_catalog_is(make_layout("train/val/a/1.jpg val/b/2.jpg"), NULL, /* of another split */
                   "train/val/a/1.jpg 1 train [train/val/a/]\nval/b/2.jpg 0 val [val/b/2.jpg]\n"
                   "class b\nclass val\n");
    add(one, "cat/2020/may/1.jpg");
    fgt_catalog_is(one, NULL, "cat/2020/may/1.jpg 0 [cat/2020/may]\nclass cat\n");
    add(one, "cat/2021/2.jpg"); /* the class of a model remains one */
    fgt_catalog_is(one, &given,
                   "cat/2020/may/1.jpg 0 [cat/2020/may]\ncat/2021/2.jpg 0 [cat/2021/2.j]\n"
                   "class cat\n");
}

static void layouts_that_are_probably_wrong_are_errors(void **state)
{
    (void)state;
    const char *words = fgt_temp_folder();
    static const char *const names[] = {"cat", "seg_test", "seg_train"};
    add(words, "seg_train/cat/1.jpg");
    add(words, "seg_test/cat/2.jpg");
    fgt_catalog_fails(words, NULL, FG_EFORMAT,
                      "'PATH': 'seg_test' and 'seg_train' look like splits, not like classes\nuse "
                      "the folder of the training images, or rename the folders to train, val and "
                      "test; if they are classes, set " INSIST);
    fg_catalog *catalog = NULL;
    const fg_catalog_options given = {.class_names = names, .class_count = 3};
    fgt_ok(fg_catalog_open(words, &given, &catalog, &err));
    fg_catalog_close(catalog);
    add(words, "old/new_train/1.jpg");
    add(words, "old/old_train/1.jpg"); /* one word twice: they are classes */
    fgt_ok(fg_catalog_open(fgt_path(words, "old"), NULL, &catalog, &err));
    assert_int_equal(fg_catalog_class_count(catalog), 2);
    fg_catalog_close(catalog);
}

static void classes_without_images_of_their_own_are_errors(void **state)
{
    (void)state;
    const char *inner = fgt_temp_folder(), *heic = fgt_temp_folder();
    fg_catalog *catalog = NULL;
    add(inner, "cat/train/1.jpg");
    add(inner, "dog/train/1.jpg");
    fgt_catalog_fails(inner, NULL, FG_EFORMAT,
                      "'PATH': the folder of the class 'cat' contains 'train', which is named as a "
                      "split\nmove the folders of the classes into those of the splits "
                      "(train/cat); if it is not a split, set " INSIST);
    fgt_ok(fg_catalog_open(inner, &(fg_catalog_options){.no_split_folders = true}, &catalog, &err));
    fg_catalog_close(catalog);
    add(heic, "cat/1.HEIC");
    add(heic, "dog/1.jpg");
    fgt_catalog_fails(heic, NULL, FG_EFORMAT,
                      "'PATH': the folder 'cat' contains no images that can be read, but 1 .heic "
                      "file\nconvert them to JPEG or PNG, or move the folder elsewhere");
    static const char *const given[] = {"cat", "dog"};
    fgt_ok(fg_catalog_open(heic, &(fg_catalog_options){.class_names = given, .class_count = 2},
                           &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 1);
    fg_catalog_close(catalog);
}

static void skipped_files_are_said_by_kind(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    static const char *const names[] = {"cat/1.jpg",  "cat/2.heic",    "cat/3.HEIC", "dog/1.jpg",
                                        "dog/a.avif", "dog/notes.txt", "dog/b.txt",  "loose.jpg",
                                        "README",     "cat/.DS_Store", "cat/x.1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        add(root, names[i]);
    describes(root,
              "skipped 4 files that are not images: 1 with no extension, 1 .1, 2 .txt\n"
              "!skipped 2 .heic files, such as 'cat/2.heic': the format is not supported; convert "
              "them to JPEG or PNG\n"
              "!skipped 1 .avif file, such as 'dog/a.avif': the format is not supported; convert "
              "it to JPEG or PNG\n"
              "!skipped 'loose.jpg': an image next to the folders of the classes\n");
    add(root, "cat/more/4.jpg");
    add(root, "birds/owl/5.jpg");
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    fgt_ok(fg_catalog_describe(catalog, put_line, &text, &err));
    contains_text(text.data, "!1 of 3 classes have images only in inner folders, such as "
                             "'birds/owl/5.jpg' of class 'birds'; if the inner folders");
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
    static const char *const kinds[] = {"many/1.jpg", "many/a.a", "many/b.b", "many/c.c",
                                        "many/d.d",   "many/e.e", "many/f.f", "many/g.g"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        add(root, kinds[i]);
    describes(fgt_path(root, "many"),
              "skipped 7 files that are not images: 1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 2 others\n");
    add(root, "empty/notes.txt"); /* not a class whose images are all .heic, as there are in cat */
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_class_count(catalog), 4);
    fg_catalog_close(catalog);
}

static void images_without_folders_have_no_label(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "2.jpg");
    add(root, "1.jpg");
    fgt_catalog_is(root, NULL, "1.jpg [1.jpg]\n2.jpg [2.jpg]\n");
    add(root, "year/3.jpg");
    fgt_catalog_is(root, &(fg_catalog_options){.no_classes = true},
                   "1.jpg [1.jpg]\n2.jpg [2.jpg]\nyear/3.jpg [year/3.jpg]\n");
}

static void given_classes_define_the_indices(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    static const char *const names[] = {"dog", "bird", "cat"};
    add(root, "cat/1.jpg");
    add(root, "dog/1.jpg");
    fg_catalog_options options = {.class_names = names, .class_count = 3};
    fgt_catalog_is(root, &options,
                   "cat/1.jpg 2 [cat/1.jpg]\ndog/1.jpg 0 [dog/1.jpg]\n"
                   "class dog\nclass bird\nclass cat\n");
    options.class_count = 2;
    fgt_catalog_fails(
        root, &options, FG_EFORMAT,
        "'PATH': sample 'cat/1.jpg' has the class 'cat': expected one of 'dog' and 'bird'");
}

static void a_long_list_of_classes_is_shortened(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    static char text[COUNT][8];
    const char *names[COUNT];
    const char *root = fgt_temp_folder();
    add(root, "cat\n/1.jpg");
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "%03d", i);
        names[i] = text[i];
    }
    const fg_catalog_options options = {.class_names = names, .class_count = COUNT};
    fgt_catalog_fails(
        root, &options, FG_EFORMAT,
        "'PATH': sample 'cat\\n/1.jpg' has the class 'cat\\n': expected one of '000', '001', "
        "'002', '003', '004', '005', '006', '007', '008', '009', '010', '011', '012', '013', "
        "'014', '015', '016', '017', '018', '019' and 10 more");
}

static void names_are_bytes(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "a b/\xff\xfe.jpg");
    add(root, "a b/line\nend.jpg");
    add(root, "a b/back\\slash .jpg");
    add(root, "a b/\xf0\x9f\x90\xb1.jpg");
    fgt_catalog_is(root, NULL,
                   "a b/back\\\\slash .jpg 0 [a b/back\\\\sla]\n"
                   "a b/line\\nend.jpg 0 [a b/line\\nend]\n"
                   "a b/\xf0\x9f\x90\xb1.jpg 0 [a b/\xf0\x9f\x90\xb1.jpg]\n"
                   "a b/\\xff\\xfe.jpg 0 [a b/\\xff\\xfe.jpg]\n"
                   "class a b\n");
}

static void links_are_followed_but_not_in_circles(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder(), *other = fgt_temp_folder();
    add(other, "x.jpg");
    add(root, "a/1.jpg");
    assert_int_equal(symlink("..", fgt_path(root, "a/up")), 0);
    assert_int_equal(symlink(".", fgt_path(root, "self")), 0);
    assert_int_equal(symlink("gone.jpg", fgt_path(root, "a/broken.jpg")), 0);
    assert_int_equal(symlink("1.jpg", fgt_path(root, "a/2.jpg")), 0);
    assert_int_equal(symlink(other, fgt_path(root, "linked")), 0);
    assert_int_equal(mkfifo(fgt_path(root, "a/pipe.jpg"), 0600), 0);
    fgt_catalog_is(root, NULL,
                   "a/1.jpg 0 [a/1.jpg]\na/2.jpg 0 [a/1.jpg]\nlinked/x.jpg 1 [x.jpg]\n"
                   "class a\nclass linked\n"
                   "skip a/broken.jpg: a broken symbolic link\n"
                   "skip a/pipe.jpg: not a regular file\n"
                   "skip a/up: a symbolic link to a folder that contains it\n"
                   "skip self: a symbolic link to a folder that contains it\n");
}

static void unreadable_folders_are_errors(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "a/1.jpg");
    fgt_catalog_fails(fgt_path(root, "none"), NULL, FG_ENOTFOUND,
                      "cannot open 'PATH': No such file or directory");
    fgt_ok(fgi_folder_make(fgt_path(root, "b"), &err));
    fgt_catalog_fails(fgt_path(root, "b"), NULL, FG_ENOTFOUND, "'PATH': no samples");
    add(root, "b/x.txt");
    fgt_catalog_fails(
        fgt_path(root, "b"), NULL, FG_ENOTFOUND,
        "'PATH': no samples\nskipped, for example: 'x.txt': not an image (by its extension)");
    if (geteuid() == 0)
        skip(); /* root may read everything */
    assert_int_equal(chmod(fgt_path(root, "b"), 0), 0);
    fgt_catalog_fails(root, NULL, FG_EIO, "/b/': Permission denied");
    assert_int_equal(chmod(fgt_path(root, "b"), 0700), 0);
}

static void options_are_checked(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    static const char *const names[] = {"a", NULL};
    add(root, "a/1.jpg");
    add(root, "a/1.unknown");
    fgt_catalog_fails("", NULL, FG_EINVAL, "fg_catalog_open: the path is empty");
    fgt_catalog_fails(
        root, &(fg_catalog_options){.kind = "zip"}, FG_EINVAL,
        "fg_catalog_open: unknown kind 'zip': expected auto, folder, csv, jsonl, tar or tfrecord");
    fgt_catalog_fails(fgt_path(root, "a/1.unknown"), NULL, FG_EINVAL,
                      "'PATH': expected a folder, an image, or a file .csv, .tsv, .jsonl, .tar or "
                      ".tfrecord\nif it has another name, set the kind (csv, jsonl, tar, "
                      "tfrecord): fulgurite pack --source='{kind: csv}', or data.source");
    fgt_catalog_fails(root, &(fg_catalog_options){.class_count = 2}, FG_EINVAL,
                      "fg_catalog_open: class_names and class_count disagree");
    fgt_catalog_fails(root, &(fg_catalog_options){.class_names = names, .class_count = 2},
                      FG_EINVAL, "fg_catalog_open: class_names[1] is NULL");
    fgt_catalog_fails(root, &(fg_catalog_options){.kind = "csv"}, FG_EIO,
                      "cannot read 'PATH': it is a folder");
}

static void files_are_read_as_they_are_now(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    add(root, "a/1.jpg");
    add(root, "a/2.jpg");
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    fg_catalog_item item;
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    assert_string_equal(fg_catalog_kind_of(catalog), "folder");
    static char large[100000];
    fgt_write(fgt_path(root, "a/1.jpg"), large, sizeof(large));
    fgt_ok(fg_catalog_read(catalog, 0, &bytes, &err));
    assert_int_equal(bytes.size, sizeof(large));
    const int files = fgt_count_entries("/proc/self/fd");
    char ends[2][4];
    uint64_t size = 0;
    bool is_known = false;
    fgt_ok(fgi_catalog_read_ends(catalog, 0, ends[0], ends[1], 4, &size, &is_known, &err));
    assert_true(is_known && size == sizeof(large));
    assert_int_equal(fgt_count_entries("/proc/self/fd"), files); /* none stays open */
    fgt_write(fgt_path(root, "a/1.jpg"), "", 0);
    fgt_ok(fg_catalog_read(catalog, 0, &bytes, &err));
    assert_int_equal(bytes.size, 0);
    assert_int_equal(unlink(fgt_path(root, "a/2.jpg")), 0);
    assert_int_equal(fg_catalog_read(catalog, 1, &bytes, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '~/a/2.jpg': No such file or directory");
    assert_int_equal(mkfifo(fgt_path(root, "a/2.jpg"), 0600), 0);
    assert_int_equal(fg_catalog_read(catalog, 1, &bytes, &err), FG_EIO);
    fgt_message_is(err.message, "cannot read '~/a/2.jpg': not a regular file");
    assert_int_equal(fg_catalog_read(catalog, 2, &bytes, &err), FG_EINVAL);
    assert_int_equal(fg_catalog_read(catalog, -1, &bytes, &err), FG_EINVAL);
    assert_int_equal(fg_catalog_item_at(catalog, 2, &item, &err), FG_EINVAL);
    assert_null(fg_catalog_skip(catalog, 0, NULL));
    assert_null(fg_catalog_class_name(catalog, 1));
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_bytes_fini(NULL);
    fg_catalog_close(catalog);
    fg_catalog_close(NULL);
}

/* Also if its content has another time: the file was moved here. */
static void files_have_a_time_of_change(void **state)
{
    (void)state;
    const char *root = fgt_temp_folder();
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    fg_catalog *catalog = NULL;
    add(root, "a/1.jpg");
    assert_int_equal(utimensat(AT_FDCWD, fgt_path(root, "a/1.jpg"), old, 0), 0);
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    assert_true(fgi_catalog_changed_s(catalog, 0) > 1e9);
    fg_catalog_close(catalog);
}

static void many_files_are_listed_in_order(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    const char *root = fgt_temp_folder();
    for (int k = 0; k < 4; k++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%d", k);
        fgt_ok(fgi_folder_make(fgt_path(root, name), &err));
    }
    const int folder = open(root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        const int number = (i * 7919) % COUNT; /* in another order */
        (void)snprintf(name, sizeof(name), "%d/%05d.jpg", number % 4, number);
        const int fd = openat(folder, name, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    (void)close(folder);
    fg_catalog *catalog = NULL;
    fg_catalog_item item, before = {0};
    fgt_ok(fg_catalog_open(root, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        fgt_ok(fg_catalog_item_at(catalog, i, &item, &err));
        assert_int_equal(item.label, i / (COUNT / 4));
        assert_true(i == 0 || strcmp(before.name, item.name) < 0);
        before = item;
    }
    fg_catalog_close(catalog);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char root[300];
    (void)snprintf(root, sizeof(root), "%s", fgt_temp_folder());
    add(root, "train/a/1.jpg");
    add(root, "train/b/x/2.jpg");
    add(root, "val/b/3.jpg");
    add(root, "val/b/3.txt");
    fgt_fault_loop(fgt_catalog_scenario, root);
}

static void kinds_are_listed(void **state)
{
    (void)state;
    static const char *const names[] = {"folder", "csv", "jsonl", "tar", "tfrecord"};
    const char *help = NULL;
    for (int i = 0; i < 5; i++) {
        assert_string_equal(fg_catalog_kind(i, &help), names[i]);
        assert_true(strlen(help) > 10);
    }
    assert_null(fg_catalog_kind(5, &help));
    assert_null(fg_catalog_kind(-1, NULL));
    char shown[8];
    assert_int_equal(fg_catalog_escape("a\nb", shown, sizeof(shown)), 4);
    assert_string_equal(shown, "a\\nb");
    assert_int_equal(fg_catalog_escape("a", shown, 1), 0);
    assert_string_equal(shown, "");
    assert_int_equal(fg_catalog_escape("abcd", shown, 4), 3); /* the least size */
    assert_string_equal(shown, "...");
}

/* ---- whole messages -------------------------------------------------------------------------- */

static const layout said_layouts[] = {
    {"a/1.jpg a/in/2.jpg b/3.jpg", "1 image in folders below those of the classes belongs to "
                                   "these classes, such as 'a/in/2.jpg'\n"},
    {"a/1.jpg a/in/2.jpg b/1.jpg b/x/y/3.jpg", "2 images in folders below those of the classes "
                                               "belong to these classes, such as "
                                               "'a/in/2.jpg'\n"},
    {"a/in/1.jpg b/2.jpg", "!1 of 2 classes have images only in inner folders, such as "
                           "'a/in/1.jpg' of class 'a'; if the inner folders are the classes, "
                           "move them up\n"},
    {"a/x/1.jpg b/y/2.jpg c/3.jpg c/4.jpg", "!2 of 3 classes have images only in inner "
                                            "folders, such as 'a/x/1.jpg' of class 'a'; if the "
                                            "inner folders are the classes, move them up\n"},
    {"a/1.jpg b/1.jpg x.txt", "skipped 1 file that is not an image: 1 .txt\n"},
    {"a/1.jpg b/1.jpg x.txt y.md z.md", "skipped 3 files that are not images: 1 .txt, 2 .md\n"},
    {"a/1.jpg b/1.jpg a/a.a a/b.b a/c.c a/d.d a/e.e",
     "skipped 5 files that are not images: 1 .a, 1 .b, 1 .c, 1 .d, 1 .e\n"},
    {"a/1.jpg b/1.jpg a/a.a a/b.b a/c.c a/d.d a/e.e a/f.f a/x.a",
     "skipped 7 files that are not images: 2 .a, 1 .b, 1 .c, 1 .d, 1 .e, 1 other\n"},
    {"a/1.jpg b/1.jpg a/a.a a/b.b a/c.c a/d.d a/e.e a/f.f",
     "skipped 6 files that are not images: 1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 1 other\n"},
    {"a/1.jpg b/1.jpg a/x.abcdefghij a/y.abcdefghijk",
     "skipped 2 files that are not images: 1 .abcdefghij, 1 with no extension\n"},
    {"a.b/1.jpg b/1.jpg a.b/noext", "skipped 1 file that is not an image: 1 with no extension\n"},
    {"a/1.jpg b/1.jpg a/1.psd",
     "!skipped 1 .psd file, such as 'a/1.psd': the format is not supported; convert it to JPEG "
     "or PNG\n"},
    {"a/1.jpg b/1.jpg 1.jpg 2.png e/t.txt",
     "!skipped '1.jpg' and '2.png': an image next to the folders of the classes\n"
     "skipped 1 file that is not an image: 1 .txt\n"
     "!skipped 'e': a folder without images, which is not a class\n"},
    {"train/a/1.jpg val/a/2.jpg 3.jpg LICENSE other/t.txt __MACOSX/1.jpg",
     "!skipped '3.jpg': an image next to the folders of the splits\n"
     "skipped 'LICENSE': next to the folders of the splits\n"
     "skipped '__MACOSX': a folder of an operating system or file server\n"
     "!skipped 'other': a folder without images, which is not a class\n"},
    {"train/a/1.jpg val/t.txt", "skipped 1 file that is not an image: 1 .txt\n"
                                "!skipped 'val': a folder without images, which is not a class\n"},
    {"up/a/1.jpg up/b/2.jpg x.jpg t.txt e/t.txt",
     "!contains only one folder with images, 'up': the folders in 'up' are used\n"
     "!skipped 'e': a folder without images, which is not a class\n"
     "skipped 1 file that is not an image: 1 .txt\n"
     "!skipped 'x.jpg': an image next to the folders of the classes\n"},
};

static void folders_are_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(said_layouts) / sizeof(said_layouts[0]); i++)
        describes(make_layout(said_layouts[i].files), said_layouts[i].text);
}

static const layout failing_layouts[] = {
    {"train/1.jpg a/2.jpg", "'PATH': 'train' is named as a split, but 'a' is not\n" MOVE_SPLITS},
    {"train/1.jpg val/1.jpg a/2.jpg b/3.jpg t.txt empty/t.txt",
     "'PATH': 'train' and 'val' are named as splits, but 'a' and 'b' are not\n" MOVE_SPLITS},
    {"up/train/1.jpg up/a/2.jpg",
     "'PATH/up/': 'train' is named as a split, but 'a' is not\n" MOVE_SPLITS},
    {"a_test/1.jpg b_test/2.jpg c_train/3.jpg",
     "'PATH': 'a_test' and 'c_train' look like splits, not like classes\nuse the folder of the "
     "training images, or rename the folders to train, val and test; if they are classes, "
     "set " INSIST},
    {"cat/1.jpg cat/val/1.jpg dog/1.jpg",
     "'PATH': the folder of the class 'cat' contains 'val', which is named as a split\nmove the "
     "folders of the classes into those of the splits (val/cat); if it is not a split, "
     "set " INSIST},
    {"cat/1.avif cat/2.tga cat/t.txt dog/1.jpg",
     "'PATH': the folder 'cat' contains no images that can be read, but 2 .tga files\nconvert them "
     "to JPEG or PNG, or move the folder elsewhere"},
};

static void layouts_fail_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failing_layouts) / sizeof(failing_layouts[0]); i++)
        fgt_catalog_fails(make_layout(failing_layouts[i].files), NULL, FG_EFORMAT,
                          failing_layouts[i].text);
    /* not in a split, nor if the folder of the split is deeper */
    fgt_catalog_is(make_layout("train/cat/val/1.jpg train/dog/2.jpg"), NULL,
                   "train/cat/val/1.jpg 0 train [train/cat/va]\n"
                   "train/dog/2.jpg 1 train [train/dog/2.]\nclass cat\nclass dog\n");
    fgt_catalog_is(make_layout("cat/x/val/1.jpg dog/2.jpg"), NULL,
                   "cat/x/val/1.jpg 0 [cat/x/val/1.]\ndog/2.jpg 1 [dog/2.jpg]\n"
                   "class cat\nclass dog\n");
    /* files have no split, and an empty folder is none */
    fgt_catalog_is(make_layout("test/1.txt train cat/1.jpg"), NULL,
                   "cat/1.jpg 0 [cat/1.jpg]\nclass cat\n"
                   "skip test/1.txt: not an image (by its extension)\n"
                   "skip test: a folder without images, which is not a class\n"
                   "skip train: not an image (by its extension)\n");
}

static void folders_have_a_largest_depth(void **state)
{
    (void)state;
    char deep[65 * 2 + 16] = "";
    for (int i = 0; i < 63; i++)
        (void)strcat(deep, "d/");
    for (int i = 63; i < 65; i++) { /* 64 folders with the root */
        const char *folder = fgt_temp_folder();
        char file[200], expected[240];
        (void)snprintf(file, sizeof(file), "%s1.jpg", deep);
        add(folder, file);
        (void)snprintf(expected, sizeof(expected), "%s [d/d/d/d/d/d/]\n", file);
        if (i == 63)
            fgt_catalog_is(folder, &(fg_catalog_options){.no_classes = true}, expected);
        else
            fgt_catalog_fails(folder, &(fg_catalog_options){.no_classes = true}, FG_EUNSUPPORTED,
                              "'PATH': folders are nested more than 64 deep");
        (void)strcat(deep, "d/");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(folders_have_one_kind),
    cmocka_unit_test(folders_are_described),
    cmocka_unit_test(layouts_fail_in_words),
    cmocka_unit_test(folders_have_a_largest_depth),
    cmocka_unit_test(folders_are_classes_in_byte_order),
    cmocka_unit_test(one_image_is_a_source),
    cmocka_unit_test(folders_named_like_splits_are_splits),
    cmocka_unit_test(folders_of_systems_are_no_classes),
    cmocka_unit_test(splits_next_to_other_folders_are_an_error),
    cmocka_unit_test(a_single_folder_around_the_data_is_noted),
    cmocka_unit_test(a_folder_around_one_split_is_none),
    cmocka_unit_test(inner_folders_may_repeat_the_split),
    cmocka_unit_test(layouts_that_are_probably_wrong_are_errors),
    cmocka_unit_test(classes_without_images_of_their_own_are_errors),
    cmocka_unit_test(skipped_files_are_said_by_kind),
    cmocka_unit_test(images_without_folders_have_no_label),
    cmocka_unit_test(given_classes_define_the_indices),
    cmocka_unit_test(a_long_list_of_classes_is_shortened),
    cmocka_unit_test(names_are_bytes),
    cmocka_unit_test(links_are_followed_but_not_in_circles),
    cmocka_unit_test(unreadable_folders_are_errors),
    cmocka_unit_test(options_are_checked),
    cmocka_unit_test(files_are_read_as_they_are_now),
    cmocka_unit_test(files_have_a_time_of_change),
    cmocka_unit_test(many_files_are_listed_in_order),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(kinds_are_listed),
};
FGT_MAIN(tests)
