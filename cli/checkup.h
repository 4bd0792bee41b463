/* checkup.h - what the files of fulgurite doctor share: all that was found out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKUP_H
#define CHECKUP_H

#include <fulgurite/device.h>
#include <fulgurite/host.h>
#include <jansson.h>

#include "cli.h"

enum { DOCTOR_FINDINGS = 64, DOCTOR_PLUGINS = 3 };

/* The plugin of an accelerator that a program would load. */
typedef struct doctor_plugin {
    const char *accelerator;
    char path[1024]; /* "": none was found */
    char source[48];
    char version[64]; /* of its Python package; "" where it cannot be told */
} doctor_plugin;

/* Whether the devices do what they are told. */
typedef struct doctor_test {
    bool was_run, is_good;
    char platform[16], version[200];
    char kind[64];
    int devices, api_major, api_minor;
    int bad_device; /* whose product is wrong, -1 */
    double seconds;
    fg_error err;
} doctor_test;

/* How fast a folder's files are read. */
typedef struct doctor_speed {
    bool was_measured;
    int64_t files, bytes;
    double seconds;
} doctor_speed;

typedef struct doctor {
    fg_host *host;
    void (*report)(FILE *out, const struct doctor *d);
    doctor_plugin plugins[DOCTOR_PLUGINS];
    char cache[1024]; /* "": there is none */
    bool cache_is_writable;
    int64_t cache_bytes, cache_files, cache_free_bytes;
    doctor_speed speed;
    doctor_test test;
    fg_finding findings[DOCTOR_FINDINGS]; /* the host's, then the program's own */
    size_t finding_count;
    char texts[8][400]; /* of the program's own */
    size_t text_count;
} doctor;

/* Plugins, compile cache, the data folder (doctor_probe.c). folder may be NULL. */
void doctor_probe(doctor *d, const char *folder);
/* A product of matrices on each device and a sum over all (doctor_test.c). Devices that do not
 * answer for timeout_s end the process, after the report. */
void doctor_run_test(doctor *d, const char *accelerator, const char *devices, double timeout_s);
/* One more finding of the program's own. */
void doctor_find(doctor *d, fg_severity severity, const char *code, const char *command,
                 const char *format, ...) FG_PRINTF(5, 6);

/* What was found, as lines or as one JSON object (doctor_print.c). */
void doctor_print(FILE *out, const doctor *d);
void doctor_print_json(FILE *out, const doctor *d);
bool doctor_is_wrong(const doctor *d);

#endif
