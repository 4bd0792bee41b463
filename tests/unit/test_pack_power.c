/* test_pack_power.c - a pack on a disk that loses what was not synced: after each system call of
 * its writer the power fails. A file with its final name is complete, and the pack can be resumed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include "base/file.h"
#include "disk.h"
#include "pack_made.h"

enum { COUNT = 20 };

static const fg_pack_writer_options options = {.resume = true, .shard_bytes = 14000};

/* Opens the pack, if it is there; it must be if that was promised. */
static bool is_complete(const char *folder, long promised)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const fg_status status = fg_pack_open(fgt_path(folder, "p-00000.pack"), NULL, &pack, &err);
    fg_pack_close(pack);
    if (status != FG_OK && (status != FG_ENOTFOUND || promised > 0))
        fail_msg("%s", err.message);
    return status == FG_OK;
}

static void check(const char *folder, long promised)
{
    fg_error err = {0};
    if (!is_complete(folder, promised))
        fgt_ok(pack_made_write(fgt_path(folder, "p.pack"), &options, COUNT, &err));
    pack_made_check_all(folder, COUNT);
}

static void any_power_failure_leaves_a_whole_pack_or_a_partial_one(void **state)
{
    fg_error err = {0};
    char folder[256], all[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(all, sizeof all, "%s", fgt_temp_folder());
    disk_record(folder);
    fgt_ok(pack_made_write(fgt_path(folder, "p.pack"), &options, COUNT, &err));
    disk_promise(1);
    const size_t count = disk_stop();
    assert_true(count > 20);
    for (size_t calls = 0; calls <= count; calls++)
        for (int names = DISK_SYNCED_NAMES; names <= DISK_ALL_NAMES; names++) {
            char after[512];
            (void)snprintf(after, sizeof after, "%s/%zu-%d", all, calls, names);
            fgt_ok(fgi_folder_make(after, &err));
            disk_restore(calls, (disk_names)names, after);
            check(after, disk_promised(calls));
            fgt_ok(fgi_folder_remove(after, &err));
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_power_failure_leaves_a_whole_pack_or_a_partial_one),
};
FGT_MAIN(tests)
