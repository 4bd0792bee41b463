/* setup.h - installs PJRT plugins where fg_client_open finds them.
 *
 * The plugins are distributed as Python wheels. pip downloads them and verifies their hashes
 * against lists of pinned versions that are part of the project. Python is not needed afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SETUP_H
#define SETUP_H

#include "cli.h"

typedef struct setup_options {
    const char *home;   /* install to HOME/plugins/NAME  [the data folder of fg_client_open] */
    const char *python; /* Python interpreter whose pip downloads the wheels ["python3" on PATH] */
    bool again;         /* reinstall if it is already installed */
    bool compiler_only; /* skip NVIDIA's libraries, which are needed only to execute */
} setup_options;

typedef struct setup_result {
    char plugin_path[1024]; /* path of the plugin's .so */
    bool was_there;         /* the plugin was already installed; nothing was changed */
} setup_result;

/* Installs the plugin NAME ("cpu", "tpu", "cuda13") with the versions pinned in
 * share/fulgurite/plugins/NAME.txt, which is searched under $FULGURITE_SHARE and next to the
 * program. An existing installation is replaced only once the new one is complete. License notes
 * from the list and the output of pip are written to the log (fg_log_set). out may be NULL. Errors:
 * FG_ENOTFOUND (no list with that name, or Python or pip is missing; the message suggests a
 * command), FG_EIO, FG_EPLUGIN (the download failed or contains no plugin; with the last lines of
 * pip's output). */
fg_status setup_install(const char *name, const setup_options *options, setup_result *out,
                        fg_error *err);

/* A compiler that is not installed. Strings are constant. */
typedef struct setup_missing {
    const char *accelerator; /* "tpu" */
    const char *what;        /* "The compiler for TPUs (libtpu)" */
    const char *name;        /* for setup_install: "tpu" */
    const char *command;     /* of the program that installs it: "fulgurite setup tpu" */
    bool compiler_only;      /* for setup_options */
} setup_missing;

enum { SETUP_COMPILERS = 2 };

/* Finds the compilers that plans for `machines` need, 1 to 64 names as of fg_topology_describe
 * separated by commas, and that are not installed where fg_client_open finds them. Each is listed
 * once. Errors: those of fg_topology_describe (a name is invalid). */
fg_status setup_find_missing(const char *machines, const setup_missing *out[SETUP_COMPILERS],
                             size_t *out_count, fg_error *err);

#endif
