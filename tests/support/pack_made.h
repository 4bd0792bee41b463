/* pack_made.h - made records for the tests of packs: each is a function of its number, so a reader
 * can be checked without keeping what was written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_PACK_MADE_H
#define FGT_PACK_MADE_H

#include <fulgurite/pack.h>

enum { PACK_MADE_LARGEST = 4000 };

/* Record `number`: sizes from 0 to PACK_MADE_LARGEST, all codecs, names with spaces, UTF-8 and
 * other bytes, some with label lists or groups. The entry is valid until the next call. */
void pack_made(int64_t number, fg_pack_entry *out_entry, unsigned char *out_data, size_t *out_size);

/* Adds records up to number `count`. */
fg_status pack_made_add(fg_pack_writer *writer, int64_t count, fg_error *err);
/* Writes a whole pack; options may be NULL. */
fg_status pack_made_write(const char *path, const fg_pack_writer_options *options, int64_t count,
                          fg_error *err);

/* Fails the test unless record `number` has the entry and the bytes that pack_made gives, by both
 * ways of reading. */
void pack_made_check(fg_pack *pack, int64_t number);
/* The same for all `count` records of a pack, which must also verify. */
void pack_made_check_all(const char *path, int64_t count);

#endif
