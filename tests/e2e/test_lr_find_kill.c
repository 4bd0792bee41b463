/* test_lr_find_kill.c - a search for a learning rate that is killed, by SIGKILL and by SIGTERM,
 * before a fit and alone: the earlier run in the folder is unchanged and can be resumed, and the
 * same command works afterwards. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* A search that takes much longer than the test. */
#define LONG "--tuner.steps=10000", "--tuner.segments=100", "--tuner.max_lr=1e-6"

/* Reads from `pipe` until the text was read; fails the test if the program ends before. */
static void wait_for(int pipe, const char *text)
{
    char said[4096] = "";
    size_t used = 0;
    struct pollfd ready = {.fd = pipe, .events = POLLIN};
    while (strstr(said, text) == NULL) {
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        const ssize_t got = read(pipe, said + used, sizeof(said) - 1 - used);
        if (got <= 0)
            fail_msg("the program ended before '%s': %s", text, said);
        used += (size_t)got;
        said[used] = '\0';
    }
}

/* Starts a command and kills it so long after the search began; its status as of program_wait.
 * SIGUSR1 does not end it. */
static int kill_in_search(const char *folder, const char *const *words, int signal, long ms)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const pid_t child = program_start(folder, null, ends[1], words);
    assert_true(child > 0);
    (void)close(ends[1]);
    wait_for(ends[0], "finding a learning rate");
    assert_int_equal(kill(child, SIGUSR1), 0);
    sleep_ms(ms);
    assert_int_equal(kill(child, signal), 0);
    const int status = program_wait(child);
    (void)close(ends[0]);
    (void)close(null);
    return status;
}

/* A list of the files in `run` with their checksums. */
static const char *contents(const char *folder)
{
    assert_int_equal(shell(folder,
                           "find run -type f ! -name '*lock*' -exec sha256sum {} + | sort -k2 "
                           ">list"),
                     0);
    return file_text(folder, "list");
}

static const struct {
    int signal;
    long ms; /* during compilation, or the sweeps */
} kills[] = {{SIGKILL, 0}, {SIGTERM, 0}, {SIGKILL, 400}, {SIGTERM, 400}};
enum { KILLS = sizeof(kills) / sizeof(kills[0]) };

/* Before a fit that would overwrite an earlier run: nothing was deleted yet. */
static void the_earlier_run_is_intact(void **state)
{
    static const char *const words[] = {"fit", "digits.yaml", "--overwrite", "--tuner.lr_find=true",
                                        LONG,  NULL};
    const char *folder = fit_folder();
    char *before;
    (void)state;
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=4");
    before = strdup(contents(folder));
    for (int i = 0; i < KILLS; i++) {
        const int status = kill_in_search(folder, words, kills[i].signal, kills[i].ms);
        /* SIGTERM before the sweeps begin ends the process at once */
        assert_true(status == -kills[i].signal || (kills[i].signal == SIGTERM && status == 143));
        assert_string_equal(contents(folder), before);
    }
    free(before);
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=6 --resume "
                        "--trainer.log_every=1");
    contains(file_text(folder, "run/metrics.jsonl"), "\"step\": 6,");
    /* it continued after step 4, as the run that is not disturbed */
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=6 --trainer.run_dir=whole "
                        "--trainer.log_every=1");
    char *whole = file_text(folder, "whole/metrics.jsonl");
    contains(file_text(folder, "run/metrics.jsonl"), strstr(whole, "{\"step\": 6,"));
}

/* In a new folder: the same command starts again, also with `resume: auto`. */
static void a_new_run_starts_again(void **state)
{
    static const char *const words[] = {
        "fit", "digits.yaml", "--trainer.resume=auto", "--tuner.lr_find=true", LONG, NULL};
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        const char *folder = fit_folder();
        (void)kill_in_search(folder, words, kills[i].signal, kills[i].ms);
        assert_false(is_there(folder, "run/checkpoints/last"));
        assert_false(is_there(folder, "run/lr_find.json"));
        if (i + 1 < KILLS)
            continue;
        const outcome *o = program_gives(0, folder,
                                         "fit digits.yaml --trainer.resume=auto --tuner.steps=60 "
                                         "--tuner.lr_find=true --trainer.max_steps=2 "
                                         "--model.dropout=0");
        contains(o->err, "finding a learning rate");
        assert_true(is_there(folder, "run/lr_find.json"));
        o = program_gives(0, folder,
                          "fit digits.yaml --trainer.resume=auto --tuner.lr_find=true "
                          "--trainer.max_steps=4 --model.dropout=0");
        assert_null(strstr(o->err, "finding a learning rate")); /* it continues */
    }
}

/* The command alone: its files from an earlier search remain. */
static void files_of_an_earlier_search_remain(void **state)
{
    static const char *const words[] = {"lr-find",          "digits.yaml", "--out=c.csv,c.json",
                                        "--summary=s.json", LONG,          NULL};
    static const char old[] = "of an earlier search";
    (void)state;
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=4");
    char *before = strdup(contents(folder));
    fgt_write(fgt_path(folder, "c.csv"), old, strlen(old));
    for (int i = 0; i < KILLS; i++) {
        const int status = kill_in_search(folder, words, kills[i].signal, kills[i].ms);
        assert_int_equal(status, -kills[i].signal);
        assert_string_equal(contents(folder), before);
        assert_string_equal(file_text(folder, "c.csv"), old);
        assert_false(is_there(folder, "c.json") || is_there(folder, "s.json"));
    }
    free(before);
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=6 --resume");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_earlier_run_is_intact),
    cmocka_unit_test(a_new_run_starts_again),
    cmocka_unit_test(files_of_an_earlier_search_remain),
};
TRAINING_MAIN(tests)
