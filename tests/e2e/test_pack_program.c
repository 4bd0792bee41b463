/* test_pack_program.c - fulgurite pack SOURCE OUT: exit status, results, errors, a source with the
 * name of a subcommand, continuing after a kill, progress on a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "photos.h"
#include "terminal.h"

static off_t size_of(const char *folder, const char *name)
{
    struct stat info;
    assert_int_equal(stat(fgt_path(folder, name), &info), 0);
    return info.st_size;
}

/* A folder with the image folder "info". */
static const char *make_folder(void)
{
    static char folder[512];
    char target[600];
    const char *source = photos_make();
    (void)snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
    (void)snprintf(target, sizeof(target), "%s/info", folder);
    assert_int_equal(symlink(source, target), 0);
    return folder;
}

static void packs_and_says_what_was_chosen(void **state)
{
    const char *folder = make_folder();
    const outcome *o = program_gives(0, folder, "pack ./info p.pack --presize square=32,upscale");
    assert_string_equal(o->out, "p.pack\t8 records\n");
    contains(o->err, "codec ");
    contains(o->err, ": the model needs 2,000 images/s, and ");
    o = program_gives(0, folder, "pack ./info q.pack --codec=raw --presize=max=20 --variants 1 -q");
    assert_string_equal(o->err, "");
    o = program_gives(2, folder, "pack ./info p.pack --codec jpeg");
    contains(o->err, "fulgurite pack: 'p.pack' exists: ");
    o = program_gives(0, folder, "pack ./info p.pack --codec jpeg --replace --split val=0.1");
    contains(o->err, "warning: no validation images of class ");
}

/* The size is that of the configuration; a rate and a codec on the command line need no plan. */
static void packs_for_a_configuration(void **state)
{
    static const char yaml[] =
        "task: classification\nmodel: {name: lenet}\noptimizer: {name: adam}\n"
        "data: {format: images, train: info, val: info, size: 14}\n";
    (void)state;
    const char *folder = make_folder();
    fgt_write(fgt_path(folder, "c.yaml"), yaml, sizeof(yaml) - 1);
    const outcome *o = program_gives(0, folder, "pack ./info p.pack --for c.yaml --rate 1");
    contains(o->err, "'c.yaml' trains on 14x14 pixels: images are stored with a shorter side of 16 "
                     "pixels\n");
    contains(o->err, ": the model needs 1 images/s, and ");
    contains(o->err, "/s from jpeg (measured); ");
    assert_null(strstr(o->err, "too slow")); /* measured with the loader of training */
    (void)program_gives(0, folder,
                        "pack ./info q.pack --for c.yaml --codec=jpeg --presize=none -q");
    assert_true(size_of(folder, "q.pack") > size_of(folder, "p.pack"));
}

static void mistakes_are_usage_errors(void **state)
{
    static const struct {
        const char *arguments, *message;
    } rows[] = {
        {"pack ./info",
         "fulgurite pack: expected SOURCE OUT.pack, got only './info'; to check the images "
         "without packing them: pack --check SOURCE\n"},
        {"pack ./info p.pack --codec png", "--codec is 'png': expected auto|file|jpeg|jpeg-seg"},
        {"pack ./info p.pack --quality 101", "--quality: expected an integer from 1 to 100"},
        {"pack ./info p.pack --presize big", "--presize: "},
        {"pack ./info p.pack --topology kaggle", "--for: name the configuration"},
        {"pack ./info p.pack --for no.yaml", "--for: "},
        {"pack ./info p.zip --codec jpeg", "must end in 'NAME.pack', got 'p.zip'"},
        {"pack ./info p.pack --codec dct", "codec dct requires images of equal size"},
    };
    const char *folder = make_folder();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        contains(program_gives(2, folder, rows[i].arguments)->err, rows[i].message);
    assert_false(is_there(folder, "p.pack"));
    contains(program_gives(1, folder, "pack nothing p.pack")->err, "nothing");
}

static void bad_images_are_a_failure_or_listed(void **state)
{
    const char *folder = make_folder();
    fgt_write(fgt_path(folder, "info/cat/a.jpg"), "text", 4);
    const outcome *o = program_gives(1, folder, "pack ./info p.pack --codec file");
    contains(o->err, "cat/a.jpg: ");
    contains(o->err, "(fulgurite pack --bad skip)");
    o = program_gives(0, folder, "pack ./info p.pack --codec file --bad skip");
    contains(o->err, "1 bad image and 0 other files are not in the pack: see p.pack.bad.jsonl\n");
    contains(file_text(folder, "p.pack.bad.jsonl"), "{\"name\":\"cat/a.jpg\",\"reason\":");
    o = program_gives(1, folder, "pack --check ./info");
    contains(o->out, "cat/a.jpg: unsupported image format: this is text\n");
    contains(o->err, "8 images can be decoded, 0 of them with a warning; 1 cannot; 0 other "
                     "files are not images\n");
    contains(program_gives(2, folder, "pack --check ./info q.pack")->err,
             "fulgurite pack: --check packs nothing: leave out 'q.pack'\n");
    assert_int_equal(unlink(fgt_path(folder, "info/cat/a.jpg")), 0);
    fgt_write(fgt_path(folder, "info/read.txt"), "text", 4);
    contains(program_gives(0, folder, "pack --check ./info")->err,
             "8 images can be decoded, 0 of them with a warning; 0 cannot; 1 other file is not an "
             "image\n");
}

static void progress_is_drawn_on_a_terminal(void **state)
{
    int master;
    char text[4096];
    const char *folder = make_folder();
    FILE *terminal = terminal_open(70, &master);
    const char *const words[] = {"pack", "./info", "p.pack", "--codec=jpeg", NULL};
    const pid_t child = program_start(folder, STDERR_FILENO, fileno(terminal), words);
    assert_int_equal(program_wait(child), 0);
    terminal_read(master, text, sizeof(text));
    contains(text, "\r8/8 images, ");
    (void)fclose(terminal);
    (void)close(master);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(packs_and_says_what_was_chosen),
    cmocka_unit_test(packs_for_a_configuration),
    cmocka_unit_test(mistakes_are_usage_errors),
    cmocka_unit_test(bad_images_are_a_failure_or_listed),
    cmocka_unit_test(progress_is_drawn_on_a_terminal),
};
FGT_MAIN(tests)
