/* disk.h - simulates a disk that loses what was not synced. The system calls that change files are
 * defined in disk.c, before the C library's own: they behave as usual, and calls below a folder are
 * recorded. Afterwards, the folder can be recreated as it would be after a power failure following
 * any of the calls.
 *
 * What survives is only what POSIX promises: a file's content when it was fsynced, a name when its
 * folder was. File systems keep more, some of them names without content: so both are asked for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_DISK_H
#define FGT_DISK_H

#include <stdbool.h>
#include <stddef.h>

typedef enum disk_names {
    DISK_SYNCED_NAMES, /* names that their folder's fsync has made durable */
    DISK_ALL_NAMES     /* all names, of files whose content may be lost */
} disk_names;

/* Starts recording calls below `root`, an empty folder; discards an earlier record.
 */
void disk_record(const char *root);
/* Ends the record; returns its number of calls. */
size_t disk_stop(void);

/* Records a promise to the user, which later calls must not break. The value increases. */
void disk_promise(long value);
/* The last promise made before the first `calls` calls had returned, 0 if there was none. */
long disk_promised(size_t calls);

/* Creates in the empty `folder` the contents of `root` after a power failure following the first
 * `calls` calls. */
void disk_restore(size_t calls, disk_names names, const char *folder);
/* Simulates a file system that cannot exchange two folders in one call. */
void disk_set_exchange(bool is_possible);
/* The call of that number, "rename NAME", for messages. */
const char *disk_call(size_t number);

#endif
