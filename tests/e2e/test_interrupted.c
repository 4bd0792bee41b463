/* test_interrupted.c - runs that are interrupted by signals and closed pipes, and runs that start
 * at the same time. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static const char digits[] =
    "model: {name: mlp, hidden: [16]}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_epochs: 100000, seed: 7, log_every: 5, run_dir: run}\n";

static const char *workplace(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    return folder;
}

/* Starts a fit with standard output and standard error at these descriptors. */
static pid_t start(const char *folder, int out, int err, const char *const *more)
{
    const char *words[16] = {"fit", "digits.yaml"};
    int count = 2;
    for (; *more != NULL; more++)
        words[count++] = *more;
    return program_start(folder, out, err, words);
}

static const char *const nothing_more[] = {NULL};

static pid_t start_with_files(const char *folder, const char *const *more)
{
    const int out = open(fgt_path(folder, "out"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int err = open(fgt_path(folder, "err"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(out >= 0 && err >= 0);
    const pid_t child = start(folder, out, err, more);
    (void)close(out);
    (void)close(err);
    return child;
}

/* Waits until a file of the run has some bytes; the child must not have ended. */
static void await_file(const char *folder, const char *name, pid_t child)
{
    struct stat info;
    for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
        if (stat(fgt_path(folder, name), &info) == 0 && info.st_size > 0)
            return;
        if (waitpid(child, NULL, WNOHANG) != 0)
            fail_msg("the program has ended: %s", file_text(folder, "err"));
        sleep_ms(5);
    }
    fail_msg("no %s came", name);
}

static bool is_saved(const char *folder) { return is_there(folder, "run/checkpoints/last"); }

/* ---- signals --------------------------------------------------------------------------------- */

static void the_first_signal_saves(void **state)
{
    static const struct {
        int number;
        const char *says;
    } rows[] = {{SIGINT, " to run/checkpoints (Ctrl-C again: quit at once)\n"},
                {SIGTERM, "\nSIGTERM: "},
                {SIGHUP, "\nSIGHUP: "}};
    static const char *const rarely[] = {"--trainer.ckpt_every_epochs=0",
                                         "--trainer.val_every_epochs=0", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *folder = workplace();
        const pid_t child = start_with_files(folder, rarely);
        await_file(folder, "run/metrics.jsonl", child);
        assert_int_equal(kill(child, rows[i].number), 0);
        assert_int_equal(program_wait(child), 143);
        char stopped[96];
        const int step = last_step(folder);
        (void)snprintf(stopped, sizeof stopped,
                       "fulgurite fit: stopped at step %d; saved in run/checkpoints/step-%09d\n",
                       step, step);
        const char *err = file_text(folder, "err");
        contains(err, rows[i].says);
        contains(err, stopped);
        contains(err, "\nto continue: the same command with --resume\n");
    }
}

/* `fulgurite stop` saves and ends the run, and names the checkpoint. */
static void stop_saves(void **state)
{
    const char *folder = workplace();
    static const char *const rarely[] = {"--trainer.ckpt_every_epochs=0", NULL};
    const pid_t child = start_with_files(folder, rarely);
    await_file(folder, "run/metrics.jsonl", child);
    const outcome *stop = program_gives(0, folder, "stop run --timeout=60s");
    contains(stop->err, "'run': asked process ");
    contains(stop->err, "'run' has stopped; its last checkpoint is run/checkpoints/step-");
    assert_string_equal(stop->out, "");
    assert_int_equal(program_wait(child), 143);
    assert_true(is_saved(folder));
    contains(file_text(folder, "err"), "stop requested: saving to run/checkpoints\n");
    contains(file_text(folder, "run/report.json"), "\"stopped\"");
    contains(program_gives(1, folder, "stop run")->err,
             "fulgurite stop: 'run': no run is training there\n");
    contains(program_gives(1, folder, "stop last")->err, "last: no run in the folder 'runs' is");
}

/* Puts a program `scontrol` on the PATH, which writes its arguments to a file, and this job's
 * number into the environment. */
static void enter_slurm(const char *folder, int exit_status)
{
    static char path[4096], script[256];
    const char *before = getenv("PATH");
    assert_int_equal(mkdir(fgt_path(folder, "bin"), 0700), 0);
    (void)snprintf(script, sizeof script, "#!/bin/sh\necho \"$@\" >> %s/requeued\nexit %d\n",
                   folder, exit_status);
    fgt_write(fgt_path(folder, "bin/scontrol"), script, strlen(script));
    assert_int_equal(chmod(fgt_path(folder, "bin/scontrol"), 0700), 0);
    (void)snprintf(path, sizeof path, "%s/bin:%.3000s", folder, before != NULL ? before : "");
    assert_int_equal(setenv("PATH", path, 1) + setenv("SLURM_JOB_ID", "4711", 1), 0);
}

static void leave_slurm(const char *path)
{
    assert_int_equal(setenv("PATH", path, 1) + unsetenv("SLURM_JOB_ID") +
                         unsetenv("SLURM_ARRAY_JOB_ID") + unsetenv("SLURM_ARRAY_TASK_ID"),
                     0);
}

static const char *const requeue_flags[] = {"--trainer.slurm_requeue", "--trainer.resume=auto",
                                            "--trainer.ckpt_every_epochs=0", NULL};

/* SIGUSR1 saves, stops, and queues the job again, whose second start continues the run. A failing
 * scontrol is reported. */
static void a_slurm_job_is_queued_again(void **state)
{
    char *path = strdup(getenv("PATH"));
    for (int i = 0; i < 2; i++) {
        const char *folder = workplace();
        enter_slurm(folder, i);
        assert_int_equal(setenv("SLURM_ARRAY_JOB_ID", "40", 1) + /* no task: no array */
                             setenv("SLURM_ARRAY_TASK_ID", i == 1 ? "2" : "", 1),
                         0);
        pid_t child = start_with_files(folder, requeue_flags);
        await_file(folder, "run/metrics.jsonl", child);
        assert_int_equal(kill(child, SIGUSR1), 0);
        assert_int_equal(program_wait(child), 143);
        assert_true(is_saved(folder));
        assert_string_equal(file_text(folder, "requeued"),
                            i == 0 ? "requeue 4711\n" : "requeue 40_2\n");
        contains(file_text(folder, "err"),
                 i == 0
                     ? "SLURM job 4711 is queued again, and will continue from run/checkpoints/"
                     : "SLURM job 40_2 could not be queued again: 'scontrol requeue 40_2' failed");
        fgt_write(fgt_path(folder, "run/metrics.csv"), "", 0); /* written by the second start */
        child = start_with_files(folder, requeue_flags);
        await_file(folder, "run/metrics.csv", child);
        assert_int_equal(kill(child, SIGTERM), 0); /* as of scancel: queues nothing */
        assert_int_equal(program_wait(child), 143);
        assert_string_equal(file_text(folder, "requeued"),
                            i == 0 ? "requeue 4711\n" : "requeue 40_2\n");
        leave_slurm(path);
    }
    free(path);
}

/* Without a SLURM job, SIGUSR1 only saves; without resume=auto, the job could not continue. */
static void requeuing_needs_a_job_and_auto(void **state)
{
    static const char *const flags[] = {"--trainer.slurm_requeue", "--trainer.resume=auto",
                                        "--trainer.ckpt_every_epochs=0", NULL};
    const char *folder = workplace();
    contains(program_gives(2, folder, "fit digits.yaml --trainer.slurm_requeue")->err,
             "trainer.slurm_requeue: a job that is queued again starts with the same command: it "
             "requires trainer.resume=auto");
    const pid_t child = start_with_files(folder, flags);
    await_file(folder, "run/metrics.jsonl", child);
    assert_int_equal(kill(child, SIGUSR1), 0);
    await_file(folder, "run/checkpoints/last", child);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(program_wait(child), 143);
    if (strstr(file_text(folder, "err"), "queued again") != NULL)
        fail_msg("a run outside SLURM queues a job");
}

/* The reader of both streams closes them; the run continues until it is stopped, and saves. */
static void a_reader_may_leave(void **state)
{
    int ends[2];
    char byte;
    const char *folder = workplace();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    static const char *const often[] = {"--trainer.ckpt_every_epochs=1", "--progress=bar", NULL};
    const pid_t child = start(folder, ends[1], ends[1], often);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    fgt_write(fgt_path(folder, "err"), "", 0);
    await_file(folder, "run/checkpoints/last", child); /* many lines after the pipe was closed */
    sleep_ms(200);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(program_wait(child), 143);
}

/* `fit | head -0`: the result cannot be printed, but the run completes. */
static void a_run_ends_well_without_a_reader(void **state)
{
    int ends[2];
    const char *folder = workplace();
    static const char *const few[] = {"--trainer.max_steps=3", "--draw=always", NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    const pid_t child = start(folder, ends[1], ends[1], few);
    (void)close(ends[1]);
    assert_int_equal(program_wait(child), 0);
    assert_true(is_saved(folder));
}

/* ---- at the same time ------------------------------------------------------------------------ */

static void fits_at_the_same_time_have_folders_of_their_own(void **state)
{
    enum { FITS = 3 };
    pid_t child[FITS];
    static const char *const few[] = {"--trainer.run_dir=auto", "--trainer.max_steps=3", "--quiet",
                                      NULL};
    const char *folder = workplace();
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < FITS; i++)
        child[i] = start(folder, null, null, few);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(program_wait(child[i]), 0);
    (void)close(null);
    for (int i = 1; i <= FITS; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "runs/digits-%d/checkpoints/step-000000003", i);
        assert_true(is_there(folder, path));
    }
    assert_false(is_there(folder, "runs/digits-4"));
}

static void a_folder_is_trained_in_once_at_a_time(void **state)
{
    char expected[64];
    const char *folder = workplace();
    const pid_t child = start_with_files(folder, nothing_more);
    await_file(folder, "run/checkpoints/last", child);
    (void)snprintf(expected, sizeof expected, "fulgurite fit: 'run' is in use: process %ld on host",
                   (long)child);
    contains(program_gives(1, folder, "fit digits.yaml -q")->err, expected);
    contains(program_gives(1, folder, "fit digits.yaml -q --resume")->err, expected);
    contains(program_gives(1, folder, "fit digits.yaml -q --overwrite")->err, expected);
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)program_wait(child);
    contains(program_gives(2, folder, "fit digits.yaml -q")->err,
             "'run' holds the checkpoints of an earlier run\n");
    (void)program_gives(0, folder, /* a killed process blocks nobody */
                        "fit digits.yaml -q --trainer.max_steps=1 --trainer.max_epochs=-1 "
                        "--overwrite");
}

/* A checkpoint given by its path is resumed in the run that it belongs to, not in the newest one;
 * auto starts a new run if the newest one has no checkpoint. */
static void resume_finds_the_run(void **state)
{
    const char *folder = workplace();
    const char *fit = "fit digits.yaml -q --trainer.run_dir=auto --trainer.max_steps=2";
    contains(
        program_gives(2, folder,
                      "fit digits.yaml -q --trainer.run_dir=auto --trainer.max_steps=2 --resume")
            ->err,
        "there is no earlier run of this configuration in 'runs' here");
    assert_false(is_there(folder, "runs"));
    (void)program_gives(0, folder, fit);
    (void)program_gives(0, folder, fit);
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.run_dir=auto --trainer.max_steps=4 "
                        "--resume=runs/digits-1/checkpoints/step-000000002");
    assert_true(is_there(folder, "runs/digits-1/checkpoints/step-000000004"));
    assert_true(is_there(folder, "runs/digits-2/checkpoints/step-000000002"));
    assert_int_equal(mkdir(fgt_path(folder, "runs/digits-3"), 0700), 0);
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.run_dir=auto --trainer.max_steps=2 "
                        "--resume=auto");
    assert_true(is_there(folder, "runs/digits-4/checkpoints/step-000000002"));
}

/* A fit that fails early leaves no folder. */
static void a_claimed_folder_is_given_back(void **state)
{
    const char *folder = workplace();
    (void)program_gives(2, folder,
                        "fit digits.yaml -q --trainer.run_dir=auto --trainer.strategy=single "
                        "--trainer.devices=8");
    assert_false(is_there(folder, "runs"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_first_signal_saves),
    cmocka_unit_test(stop_saves),
    cmocka_unit_test(a_slurm_job_is_queued_again),
    cmocka_unit_test(requeuing_needs_a_job_and_auto),
    cmocka_unit_test(a_reader_may_leave),
    cmocka_unit_test(a_run_ends_well_without_a_reader),
    cmocka_unit_test(fits_at_the_same_time_have_folders_of_their_own),
    cmocka_unit_test(a_folder_is_trained_in_once_at_a_time),
    cmocka_unit_test(resume_finds_the_run),
    cmocka_unit_test(a_claimed_folder_is_given_back),
};
TRAINING_MAIN(tests)
