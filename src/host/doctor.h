/* doctor.h - shared by the files of fg_host: properties while they are collected, and findings.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_DOCTOR_H
#define FGI_HOST_DOCTOR_H

#include <fulgurite/host.h>
#include "base/arena.h"
#include "host/tpu.h"

enum { FGI_FINDINGS_MAX = 48, FGI_FIX_MAX = 32 };

struct fg_host {
    fgi_arena arena; /* every string below */
    fgi_host source;
    const char *metadata; /* URL of the metadata server; "": files; NULL: do not query it */
    fgi_tpu_scan scan;
    fg_host_info info;
    bool is_google; /* the firmware identifies the machine as Google Cloud */
    fg_finding findings[FGI_FINDINGS_MAX];
    size_t finding_count;
    fg_host_variable fix[FGI_FIX_MAX];
    size_t fix_count;
    bool has_failed; /* out of memory */
};

/* Properties of the host: processors, memory, disks (machine_facts.c). */
void fgi_doctor_machine(fg_host *host);
/* Environment, slice, and data from the metadata server (environment.c). */
void fgi_doctor_environment(fg_host *host);
/* Findings and their fixes (rules.c). */
void fgi_doctor_rules(fg_host *host);

/* A copy in the arena; "" when out of memory, which is recorded. */
const char *fgi_doctor_keep(fg_host *host, const char *text);
/* Adds a finding; command may be NULL. */
void fgi_doctor_find(fg_host *host, fg_severity severity, const char *code, const char *command,
                     const char *format, ...) FG_PRINTF(5, 6);
/* Recommends a change of a variable; the first recommendation for a name is kept. */
void fgi_doctor_fix(fg_host *host, const char *name, const char *value);

#endif
