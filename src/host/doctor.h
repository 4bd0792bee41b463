/* doctor.h - what the files of fg_host share: the facts while they are gathered, and the findings.
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
    const char *metadata; /* address of the metadata server, "" for files, NULL: not to be asked */
    fgi_tpu_scan scan;
    fg_host_info info;
    bool is_google; /* the machine is Google Cloud's, as its firmware says */
    fg_finding findings[FGI_FINDINGS_MAX];
    size_t finding_count;
    fg_host_variable fix[FGI_FIX_MAX];
    size_t fix_count;
    bool has_failed; /* out of memory */
};

/* Facts of the host: processors, memory, disks (machine_facts.c). */
void fgi_doctor_machine(fg_host *host);
/* Place, slice, what the metadata server says (environment.c). */
void fgi_doctor_environment(fg_host *host);
/* Findings and what mends them (rules.c). */
void fgi_doctor_rules(fg_host *host);

/* A copy in the arena; "" when out of memory, which is remembered. */
const char *fgi_doctor_keep(fg_host *host, const char *text);
/* Adds a finding; command may be NULL. */
void fgi_doctor_find(fg_host *host, fg_severity severity, const char *code, const char *command,
                     const char *format, ...) FG_PRINTF(5, 6);
/* A variable to be changed; the first change of a name stays. */
void fgi_doctor_fix(fg_host *host, const char *name, const char *value);

/* An attribute of the instance ("tpu-env") from the metadata server, or from a file of the fake
 * one. False where there is none. */
bool fgi_metadata_get(const fg_host *host, const char *attribute, char *out, size_t size);

#endif
