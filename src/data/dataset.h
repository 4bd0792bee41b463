/* dataset.h - the internals of a dataset, for the readers and the loader.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_DATASET_H
#define FGI_DATA_DATASET_H

#include <stdatomic.h>
#include <fulgurite/data.h>
#include "base/arena.h"

/* Reads the samples indices[0..n) of an epoch into rows of out_fields; the indices are valid. */
typedef fg_status fgi_gather_epoch(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                   void *const *out_fields, fg_error *err);

/* Says that samples will be read soon: reading them from disk can begin. May be NULL. */
typedef void fgi_prefetch_epoch(void *self, int64_t epoch, const int64_t *indices, size_t n);

/* Writes the number of each sample's group, of samples that belong together, to
 * out_groups[0..count); 0: none. */
typedef fg_status fgi_list_groups(void *self, int64_t *out_groups, fg_error *err);

/* Writes only the target, field 1, of a sample. */
typedef fg_status fgi_read_target(void *self, int64_t index, void *out, fg_error *err);

/* Only the samples rows[0..n) may replace damaged ones from now on. */
typedef fg_status fgi_limit_spares(void *self, const int64_t *rows, size_t n, fg_error *err);

/* The damaged records that a dataset has replaced by others, and the flawed ones that it has used
 * all the same. */
typedef struct fgi_damage {
    atomic_llong count, flawed;
    fg_error first, first_flawed; /* about one of them; written before the count is 1 */
} fgi_damage;

struct fg_dataset {
    atomic_long references; /* handles, subsets and loaders */
    /* Functions of a custom dataset: gather, read or read_epoch is set. A source and a derived
     * dataset only have destroy, labels and name. */
    fg_dataset_ops ops;
    fg_source_ops source;           /* open is set only for a source */
    fgi_gather_epoch *gather_epoch; /* only for a derived or gathered dataset */
    fgi_prefetch_epoch *prefetch;   /* may be NULL */
    fgi_list_groups *groups;        /* NULL: samples have no groups */
    fgi_read_target *target;        /* NULL: samples are read to get their targets */
    fgi_limit_spares *limit_spares; /* NULL: damaged samples are never replaced */
    const fgi_damage **damage;      /* of the datasets that have the samples; in the arena */
    size_t damage_count;
    const char **errors; /* by sample: why it could not be read, NULL if it could or was not read
                            yet; in the arena. NULL: such samples are errors */
    bool is_drawn;   /* which samples it has depends on the epoch, so an index has no fixed label */
    bool varies;     /* the values of a sample may depend on the epoch */
    bool reads_rows; /* one row at a time, at any cost; otherwise rows are copied */
    void *self;
    int64_t count; /* -1: not known */
    int field_count;
    fg_field fields[FG_MAX_FIELDS];
    size_t row_bytes[FG_MAX_FIELDS]; /* of one sample */
    int64_t class_count;
    const char *const *class_names; /* in the arena, or NULL */
    fg_image_encoding encoding;     /* FG_IMAGE_PIXELS: the values need no decoding */
    fgi_arena arena;
};

/* For a source: FG_EUNSUPPORTED with the alternative. */
fg_status fgi_dataset_check_random(const fg_dataset *dataset, fg_error *err);

/* Destroys *dataset, which is then NULL, unless the status is FG_OK. Returns the status. */
fg_status fgi_dataset_finish(fg_dataset **dataset, fg_status status);

/* An error of a reader that may have no message: it names at least the sample. */
fg_status fgi_dataset_fail(const char *reader, fg_status status, int64_t index, fg_error *err);

/* Adds a reference; release it with fg_dataset_destroy. */
fg_dataset *fgi_dataset_retain(fg_dataset *dataset);

/* Reads the samples indices[0..n) of an epoch into rows of out_fields, at once or one by one. */
fg_status fgi_dataset_gather(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                             size_t n, void *const *out_fields, fg_error *err);

/* Calls the dataset's prefetch function, if it has one; the indices are valid. */
void fgi_dataset_prefetch(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                          size_t n);

/* out[f]: row `row` of the fields. */
static inline void fgi_dataset_row(const fg_dataset *dataset, void *const *fields, size_t row,
                                   void *out[FG_MAX_FIELDS])
{
    for (int f = 0; f < dataset->field_count; f++)
        out[f] = (char *)fields[f] + row * dataset->row_bytes[f];
}

/* A dataset that reads many samples at once, which vary by epoch. Functions other than gather_epoch
 * and destroy may be NULL. */
typedef struct fgi_gathered {
    const char *(*name)(void *self, int64_t index);
    fgi_gather_epoch *gather_epoch;
    const fgi_damage *damage; /* in self; may be NULL */
    fgi_limit_spares *limit_spares;
    fgi_prefetch_epoch *prefetch;
    fg_status (*labels)(void *self, int32_t *out_labels, fg_error *err);
    fgi_list_groups *groups;
    fgi_read_target *target;
    void (*destroy)(void *self);
} fgi_gathered;

/* Takes ownership of self, also on failure. A row may take any time to read. */
fg_status fgi_dataset_create_gathered(const fgi_gathered *gathered, void *take_self,
                                      const fg_dataset_spec *spec, fg_dataset **out, fg_error *err);
/* The same for `count` samples that come from other datasets, such as `like`, which has the same
 * fields, classes and cost of a row. */
fg_status fgi_dataset_derive(const fgi_gathered *gathered, void *take_self, const fg_dataset *like,
                             int64_t count, fg_dataset **out, fg_error *err);

/* The dataset of the samples' numbers, "row": s32[]; there are less than 2^31. */
fg_status fgi_dataset_row_numbers(const fg_dataset *of, fg_dataset **out, fg_error *err);
/* Whether each epoch has the same samples with the same values. */
bool fgi_dataset_is_constant(const fg_dataset *dataset);

/* Reports damage that is noted in self. */
fg_status fgi_dataset_has_damage(fg_dataset *dataset, const fgi_damage *damage, fg_error *err);
/* Also reports the damage of `source`, from which samples of the dataset come. */
fg_status fgi_dataset_add_damage(fg_dataset *dataset, const fg_dataset *source, fg_error *err);

/* A dataset of samples of another one: the first member of its struct (view.c). */
typedef struct fgi_view {
    fg_dataset *parent; /* held */
    int64_t count;
    bool is_drawn;
    /* The index of the parent's sample that is sample `index`; NULL: the same. */
    int64_t (*pick)(const void *self, int64_t epoch, int64_t index);
    fgi_gather_epoch *gather_epoch; /* instead of reading the parent's samples; may be NULL */
    void (*destroy)(void *self);    /* of what the struct owns except for `parent`; may be NULL */
} fgi_view;

/* The view has all members; `parent` is not yet held. Takes ownership of it, also on failure: it is
 * a block of its own (fgi_free). */
fg_status fgi_view_create(fgi_view *take_view, fg_dataset **out, fg_error *err);
/* The function `destroy` of every view, by which it can be recognized. */
void fgi_view_destroy(void *self);

/* The class of each sample; labels NULL: they have none. */
typedef struct fgi_strata {
    const int32_t *labels;
    int64_t count; /* of classes */
} fgi_strata;

/* The rows of a dataset or table: the ascending indexes of the validation rows, then those of the
 * training rows (fgi_free). NULL: all are for training. */
typedef struct fgi_split {
    int64_t *rows;
    size_t val_count;
} fgi_split;

/* A random split of 0..count-1, as described for fg_dataset_split; classes NULL: not by class. */
fg_status fgi_split_rows(int64_t count, const fgi_strata *classes, const fg_split_options *options,
                         fgi_split *out, fg_error *err);
/* The same for the samples of a dataset: those of a group are in one set. */
fg_status fgi_dataset_split_rows(const fg_dataset *dataset, const fg_split_options *options,
                                 fgi_split *out, fg_error *err);
/* The rows of `train` and of `val`, which have the same samples. On failure, both are NULL. */
fg_status fgi_split_datasets(const fgi_split *split, fg_dataset *train, fg_dataset *val,
                             fg_dataset **out_train, fg_dataset **out_val, fg_error *err);

#endif
