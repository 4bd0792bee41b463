/* pack_format.h - the bytes of a pack, as docs/pack-format.md describes them: the page at both ends
 * of a file, the header of a record, the sections. Structs have no padding and are used in place.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACK_FORMAT_H
#define FGI_PACK_FORMAT_H

#include <assert.h>
#include <fulgurite/pack.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this host is big-endian: packs require a little-endian host"
#endif

enum {
    FGI_PACK_MAJOR = 1,
    FGI_PACK_MINOR = 0,
    FGI_PACK_PAGE = 4096,
    FGI_PACK_WINDOW = 2 << 20, /* small records do not cross a multiple of this */
    FGI_PACK_SMALL = 64 << 10, /* bytes of a small record: less than 2 % of a window is unused */
    FGI_PACK_SECTION_ALIGN = 64,
    FGI_PACK_HEAD_ALIGN = 16,
    FGI_PACK_MAX_NAME = 65535, /* with its NUL */
    FGI_PACK_MAX_LABELS = 65535,
    FGI_PACK_MAX_RECORDS = 1 << 27, /* of a shard */
};

#define FGI_PACK_MAGIC      "FGPACK\r\n"
#define FGI_PACK_HEAD_MAGIC 0x44524746u /* "FGRD" */

/* The sections, in the order of the file. */
typedef enum fgi_pack_kind {
    FGI_PACK_OFFSET = 1,       /* u64[count]: first byte of the record in the file */
    FGI_PACK_GROUP = 2,        /* s64[count]; absent if all are 0 */
    FGI_PACK_NAME_START = 3,   /* u64[count + 1]: positions in NAMES */
    FGI_PACK_LABELS_START = 4, /* u64[count + 1]: positions in LABELS; absent if LABELS is */
    FGI_PACK_LENGTH = 5,       /* u32[count] */
    FGI_PACK_CRC = 6,          /* u32[count] */
    FGI_PACK_LABEL = 7,        /* s32[count] */
    FGI_PACK_WIDTH = 8,        /* u32[count] */
    FGI_PACK_HEIGHT = 9,       /* u32[count] */
    FGI_PACK_LABELS = 10,      /* s32[...]; absent if no record has several labels */
    FGI_PACK_CODEC = 11,       /* u8[count] */
    FGI_PACK_FLAGS = 12,       /* u8[count] */
    FGI_PACK_SPLIT = 13,       /* u8[count] */
    FGI_PACK_NAMES = 14,       /* names, each followed by a NUL */
    FGI_PACK_CLASSES = 15,     /* names of the classes, each followed by a NUL */
    FGI_PACK_FIELDS = 16,      /* fgi_pack_field[...] */
    FGI_PACK_METADATA = 17,    /* JSON text and a NUL */
    FGI_PACK_KINDS = 18,
    FGI_PACK_MAX_SECTIONS = 64,
} fgi_pack_kind;

typedef struct fgi_pack_section {
    uint32_t kind, crc;
    uint64_t offset, size;
} fgi_pack_section;

/* The first page of a file, and a copy at its end. */
typedef struct fgi_pack_page {
    char magic[8];
    uint16_t major, minor;
    uint32_t is_finished;
    uint64_t required, optional; /* bits of features */
    uint8_t uuid[16];            /* of the set */
    uint8_t options[16];         /* hash of what determines the records */
    uint64_t count, first;       /* records of this file, number of its first in the set */
    uint64_t set_count;          /* records of all files */
    uint32_t shard, shard_count;
    uint64_t records_end, file_size;
    uint32_t variant_count, class_count, field_count, section_count;
    fgi_pack_section sections[FGI_PACK_MAX_SECTIONS];
    uint8_t zero[FGI_PACK_PAGE - 132 - 24 * FGI_PACK_MAX_SECTIONS];
    uint32_t crc; /* of all bytes before it */
} fgi_pack_page;
static_assert(sizeof(fgi_pack_page) == FGI_PACK_PAGE, "a page has no padding");

/* Before each record; followed by its name with a NUL, zeros up to a multiple of 4, its labels, and
 * zeros up to a multiple of 16. */
typedef struct fgi_pack_head {
    uint32_t magic;
    uint32_t head_crc; /* of the bytes after it, with name and labels */
    uint64_t number;   /* of the record in the set */
    uint64_t offset;   /* of the record's bytes in this file */
    uint32_t length, crc;
    uint32_t width, height;
    int64_t group;
    int32_t label;
    uint32_t label_count;
    uint16_t name_size; /* with the NUL */
    uint8_t codec, flags, split;
    uint8_t zero[3];
} fgi_pack_head;
static_assert(sizeof(fgi_pack_head) == 64, "a record header has no padding");

/* One field of records of codec FG_PACK_ARRAYS. */
typedef struct fgi_pack_field {
    char name[48]; /* padded with NULs */
    uint32_t dtype, rank;
    int64_t dim[FG_MAX_RANK];
    uint64_t zero;
} fgi_pack_field;
static_assert(sizeof(fgi_pack_field) == 128, "a field has no padding");

static inline uint64_t fgi_pack_align(uint64_t at, uint64_t step)
{
    return (at + step - 1) / step * step;
}

/* ---- pack_layout.c
 * -------------------------------------------------------------------------------- */

/* Name of a section, for messages. */
const char *fgi_pack_section_name(uint32_t kind);
/* Bytes of one element of a section; 1 for text. */
size_t fgi_pack_element_size(uint32_t kind);
/* The number of elements that a section must have in a file of `count` records; -1: any. */
int64_t fgi_pack_element_count(uint32_t kind, uint64_t count);

/* Bytes of the header of a record, with name and labels: a multiple of 16. */
size_t fgi_pack_head_size(const fgi_pack_head *head);
/* CRC of a record header in memory with fgi_pack_head_size bytes. */
uint32_t fgi_pack_head_crc(const fgi_pack_head *head);
/* Where the bytes of a record begin whose header ends at `at`. Packs that were written before the
 * limit for small records was lowered have them also where any record up to FGI_PACK_WINDOW bytes
 * was placed: fgi_pack_head_at accepts both. */
uint64_t fgi_pack_place(uint64_t at, uint8_t codec, uint32_t length);

uint32_t fgi_pack_page_crc(const fgi_pack_page *page);
/* Checks magic, version, features and CRC. `offset` is where the page is in the file. */
fg_status fgi_pack_page_check(const fgi_pack_page *page, const char *path, uint64_t offset,
                              fg_error *err);

/* The record header at byte `at` of a file's first `size` bytes: NULL unless it is intact and its
 * record lies within the file where the layout places it. */
const fgi_pack_head *fgi_pack_head_at(const unsigned char *data, uint64_t size, uint64_t at);
const char *fgi_pack_head_name(const fgi_pack_head *head);
const int32_t *fgi_pack_head_labels(const fgi_pack_head *head);
/* The entry of a record header; strings point into it. */
fg_pack_entry fgi_pack_head_entry(const fgi_pack_head *head);

bool fgi_pack_is_zero(const unsigned char *data, size_t size);
/* The checks of a field, by reader and writer. */
bool fgi_pack_field_is_valid(const char *name, uint32_t dtype, uint32_t rank, const int64_t *dim);

#endif
