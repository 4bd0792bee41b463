/* IDX and CIFAR: plain and gzip, damaged, truncated, inconsistent.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include <zlib.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "base/file.h"
#include "data/cifar.h"
#include "data/idx.h"

static fg_error err;

enum { MOST_BYTES = 1 << 20 };

/* A file under construction. */
static unsigned char file[MOST_BYTES];
static size_t file_size;

static void put_u32(uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        file[file_size++] = (unsigned char)(value >> shift);
}

static void begin_idx(unsigned type, int rank, const uint32_t *dims)
{
    file_size = 0;
    put_u32(type << 8 | (unsigned)rank);
    for (int i = 0; i < rank; i++)
        put_u32(dims[i]);
}

static void gzip_file(const char *path)
{
    gzFile out = gzopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(gzwrite(out, file, (unsigned)file_size), (int)file_size);
    assert_int_equal(gzclose(out), Z_OK);
}

/* The path of a folder under the temporary one, in the caller's buffer: the paths within it take
 * turns in fgt_path's own. */
enum { PATH_BYTES = 512 };
static const char *name_folder(char out[PATH_BYTES], const char *name)
{
    static char base[PATH_BYTES];
    if (base[0] == '\0')
        (void)snprintf(base, sizeof(base), "%s", fgt_temp_folder());
    (void)snprintf(out, PATH_BYTES, "%s", fgt_path(base, name));
    return out;
}

/* Pixel p of image i. */
static unsigned char pixel(size_t i, size_t p) { return (unsigned char)(i * 31 + p * 7); }

static void make_mnist(const char *folder, const char *part, uint32_t count, bool is_gzip,
                       bool has_dot)
{
    char name[64];
    fgt_ok(fgi_folder_make(folder, &err));
    begin_idx(0x08, 3, (const uint32_t[]){count, 28, 28});
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < 784; p++)
            file[file_size++] = pixel(i, p);
    (void)snprintf(name, sizeof(name), "%s-images%cidx3-ubyte%s", part, has_dot ? '.' : '-',
                   is_gzip ? ".gz" : "");
    if (is_gzip)
        gzip_file(fgt_path(folder, name));
    else
        fgt_write(fgt_path(folder, name), file, file_size);
    begin_idx(0x08, 1, &count);
    for (size_t i = 0; i < count; i++)
        file[file_size++] = (unsigned char)(i % 10);
    (void)snprintf(name, sizeof(name), "%s-labels%cidx1-ubyte%s", part, has_dot ? '.' : '-',
                   is_gzip ? ".gz" : "");
    if (is_gzip)
        gzip_file(fgt_path(folder, name));
    else
        fgt_write(fgt_path(folder, name), file, file_size);
}

static void check_mnist(const char *folder, fg_data_split split, int64_t count)
{
    fg_dataset *dataset;
    fgt_ok(fg_mnist_load(folder, split, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), count);
    assert_int_equal(fg_dataset_class_count(dataset), 10);
    char text[64];
    assert_string_equal(fg_dataset_field(dataset, 0)->name, "image");
    assert_string_equal(fg_type_format(&fg_dataset_field(dataset, 0)->type, text, sizeof(text)),
                        "u8[28,28,1]");
    assert_string_equal(fg_dataset_field(dataset, 1)->name, "label");
    assert_string_equal(fg_type_format(&fg_dataset_field(dataset, 1)->type, text, sizeof(text)),
                        "s32[]");
    for (int64_t i = 0; i < count; i += 3) {
        unsigned char image[784];
        int32_t label;
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){image, &label}, &err));
        assert_int_equal(label, i % 10);
        for (size_t p = 0; p < 784; p++)
            assert_int_equal(image[p], pixel((size_t)i, p));
    }
    fg_dataset_destroy(dataset);
}

static void mnist_comes_plain_or_gzip_by_either_name(void **state)
{
    for (int form = 0; form < 4; form++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "mnist%d", form);
        char folder_path[PATH_BYTES];
        const char *folder = name_folder(folder_path, name);
        make_mnist(folder, "train", 25, form & 1, form & 2);
        make_mnist(folder, "t10k", 7, form & 1, form & 2);
        check_mnist(folder, FG_TRAIN, 25);
        check_mnist(folder, FG_VAL, 7); /* fewer than ten classes occur, but the count is 10 */
        check_mnist(folder, FG_TEST, 7);
    }
}

static void missing_files_are_named(void **state)
{
    char folder_path[PATH_BYTES];
    const char *folder = name_folder(folder_path, "nothing");
    fg_dataset *dataset;
    assert_int_equal(fg_mnist_load(folder, FG_TRAIN, &dataset, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot find 'train-images-idx3-ubyte' in '~/nothing', with or "
                                "without .gz, nor 'train-images.idx3-ubyte'");
    assert_null(dataset);
    folder = name_folder(folder_path, "half");
    make_mnist(folder, "train", 2, false, false);
    assert_int_equal(remove(fgt_path(folder, "train-labels-idx1-ubyte")), 0);
    assert_int_equal(fg_mnist_load(folder, FG_TRAIN, &dataset, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot find 'train-labels-idx1-ubyte' in '~/half', with or "
                                "without .gz, nor 'train-labels.idx1-ubyte'");
}

static void every_element_type_is_read(void **state)
{
    const struct {
        unsigned code;
        size_t bytes;
        fg_dtype dtype;
    } cases[] = {{0x08, 1, FG_U8},  {0x09, 1, FG_S8},  {0x0b, 2, FG_S16},
                 {0x0c, 4, FG_S32}, {0x0d, 4, FG_F32}, {0x0e, 8, FG_F32}};
    for (size_t c = 0; c < 6; c++) {
        begin_idx(cases[c].code, 2, (const uint32_t[]){2, 3});
        for (int i = 0; i < 6; i++) {
            const float f = (float)i * 0.5f;
            const double d = i * 0.5;
            uint64_t bits = (uint64_t)(int64_t)-i;
            if (cases[c].code == 0x0d)
                bits = 0, memcpy(&bits, &f, 4);
            else if (cases[c].code == 0x0e)
                memcpy(&bits, &d, 8);
            for (size_t b = cases[c].bytes; b-- > 0;)
                file[file_size++] = (unsigned char)(bits >> 8 * b);
        }
        const char *path = fgt_path(fgt_temp_folder(), "types");
        fgt_write(path, file, file_size);
        fg_dataset *dataset;
        fgt_ok(fg_idx_load_files(path, NULL, &dataset, &err));
        assert_int_equal(fg_dataset_field_count(dataset), 1);
        assert_int_equal(fg_dataset_field(dataset, 0)->type.dtype, cases[c].dtype);
        assert_int_equal(fg_dataset_field(dataset, 0)->type.rank, 1);
        assert_string_equal(fg_dataset_field(dataset, 0)->name, "image");
        unsigned char row[3 * 8];
        fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){row}, &err));
        for (int k = 0; k < 3; k++) {
            const int i = 3 + k;
            switch (cases[c].dtype) {
            case FG_U8: assert_int_equal(row[k], (uint8_t)-i); break;
            case FG_S8: assert_int_equal((int8_t)row[k], -i); break;
            case FG_S16: assert_int_equal(((int16_t *)(void *)row)[k], -i); break;
            case FG_S32: assert_int_equal(((int32_t *)(void *)row)[k], -i); break;
            default: assert_true(((float *)(void *)row)[k] == (float)i * 0.5f); break;
            }
        }
        fg_dataset_destroy(dataset);
    }
}

static void expect_bad_idx(const char *message)
{
    fgi_idx idx;
    assert_int_equal(fgi_idx_parse("f", file, file_size, &idx, &err), FG_EFORMAT);
    assert_string_equal(err.message, message);
}

static void headers_that_lie_are_refused(void **state)
{
    begin_idx(0x08, 3, (const uint32_t[]){2, 3, 4});
    file_size += 23;
    expect_bad_idx("f: byte 16: the header specifies 24 bytes of data, but the file has 23");
    file_size += 2;
    expect_bad_idx("f: byte 16: the header specifies 24 bytes of data, but the file has 25");
    begin_idx(0x0e, 3, (const uint32_t[]){0xffffffff, 0xffffffff, 0xffffffff});
    expect_bad_idx("f: byte 8: the size 4294967295 is too large");
    begin_idx(0x08, 2, (const uint32_t[]){0, 0});
    expect_bad_idx("f: byte 8: dimension 1 is 0");
    begin_idx(0x0a, 1, (const uint32_t[]){1});
    expect_bad_idx("f: byte 2: unknown element type 0x0a");
    begin_idx(0x08, 0, NULL);
    expect_bad_idx("f: byte 3: 0 dimensions: expected 1 to 8");
    begin_idx(0x08, 8, (const uint32_t[]){1, 1, 1, 1, 1, 1, 1, 2});
    expect_bad_idx("f: byte 36: the header specifies 2 bytes of data, but the file has 0");
    begin_idx(0x08, 9, (const uint32_t[9]){0});
    expect_bad_idx("f: byte 3: 9 dimensions: expected 1 to 8");
    begin_idx(0x08, 200, (const uint32_t[200]){0});
    expect_bad_idx("f: byte 3: 200 dimensions: expected 1 to 8");
    file[0] = 'P';
    expect_bad_idx("f: byte 0: not an IDX file: it starts with 50 00");
    file[0] = 0;
    file[1] = 'P';
    expect_bad_idx("f: byte 0: not an IDX file: it starts with 00 50");
    begin_idx(0x08, 3, (const uint32_t[]){2, 3, 4});
    file_size = 15;
    expect_bad_idx("f: byte 15: unexpected end of file in the IDX header");
    file_size = 3;
    expect_bad_idx("f: byte 3: unexpected end of file in the IDX header");
}

static void expect_bad_pair(const char *folder, const char *message)
{
    fg_dataset *dataset;
    assert_int_equal(fg_mnist_load(folder, FG_TRAIN, &dataset, &err), FG_EFORMAT);
    assert_null(dataset);
    fgt_message_is(err.message, message);
}

static void files_that_do_not_go_together_are_refused(void **state)
{
    char folder_path[PATH_BYTES];
    const char *folder = name_folder(folder_path, "pairs");
    make_mnist(folder, "train", 5, false, false);
    const char *labels = fgt_path(folder, "train-labels-idx1-ubyte");
    begin_idx(0x08, 1, (const uint32_t[]){4});
    file_size += 4;
    fgt_write(labels, file, file_size);
    expect_bad_pair(folder, "~/pairs/train-labels-idx1-ubyte: byte 4: 4 labels, but "
                            "'~/pairs/train-images-idx3-ubyte' has 5 images");
    make_mnist(folder, "train", 1, false, false);
    begin_idx(0x08, 1, (const uint32_t[]){0});
    fgt_write(labels, file, file_size);
    expect_bad_pair(folder, "~/pairs/train-labels-idx1-ubyte: byte 4: 0 labels, but "
                            "'~/pairs/train-images-idx3-ubyte' has 1 image");
    make_mnist(folder, "train", 5, false, false);
    begin_idx(0x08, 1, (const uint32_t[]){1});
    file_size += 1;
    fgt_write(labels, file, file_size);
    expect_bad_pair(folder, "~/pairs/train-labels-idx1-ubyte: byte 4: 1 label, but "
                            "'~/pairs/train-images-idx3-ubyte' has 5 images");
    begin_idx(0x0d, 1, (const uint32_t[]){5});
    file_size += 20;
    fgt_write(labels, file, file_size);
    expect_bad_pair(folder, "~/pairs/train-labels-idx1-ubyte: byte 2: labels are f32 of rank 1: "
                            "expected integers of rank 1");
    begin_idx(0x08, 1, (const uint32_t[]){5});
    memcpy(file + file_size, "\x00\x01\x02\x0a\x03", 5);
    file_size += 5;
    fgt_write(labels, file, file_size);
    expect_bad_pair(folder, "the largest label in '~/pairs' is 10: MNIST requires 0 to 9");
    begin_idx(0x08, 3, (const uint32_t[]){5, 28, 1});
    file_size += 140;
    fgt_write(fgt_path(folder, "train-images-idx3-ubyte"), file, file_size);
    expect_bad_pair(folder, "the images in '~/pairs' are u8[28,1,1]: MNIST requires u8[28,28,1]");
    begin_idx(0x08, 3, (const uint32_t[]){5, 1, 28});
    file_size += 140;
    fgt_write(fgt_path(folder, "train-images-idx3-ubyte"), file, file_size);
    expect_bad_pair(folder, "the images in '~/pairs' are u8[1,28,1]: MNIST requires u8[28,28,1]");
}

static void damaged_gzip_is_refused(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "damaged.gz");
    fgi_mapping good;
    fg_dataset *dataset;
    begin_idx(0x08, 2, (const uint32_t[]){100, 100});
    for (size_t i = 0; i < 10000; i++)
        file[file_size++] = (unsigned char)(i * i >> 5);
    gzip_file(path);
    fgt_ok(fg_idx_load_files(path, NULL, &dataset, &err));
    fg_dataset_destroy(dataset);
    fgt_ok(fgi_file_map(path, &good, &err));
    const size_t size = good.size;
    memcpy(file, good.data, size);
    fgi_file_unmap(&good);
    for (size_t cut = 2; cut < size; cut += 97) {
        fgt_write(path, file, cut);
        assert_int_equal(fg_idx_load_files(path, NULL, &dataset, &err), FG_EFORMAT);
        fgt_message_is(err.message, "~/damaged.gz: byte @: the gzip file is truncated");
    }
    for (size_t at = 20; at < size; at += 41) {
        file[at] ^= 4;
        fgt_write(path, file, size);
        assert_int_equal(fg_idx_load_files(path, NULL, &dataset, &err), FG_EFORMAT);
        fgt_message_is(err.message, "~/damaged.gz: byte @");
        file[at] ^= 4;
    }
}

static void gzip_members_follow_each_other_up_to_the_limit(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "members.gz");
    file_size = 60000;
    memset(file, 7, file_size);
    gzip_file(path);
    fgi_mapping member;
    fgt_ok(fgi_file_map(path, &member, &err));
    memcpy(file, member.data, member.size);
    memcpy(file + member.size, member.data, member.size);
    const size_t size = 2 * member.size;
    fgi_file_unmap(&member);
    fgi_block block;
    fgt_ok(fgi_block_inflate("two", file, size, 120000, &block, &err));
    assert_int_equal(block.size, 120000);
    assert_int_equal(block.data[119999], 7);
    fgi_block_fini(&block);
    assert_int_equal(fgi_block_inflate("two", file, size, 119999, &block, &err), FG_EFORMAT);
    fgt_message_is(err.message, "two: byte @: decompresses to more than 119999 bytes");
    assert_null(block.data);
}

/* ---- CIFAR ----------------------------------------------------------------------------------- */

static void make_cifar_batch(const char *path, size_t first, size_t count)
{
    file_size = 0;
    for (size_t i = first; i < first + count; i++) {
        file[file_size++] = (unsigned char)(i % 10);
        for (size_t p = 0; p < FGI_CIFAR_IMAGE_BYTES; p++)
            file[file_size++] = pixel(i, p);
    }
    fgt_write(path, file, file_size);
}

static void make_cifar(const char *folder)
{
    fgt_ok(fgi_folder_make(folder, &err));
    for (size_t b = 0; b < 5; b++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "data_batch_%zu.bin", b + 1);
        make_cifar_batch(fgt_path(folder, name), 3 * b, 3);
    }
    make_cifar_batch(fgt_path(folder, "test_batch.bin"), 100, 4);
}

static void check_cifar(const char *folder, fg_data_split split, size_t first, int64_t count)
{
    fg_dataset *dataset;
    fgt_ok(fg_cifar10_load(folder, split, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), count);
    for (int64_t i = 0; i < count; i++) {
        unsigned char image[32][32][3];
        int32_t label;
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){image, &label}, &err));
        assert_int_equal(label, (first + (size_t)i) % 10);
        for (size_t y = 0; y < 32; y++)
            for (size_t x = 0; x < 32; x++)
                for (size_t c = 0; c < 3; c++)
                    assert_int_equal(image[y][x][c],
                                     pixel(first + (size_t)i, c * 1024 + y * 32 + x));
    }
    fg_dataset_destroy(dataset);
}

static void cifar_planes_become_channels_last(void **state)
{
    char folder_path[PATH_BYTES];
    const char *folder = name_folder(folder_path, "cifar");
    make_cifar(folder);
    check_cifar(folder, FG_TRAIN, 0, 15);
    check_cifar(folder, FG_VAL, 100, 4);
    check_cifar(folder, FG_TEST, 100, 4);
    char outer_path[PATH_BYTES];
    const char *outer = name_folder(outer_path, "unpacked");
    char inner[PATH_BYTES];
    make_cifar(name_folder(inner, "unpacked/cifar-10-batches-bin"));
    check_cifar(outer, FG_TRAIN, 0, 15);
}

static void cifar_class_names_are_a_courtesy(void **state)
{
    char folder_path[PATH_BYTES];
    const char *folder = name_folder(folder_path, "names");
    make_cifar(folder);
    const char *meta = fgt_path(folder, "batches.meta.txt");
    fg_dataset *dataset;
    static const char names[] = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\r\nship\n"
                                "truck\n\n";
    fgt_write(meta, names, sizeof(names) - 1);
    fgt_ok(fg_cifar10_load(folder, FG_VAL, &dataset, &err));
    assert_int_equal(fg_dataset_class_count(dataset), 10);
    assert_string_equal(fg_dataset_class_name(dataset, 0), "airplane");
    assert_string_equal(fg_dataset_class_name(dataset, 7), "horse");
    assert_string_equal(fg_dataset_class_name(dataset, 9), "truck");
    fg_dataset_destroy(dataset);
    static const char blank[] = "airplane\n\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\n"
                                "truck\n"; /* each name after the first would be of another class */
    for (int i = 0; i < 2; i++) {
        fgt_write(meta, i == 0 ? names : blank, i == 0 ? 20 : sizeof(blank) - 1);
        fgt_ok(fg_cifar10_load(folder, FG_VAL, &dataset, &err));
        assert_null(fg_dataset_class_name(dataset, 0));
        assert_int_equal(fg_dataset_class_count(dataset), 10);
        fg_dataset_destroy(dataset);
    }
}

static void damaged_cifar_is_refused(void **state)
{
    char folder_path[PATH_BYTES];
    const char *folder = name_folder(folder_path, "broken");
    make_cifar(folder);
    fg_dataset *dataset;
    const char *batch = fgt_path(folder, "data_batch_3.bin");
    make_cifar_batch(batch, 0, 3);
    file[fgi_cifar_record(&fgi_cifar10)] = 10;
    fgt_write(batch, file, file_size);
    assert_int_equal(fg_cifar10_load(folder, FG_TRAIN, &dataset, &err), FG_EFORMAT);
    assert_null(dataset);
    fgt_message_is(err.message,
                   "~/broken/data_batch_3.bin: byte 3073: label 10 of record 1: expected 0 to 9");
    fgt_write(batch, file, file_size - 1);
    assert_int_equal(fg_cifar10_load(folder, FG_TRAIN, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/broken/data_batch_3.bin: byte 9218: the file ends within a "
                                "record: 9218 bytes are not a multiple of 3073");
    fgt_write(batch, file, 0);
    assert_int_equal(fg_cifar10_load(folder, FG_TRAIN, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/broken/data_batch_3.bin: byte 0: the file ends within a record: "
                                "0 bytes are not a multiple of 3073");
    assert_int_equal(remove(batch), 0);
    assert_int_equal(fg_cifar10_load(folder, FG_TRAIN, &dataset, &err), FG_ENOTFOUND);
    fgt_message_is(err.message,
                   "cannot open '~/broken/data_batch_3.bin': No such file or directory");
}

/* A record has a coarse and a fine label. */
static void either_label_of_cifar100_can_be_used(void **state)
{
    char folder_path[PATH_BYTES], inner[PATH_BYTES];
    const char *folder = name_folder(folder_path, "hundred");
    fgt_ok(fgi_folder_make(name_folder(inner, "hundred/cifar-100-binary"), &err));
    const char *path = fgt_path(inner, "test.bin");
    static const uint8_t labels[][2] = {{19, 99}, {3, 7}};
    file_size = 0;
    for (size_t i = 0; i < 2; i++) {
        file[file_size++] = labels[i][0];
        file[file_size++] = labels[i][1];
        for (size_t p = 0; p < FGI_CIFAR_IMAGE_BYTES; p++)
            file[file_size++] = pixel(i, p);
    }
    fgt_write(path, file, file_size);
    fgt_write(fgt_path(inner, "coarse_label_names.txt"),
              "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\n", 40);
    for (int is_coarse = 0; is_coarse < 2; is_coarse++) {
        fg_dataset *dataset;
        fgt_ok(fg_cifar100_load(folder, FG_VAL, is_coarse != 0, &dataset, &err));
        assert_int_equal(fg_dataset_count(dataset), 2);
        assert_int_equal(fg_dataset_class_count(dataset), is_coarse ? 20 : 100);
        for (int64_t i = 0; i < 2; i++) {
            unsigned char image[32][32][3];
            int32_t label;
            fgt_ok(fg_dataset_read(dataset, i, (void *const[]){image, &label}, &err));
            assert_int_equal(label, labels[i][is_coarse ? 0 : 1]);
            assert_int_equal(image[1][2][2], pixel((size_t)i, 2048 + 34));
        }
        const char *name = fg_dataset_class_name(dataset, 19);
        assert_true(is_coarse ? strcmp(name, "t") == 0 : name == NULL);
        fg_dataset_destroy(dataset);
    }
}

/* After the test before: two records, of which the folder has the first names. */
static void damaged_cifar100_is_refused(void **state)
{
    char folder_path[PATH_BYTES], inner[PATH_BYTES];
    const char *folder = name_folder(folder_path, "hundred");
    const char *path = fgt_path(name_folder(inner, "hundred/cifar-100-binary"), "test.bin");
    fg_dataset *dataset;
    file[fgi_cifar_record(&fgi_cifar100_fine)] = 20;
    fgt_write(path, file, file_size);
    assert_int_equal(fg_cifar100_load(folder, FG_TEST, true, &dataset, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "~/hundred/cifar-100-binary/test.bin: byte 3074: label 20 of record 1: expected 0 to 19");
    assert_int_equal(fg_cifar100_load(folder, FG_TRAIN, true, &dataset, &err), FG_ENOTFOUND);
    fgt_message_is(err.message,
                   "cannot open '~/hundred/cifar-100-binary/train.bin': No such file or directory");
    file[1] = 100;
    fgt_write(path, file, file_size - fgi_cifar_record(&fgi_cifar100_fine));
    assert_int_equal(fg_cifar100_load(folder, FG_TEST, false, &dataset, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "~/hundred/cifar-100-binary/test.bin: byte 1: label 100 of record 0: expected 0 to 99");
    file[1] = 99;
    fgt_write(fgt_path(inner, "train.bin"), file, fgi_cifar_record(&fgi_cifar100_fine));
    char names[301] = "";
    for (int i = 0; i < 100; i++)
        (void)snprintf(names + 3 * i, 4, "%02d\n", i);
    fgt_write(fgt_path(inner, "fine_label_names.txt"), names, 300);
    fgt_ok(fg_cifar100_load(inner, FG_TRAIN, false, &dataset, &err)); /* the folder itself */
    assert_int_equal(fg_dataset_count(dataset), 1);
    assert_string_equal(fg_dataset_class_name(dataset, 99), "99");
    fg_dataset_destroy(dataset);
}

static fg_status open_images(void *self, fg_error *e)
{
    const char *folder = self;
    fg_dataset *dataset = NULL;
    fg_status status = fg_mnist_load(fgt_path(folder, "m"), FG_TRAIN, &dataset, e);
    fg_dataset_destroy(dataset);
    if (status == FG_OK) {
        status = fg_cifar10_load(fgt_path(folder, "c"), FG_TRAIN, &dataset, e);
        fg_dataset_destroy(dataset);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    char folder[PATH_BYTES], inner[PATH_BYTES];
    make_mnist(name_folder(inner, "faults/m"), "train", 3, true, false);
    make_cifar(name_folder(inner, "faults/c"));
    fgt_write(fgt_path(inner, "batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 20);
    fgt_fault_loop(open_images, (void *)(uintptr_t)name_folder(folder, "faults"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mnist_comes_plain_or_gzip_by_either_name),
    cmocka_unit_test(missing_files_are_named),
    cmocka_unit_test(every_element_type_is_read),
    cmocka_unit_test(headers_that_lie_are_refused),
    cmocka_unit_test(files_that_do_not_go_together_are_refused),
    cmocka_unit_test(damaged_gzip_is_refused),
    cmocka_unit_test(gzip_members_follow_each_other_up_to_the_limit),
    cmocka_unit_test(cifar_planes_become_channels_last),
    cmocka_unit_test(cifar_class_names_are_a_courtesy),
    cmocka_unit_test(damaged_cifar_is_refused),
    cmocka_unit_test(either_label_of_cifar100_can_be_used),
    cmocka_unit_test(damaged_cifar100_is_refused),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
