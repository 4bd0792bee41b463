/* plugin_file.h - files of plugins: where they are, and what they are for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_PLUGIN_FILE_H
#define FGI_PJRT_PLUGIN_FILE_H

#include <fulgurite/base.h>
#include <stdbool.h>

#define FGI_PATH_MAX 1024

/* The user's data folder: $FULGURITE_HOME and so on. False if there is none. */
bool fgi_home_folder(char out[FGI_PATH_MAX]);
/* The folder of the program or shared library that contains this code. False if it is unknown. */
bool fgi_own_folder(char out[FGI_PATH_MAX]);
/* Shortens PREFIX/bin, PREFIX/lib or PREFIX/lib/TRIPLE to PREFIX. False for any other folder, which
 * is shortened too. */
bool fgi_prefix_of(char folder[FGI_PATH_MAX]);
/* Path of the plugin within the folder plugins/NAME to which `fulgurite setup NAME` installs; NULL
 * for an unknown name. */
const char *fgi_setup_file(const char *name);
/* "cpu", "cuda" or "tpu" according to the file name, or NULL. */
const char *fgi_accelerator_of_file(const char *path);
/* Whether this machine seems to have a TPU or an NVIDIA GPU; true for "cpu". Searches under `root`
 * ("" for the real one). */
bool fgi_machine_has(const char *root, const char *accelerator);

/* Reads the file's ELF header: FG_EPLUGIN if it is missing, truncated, not a shared library or
 * built for another architecture. */
fg_status fgi_plugin_check_file(const char *path, fg_error *err);

#endif
