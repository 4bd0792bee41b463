/* setup.h - installing PJRT plugins where fg_client_open finds them.
 *
 * The plugins are wheels of the Python package index. pip downloads them and checks their hashes
 * against lists of pins that come with this library; Python is not needed afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_SETUP_H
#define FULGURITE_SETUP_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fg_setup_options {
    const char *home; /* plugins go to HOME/plugins/NAME [as fg_client_open searches: device.h] */
    const char
        *python; /* the Python whose pip downloads                      ["python3" on PATH] */
    bool again;  /* install even if it is already installed                [false] */
    bool compiler_only; /* without what is needed only to run: NVIDIA's libraries   [false] */
    uint64_t reserved[4];
} fg_setup_options;

typedef struct fg_setup_result {
    char plugin_path[1024]; /* the plugin's .so */
    bool was_there;         /* it had been installed before, nothing was done */
    uint64_t reserved[4];   /* set to 0 */
} fg_setup_result;

/* Installs the plugin NAME ("cpu", "tpu", "cuda13") with the versions pinned in
 * share/fulgurite/plugins/NAME.txt, which is looked for under $FULGURITE_SHARE and beside the
 * library. An older installation is replaced only when the new one is whole. What the list says of
 * licences and what pip says goes to the log (fg_log_set). options and out may be NULL. Not to be
 * called while another thread changes the environment.
 *
 * Errors: FG_ENOTFOUND (no pins of that name; no Python or no pip: the message says what to type),
 * FG_EIO, FG_EPLUGIN (the download failed or is no plugin; with pip's last words), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_setup_install(const char *name, const fg_setup_options *options,
                                              fg_setup_result *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
