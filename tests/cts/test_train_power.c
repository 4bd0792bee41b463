/* test_train_power.c - a run on a disk that loses what was not synced: after a power failure at any
 * of its system calls, everything that `saved` has reported must exist: a complete checkpoint, its
 * rows in the log, and its best checkpoint. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/series.h"
#include "disk.h"
#include "toy.h"

static fg_client *client;

static int open_client(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *cache = fgt_cache(fgt_temp_folder());
    return fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = cache}, &client,
                          &err) != FG_OK;
}

static int close_client(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

static fg_status promise(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    disk_promise((long)at->step);
    return FG_OK;
}

/* Validates and saves after every second step; the first validations are new bests, later ones may
 * not be. */
static void run(const char *folder)
{
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    static const fg_callback_ops ops = {.saved = promise};
    fg_dataset *train = toy_data(24, 1), *val = toy_data(8, 2);
    const fg_fit_data data = {.train = train, .val = val, .batch_size = 8, .workers = FG_NONE};
    const fg_trainer_options options = {.checkpoints.run_dir = folder,
                                        .limits.max_epochs = 3,
                                        .output.log_every = 1,
                                        .validation.val_every_steps = 2,
                                        .checkpoints.ckpt_every_steps = 1,
                                        .checkpoints.keep_checkpoints = 1};
    fg_trainer *trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    disk_record(folder);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
}

/* The state.json of a complete checkpoint. */
static json_t *state_of(const char *folder, const char *which)
{
    fg_error err = {0};
    char *path = NULL;
    fg_ckpt *ckpt = NULL;
    fgt_ok(fgi_ckpt_resolve(fgt_path(folder, "checkpoints"), which, &path, &err));
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    json_t *state = json_loads(fg_ckpt_state_json(ckpt), 0, NULL);
    assert_non_null(state);
    fg_ckpt_close(ckpt);
    fgi_free(path);
    return state;
}

static long rows_of(const char *folder)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    long rows = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.jsonl"), 1 << 20, &text, &size, &err));
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        rows++;
    fgi_free(text);
    return rows;
}

static void check(const char *folder, long promised, size_t calls)
{
    if (promised == 0)
        return;
    json_t *last = state_of(folder, "last");
    const long step = (long)json_integer_value(json_object_get(last, "step"));
    const long lines = (long)json_integer_value(json_object_get(last, "log_lines"));
    if (step < promised)
        fail_msg("before %s: step %ld was promised, 'last' is %ld", disk_call(calls), promised,
                 step);
    if (rows_of(folder) < lines)
        fail_msg("before %s: step %ld has %ld rows, the log %ld", disk_call(calls), step, lines,
                 rows_of(folder));
    const json_t *value = json_object_get(last, "best");
    if (value != NULL) {
        json_t *best = state_of(folder, "best");
        /* it may be newer than `last`: a run that resumes finds it again */
        if (!(json_number_value(json_object_get(best, "best")) <= json_number_value(value)))
            fail_msg("before %s: 'best' is older than what 'last' (step %ld) knows of",
                     disk_call(calls), step);
        json_decref(best);
    }
    json_decref(last);
}

static void what_was_reported_is_there(void **state)
{
    (void)state;
    fg_error err = {0};
    char root[256], all[256], folder[512];
    (void)snprintf(root, sizeof root, "%s", fgt_temp_folder());
    (void)snprintf(all, sizeof all, "%s", fgt_temp_folder());
    run(root);
    const size_t count = disk_stop();
    assert_int_equal(disk_promised(count), 9);
    for (size_t calls = 0; calls <= count; calls++)
        for (int names = DISK_SYNCED_NAMES; names <= DISK_ALL_NAMES; names++) {
            (void)snprintf(folder, sizeof folder, "%s/%zu-%d", all, calls, names);
            fgt_ok(fgi_folder_make(folder, &err));
            disk_restore(calls, (disk_names)names, folder);
            check(folder, disk_promised(calls), calls);
            fgt_ok(fgi_folder_remove(folder, &err));
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_was_reported_is_there),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1;
}
