/* catalog_text.h - a catalog as text, to compare it as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_CATALOG_TEXT_H
#define FGT_CATALOG_TEXT_H

#include <fulgurite/catalog.h>
#include "base/buf.h"

/* Appends a line per sample: NAME LABEL,LABEL SPLIT GROUP [BYTES], each left out where there is
 * none; BYTES are the first 40, escaped. Then a line "class NAME" per class and "skip PATH: REASON"
 * per skipped file. Returns the first error of reading or of memory. */
fg_status fgt_catalog_write(const fg_catalog *catalog, fgi_buf *out, fg_error *err);

/* A scenario of fgt_fault_loop: opens the catalog with default options, writes it, and destroys it.
 */
fg_status fgt_catalog_scenario(void *path, fg_error *err);

/* Opens, compares and destroys; fails the test if the text differs or there is an error. */
void fgt_catalog_is(const char *path, const fg_catalog_options *options, const char *expected);

/* Opening must fail with this status and this message, in which the path is written as PATH, and
 * the folder it is in as FOLDER; one @ is any text (of another library). */
void fgt_catalog_fails(const char *path, const fg_catalog_options *options, fg_status status,
                       const char *message);

/* A file in memory with this content, whose path is returned; the same file at each call. Faster
 * than a file on disk, which ext4 flushes when it is replaced. */
const char *fgt_memory_file(const void *data, size_t size);

#endif
