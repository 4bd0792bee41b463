/* split.c - random splits of a dataset. Samples that belong together, such as those of a patient,
 * are in the same part: units are groups, and single samples that have no group. A stratified split
 * chooses among the units of each class.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/dataset.h"

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static fg_status check(int64_t count, double val_fraction, fg_error *err)
{
    if (!(val_fraction > 0 && val_fraction < 1))
        return fgi_fail(err, FG_EINVAL, "val_fraction is %g: expected a number between 0 and 1",
                        val_fraction);
    if (count < 2)
        return fgi_fail(err, FG_EINVAL,
                        "cannot split a dataset of %" PRId64 " sample%s: expected at least 2",
                        count, fgi_s(count));
    return FG_OK;
}

static int64_t target_of(int64_t count, double val_fraction)
{
    const int64_t val = (int64_t)round(val_fraction * (double)count);
    return val < 1 ? 1 : val > count - 1 ? count - 1 : val;
}

static fgi_key key_of(uint64_t seed)
{
    return fgi_key_fold_text(fgi_key_from_seed(seed), "data.split");
}

/* The first samples of a permutation. */
static fg_status split_plainly(int64_t count, double val_fraction, uint64_t seed,
                               int64_t **out_rows, size_t *out_val_count, fg_error *err)
{
    const int64_t val = target_of(count, val_fraction);
    int64_t *rows = fgi_calloc((size_t)count, sizeof(*rows));
    if (rows == NULL)
        return fgi_no_memory(err);
    const fgi_key key = key_of(seed);
    for (int64_t i = 0; i < count; i++)
        rows[i] = (int64_t)fgi_permute(key, (uint64_t)count, (uint64_t)i);
    qsort(rows, (size_t)val, sizeof(*rows), compare_int64);
    qsort(rows + val, (size_t)(count - val), sizeof(*rows), compare_int64);
    *out_rows = rows;
    *out_val_count = (size_t)val;
    return FG_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct member {
    int64_t group, sample;
} member;

typedef struct unit {
    int64_t samples;
    int32_t label; /* of its first sample */
    bool is_val;
} unit;

typedef struct division {
    int64_t count;
    int64_t *unit_of; /* [count] */
    member *members;  /* [count] */
    unit *units;      /* [unit_count], in the order of their first samples */
    int64_t unit_count;
} division;

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;
    const int order = compare_int64(&x->group, &y->group);
    return order != 0 ? order : compare_int64(&x->sample, &y->sample);
}

/* Replaces the group of each sample by the first sample of that group. */
static void find_firsts(division *d)
{
    for (int64_t i = 0; i < d->count; i++)
        d->members[i] = (member){d->unit_of[i], i};
    qsort(d->members, (size_t)d->count, sizeof *d->members, by_group);
    for (int64_t i = 0; i < d->count; i++) {
        const member *m = &d->members[i];
        const bool is_first = i == 0 || m->group == 0 || m->group != m[-1].group;
        d->unit_of[m->sample] = is_first ? m->sample : d->unit_of[m[-1].sample];
    }
}

static void make_units(division *d)
{
    find_firsts(d);
    for (int64_t i = 0; i < d->count; i++) {
        const int64_t first = d->unit_of[i]; /* i, or a sample that has its unit already */
        d->unit_of[i] = first == i ? d->unit_count++ : d->unit_of[first];
        d->units[d->unit_of[i]].samples++;
    }
}

/* Chooses units in the order of a permutation, if they bring the number of samples closer to the
 * target; at least one, and not all. Returns the number of samples. */
static int64_t choose(division *d, int64_t target, fgi_key key)
{
    const uint64_t count = (uint64_t)d->unit_count;
    unit *smallest = NULL;
    int64_t val = 0;
    for (uint64_t i = 0; i < count; i++) {
        unit *u = &d->units[fgi_permute(key, count, i)];
        if (smallest == NULL || u->samples < smallest->samples)
            smallest = u;
        u->is_val = 2 * val + u->samples < 2 * target && val + u->samples < d->count;
        val += u->is_val ? u->samples : 0;
    }
    if (val > 0)
        return val;
    smallest->is_val = true;
    return smallest->samples;
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct stratum {
    int64_t samples, target, val;
    double rest; /* of the target, below 1 */
} stratum;

static int by_rest(const void *a, const void *b)
{
    const stratum *x = *(stratum *const *)a, *y = *(stratum *const *)b;
    if (x->rest > y->rest || x->rest < y->rest)
        return x->rest > y->rest ? -1 : 1;
    return (x > y) - (x < y);
}

/* Divides the target among the classes by the largest remainder; each keeps a sample for training.
 * `order` has room for all of them. */
static void set_targets(stratum *strata, stratum **order, int64_t count, double val_fraction,
                        int64_t target)
{
    for (int64_t i = 0; i < count; i++) {
        stratum *s = &strata[i];
        const double exact = val_fraction * (double)s->samples;
        s->target = (int64_t)exact;
        s->rest = exact - (double)s->target;
        target -= s->target;
        order[i] = s;
    }
    qsort((void *)order, (size_t)count, sizeof(*order), by_rest);
    for (int64_t i = 0; i < count && target > 0; i++)
        if (order[i]->target < order[i]->samples - 1) {
            order[i]->target++;
            target--;
        }
}

/* `choose` for the units of each class. Returns 0 if no class can spare a sample. */
static int64_t choose_in_strata(division *d, stratum *strata, fgi_key key)
{
    const uint64_t count = (uint64_t)d->unit_count;
    int64_t val = 0;
    for (uint64_t i = 0; i < count; i++) {
        unit *u = &d->units[fgi_permute(key, count, i)];
        stratum *s = &strata[u->label];
        u->is_val = 2 * s->val + u->samples < 2 * s->target && s->val + u->samples < s->samples;
        s->val += u->is_val ? u->samples : 0;
        val += u->is_val ? u->samples : 0;
    }
    return val;
}

static fg_status stratify(division *d, const fgi_strata *classes, double val_fraction, fgi_key key,
                          int64_t *out_val, fg_error *err)
{
    stratum *strata = fgi_calloc((size_t)classes->count, sizeof *strata);
    stratum **order = fgi_calloc((size_t)classes->count, sizeof *order);
    const bool is_made = strata != NULL && order != NULL;
    for (int64_t i = d->count - 1; i >= 0 && is_made; i--) { /* the first one sets the label */
        const int32_t label = classes->labels[i];
        d->units[d->unit_of[i]].label = label >= 0 && label < classes->count ? label : 0;
    }
    for (int64_t i = 0; i < d->unit_count && is_made; i++)
        strata[d->units[i].label].samples += d->units[i].samples;
    if (is_made) {
        set_targets(strata, order, classes->count, val_fraction, target_of(d->count, val_fraction));
        *out_val = choose_in_strata(d, strata, key);
    }
    fgi_free(strata);
    fgi_free((void *)order);
    return is_made ? FG_OK : fgi_no_memory(err);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Writes the samples of the validation set, then the others. */
static void put_rows(const division *d, int64_t val_count, int64_t *rows)
{
    int64_t val = 0, train = val_count;
    for (int64_t i = 0; i < d->count; i++)
        rows[d->units[d->unit_of[i]].is_val ? val++ : train++] = i;
}

static fg_status divide(division *d, const fgi_strata *classes, double val_fraction, uint64_t seed,
                        int64_t **out_rows, size_t *out_val_count, fg_error *err)
{
    int64_t val = 0;
    make_units(d);
    if (d->unit_count < 2)
        return fgi_fail(err, FG_EINVAL,
                        "cannot split the dataset: all %" PRId64
                        " samples are in one group, which is not divided: expected at least 2 "
                        "groups",
                        d->count);
    if (classes->labels != NULL)
        FGI_TRY(stratify(d, classes, val_fraction, key_of(seed), &val, err));
    if (val == 0)
        val = choose(d, target_of(d->count, val_fraction), key_of(seed));
    *out_rows = fgi_calloc((size_t)d->count, sizeof **out_rows);
    if (*out_rows == NULL)
        return fgi_no_memory(err);
    put_rows(d, val, *out_rows);
    *out_val_count = (size_t)val;
    return FG_OK;
}

/* A split of count samples, with their groups and classes, if there are any. */
static fg_status split_units(int64_t count, const fg_dataset *dataset, const fgi_strata *classes,
                             double val_fraction, uint64_t seed, int64_t **out_rows,
                             size_t *out_val_count, fg_error *err)
{
    division d = {.count = count,
                  .unit_of = fgi_calloc((size_t)count, sizeof *d.unit_of),
                  .members = fgi_calloc((size_t)count, sizeof *d.members),
                  .units = fgi_calloc((size_t)count, sizeof *d.units)};
    fg_status status = FG_OK;
    if (d.unit_of == NULL || d.members == NULL || d.units == NULL)
        status = fgi_no_memory(err);
    if (status == FG_OK && dataset != NULL && dataset->groups != NULL)
        status = dataset->groups(dataset->self, d.unit_of, err);
    if (status == FG_OK)
        status = divide(&d, classes, val_fraction, seed, out_rows, out_val_count, err);
    fgi_free(d.unit_of);
    fgi_free(d.members);
    fgi_free(d.units);
    return status;
}

fg_status fgi_split_rows(int64_t count, const fgi_strata *classes, double val_fraction,
                         uint64_t seed, int64_t **out_rows, size_t *out_val_count, fg_error *err)
{
    *out_rows = NULL;
    FGI_TRY(check(count, val_fraction, err));
    if (classes == NULL || classes->labels == NULL)
        return split_plainly(count, val_fraction, seed, out_rows, out_val_count, err);
    return split_units(count, NULL, classes, val_fraction, seed, out_rows, out_val_count, err);
}

fg_status fgi_dataset_split_rows(const fg_dataset *dataset, double val_fraction, uint64_t seed,
                                 bool by_class, int64_t **out_rows, size_t *out_val_count,
                                 fg_error *err)
{
    const int64_t count = dataset->count;
    fgi_strata classes = {.count = dataset->class_count};
    int32_t *labels = NULL;
    *out_rows = NULL;
    FGI_TRY(check(count, val_fraction, err));
    if (by_class && (labels = fgi_calloc((size_t)count, sizeof *labels)) == NULL)
        return fgi_no_memory(err);
    classes.labels = labels;
    fg_status status = by_class ? fg_dataset_labels(dataset, labels, err) : FG_OK;
    if (status == FG_OK && dataset->groups == NULL)
        status = fgi_split_rows(count, &classes, val_fraction, seed, out_rows, out_val_count, err);
    else if (status == FG_OK)
        status =
            split_units(count, dataset, &classes, val_fraction, seed, out_rows, out_val_count, err);
    fgi_free(labels);
    return status;
}

/* ---- datasets -------------------------------------------------------------------------------- */

static fg_status split(fg_dataset *parent, double val_fraction, uint64_t seed, bool by_class,
                       fg_dataset **out_train, fg_dataset **out_val, fg_error *err)
{
    *out_train = NULL;
    *out_val = NULL;
    int64_t *rows;
    size_t val_count;
    FGI_TRY(fgi_dataset_check_random(parent, err));
    FGI_TRY(fgi_dataset_split_rows(parent, val_fraction, seed, by_class, &rows, &val_count, err));
    fg_status status = fg_dataset_subset(parent, rows, val_count, out_val, err);
    if (status == FG_OK)
        status = fg_dataset_subset(parent, rows + val_count, (size_t)parent->count - val_count,
                                   out_train, err);
    if (status != FG_OK) {
        fg_dataset_destroy(*out_val);
        *out_val = NULL;
    }
    fgi_free(rows);
    return status;
}

fg_status fg_dataset_split(fg_dataset *parent, double val_fraction, uint64_t seed,
                           fg_dataset **out_train, fg_dataset **out_val, fg_error *err)
{
    return split(parent, val_fraction, seed, false, out_train, out_val, err);
}

fg_status fg_dataset_split_stratified(fg_dataset *parent, double val_fraction, uint64_t seed,
                                      fg_dataset **out_train, fg_dataset **out_val, fg_error *err)
{
    return split(parent, val_fraction, seed, true, out_train, out_val, err);
}
