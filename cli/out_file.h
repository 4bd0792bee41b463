/* out_file.h - output files named by the user: --summary, --out, --html and the run's own
 * config.yaml. "-" is standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUT_FILE_H
#define OUT_FILE_H

#include "base/buf.h"
#include "cli.h"

/* Writes the whole file like fg_file_write: regular files atomically; devices, FIFOs and
 * descriptors directly. */
fg_status out_file_write(const char *path, const char *text, size_t size, fg_error *err);

/* Prints a text that the library has made (NULL: none), or writes it to a file if path is not NULL,
 * or prints the error of its status; and frees it. Returns the exit status. */
int out_text(const char *command, fg_status status, char *const *text, const char *path,
             fg_error *err);

/* The same of a text that the program has made, on standard output. */
int out_buf(const char *command, fg_status status, fgi_buf *text, fg_error *err);

/* Whether the file can be written, as far as that can be known without writing it: its folder
 * exists and can be written to, and it is not a folder itself. NULL: no file, which is fine.
 * `option` is named in the error: "--summary". */
fg_status out_file_check(const char *option, const char *path, fg_error *err);

#endif
