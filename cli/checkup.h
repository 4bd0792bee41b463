/* checkup.h - declarations shared by the files of fulgurite doctor: all results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKUP_H
#define CHECKUP_H

#include <fulgurite/check.h>
#include <fulgurite/device.h>
#include <fulgurite/host.h>
#include <jansson.h>

#include "base/buf.h"
#include "cli.h"

enum { DOCTOR_FINDINGS = 64, DOCTOR_PLUGINS = 3 };

/* The plugin that a program would load for an accelerator. */
typedef struct checkup_plugin {
    const char *accelerator;
    char path[1024]; /* "": none was found */
    char source[48];
    char version[64]; /* of its Python package; "" if unknown */
} checkup_plugin;

/* Result of the device test. */
typedef struct checkup_test {
    bool was_run, is_good;
    char platform[16], version[200];
    char kind[64], kernels[48];
    int devices, api_major, api_minor;
    int bad_device; /* whose matmul is wrong; -1: none */
    double seconds;
    fg_check_result check; /* of the plugin */
    char command[200];     /* that fixes the plugin's results */
    fg_error err;
} checkup_test;

/* Read throughput of a folder's files. */
typedef struct checkup_speed {
    double most_seconds; /* after which it ends [2] */
    bool was_measured;
    int64_t files, bytes;
    double seconds;
} checkup_speed;

typedef struct checkup {
    fg_host *host;
    void (*report)(fgi_buf *out, const struct checkup *d); /* how a hang is reported */
    checkup_plugin plugins[DOCTOR_PLUGINS];
    char cache[1024]; /* "": there is none */
    bool cache_is_writable;
    int64_t cache_bytes, cache_files, cache_free_bytes;
    checkup_speed speed;
    checkup_test test;
    fg_finding findings[DOCTOR_FINDINGS]; /* the host's findings, then the program's */
    size_t finding_count;
    char texts[8][400]; /* of the program's findings */
    size_t text_count;
} checkup;

/* What to check. All members may be 0. */
typedef struct checkup_options {
    bool host_only;          /* check nothing else: no plugins, no cache, no test */
    const char *data;        /* measure how fast the files of this folder are read */
    bool skip_test;          /* load no plugin and run nothing on the devices */
    const char *accelerator; /* to test, as in fg_client_options */
    const char *devices;     /* the same */
    double timeout_s;        /* for the devices to respond; 0: no limit */
} checkup_options;

/* Adds the findings of d->host, and checks the rest (cmd_doctor.c). */
void checkup_run(checkup *d, const checkup_options *options);
/* Plugins, compile cache, the data folder (doctor_probe.c). folder may be NULL. */
void checkup_probe(checkup *d, const char *folder);
/* Runs a matmul on each device and a sum over all, and checks the plugin (doctor_test.c). If
 * devices do not respond within timeout_s, prints the report and ends the process. */
void checkup_run_test(checkup *d, const checkup_options *options);
/* Adds a finding of the program. */
void checkup_find(checkup *d, fg_severity severity, const char *code, const char *command,
                  const char *format, ...) FG_PRINTF(5, 6);

/* Prints the results, as lines or as one JSON object (doctor_print.c). */
void checkup_print(fgi_buf *out, const checkup *d);
void checkup_print_json(fgi_buf *out, const checkup *d);
bool checkup_is_wrong(const checkup *d);

#endif
