/* split.c - random splits of a dataset. Samples that belong together, such as those of a patient,
 * are in the same part: units are groups, and single samples that have no group. A stratified split
 * chooses among the units of each class; otherwise, all of them are one stratum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/dataset.h"

static fg_status check(int64_t count, const fg_split_options *o, fg_error *err)
{
    FGI_TRY_RESERVED(fg_split_options, o, err);
    if (o == NULL || !(o->val_fraction > 0 && o->val_fraction < 1))
        return fgi_fail(err, FG_EINVAL, "val_fraction is %g: expected a number between 0 and 1",
                        o != NULL ? o->val_fraction : 0);
    if (count < 2)
        return fgi_fail(err, FG_EINVAL,
                        "cannot split a dataset of %" PRId64 " sample%s: expected at least 2",
                        count, fgi_s(count));
    return FG_OK;
}

/* ---- units ----------------------------------------------------------------------------------- */

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
    int64_t *unit_of; /* [count]; at first, the groups */
    member *members;  /* [count] */
    unit *units;      /* [unit_count], in the order of their first samples */
    int64_t unit_count;
} division;

static int compare_int64(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;
    const int order = compare_int64(x->group, y->group);
    return order != 0 ? order : compare_int64(x->sample, y->sample);
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

/* Divides round(val_fraction * count) among the strata by the largest remainder; each keeps a
 * sample for training. `order` has room for all of them. */
static void set_targets(stratum *strata, stratum **order, int64_t count, int64_t samples,
                        double val_fraction)
{
    int64_t target = (int64_t)round(val_fraction * (double)samples);
    target = target < 1 ? 1 : target > samples - 1 ? samples - 1 : target;
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

/* Chooses units in the order of a permutation, if they bring the number of samples of their stratum
 * closer to its target; not all of a stratum. Returns the number of samples. */
static int64_t choose(division *d, stratum *strata, fgi_key key)
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

/* Chooses among the units of each class; labels NULL: of one stratum. */
static fg_status choose_by(division *d, const int32_t *labels, int64_t class_count,
                           const fg_split_options *o, int64_t *out_val, fg_error *err)
{
    const int64_t count = labels != NULL ? class_count : 1;
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(o->seed), "data.split");
    stratum *strata = fgi_calloc((size_t)count, sizeof *strata);
    stratum **order = fgi_calloc((size_t)count, sizeof *order);
    const bool is_made = strata != NULL && order != NULL;
    for (int64_t i = d->count - 1; i >= 0 && is_made; i--) { /* the first one sets the label */
        const int32_t label = labels != NULL ? labels[i] : 0;
        d->units[d->unit_of[i]].label = label >= 0 && label < count ? label : 0;
    }
    for (int64_t i = 0; i < d->unit_count && is_made; i++)
        strata[d->units[i].label].samples += d->units[i].samples;
    if (is_made) {
        set_targets(strata, order, count, d->count, o->val_fraction);
        *out_val = choose(d, strata, key);
    }
    fgi_free(strata);
    fgi_free((void *)order);
    return is_made ? FG_OK : fgi_no_memory(err);
}

/* The smallest unit, the first one in the order of the permutation. */
static int64_t choose_smallest(division *d, uint64_t seed)
{
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(seed), "data.split");
    unit *smallest = NULL;
    for (uint64_t i = 0; i < (uint64_t)d->unit_count; i++) {
        unit *u = &d->units[fgi_permute(key, (uint64_t)d->unit_count, i)];
        smallest = smallest == NULL || u->samples < smallest->samples ? u : smallest;
    }
    smallest->is_val = true;
    return smallest->samples;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fg_status divide(division *d, const fgi_strata *classes, const fg_split_options *o,
                        fgi_split *out, fg_error *err)
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
        FGI_TRY(choose_by(d, classes->labels, classes->count, o, &val, err));
    if (val == 0)
        FGI_TRY(choose_by(d, NULL, 0, o, &val, err));
    if (val == 0)
        val = choose_smallest(d, o->seed);
    if ((out->rows = fgi_calloc((size_t)d->count, sizeof *out->rows)) == NULL)
        return fgi_no_memory(err);
    out->val_count = (size_t)val;
    int64_t at[2] = {val, 0}; /* of the next training and validation row */
    for (int64_t i = 0; i < d->count; i++)
        out->rows[at[d->units[d->unit_of[i]].is_val]++] = i;
    return FG_OK;
}

static fg_status split_rows(int64_t count, const fg_dataset *grouped, const fgi_strata *classes,
                            const fg_split_options *o, fgi_split *out, fg_error *err)
{
    *out = (fgi_split){.rows = NULL};
    FGI_TRY(check(count, o, err));
    division d = {.count = count,
                  .unit_of = fgi_calloc((size_t)count, sizeof *d.unit_of),
                  .members = fgi_calloc((size_t)count, sizeof *d.members),
                  .units = fgi_calloc((size_t)count, sizeof *d.units)};
    fg_status status = FG_OK;
    if (d.unit_of == NULL || d.members == NULL || d.units == NULL)
        status = fgi_no_memory(err);
    if (status == FG_OK && grouped != NULL && grouped->groups != NULL)
        status = grouped->groups(grouped->self, d.unit_of, err);
    if (status == FG_OK)
        status = divide(&d, classes, o, out, err);
    fgi_free(d.unit_of);
    fgi_free(d.members);
    fgi_free(d.units);
    return status;
}

fg_status fgi_split_rows(int64_t count, const fgi_strata *classes, const fg_split_options *options,
                         fgi_split *out, fg_error *err)
{
    static const fgi_strata none;
    return split_rows(count, NULL, classes != NULL ? classes : &none, options, out, err);
}

fg_status fgi_dataset_split_rows(const fg_dataset *dataset, const fg_split_options *options,
                                 fgi_split *out, fg_error *err)
{
    const bool is_stratified = options != NULL && options->stratify;
    int32_t *labels = NULL;
    *out = (fgi_split){.rows = NULL};
    FGI_TRY(fgi_dataset_check_random(dataset, err));
    FGI_TRY(check(dataset->count, options, err));
    if (is_stratified && (labels = fgi_calloc((size_t)dataset->count, sizeof *labels)) == NULL)
        return fgi_no_memory(err);
    const fgi_strata classes = {.labels = labels, .count = dataset->class_count};
    fg_status status = is_stratified ? fg_dataset_labels(dataset, labels, err) : FG_OK;
    if (status == FG_OK)
        status = split_rows(dataset->count, dataset, &classes, options, out, err);
    fgi_free(labels);
    return status;
}

/* ---- datasets -------------------------------------------------------------------------------- */

fg_status fgi_split_datasets(const fgi_split *split, fg_dataset *train, fg_dataset *val,
                             fg_dataset **out_train, fg_dataset **out_val, fg_error *err)
{
    const int64_t *rest = split->rows + split->val_count;
    *out_train = NULL;
    FGI_TRY(fg_dataset_subset(val, split->rows, split->val_count, out_val, err));
    const size_t count = (size_t)train->count - split->val_count;
    return fgi_dataset_finish(out_val, fg_dataset_subset(train, rest, count, out_train, err));
}

fg_status fg_dataset_split(fg_dataset *parent, const fg_split_options *options,
                           fg_dataset **out_train, fg_dataset **out_val, fg_error *err)
{
    fgi_split split;
    *out_train = *out_val = NULL;
    FGI_TRY(fgi_dataset_split_rows(parent, options, &split, err));
    const fg_status status = fgi_split_datasets(&split, parent, parent, out_train, out_val, err);
    fgi_free(split.rows);
    return status;
}
