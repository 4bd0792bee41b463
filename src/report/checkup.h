/* checkup.h - declarations shared by the files of fulgurite doctor: all results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_CHECKUP_H
#define FGI_REPORT_CHECKUP_H

#include <fulgurite/device.h>
#include <fulgurite/host.h>
#include <jansson.h>

#include "report/helpers.h"
#include "base/buf.h"

enum { FGI_DOCTOR_FINDINGS = 64, FGI_DOCTOR_PLUGINS = 3 };

/* The plugin that a program would load for an accelerator. */
typedef struct fgi_checkup_plugin {
    const char *accelerator;
    char path[1024]; /* "": none was found */
    char source[48];
    char version[64]; /* of its Python package; "" if unknown */
} fgi_checkup_plugin;

/* Result of the device test. */
typedef struct fgi_checkup_test {
    bool was_run, is_good;
    char platform[16], version[200];
    char kind[64];
    int devices, api_major, api_minor;
    int bad_device; /* whose matmul is wrong; -1: none */
    double seconds;
    fg_error err;
} fgi_checkup_test;

/* Read throughput of a folder's files. */
typedef struct fgi_checkup_speed {
    bool was_measured;
    int64_t files, bytes;
    double seconds;
} fgi_checkup_speed;

typedef struct fgi_checkup {
    fg_host *host;
    void (*report)(fgi_buf *out, const struct fgi_checkup *d);
    void (*hang)(void *self, const char *report); /* of the user; may be NULL */
    void *hang_self;
    fgi_checkup_plugin plugins[FGI_DOCTOR_PLUGINS];
    char cache[1024]; /* "": there is none */
    bool cache_is_writable;
    int64_t cache_bytes, cache_files, cache_free_bytes;
    fgi_checkup_speed speed;
    fgi_checkup_test test;
    fg_finding findings[FGI_DOCTOR_FINDINGS]; /* the host's findings, then the program's */
    size_t finding_count;
    char texts[8][400]; /* of the program's findings */
    size_t text_count;
} fgi_checkup;

/* Plugins, compile cache, the data folder (doctor_probe.c). folder may be NULL. */
void fgi_checkup_probe(fgi_checkup *d, const char *folder);
/* Runs a matmul on each device and a sum over all (doctor_test.c). If devices do not respond within
 * timeout_s, prints the report and ends the process. */
void fgi_checkup_run_test(fgi_checkup *d, const char *accelerator, const char *devices,
                          double timeout_s);
/* Adds a finding of the program. */
void fgi_checkup_find(fgi_checkup *d, fg_severity severity, const char *code, const char *command,
                      const char *format, ...) FG_PRINTF(5, 6);

/* Prints the results, as lines or as one JSON object (doctor_print.c). */
void fgi_checkup_print(fgi_buf *out, const fgi_checkup *d);
void fgi_checkup_print_json(fgi_buf *out, const fgi_checkup *d);
bool fgi_checkup_is_wrong(const fgi_checkup *d);

#endif
