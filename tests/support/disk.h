/* disk.h - a disk that forgets what was not synced. The system calls that change files are defined
 * in disk.c, before the C library's own: they do what they always do, and those below a folder are
 * written down. Afterwards, the folder can be recreated as a power failure after any of the calls
 * would have left it.
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

/* Writes down what happens below `root`, an empty folder, from now on; forgets an earlier record.
 */
void disk_record(const char *root);
/* Ends the record; how many calls it has. */
size_t disk_stop(void);

/* Something was promised to the user: the calls after it may not lose it. The value grows. */
void disk_promise(long value);
/* The last promise before the first `calls` calls had ended, 0 when there was none. */
long disk_promised(size_t calls);

/* Makes `folder`, which is empty, what `root` would be after a power failure that follows the first
 * `calls` calls. */
void disk_restore(size_t calls, disk_names names, const char *folder);
/* Plays a file system that cannot exchange two folders in one call. */
void disk_set_exchange(bool is_possible);
/* The call of that number, "rename NAME", for messages. */
const char *disk_call(size_t number);

#endif
