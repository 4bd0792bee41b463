/* test_kill.c - kill -9 at fifty times during training and saving: each time, the run is resumed
 * with `resume: auto`; at the end, its metrics and its state are bit for bit those of an
 * uninterrupted run. Requires the CPU plugin.
 *
 * The run saves after every step, so that most kills interrupt a save; some occur while the program
 * starts. The times are drawn with a fixed seed; what they interrupt depends on the machine.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/rng.h"

enum { KILLS = 50, STEPS = 900, PATIENCE_MS = 60000 };

static const char config[] =
    "model: {name: mlp, hidden: [16], dropout: 0.2}\n" DIGITS "optimizer: {name: adam, lr: 0.003}\n"
    "schedule: {name: onecycle}\n"
    "trainer: {batch_size: 64, max_steps: 900, seed: 3, log_every: 1, val_every_steps: 31}\n";

/* Everything that has state: steps of three batches, a schedule with momentum, averaged
 * weights, early stopping, the best checkpoints, several loggers. The loggers and the early
 * stopping are in the middle of their work at most steps. */
static const char all_config[] =
    "model: {name: mlp, hidden: [16], dropout: 0.2}\n" DIGITS "optimizer: {name: adamw, lr: 0.02}\n"
    "schedule: {name: onecycle}\n"
    "trainer: {batch_size: 16, accumulate_grad_batches: 3, max_steps: 240, seed: 5, log_every: 4,\n"
    "          val_every_steps: 11, save_top_k: 3, keep_checkpoints: 2, monitor: val_acc,\n"
    "          ckpt_name: \"e{epoch:02d}-{step}-{val_acc:.3f}\",\n"
    "          loggers: [csv, jsonl],\n"
    "          callbacks: [early_stop: {patience: 50}, ema: {decay: 0.9}]}\n";

static pid_t start(const char *folder)
{
    static const char *const words[] = {"fit",
                                        "run.yaml",
                                        "-q",
                                        "--trainer.run_dir=killed",
                                        "--trainer.resume=auto",
                                        "--trainer.ckpt_every_steps=1",
                                        NULL};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const pid_t child = program_start(folder, null, null, words);
    (void)close(null);
    return child;
}

/* Changes with every save: the pointer is a new file each time. */
static ino_t last_pointer(const char *folder)
{
    struct stat info;
    return stat(fgt_path(folder, "killed/checkpoints/last"), &info) == 0 ? info.st_ino : 0;
}

/* Waits until the program saves, or ends; false when it has ended. */
static bool wait_for_a_save(const char *folder, pid_t child, ino_t before, int *status)
{
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        if (waitpid(child, status, WNOHANG) == child)
            return false;
        if (last_pointer(folder) != before)
            return true;
        sleep_ms(1);
    }
    fail_msg("the program neither saves nor ends");
    return false;
}

/* Runs until the kill; false if the run completed. */
static bool live(const char *folder, fgi_key key, int number)
{
    int status = 0;
    const ino_t before = last_pointer(folder);
    const pid_t child = start(folder);
    const bool is_early = number % 7 == 6;
    bool is_alive = true;
    assert_true(child > 0);
    if (!is_early)
        is_alive = wait_for_a_save(folder, child, before, &status);
    if (is_alive) {
        sleep_ms((long)(fgi_rng_u64(key, (uint64_t)number) % (is_early ? 300 : 30)));
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (WIFSIGNALED(status))
        return true;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* Compares a file of both runs; prints only the first line that differs. */
static void same_text(const char *folder, const char *name)
{
    char *whole = file_text(folder, fgt_path("whole", name));
    char *killed = file_text(folder, fgt_path("killed", name));
    int line = 1;
    for (char *a = whole, *b = killed, *left, *right;; line++) {
        left = strsep(&a, "\n");
        right = strsep(&b, "\n");
        if (left == NULL && right == NULL)
            break;
        if (left == NULL || right == NULL || strcmp(left, right) != 0)
            fail_msg("%s: line %d:\n%s\nafter kills:\n%s", name, line,
                     left != NULL ? left : "(end)", right != NULL ? right : "(end)");
    }
}

/* The lengths and checksums of the last checkpoint's files. */
static json_t *files_of(const char *folder, const char *run)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/checkpoints/step-%09d/manifest.json", run, (int)STEPS);
    json_t *manifest = json_load_file(fgt_path(folder, path), 0, NULL);
    assert_non_null(manifest);
    json_t *files = json_incref(json_object_get(manifest, "files"));
    json_decref(manifest);
    return files;
}

static void a_killed_run_ends_like_an_undisturbed_one(void **state)
{
    const char *folder = fgt_temp_folder();
    const fgi_key key = fgi_key_from_seed(1);
    int kills = 0;
    fgt_write(fgt_path(folder, "run.yaml"), config, strlen(config));
    (void)program_gives(0, folder, "fit run.yaml -q --trainer.run_dir=whole");
    while (kills < KILLS && live(folder, key, kills))
        kills++;
    if (kills < KILLS) /* too fast for fifty: then the kills so far count, if they are enough */
        assert_true(kills >= KILLS / 2);
    (void)program_gives(0, folder,
                        "fit run.yaml -q --trainer.run_dir=killed --trainer.resume=auto");
    same_text(folder, "metrics.jsonl");
    same_text(folder, "metrics.csv");
    json_t *first = files_of(folder, "whole"), *second = files_of(folder, "killed");
    assert_int_equal(json_array_size(first), 6);
    assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);
    print_message("killed %d times\n", kills);
}

/* The manifest's files of the checkpoint that `last` names. */
static json_t *last_files(const char *folder, const char *run)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/checkpoints/last", run);
    char *name = file_text(folder, path);
    name[strcspn(name, "\n")] = '\0';
    (void)snprintf(path, sizeof path, "%s/checkpoints/%s/manifest.json", run, name);
    json_t *manifest = json_load_file(fgt_path(folder, path), 0, NULL);
    assert_non_null(manifest);
    json_t *files = json_incref(json_object_get(manifest, "files"));
    json_decref(manifest);
    return files;
}

/* The first signal that ends the run saves first, kill -9 does not: both continue exactly. */
static void all_state_survives(void **state)
{
    enum { STOPS = 8 };
    const char *folder = fgt_temp_folder();
    const fgi_key key = fgi_key_from_seed(2);
    int stops[2] = {0}, status = 0;
    fgt_write(fgt_path(folder, "run.yaml"), all_config, strlen(all_config));
    (void)program_gives(0, folder, "fit run.yaml -q --draw=never --trainer.run_dir=whole");
    for (int i = 0; i < STOPS; i++) {
        const ino_t before = last_pointer(folder);
        const pid_t child = start(folder);
        assert_true(child > 0);
        if (!wait_for_a_save(folder, child, before, &status))
            break;
        sleep_ms((long)(fgi_rng_u64(key, (uint64_t)i) % 25));
        (void)kill(child, i % 2 == 0 ? SIGKILL : SIGTERM);
        assert_int_equal(waitpid(child, &status, 0), child);
        stops[i % 2] += WIFSIGNALED(status) || WEXITSTATUS(status) == 143;
    }
    assert_true(stops[0] > 0 && stops[1] > 0);
    (void)program_gives(0, folder,
                        "fit run.yaml -q --draw=never --trainer.run_dir=killed "
                        "--trainer.resume=auto");
    same_text(folder, "metrics.jsonl");
    same_text(folder, "metrics.csv");
    same_text(folder, "checkpoints/best");
    same_text(folder, "checkpoints/last");
    json_t *first = last_files(folder, "whole"), *second = last_files(folder, "killed");
    assert_true(json_equal(first, second)); /* sizes and checksums of weights, state and position */
    json_decref(first);
    json_decref(second);
    print_message("killed %d times, stopped %d times\n", stops[0], stops[1]);
}

/* Fails if a number differs by more than rounding. */
static void same_numbers(const json_t *a, const json_t *b)
{
    const char *key = NULL;
    json_t *value = NULL;
    assert_int_equal(json_object_size(a), json_object_size(b));
    json_object_foreach((json_t *)(uintptr_t)a, key, value) fgt_close(
        key, json_number_value(json_object_get(b, key)), json_number_value(value), 5e-4, 1e-3);
}

/* Compares the lines of metrics.jsonl of two runs. Returns their number. */
static int same_lines(const char *folder)
{
    char *a = file_text(folder, "0/metrics.jsonl"), *b = file_text(folder, "1/metrics.jsonl");
    int lines = 0;
    for (char *left = strsep(&a, "\n"); left != NULL; left = strsep(&a, "\n"), lines++) {
        const char *right = strsep(&b, "\n");
        assert_non_null(right);
        if (left[0] == '\0' && right[0] == '\0')
            break;
        json_t *one = json_loads(left, 0, NULL), *other = json_loads(right, 0, NULL);
        assert_true(one != NULL && other != NULL);
        same_numbers(one, other);
        json_decref(one);
        json_decref(other);
    }
    return lines;
}

/* On another number of devices, the samples, their order and dropout are the same, and so are the
 * results up to rounding. */
static void a_run_continues_on_other_devices(void **state)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "run.yaml"), all_config, strlen(all_config));
    shell(folder, "sed -i 's/batch_size: 16, //' run.yaml");
    static const char fit[] = "fit run.yaml -q --draw=never --trainer.global_batch_size=16 "
                              "--trainer.run_dir=";
    for (int i = 0; i < 2; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, "%s%d --trainer.max_steps=40 --trainer.devices=1", fit,
                       i);
        (void)program_gives(0, folder, line);
        (void)snprintf(line, sizeof line,
                       "%s%d --trainer.max_steps=80 --resume --trainer.devices=%d", fit, i,
                       i == 0 ? 1 : 4);
        (void)program_gives(0, folder, line);
    }
    assert_true(same_lines(folder) >= 80 / 4 + 80 / 11);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_state_survives),
    cmocka_unit_test(a_run_continues_on_other_devices),
    cmocka_unit_test(a_killed_run_ends_like_an_undisturbed_one),
};
TRAINING_MAIN(tests)
