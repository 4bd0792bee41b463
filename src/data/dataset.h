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
    fgi_limit_spares *limit_spares; /* NULL: damaged samples are never replaced */
    const fgi_damage **damage;      /* of the datasets that have the samples; in the arena */
    size_t damage_count;
    const char **errors; /* by sample: why it could not be read, NULL if it could or was not read
                            yet; in the arena. NULL: such samples are errors */
    bool is_drawn;   /* which samples it has depends on the epoch, so an index has no fixed label */
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

/* Adds a reference; release it with fg_dataset_destroy. */
fg_dataset *fgi_dataset_retain(fg_dataset *dataset);

/* Reads the samples indices[0..n) of an epoch into rows of out_fields, at once or one by one. */
fg_status fgi_dataset_gather(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                             size_t n, void *const *out_fields, fg_error *err);

/* Calls the dataset's prefetch function, if it has one; the indices are valid. */
void fgi_dataset_prefetch(const fg_dataset *dataset, int64_t epoch, const int64_t *indices,
                          size_t n);

/* A dataset that reads many samples at once, which vary by epoch. */
typedef struct fgi_gathered {
    const char *(*name)(void *self, int64_t index); /* may be NULL */
    fgi_gather_epoch *gather_epoch;
    const fgi_damage *damage;                                            /* in self; may be NULL */
    fgi_limit_spares *limit_spares;                                      /* may be NULL */
    fgi_prefetch_epoch *prefetch;                                        /* may be NULL */
    fg_status (*labels)(void *self, int32_t *out_labels, fg_error *err); /* may be NULL */
    fgi_list_groups *groups;                                             /* may be NULL */
    void (*destroy)(void *self);
} fgi_gathered;

/* Takes ownership of self, also on failure. A row may take any time to read. */
fg_status fgi_dataset_create_gathered(const fgi_gathered *gathered, void *take_self,
                                      const fg_dataset_spec *spec, fg_dataset **out, fg_error *err);

/* A dataset whose samples come from others. */
typedef struct fgi_derived {
    const fg_dataset *like; /* fields, classes and cost of a row are those of this dataset */
    int64_t count;
    bool is_drawn;
    const char *(*name)(void *self, int64_t index); /* may be NULL */
    fgi_gather_epoch *gather_epoch;
    fgi_prefetch_epoch *prefetch;                                        /* may be NULL */
    fg_status (*labels)(void *self, int32_t *out_labels, fg_error *err); /* may be NULL */
    fgi_list_groups *groups;                                             /* may be NULL */
    void (*destroy)(void *self);
} fgi_derived;

/* Takes ownership of self, also on failure. */
fg_status fgi_dataset_derive(const fgi_derived *derived, void *take_self, fg_dataset **out,
                             fg_error *err);

/* Reports damage that is noted in self. */
fg_status fgi_dataset_has_damage(fg_dataset *dataset, const fgi_damage *damage, fg_error *err);
/* Also reports the damage of `source`, from which samples of the dataset come. */
fg_status fgi_dataset_add_damage(fg_dataset *dataset, const fg_dataset *source, fg_error *err);

/* Samples of a parent: pick returns the index of the parent's sample that is sample `index`. */
typedef struct fgi_picked {
    const fg_dataset *parent;
    int64_t (*pick)(const void *self, int64_t epoch, int64_t index);
    const void *self;
} fgi_picked;

/* The functions of a derived dataset, with those of the parent (pick.c). */
fg_status fgi_picked_gather(const fgi_picked *picked, int64_t epoch, const int64_t *indices,
                            size_t n, void *const *out_fields, fg_error *err);
void fgi_picked_prefetch(const fgi_picked *picked, int64_t epoch, const int64_t *indices, size_t n);

/* The class of each sample; labels NULL: they have none. */
typedef struct fgi_strata {
    const int32_t *labels;
    int64_t count; /* of classes */
} fgi_strata;

/* The sorted indexes of both sets of a random split of 0..count-1, as described for
 * fg_dataset_split. One block has both: *out_rows (fgi_free), the *out_val_count indexes of the
 * validation set first. */
fg_status fgi_split_rows(int64_t count, const fgi_strata *classes, double val_fraction,
                         uint64_t seed, int64_t **out_rows, size_t *out_val_count, fg_error *err);

/* The same for the samples of a dataset: those of a group are in one set. by_class: as described
 * for fg_dataset_split_stratified. */
fg_status fgi_dataset_split_rows(const fg_dataset *dataset, double val_fraction, uint64_t seed,
                                 bool by_class, int64_t **out_rows, size_t *out_val_count,
                                 fg_error *err);

#endif
