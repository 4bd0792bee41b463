/* setup.h - install PJRT plugins where fg_client_open finds them.
 *
 * The plugins are distributed as Python wheels. pip downloads them and verifies their hashes
 * against lists of pinned versions that are part of this library. Python is not needed afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_SETUP_H
#define FULGURITE_SETUP_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fg_setup_options {
    const char *home;   /* install to HOME/plugins/NAME  [the data folder of fg_client_open] */
    const char *python; /* Python interpreter whose pip downloads the wheels ["python3" on PATH] */
    bool again;         /* reinstall if it is already installed                          [false] */
    bool compiler_only; /* skip NVIDIA's libraries, which are needed only to execute      [false] */
    uint64_t reserved[4];
} fg_setup_options;

typedef struct fg_setup_result {
    char plugin_path[1024]; /* path of the plugin's .so */
    bool was_there;         /* the plugin was already installed; nothing was changed */
    uint64_t reserved[4];   /* set to 0 */
} fg_setup_result;

/* Installs the plugin NAME ("cpu", "tpu", "cuda13") with the versions pinned in
 * share/fulgurite/plugins/NAME.txt, which is searched under $FULGURITE_SHARE and next to the
 * library. An existing installation is replaced only once the new one is complete. License notes
 * from the list and the output of pip are written to the log (fg_log_set). options and out may be
 * NULL. Do not call it while another thread modifies the environment.
 *
 * Errors: FG_ENOTFOUND (no list with that name, or Python or pip is missing; the message suggests a
 * command), FG_EIO, FG_EPLUGIN (the download failed or contains no plugin; with the last lines of
 * pip's output), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_setup_install(const char *name, const fg_setup_options *options,
                                              fg_setup_result *out, fg_error *err);

/* A compiler that is not installed. Strings are constant. */
typedef struct fg_setup_missing {
    const char *what;     /* "The compiler for TPUs (libtpu)" */
    const char *name;     /* for fg_setup_install: "tpu" */
    const char *command;  /* of the program that installs it: "fulgurite setup tpu" */
    bool compiler_only;   /* for fg_setup_options */
    uint64_t reserved[2]; /* set to 0 */
} fg_setup_missing;

/* Finds the compilers that plans (plan.h) for `machines` need, 1 to 64 names as of
 * fg_topology_describe separated by commas, and that are not installed where fg_client_open finds
 * them. Each is listed once. Fills out[0..capacity) and sets *out_count, which may exceed capacity.
 * Errors: FG_EINVAL and those of fg_topology_describe (a name is invalid), FG_ENOMEM. Thread-safe.
 */
FG_API FG_MUST_USE fg_status fg_setup_find_missing(const char *machines, fg_setup_missing *out,
                                                   size_t capacity, size_t *out_count,
                                                   fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
