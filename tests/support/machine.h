/* machine.h - a machine simulated by a folder, which src/host reads instead of /sys, /proc, /dev
 * and the environment.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MACHINE_H
#define MACHINE_H

#include "fgt.h"
#include "host/host.h"

enum { MACHINE_VARIABLES = 64 };

typedef struct machine {
    fgi_host host; /* of this machine */
    char root[512];
    const char *environment[MACHINE_VARIABLES + 1];
    char *text; /* what the variables point into */
} machine;

/* An empty machine below `folder`. */
void machine_make(machine *m, const char *folder);
/* A file with its folders: machine_file(m, "/sys/bus/pci/devices/0000:00:04.0/vendor", "0x1ae0\n").
 */
void machine_file(const machine *m, const char *path, const char *content);
/* A symbolic link with its folders. */
void machine_link(const machine *m, const char *path, const char *target);
/* A PCI device; subsystem "" has no such file. */
void machine_pci(const machine *m, const char *slot, const char *vendor, const char *device,
                 const char *subsystem);
/* One more variable: "NAME=value", which must live as long as the machine. */
void machine_set(machine *m, const char *variable);

/* A machine from a file in tests/golden/hosts: a line "== PATH" starts the contents of a file, "->
 * PATH TARGET" is a link, "$ NAME=VALUE" a variable, "& SLOT VENDOR DEVICE SUBSYSTEM GROUP" a PCI
 * device and its IOMMU group ("-": none); other lines outside files are comments. Variables are
 * also written into /proc/self/environ. Free with machine_fini. */
void machine_load(machine *m, const char *folder, const char *name);
void machine_fini(machine *m);

#endif
