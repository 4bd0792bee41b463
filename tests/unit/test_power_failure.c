/* test_power_failure.c - files and checkpoints on a disk that loses what was not synced: after each
 * system call of a series of saves the power fails, and what was promised must still be there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/series.h"
#include "disk.h"
#include "toy.h"

/* Calls `check` with the folder as each failure leaves it, and what was promised before. */
static void after_each_call(void (*check)(const char *folder, long promised))
{
    const size_t count = disk_stop();
    char all[256];
    (void)snprintf(all, sizeof all, "%s", fgt_temp_folder());
    assert_true(count > 0);
    for (size_t calls = 0; calls <= count; calls++)
        for (int names = DISK_SYNCED_NAMES; names <= DISK_ALL_NAMES; names++) {
            fg_error err = {0};
            char folder[512];
            (void)snprintf(folder, sizeof folder, "%s/%zu-%d", all, calls, names);
            fgt_ok(fgi_folder_make(folder, &err));
            disk_restore(calls, (disk_names)names, folder);
            check(folder, disk_promised(calls));
            fgt_ok(fgi_folder_remove(folder, &err));
        }
}

/* ---- single files ---------------------------------------------------------------------------- */

/* One of the texts of the right age, whole. */
static void check_file(const char *folder, long promised)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    const char *path = fgt_path(folder, "new/folder/file");
    if (promised == 0 && !fgi_file_exists(path))
        return;
    fgt_ok(fgi_file_read(path, 1000, &text, &size, &err));
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (value < promised || strcmp(end, " is the value") != 0)
        fail_msg("promised was %ld, there is '%s'", promised, text);
    fgi_free(text);
}

static void a_file_that_was_written_is_there(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[256], text[64];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    disk_record(folder);
    fgt_ok(fgi_folder_make(fgt_path(folder, "new/folder"), &err));
    for (long i = 1; i <= 3; i++) {
        const int size = snprintf(text, sizeof text, "%ld is the value", i);
        fgt_ok(fg_file_write(fgt_path(folder, "new/folder/file"), text, (size_t)size, &err));
        disk_promise(i);
    }
    after_each_call(check_file);
}

static void check_tensors(const char *folder, long promised)
{
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    int32_t value;
    const char *path = fgt_path(folder, "w.safetensors");
    if (promised == 0 && !fgi_file_exists(path))
        return;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    memcpy(&value, fg_ckpt_data(ckpt, 0), sizeof value);
    assert_true(value >= promised);
    fg_ckpt_close(ckpt);
}

static void a_file_of_tensors_too(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    disk_record(folder);
    for (int32_t i = 1; i <= 2; i++) {
        const fg_ckpt_tensor tensor = {"step", {.dtype = FG_S32}, &i};
        fgt_ok(fg_safetensors_write(fgt_path(folder, "w.safetensors"), &tensor, 1, NULL, &err));
        disk_promise(i);
    }
    after_each_call(check_tensors);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Saves `name` with the step in its three places, and points at it. */
static void save(const char *folder, const char *name, int32_t step)
{
    fg_error err = {0};
    char path[512], json[32];
    const fg_ckpt_tensor model = {"step", {.dtype = FG_S32}, &step};
    const fg_attachment note = {"note.txt", "attached"};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(json, sizeof json, "{\"step\": %d}", (int)step);
    const fg_ckpt_content content = {.model = &model,
                                     .model_count = 1,
                                     .state = &model,
                                     .state_count = 1,
                                     .state_json = json,
                                     .attachments = &note,
                                     .attachment_count = 1};
    fgt_ok(fg_ckpt_save(path, &content, &err));
    fgt_ok(fgi_ckpt_point(folder, "last", name, &err));
    disk_promise(step);
    fgt_ok(fgi_ckpt_prune(folder, 1, NULL, 0, &err));
}

static void check_checkpoints(const char *folder, long promised)
{
    fg_error err = {0};
    char *path = NULL, json[32];
    fg_ckpt *ckpt = NULL;
    int32_t step;
    const char *run = fgt_path(folder, "run");
    if (promised == 0)
        return;
    fgt_ok(fgi_ckpt_resolve(run, "last", &path, &err));
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    memcpy(&step, fg_ckpt_data(ckpt, 0), sizeof step);
    (void)snprintf(json, sizeof json, "{\"step\": %d}", (int)step);
    assert_string_equal(fg_ckpt_state_json(ckpt), json);
    assert_string_equal(fg_ckpt_attachment(ckpt, "note.txt"), "attached");
    if (step < promised)
        fail_msg("step %ld was promised, 'last' is %d", promised, (int)step);
    fg_ckpt_close(ckpt);
    fgi_free(path);
}

/* A checkpoint of a program's own, which nothing points at. */
static void check_single(const char *folder, long promised)
{
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    int32_t step;
    const char *path = fgt_path(folder, "own");
    if (promised == 0)
        return;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    memcpy(&step, fg_ckpt_data(ckpt, 0), sizeof step);
    assert_true(step >= promised);
    fg_ckpt_close(ckpt);
}

static void a_single_checkpoint_is_there(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    disk_record(folder);
    for (int32_t step = 1; step <= 3; step++) {
        const fg_ckpt_tensor model = {"step", {.dtype = FG_S32}, &step};
        const fg_ckpt_content content = {.model = &model, .model_count = 1};
        fgt_ok(fg_ckpt_save(fgt_path(folder, "own"), &content, &err));
        disk_promise(step);
    }
    after_each_call(check_single);
}

static void save_a_series(void)
{
    char root[256], folder[512];
    (void)snprintf(root, sizeof root, "%s", fgt_temp_folder());
    (void)snprintf(folder, sizeof folder, "%s/run", root);
    disk_record(root);
    save(folder, "a", 1);
    save(folder, "b", 2);
    save(folder, "b", 3); /* replaces the one before */
    save(folder, "c", 4);
    after_each_call(check_checkpoints);
}

static void a_checkpoint_that_was_promised_is_there(void **state)
{
    (void)state;
    save_a_series();
}

static void also_where_folders_cannot_be_exchanged(void **state)
{
    (void)state;
    disk_set_exchange(false);
    save_a_series();
    disk_set_exchange(true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_that_was_written_is_there),
    cmocka_unit_test(a_file_of_tensors_too),
    cmocka_unit_test(a_single_checkpoint_is_there),
    cmocka_unit_test(a_checkpoint_that_was_promised_is_there),
    cmocka_unit_test(also_where_folders_cannot_be_exchanged),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
