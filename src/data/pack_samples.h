/* pack_samples.h - the dataset of a pack. What the fields of its samples are, and how a record
 * becomes a sample, is a row per kind of samples; how a record becomes the pixels of an image is a
 * row per codec (pack_pixels.c).
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
const char *fgi_pack_record_name(const fgi_pack_samples *s, int64_t record,
                                 char out[FGI_PACK_SAMPLE_NAME]);

/* A kind of samples. A dataset has the first kind that can read all of its records. */
typedef struct fgi_sample_kind {
    bool (*can_read)(fg_pack_codec codec);
    /* Looks at the records. May be NULL. */
    fg_status (*prepare)(fgi_pack_samples *s, fg_error *err);
    /* Appends the fields, except for the label. */
    fg_status (*describe)(const fgi_pack_samples *s, fg_field out[FG_MAX_FIELDS], int *out_count,
                          fg_error *err);
    /* Writes the fields that `describe` has given. Errors: FG_EFORMAT and FG_EUNSUPPORTED if the
     * record cannot be read, which is a reason to skip it. */
    fg_status (*read)(const fgi_pack_samples *s, fgi_image_worker *worker,
                      const fgi_pack_sample *sample, void *const *out_fields, fg_error *err);
} fgi_sample_kind;

extern const fgi_sample_kind fgi_image_samples, fgi_array_samples, fgi_coefficient_samples,
    fgi_plane_samples;

/* Whether the samples are fgi_plane_samples instead of fgi_image_samples. */
fg_status fgi_pack_keeps_planes(const fgi_pack_samples *s, bool *out, fg_error *err);
/* The record of a sample must have the bytes of its planes. */
fg_status fgi_pack_check_ycc(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                             fg_error *err);

/* How the records of a codec become pixels: writes u8[height, width, channels], as the rule of the
 * dataset says. */
typedef struct fgi_pack_image_codec {
    fg_pack_codec codec;
    fg_status (*read)(const fgi_pack_samples *s, fgi_image_worker *worker,
                      const fgi_pack_sample *sample, uint8_t *out, fg_error *err);
} fgi_pack_image_codec;

/* ---- the dataset ----------------------------------------------------------------------------- */

/* The first record of sample `index` of the dataset. */
int64_t fgi_pack_first_record(const fgi_pack_samples *s, int64_t index);
/* The record that sample `index` is in an epoch. */
int64_t fgi_pack_record_of(const fgi_pack_samples *s, int64_t epoch, int64_t index);

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

fg_status fgi_pack_samples_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                  void *const *out_fields, fg_error *err);
void fgi_pack_samples_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n);
fg_status fgi_pack_samples_labels(void *self, int32_t *out_labels, fg_error *err);
fg_status fgi_pack_samples_limit(void *self, const int64_t *rows, size_t n, fg_error *err);
fg_status fgi_pack_samples_groups(void *self, int64_t *out_groups, fg_error *err);
const char *fgi_pack_samples_name(void *self, int64_t index);
void fgi_pack_samples_destroy(void *self);

/* ---- classes (pack_classes.c) ---------------------------------------------------------------- */

/* Sets class_of. Errors: FG_EINVAL (options.class_names), FG_ENOMEM. */
fg_status fgi_pack_classes_map(fgi_pack_samples *s, fg_error *err);
/* Whether an epoch displaces records from memory that the next one begins with: the pack has more
 * than half of it. memory_bytes 0: not known. */
bool fgi_pack_is_large(uint64_t pack_bytes, uint64_t memory_bytes);
/* Labels become those of the pack again. */
void fgi_pack_classes_forget(fgi_pack_samples *s);
/* Whether all classes of the pack are among the given ones. */
bool fgi_pack_classes_known(const fgi_pack_samples *s);
/* The class index of a label of the pack; -1 if its class is not among the given ones. */
int32_t fgi_pack_class_of(const fgi_pack_samples *s, int32_t label);
/* An error unless the label of the record is that of a class of the dataset. */
fg_status fgi_pack_check_label(const fgi_pack_samples *s, int64_t record, int32_t label,
                               fg_error *err);
/* The number of classes of the dataset, and their names in a new array (fgi_free); NULL if there
 * are none, or on failure. */
fg_status fgi_pack_classes_list(const fgi_pack_samples *s, const char ***out, int64_t *out_count,
                                fg_error *err);

#endif
