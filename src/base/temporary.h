/* temporary.h - names of temporary files and folders that identify the process that writes them, so
 * that another process can detect abandoned ones, also across containers and hosts that share a
 * folder.
 *
 * A name is NAME.SUFFIX.MACHINE-PID-COUNT. MACHINE is a hash of the boot id, the host name and the
 * PID namespace: PIDs can only be compared if it is the same.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_TEMPORARY_H
#define FGI_BASE_TEMPORARY_H

#include <fulgurite/base.h>

enum {
    FGI_MACHINE_SIZE = 17,        /* of a machine's name, including the NUL */
    FGI_ABANDONED_AFTER_S = 3600, /* time without a write, if the writer cannot be checked */
};

/* The name of this machine: 16 hexadecimal digits. Containers with their own PID namespace are
 * different machines, and so is a host after a restart. */
void fgi_machine_name(char out[FGI_MACHINE_SIZE]);

/* "path.suffix.MACHINE-PID-COUNT", different at each call: a new string (fgi_free), or NULL when
 * out of memory. */
char *fgi_temporary_name(const char *path, const char *suffix);

/* The length of NAME in "NAME.suffix.MACHINE-PID-COUNT" or in "NAME.suffix.PID", which earlier
 * versions wrote; 0 for other names. */
size_t fgi_temporary_base(const char *name, const char *suffix);

/* Whether no process still writes the temporary file or folder folder/name: its process is this
 * one or has exited; or, if that cannot be determined, nothing in it has changed for
 * FGI_ABANDONED_AFTER_S by the clock of its file system. */
bool fgi_temporary_is_abandoned(const char *folder, const char *name);

#endif
