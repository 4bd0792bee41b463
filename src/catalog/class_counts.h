/* class_counts.h - how many samples each class has in each part of the data, in a few lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_CLASS_COUNTS_H
#define FGI_CATALOG_CLASS_COUNTS_H

#include <fulgurite/catalog.h>
#include "base/buf.h"

typedef struct fgi_class_counts {
    const char *unit;   /* "sample" */
    const char **names; /* owned; the names are borrowed, NULL: a class without a name */
    int64_t classes;
    int64_t *train, *val, *test; /* owned, s64[classes]; 0 for a part without samples */
} fgi_class_counts;

/* Counts of 0, and no names. */
fg_status fgi_class_counts_init(fgi_class_counts *out, const char *unit, int64_t classes,
                                fg_error *err);
void fgi_class_counts_fini(fgi_class_counts *counts);

/* Counts the samples by their first label; splits is u8[count], NULL: their own. Samples without a
 * split are for training. */
fg_status fgi_class_counts_of(const fg_catalog *catalog, const uint8_t *splits,
                              fgi_class_counts *out, fg_error *err);

/* Appends "13 training images of 3 classes: cat 7, dog 5, fish 1". Of many classes, only the least
 * and the most frequent one are named. Names are escaped. */
void fgi_class_counts_put(fgi_buf *out, const fgi_class_counts *counts);

/* Says the counts of each part, and warns of classes that the training or the validation samples
 * lack, and of a single class. */
void fgi_class_counts_say(const fgi_class_counts *counts, fg_catalog_say_fn *say, void *self);
/* The warnings alone. */
void fgi_class_counts_warn(const fgi_class_counts *counts, fg_catalog_say_fn *say, void *self);

/* The class of all training and validation samples; -1: there are several, or none. */
int64_t fgi_class_counts_only(const fgi_class_counts *counts);

#endif
