/* test_outputs.c - where the program writes: files, links, devices, FIFOs and standard output; and
 * that paths that cannot be written are detected before any work. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char digits[] =
    "model: {name: mlp, hidden: [16]}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_steps: 2, seed: 7, run_dir: run}\n";

/* A fresh folder with a run in it. */
static const char *trained(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    (void)program_gives(0, folder, "fit digits.yaml -q --draw=never");
    return folder;
}

static mode_t kind_of(const char *folder, const char *name)
{
    struct stat info;
    assert_int_equal(lstat(fgt_path(folder, name), &info), 0);
    return info.st_mode & S_IFMT;
}

static void predictions_reach_any_kind_of_file(void **state)
{
    const char *folder = trained();
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q > plain.csv"), 0);
    const char *plain = file_text(folder, "plain.csv");
    assert_non_null(strstr(plain, "index,prediction,p_0"));
    assert_int_equal(shell(folder, "fulgurite predict digits.yaml -q --out=- > dash.csv"), 0);
    assert_string_equal(file_text(folder, "dash.csv"), plain);
    assert_int_equal(shell(folder, "{ echo first; fulgurite predict digits.yaml -q "
                                   "--out=/dev/stdout; echo last; } > device.csv"),
                     0);
    const char *device = file_text(folder, "device.csv");
    assert_int_equal(strlen(device), strlen(plain) + strlen("first\nlast\n"));
    assert_non_null(strstr(device, plain));
    assert_int_equal(shell(folder, "mkfifo fifo; cat fifo > passed.csv & "
                                   "fulgurite predict digits.yaml -q --out=fifo && wait"),
                     0);
    assert_string_equal(file_text(folder, "passed.csv"), plain);
    assert_int_equal(kind_of(folder, "fifo"), S_IFIFO);
    assert_int_equal(shell(folder, "mkdir there; ln -s there/p.csv link.csv; "
                                   "fulgurite predict digits.yaml -q --out=link.csv"),
                     0);
    assert_int_equal(kind_of(folder, "link.csv"), S_IFLNK);
    assert_string_equal(file_text(folder, "there/p.csv"), plain);
}

static void a_full_device_is_an_error(void **state)
{
    const char *folder = trained();
    assert_int_equal(symlink("/dev/full", fgt_path(folder, "full")), 0);
    assert_int_equal(symlink("/dev/full", fgt_path(folder, "full.npy")), 0);
    contains(program_gives(1, folder, "predict digits.yaml -q --out=full")->err,
             "No space left on device");
    contains(program_gives(1, folder, "predict digits.yaml -q --out=full.npy")->err,
             "No space left on device");
    contains(program_gives(1, folder, "validate digits.yaml -q --summary=full")->err,
             "No space left on device");
    assert_int_equal(kind_of(folder, "full"), S_IFLNK);
    assert_int_equal(kind_of(folder, "full.npy"), S_IFLNK);
    assert_int_equal(shell(folder, "fulgurite validate digits.yaml -q --summary=- > s.txt"), 0);
    contains(file_text(folder, "s.txt"), "\"status\": \"done\"");
}

static void a_place_that_cannot_be_written_is_found_first(void **state)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    contains(program_gives(2, folder, "fit digits.yaml -q --summary=no/such/s.json")->err,
             "fulgurite fit: --summary: cannot write 'no/such/s.json': No such file or directory");
    contains(program_gives(2, folder, "fit digits.yaml -q --summary=.")->err,
             "fulgurite fit: --summary: cannot write '.': Is a directory");
    assert_false(is_there(folder, "run"));
    contains(program_gives(2, folder, "predict digits.yaml -q --out=no/such/p.csv")->err,
             "fulgurite predict: --out: cannot write 'no/such/p.csv'");
    contains(
        program_gives(2, folder, "plan digits.yaml --topology=v5e-8 --html=no/such/p.html")->err,
        "fulgurite plan: --html: cannot write 'no/such/p.html'");
}

/* If no folder can be created for a new run, that is reported, and nothing is removed. */
static void no_place_for_runs_is_an_error(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    fgt_write(fgt_path(folder, "runs"), "", 0);
    contains(program_gives(1, folder, "fit digits.yaml -q --trainer.run_dir=null")->err,
             "fulgurite fit: cannot create the folder 'runs");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(predictions_reach_any_kind_of_file),
    cmocka_unit_test(a_full_device_is_an_error),
    cmocka_unit_test(a_place_that_cannot_be_written_is_found_first),
    cmocka_unit_test(no_place_for_runs_is_an_error),
};
TRAINING_MAIN(tests)
