/* pack_samples.h - the dataset of a pack. What the fields of its samples are, and how a record
 * becomes a sample, is a row per kind of samples; the kind of a record is that of its codec
 * (pack_kinds.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_PACK_SAMPLES_H
#define FGI_DATA_PACK_SAMPLES_H

#include <fulgurite/pack_dataset.h>
#include "data/damaged.h"
#include "data/dataset.h"
#include "data/image_sample.h"
#include "pack/pack_file.h"

struct fgi_sample_kind;

typedef struct fgi_pack_samples {
    fg_pack *pack; /* held */
    const struct fgi_sample_kind *kind;
    fg_pack_dataset_options options;
    fgi_image_rule rule;
    fgi_image_workers workers;
    fgi_key variant_key;
    int64_t variant_count;
    int32_t *class_of; /* the index in options.class_names of each class of the pack, -1 if it is
                          not among them; NULL: classes are those of the pack */
    int64_t *chosen;   /* samples of the pack; NULL: all */
    int64_t count;
    fg_image_encoding encoding; /* of images that the device decodes */
    int field_count;
    size_t row_bytes[FG_MAX_FIELDS];
    int label_field;         /* -1: none */
    bool is_large;           /* the pack does not fit in memory */
    _Atomic uint32_t *asked; /* bits of records that the operating system was asked to read */
    fgi_damaged damaged;     /* records */
} fgi_pack_samples;

/* One record, while it becomes a sample. */
typedef struct fgi_pack_sample {
    int64_t epoch, index; /* of the dataset: they determine random crops */
    int64_t record;
    fg_pack_entry entry;
    const uint8_t *data; /* entry.size_bytes in the mapping */
} fgi_pack_sample;

/* "PACK: record 7 ('NAME')", for messages. */
enum { FGI_PACK_SAMPLE_NAME = 512 };
const char *fgi_pack_sample_name(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                                 char out[FGI_PACK_SAMPLE_NAME]);

/* A kind of samples: arrays, or images, whose `encoding` says whether the device decodes them. */
typedef struct fgi_sample_kind {
    /* Looks at the records, and sets s->encoding. May be NULL. */
    fg_status (*prepare)(fgi_pack_samples *s, fg_error *err);
    /* Writes the fields, except for the label. Errors: FG_EFORMAT and FG_EUNSUPPORTED if the record
     * cannot be read, which is a reason to skip it. */
    fg_status (*read)(const fgi_pack_samples *s, fgi_image_worker *worker,
                      const fgi_pack_sample *sample, void *const *out_fields, fg_error *err);
} fgi_sample_kind;

extern const fgi_sample_kind fgi_image_samples, fgi_array_samples;
/* NULL: records of this codec cannot be read. */
const fgi_sample_kind *fgi_pack_kind_of(fg_pack_codec codec);

/* Columns of the records [first, end), which are in one file. Zero-initialized, they are none. */
typedef struct fgi_pack_columns {
    int64_t first, end;
    const uint8_t *codec, *flags, *split;
    const int32_t *label;
    const uint32_t *width, *height;
    const uint64_t *labels_start; /* of the labels of each, and the end; NULL: one label each */
} fgi_pack_columns;

/* Makes *columns those of a range that contains the record. */
fg_status fgi_pack_columns_at(fg_pack *pack, int64_t record, fgi_pack_columns *columns,
                              fg_error *err);

/* Whether an epoch displaces records from memory that the next one begins with: the pack has more
 * than half of it. memory_bytes 0: not known. */
bool fgi_pack_is_large(uint64_t pack_bytes, uint64_t memory_bytes);

#endif
