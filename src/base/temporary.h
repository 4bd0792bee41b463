/* temporary.h - names of temporary files and folders that say which process writes them, so that
 * another one can tell whether they are abandoned, also across containers and hosts that share a
 * folder.
 *
 * A name is NAME.SUFFIX.MACHINE-PID-COUNT. MACHINE is a hash of the boot, the host's name and the
 * PID namespace: only where it is one's own does PID mean anything.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_TEMPORARY_H
#define FGI_BASE_TEMPORARY_H

#include <fulgurite/base.h>

enum {
    FGI_MACHINE_SIZE = 17,        /* of a machine's name, the final NUL included */
    FGI_ABANDONED_AFTER_S = 3600, /* without a write, when the writer cannot be asked */
};

/* Names this machine: 16 hexadecimal digits. Containers with their own PIDs are different machines,
 * and so is a host after it has been restarted. */
void fgi_machine_name(char out[FGI_MACHINE_SIZE]);

/* "path.suffix.MACHINE-PID-COUNT", different at each call: a fresh string (fgi_free), or NULL when
 * out of memory. */
char *fgi_temporary_name(const char *path, const char *suffix);

/* The length of NAME in "NAME.suffix.MACHINE-PID-COUNT" or in "NAME.suffix.PID", which earlier
 * versions wrote; 0 for other names. */
size_t fgi_temporary_base(const char *name, const char *suffix);

/* Whether nobody writes folder/name, a temporary file or folder, any more: its process was, or is,
 * this one or has ended; or, where that cannot be known, nothing in it has changed for
 * FGI_ABANDONED_AFTER_S by the clock of its file system. */
bool fgi_temporary_is_abandoned(const char *folder, const char *name);

#endif
