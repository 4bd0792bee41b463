/* tar archives in WebDataset's layout: archives written by Python's tarfile and by GNU tar
 * (tests/golden/catalog/make_tar.py), damaged ones, and sets of shards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "catalog_text.h"
#include "made_tar.h"

#define GOLDEN FGT_SOURCE_DIR "/tests/golden/catalog/"
#define X39    "[xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]"

#define SPLITS "some folders look like splits, but not all are named train, val or test: "
#define INSIST                                                                                     \
    "\nput the folders of the classes into folders of these names; if all are classes, set "       \
    "data.source_options to {no_split_folders: true} (--source='{no_split_folders: true}' of "     \
    "fulgurite init and fulgurite pack)"

static fg_error err;

/* ---- archives by others ---------------------------------------------------------------------- */

static void formats_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {"ustar", "gnu", "pax"};
    char folder[141] = "", expected[2000], n[121], p[100], q[91];
    for (int i = 0; i < 20; i++)
        memcpy(folder + 7 * i, "folder/", 7);
    memset(n, 'n', 120), n[120] = '\0';
    memset(p, 'p', 99), p[99] = '\0';
    memset(q, 'q', 90), q[90] = '\0';
    for (int i = 0; i < 3; i++) {
        char path[400];
        (void)snprintf(path, sizeof(path), GOLDEN "%s.tar", names[i]);
        (void)snprintf(expected, sizeof(expected),
                       "b/0001.jpg 3 [first image]\nb/0002.JPEG 0 []\n%s%s%s.png " X39
                       "\nb/caf\xc3\xa9 1.jpg [third]\nclass -\nclass -\nclass -\nclass -\n",
                       i == 0 ? p : folder, i == 0 ? "/" : "", i == 0 ? q : n);
        fgt_catalog_is(path, NULL, expected);
    }
}

static const struct {
    const char *magic, *name, *file;
} compressed[] = {{"\x1f\x8b\x08", "gzip", "x.tar"},
                  {"\x28\xb5\x2f\xfd", "zstd", "x.tar.zst"},
                  {"\xfd\x37zXZ", "xz", "x.tar.xz"},
                  {"BZh", "bzip2", "x.tar.bz2"},
                  {"\x04\x22\x4d\x18", "lz4", "x.tar.lz4"}};

static void sparse_and_compressed_archives_are_refused(void **state)
{
    (void)state;
    fgt_catalog_fails(
        GOLDEN "sparse_gnu.tar", NULL, FG_EUNSUPPORTED,
        "'PATH': byte 0: sparse files are not supported\ncreate the archive without --sparse");
    fgt_catalog_fails(
        GOLDEN "sparse_pax.tar", NULL, FG_EUNSUPPORTED,
        "'PATH': byte 0: sparse files are not supported\ncreate the archive without --sparse");
    for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
        const char *name = compressed[i].name;
        const char *path = fgt_path(fgt_temp_folder(), compressed[i].file);
        char message[200];
        (void)snprintf(message, sizeof(message),
                       "'PATH' is compressed with %s, but samples are read at their "
                       "offset\ndecompress the file first: %s -dc 'PATH' > FILE",
                       name, name);
        fgt_write(path, compressed[i].magic, strlen(compressed[i].magic));
        fgt_catalog_fails(path, NULL, FG_EUNSUPPORTED, message);
    }
    const char *path = fgt_path(fgt_temp_folder(), "x.tar");
    fgt_write(path, "B", 1);
    fgt_catalog_fails(
        path, NULL, FG_EFORMAT,
        "'PATH': byte 0: the end-of-archive marker is missing: the archive is truncated (1 byte)");
    path = fgt_path(fgt_temp_folder(), "x.tar.gz");
    fgt_write(path, "hello", 5);
    fgt_catalog_fails(
        path, NULL, FG_EFORMAT,
        "'PATH': byte 0: the end-of-archive marker is missing: the archive is truncated (5 bytes)");
}

/* ---- archives made here ---------------------------------------------------------------------- */

static void json_has_labels_splits_and_groups(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    archive_add_text(&a, "./1.json",
                     "{\"label\": \"dog\", \"split\": \"val\", \"group\": \"g\", \"k\": 1}");
    archive_add_text(&a, "././2.jpg", "two");
    archive_add_text(&a, "./1.jpg", "one");
    archive_add_text(&a, "./2.json", "{\"labels\": [\"cat\", \"dog\"]}");
    archive_add_text(&a, "./3.cls", "cat\n");
    archive_add_text(&a, "4.jpg", "four");
    archive_add_text(&a, "4.clsx", "dog"); /* another extension */
    fgt_catalog_is(archive_write(&a, "j.tar"), NULL,
                   "1.jpg 1 val g=1 [one]\n2.jpg 0,1 [two]\n4.jpg [four]\nclass cat\nclass dog\n"
                   "skip 3.cls: a sample without an image\n");
}

static void keep_note(void *self, fg_log_level level, const char *line)
{
    (void)level;
    if (strstr(line, "labels are read from") != NULL)
        (void)snprintf(self, 400, "%s", line);
}

/* What the description of an archive says about where labels are from; "": nothing. */
static const char *note_of(const char *path, const fg_catalog_options *options)
{
    static char note[400];
    fg_catalog *catalog = NULL;
    note[0] = '\0';
    fgt_ok(fg_catalog_open(path, options, &catalog, &err));
    fgt_ok(fg_catalog_describe(catalog, keep_note, note, &err));
    fg_catalog_close(catalog);
    return note;
}

/* The public shards of ImageNet have .cls, .json and .txt next to each .jpg. */
static void the_member_with_the_label_can_be_chosen(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    archive_add_text(&a, "1.jpg", "one");
    archive_add_text(&a, "1.json", "{\"label\": \"dog\", \"split\": \"val\", \"group\": \"g\"}");
    archive_add_text(&a, "1.cls", "7\n");
    archive_add_text(&a, "1.TXT", "a dog");
    archive_add_text(&a, "2.cls", "5");
    archive_add_text(&a, "2.json", "{\"label\": [0.5]}");
    archive_add_text(&a, "3.jpg", "three");
    archive_add_text(&a, "3.cls", "5");
    archive_add_text(&a, "3.txt", "a cat");
    archive_add_text(&a, "3.json", "[[1, 2, 3, 4]]"); /* boxes */
    archive_add_text(&a, "4.jpg", "four");
    archive_add_text(&a, "4.cls", "5");
    archive_add_text(&a, "4.json", "{\"label\": null}");
    archive_add_text(&a, "2.png", "two");
    archive_add_text(&a, "2.txt", "a cat");
    const char *path = archive_write(&a, "both.tar");
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    fg_catalog_item item;
    fgt_ok(fg_catalog_item_at(catalog, 0, &item, &err));
    assert_int_equal(item.label, 7);
    assert_int_equal(item.split, FG_VAL);
    assert_string_equal(item.group_name, "g");
    fgt_ok(fg_catalog_item_at(catalog, 1, &item, &err));
    assert_int_equal(item.label, 5);
    fg_catalog_close(catalog);
    assert_non_null(strstr(note_of(path, NULL), "labels are read from the .cls files; 2 "
                                                ".json files contain 'label' too"));
    assert_string_equal(note_of(path, &(fg_catalog_options){.label_member = "cls"}), "");
    assert_string_equal(note_of(path, &(fg_catalog_options){.no_classes = true}), "");
    assert_string_equal(note_of(GOLDEN "gnu.tar", NULL), "");
    fgt_catalog_is(path, &(fg_catalog_options){.label_member = ".txt"},
                   "1.jpg 1 val g=1 [one]\n2.png 0 [two]\n3.jpg 0 [three]\n4.jpg [four]\nclass a "
                   "cat\nclass a dog\n");
    fgt_catalog_fails(path, &(fg_catalog_options){.label_member = "json"}, FG_EFORMAT,
                      "'PATH': byte 5120: member 'labels': expected an integer or a string");
    fgt_catalog_fails(path, &(fg_catalog_options){.label_member = "tag"}, FG_EFORMAT,
                      "'PATH': no sample has a label in a member .tag (label_member): expected "
                      "KEY.tag with the class next to KEY.jpg");
}

/* Whatever the extension is. */
static void labels_may_be_in_files_like_images(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    archive_add_text(&a, "1.jpg", "one");
    archive_add_text(&a, "1.gif", "dog");
    fgt_catalog_is(archive_write(&a, "g.tar"), &(fg_catalog_options){.label_member = "gif"},
                   "1.jpg 0 [one]\nclass dog\n");
}

static void add_folders(archive *a, const char *cat, const char *dog)
{
    a->size = 0;
    archive_add(a, '5', "photos/", "", 0);
    archive_add_text(a, dog, "d");
    archive_add_text(a, cat, "c");
    archive_add_text(a, "photos/notes.md", "not an image");
    archive_add_text(a, "photos/@eaDir/1.jpg/SYNOFILE_THUMB_M.jpg", "a thumbnail");
}

static void folders_are_classes_if_there_are_no_labels(void **state)
{
    (void)state;
    static archive a;
    const fg_catalog_options no_classes = {.no_classes = true}, no_splits = {.no_split_folders = 1};
    add_folders(&a, "photos/cat/1.jpg", "photos/dog/x/1.jpg");
    const char *path = archive_write(&a, "f.tar");
    const char *skip = "skip photos/notes.md: a sample without an image\n";
    char expected[400];
    (void)snprintf(expected, sizeof(expected), "%sclass cat\nclass dog\n%s",
                   "photos/dog/x/1.jpg 1 [d]\nphotos/cat/1.jpg 0 [c]\n", skip);
    fgt_catalog_is(path, NULL, expected);
    archive_add_text(&a, "photos/cat/1.cls", "\n"); /* no label */
    fgt_catalog_is(archive_write(&a, "e.tar"), NULL, expected);
    archive_add_text(&a, "photos/dog/x/1.json", "{\"k\": 1}");
    fgt_catalog_is(archive_write(&a, "e.tar"), NULL, expected);
    (void)snprintf(expected, sizeof(expected), "photos/dog/x/1.jpg [d]\nphotos/cat/1.jpg [c]\n%s",
                   skip);
    fgt_catalog_is(path, &no_classes, expected);
    add_folders(&a, "photos/train/cat/1.jpg", "photos/val/dog/1.jpg");
    path = archive_write(&a, "s.tar");
    (void)snprintf(expected, sizeof(expected), "%sclass cat\nclass dog\n%s",
                   "photos/val/dog/1.jpg 1 val [d]\nphotos/train/cat/1.jpg 0 train [c]\n", skip);
    fgt_catalog_is(path, NULL, expected);
    (void)snprintf(expected, sizeof(expected), "%sclass train\nclass val\n%s",
                   "photos/val/dog/1.jpg 1 [d]\nphotos/train/cat/1.jpg 0 [c]\n", skip);
    fgt_catalog_is(path, &no_splits, expected);
    static const char *const names[] = {"train", "val"}; /* the classes of a model */
    fgt_catalog_is(path, &(fg_catalog_options){.class_names = names, .class_count = 2}, expected);
    add_folders(&a, "photos/train/cat/1.jpg", "photos/dog/1.jpg");
    fgt_catalog_fails(archive_write(&a, "m.tar"), NULL, FG_EFORMAT,
                      "'PATH': " SPLITS "'photos/train/cat/1.jpg', 'photos/dog/1.jpg'" INSIST);
    add_folders(&a, "photos/seg_train/cat/1.jpg", "photos/seg_test/cat/1.jpg");
    path = archive_write(&a, "w.tar");
    fgt_catalog_fails(path, NULL, FG_EFORMAT,
                      "'PATH': " SPLITS
                      "'photos/seg_test/cat/1.jpg', 'photos/seg_train/cat/1.jpg'" INSIST);
    (void)snprintf(expected, sizeof(expected), "%sclass seg_test\nclass seg_train\n%s",
                   "photos/seg_test/cat/1.jpg 0 [d]\nphotos/seg_train/cat/1.jpg 1 [c]\n", skip);
    fgt_catalog_is(path, &no_splits, expected);
    add_folders(&a, "photos/old_train/1.jpg", "photos/new_train/1.jpg"); /* one word: no splits */
    (void)snprintf(expected, sizeof(expected), "%sclass new_train\nclass old_train\n%s",
                   "photos/new_train/1.jpg 0 [d]\nphotos/old_train/1.jpg 1 [c]\n", skip);
    fgt_catalog_is(archive_write(&a, "n.tar"), NULL, expected);
    add_folders(&a, "photos/1.jpg", "photos/dog/1.jpg"); /* an image that has no class */
    (void)snprintf(expected, sizeof(expected), "photos/dog/1.jpg [d]\nphotos/1.jpg [c]\n%s", skip);
    fgt_catalog_is(archive_write(&a, "t.tar"), NULL, expected);
    add_folders(&a, "photos/all/1.jpg", "photos/all/2.jpg"); /* one folder */
    (void)snprintf(expected, sizeof(expected), "photos/all/2.jpg [d]\nphotos/all/1.jpg [c]\n%s",
                   skip);
    fgt_catalog_is(archive_write(&a, "o.tar"), NULL, expected);
}

/* Nor are folders that have words of splits, where the classes are known. */
static void given_classes_are_no_splits(void **state)
{
    static archive a;
    static const char *const names[] = {"x", "y"};
    add_folders(&a, "photos/seg_train/1.jpg", "photos/seg_test/1.jpg");
    archive_add_text(&a, "photos/seg_test/2.jpg", "2");
    fgt_catalog_fails(archive_write(&a, "w.tar"),
                      &(fg_catalog_options){.class_names = names, .class_count = 2}, FG_EFORMAT,
                      "'PATH': sample 'photos/seg_test/1.jpg' has the class 'seg_test': expected "
                      "one of 'x' and 'y'");
}

static void concatenated_archives_are_read_to_the_end(void **state)
{
    (void)state;
    static archive a;
    for (size_t zeros = 1; zeros <= 20; zeros += 19) {
        a.size = 0;
        archive_add_text(&a, "1.jpg", "one");
        memset(a.data + a.size, 0, zeros * BLOCK);
        a.size += zeros * BLOCK;
        archive_add_text(&a, "2.jpg", "two");
        fgt_catalog_is(archive_write(&a, "cat.tar"), NULL, "1.jpg [one]\n2.jpg [two]\n");
    }
    const char *path = fgt_path(fgt_temp_folder(), "cat.tar");
    fgt_write(path, a.data, a.size + 2 * BLOCK + 100);
    fgt_catalog_is(path, NULL, "1.jpg [one]\n2.jpg [two]\n");
    a.size -= 2 * BLOCK;
    memset(a.data + a.size, 'x', BLOCK);
    a.size += BLOCK;
    fgt_catalog_fails(
        archive_write(&a, "cat.tar"), NULL, FG_EFORMAT,
        "'PATH': byte 11264: data after the end of the archive that is not another tar archive");
    a.size = 0; /* an extended header does not apply to the next archive */
    archive_add_text(&a, "1.jpg", "one");
    archive_add(&a, 'x', "pax", "14 path=p.jpg\n9 size=1\n", 23);
    memset(a.data + a.size, 0, BLOCK);
    a.size += BLOCK;
    archive_add_text(&a, "2.jpg", "two");
    fgt_catalog_is(archive_write(&a, "cat.tar"), NULL, "1.jpg [one]\n2.jpg [two]\n");
}

static void write_gzip(const char *path, const void *data, size_t size, const char *mode)
{
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void gzip_files_are_decompressed(void **state)
{
    (void)state;
    static archive a;
    const char *folder = fgt_temp_folder(), *b = fgt_path(folder, "b.tgz");
    a.size = 0;
    archive_add_text(&a, "1.jpg", "one");
    archive_add_text(&a, "1.cls", "0");
    memset(a.data + a.size, 0, 2 * BLOCK);
    write_gzip(fgt_path(folder, "a.tar.gz"), a.data, a.size + 2 * BLOCK, "wb");
    write_gzip(fgt_path(folder, "c.tar.gz"), a.data, a.size + 2 * BLOCK, "wb");
    fgt_write(fgt_path(folder, "d.tar"), a.data, a.size + 2 * BLOCK);
    memcpy(a.data + BLOCK, "two", 3);
    write_gzip(b, a.data, BLOCK, "wb"); /* two members of gzip */
    write_gzip(b, a.data + BLOCK, a.size + BLOCK, "ab");
    fgt_catalog_is(folder, NULL,
                   "a.tar.gz/1.jpg 0 [one]\nb.tgz/1.jpg 0 [two]\n"
                   "c.tar.gz/1.jpg 0 [one]\nd.tar/1.jpg 0 [one]\nclass -\n");
    fgt_fault_loop(fgt_catalog_scenario, (void *)b);
}

static char heard[400];
static fg_log_level heard_level;

static void hear(void *self, fg_log_level level, const char *line)
{
    (void)self;
    heard_level = level;
    (void)snprintf(heard, sizeof(heard), "%s", line);
}

/* A file of 64 MiB takes more than a moment; also without room for its content. */
static void large_gzip_files_are_a_warning(void **state)
{
    (void)state;
    static const archive zeros;
    const char *b = fgt_path(fgt_temp_folder(), "b.tgz");
    struct rlimit before, none;
    fg_log_set(hear, NULL);
    for (int more = 0; more < 2; more++) {
        write_gzip(b, zeros.data, 2 * BLOCK, "wb");
        assert_int_equal(truncate(b, (1 << 26) - 1 + more), 0);
        fgt_catalog_fails(b, NULL, FG_EFORMAT, "PATH: byte @");
        assert_int_equal(heard_level, more == 0 ? FG_LOG_INFO : FG_LOG_WARNING);
    }
    fg_log_set(NULL, NULL);
    write_gzip(b, zeros.data, 2 * BLOCK, "wb");
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    fg_catalog *catalog = NULL;
    const fg_status status = fg_catalog_open(b, NULL, &catalog, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, FG_EIO);
    fgt_message_is(err.message,
                   "cannot write 'the temporary file of its content': File too large\ndecompress "
                   "the file yourself (gunzip -k), or set TMPDIR to a folder with enough space");
}

static void damaged_gzip_files_are_errors(void **state)
{
    (void)state;
    static const archive zeros;
    const char *folder = fgt_temp_folder(), *b = fgt_path(folder, "b.tgz");
    write_gzip(b, zeros.data, 2 * BLOCK, "wb");
    char *data = NULL;
    size_t size = 0;
    fgt_ok(fg_file_read(b, (void **)&data, &size, &err));
    fgt_write(b, data, size - 3);
    fgt_catalog_fails(b, NULL, FG_EFORMAT, "PATH: byte @: the gzip file is truncated");
    data[size - 6] ^= 0x55; /* of the checksum */
    fgt_write(b, data, size);
    fgt_catalog_fails(b, NULL, FG_EFORMAT, "PATH: byte @");
    data[3] = (char)0xe0; /* of the header */
    fgt_write(b, data, size);
    fgt_catalog_fails(b, NULL, FG_EFORMAT, "PATH: byte 4: @");
    fg_free(data);
    char *before = getenv("TMPDIR");
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    fgt_catalog_fails(
        b, NULL, FG_ENOTFOUND,
        "cannot create a temporary file in '/nonexistent': No such file or directory");
    assert_int_equal(setenv("TMPDIR", "", 1), 0); /* as if it were not set */
    fg_log_set(hear, NULL);
    fgt_catalog_fails(b, NULL, FG_EFORMAT, "PATH: byte @");
    fg_log_set(NULL, NULL);
    char line[400];
    (void)snprintf(line, sizeof(line),
                   "'%s': decompressing to a temporary file in '/tmp'; to do it only once: gunzip "
                   "-k '%s'",
                   b, b);
    assert_string_equal(heard, line);
    assert_int_equal(heard_level, FG_LOG_INFO);
    assert_int_equal(before != NULL ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
}

static void extended_headers_override_the_header(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    const char *records = "14 path=p.jpg\n9 size=3\n20 comment=\xff= and x\n";
    archive_add(&a, 'g', "global", "13 comment=x\n", 13);
    archive_add(&a, 'x', "pax", records, strlen(records));
    archive_add_text(&a, "short.jpg", "abcdef");
    archive_add_text(&a, "plain.jpg", "g"); /* the header applies once */
    unsigned char *h = a.data + a.size;
    archive_add_text(&a, "base256.jpg", "hi");
    h[BLOCK - 1] = 1; /* the checksum is that of all bytes */
    memcpy(h + 124, "\x80\0\0\0\0\0\0\0\0\0\0\2", 12);
    archive_checksum(h);
    fgt_catalog_is(archive_write(&a, "x.tar"), NULL,
                   "p.jpg [abc]\nplain.jpg [g]\nbase256.jpg [hi]\n");
}

/* A label has at most 4,096 bytes, with the blanks around it; JSON may be longer. */
static void long_labels_are_refused(void **state)
{
    (void)state;
    static archive a;
    char text[4097];
    memset(text, ' ', sizeof(text));
    text[0] = '0';
    for (size_t size = 4096; size <= 4097; size++) {
        a.size = 0;
        archive_add_text(&a, "1.jpg", "x");
        archive_add(&a, '0', "1.cls", text, size);
        const char *path = archive_write(&a, "l.tar");
        if (size == 4096)
            fgt_catalog_is(path, NULL, "1.jpg 0 [x]\nclass -\n");
        else
            fgt_catalog_fails(path, NULL, FG_EFORMAT,
                              "'PATH': byte 1024: '1.cls': too large for labels");
    }
    static char json[20000];
    memset(json, ' ', sizeof(json));
    memcpy(json, "{\"label\": 0", 11);
    json[sizeof(json) - 1] = '}';
    a.size = 0;
    archive_add_text(&a, "1.jpg", "x");
    archive_add(&a, '0', "1.json", json, sizeof(json));
    fgt_catalog_is(archive_write(&a, "l.tar"), NULL, "1.jpg 0 [x]\nclass -\n");
}

static const struct {
    char type;
    const char *name, *data, *part;
} bad_members[] = {
    {'0', "1.png", "x",
     "'PATH': byte 1024: '1.png': the sample has another image\nname the files of a sample "
     "KEY.jpg, KEY.cls"},
    {'0', "1.cls", "a\0", "'PATH': byte 1024: '1.cls': a NUL byte"},
    {'0', "1.json", "{", "'PATH': byte 1024: JSON: byte 1: invalid JSON: @"},
    {'0', "1.json", "{\"label\": 0.5}",
     "'PATH': byte 1024: member 'label': expected an integer or a string"},
    {'x', "pax", "5 a=b\n", "'PATH': byte 1024: invalid record in an extended header"},
    {'x', "pax", "99 a=b\n", "'PATH': byte 1024: invalid record in an extended header"},
    {'x', "pax", "x a=b\n", "'PATH': byte 1024: invalid record in an extended header"},
    {'x', "pax", "6 abc\n", "'PATH': byte 1024: invalid record in an extended header"},
    {'x', "pax", "11 size=-1\n", "'PATH': byte 1024: invalid size in an extended header"},
    {'x', "pax", "8 path=\n", "'PATH': byte 1024: invalid path in an extended header"},
    {'L', "long", "", "'PATH': byte 1024: invalid path in an extended header"},
    {'M', "volume", "", "'PATH': byte 1024: archives of several volumes are not supported"},
    {'S', "sparse", "",
     "'PATH': byte 1024: sparse files are not supported\ncreate the archive without --sparse"},
};

static void mistakes_name_the_member(void **state)
{
    (void)state;
    static archive a;
    for (size_t i = 0; i < sizeof(bad_members) / sizeof(bad_members[0]); i++) {
        a.size = 0;
        archive_add_text(&a, "1.jpg", "x");
        const size_t size = strlen(bad_members[i].data) + (i == 1);
        archive_add(&a, bad_members[i].type, bad_members[i].name, bad_members[i].data, size);
        fgt_catalog_fails(archive_write(&a, "m.tar"), NULL,
                          bad_members[i].type == 'M' || bad_members[i].type == 'S' ? FG_EUNSUPPORTED
                                                                                   : FG_EFORMAT,
                          bad_members[i].part);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The text of the catalog, or NULL if it cannot be opened: then there is a message. */
static char *text_of(const char *path)
{
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    err = (fg_error){0};
    const fg_catalog_options options = {.kind = "tar"};
    if (fg_catalog_open(path, &options, &catalog, &err) != FG_OK) {
        assert_true(err.message[0] != '\0');
        return NULL;
    }
    fgt_ok(fgt_catalog_write(catalog, &text, &err));
    fg_catalog_close(catalog);
    return fgi_buf_take(&text);
}

static void make_small(archive *a)
{
    a->size = 0;
    archive_add(a, 'L', "././@LongLink", "some/long/name.jpg", 18);
    archive_add_text(a, "some", "image");
    archive_add_text(a, "b.jpg", "second");
    archive_add_text(a, "b.cls", "1");
    memset(a->data + a->size, 0, 2 * BLOCK);
    a->size += 2 * BLOCK;
}

static void truncated_archives_are_errors(void **state)
{
    (void)state;
    static archive a;
    make_small(&a);
    char *whole = text_of(fgt_memory_file(a.data, a.size));
    assert_non_null(whole);
    for (size_t size = 0; size < a.size; size++) {
        char *text = text_of(fgt_memory_file(a.data, size));
        if (size < a.size - BLOCK) { /* one block of zeros is enough */
            assert_null(text);
            assert_non_null(strstr(err.message, "truncated"));
            assert_non_null(strstr(err.message, "byte "));
        } else {
            assert_string_equal(text, whole);
        }
        fgi_free(text);
    }
    fgi_free(whole);
}

/* Headers have checksums, contents have none. */
static void flipped_bytes_of_headers_are_errors(void **state)
{
    (void)state;
    static archive a;
    make_small(&a);
    char *whole = text_of(fgt_memory_file(a.data, a.size));
    for (size_t i = 0; i < a.size - BLOCK; i++) {
        const size_t block = i / BLOCK;
        const bool is_header = block % 2 == 0; /* contents are one block each */
        a.data[i] ^= 0x41;
        char *text = text_of(fgt_memory_file(a.data, a.size));
        if (is_header)
            assert_true(text == NULL || strcmp(text, whole) == 0);
        a.data[i] ^= 0x41;
        fgi_free(text);
    }
    fgi_free(whole);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static void write_shard(const char *folder, const char *name, const char *label)
{
    static archive a;
    a.size = 0;
    archive_add_text(&a, "1.jpg", name);
    archive_add_text(&a, "1.cls", label);
    memset(a.data + a.size, 0, 2 * BLOCK);
    fgt_write(fgt_path(folder, name), a.data, a.size + 2 * BLOCK);
}

/* The folders in them are classes; names of shards are not folders. */
static void shards_may_hold_folders(void **state)
{
    static archive a;
    (void)state;
    const char *folder = fgt_temp_folder();
    static const char *const names[][2] = {{"a-0.tar", "photos/cat/1.jpg"},
                                           {"a-1.tar", "photos/dog/1.jpg"}};
    for (int i = 0; i < 2; i++) {
        a.size = 0;
        archive_add_text(&a, names[i][1], names[i][0]);
        memset(a.data + a.size, 0, 2 * BLOCK);
        fgt_write(fgt_path(folder, names[i][0]), a.data, a.size + 2 * BLOCK);
    }
    fgt_catalog_is(folder, NULL,
                   "a-0.tar/photos/cat/1.jpg 0 [a-0.tar]\na-1.tar/photos/dog/1.jpg 1 [a-1.tar]\n"
                   "class cat\nclass dog\n");
}

static void shards_are_found_by_patterns(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fgt_ok(fgi_folder_make(fgt_path(folder, "__MACOSX"), &err)); /* no folder of classes */
    write_shard(folder, "x-train-09.tar", "0");
    write_shard(folder, "x-train-10.tar", "1");
    write_shard(folder, "x-val-00.tar", "1");
    const char *train = "x-train-09.tar/1.jpg 0 train [x-train-09.tar]\n"
                        "x-train-10.tar/1.jpg 1 train [x-train-10.tar]\n";
    char all[400], two[200];
    (void)snprintf(two, sizeof(two), "%sclass -\nclass -\n", train);
    (void)snprintf(all, sizeof(all),
                   "%sx-val-00.tar/1.jpg 1 val [x-val-00.tar]\nclass -\nclass -\n", train);
    fgt_catalog_is(folder, NULL, all);
    fgt_catalog_is(fgt_path(folder, "x-*.tar"), NULL, all);
    fgt_catalog_is(fgt_path(folder, "x-{train-*,val-00}.tar"), NULL, all);
    fgt_catalog_is(fgt_path(folder, "x-train-{09..10}.tar"), NULL, two);
    fgt_catalog_is(fgt_path(folder, "x-train-??.tar"), NULL, two);
    fgt_catalog_is(fgt_path(folder, "x-train-{10..10}.tar"), NULL,
                   "1.jpg 1 train [x-train-10.tar]\nclass -\nclass -\n");
    fgt_catalog_is(fgt_path(folder, "x-val-00.tar"), NULL,
                   "1.jpg 1 val [x-val-00.tar]\nclass -\nclass -\n");
    fgt_catalog_fails(fgt_path(folder, "x-train-{09..11}.tar"), NULL, FG_ENOTFOUND,
                      "cannot open 'FOLDER/x-train-11.tar': No such file or directory");
    fgt_catalog_fails(fgt_path(folder, "y*.tar"), NULL, FG_ENOTFOUND,
                      "no file in the folder 'FOLDER' matches 'y*.tar'");
    fgt_catalog_fails(
        fgt_path(folder, "{x-val,x-val}-00.tar"), NULL, FG_EFORMAT,
        "'FOLDER/x-val-00.tar': there are two samples with the name 'x-val-00.tar/1.jpg'");
}

static void missing_shards_of_numbered_sets_are_errors(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    write_shard(folder, "a-00000-of-00002.tar", "0");
    write_shard(folder, "b-00000-of-00003.tar", "0");
    write_shard(folder, "b-00002-of-00003.tar", "0");
    fgt_catalog_fails(fgt_path(folder, "b-*.tar"), NULL, FG_ENOTFOUND,
                      "'PATH': shard 1 of 'b-*-of-*' is missing: expected 0 to 2");
    fgt_catalog_fails(folder, NULL, FG_ENOTFOUND,
                      "'PATH': shard 1 of 'a-*-of-*' is missing: expected 0 to 1");
    write_shard(folder, "a-00001-of-00002.tar", "0");
    write_shard(folder, "b-00001-of-00003.tar", "0");
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 5);
    fg_catalog_close(catalog);
    write_shard(folder, "c-00001-of-00002.tar", "0");
    fgt_catalog_fails(folder, NULL, FG_ENOTFOUND,
                      "'PATH': shard 0 of 'c-*-of-*' is missing: expected 0 to 1");
}

static void shrunk_shards_are_errors(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a.tar");
    write_shard(folder, "a.tar", "0");
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    FILE *file = fopen(path, "w"); /* the same file, now empty */
    assert_int_equal(fclose(file), 0);
    assert_int_equal(fg_catalog_read(catalog, 0, &bytes, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "'~/a.tar': the file ends at byte 512, but it had more bytes when it was opened");
    assert_int_equal(bytes.size, 0);
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(fgt_catalog_scenario, (void *)(GOLDEN "gnu.tar"));
    fgt_fault_loop(fgt_catalog_scenario, (void *)(GOLDEN "pax.tar"));
    fgt_fault_loop(fgt_catalog_scenario, (void *)(GOLDEN "{ustar,g*}.tar"));
}

/* ---- boundaries ------------------------------------------------------------------------------ */

#define NO_FIT "'PATH': byte 0: the member does not fit: the archive is truncated (2048 bytes)"

static const struct {
    char field[13];
    const char *part; /* of the error */
} size_fields[] = {
    {"           2", NULL},
    {"  2 ", NULL},
    {"000000000002", NULL},
    {"00000000002\0", NULL},
    {"2x", "'PATH': byte 0: invalid size in the header"},
    {"8", "'PATH': byte 0: invalid size in the header"},
    {"777777777777", NO_FIT},
    {"\x80\0\0\0\0\0\0\0\0\0\0\2", NULL},
    {"\x80\0\0\0\0\0\0\0\0\0\6\0", "'PATH': byte 2048: the end-of-archive marker is missing: the "
                                   "archive is truncated (2048 bytes)"},
    {"\x80\0\0\0\0\0\0\0\0\0\6\1", NO_FIT},
    {"\x80\0\0\0\1\0\0\0\0\0\0\0", NO_FIT},
    {"\x80\0\0\0\x80\0\0\0\0\0\0\0", "'PATH': byte 0: invalid size in the header"},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
     "'PATH': byte 0: invalid size in the header"},
};

/* Sizes in the header, of a member of 2 bytes; NULL: invalid. */
static void sizes_have_several_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(size_fields) / sizeof(size_fields[0]); i++) {
        static archive a;
        a.size = 0;
        archive_add_text(&a, "1.jpg", "hi");
        memcpy(a.data + 124, size_fields[i].field, 12);
        archive_checksum(a.data);
        const char *path = archive_write(&a, "s.tar");
        if (size_fields[i].part == NULL)
            fgt_catalog_is(path, NULL, "1.jpg [hi]\n");
        else
            fgt_catalog_fails(path, NULL, FG_EFORMAT, size_fields[i].part);
    }
}

/* Early programs added bytes as signed; GNU's headers have times where ustar has a prefix. */
static void headers_have_several_forms(void **state)
{
    static archive a;
    (void)state;
    a.size = 0;
    archive_add_text(&a, "\xc3\xa9.jpg", "hi"); /* two bytes of 128 and more: 512 less */
    const long sum = strtol((const char *)a.data + 148, NULL, 8);
    (void)snprintf((char *)a.data + 148, 8, "%06lo", sum - 2L * 256);
    archive_add_text(&a, "2.jpg", "two");
    memcpy(a.data + 2 * BLOCK + 257, "ustar  ", 8);
    memcpy(a.data + 2 * BLOCK + 345, "14567654321", 12);
    archive_checksum(a.data + 2 * BLOCK);
    fgt_catalog_is(archive_write(&a, "h.tar"), NULL, "\xc3\xa9.jpg [hi]\n2.jpg [two]\n");
}

static void members_have_types(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    archive_add(&a, '0', "0.jpg", "0", 1);
    archive_add(&a, '\0', "old.jpg", "1", 1);
    archive_add(&a, '7', "7.jpg", "7", 1);
    for (char type = '1'; type <= '6'; type++) { /* links, devices and folders have no content */
        char name[] = "x1.jpg";
        name[1] = type;
        archive_add(&a, type, name, "", 0);
        (void)snprintf((char *)a.data + a.size - BLOCK + 124, 12, "%011o", 4000U);
        archive_checksum(a.data + a.size - BLOCK);
    }
    archive_add(&a, '0', "old/", "", 0);
    archive_add(&a, 'K', "link", "a.jpg", 6);
    archive_add(&a, '0', "in/.hidden.jpg", "h", 1);
    archive_add(&a, '0', "in/none", "n", 1);
    archive_add(&a, '0', "in.dir/none", "n", 1);
    archive_add(&a, '0', "in.dir/9.x.jpg", "n", 1); /* not an image of the sample "9" */
    archive_add(&a, '0', "in.dir/9.jpg", "9", 1);
    archive_add(&a, '0', "8.JSON", "{}", 2);
    archive_add(&a, '0', "8.Jpg", "8", 1);
    archive_add(&a, '0', "__MACOSX/8.jpg", "m", 1);
    archive_add(&a, '0', "a_folder_with_a_name_of_32_letters/__MACOSX/8.jpg", "m", 1);
    fgt_catalog_is(archive_write(&a, "t.tar"), NULL,
                   "0.jpg [0]\nold.jpg [1]\n7.jpg [7]\nin.dir/9.jpg [9]\n8.Jpg [8]\n");
}

static void members_fail_in_words(void **state)
{
    (void)state;
    static archive a;
    a.size = 0;
    archive_add_text(&a, "1.jpg", "x");
    a.data[148] = '9'; /* of the checksum */
    fgt_catalog_fails(
        archive_write(&a, "c.tar"), NULL, FG_EFORMAT,
        "'PATH': byte 0: not a tar archive (the checksum of the header does not match)");
    a.size = 0;
    archive_add_text(&a, "1.jpg", "x");
    archive_add_text(&a, "2.jpg", "x");
    a.data[2 * BLOCK + 148] = '9';
    fgt_catalog_fails(archive_write(&a, "c.tar"), NULL, FG_EFORMAT,
                      "'PATH': byte 1024: the checksum of the header does not match");
    a.size = 0;
    archive_add_text(&a, "1.jpg", "x");
    archive_add_text(&a, "1.JSON", "{\"label\": 1}");
    archive_add_text(&a, "1.json", "{}");
    fgt_catalog_fails(
        archive_write(&a, "c.tar"), NULL, FG_EFORMAT,
        "'PATH': byte 2048: '1.json': the sample has a file with this extension already");
    a.size = 0;
    archive_add_text(&a, "1.jpg", "x");
    archive_add_text(&a, "1.png", "y");
    fgt_catalog_fails(archive_write(&a, "c.tar"), NULL, FG_EFORMAT,
                      "'PATH': byte 1024: '1.png': the sample has another image\nname the files of "
                      "a sample KEY.jpg, KEY.cls");
}

static const struct {
    const char *pattern, *text; /* of the samples, or of the error */
    fg_status status;
} shard_patterns[] = {
    {"*.tar",
     "007.tar/1.jpg 0 [007.tar]\n1.tar/1.jpg 0 [1.tar]\n10.tar/1.jpg 0 [10.tar]\n"
     "2.tar/1.jpg 0 [2.tar]\nclass -\n",
     FG_OK},
    {"[12].tar", "1.tar/1.jpg 0 [1.tar]\n2.tar/1.jpg 0 [2.tar]\nclass -\n", FG_OK},
    {"{1..2}.tar", "1.tar/1.jpg 0 [1.tar]\n2.tar/1.jpg 0 [2.tar]\nclass -\n", FG_OK},
    {"{2,1}.tar", "2.tar/1.jpg 0 [2.tar]\n1.tar/1.jpg 0 [1.tar]\nclass -\n", FG_OK},
    {"{007..7}.tar", "1.jpg 0 [007.tar]\nclass -\n", FG_OK},
    {"1{,0}.tar", "1.tar/1.jpg 0 [1.tar]\n10.tar/1.jpg 0 [10.tar]\nclass -\n", FG_OK},
    {"{1,2}{.tar,.tar}", "'FOLDER/1.tar': there are two samples with the name '1.tar/1.jpg'",
     FG_EFORMAT},
    {"{2..1}.tar", "'PATH': expected a range of numbers such as {000..099}", FG_EINVAL},
    {"{-1..1}.tar", "'PATH': expected a range of numbers such as {000..099}", FG_EINVAL},
    {"{1..}.tar", "'PATH': expected a range of numbers such as {000..099}", FG_EINVAL},
    {"{0..1048576}.tar", "'PATH': expected a range of numbers such as {000..099}", FG_EINVAL},
    {"{000000000000000000001..2}.tar", "'PATH': expected a range of numbers such as {000..099}",
     FG_EINVAL},
    {"{9..10}.tar", "cannot open 'FOLDER/9.tar': No such file or directory", FG_ENOTFOUND},
    {"x*.tar", "no file in the folder 'FOLDER' matches 'x*.tar'", FG_ENOTFOUND},
    {"{a,{b}}.tar", "'PATH': braces in braces are not supported", FG_EINVAL},
    {"{1}{1}{1}{1}{1}{1}{1}{1}{1}.tar", "'FOLDER/11111111{1}.tar': more than 8 pairs of braces",
     FG_EINVAL},
    {"{1}{1}{1}{1}{1}{1}{1}{1}.tar", "cannot open 'FOLDER/11111111.tar': No such file or directory",
     FG_ENOTFOUND},
};

/* Each of the names, and what is said of patterns. */
static void patterns_are_expanded(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    static const char *const names[] = {"1.tar", "2.tar", "10.tar", "007.tar", ".3.tar"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        write_shard(folder, names[i], "0");
    for (size_t i = 0; i < sizeof(shard_patterns) / sizeof(shard_patterns[0]); i++) {
        const char *path = fgt_path(folder, shard_patterns[i].pattern);
        const fg_catalog_options options = {.kind = "tar"};
        if (shard_patterns[i].status == FG_OK)
            fgt_catalog_is(path, &options, shard_patterns[i].text);
        else
            fgt_catalog_fails(path, &options, shard_patterns[i].status, shard_patterns[i].text);
    }
    fgt_catalog_fails(fgt_temp_folder(), &(fg_catalog_options){.kind = "tar"}, FG_ENOTFOUND,
                      "no file in the folder 'PATH' matches 'names of this kind'");
}

static void numbered_sets_are_complete(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    write_shard(folder, "a-0-of-2.tar", "0");
    fgt_catalog_fails(folder, NULL, FG_ENOTFOUND,
                      "'PATH': shard 1 of 'a-*-of-*' is missing: expected 0 to 1");
    fgt_catalog_is(fgt_path(folder, "a-0-of-2.tar"), NULL, "1.jpg 0 [a-0-of-2.tar]\nclass -\n");
    fgt_catalog_is(fgt_path(folder, "{a-0}-of-2.tar"), NULL, "1.jpg 0 [a-0-of-2.tar]\nclass -\n");
    write_shard(folder, "a-1-of-2.tar", "0");
    write_shard(folder, "of-of-x.tar", "0"); /* no numbers */
    write_shard(folder, "x0-of-9.tar", "0");
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 4);
    fg_catalog_close(catalog);
    write_shard(folder, "b-2-of-3.tar", "0");
    fgt_catalog_fails(folder, NULL, FG_ENOTFOUND,
                      "'PATH': shard 0 of 'b-*-of-*' is missing: expected 0 to 2");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sizes_have_several_forms),
    cmocka_unit_test(headers_have_several_forms),
    cmocka_unit_test(members_have_types),
    cmocka_unit_test(members_fail_in_words),
    cmocka_unit_test(patterns_are_expanded),
    cmocka_unit_test(numbered_sets_are_complete),
    cmocka_unit_test(formats_are_read),
    cmocka_unit_test(sparse_and_compressed_archives_are_refused),
    cmocka_unit_test(json_has_labels_splits_and_groups),
    cmocka_unit_test(the_member_with_the_label_can_be_chosen),
    cmocka_unit_test(labels_may_be_in_files_like_images),
    cmocka_unit_test(given_classes_are_no_splits),
    cmocka_unit_test(folders_are_classes_if_there_are_no_labels),
    cmocka_unit_test(concatenated_archives_are_read_to_the_end),
    cmocka_unit_test(gzip_files_are_decompressed),
    cmocka_unit_test(damaged_gzip_files_are_errors),
    cmocka_unit_test(large_gzip_files_are_a_warning),
    cmocka_unit_test(extended_headers_override_the_header),
    cmocka_unit_test(long_labels_are_refused),
    cmocka_unit_test(mistakes_name_the_member),
    cmocka_unit_test(truncated_archives_are_errors),
    cmocka_unit_test(flipped_bytes_of_headers_are_errors),
    cmocka_unit_test(shards_may_hold_folders),
    cmocka_unit_test(shards_are_found_by_patterns),
    cmocka_unit_test(missing_shards_of_numbered_sets_are_errors),
    cmocka_unit_test(shrunk_shards_are_errors),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
