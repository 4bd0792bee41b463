/* test_pack_commands.c - fulgurite pack info, verify, rebuild, export and show, as a user runs
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <fulgurite/image.h>
#include <fulgurite/pack.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "made_jpeg.h"

static const char *folder; /* with photos/cat/1.jpg, photos/dog/2.jpg and 3.jpg, and p.pack */

static void make_photos(void)
{
    static const char *const names[] = {"photos/cat/1.jpg", "photos/dog/2.jpg", "photos/dog/3.jpg"};
    if (folder != NULL)
        return;
    folder = fgt_temp_folder();
    assert_int_equal(shell(folder, "mkdir -p photos/cat photos/dog"), 0);
    for (int i = 0; i < 3; i++) {
        size_t size;
        uint8_t *jpeg = fgt_jpeg_make(
            &(fgt_jpeg_spec){.width = 40 + 8 * i, .height = 32, .quality = 80 + i}, &size);
        fgt_write(fgt_path(folder, names[i]), jpeg, size);
        free(jpeg);
    }
    (void)program_gives(0, folder, "pack photos p.pack --codec file --quiet");
}

static void info_and_verify(void **state)
{
    (void)state;
    make_photos();
    const char *text = program_gives(0, folder, "pack info p.pack")->out;
    contains(text, "records   3\n");
    contains(text, "codecs    file 3\n");
    contains(text, "  dog  2  66.7 %  ##############################\n");
    json_t *object = json_loads(program_gives(0, folder, "pack info p.pack --json")->out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(object, "records")), 3);
    json_decref(object);
    contains(program_gives(0, folder, "pack verify p.pack")->out, ": no faults\n");
    contains(program_gives(1, folder, "pack info none.pack")->err, "none.pack");
    contains(program_gives(1, folder, "pack verify none.pack")->err, "none.pack");
    contains(program_gives(2, folder, "pack info")->err, "expected PACK");
    contains(program_gives(1, folder, "pack --check none")->err, "'none'");
    contains(program_gives(2, folder, "pack photos v.pack --variants=3")->err,
             "3 variants are stored as squares: set their size, such as presize square=224\n");
}

static void a_damaged_pack_is_found_and_rebuilt(void **state)
{
    (void)state;
    make_photos();
    assert_int_equal(shell(folder,
                           "cp p.pack bad.pack && printf '\\377' | dd of=bad.pack bs=1 seek=4500 "
                           "conv=notrunc 2>/dev/null"),
                     0);
    const outcome *o = program_gives(1, folder, "pack verify bad.pack");
    contains(o->out, "cat/1.jpg");
    contains(o->out, "  fulgurite pack rebuild 'bad.pack'\n");
    contains(program_gives(0, folder, "pack rebuild bad.pack good.pack")->out,
             "good.pack: 3 records, of which 1 was lost and is empty now");
    contains(program_gives(0, folder, "pack info good.pack")->out, "\nlost      1 record");
    contains(program_gives(0, folder, "pack export good.pack good")->out, /* what is left */
             "good\t2 files\t2.8 kB\n");
    assert_int_equal(shell(folder, "test $(find good -type f | wc -l) = 2"), 0);
}

static void compare_packs(const char *a_path, const char *b_path)
{
    fg_error err = {0};
    fg_pack *packs[2] = {NULL, NULL};
    fgt_ok(fg_pack_open(a_path, NULL, &packs[0], &err));
    fgt_ok(fg_pack_open(b_path, NULL, &packs[1], &err));
    assert_int_equal(fg_pack_count(packs[0]), fg_pack_count(packs[1]));
    for (int64_t i = 0; i < fg_pack_count(packs[0]); i++) {
        fg_pack_entry entries[2];
        for (int k = 0; k < 2; k++)
            fgt_ok(fg_pack_entry_at(packs[k], i, &entries[k], &err));
        assert_string_equal(entries[0].name, entries[1].name);
        assert_int_equal(entries[0].label, entries[1].label);
        assert_int_equal(entries[0].crc, entries[1].crc);
        assert_int_equal(entries[0].size_bytes, entries[1].size_bytes);
    }
    fg_pack_close(packs[0]);
    fg_pack_close(packs[1]);
}

static void exported_files_give_the_same_pack(void **state)
{
    (void)state;
    make_photos();
    contains(program_gives(0, folder, "pack export p.pack again")->out, "again\t3 files\t");
    assert_int_equal(shell(folder, "diff -r photos again"), 0);
    (void)program_gives(0, folder, "pack again again.pack --codec file --quiet");
    compare_packs(fgt_path(folder, "p.pack"), fgt_path(folder, "again.pack"));
    contains(program_gives(2, folder, "pack export p.pack again")->err, "--force");
    contains(
        program_gives(0, folder, "pack export p.pack again --force --class dog --limit 1")->out,
        "again\t1 file\t");
    assert_false(is_there(folder, "x"));
    (void)program_gives(0, folder, "pack photos raw.pack --codec raw --quiet");
    contains(program_gives(0, folder, "pack export raw.pack jpegs --format jpeg --quality 1")->out,
             "jpegs\t3 files\t");
    assert_int_equal(shell(folder, "test $(find jpegs -name '*.jpg' | wc -l) = 3"), 0);
}

static const struct {
    const char *words;
    int status;
    const char *message;
} mistakes[] = {
    {"export p.pack x --limit 0", 2,
     "limit: expected an integer, 1 or greater (for example 1), got '0'"},
    {"export p.pack x --seed -1", 2,
     "seed: expected an integer, 0 or greater (for example 1), got '-1'"},
    {"export p.pack x --quality 101", 2,
     "quality: expected an integer from 1 to 100 (for example 1), got '101'"},
    {"export p.pack x --split tset", 2, "--split is 'tset': expected train|val|test|none"},
    {"export p.pack x --format bmp", 2, "--format is 'bmp': expected png|jpeg"},
    {"export p.pack x --class dgo", 1, "did you mean 'dog'?"},
    {"show p.pack --rows 0", 2,
     "rows: expected an integer from 1 to 2147483647 (for example 1), got '0'"},
    {"show p.pack --columns 0", 2,
     "columns: expected an integer from 1 to 2147483647 (for example 1), got '0'"},
    {"show p.pack --cell 0", 2,
     "cell: expected an integer from 1 to 2147483647 (for example 1), got '0'"},
    {"show p.pack --seed x", 2, "seed: expected an integer, 0 or greater (for example 1), got 'x'"},
    {"show p.pack --split tset", 2, "--split is 'tset': expected train|val|test|none"},
    {"show p.pack --class dgo", 1, "did you mean 'dog'?"},
};

static void wrong_values_name_their_option(void **state)
{
    (void)state;
    make_photos();
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "pack %s", mistakes[i].words);
        contains(program_gives(mistakes[i].status, folder, line)->err, mistakes[i].message);
    }
    assert_false(is_there(folder, "x"));
}

static void read_sheet(const char *name, int64_t width, int64_t height)
{
    fg_error err = {0};
    fg_image_info info;
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(fgt_path(folder, name), "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    fgt_ok(fg_image_probe(name, bytes, size, &info, &err));
    assert_int_equal(info.format, FG_IMAGE_PNG);
    assert_int_equal(info.width, width);
    assert_int_equal(info.height, height);
}

static void sheets_are_drawn(void **state)
{
    (void)state;
    make_photos();
    const outcome *o =
        program_gives(0, folder, "pack show p.pack --rows 2 --columns 2 --cell 32 --out s.png");
    assert_string_equal(o->out, "1\t1\t0\tcat\tcat/1.jpg\n1\t2\t1\tdog\tdog/2.jpg\n"
                                "2\t1\t2\tdog\tdog/3.jpg\n");
    read_sheet("s.png", 4 + 2 * 36, 4 + 2 * 50);
    o = program_gives(0, folder,
                      "pack show p.pack --rows 2 --columns 3 --cell 16 --out a.png "
                      "--augment 'random_flip, mixup'");
    assert_string_equal(o->out, "1\t0\tcat\n2\t1\tdog\n");
    read_sheet("a.png", 4 + 3 * 20, 4 + 2 * 34);
    contains(program_gives(2, folder, "pack show p.pack --augment random_flop")->err,
             "random_flip");
    contains(program_gives(2, folder, "pack show p.pack --augment random_flip --columns 1")->err,
             "expected at least 2");
    contains(program_gives(1, folder, "pack show p.pack --out /dev/full")->err, "/dev/full");
}

/* ---- augmented images ------------------------------------------------------------------------ */

/* The left and the right half of a record, and its stripe in the middle if it is high. */
static const uint8_t colors[2][3][3] = {{{200, 0, 0}, {0, 200, 0}, {0, 200, 200}},
                                        {{0, 0, 200}, {200, 200, 0}, {200, 0, 200}}};

static void make_halves(const char *name, const int sizes[2][2])
{
    static const char *const classes[] = {"red", "blue"};
    static const int32_t labels[] = {1, 0};
    static uint8_t pixels[16 * 300 * 3];
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    const fg_pack_writer_options options = {.class_names = classes, .class_count = 2};
    fgt_ok(fg_pack_writer_create(fgt_path(folder, name), &options, &writer, NULL, &err));
    for (int i = 0; i < 2; i++) {
        const int width = sizes[i][0], height = sizes[i][1];
        const fg_pack_entry entry = {.name = i == 0 ? "0.png" : "1.png",
                                     .codec = FG_PACK_RAW_RGB,
                                     .width = width,
                                     .height = height,
                                     .label = i == 0 ? FG_PACK_NO_LABEL : 1,
                                     .labels = i == 0 ? labels : NULL,
                                     .label_count = i == 0 ? 2 : 0};
        for (int k = 0; k < width * height; k++) {
            const bool is_middle = height > 256 && abs(2 * (k / width) + 1 - height) <= width;
            memcpy(pixels + 3 * k, colors[i][is_middle ? 2 : 2 * (k % width) >= width], 3);
        }
        fgt_ok(fg_pack_writer_add(writer, &entry, pixels, 3 * (size_t)(width * height), &err));
    }
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}

static bool has_color(const fg_image *sheet, int64_t x, int64_t y, const uint8_t *color)
{
    const uint8_t *at = sheet->pixels + 3 * (y * sheet->width + x);
    for (int i = 0; i < 3; i++)
        if (abs(at[i] - color[i]) > 2)
            return false;
    return true;
}

/* A pixel of each cell, at (1, y): '<' the color of the left half, '>' of the right one, '|' of the
 * stripe, '.' none of them. */
static const char *cells_of(const char *arguments, int rows, int columns, int cell, int y)
{
    static char found[64];
    static unsigned char bytes[1 << 20];
    char line[256];
    fg_error err = {0};
    fg_image sheet = {0};
    fg_image_decoder *decoder = NULL;
    size_t used = 0;
    (void)snprintf(line, sizeof line, "pack show %s --out h.png", arguments);
    (void)program_gives(0, folder, line);
    FILE *file = fopen(fgt_path(folder, "h.png"), "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "h.png", bytes, size, NULL, &sheet, &err));
    assert_int_equal(sheet.width, 4 + columns * (cell + 4));
    assert_int_equal(sheet.height, 4 + rows * (cell + 18));
    for (int row = 0; row < rows; row++, found[used++] = ' ')
        for (int column = 0; column < columns; column++, used++) {
            const int64_t left = 4 + column * (cell + 4), top = 4 + row * (cell + 18);
            found[used] = '.';
            for (int k = 0; k < 3 && row < 2; k++)
                if (has_color(&sheet, left + 1, top + y, colors[row][k]))
                    found[used] = "<>|"[k];
        }
    found[used - 1] = '\0';
    fg_image_decoder_destroy(decoder);
    fg_image_fini(&sheet);
    return found;
}

static const char *flips_of(const char *augment)
{
    char line[160];
    (void)snprintf(line, sizeof line, "halves.pack --rows 2 --columns 9 --cell 16 --augment '%s'",
                   augment);
    return cells_of(line, 2, 9, 16, 8);
}

/* A flip that is certain, and one that is drawn for each cell: also after another augmentation, but
 * not as by the same one before it. */
static void each_cell_has_its_own_draw(void **state)
{
    char drawn[64];
    (void)state;
    make_photos();
    make_halves("halves.pack", (const int[2][2]){{8, 8}, {8, 8}});
    assert_string_equal(flips_of("[random_flip: {p: 1}]"), "<>>>>>>>> <>>>>>>>>");
    (void)snprintf(drawn, sizeof drawn, "%s", flips_of("[random_flip]"));
    assert_non_null(strstr(drawn, "<>"));
    assert_non_null(strstr(drawn, "><"));
    assert_memory_not_equal(drawn, drawn + 10, 9);
    assert_string_equal(flips_of("[invert: {p: 0}, random_flip]"), drawn);
    assert_string_not_equal(flips_of("[random_flip, random_flip]"), "<<<<<<<<< <<<<<<<<<");
    assert_string_not_equal(flips_of("[random_flip]' --seed '4294967296"), drawn);
    assert_string_equal(program_gives(0, folder, "pack show halves.pack --augment grayscale")->out,
                        "1\t0\tblue\n2\t1\tblue\n"); /* the first of several labels */
    assert_string_equal(cells_of("halves.pack --augment 'invert: {p: 0}'", 6, 8, 128, 64),
                        "<<<<<<<< <<<<<<<< ........ ........ ........ ........");
}

/* Images of one size, at most 256x256, keep it; else the squares in their middle are used. */
static void images_of_one_size_keep_it(void **state)
{
    static const struct {
        int sizes[2][2], y;
        const char *found;
    } rows[] = {{{{8, 4}, {8, 4}}, 4, "<< <<"},      {{{8, 4}, {8, 4}}, 3, ".. .."},
                {{{8, 4}, {4, 4}}, 3, ".< <<"},      {{{4, 8}, {4, 4}}, 3, ".< <<"},
                {{{8, 300}, {8, 8}}, 3, ".| <<"},    {{{16, 256}, {16, 256}}, 8, ".. .."},
                {{{16, 257}, {16, 257}}, 8, ".| .|"}};
    (void)state;
    make_photos();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[32], line[128];
        (void)snprintf(name, sizeof name, "sizes-%zu.pack", i);
        (void)snprintf(line, sizeof line,
                       "%s --rows 2 --columns 2 --cell 16 --augment 'invert: {p: 0}'", name);
        make_halves(name, rows[i].sizes);
        const char *found = cells_of(line, 2, 2, 16, rows[i].y);
        if (strcmp(found, rows[i].found) != 0)
            fail_msg("row %zu: %s", i, found);
    }
}

static void arrays_and_tokens_are_packed(void **state)
{
    (void)state;
    make_photos();
    fgt_write(fgt_path(folder, "text.txt"), "to be or not to be", 18);
    contains(program_gives(0, folder, "pack text.txt text.pack --sequence 4")->out,
             "text.pack\t4 records\n");
    const char *text = program_gives(0, folder, "pack info text.pack")->out;
    contains(text, "fields    tokens u8[5]\n");
    (void)program_gives(0, folder, "pack export text.pack arrays");
    assert_true(is_there(folder, "arrays/train/record-000000003.tokens.npy"));
    contains(program_gives(2, folder, "pack text.txt t.pack --sequence 4 --codec raw")->err,
             "are for images");
    contains(program_gives(2, folder, "pack show text.pack --rows 0")->err, "rows: expected");
    contains(program_gives(1, folder, "pack show text.pack")->err, "not an image");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(info_and_verify),
    cmocka_unit_test(a_damaged_pack_is_found_and_rebuilt),
    cmocka_unit_test(exported_files_give_the_same_pack),
    cmocka_unit_test(wrong_values_name_their_option),
    cmocka_unit_test(sheets_are_drawn),
    cmocka_unit_test(each_cell_has_its_own_draw),
    cmocka_unit_test(images_of_one_size_keep_it),
    cmocka_unit_test(arrays_and_tokens_are_packed),
};
TRAINING_MAIN(tests)
