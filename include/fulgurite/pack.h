/* pack.h - packs: many records in a few large files, with an index, checksums and exact repair.
 *
 * A record is a sequence of bytes (a JPEG file, raw pixels, arrays) with a name, a label and other
 * columns. A pack is one file NAME.pack, or a set of shards NAME-00000.pack, NAME-00001.pack ...
 * that are opened together. The bytes are opaque here: decoding is up to the caller. A record is at
 * most 4 GiB - 1 byte; a shard has at most 2^27 records. docs/pack-format.md describes the format.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PACK_H
#define FULGURITE_PACK_H

#include <fulgurite/base.h>
#include <fulgurite/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the bytes of a record are. Values are stable. */
typedef enum fg_pack_codec {
    FG_PACK_FILE = 0,       /* a file as it is, in any format                                   */
    FG_PACK_JPEG = 1,       /* a JPEG file                                                      */
    FG_PACK_JPEG_SEG = 2,   /* a JPEG file with restart markers, and the table of its segments  */
    FG_PACK_RAW_RGB = 3,    /* u8[height, width, 3]                                             */
    FG_PACK_RAW_YCC420 = 4, /* planes Y, Cb, Cr, u8, the last two of half width and height      */
    FG_PACK_DCT = 5,        /* quantized DCT coefficients as bit planes; as LZ4 in old packs    */
    FG_PACK_ARRAYS = 6      /* the fields of fg_pack_info, dense and concatenated               */
} fg_pack_codec;

/* The name of a codec in configurations and texts: "file", "jpeg", "jpeg-seg", "raw", "ycc", "dct"
 * or "arrays"; NULL for other values. Thread-safe. */
FG_API const char *fg_pack_codec_name(fg_pack_codec codec);

/* The label of a record without one, and the split of a record without one. */
#define FG_PACK_NO_LABEL (-1)
#define FG_PACK_NO_SPLIT 255

/* Bit of `flags`: the record was lost before fg_pack_rebuild; it has no bytes. The lower seven bits
 * belong to the codec. */
#define FG_PACK_LOST 128

/* A record without its bytes. The first group is given by the writer; the second is only set by the
 * reader. Strings and arrays of the reader live as long as the pack. */
typedef struct fg_pack_entry {
    const char *name; /* any bytes but NUL, at most 65,534; usually a path; NULL: "" */
    fg_pack_codec codec;
    uint32_t width, height; /* pixels; 0 if the record is not an image */
    int32_t label;          /* class index, or FG_PACK_NO_LABEL */
    const int32_t *labels;  /* several labels, for multi-label data; may be NULL */
    uint32_t label_count;   /* of `labels`, at most 65,535 */
    uint8_t split;          /* fg_data_split, or FG_PACK_NO_SPLIT */
    uint8_t flags;          /* of the codec, and FG_PACK_LOST */
    int64_t group;          /* records that belong together, such as a patient's; 0: none */

    uint32_t size_bytes;   /* of the record */
    uint32_t crc;          /* CRC-32C of the record's bytes */
    uint64_t offset_bytes; /* of the first byte in its file */
    int shard;             /* number of its file */
    uint64_t reserved[2];  /* must be 0 */
} fg_pack_entry;

/* ---- reading --------------------------------------------------------------------------------- */

/* An open pack. Thread-safe. Its files are memory-mapped; if one shrinks or its disk disappears,
 * calls fail with FG_EIO: opening the first pack installs a handler of SIGBUS for this. */
typedef struct fg_pack fg_pack;

/* When the checksum of a record is verified. */
typedef enum fg_pack_check {
    FG_PACK_CHECK_FIRST = 0, /* when the record is first read from this fg_pack */
    FG_PACK_CHECK_ALWAYS = 1,
    FG_PACK_CHECK_NEVER = 2 /* checksums of the index are still verified */
} fg_pack_check;

typedef struct fg_pack_options {
    fg_pack_check check; /* [FG_PACK_CHECK_FIRST] */
    uint64_t reserved[4];
} fg_pack_options;

/* Properties of a pack. Strings live as long as the pack. */
typedef struct fg_pack_info {
    char uuid[37]; /* of the set, derived from its contents: equal packs, equal uuid */
    int version_major, version_minor;
    int64_t count;         /* number of records */
    int64_t variant_count; /* records per sample: record = sample * variant_count + variant */
    int shard_count;
    uint64_t size_bytes; /* of all files */
    int64_t class_count;
    const fg_field *fields; /* of codec FG_PACK_ARRAYS; NULL if there are none */
    int field_count;
    const char *metadata; /* JSON text: source, options, statistics; "" if there is none */
} fg_pack_info;

/* Opens a pack: `path` is a file, NAME.pack or any file of a set, a pattern of file names
 * ("data/train-*.pack"), or a folder with one pack. Reads the header, the footer and small sections
 * of each file; the time does not depend on the number of records. options may be NULL. Errors:
 * FG_ENOTFOUND (also a missing shard), FG_EIO, FG_ENOMEM, FG_EINVAL, FG_EFORMAT (not a pack,
 * unfinished, truncated, damaged, or shards of different sets; the message has the file and the
 * byte offset), FG_EUNSUPPORTED (written by a newer version). */
FG_API FG_MUST_USE fg_status fg_pack_open(const char *path, const fg_pack_options *options,
                                          fg_pack **out, fg_error *err);

/* Closes the files, once no dataset uses them (pack_dataset.h); pointers from the pack become
 * invalid. NULL is allowed. */
FG_API void fg_pack_close(fg_pack *pack);

/* Number of records. */
FG_API int64_t fg_pack_count(const fg_pack *pack);

/* Properties of the pack. Borrowed for its lifetime. */
FG_API const fg_pack_info *fg_pack_info_of(const fg_pack *pack);

/* Name of class `index`; NULL if index is out of range. Borrowed for the pack's lifetime. */
FG_API const char *fg_pack_class_name(const fg_pack *pack, int64_t index);

/* Path of file `shard`; NULL if shard is out of range. Borrowed for the pack's lifetime. */
FG_API const char *fg_pack_path(const fg_pack *pack, int shard);

/* The columns of a record. The index of its file is verified at the first call. Errors: FG_EINVAL
 * (record is out of range), FG_EFORMAT (the index is damaged), FG_EIO. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_pack_entry_at(fg_pack *pack, int64_t record, fg_pack_entry *out,
                                              fg_error *err);

/* The bytes of a record in the mapping, without a copy; aligned to 16 bytes (FG_PACK_RAW_RGB,
 * FG_PACK_RAW_YCC420, FG_PACK_DCT and FG_PACK_ARRAYS: 64). Borrowed for the pack's lifetime.
 * If the file shrinks later, the bytes become zeros: call fg_pack_intact after using them. Errors:
 * those of fg_pack_entry_at; FG_EFORMAT (a checksum does not match, or the record was lost: the
 * message has its name, file, offset, and both checksums). Other records can still be read after an
 * error. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_pack_record(fg_pack *pack, int64_t record, const void **out_data,
                                            size_t *out_size, fg_error *err);

/* Copies a record to `buffer` with pread, which is faster than the mapping for files that are not
 * in the page cache. *size is that of the buffer, and becomes that of the record, also if the
 * buffer is too small (FG_EINVAL). Errors: those of fg_pack_record. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_pack_read(fg_pack *pack, int64_t record, void *buffer, size_t *size,
                                          fg_error *err);

/* FG_EIO if a file has shrunk, or its disk has failed, since the pack was opened: bytes borrowed
 * from fg_pack_record may be zeros. Cheap enough to call once per batch. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_pack_intact(fg_pack *pack, fg_error *err);

/* Asks the operating system to read `count` records into the page cache, in the background;
 * adjacent records become one request. Records out of range are ignored. Thread-safe. */
FG_API void fg_pack_prefetch(fg_pack *pack, const int64_t *records, size_t count);

/* Reads all files into the page cache and maps them, if they have at most limit_bytes together
 * (fg_host has the memory that is free). Returns whether it did. Takes as long as reading the
 * files. Thread-safe. */
FG_API bool fg_pack_populate(fg_pack *pack, uint64_t limit_bytes);

/* ---- checking and repairing ------------------------------------------------------------------ */

/* One fault that fg_pack_verify has found. `record` is -1 and `name` NULL if it is not in a record.
 * Strings are valid during the call. */
typedef struct fg_pack_fault {
    int64_t record;
    const char *name;
    const char *path;
    uint64_t offset_bytes; /* of the damaged range in the file */
    const char *message;   /* with record, name, path and offset */
} fg_pack_fault;

/* Called for each fault. */
typedef void fg_pack_fault_fn(void *self, const fg_pack_fault *fault);

/* The result of fg_pack_verify or fg_pack_rebuild. */
typedef struct fg_pack_report {
    int64_t records;      /* checked, or in the rebuilt pack */
    int64_t bad_records;  /* damaged, or lost in the rebuilt pack */
    int64_t bad_others;   /* damaged ranges outside records; lost sections of the rebuilt pack */
    uint64_t size_bytes;  /* read */
    int64_t lost_records; /* fg_pack_verify: records that an earlier fg_pack_rebuild has left empty;
                             they are not faults */
    uint64_t reserved[3];
} fg_pack_report;

/* Reads all of a pack and verifies each byte: headers, sections, records, and that padding is zero.
 * Continues after faults; `fault` (may be NULL) is called for each one, in the calling thread.
 * A rebuilt pack has no faults; its empty records are counted. out_report may be NULL. Errors:
 * FG_EFORMAT, with the first fault in err, if there were any; FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_pack_verify(fg_pack *pack, fg_pack_fault_fn *fault, void *self,
                                            fg_pack_report *out_report, fg_error *err);

/* Rebuilds one file of a pack from its records: headers, index and names are written again. The
 * file may be damaged anywhere, truncated or unfinished. Records keep their numbers; a damaged one
 * becomes an empty record with the flag FG_PACK_LOST. Class names, fields and metadata are kept if
 * they are intact. out_path may be equal to path; it is replaced atomically. out_report may be
 * NULL. Errors: FG_ENOTFOUND, FG_EIO, FG_ENOMEM, FG_EINVAL (another process writes out_path),
 * FG_EFORMAT (no record is left; or a shard of a set whose header and footer are both damaged). */
FG_API FG_MUST_USE fg_status fg_pack_rebuild(const char *path, const char *out_path,
                                             fg_pack_report *out_report, fg_error *err);

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes a pack record by record. One thread at a time. Files are written as NAME.pack.partial and
 * renamed when the pack is complete. Memory: the index of one shard, about 50 bytes and the
 * name per record. */
typedef struct fg_pack_writer fg_pack_writer;

typedef struct fg_pack_writer_options {
    uint64_t shard_bytes;   /* start a new file when one would exceed this size
                               [0: a single file] */
    int64_t variant_count;  /* records per sample                                          [1] */
    const fg_field *fields; /* of records of codec FG_PACK_ARRAYS                       [none] */
    int field_count;        /* 0 to FG_MAX_FIELDS                                          [0] */
    const char *const *class_names; /* class_count names; one that is NULL is the class's number
                                       [NULL: the numbers] */
    int64_t class_count;     /*                                                             [0] */
    const char *fingerprint; /* text that describes the input and the options that determine the
                                records: a partial pack is only resumed if it is equal     [""] */
    bool resume;  /* continue a partial pack if there is one; otherwise it is discarded   [false] */
    bool replace; /* replace an existing pack, a single file or a set; otherwise it is an
                     error                                                                [false] */
    /* With `resume`: called for each record of the partial pack, in order; an error is that of
     * fg_pack_writer_create, and leaves the partial pack. For a caller that checks whether its
     * input is still the same                                                      [NULL: none] */
    fg_status (*kept)(void *kept_self, int64_t record, const fg_pack_entry *entry, const void *data,
                      size_t size, fg_error *err);
    void *kept_self;
    uint64_t reserved[2];
} fg_pack_writer_options;

/* Starts or resumes writing the pack `path`, which must end in ".pack"; with shard_bytes > 0, its
 * files are NAME-00000.pack and so on. *out_kept (may be NULL) is the number of records that a
 * partial pack already has: the caller continues with the next one. Each of them has been read and
 * verified; an incomplete one at the end is removed. The same records and options give the same
 * bytes, whether resumed or not. options may be NULL and is copied. Errors: FG_EINVAL (also: the
 * pack exists, or the partial pack has different options), FG_EIO (also: another process writes
 * it), FG_ENOTFOUND, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_pack_writer_create(const char *path,
                                                   const fg_pack_writer_options *options,
                                                   fg_pack_writer **out, int64_t *out_kept,
                                                   fg_error *err);

/* Appends a record. Errors: FG_EINVAL (the entry or the size is out of range; the writer remains
 * usable), FG_EIO (for example, a full disk), FG_ENOMEM. After the latter two, destroy the writer;
 * the partial pack can be resumed. */
FG_API FG_MUST_USE fg_status fg_pack_writer_add(fg_pack_writer *writer, const fg_pack_entry *entry,
                                                const void *data, size_t size, fg_error *err);

/* Number of records so far. */
FG_API int64_t fg_pack_writer_count(const fg_pack_writer *writer);

/* Name of the last record, also after resuming: a caller that skips some of its inputs continues
 * after the input with this name. NULL if there is no record. Borrowed until the next call. */
FG_API const char *fg_pack_writer_last_name(const fg_pack_writer *writer);

/* Completes the pack: writes the index, syncs everything to disk and renames the files. metadata is
 * JSON text, or NULL. The number of records must be a multiple of variant_count (FG_EINVAL; more
 * can be added). After FG_OK or another error, only destroy the writer. Errors: FG_EIO, FG_ENOMEM.
 */
FG_API FG_MUST_USE fg_status fg_pack_writer_finish(fg_pack_writer *writer, const char *metadata,
                                                   fg_error *err);

/* Removes the partial pack. The writer must still be destroyed. */
FG_API void fg_pack_writer_discard(fg_pack_writer *writer);

/* Closes the files. A pack that is not finished remains as a partial pack, which can be resumed.
 * NULL is allowed. */
FG_API void fg_pack_writer_destroy(fg_pack_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
