/* pack_file.h - one file of a pack that is open for reading: its mapping, its header, its sections.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACK_FILE_H
#define FGI_PACK_FILE_H

#include <stdatomic.h>
#include "pack/pack_format.h"

/* A mapped file that may shrink. Zero-initialized, it is closed. */
typedef struct fgi_pack_map {
    const unsigned char *data; /* NULL for an empty file */
    uint64_t size;
    int fd;
    char *path;
    atomic_bool is_lost; /* pages were replaced by zeros */
} fgi_pack_map;

fg_status fgi_pack_map_open(const char *path, fgi_pack_map *out, fg_error *err);
void fgi_pack_map_close(fgi_pack_map *map);
/* FG_EIO if pages were lost. */
fg_status fgi_pack_map_check(fgi_pack_map *map, fg_error *err);

typedef struct fgi_pack_file {
    fgi_pack_map map;
    fgi_pack_page page;                               /* a copy: it can no longer change */
    const fgi_pack_section *sections[FGI_PACK_KINDS]; /* in page; NULL if absent */
    atomic_bool is_checked[FGI_PACK_KINDS];           /* their CRC matches */
    atomic_bool is_index_checked[2]; /* those of all columns; [1]: with names and labels */
    _Atomic uint32_t *seen;          /* bits of records whose CRC matched */
} fgi_pack_file;

/* Opens a file and checks its header and footer, and that sections are within bounds. */
fg_status fgi_pack_file_open(const char *path, fgi_pack_file *out, fg_error *err);
void fgi_pack_file_close(fgi_pack_file *file);

/* The elements of a section, after its CRC was checked once; NULL if it is absent. */
fg_status fgi_pack_file_section(fgi_pack_file *file, fgi_pack_kind kind, const void **out,
                                fg_error *err);
/* Checks the CRC of one section, also again. */
fg_status fgi_pack_file_check(const fgi_pack_file *file, const fgi_pack_section *section,
                              fg_error *err);

/* The columns of record `index` of this file. The CRCs of the index are checked at the first call,
 * those of names and label lists only if `texts`. */
fg_status fgi_pack_file_entry(fgi_pack_file *file, uint64_t index, bool texts, fg_pack_entry *out,
                              fg_error *err);
/* The same without checking the index first: false if the columns are invalid. */
bool fgi_pack_file_raw_entry(const fgi_pack_file *file, uint64_t index, fg_pack_entry *out);
/* Where the header of a record is, by the index. */
uint64_t fgi_pack_file_head_position(const fgi_pack_file *file, uint64_t index);
/* Checks the header of a record, at byte `at`, against its entry. */
fg_status fgi_pack_file_head(const fgi_pack_file *file, uint64_t index, uint64_t at,
                             const fg_pack_entry *entry, fg_error *err);
/* FG_EFORMAT that names the record. */
fg_status fgi_pack_file_fail(const fgi_pack_file *file, uint64_t index, const fg_pack_entry *entry,
                             uint64_t offset, const char *what, fg_error *err);
/* The same for a checksum, unless it is right. */
fg_status fgi_pack_file_check_crc(const fgi_pack_file *file, uint64_t index,
                                  const fg_pack_entry *entry, const void *data, fg_error *err);

struct fg_pack {
    atomic_long references; /* handles and datasets */
    fgi_pack_file *files;
    int file_count;
    fg_pack_check check;
    fg_pack_info info;
    fg_field fields[FG_MAX_FIELDS];
    const char **class_names; /* pointers into the mapping of file 0 */
};

/* Adds a reference; release it with fg_pack_close. */
fg_pack *fgi_pack_retain(fg_pack *pack);

/* fg_pack_record and the columns of the record. *out_entry is also set if the record is damaged,
 * but not if the index is: its name is then NULL. */
fg_status fgi_pack_record(fg_pack *pack, int64_t record, fg_pack_entry *out_entry,
                          const void **out_data, fg_error *err);

/* The file of a record, and its number there. */
fgi_pack_file *fgi_pack_locate(const fg_pack *pack, int64_t record, uint64_t *out_index);

/* The paths of the files of the pack that `path` names: an array of *out_count new strings. */
fg_status fgi_pack_find(const char *path, char ***out_paths, int *out_count, fg_error *err);
void fgi_pack_find_free(char **paths, int count);
/* "NAME-00007.pack" as a new string, from the path NAME.pack; NULL when out of memory. */
char *fgi_pack_shard_path(const char *path, uint32_t shard);

#endif
